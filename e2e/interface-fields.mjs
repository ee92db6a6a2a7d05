// The interface's resources, field by field, as data.
//
// A field under "additive" is ours: the interface allows new fields and leaves these shapes open.

import { anything, count, day, decimalDigits, flag, fraction, instant, listOf, nullable, number, oneOf, record, score, text } from './shape.mjs';

export const tier = oneOf('Prime', 'Core', 'Edge');
const severity = oneOf('Critical', 'Warning', 'Info');
const incentives = oneOf('observed', 'none', 'unavailable', 'not_applicable');
const gate = oneOf('open', 'closed', 'unknown');

const vaultRow = {
  id: text,
  name: text,
  address: text,
  protocol_id: text,
  protocol_name: text,
  chain_id: count,
  chain_name: text,
  asset_symbol: nullable(text),
  tvl_usd: number,
  apr_net: nullable(number),
  base_apr: nullable(number),
  utilization: nullable(number),
  borrow_apr: nullable(number),
  borrow_reward_apr: nullable(number),
  borrow_apr_net: nullable(number),
  borrow_incentive_status: incentives,
  has_borrow_rewards: flag,
  borrow_status: oneOf('open', 'disabled', 'paused', 'capped', 'unknown', 'not_applicable'),
  gross_interest_apy: nullable(number),
  active_loans_usd: nullable(number),
  available_liquidity_usd: nullable(number),
  liquidity_deficit_usd: nullable(number),
  liquidity_status: oneOf('available', 'exhausted', 'deficit', 'unknown'),
  total_score: nullable(score),
  risk_tier: nullable(tier),
  strategy_type: nullable(text),
  curator_name: nullable(text),
  is_audited: flag,
  deposit_status: gate,
  withdraw_status: gate,
  is_depositable: nullable(flag),
  deposit_capacity_usd: nullable(number),
  freshness_seconds: nullable(count),
  last_synced_at: nullable(instant),
  score_status: oneOf('scored', 'unscored'),
  score_updated_at: nullable(instant),
  tvl_status: oneOf('observed', 'unavailable'),
  // additive
  real_yield_share: nullable(number),
  curator_id: nullable(text),
};

/** Vault (list row). */
export const VaultRow = record(vaultRow);

/** Bulk score row. */
export const VaultScoreRow = record({
  id: text,
  address: text,
  chain_id: count,
  chain_name: text,
  protocol_id: text,
  asset_symbol: nullable(text),
  tvl_usd: number,
  apr_net: nullable(number),
  total_score: nullable(score),
  risk_tier: nullable(tier),
  is_active: flag,
  last_synced_at: nullable(instant),
  score_run_id: nullable(text),
  score_computed_at: nullable(instant),
  score_updated_at: nullable(instant),
  freshness_seconds: nullable(count),
  needs_risk_review: flag,
  is_high_confidence: flag,
  tvl_status: oneOf('observed', 'unavailable'),
});

/** Contracts: a campaign or fee stream. */
export const Reward = record({
  side: oneOf('supply', 'borrow'),
  token_symbol: nullable(text),
  token_address: nullable(text),
  apr: nullable(number),
  reward_type: oneOf('token_incentive', 'points', 'trading_fee', 'strategy'),
  source: text,
  campaign_id: nullable(text),
  source_url: nullable(text),
});

const vector = (weight) => record({ score: nullable(score), weight: oneOf(weight) });

/** Methodology, "What is published on the vault detail". */
export const ScoreProvenance = record({
  methodology_version: text,
  score_run_id: text,
  raw_score: nullable(score),
  weighted_sum: nullable(number),
  dwell: nullable(record({ candidate_tier: tier, since: instant, publishes_at: instant })),
  caps: listOf(record({ id: text, value: score, binding: flag })),
  flags: listOf(text),
  // caps and flags are additive: the inputs that only those read
  inputs: record({ asset: anything, platform: anything, control: anything, history: anything, caps: anything, flags: anything }),
  // additive
  missing: listOf(text),
});

