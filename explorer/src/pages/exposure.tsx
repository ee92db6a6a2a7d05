// What stands below a vault, as a picture that one can walk and a list that says the same.

import type { JSX } from 'preact';
import type { Part } from '../api.js';
import { words } from '../format.js';
import { vaultPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { LookedThrough, VaultDetail, VaultPage } from '../types.js';
import { Empty, Facts, Hash, Missing, Percent, Section, When } from '../ui/basic.js';
import { type ExposureGraph, graphOf } from '../exposure/graph.js';
import { Picture } from '../exposure/picture.js';
import { Listing } from '../exposure/listing.js';

/** Most parts of a graph that is drawn. */
const MOST_NODES = 150;

interface Data {
  vault: VaultDetail;
  looked: Part<{ data: LookedThrough }>;
}

export default definePage<Data>({
  async load({ api, place }) {
    const { data: page } = await api.get<{ data: VaultPage }>(`/v1/vaults/${encodeURIComponent(place.params['id'] ?? '')}`, { points: 1 });
    const { vault } = page;
    const looked = await api.optional<{ data: LookedThrough }>('/v1/graph/look-through', { vaults: `${vault.chain_id}:${vault.address}` });
    return { vault, looked };
  },
  head: ({ vault }) => ({
    title: `Exposure of ${vault.name || vault.id}`,
    about: `What ${vault.name || vault.id} depends on: vaults, assets, price feeds, bridges and signers, with shares.`,
  }),
  View,
});

function View({ data: { vault, looked }, now }: ViewProps<Data>): JSX.Element {
  const key = `${vault.chain_id}:${vault.address}`;
  const through = looked.data?.data.results[key] ?? null;
  const graph: ExposureGraph = graphOf(vault, through);
  return (
    <>
      <p class="crumbs">
        <a href="/vaults">Vaults</a> /{' '}
        <a href={vaultPath(vault.id)}>
          <bdi>{vault.name || vault.id}</bdi>
        </a>
      </p>
      <h1 tabIndex={-1}>
        Exposure of <bdi>{vault.name || vault.id}</bdi>
      </h1>
      {looked.failure && <Missing failure={looked.failure} what="the whole graph, through nested vaults to feeds, bridges and signers" />}
      {looked.data && !through && <p>The newest snapshot of the whole graph does not contain this vault.</p>}
      {!through && <p>This page shows only the exposures that the score counts.</p>}
      {!graph.nodes.slice(1).some(({ kind }) => kind === 'asset' || kind === 'vault') && <p>The assets below this vault are unknown.</p>}
      {looked.data && (
        <Facts
          of={[
            ['Snapshot', <Hash text={looked.data.data.snapshotId} whole />],
            ['Built', <When at={looked.data.data.builtAt} now={now} />],
          ]}
        />
      )}
      {graph.nodes.length <= 1 ? (
        <Empty>Nothing below this vault is known.</Empty>
      ) : (
        <>
          {graph.nodes.length <= MOST_NODES ? (
            <Picture graph={graph} title={`What ${vault.name || vault.id} depends on`} />
          ) : (
            <p>The graph has {graph.nodes.length} parts, too many for a picture. The list has all of them.</p>
          )}
          <Section id="list" title="The graph as a list">
            <Listing graph={graph} />
          </Section>
        </>
      )}
      {through && through.cycles.length > 0 && (
        <Section id="cycles" title="Vaults that hold each other">
          <ul>
            {through.cycles.map((cycle) => (
              <li key={cycle.join(' ')}>{cycle.join(' → ')} → the first again</li>
            ))}
          </ul>
        </Section>
      )}
      {through && through.unattributed.length > 0 && (
        <Section id="unattributed" title="Not attributed">
          <ul>
            {through.unattributed.map((part, at) => (
              <li key={at}>
                <Percent of={part.share} />: {words(String(part.reason)).toLowerCase()}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
