// The fields of the interface's resources, as data.
//
// Fields under "additive" are beyond the interface, which allows new fields and leaves these shapes open.

import { EvidenceCoverage, scoreEvidence, scoreSources } from './evidence-fields.mjs';
import { anything, count, day, flag, instant, listOf, nullable, number, oneOf, record, score, text } from './shape.mjs';

export const tier = oneOf('Prime', 'Core', 'Edge');
const severity = oneOf('Critical', 'Warning', 'Info');
const incentives = oneOf('observed', 'none', 'unavailable', 'not_applicable');
const gate = oneOf('open', 'closed', 'unknown');
/** Whether a vault's market can be borrowed from. */
export const borrowStatus = oneOf('open', 'disabled', 'paused', 'capped', 'unknown', 'not_applicable');

/** The fields of a vault's list row. */
export const vaultRow = {
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
  borrow_status: borrowStatus,
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
  ...scoreEvidence,
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
  // additive
  ...scoreEvidence,
});

/** A reward: a campaign or fee stream. */
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

/** The score's provenance, as the methodology specifies it for the vault detail. */
export const ScoreProvenance = record({
  methodology_version: text,
  score_run_id: text,
  raw_score: nullable(score),
  weighted_sum: nullable(number),
  dwell: nullable(record({ candidate_tier: tier, since: instant, publishes_at: instant })),
  caps: listOf(record({ id: text, value: score, binding: flag })),
  flags: listOf(text),
  // additive: inputs that only the caps and flags read
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
  score_evidence: scoreSources,
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

/** Protocol detail; the interface leaves the shapes of versions[] and incidents[] open. */
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
const eventRow = {
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
  // additive
  source: text,
  published_at: nullable(instant),
};
export const EventRow = record(eventRow);

/** An event's detail. */
export const EventDetail = record({
  ...eventRow,
  affected_vaults: listOf(record({ vault_id: text, vault_name: text, tvl_usd: nullable(number), chain_id: count, address: text })),
  // additive
  affected_vault_count: count,
  market_id: nullable(text),
  tx_hash: nullable(text),
  block_number: nullable(count),
  detected_at: instant,
  promoted_at: nullable(instant),
  retracted_at: nullable(instant),
  retracted_reason: nullable(text),
  data: anything,
});

/** A page of the feed. */
export const Feed = record({ data: listOf(EventRow), meta: record({ page: count, limit: count, hasMore: flag }) });

/** Market event row. */
export const MarketEvent = record({
  id: count,
  market_id: text,
  event_type: text,
  severity,
  title: text,
  description: nullable(text),
  scope: oneOf('protocol', 'vault'),
  vault_id: nullable(text),
  loss_amount_usd: nullable(number),
  remediation_status: remediation,
  tx_hash: nullable(text),
  block_number: nullable(count),
  occurred_at: instant,
  detected_at: instant,
  data: anything,
});

/** A vault with a critical incident. */
export const CriticalVault = record({
  vault_id: text,
  vault_name: text,
  chain_name: text,
  protocol_name: text,
  curator_name: nullable(text),
  tvl_usd: nullable(number),
  last_incident_at: instant,
  days_since_incident: count,
  incident_title: text,
  incident_severity: incidentSize,
  event_severity: severity,
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

/** Curator detail; the interface leaves the shape of chainDistribution[] open. */
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

/** Key identity. Ids are numbers, as in the operators' commands. */
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
  // additive
  evidenceCoverage: EvidenceCoverage,
  evidenceSigner: record({ configured: flag, signerAddress: nullable(text), keyId: nullable(text) }),
  failSafe: record({ mode: oneOf('normal', 'degraded', 'fail_closed'), reason: nullable(text), since: nullable(instant) }),
});

/** Readiness. */
export const Ready = record({ status: text, db: text, cache: oneOf('closed', 'open') });
