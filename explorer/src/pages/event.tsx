// An event: what happened, where it is written, and which vaults it affects.

import type { JSX } from 'preact';
import { chainPath, curatorPath, marketPath, protocolPath, vaultPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { EventDetail } from '../types.js';
import { Empty, Facts, Hash, Opening, Outside, Section, SeverityMark, Text, To, Usd, When, Words } from '../ui/basic.js';
import { plain } from '../ui/inputs.js';
import { words } from '../format.js';
import { Table } from '../ui/table.js';

export default definePage<EventDetail>({
  load: async ({ api, place }) => (await api.get<{ data: EventDetail }>(`/v1/events/${encodeURIComponent(place.params['id'] ?? '')}`)).data,
  head: (event) => ({ title: event.title, about: event.description ?? `${event.title}, ${event.occurred_at.slice(0, 10)}.` }),
  View,
});

function View({ data: event, now }: ViewProps<EventDetail>): JSX.Element {
  return (
    <>
      <Opening of="Events" at="/events" name={event.title} />
      <p class="headline">
        <SeverityMark severity={event.severity} /> <Words name={event.event_type} />
      </p>
      {event.retracted_at && (
        <p class="banner warn">
          Retracted <When at={event.retracted_at} now={now} />: <Text text={event.retracted_reason ?? 'no reason given'} />
        </p>
      )}
      {event.description && (
        <p class="lead">
          <bdi>{event.description}</bdi>
        </p>
      )}
      <Facts
        of={[
          ['Occurred', <When at={event.occurred_at} now={now} />],
          ['Detected', <When at={event.detected_at} now={now} />],
          ['Published', <When at={event.published_at} now={now} />],
          ['Protocol', event.protocol_id ? <To href={protocolPath(event.protocol_id)}>{event.protocol_name ?? event.protocol_id}</To> : 'none'],
          ['Curator', event.curator_id ? <To href={curatorPath(event.curator_id)}>{event.curator_name ?? event.curator_id}</To> : 'none'],
          ['Chain', event.chain_id === null ? 'none' : <To href={chainPath(event.chain_id)}>{event.chain_name ?? String(event.chain_id)}</To>],
          event.market_id ? ['Market', <To href={marketPath(event.market_id)}>{event.market_id}</To>] : null,
          ['Loss', event.loss_amount_usd === null ? 'none stated' : <Usd amount={event.loss_amount_usd} />],
          event.remediation_status ? ['Remediation', <Words name={event.remediation_status} />] : null,
          event.tx_hash ? ['Transaction', <Hash text={event.tx_hash} whole />] : null,
          ['Seen', event.occurrence_count === 1 ? 'once' : `${event.occurrence_count} times`],
          ['Source', <Text text={event.source} />],
          ...Object.entries(event.data).map(([name, value]) => [words(name), <bdi>{plain(value) ?? 'unknown'}</bdi>] as const),
        ]}
      />
      <Section id="references" title="References">
        {event.links.length === 0 ? (
          <Empty>No references are given.</Empty>
        ) : (
          <ul>
            {event.links.map(({ url, label }) => (
              <li key={url}>
                <Outside url={url}>{label || url}</Outside>
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section id="vaults" title="Affected vaults">
        {event.affected_vaults.length === 0 ? (
          <Empty>No vault that is followed is affected.</Empty>
        ) : (
          <Table
            caption={`Affected vaults: ${event.affected_vault_count}`}
            rows={event.affected_vaults}
            rowKey={({ vault_id: id }) => id}
            now={now}
            columns={[
              { label: 'Vault', header: true, cell: (row) => <To href={vaultPath(row.vault_id)}>{row.vault_name || row.vault_id}</To> },
              { label: 'TVL', number: true, cell: (row) => <Usd amount={row.tvl_usd} /> },
              { label: 'Address', cell: (row) => <Hash text={row.address} /> },
            ]}
          />
        )}
      </Section>
    </>
  );
}
