// Whether the service works.

import type { JSX } from 'preact';
import { percent, words } from '../format.js';
import { definePage, type ViewProps } from '../page.js';
import type { StatusFeed } from '../types.js';
import { Count, Facts, Percent, Section, Text, When } from '../ui/basic.js';
import { Table } from '../ui/table.js';

const MARKS: Record<string, string> = { operational: '●', degraded: '◆', down: '▲' };
const LEVELS: Record<string, string> = { operational: 'good', degraded: 'warn', down: 'bad' };

function State({ status }: { status: string }): JSX.Element {
  return (
    <span class={`feed ${LEVELS[status] ?? ''}`}>
      <span aria-hidden="true">{MARKS[status] ?? '?'}</span> {words(status)}
    </span>
  );
}

export default definePage<StatusFeed>({
  load: ({ api }) => api.get<StatusFeed>('/v1/status'),
  head: ({ rollup }) => ({ title: 'Status', about: `The service is ${rollup} now; its parts one by one.` }),
  View,
});

function View({ data, now }: ViewProps<StatusFeed>): JSX.Element {
  const uptime = Object.entries(data.uptime as Record<string, unknown>).filter((one): one is [string, number] => typeof one[1] === 'number');
  return (
    <>
      <h1 tabIndex={-1}>Status</h1>
      <p class="headline">
        <State status={String(data.rollup)} />
      </p>
      <Facts
        of={[
          ['Checked', <When at={data.last_checked_at} now={now} />],
          ['Requests in 15 minutes', <Count n={data.signals.requests_15m} />],
          ['Answered with an error of ours', <Percent of={data.signals.error_rate_15m} />],
          ...uptime.map(([name, value]) => [`Uptime, ${words(name).toLowerCase()}`, percent(value)] as const),
        ]}
      />
      <Section id="parts" title="Parts">
        <Table
          caption="Parts of the service"
          rows={data.components}
          rowKey={({ name }) => String(name)}
          now={now}
          columns={[
            { label: 'Part', header: true, cell: (row) => words(String(row.name)) },
            { label: 'State', cell: (row) => <State status={String(row.status)} /> },
            { label: 'Detail', cell: (row) => (row.detail ? <Text text={row.detail} /> : <span class="quiet">none</span>) },
            { label: 'Checked', cell: (row, clock) => <When at={row.checked_at} now={clock} short /> },
          ]}
        />
      </Section>
    </>
  );
}
