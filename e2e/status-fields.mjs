// The shape of the status feed.

import { count, instant, listOf, nullable, number, oneOf, record, text } from './shape.mjs';

const componentStatus = oneOf('operational', 'degraded', 'down');

/** Percent of a window's minutes; a window is omitted until there is enough history. */
function uptime(value, path) {
  const faults = [];
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [`${path} is not an object`];
  for (const [window, share] of Object.entries(value)) {
    if (!['24h', '30d'].includes(window)) faults.push(`${path}.${window} is not a known window`);
    else if (typeof share !== 'number' || share < 0 || share > 100) faults.push(`${path}.${window} is not between 0 and 100`);
  }
  return faults;
}

/** The status feed; a signal is null while it is unknown. */
export const StatusFeed = record({
  status: componentStatus,
  rollup: componentStatus,
  last_checked_at: instant,
  uptime,
  components: listOf(record({ name: text, status: componentStatus, detail: nullable(text), checked_at: instant })),
  signals: record({ error_rate_15m: nullable(number), requests_15m: nullable(count), external_down_samples: nullable(count) }),
});
