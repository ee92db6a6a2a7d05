// Up to five vaults beside each other. The address has their ids; the browser remembers them.

import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Part } from '../api.js';
import { MOST, remember, remembered } from '../comparison.js';
import { counted } from '../format.js';
import { curatorPath, protocolPath, vaultPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { VaultDetail, VaultPage } from '../types.js';
import { Empty, Missing, Percent, Score, Text, Tier, To, Unknown, Usd, When, Words } from '../ui/basic.js';

interface Data {
  vaults: { id: string; part: Part<{ data: VaultPage }> }[];
}

export default definePage<Data>({
  async load({ api, query }) {
    const ids = [...new Set((query.get('ids') ?? '').split(',').filter(Boolean))].slice(0, MOST);
    return {
      vaults: await Promise.all(
        ids.map(async (id) => ({ id, part: await api.optional<{ data: VaultPage }>(`/v1/vaults/${encodeURIComponent(id)}`, { points: 1 }) })),
      ),
    };
  },
  head: ({ vaults }) => {
    const which = vaults.length === 0 ? 'Up to five vaults' : counted(vaults.length, 'vault');
    return { title: 'Comparison', about: `${which} beside each other: scores, vectors, liquidity and who decides.` };
  },
  View,
});

type Row = readonly [string, (vault: VaultDetail, now: string) => JSX.Element | string];

const ROWS: readonly Row[] = [
  ['Tier', (it) => <Tier tier={it.risk_tier} />],
  ['Score', (it) => <Score score={it.total_score} />],
  ['Vector: asset', (it) => <Score score={it.risk_vectors.asset.score} />],
  ['Vector: platform', (it) => <Score score={it.risk_vectors.platform.score} />],
  ['Vector: control', (it) => <Score score={it.risk_vectors.control.score} />],
  ['Vector: history', (it) => <Score score={it.risk_vectors.history.score} />],
  ['Value locked', (it) => (it.tvl_status === 'observed' ? <Usd amount={it.tvl_usd} /> : <Unknown />)],
  ['APR, net', (it) => <Percent of={it.apr_net} />],
  ['Utilization', (it) => <Percent of={it.utilization} />],
  ['Available now', (it) => <Usd amount={it.available_liquidity_usd} />],
  ['Deposit asset', (it) => <Text text={it.asset_symbol} />],
  ['Protocol', (it) => <To href={protocolPath(it.protocol_id)}>{it.protocol_name}</To>],
  ['Curator', (it) => (it.curator_id ? <To href={curatorPath(it.curator_id)}>{it.curator_name ?? it.curator_id}</To> : 'none')],
  ['Chain', (it) => <Text text={it.chain_name} />],
  ['Deposits', (it) => <Words name={it.deposit_status} />],
  ['Withdrawals', (it) => <Words name={it.withdraw_status} />],
  ['Audits', (it) => <Words name={it.audit_status} />],
  ['Read', (it, now) => <When at={it.last_synced_at} now={now} short />],
];

function View({ data: { vaults }, place, now }: ViewProps<Data>): JSX.Element {
  useEffect(() => {
    // An address with an empty list is what is left when the last vault is removed.
    if (new URLSearchParams(place.search).has('ids')) return remember(vaults.map(({ id }) => id));
    const known = remembered();
    if (known.length > 0) location.replace(`/compare?ids=${known.map(encodeURIComponent).join(',')}`);
    return undefined;
  }, [vaults, place.search]);
  const found = vaults.flatMap(({ id, part }) => (part.data ? [{ id, vault: part.data.data.vault }] : []));
  const without = (id: string): string =>
    `/compare?ids=${vaults
      .filter((one) => one.id !== id)
      .map((one) => encodeURIComponent(one.id))
      .join(',')}`;
  return (
    <>
      <h1 tabIndex={-1}>Comparison</h1>
      <p class="lead">Up to five vaults beside each other. The address holds the choice, so it can be shared.</p>
      {vaults.length === 0 && (
        <Empty>
          Choose vaults with “Compare” on their pages. <a href="/vaults">All vaults</a>
        </Empty>
      )}
      {vaults.map(
        ({ id, part }) =>
          part.failure && (
            <div key={id}>
              <Missing failure={part.failure} what={`the vault ${id}`} />
              <p>
                <a href={without(id)}>
                  Remove <bdi>{id}</bdi>
                </a>
              </p>
            </div>
          ),
      )}
      {found.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Comparison">
          <table>
            <caption class="hidden">Comparison</caption>
            <thead>
              <tr>
                <th scope="col">Fact</th>
                {found.map(({ id, vault }) => (
                  <th key={id} scope="col">
                    <To href={vaultPath(vault.id)}>{vault.name || vault.id}</To>
                    <br />
                    <a href={without(id)} aria-label={`Remove ${vault.name || vault.id}`}>
                      Remove
                    </a>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {ROWS.map(([name, cell]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  {found.map(({ id, vault }) => (
                    <td key={id}>{cell(vault, now)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
