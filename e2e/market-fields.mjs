// The fields of markets, oracle feeds, asset symbols, platform statistics and portfolios, as data.
//
// Fields under "additive" are beyond the interface; shapes that the interface leaves open are defined here.

import { Reward, borrowStatus, tier, vaultRow } from './interface-fields.mjs';
import { count, day, flag, instant, listOf, nullable, number, oneOf, record, score, text } from './shape.mjs';

/** Market. */
export const Market = record({
  id: text,
  protocol_id: text,
  protocol_version: text,
  protocol_name: text,
  chain_id: count,
  chain_name: text,
  market_key: text,
  name: text,
  address: text,
  hub_address: nullable(text),
  source: oneOf('protocol_api', 'onchain_rpc'),
  totals_source: oneOf('members', 'protocol_api'),
  reserve_count: count,
  borrow_observed_count: count,
  total_supplied_usd: number,
  total_borrowed_usd: nullable(number),
  utilization: nullable(number),
  loan_asset_symbol: nullable(text),
  collateral_asset_symbol: nullable(text),
  lltv: nullable(number),
  is_protocol_listed: flag,
  last_synced_at: instant,
  // additive
  shape: oneOf('pool', 'spoke', 'pair'),
  supplied_observed_count: count,
});

/** Market reserve. */
export const MarketReserve = record({
  vault_id: nullable(text),
  asset_symbol: text,
  asset_address: text,
  chain_id: count,
  supplied_usd: nullable(number),
  supply_apr: nullable(number),
  borrowed_usd: nullable(number),
  borrow_apr: nullable(number),
  borrow_apr_net: nullable(number),
  utilization: nullable(number),
  fee_rate: nullable(number),
  borrow_status: borrowStatus,
  is_depositable: nullable(flag),
  deposit_capacity_usd: nullable(number),
  risk_tier: nullable(tier),
  total_score: nullable(score),
  is_shutdown: flag,
  // additive
  token_address: nullable(text),
  hub_address: nullable(text),
});

/** Market detail; emodes[], hubs[] and signer_sets[] are additive. */
export const MarketPage = record({
  market: Market,
  reserves: listOf(MarketReserve),
  emodes: listOf(
    record({
      emode_id: count,
      label: text,
      ltv: number,
      liquidation_threshold: number,
      liquidation_bonus: number,
      collateral_assets: listOf(text),
      borrowable_assets: listOf(text),
      ltv_zero_assets: listOf(text),
    }),
  ),
  hubs: listOf(
    record({
      address: text,
      name: text,
      assets: listOf(
        record({ asset_symbol: text, asset_address: text, interest_rate_strategy: nullable(text), wrapper_address: nullable(text) }),
      ),
    }),
  ),
  signer_sets: listOf(
    record({
      id: text,
      name: nullable(text),
      form: oneOf('multisig', 'timelock', 'payloads_controller', 'executor'),
      chain_id: count,
      address: text,
      threshold: nullable(count),
      owner_count: nullable(count),
      delay_seconds: nullable(count),
      roles: listOf(text),
      verified: flag,
      confidence: number,
      reason: nullable(text),
      source: text,
    }),
  ),
});

/** An oracle feed; the interface leaves the shape open. */
export const OracleFeed = record({
  chain_id: count,
  chain_name: text,
  address: text,
  kind: oneOf('price', 'exchange_rate', 'nav', 'proof_of_reserves', 'sequencer_uptime'),
  asset: nullable(text),
  quote: nullable(text),
  description: nullable(text),
  vendor: nullable(text),
  heartbeat_seconds: nullable(count),
  deviation_threshold: nullable(number),
  last_answer: nullable(text),
  last_update_at: nullable(instant),
  used_by: listOf(text),
  reserve_symbols: listOf(text),
  other_descriptions: listOf(text),
  last_synced_at: instant,
  age_seconds: nullable(count),
  status: oneOf('fresh', 'stale', 'unknown'),
});

/** A deposit-asset symbol. */
export const AssetSymbol = record({ asset_symbol: text, vault_count: count });

/** The history of one symbol. */
export const SymbolHistory = record({
  data: listOf(
    record({
      date: day,
      source: oneOf('observed', 'derived'),
      tvl_usd: number,
      apr_net: nullable(number),
    }),
  ),
  meta: record({ symbol: text, range: oneOf('7d', '30d', '90d', '1y'), points: count }),
});

const part = { vault_count: count, tvl_usd: number };

/** The platform statistics; the interface leaves the shape open. */
export const Stats = record({
  ...part,
  scored_vault_count: count,
  priced_vault_count: count,
  scored_tvl_usd: number,
  weighted_risk_score: nullable(score),
  avg_apr: nullable(number),
  chain_count: count,
  protocol_count: count,
  curator_count: count,
  asset_count: count,
  market_count: count,
  oracle_feed_count: count,
  last_synced_at: nullable(instant),
  by_tier: listOf(record({ risk_tier: nullable(tier), ...part })),
  by_chain: listOf(record({ chain_id: count, chain_name: text, ...part })),
  by_protocol: listOf(record({ id: nullable(text), name: nullable(text), ...part })),
  by_curator: listOf(record({ id: nullable(text), name: nullable(text), ...part })),
  by_category: listOf(record({ category: text, ...part })),
  by_strategy: listOf(record({ category: text, ...part })),
  by_score_basis: listOf(record({ score_basis: oneOf('complete', 'partial', 'bound', 'assumed', 'missing'), ...part })),
  evidence: record({ asset_answers: count, answered_assets: count, protocol_answers: count, answered_protocols: count }),
});

/** The portfolio of an address; the interface leaves the shape of positions[] open. */
export const Portfolio = record({
  address: text,
  total_value_usd: nullable(number),
  weighted_risk_score: nullable(score),
  scored_value_usd: number,
  unpriced_count: count,
  position_count: count,
  positions: listOf(
    record({
      vault_id: text,
      vault_name: text,
      chain_id: count,
      chain_name: text,
      protocol_id: text,
      protocol_name: text,
      asset_symbol: nullable(text),
      balance_raw: text,
      share: nullable(number),
      value_usd: nullable(number),
      total_score: nullable(score),
      risk_tier: nullable(tier),
      observed_at: instant,
    }),
  ),
});

/** Row of `/v1/royco`: a vault with its rewards. */
export const RewardedVault = record({ ...vaultRow, rewards: listOf(Reward) });
