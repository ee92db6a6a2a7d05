// One search over everything: vaults, assets, markets, curators, protocols, chains, feeds and events.

import type { JSX } from 'preact';
import type { Api, Part, Query, Rows } from '../api.js';
import { count } from '../format.js';
import { chainPath, curatorPath, eventPath, marketPath, oraclePath, protocolPath, vaultPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { AssetRow, ChainRow, CuratorRow, EventRow, Market, OracleFeed, ProtocolRow, VaultRow } from '../types.js';
import { Missing, Score, Section, SeverityMark, Tier, To } from '../ui/basic.js';
import { assetPage } from '../ui/columns.js';

/** Hits of a kind that are shown. */
const SHOWN = 10;

interface Data {
  asked: string;
  vaults: Part<Rows<VaultRow>> | null;
  assets: Part<Rows<AssetRow>> | null;
  events: Part<Rows<EventRow>> | null;
  curators: Part<Matches<CuratorRow>> | null;
  protocols: Part<Matches<ProtocolRow>> | null;
  markets: Part<Matches<Market>> | null;
  chains: Part<Matches<ChainRow>> | null;
  feeds: Part<Matches<OracleFeed>> | null;
}

/** Rows of a list, and how many rows were looked through if these were not all. */
interface Matches<R> extends Rows<R> {
  looked?: { at: number; of: number };
}

/** The rows of a list whose path has no search: those of its first page whose names contain the words. */
async function matching<R>(api: Api, path: string, query: Query, asked: string, names: (row: R) => (string | null)[]): Promise<Part<Matches<R>>> {
  const part = await api.optional<Rows<R>>(path, query);
  if (part.failure) return part;
  const { data: rows, meta } = part.data;
  const wanted = asked.toLowerCase();
  const data = rows.filter((row) => names(row).some((name) => name?.toLowerCase().includes(wanted))).slice(0, SHOWN);
  const total = meta?.total ?? rows.length;
  return { data: total > rows.length ? { data, looked: { at: rows.length, of: total } } : { data } };
}

/** The most rows of a page of a list. */
const PAGE = { limit: 100 };

export default definePage<Data>({
  async load({ api, query }) {
    const asked = [...(query.get('q') ?? '').trim()].slice(0, 200).join('');
    if (!asked) return { asked, vaults: null, assets: null, events: null, curators: null, protocols: null, markets: null, chains: null, feeds: null };
    const [vaults, assets, events, curators, protocols, markets, chains, feeds] = await Promise.all([
      api.optional<Rows<VaultRow>>('/v1/vaults', { search: asked, limit: SHOWN }),
      api.optional<Rows<AssetRow>>('/v1/assets/enriched', { search: asked, limit: SHOWN }),
      api.optional<Rows<EventRow>>('/v1/events', { search: asked, limit: SHOWN }),
      matching<CuratorRow>(api, '/v1/curators', PAGE, asked, (row) => [row.name, row.id]),
      matching<ProtocolRow>(api, '/v1/protocols', {}, asked, (row) => [row.name, row.id]),
      matching<Market>(api, '/v1/markets', PAGE, asked, (row) => [row.name, row.id, row.address]),
      matching<ChainRow>(api, '/v1/chains', {}, asked, (row) => [row.name, row.slug, String(row.chain_id)]),
      matching<OracleFeed>(api, '/v1/oracle', PAGE, asked, (row) => [row.description, row.address, row.asset]),
    ]);
    return { asked, vaults, assets, events, curators, protocols, markets, chains, feeds };
  },
  head: ({ asked }) => ({
    title: asked ? `Search: ${asked}` : 'Search',
    about: 'One search over vaults, assets, markets, curators, protocols, chains, price feeds and events.',
  }),
  View,
});

interface Hit {
  key: string;
  href: string | null;
  name: string;
  beside?: JSX.Element | undefined;
}

function Hits<R>({
  id,
  title,
  part,
  all,
  hit,
}: {
  id: string;
  title: string;
  part: Part<Matches<R>> | null;
  all?: string;
  hit: (row: R) => Hit;
}): JSX.Element | null {
  if (!part) return null;
  if (part.failure) return <Missing failure={part.failure} what={title.toLowerCase()} />;
  const { data, meta, looked } = part.data;
  if (data.length === 0 && !looked) return null;
  return (
    <Section id={id} title={title}>
      {data.length > 0 && (
        <ul class="hits">
          {data.map(hit).map(({ key, href, name, beside }) => (
            <li key={key}>
              <To href={href}>{name}</To> {beside}
            </li>
          ))}
        </ul>
      )}
      {looked && (
        <p class="quiet">
          Only the first {count(looked.at)} of {count(looked.of)} are searched.
        </p>
      )}
      {all && (meta?.hasMore === true || (meta?.total ?? 0) > data.length) && (
        <p>
          <a href={all}>All {title.toLowerCase()} that match</a>
        </p>
      )}
    </Section>
  );
}

function View({ data }: ViewProps<Data>): JSX.Element {
  const { asked } = data;
  const parts = [data.vaults, data.assets, data.events, data.curators, data.protocols, data.markets, data.chains, data.feeds];
  const isEmpty = parts.every((part) => part && !part.failure && part.data.data.length === 0);
  const words = encodeURIComponent(asked);
  return (
    <>
      <h1 tabIndex={-1}>
        {asked ? (
          <>
            Search: <bdi>{asked}</bdi>
          </>
        ) : (
          'Search'
        )}
      </h1>
      {!asked && <p class="lead">Write a name, a symbol or an address into the field above.</p>}
      {isEmpty && <p class="empty">Nothing is known with these words in its name.</p>}
      <Hits
        id="vaults"
        title="Vaults"
        part={data.vaults}
        all={`/vaults?search=${words}`}
        hit={(row) => ({
          key: row.id,
          href: vaultPath(row.id),
          name: row.name || row.id,
          beside: (
            <>
              <Tier tier={row.risk_tier} /> <Score score={row.total_score} />
            </>
          ),
        })}
      />
      <Hits
        id="assets"
        title="Assets"
        part={data.assets}
        all={`/assets?search=${words}`}
        hit={(row) => ({
          key: row.asset_id,
          href: assetPage(row),
          name: row.name ? `${row.symbol} · ${row.name}` : row.symbol,
          beside: <Tier tier={row.risk_tier} />,
        })}
      />
      <Hits id="curators" title="Curators" part={data.curators} hit={(row) => ({ key: row.id, href: curatorPath(row.id), name: row.name })} />
      <Hits id="protocols" title="Protocols" part={data.protocols} hit={(row) => ({ key: row.id, href: protocolPath(row.id), name: row.name })} />
      <Hits id="markets" title="Markets" part={data.markets} hit={(row) => ({ key: row.id, href: marketPath(row.id), name: row.name || row.id })} />
      <Hits id="chains" title="Chains" part={data.chains} hit={(row) => ({ key: row.slug, href: chainPath(row.chain_id), name: row.name })} />
      <Hits
        id="feeds"
        title="Price feeds"
        part={data.feeds}
        hit={(row) => ({
          key: `${row.chain_id}:${row.address}`,
          href: oraclePath(Number(row.chain_id), row.address),
          name: row.description || row.address,
        })}
      />
      <Hits
        id="events"
        title="Events"
        part={data.events}
        all={`/events?search=${words}`}
        hit={(row) => ({ key: row.id, href: eventPath(row.id), name: row.title, beside: <SeverityMark severity={row.severity} /> })}
      />
    </>
  );
}
