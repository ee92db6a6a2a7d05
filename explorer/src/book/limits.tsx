// The limits of a check: the largest share of the book that may depend on one asset, bridge, feed and so on.

import type { JSX } from 'preact';
import type { GraphCheckBody } from '../types.js';

/** Name of a limit. */
export type LimitName = keyof NonNullable<GraphCheckBody['limits']>;

const LIMITS: readonly (readonly [LimitName, string])[] = [
  ['maxSharePerAsset', 'One asset'],
  ['maxSharePerBridge', 'One bridge'],
  ['maxSharePerOracle', 'One price feed'],
  ['maxSharePerOracleVendor', 'One feed vendor'],
  ['maxSharePerSignerSet', 'One set of signers'],
  ['maxSharePerChain', 'One chain'],
  ['maxSharePerProtocol', 'One protocol'],
  ['maxSharePerCurator', 'One curator'],
  ['maxSharePerCluster', 'One cluster'],
];

interface Props {
  limits: Partial<Record<LimitName, number>>;
  change: (limits: Partial<Record<LimitName, number>>) => void;
  disabled: boolean;
}

/** The sliders. A limit of 100 % is none. */
export function Limits({ limits, change, disabled }: Props): JSX.Element {
  return (
    <fieldset class="limits" disabled={disabled}>
      <legend>Largest share that may depend on</legend>
      {LIMITS.map(([name, label]) => {
        const percent = Math.round((limits[name] ?? 1) * 100);
        return (
          <div key={name} class="limit">
            <label for={name}>{label}</label>
            <input
              id={name}
              type="range"
              min={1}
              max={100}
              value={percent}
              aria-valuetext={percent === 100 ? 'no limit' : `${percent} percent`}
              onInput={(event) => {
                const { [name]: _, ...others } = limits;
                const share = Number(event.currentTarget.value) / 100;
                change(share < 1 ? { ...others, [name]: share } : others);
              }}
            />
            <output for={name}>{percent === 100 ? 'no limit' : `${percent}%`}</output>
          </div>
        );
      })}
    </fieldset>
  );
}
