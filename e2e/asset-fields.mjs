// The fields of the asset and RWA resources, as data. Timestamps of these resources have microseconds. Fields under "additive" are
// beyond the interface.

import { anything, count, flag, fraction, listOf, micros, nullable, number, oneOf, record, score, text } from './shape.mjs';
import { citation } from './evidence-fields.mjs';
import { tier } from './interface-fields.mjs';

const DIMENSIONS = [
  'peg_stability', 'issuer_custody', 'redeemability', 'reserve_transparency', 'governance_controls', 'protocol_security',
  'operator_quality', 'bridge_mechanism', 'dependency_depth', 'liquidity', 'volatility', 'credit_quality', 'default_rate',
  'recovery_rate', 'subadvisor_concentration', 'redemption_terms',
];
export const RWA_CATEGORIES = ['tokenized_treasury', 't_bill_backed_stable', 'rwa_credit', 'commodity_backed', 'tokenized_equity'];
export const CATEGORIES = [
  'native', 'fiat_backed_stablecoin', 'cdp_stablecoin', 'synthetic_stablecoin', 'lst', 'lrt', 'wrapped_btc', 'governance_token',
  'defi_derivative', ...RWA_CATEGORIES, 'wrapped_crypto', 'unreviewed',
];
const reviewStatus = oneOf('reviewed', 'provisional', 'unreviewed');
const gate = oneOf('permissionless', 'kyc_required', 'accredited', 'qualified_purchaser', 'professional_investor', 'institutional_only');
const age = oneOf('fresh', 'aging', 'stale', 'expired');
const link = record({ asset_id: text, slug: text, symbol: text, risk_score: nullable(score), risk_tier: nullable(tier) });

const asset = {
  asset_id: text,
  asset_version_id: nullable(text),
  address: nullable(text),
  chain_id: count,
  symbol: text,
  name: nullable(text),
  category: oneOf(...CATEGORIES),
  review_status: reviewStatus,
  risk_score: nullable(score),
  risk_tier: nullable(tier),
  issuer: nullable(record({ id: nullable(text), name: text, jurisdiction: nullable(text), type: nullable(text), website_url: nullable(text) })),
  in_basket_a: flag,
  dimensions: record(Object.fromEntries(DIMENSIONS.map((name) => [name, nullable(score)]))),
  risk_overlays: listOf(oneOf('yield-bearing', 'lockup')),
  instrument_type: nullable(text),
  hard_fail_flags: listOf(text),
  caps_applied: listOf(text),
  backing_profile: nullable(
    record({ offchain_pct: number, crypto_exogenous_pct: number, crypto_endogenous_pct: number, delta_hedge_pct: number }),
  ),
  underlying_asset: nullable(link),
  institutional: record({
    regulatory_wrapper: nullable(text),
    regulatory_jurisdiction: nullable(text),
    kyc_gate: nullable(gate),
    custodian_name: nullable(text),
    auditor_name: nullable(text),
    attestation_cadence: nullable(text),
    redemption_window: nullable(text),
    aum_usd: nullable(number),
    yield_pct: nullable(number),
    duration_days: nullable(number),
    currency: nullable(text),
    aum_native: nullable(number),
    fx_rate_used: nullable(number),
    fx_rate_at: nullable(micros),
    aum_usd_source: nullable(text),
    yield_basis: nullable(text),
  }),
  data_provenance: listOf(
    record({ source_type: text, source_url: nullable(text), retrieved_at: nullable(micros), document_hash: nullable(text), notes: nullable(text) }),
  ),
  reviewed_by: nullable(text),
  reviewer: nullable(text),
  recorded_at: nullable(micros),
  freshness: record({ last_refresh_at: nullable(micros), age_hours: nullable(number), status: nullable(age), last_status: nullable(age) }),
  dependency_chain: listOf(link),
  methodology_version: text,
  chain_overlay: nullable(
    record({
      multiplier: number,
      bridge_centralization: nullable(score),
      sequencer_centralization: nullable(score),
      validator_set_size_score: nullable(score),
      chain_age_score: nullable(score),
      rationale: nullable(text),
    }),
  ),
  // additive
  slug: text,
  quality: nullable(
    record({ weighted_dimensions: count, answered_dimensions: count, evidence_coverage: number, provenance_documents: count }),
  ),
  restricted_fields: listOf(text),
  score_basis: oneOf('answers', 'signed_review', 'review', 'mixed', 'none'),
  score_coverage: fraction,
  lowest_score: nullable(score),
  highest_score: nullable(score),
};

const realWorld = {
  score_status: oneOf('scored', 'derived', 'unscored'),
  dimensions_only: flag,
  product_id: nullable(text),
  identity_status: oneOf('verified', 'disputed', 'candidate', 'unmapped'),
  canonical_product_id: text,
  aum_scope: nullable(text),
  canonical_aum: record({
    snapshot_date: nullable(text),
    included: flag,
    exclusion_reason: nullable(text),
    value_usd: nullable(number),
    source_id: nullable(text),
    effective_at: nullable(micros),
    age_hours: nullable(number),
    carried_forward: nullable(flag),
    observation_ids: listOf(text),
    caveats: listOf(text),
  }),
  metrics: record({
    fund_aum_usd: nullable(number),
    global_issued_value_usd: nullable(number),
    deployment_circulating_value_usd: nullable(number),
    apy_7d_pct: nullable(number),
    apy_30d_pct: nullable(number),
    duration_days: nullable(number),
  }),
};

