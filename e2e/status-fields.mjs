// The status feed, field by field, as data.

import { anything, count, instant, listOf, nullable, number, oneOf, record, text } from './shape.mjs';

const componentStatus = oneOf('operational', 'degraded', 'down');

/** The status feed; windows of uptime are there once there is enough history. */
export const StatusFeed = record({
  status: componentStatus,
  rollup: componentStatus,
  last_checked_at: instant,
  uptime: anything,
  components: listOf(record({ name: text, status: componentStatus, detail: nullable(text), checked_at: instant })),
  signals: record({ error_rate_15m: number, requests_15m: count, external_down_samples: count }),
});
