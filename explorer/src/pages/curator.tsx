// A curator: its vaults, chains and events.

import type { JSX } from 'preact';
import { counted } from '../format.js';
import { chainPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { CuratorPage } from '../types.js';
import { Count, Empty, Facts, Opening, Outside, Percent, Section, To, Usd } from '../ui/basic.js';
import { EVENT_COLUMNS } from '../ui/columns.js';
import { Table } from '../ui/table.js';
import { VaultsOf } from '../ui/vaults-of.js';

export default definePage<CuratorPage>({
  load: async ({ api, place }) =>
    (await api.get<{ data: CuratorPage }>(`/v1/curators/${encodeURIComponent(place.params['id'] ?? '')}`, { vaultLimit: 50 })).data,
  head: ({ curator }) => ({
    title: curator.name,
    about: curator.one_liner || `${curator.name}, a curator of ${counted(curator.vault_count, 'vault')}.`,
  }),
  View,
});

function View({ data, now }: ViewProps<CuratorPage>): JSX.Element {
  const { curator, vaults, vaultTotal, chainDistribution, events, eventsTotal } = data;
  return (
    <>
      <Opening of="Curators" at="/curators" name={curator.name} />
      {curator.one_liner && (
        <p class="lead">
          <bdi>{curator.one_liner}</bdi>
        </p>
      )}
      <Facts
        of={[
          ['Vaults', <Count n={curator.vault_count} />],
          ['Value locked', <Usd amount={curator.tvl_total} />],
          ['APR, mean', <Percent of={curator.avg_apr} />],
          ['Website', <Outside url={curator.website} />],
        ]}
      />
      <VaultsOf vaults={vaults} total={vaultTotal} all={`/vaults?curator=${encodeURIComponent(curator.id)}`} now={now} />
      <Section id="chains" title="Chains">
        {chainDistribution.length === 0 ? (
          <Empty>No chains.</Empty>
        ) : (
          <Table
            caption="Value by chain"
            rows={chainDistribution}
            rowKey={({ chain_id: id }) => String(id)}
            now={now}
            columns={[
              { label: 'Chain', header: true, cell: (row) => <To href={chainPath(row.chain_id)}>{row.chain_name}</To> },
              { label: 'Vaults', number: true, cell: (row) => <Count n={row.vault_count} /> },
              { label: 'Value', number: true, cell: (row) => <Usd amount={row.tvl_usd} /> },
              { label: 'Share', number: true, cell: (row) => <Percent of={row.share} /> },
            ]}
          />
        )}
      </Section>
      <Section id="events" title="Events">
        {events.length === 0 ? (
          <Empty>No events have been recorded.</Empty>
        ) : (
          <Table caption="Events" columns={EVENT_COLUMNS} rows={events} rowKey={({ id }) => id} now={now} />
        )}
        {eventsTotal > events.length && (
          <p>
            <a href={`/events?curatorId=${encodeURIComponent(curator.id)}`}>All {counted(eventsTotal, 'event')}</a>
          </p>
        )}
      </Section>
    </>
  );
}
