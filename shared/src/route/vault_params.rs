//! Query parameters of the vault, market and oracle routes.

use super::param::{OnOverflow::Clamp, Param, Registry};
use super::row::Body;
use crate::model::spelling;
use crate::wire::ChangeClock;

/// Filters of the vault lists, and their order. Source: interface, "Vaults".
pub(super) const CHAIN: Param =
    Param::names("chain", "Chains, as slugs or numbers, separated by commas.").of(Registry::Chains);
pub(super) const PROTOCOL: Param =
    Param::names("protocol", "Protocol ids, separated by commas.").of(Registry::Protocols);
pub(super) const CURATOR: Param = Param::names("curator", "Curator ids, separated by commas.").of(Registry::Curators);
pub(super) const ASSET: Param = Param::names("asset", "Asset symbols, separated by commas; case does not matter.");
pub(super) const RISK_TIER: Param =
    Param::choices("riskTier", &["prime", "core", "edge"], "Tiers, separated by commas.");
pub(super) const MIN_RISK_SCORE: Param =
    Param::decimal("minRiskScore", 0.0, 10.0, "Least score, inclusive; vaults without a score drop out.")
        .former(&["minScore", "min_score"]);
pub(super) const MAX_RISK_SCORE: Param =
    Param::decimal("maxRiskScore", 0.0, 10.0, "Greatest score, inclusive; vaults without a score drop out.");
pub(super) const SEARCH: Param =
    Param::text("search", 200, "Part of the vault's name, symbol, asset, protocol or curator, in any case.");
pub(super) const MIN_TVL: Param = Param::decimal("minTvl", 0.0, 1e18, "Least total value locked, in USD.");
pub(super) const STABLECOIN: Param = Param::flag("stablecoin", "Whether the deposit asset is a stablecoin.");
pub(super) const LSD: Param = Param::flag("lsd", "Whether the deposit asset is a staking derivative.");
pub(super) const SINGLE_EXPOSURE: Param = Param::flag("singleExposure", "Whether the vault holds one asset only.");
pub(super) const NO_IL: Param = Param::flag("noIL", "Whether the vault is free of impermanent loss.");
pub(super) const AUDITED: Param = Param::flag("audited", "Whether the deployed version has at least one audit.");
pub(super) const HIGH_CONFIDENCE: Param =
    Param::flag("highConfidence", "Whether the score is at least 7.5 and the net APR between 3 and 10 percent.");
pub(super) const DEPOSITABLE: Param =
    Param::flag("depositable", "true keeps vaults that take deposits or whose gate is unknown, false the closed ones.");
/// Sort fields of the vault lists.
pub const VAULT_SORT_FIELDS: &[&str] = &[
    "tvl_usd",
    "available_liquidity_usd",
    "liquidity_deficit_usd",
    "apr_net",
    "borrow_apr_net",
    "borrow_reward_apr",
    "utilization",
    "real_yield_share",
    "name",
    "total_score",
    "last_synced_at",
];
pub(super) const SORT_BY: Param = Param::choice(
    "sortBy",
    VAULT_SORT_FIELDS,
    "The field to sort by; by TVL when it is absent. Rows without a value come last in both directions.",
);
pub(super) const SORT_ORDER: Param = Param::choice("sortOrder", &["asc", "desc"], "The direction.").default("desc");
pub(super) const POINTS: Param =
    Param::int("points", 1, 2160, 360, Clamp, "Most points of the vault's history in the answer.")
        .alias(&["resolution"]);
pub(super) const DAYS: Param = Param::int("days", 1, 365, 90, Clamp, "Days of history.");
pub(super) const FROM: Param = Param::instant("from", "First instant, inclusive.");
pub(super) const TO: Param =
    Param::instant("to", "Last instant, inclusive; one without microseconds takes in all of its millisecond.");
pub(super) const SINCE: Param = Param::text(
    "since",
    400,
    "An ISO 8601 instant, inclusive, or the cursor of the page before: only one that was issued is taken.",
)
.written(spelling::CHANGE_CURSOR)
.required();
pub(super) const CHANGED: Param =
    Param::choice("changed", ChangeClock::WORDS, "The clock to follow: last_synced_at or score_updated_at.")
        .default("sync");
pub(super) const COMPLETE_ONLY: Param =
    Param::flag("completeOnly", "true withholds the figures of vaults that are still being indexed.");
pub(super) const VERSION: Param =
    Param::names("version", "Generations of the protocol, such as v3, separated by commas.");
/// Sort fields of the market list.
pub const MARKET_SORT_FIELDS: &[&str] = &["total_supplied_usd", "total_borrowed_usd", "reserve_count", "name"];
pub(super) const MARKET_SORT: Param =
    Param::choice("sortBy", MARKET_SORT_FIELDS, "The field to sort by; rows without it come last.")
        .default("total_supplied_usd");
pub(super) const VENDOR: Param =
    Param::names("vendor", "Vendors, separated by commas; unknown selects feeds without one.");
/// Kinds of feed that can be asked for.
pub const FEED_KINDS: &[&str] = &["price", "exchange_rate", "nav", "proof_of_reserves", "sequencer_uptime"];
pub(super) const FEED_KIND: Param = Param::choices("kind", FEED_KINDS, "Kinds of feed, separated by commas.");
pub(super) const FEED_STATUS: Param =
    Param::choice("status", &["fresh", "stale", "unknown"], "Whether the feed keeps its heartbeat as of the answer.");
pub(super) const RANGE: Param =
    Param::choice("range", &["7d", "30d", "90d", "1y"], "How many days, the current one included.").default("30d");
/// The batch look-up's body.
pub(super) const BATCH_BODY: Body = Body::Json { max_bytes: 64 * 1024 };
