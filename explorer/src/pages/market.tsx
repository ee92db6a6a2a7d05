// A lending market: reserves with utilization and gates, efficiency modes, and who can change it.

import type { JSX } from 'preact';
import type { Part } from '../api.js';
import { percent, words } from '../format.js';
import { assetPath, chainPath, protocolPath, vaultPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { MarketEvent, MarketPage } from '../types.js';
import {
  Count,
  Duration,
  Empty,
  Facts,
  Hash,
  Opening,
  Optional,
  Percent,
  Score,
  Section,
  SeverityMark,
  Text,
  Tier,
  To,
  Unknown,
  Usd,
  When,
  Words,
} from '../ui/basic.js';
import { Table } from '../ui/table.js';

interface Data {
  page: MarketPage;
  events: Part<{ data: MarketEvent[] }>;
}

export default definePage<Data>({
  async load({ api, place }) {
    const path = `/v1/markets/${encodeURIComponent(place.params['id'] ?? '')}`;
    const [page, events] = await Promise.all([api.get<{ data: MarketPage }>(path), api.optional<{ data: MarketEvent[] }>(`${path}/events`)]);
    return { page: page.data, events };
  },
  head({ page: { market } }) {
    const title = market.name || market.id;
    const where = `${market.protocol_name} on ${market.chain_name}`;
    return { title, about: `${title}, a lending market of ${where}: reserves, utilization and who can change it.` };
  },
  View,
});

/** Null stands for three cases, which the answer does not tell apart. */
const room = (usd: number | null): JSX.Element => (usd === null ? <Unknown>without a limit, or unknown</Unknown> : <Usd amount={usd} />);

function View({ data: { page, events }, now }: ViewProps<Data>): JSX.Element {
  const { market, reserves, emodes, hubs, signer_sets: signers } = page;
  return (
    <>
      <Opening of="Markets" at="/markets" name={market.name || market.id} />
      <Facts
        of={[
          ['Protocol', <To href={protocolPath(market.protocol_id)}>{market.protocol_name}</To>],
          ['Version', <Text text={market.protocol_version} />],
          ['Chain', <To href={chainPath(market.chain_id)}>{market.chain_name}</To>],
          ['Supplied', <Usd amount={market.total_supplied_usd} />],
          ['Borrowed', <Usd amount={market.total_borrowed_usd} />],
          ['Utilization', <Percent of={market.utilization} />],
          ['Reserves', <Count n={market.reserve_count} />],
          ['Listed by the protocol', <Text text={market.is_protocol_listed} />],
          ['Address', <Hash text={market.address} whole />],
          ['Read', <When at={market.last_synced_at} now={now} />],
        ]}
      />
      <Section id="reserves" title="Reserves">
        {reserves.length === 0 ? (
          <Empty>No reserves are known.</Empty>
        ) : (
          <Table
            caption="Reserves"
            rows={reserves}
            rowKey={(row, at) => row.vault_id ?? `${row.asset_address} ${at}`}
            now={now}
            columns={[
              { label: 'Asset', header: true, cell: (row) => <To href={assetPath(Number(row.chain_id), row.asset_address)}>{row.asset_symbol}</To> },
              {
                label: 'Vault',
                cell: (row) => (row.vault_id ? <To href={vaultPath(row.vault_id)}>Open</To> : <span class="quiet">not followed</span>),
              },
              { label: 'Tier', cell: (row) => <Tier tier={row.risk_tier} /> },
              { label: 'Score', number: true, cell: (row) => <Score score={row.total_score} /> },
              { label: 'Supplied', number: true, cell: (row) => <Usd amount={row.supplied_usd} /> },
              { label: 'Borrowed', number: true, cell: (row) => <Usd amount={row.borrowed_usd} /> },
              { label: 'Utilization', number: true, cell: (row) => <Percent of={row.utilization} /> },
              { label: 'Supply APR', number: true, cell: (row) => <Percent of={row.supply_apr} /> },
              { label: 'Borrow APR', number: true, cell: (row) => <Percent of={row.borrow_apr} /> },
              {
                label: 'Deposits',
                cell: (row) => (row.is_shutdown ? 'shut down' : row.is_depositable === null ? <Unknown /> : row.is_depositable ? 'open' : 'closed'),
              },
              { label: 'Borrowing', cell: (row) => <Words name={row.borrow_status} /> },
              { label: 'Room', number: true, cell: (row) => room(row.deposit_capacity_usd) },
            ]}
          />
        )}
      </Section>
      {emodes.length > 0 && (
        <Section id="modes" title="Efficiency modes">
          <Table
            caption="Efficiency modes"
            rows={emodes}
            rowKey={({ emode_id: id }) => id}
            now={now}
            columns={[
              { label: 'Mode', header: true, cell: (row) => <Text text={row.label} /> },
              { label: 'Loan to value', number: true, cell: (row) => percent(row.ltv) },
              { label: 'Liquidated at', number: true, cell: (row) => percent(row.liquidation_threshold) },
              { label: 'Bonus', number: true, cell: (row) => percent(row.liquidation_bonus) },
              { label: 'Collateral', number: true, cell: (row) => row.collateral_assets.length },
              { label: 'Borrowable', number: true, cell: (row) => row.borrowable_assets.length },
            ]}
          />
        </Section>
      )}
      {hubs.length > 0 && <p>Liquidity hubs behind this market: {hubs.length}.</p>}
      <Section id="signers" title="Who can change it">
        {signers.length === 0 ? (
          <Empty>Not known.</Empty>
        ) : (
          <Table
            caption="Who can change it"
            rows={signers}
            rowKey={({ id }) => id}
            now={now}
            columns={[
              { label: 'Name', header: true, cell: (row) => <Text text={row.name ?? row.address} /> },
              { label: 'Form', cell: (row) => <Words name={row.form} /> },
              {
                label: 'Signatures',
                cell: (row) => (row.threshold === null || row.owner_count === null ? <Unknown /> : `${row.threshold} of ${row.owner_count}`),
              },
              { label: 'Delay', cell: (row) => <Duration seconds={row.delay_seconds} /> },
              { label: 'Roles', cell: (row) => row.roles.map(words).join(', ') || <Unknown /> },
              { label: 'Verified', cell: (row) => (row.verified ? 'yes' : 'no') },
              { label: 'Address', cell: (row) => <Hash text={row.address} /> },
            ]}
          />
        )}
      </Section>
      <Section id="events" title="Events">
        <Optional part={events} what="events">
          {({ data }) =>
            data.length === 0 ? (
              <Empty>No events have been recorded for this market.</Empty>
            ) : (
              <Table
                caption="Events of this market"
                rows={data}
                rowKey={(row, at) => `${row.id} ${at}`}
                now={now}
                columns={[
                  { label: 'Time', cell: (row, clock) => <When at={row.occurred_at} now={clock} /> },
                  { label: 'Severity', cell: (row) => <SeverityMark severity={row.severity} /> },
                  { label: 'Event', header: true, cell: (row) => <Text text={row.title} /> },
                ]}
              />
            )
          }
        </Optional>
      </Section>
    </>
  );
}
