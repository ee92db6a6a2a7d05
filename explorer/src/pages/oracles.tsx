// All price feeds, stale ones marked.

import { chainPath, oraclePath } from '../links.js';
import type { OracleFeed } from '../types.js';
import { Duration, Hash, Text, To, When, Words } from '../ui/basic.js';
import { FeedState } from '../ui/feed.js';
import { listPage } from '../ui/list.js';

export default listPage<OracleFeed>({
  api: '/v1/oracle',
  title: 'Price feeds',
  about: 'Oracles that markets and vaults read. A feed is stale if its latest update is older than its heartbeat.',
  noun: 'feeds',
  rowKey: (row) => `${row.chain_id}:${row.address}`,
  columns: [
    { label: 'Feed', header: true, cell: (row) => <To href={oraclePath(Number(row.chain_id), row.address)}>{row.description || row.address}</To> },
    { label: 'State', cell: (row) => <FeedState status={row.status} /> },
    { label: 'Kind', cell: (row) => <Words name={row.kind} /> },
    { label: 'Vendor', cell: (row) => <Text text={row.vendor} /> },
    { label: 'Chain', cell: (row) => <To href={chainPath(row.chain_id)}>{row.chain_name}</To> },
    { label: 'Answer', number: true, cell: (row) => <Text text={row.last_answer} /> },
    { label: 'Updated', cell: (row, now) => <When at={row.last_update_at} now={now} short /> },
    { label: 'Heartbeat', cell: (row) => <Duration seconds={row.heartbeat_seconds} /> },
    { label: 'Used by', number: true, cell: (row) => row.used_by.length },
    { label: 'Address', cell: (row) => <Hash text={row.address} /> },
  ],
});