const attestation = record({
  attestation_id: text,
  asset_version_id: text,
  reviewer_id: text,
  reviewer_name: text,
  key_id: text,
  algorithm: oneOf('Ed25519'),
  public_key: text,
  signed_at: micros,
  product_id: nullable(text),
  message: text,
  signature: text,
  signature_valid: oneOf(true),
});

const history = {
  version_history: listOf(
    record({
      asset_version_id: text,
      recorded_at: micros,
      risk_score: nullable(score),
      risk_tier: nullable(tier),
      review_status: reviewStatus,
      aum_usd: nullable(number),
      yield_pct: nullable(number),
    }),
  ),
  attestation_history: listOf(attestation),
  discovery: nullable(record({ source_slug: text, discovered_at: micros, last_seen_at: micros })),
  risk_score_breakdown: nullable(
    record({
      category: oneOf(...CATEGORIES),
      weights: anything,
      dimensions: anything,
      weighted_sum: number,
      overlays_applied: listOf(record({ id: text, kind: oneOf('cap', 'multiply', 'subtract'), before: number, after: number, reason: text })),
      score,
      tier,
      methodology_version: text,
      reconstructed: oneOf('full', 'partial'),
      // additive
      dimension_basis: anything,
      flags: listOf(text),
      hard_fail_overrides: listOf(record({ flag: text, preparer: text, approver: text, reason: text, expires_at: text })),
    }),
  ),
  // additive
  answers: nullable(
    record({
      rubric_version: text,
      answers_hash: text,
      attested_by: listOf(text),
      answers: listOf(
        record({
          dimension: oneOf(...DIMENSIONS),
          question: text,
          answer: text,
          points: nullable(score),
          counts: flag,
          question_state: oneOf('answered', 'contradicted', 'aged', 'withdrawn', 'unknown'),
          ...citation(micros),
        }),
      ),
    }),
  ),
};

/** Enriched asset, its detail, RWA item, and its detail. */
export const AssetRow = record(asset);
export const AssetDetail = record({ ...asset, ...history });
export const RwaRow = record({ ...asset, ...realWorld });
export const RwaDetail = record({ ...asset, ...realWorld, ...history });

const counts = (field, shape) => listOf(record({ [field]: shape, count }));

/** The facets of the asset lists: the number of assets per value of each filter. */
export const Facets = record({
  chains: counts('chain_id', count),
  categories: counts('category', text),
  review_statuses: counts('review_status', text),
  risk_tiers: counts('risk_tier', text),
  regulatory_wrappers: counts('regulatory_wrapper', text),
  kyc_gates: counts('kyc_gate', text),
  jurisdictions: counts('jurisdiction', text),
  custodians: counts('custodian', text),
  auditors: counts('auditor', text),
});

/** A reviewer with their keys. */
export const ReviewerRow = record({
  reviewer_id: text,
  name: text,
  organisation: nullable(text),
  website_url: nullable(text),
  is_active: flag,
  keys: listOf(record({ key_id: text, algorithm: oneOf('Ed25519'), public_key: text, valid_from: micros, valid_until: nullable(micros) })),
  attestation_count: count,
  last_attested_at: nullable(micros),
});

const covered = { present: count, total: count, coverage: nullable(number) };
const share = record({ source_id: text, products: count, value_usd: number, share: nullable(number) });

/** The RWA coverage report. */
export const Coverage = record({
  snapshot_date: nullable(text),
  universe: record({ deployments: count, products: count, scored: count, derived: count, unscored: count }),
  identity: record({ reviewed: record(covered), verified: count, disputed: count, candidate: count, unmapped: count }),
  fields: record({ legacy: listOf(record({ field: text, ...covered })), canonical: listOf(record({ field: text, ...covered })) }),
  market_catalog: record({ matched: record(covered), catalogs: listOf(text) }),
  source_concentration: record({ hhi: nullable(number), sources: listOf(share) }),
  sources: listOf(
    record({
      source_id: text,
      name: text,
      source_type: oneOf('issuer_feed', 'onchain', 'aggregator', 'market_catalog'),
      state: oneOf('active', 'stale', 'failing', 'unseen', 'registered', 'disabled'),
      priority: count,
      max_age_seconds: count,
      publication_id: nullable(text),
      published_at: nullable(micros),
      publications: count,
      observations: count,
      last_attempt_at: nullable(micros),
      last_attempt_ok: nullable(flag),
    }),
  ),
  findings: listOf(record({ severity: oneOf('P0', 'P1', 'P2'), code: text, subject: nullable(text), message: text })),
  discovery: record({
    open: count,
    candidates: listOf(
      record({
        chain_id: count,
        address: text,
        symbol: nullable(text),
        name: nullable(text),
        state: oneOf('discovered', 'classifying'),
        source_slug: text,
        evidence_url: nullable(text),
        discovered_at: micros,
        last_seen_at: micros,
      }),
    ),
  }),
});

/** The history of the total RWA value. */
export const AumHistory = record({
  data: listOf(
    record({
      snapshot_date: text,
      value_usd: nullable(number),
      included_products: count,
      excluded_products: count,
      exclusions: listOf(record({ reason: text, count })),
      product_coverage: record(covered),
      chain_coverage: nullable(number),
      unallocated_value_usd: nullable(number),
      breakdown: listOf(record({ chain_id: nullable(count), category: nullable(text), products: count, value_usd: number })),
      source_mix: listOf(share),
      revision: count,
      recorded_at: micros,
      caveats: listOf(record({ caveat: text, products: count })),
    }),
  ),
  meta: record({ range: text, breakdown: text, points: count }),
});
