// The feed of events; live where the stream may be had.

import type { EventRow } from '../types.js';
import { EVENT_COLUMNS } from '../ui/columns.js';
import { Live } from '../ui/live.js';
import { listPage } from '../ui/list.js';

export default listPage<EventRow>({
  api: '/v1/events',
  title: 'Events',
  about: 'What happened to vaults, protocols and assets: incidents, bad debt, changed ratings, changed parameters.',
  noun: 'events',
  columns: EVENT_COLUMNS,
  rowKey: (row) => row.id,
  above: () => <Live />,
});
