// A vault's score as the sum of its four vectors, with each cap and what it costs.

import type { JSX } from 'preact';
import { instant, words } from '../format.js';
import type { VaultDetail } from '../types.js';
import { Facts, Score, Text, Unknown } from './basic.js';

const NAMES = { asset: 'Asset', platform: 'Platform', control: 'Control', history: 'History' } as const;
const WIDTH = 600;

/** The score of a vault, explained. */
export function ScoreParts({ vault }: { vault: VaultDetail }): JSX.Element {
  const { risk_vectors: vectors, score_provenance: provenance } = vault;
  const parts = (Object.keys(NAMES) as (keyof typeof NAMES)[]).map((name) => ({ name, ...vectors[name] }));
  let at = 0;
  return (
    <>
      <svg
        class="sum"
        viewBox={`0 0 ${WIDTH} 26`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Weighted sum of the vectors: ${provenance?.weighted_sum?.toFixed(2) ?? 'unknown'} of 10`}
      >
        <rect class="track" width={WIDTH} height="26" rx="4" />
        {parts.map(({ name, score, weight }) => {
          const begin = at;
          at += ((score ?? 0) * weight * WIDTH) / 10;
          return score === null ? null : <rect key={name} class={`vector ${name}`} x={begin} width={Math.max(0, at - begin - 1)} height="26" />;
        })}
        {provenance?.caps.map(({ id, value }) => (
          <line key={id} class="cap" x1={(value * WIDTH) / 10} x2={(value * WIDTH) / 10} y1="0" y2="26" />
        ))}
      </svg>
      <div class="scroll" tabIndex={0} role="region" aria-label="The vectors of the score">
        <table>
          <caption class="hidden">The vectors of the score</caption>
          <thead>
            <tr>
              <th scope="col">Vector</th>
              <th scope="col" class="number">
                Score
              </th>
              <th scope="col" class="number">
                Weight
              </th>
              <th scope="col" class="number">
                Adds
              </th>
            </tr>
          </thead>
          <tbody>
            {parts.map(({ name, score, weight }) => (
              <tr key={name}>
                <th scope="row">
                  <span class={`swatch ${name}`} aria-hidden="true" /> {NAMES[name]}
                </th>
                <td class="number">
                  <Score score={score} />
                </td>
                <td class="number">{(weight * 100).toFixed(0)}%</td>
                <td class="number">{score === null ? <Unknown /> : (score * weight).toFixed(3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {provenance ? <Outcome vault={vault} /> : <p class="quiet">This vault has not been scored, so there is no computation to show.</p>}
    </>
  );
}

function Outcome({ vault }: { vault: VaultDetail }): JSX.Element | null {
  const { score_provenance: provenance, total_score: total, lowest_score: lowest, highest_score: highest } = vault;
  if (!provenance) return null;
  const { weighted_sum: sum, caps, flags, dwell, missing } = provenance;
  return (
    <>
      <h3>Caps</h3>
      {caps.length === 0 ? (
        <p>No cap applies: the score is the sum.</p>
      ) : (
        <ul>
          {caps.map(({ id, value, binding }) => (
            <li key={id}>
              <b>{words(id)}</b>: at most {value.toFixed(2)}
              {binding && sum !== null && total !== null
                ? `. It decides the score and costs ${Math.max(0, sum - value).toFixed(2)}.`
                : binding
                  ? '. It decides the score.'
                  : '. It does not change the score.'}
            </li>
          ))}
        </ul>
      )}
      {missing.length > 0 && (
        <>
          <h3>What is unknown</h3>
          <ul>
            {missing.map((name) => (
              <li key={String(name)}>
                {words(String(name))}: <Unknown />
              </li>
            ))}
          </ul>
        </>
      )}
      <Facts
        of={[
          ['Sum of the vectors', <Text key="sum" text={sum?.toFixed(4)} />],
          ['Flags', flags.length > 0 ? flags.map((flag) => words(String(flag))).join(', ') : 'none'],
          ['Score of the latest run, before the rules of publication', <Text key="raw" text={provenance.raw_score?.toFixed(2)} />],
          dwell
            ? [
                'Waiting',
                `The tier ${dwell.candidate_tier} since ${instant(dwell.since)}; it is published at the earliest ${instant(dwell.publishes_at)}`,
              ]
            : null,
          ['Score run', <Text key="run" text={provenance.score_run_id} />],
          [
            'Methodology',
            <a key="m" href="/v1/docs/methodology">
              {provenance.methodology_version}
            </a>,
          ],
          ['Computed', <Text key="at" text={vault.score_computed_at && instant(vault.score_computed_at)} />],
          [
            'Possible with what is unknown',
            lowest === null || highest === null ? (
              <Unknown key="range" />
            ) : (
              `${lowest.toFixed(2)} to ${highest.toFixed(2)}; ${(vault.score_coverage * 100).toFixed(0)}% of the weight is known`
            ),
          ],
        ]}
      />
    </>
  );
}
