// A chain: its totals and its vaults.

import type { JSX } from 'preact';
import { ApiFailure, type Part, type Rows } from '../api.js';
import { counted } from '../format.js';
import { definePage, type ViewProps } from '../page.js';
import type { ChainRow, EventRow, VaultRow } from '../types.js';
import { Count, Empty, Facts, Opening, Optional, Outside, Section, Text, Usd, When } from '../ui/basic.js';
import { EVENT_COLUMNS } from '../ui/columns.js';
import { Table } from '../ui/table.js';
import { VaultsOf } from '../ui/vaults-of.js';

interface Data {
  chain: ChainRow;
  vaults: Part<Rows<VaultRow>>;
  events: Part<Rows<EventRow>>;
}

export default definePage<Data>({
  async load({ api, place }) {
    const id = place.params['id'] ?? '';
    const [{ data: chains }, vaults, events] = await Promise.all([
      api.get<Rows<ChainRow>>('/v1/chains'),
      api.optional<Rows<VaultRow>>('/v1/vaults', { chain: id, limit: 50 }),
      api.optional<Rows<EventRow>>('/v1/events', { chainId: id, limit: 10 }),
    ]);
    const chain = chains.find((row) => String(row.chain_id) === id || row.slug === id.toLowerCase());
    if (!chain)
      throw new ApiFailure({
        status: 404,
        code: 'NOT_FOUND',
        message: 'No chain with this id or name is followed.',
        requestId: null,
        retryAfter: null,
      });
    return { chain, vaults, events };
  },
  head: ({ chain }) => ({
    title: chain.name,
    about: `${chain.name}: ${counted(chain.vault_count, 'vault')} of ${counted(chain.protocol_count, 'protocol')}, and what happened there.`,
  }),
  View,
});

function View({ data: { chain, vaults, events }, now }: ViewProps<Data>): JSX.Element {
  return (
    <>
      <Opening of="Chains" at="/chains" name={chain.name} />
      <Facts
        of={[
          ['Chain id', String(chain.chain_id)],
          ['Native token', <Text text={chain.native_symbol} />],
          ['Vaults', <Count n={chain.vault_count} />],
          ['Scored', <Count n={chain.scored_vault_count} />],
          ['Protocols', <Count n={chain.protocol_count} />],
          ['Value locked', <Usd amount={chain.tvl_usd} />],
          ['Block explorer', <Outside url={chain.explorer_url} />],
          ['Read', <When at={chain.last_synced_at} now={now} />],
        ]}
      />
      <Optional part={vaults} what="vaults">
        {({ data, meta }) => (
          <VaultsOf vaults={data} total={meta?.total ?? data.length} all={`/vaults?chain=${encodeURIComponent(chain.slug)}`} now={now} />
        )}
      </Optional>
      <Section id="events" title="Events">
        <Optional part={events} what="events">
          {({ data }) =>
            data.length === 0 ? (
              <Empty>No events have been recorded.</Empty>
            ) : (
              <Table caption="Events" columns={EVENT_COLUMNS} rows={data} rowKey={({ id }) => id} now={now} />
            )
          }
        </Optional>
        <p>
          <a href={`/events?chainId=${chain.chain_id}`}>All events on this chain</a>,{' '}
          <a href={`/oracles?chain=${chain.slug}`}>its price feeds</a>,{' '}
          <a href={`/markets?chain=${chain.slug}`}>its markets</a>
        </p>
      </Section>
    </>
  );
}
