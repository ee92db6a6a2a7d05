// A basket: its constituents, its rules, and how it changed.

import type { JSX } from 'preact';
import type { Part } from '../api.js';
import { counted, words } from '../format.js';
import { indexPath, protocolPath, vaultPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { BasketChangeRow, BasketDetail } from '../types.js';
import { Count, Empty, Facts, Hash, Opening, Optional, Percent, Score, Section, Text, To, When, Words } from '../ui/basic.js';
import { Table } from '../ui/table.js';

interface Data {
  basket: BasketDetail;
  changes: Part<{ data: BasketChangeRow[] }>;
}

export default definePage<Data>({
  async load({ api, place, query }) {
    const path = `/v1/baskets/${encodeURIComponent(place.params['id'] ?? '')}`;
    const [basket, changes] = await Promise.all([
      api.get<{ data: BasketDetail }>(path, { at: query.get('at') }),
      api.optional<{ data: BasketChangeRow[] }>(`${path}/changes`),
    ]);
    return { basket: basket.data, changes };
  },
  head: ({ basket }) => ({
    title: basket.name,
    about: basket.methodology.summary || `The basket ${basket.name}: ${counted(basket.constituents.length, 'constituent')} with weights.`,
  }),
  View,
});

function View({ data: { basket, changes }, now }: ViewProps<Data>): JSX.Element {
  const isVaults = String(basket.constituent_type) === 'vault';
  const named = (id: string | null): JSX.Element => <To href={id && isVaults ? vaultPath(id) : null}>{id ?? 'unnamed'}</To>;
  const { analytics } = basket;
  return (
    <>
      <Opening of="Baskets" at="/baskets" name={basket.name} />
      <p class="lead">
        <bdi>{basket.methodology.summary}</bdi>
      </p>
      {String(basket.support_status) !== 'current' && (
        <p class="banner warn">This version is {words(String(basket.support_status)).toLowerCase()}.</p>
      )}
      <Facts
        of={[
          ['Version', <Text text={basket.version_id} />],
          ['Effective from', <When at={basket.effective_from} now={now} />],
          ['Reason', <Words name={String(basket.trigger_reason)} />],
          ['Constituents', <Count n={analytics.constituents} />],
          ['Issuers', <Count n={analytics.issuers} />],
          ['Score, by weight', <Score score={analytics.weighted_score} />],
          ['Largest weight', <Percent of={analytics.largest_weight} />],
          ['Largest issuer', <Percent of={analytics.largest_issuer_weight} />],
          ['Hash', <Hash text={basket.content_hash} whole />],
          ['Signed by', basket.signer_address ? <Hash text={basket.signer_address} /> : 'not signed'],
          ['Level over time', <a href={indexPath(basket.id)}>Index</a>],
        ]}
      />
      <Section id="constituents" title="Constituents">
        <Table
          caption="Constituents"
          rows={basket.constituents}
          rowKey={({ id }, at) => id ?? `${at}`}
          now={now}
          columns={[
            { label: 'Constituent', header: true, cell: (row) => named(row.id) },
            { label: 'Issuer', cell: (row) => <To href={row.issuer && isVaults ? protocolPath(row.issuer) : null}>{row.issuer ?? 'unknown'}</To> },
            { label: 'Score', number: true, cell: (row) => <Score score={row.score} /> },
            { label: 'Weight', number: true, cell: (row) => <Percent of={row.weight} /> },
          ]}
        />
      </Section>
      <Section id="changes" title="Changes">
        <Optional part={changes} what="changes">
          {({ data }) =>
            data.length === 0 ? (
              <Empty>The basket has not changed.</Empty>
            ) : (
              data.map((change) => (
                <details key={change.version_id}>
                  <summary>
                    {change.version_id}, <When at={change.effective_from} now={now} short />:{' '}
                    {`${change.added.length} added, ${change.removed.length} removed, ${change.weight_changed.length} with other weights`}
                  </summary>
                  <ul>
                    {change.added.map(({ id, weight }, at) => (
                      <li key={`+${at}`}>
                        Added {named(id)} with <Percent of={weight} />
                      </li>
                    ))}
                    {change.removed.map(({ id, weight }, at) => (
                      <li key={`-${at}`}>
                        Removed {named(id)}, which had <Percent of={weight} />
                      </li>
                    ))}
                    {change.weight_changed.map((row, at) => (
                      <li key={`=${at}`}>
                        {named(row.id)}: <Percent of={row.previous_weight} /> becomes <Percent of={row.weight} />
                      </li>
                    ))}
                  </ul>
                </details>
              ))
            )
          }
        </Optional>
      </Section>
    </>
  );
}
