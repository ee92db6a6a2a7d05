// A price feed.

import type { JSX } from 'preact';
import { chainPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { OracleFeed } from '../types.js';
import { Duration, Empty, Facts, Hash, Opening, Percent, Section, Text, To, When, Words } from '../ui/basic.js';
import { FeedState } from '../ui/feed.js';

const STATES: Record<string, string> = { fresh: 'fresh', stale: 'stale', unknown: 'not known whether it is stale' };

export default definePage<OracleFeed>({
  async load({ api, place }) {
    const { chain = '', address = '' } = place.params;
    return (await api.get<{ data: OracleFeed }>(`/v1/oracle/${encodeURIComponent(chain)}/${encodeURIComponent(address)}`)).data;
  },
  head(feed) {
    const title = feed.description || feed.address;
    const state = STATES[feed.status] ?? feed.status;
    return { title, about: `${title}, a price feed on ${feed.chain_name}: ${state}, with its heartbeat and who reads it.` };
  },
  View,
});

function View({ data: feed, now }: ViewProps<OracleFeed>): JSX.Element {
  return (
    <>
      <Opening of="Price feeds" at="/oracles" name={feed.description || feed.address} />
      <p class="headline">
        <FeedState status={feed.status} />
      </p>
      {feed.status === 'stale' && <p class="banner warn">The latest update is older than the heartbeat.</p>}
      <Facts
        of={[
          ['Answer', <Text text={feed.last_answer} />],
          ['Updated', <When at={feed.last_update_at} now={now} />],
          ['Heartbeat', <Duration seconds={feed.heartbeat_seconds} />],
          ['Deviation threshold', <Percent of={feed.deviation_threshold} />],
          ['Kind', <Words name={feed.kind} />],
          ['Vendor', <Text text={feed.vendor} />],
          ['Of', <Text text={feed.asset} />],
          ['In', <Text text={feed.quote} />],
          ['Chain', <To href={chainPath(feed.chain_id)}>{feed.chain_name}</To>],
          ['Address', <Hash text={feed.address} whole />],
          ['Read', <When at={feed.last_synced_at} now={now} />],
        ]}
      />
      <Section id="used" title="Used by">
        {feed.used_by.length === 0 ? (
          <Empty>No market is known to read this feed.</Empty>
        ) : (
          <ul>
            {feed.used_by.map((name) => (
              <li key={name}>
                <a href={`/search?q=${encodeURIComponent(name)}`}>
                  <bdi>{name}</bdi>
                </a>
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section id="reserves" title="Reserves that it prices">
        {feed.reserve_symbols.length === 0 ? (
          <Empty>None known.</Empty>
        ) : (
          <ul>
            {feed.reserve_symbols.map((symbol) => (
              <li key={symbol}>
                <a href={`/assets?search=${encodeURIComponent(symbol)}`}>
                  <bdi>{symbol}</bdi>
                </a>
              </li>
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}
