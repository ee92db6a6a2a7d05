// An index: its levels over time. It needs an index token.

import type { JSX } from 'preact';
import type { Part } from '../api.js';
import { basketPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { IndexDetail, IndexLevel } from '../types.js';
import { Facts, Opening, Optional, Section, Text } from '../ui/basic.js';
import { Chart } from '../ui/chart.js';

interface Data {
  index: IndexDetail;
  levels: Part<{ data: IndexLevel[] }>;
}

export default definePage<Data>({
  async load({ api, place }) {
    const path = `/v1/indices/${encodeURIComponent(place.params['id'] ?? '')}`;
    const [index, levels] = await Promise.all([api.get<{ data: IndexDetail }>(path), api.optional<{ data: IndexLevel[] }>(`${path}/levels`)]);
    return { index: index.data, levels };
  },
  head: ({ index }) => ({ title: index.name, about: `Levels of the index ${index.name} since ${index.base_date ?? 'its first day'}.` }),
  View,
});

function View({ data: { index, levels } }: ViewProps<Data>): JSX.Element {
  return (
    <>
      <Opening of="Indices" at="/indices" name={index.name} />
      <Facts
        of={[
          ['Level', <Text text={index.latest?.level?.toFixed(4)} />],
          ['On', <Text text={index.latest?.date} />],
          ['Base', `${index.base_level} on ${index.base_date ?? 'a day to come'}`],
          ['Basket', <a href={basketPath(index.id)}>{index.version_id}</a>],
          ['How it is computed', <Text text={index.method.level} />],
          ['Days without a price', <Text text={index.method.gaps} />],
        ]}
      />
      <Section id="levels" title="Levels">
        <Optional part={levels} what="levels">
          {({ data }) => (
            <Chart
              title="Level"
              series={[
                { name: 'Level', points: data.map(({ date, level }) => [`${date}T00:00:00.000Z`, level]), format: (value) => value.toFixed(2) },
              ]}
              marks={data.flatMap(({ date, gap }) => (gap ? [{ at: `${date}T00:00:00.000Z`, label: 'No level: a price is missing' }] : []))}
            />
          )}
        </Optional>
      </Section>
    </>
  );
}