/** Vault detail: `data.vault`. */
export const VaultDetail = record({
  ...vaultRow,
  borrow_rewards: listOf(Reward),
  risk_vectors: record({ asset: vector(0.35), platform: vector(0.3), control: vector(0.2), history: vector(0.15) }),
  audit_status: text,
  auditors: listOf(text),
  score_provenance: nullable(ScoreProvenance),
  // additive
  symbol: nullable(text),
  asset_address: nullable(text),
  protocol_version: nullable(text),
  protocol_website: nullable(text),
  protocol_launch_date: nullable(instant),
  audit_date: nullable(instant),
  audit_report_url: nullable(text),
  is_immutable: nullable(flag),
  timelock_seconds: nullable(count),
  deployment_timestamp: nullable(instant),
  is_active: flag,
  needs_risk_review: flag,
  is_high_confidence: flag,
  score_computed_at: nullable(instant),
});

/** Vault snapshot point. */
export const SnapshotPoint = record({
  recorded_at: instant,
  tvl_usd: nullable(number),
  apr_net: nullable(number),
  borrow_apr: nullable(number),
  borrow_reward_apr: nullable(number),
  borrow_apr_net: nullable(number),
  borrow_incentive_status: incentives,
  price_per_share: nullable(number),
});

/** Score history point. */
export const ScoreHistoryPoint = record({
  observed_at: instant,
  change_type: oneOf('initial', 'score_move', 'tier_promote', 'tier_demote', 'hard_demote', 'unscored', 'methodology'),
  prev_score: nullable(score),
  new_score: nullable(score),
  prev_tier: nullable(tier),
  new_tier: nullable(tier),
  methodology_version: text,
});

/** Vault event row. */
export const VaultEvent = record({
  id: count,
  event_type: text,
  severity,
  title: text,
  description: nullable(text),
  tx_hash: nullable(text),
  block_number: nullable(count),
  occurred_at: instant,
  // additive
  source: text,
  detected_at: nullable(instant),
  retracted_at: nullable(instant),
  retracted_reason: nullable(text),
});

/** The detail routes' `data`. */
export const VaultPage = record({
  vault: VaultDetail,
  snapshots: listOf(SnapshotPoint),
  events: listOf(VaultEvent),
  rewards: listOf(Reward),
});

/** Bulk score row. */
export const BulkScoreRow = record({
  id: text,
  address: text,
  chain_id: count,
  chain_name: text,
  protocol_id: text,
  asset_symbol: nullable(text),
  tvl_usd: number,
  apr_net: nullable(number),
  total_score: nullable(score),
  risk_tier: nullable(tier),
  is_active: flag,
  last_synced_at: nullable(instant),
  score_run_id: nullable(text),
  score_computed_at: nullable(instant),
  score_updated_at: nullable(instant),
  freshness_seconds: nullable(count),
  needs_risk_review: flag,
  is_high_confidence: flag,
  tvl_status: oneOf('observed', 'unavailable'),
});

/** The change feed. */
export const Changes = record({
  data: record({ vaults: listOf(BulkScoreRow), cursor: text }),
  meta: record({ total: count, limit: count, has_more: flag }),
});

const evidence = oneOf('observed', 'unavailable');
const coverageStatus = oneOf('complete', 'indexing');

/** Holder snapshot: one of the largest holders. */
export const TopHolder = record({
  address: text,
  balance_raw: decimalDigits,
  pct: fraction,
  label: nullable(text),
  category: oneOf('protocol_managed', 'vault', 'contract', 'account', 'unknown'),
  method: nullable(oneOf('registry', 'review', 'bytecode')),
});

/** Holder snapshot. */
export const HolderSnapshot = record({
  status: evidence,
  vault_id: text,
  chain_id: count,
  token_address: text,
  holder_count: nullable(count),
  external_holder_count: nullable(count),
  top1_pct: nullable(fraction),
  top5_pct: nullable(fraction),
  top10_pct: nullable(fraction),
  hhi: nullable(fraction),
  external_top1_pct: nullable(fraction),
  external_top5_pct: nullable(fraction),
  external_top10_pct: nullable(fraction),
  external_hhi: nullable(fraction),
  protocol_managed_pct: nullable(fraction),
  top_holders: listOf(TopHolder),
  indexed_to_block: nullable(count),
  backfill_complete: flag,
  coverage_status: coverageStatus,
  computed_at: nullable(instant),
});

