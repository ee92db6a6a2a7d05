// All lending markets.

import { chainPath, marketPath, protocolPath } from '../links.js';
import type { Market } from '../types.js';
import { Count, Percent, Text, To, Usd, When, Words } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<Market>({
  api: '/v1/markets',
  title: 'Markets',
  about: 'Lending markets: what is supplied, what is borrowed, and how much of it is in use.',
  noun: 'markets',
  rowKey: (row) => row.id,
  columns: [
    { label: 'Market', header: true, cell: (row) => <To href={marketPath(row.id)}>{row.name || row.id}</To> },
    { label: 'Protocol', cell: (row) => <To href={protocolPath(row.protocol_id)}>{row.protocol_name}</To> },
    { label: 'Version', cell: (row) => <Text text={row.protocol_version} /> },
    { label: 'Chain', cell: (row) => <To href={chainPath(row.chain_id)}>{row.chain_name}</To> },
    { label: 'Shape', cell: (row) => <Words name={row.shape} /> },
    { label: 'Supplied', sort: 'total_supplied_usd', number: true, cell: (row) => <Usd amount={row.total_supplied_usd} /> },
    { label: 'Borrowed', sort: 'total_borrowed_usd', number: true, cell: (row) => <Usd amount={row.total_borrowed_usd} /> },
    { label: 'Utilization', sort: 'utilization', number: true, cell: (row) => <Percent of={row.utilization} /> },
    { label: 'Reserves', sort: 'reserve_count', number: true, cell: (row) => <Count n={row.reserve_count} /> },
    { label: 'Read', sort: 'last_synced_at', cell: (row, now) => <When at={row.last_synced_at} now={now} short /> },
  ],
});
