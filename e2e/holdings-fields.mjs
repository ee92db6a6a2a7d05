// The fields of the vault resources: changes, holders, allocations and strategies.

import { VaultScoreRow, tier } from './interface-fields.mjs';
import { count, decimalDigits, flag, fraction, instant, listOf, nullable, number, oneOf, record, score, text } from './shape.mjs';

/** The change feed. */
export const Changes = record({
  data: record({ vaults: listOf(VaultScoreRow), cursor: text }),
  meta: record({ total: count, limit: count, has_more: flag }),
});

const evidence = oneOf('observed', 'unavailable');
const coverageStatus = oneOf('complete', 'indexing');

/** One of the largest holders in a holder snapshot. */
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

/** A holder snapshot in the history. */
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

/** The strategy of a single-strategy vault; the interface leaves the shape open. */
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