/** Holder snapshot, as history. */
export const HolderHistoryRow = record({
  computed_at: instant,
  holder_count: count,
  external_holder_count: count,
  top1_pct: nullable(fraction),
  top5_pct: nullable(fraction),
  top10_pct: nullable(fraction),
  hhi: nullable(fraction),
  protocol_managed_pct: nullable(fraction),
  top_holders: listOf(TopHolder),
  indexed_to_block: nullable(count),
  backfill_complete: flag,
  coverage_status: coverageStatus,
});

/** A vault's lending markets; the interface leaves the shape open. */
export const MarketAllocation = record({
  vault_id: text,
  status: evidence,
  loan_asset_symbol: nullable(text),
  loan_asset_address: nullable(text),
  tvl_usd: nullable(number),
  market_count: count,
  allocated_share: nullable(fraction),
  idle_share: nullable(fraction),
  idle_usd: nullable(number),
  collateral: record({
    weighted_score: nullable(score),
    weighted_tier: nullable(tier),
    lowest_score: nullable(score),
    lowest_tier: nullable(tier),
    scored_share: fraction,
    unscored_share: fraction,
    largest_market_share: nullable(fraction),
    same_peg_share: fraction,
    highest_lltv: nullable(fraction),
    hard_fail_flags: listOf(text),
  }),
  markets: listOf(
    record({
      share: fraction,
      allocated_usd: nullable(number),
      lltv: nullable(fraction),
      oracle: oneOf('push_feed', 'attested_push', 'pull_feed', 'exchange_rate', 'twap', 'fixed', 'custom', 'unknown', 'none'),
      same_peg: flag,
      collateral: record({
        asset_id: nullable(text),
        vault_id: nullable(text),
        symbol: nullable(text),
        name: nullable(text),
        address: nullable(text),
        category: nullable(text),
        review_status: nullable(oneOf('reviewed', 'provisional', 'unreviewed')),
        risk_score: nullable(score),
        risk_tier: nullable(tier),
        hard_fail_flags: listOf(text),
      }),
    }),
  ),
  source: nullable(text),
  observed_at: nullable(instant),
});

const yieldSources = listOf(
  record({
    name: text,
    kind: oneOf('interest', 'trading_fees', 'rewards', 'staking', 'other', 'unknown'),
    protocol_id: nullable(text),
    apr: nullable(number),
  }),
);

/** A vault's strategies; the interface leaves the shape open. */
export const StrategyBreakdown = record({
  vault_id: text,
  status: evidence,
  tvl_usd: nullable(number),
  strategy_count: count,
  allocated_share: nullable(fraction),
  idle_share: nullable(fraction),
  idle_usd: nullable(number),
  strategies: listOf(
    record({
      strategy_id: text,
      address: nullable(text),
      name: text,
      strategy_type: nullable(text),
      description: nullable(text),
      is_active: flag,
      share: nullable(fraction),
      target_share: nullable(fraction),
      allocated_usd: nullable(number),
      apr: nullable(number),
      apy: nullable(number),
      performance_fee: nullable(fraction),
      last_report_at: nullable(instant),
      yield_sources: yieldSources,
      risk_flags: listOf(text),
      source: text,
      source_url: nullable(text),
      observed_at: instant,
    }),
  ),
});

/** A vault's one strategy; the interface leaves the shape open. */
export const StrategyInfo = record({
  vault_id: text,
  status: evidence,
  tvl_usd: nullable(number),
  vault_apr_net: nullable(number),
  strategy_id: nullable(text),
  address: nullable(text),
  name: nullable(text),
  strategy_type: nullable(text),
  description: nullable(text),
  is_active: nullable(flag),
  apr: nullable(number),
  apy: nullable(number),
  performance_fee: nullable(fraction),
  last_report_at: nullable(instant),
  yield_sources: yieldSources,
  risk_flags: listOf(text),
  source: nullable(text),
  source_url: nullable(text),
  observed_at: nullable(instant),
});

/** A chain with active vaults; the interface leaves its row open. */
export const ChainRow = record({
  chain_id: count,
  slug: text,
  name: text,
  namespace: oneOf('evm', 'svm'),
  native_symbol: nullable(text),
  explorer_url: nullable(text),
  vault_count: count,
  scored_vault_count: count,
  protocol_count: count,
  tvl_usd: number,
  last_synced_at: nullable(instant),
});

/** Protocol list row. */
export const ProtocolRow = record({ id: text, name: text, logo_url: nullable(text), vault_count: count, tvl: number });

