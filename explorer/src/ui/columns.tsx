// Columns of rows that several pages show.

import { assetPath, chainPath, curatorPath, eventPath, protocolPath, vaultPath } from '../links.js';
import type { AssetRow, EventRow, VaultRow } from '../types.js';
import { Percent, Score, SeverityMark, Text, Tier, To, Unknown, Usd, When, Words } from './basic.js';
import type { Column } from './table.js';

/** Columns of vaults. */
export const VAULT_COLUMNS: readonly Column<VaultRow>[] = [
  { label: 'Vault', sort: 'name', header: true, cell: (row) => <To href={vaultPath(row.id)}>{row.name || row.id}</To> },
  { label: 'Tier', cell: (row) => <Tier tier={row.risk_tier} /> },
  { label: 'Score', sort: 'total_score', number: true, cell: (row) => <Score score={row.total_score} /> },
  { label: 'TVL', sort: 'tvl_usd', number: true, cell: (row) => (row.tvl_status === 'observed' ? <Usd amount={row.tvl_usd} /> : <Unknown />) },
  { label: 'APR, net', sort: 'apr_net', number: true, cell: (row) => <Percent of={row.apr_net} /> },
  { label: 'Asset', cell: (row) => <Text text={row.asset_symbol} /> },
  { label: 'Protocol', cell: (row) => <To href={protocolPath(row.protocol_id)}>{row.protocol_name}</To> },
  {
    label: 'Curator',
    cell: (row) =>
      row.curator_id ? <To href={curatorPath(row.curator_id)}>{row.curator_name ?? row.curator_id}</To> : <span class="quiet">none</span>,
  },
  { label: 'Chain', cell: (row) => <To href={chainPath(row.chain_id)}>{row.chain_name}</To> },
  { label: 'Utilization', sort: 'utilization', number: true, cell: (row) => <Percent of={row.utilization} /> },
  { label: 'Available', sort: 'available_liquidity_usd', number: true, cell: (row) => <Usd amount={row.available_liquidity_usd} /> },
  { label: 'Deposits', cell: (row) => <Words name={row.deposit_status} /> },
  { label: 'Read', sort: 'last_synced_at', cell: (row, now) => <When at={row.last_synced_at} now={now} short /> },
];

/** The address of an asset's page, if it has a contract. */
export function assetPage({ chain_id, address }: Pick<AssetRow, 'chain_id' | 'address'>): string | null {
  return address ? assetPath(Number(chain_id), address) : null;
}

/** Columns of assets. */
export const ASSET_COLUMNS: readonly Column<AssetRow>[] = [
  { label: 'Asset', header: true, cell: (row) => <To href={assetPage(row)}>{row.symbol}</To> },
  { label: 'Name', cell: (row) => <Text text={row.name} /> },
  { label: 'Tier', cell: (row) => <Tier tier={row.risk_tier} /> },
  { label: 'Score', number: true, cell: (row) => <Score score={row.risk_score} /> },
  { label: 'Category', cell: (row) => <Words name={row.category} /> },
  { label: 'Review', cell: (row) => <Words name={row.review_status} /> },
  { label: 'Evidence', number: true, cell: (row) => <Percent of={row.score_coverage} /> },
  { label: 'Issuer', cell: (row) => <Text text={row.issuer?.name} /> },
  { label: 'Chain', cell: (row) => <To href={chainPath(row.chain_id)}>{String(row.chain_id)}</To> },
  { label: 'Recorded', cell: (row, now) => <When at={row.recorded_at} now={now} short /> },
];

/** Columns of events. */
export const EVENT_COLUMNS: readonly Column<EventRow>[] = [
  { label: 'Time', sort: 'occurred_at', cell: (row, now) => <When at={row.occurred_at} now={now} short /> },
  { label: 'Severity', sort: 'severity', cell: (row) => <SeverityMark severity={row.severity} /> },
  { label: 'Event', header: true, cell: (row) => <To href={eventPath(row.id)}>{row.title}</To> },
  { label: 'Type', cell: (row) => <Words name={row.event_type} /> },
  {
    label: 'Protocol',
    cell: (row) =>
      row.protocol_id ? <To href={protocolPath(row.protocol_id)}>{row.protocol_name ?? row.protocol_id}</To> : <span class="quiet">–</span>,
  },
  {
    label: 'Chain',
    cell: (row) =>
      row.chain_id === null ? <span class="quiet">–</span> : <To href={chainPath(row.chain_id)}>{row.chain_name ?? String(row.chain_id)}</To>,
  },
  {
    label: 'Loss',
    sort: 'loss_amount_usd',
    number: true,
    cell: (row) => (row.loss_amount_usd === null ? <span class="quiet">none stated</span> : <Usd amount={row.loss_amount_usd} />),
  },
  { label: 'Source', cell: (row) => <Text text={row.source} /> },
];
