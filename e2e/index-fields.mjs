// The fields of the index and reference-rate resources. The interface names the routes and leaves their shapes open.

import { count, day, flag, fraction, instant, listOf, micros, nullable, number, oneOf, record, score, text } from './shape.mjs';

const index = {
  id: text, name: text, methodology_version: text, version_id: text, base_date: nullable(day), base_level: number,
  latest: nullable(record({ date: day, level: number, is_final: flag })),
};

export const IndexRow = record(index);

export const IndexDetail = record({
  ...index,
  method: record({ level: text, price: text, gaps: text, price_decimals: count, ratio_decimals: count, level_decimals: count, rounding: text }),
  links: listOf(record({ version_id: text, effective_from: micros, linked_on: nullable(day), level: nullable(number) })),
});

export const IndexLevel = record({
  date: day, level: nullable(number), version_id: nullable(text), gap: nullable(oneOf('unread', 'withheld', 'out_of_range')), is_final: flag,
});

const rate = {
  asset_symbol: text, methodology_version: text, rate: nullable(number), tvl_usd: number, vaults: count, largest_share: nullable(fraction),
  left_out: count, oldest_reading_at: nullable(instant), newest_reading_at: nullable(instant),
};

export const ReferenceRate = record(rate);

export const ReferenceRateDetail = record({
  ...rate,
  constituents: listOf(record({
    vault_id: text, chain_id: count, protocol_id: text, total_score: nullable(score), tvl_usd: number, apr_net: number, share: fraction,
    read_at: nullable(instant),
  })),
  excluded: listOf(record({ vault_id: text, reason: oneOf('closed', 'under_review', 'stale', 'unread') })),
});