const link = record({ label: text, url: text });
const incidentSize = nullable(oneOf('minor', 'major'));
const remediation = nullable(oneOf('resolved', 'unresolved'));

/** Protocol detail; the shapes of versions[] and incidents[] are ours. */
export const ProtocolPage = record({
  protocol: record({ id: text, name: text, logo_url: nullable(text), website_url: nullable(text) }),
  vaults: listOf(VaultRow),
  vaultTotal: count,
  versions: listOf(
    record({
      version: text,
      vault_count: count,
      tvl_usd: number,
      first_seen_at: nullable(instant),
      audit_count: nullable(count),
      newest_audit_at: nullable(instant),
      audit_report_url: nullable(text),
    }),
  ),
  incidents: listOf(
    record({
      id: text,
      title: text,
      severity,
      incident_severity: incidentSize,
      occurred_at: instant,
      loss_amount_usd: nullable(number),
      remediation_status: remediation,
      affects_protocol_score: flag,
      links: listOf(link),
    }),
  ),
});

/** Event (feed item). */
export const EventRow = record({
  id: text,
  event_type: text,
  severity,
  title: text,
  description: nullable(text),
  occurred_at: instant,
  protocol_id: nullable(text),
  protocol_name: nullable(text),
  chain_id: nullable(count),
  chain_name: nullable(text),
  curator_id: nullable(text),
  curator_name: nullable(text),
  incident_severity: incidentSize,
  loss_amount_usd: nullable(number),
  remediation_status: remediation,
  links: listOf(link),
  occurrence_count: count,
  group_key: nullable(text),
});

/** Curator list row. */
export const CuratorRow = record({
  id: text,
  name: text,
  one_liner: nullable(text),
  logo_url: nullable(text),
  website: nullable(text),
  vault_count: count,
  tvl_total: number,
  avg_apr: nullable(number),
  created_at: instant,
});

/** Curator detail; the shape of chainDistribution[] is ours. */
export const CuratorPage = record({
  curator: CuratorRow,
  vaults: listOf(VaultRow),
  vaultTotal: count,
  chainDistribution: listOf(
    record({ chain_id: count, chain_name: text, vault_count: count, tvl_usd: number, share: nullable(number) }),
  ),
  events: listOf(EventRow),
  eventsTotal: count,
});

/** Curator events. */
export const CuratorEvents = record({ events: listOf(EventRow), total: count });

/** `meta` of a numbered list. */
export const PageMeta = record({ page: count, limit: count, total: count, totalPages: count });
export const data = (shape) => record({ data: shape });
export const paged = (row) => record({ data: listOf(row), meta: PageMeta });

const coverage = { totalIdentities: count, withApprovedVersion: count, coveragePercent: nullable(number) };

/** Key identity. Ids are numbers, as the operators' verbs show them. */
export const Me = record({
  key: record({
    id: count,
    prefix: text,
    partner_name: text,
    tier: oneOf('data', 'decisioning', 'embedded'),
    created_at: instant,
    last_used_at: nullable(instant),
    org_id: count,
  }),
  limits: record({ requests_per_minute: count, shared_key: flag, subclient_requests_per_minute: nullable(count) }),
  usage: record({
    day,
    as_of_lag_seconds: count,
    total_count: count,
    throttled_count: count,
    endpoints: listOf(record({ endpoint: text, count, last_seen: instant })),
  }),
});

/** Health. */
export const Health = record({
  status: oneOf('ok', 'degraded'),
  version: text,
  vaultCount: count,
  lastSync: nullable(instant),
  timestamp: instant,
  lastScoreRun: nullable(record({ completedAt: instant, failSafeMode: oneOf('normal', 'degraded', 'fail_closed') })),
  assetRegistryCoverage: record({ totalExposures: count, withAssetVersion: count, coveragePercent: nullable(number) }),
  assetIdentityCoverage: record({ identityBasis: text, ...coverage, byChain: listOf(record({ chainId: count, ...coverage })) }),
  assetRegistryQueueBacklog: count,
  evidenceSigner: record({ configured: flag, signerAddress: nullable(text), keyId: nullable(text) }),
});

/** Readiness. */
export const Ready = record({ status: text, db: text, cache: oneOf('closed', 'open') });
