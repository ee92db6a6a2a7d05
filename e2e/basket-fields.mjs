// The fields of the basket resources. Fields that the interface leaves open (constituents, analytics) are marked additive.

import { count, flag, fraction, instant, listOf, micros, nullable, number, oneOf, record, score, text } from './shape.mjs';

const trigger = oneOf('inception', 'methodology', 'hard_fail', 'tier_cross', 'score_down', 'score_up', 'calendar');

const row = {
  id: text,
  name: text,
  constituent_type: oneOf('vault', 'asset'),
  version_id: text,
  effective_from: micros,
  content_hash: text,
  last_rebalanced_at: instant,
};

/** Basket (list item). */
export const BasketRow = record(row);

// additive
const Constituent = record({ id: text, issuer: text, score, score_mp: count, weight: fraction, weight_ppm: count });

const Methodology = record({
  summary: text,
  eligibility_rule: record({
    asset_category: listOf(text),
    review_status: listOf(text),
    terminal_underlying_category: listOf(text),
    terminal_underlying_min_backing_offchain_pct: nullable(number),
    tier: listOf(text),
    min_tvl_usd: nullable(count),
    min_age_days: nullable(count),
    max_per_protocol_pct: nullable(number),
  }),
  weighting_rule: record({ proportional_to: text, pivot: score, min_constituents: count }),
  refresh_rule: record({ calendar: text, triggers: listOf(trigger), score_down: number, score_up: number }),
  caps: record({ single_name_pct: number, issuer_pct: number, floor_pct: number }),
  version: text,
  doc_url: nullable(text),
});

/** Basket (detail). */
export const BasketDetail = record({
  ...row,
  methodology: Methodology,
  constituents: listOf(Constituent),
  // additive
  analytics: record({
    constituents: count,
    issuers: count,
    weighted_score: score,
    largest_weight: fraction,
    largest_issuer_weight: fraction,
    effective_constituents: number,
  }),
  support_status: oneOf('current', 'deprecated', 'retired'),
  retired_at: nullable(instant),
  // additive: the version's row and its support status
  trigger_reason: trigger,
  prior_version_id: nullable(text),
  methodology_version: text,
  signing_key_id: nullable(text),
  signer_address: nullable(text),
  signature: nullable(text),
  created_at: instant,
  deprecated_at: nullable(instant),
  successor_version_id: nullable(text),
});

/** Basket version row. */
export const BasketVersionRow = record({
  version_id: text,
  basket_id: text,
  effective_from: micros,
  trigger_reason: trigger,
  prior_version_id: nullable(text),
  methodology_version: text,
  content_hash: text,
  signing_key_id: nullable(text),
  signer_address: nullable(text),
  signature: nullable(text),
  created_at: instant,
  // additive: the version's support status
  support_status: oneOf('current', 'deprecated', 'retired'),
  deprecated_at: nullable(instant),
  retired_at: nullable(instant),
  successor_version_id: nullable(text),
});

/** Change row. */
export const BasketChangeRow = record({
  version_id: text,
  prior_version_id: nullable(text),
  effective_from: micros,
  trigger_reason: trigger,
  added: listOf(Constituent),
  removed: listOf(Constituent),
  weight_changed: listOf(record({ id: text, previous_weight: fraction, weight: fraction })),
});

/** Methodology version row. */
export const BasketMethodologyRow = record({
  version: text,
  doc_url: nullable(text),
  content_hash: text,
  activated_at: instant,
  retired_at: nullable(instant),
  is_active: flag,
});
