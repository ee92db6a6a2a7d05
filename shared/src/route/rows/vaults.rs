//! Vaults: parameters and rows.

use crate::model::spelling;
use crate::route::param::{OnOverflow::Clamp, Param, Registry};
use crate::route::row::Body;
use crate::route::typed::kinds::*;
use crate::route::typed::params;
use crate::wire::ChangeClock;

/// Fields that the vault lists can be sorted by.
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
/// Body of a batch request: enough for 100 ids or addresses.
pub(in crate::route) const BATCH_BODY: Body = Body::Json { max_bytes: 64 * 1024 };

params! {
    Chain: Names = Param::names("chain", "Only rows on these chains: slugs or chain ids, separated by commas. Letter case is ignored.").of(Registry::Chains);
    Protocol: Names = Param::names("protocol", "Only rows of these protocols: ids, separated by commas. Letter case is ignored.").of(Registry::Protocols);
    Curator: Names = Param::names("curator", "Only rows of these curators: ids, separated by commas. Letter case is ignored.").of(Registry::Curators);
    Asset: Names = Param::names("asset", "Only vaults with these deposit assets: symbols, separated by commas. Letter case is ignored.");
    RiskTier: Choices = Param::choices("riskTier", &["prime", "core", "edge"], "Only vaults of these tiers, separated by commas.");
    MinRiskScore: Decimal =
        Param::decimal("minRiskScore", 0.0, 10.0, "Minimum score, inclusive; vaults without a score are left out.").former(&["minScore", "min_score"]);
    MaxRiskScore: Decimal = Param::decimal("maxRiskScore", 0.0, 10.0, "Maximum score, inclusive; vaults without a score are left out.");
    Search: Text = Param::text("search", 200, "Substring of the vault's name, symbol, asset, protocol or curator. Letter case is ignored.");
    MinTvl: Decimal = Param::decimal("minTvl", 0.0, 1e18, "Minimum total value locked, in USD, inclusive.");
    Stablecoin: Flag = Param::flag("stablecoin", "`true` keeps vaults whose deposit asset is a stablecoin, `false` keeps the others.");
    Lsd: Flag = Param::flag("lsd", "`true` keeps vaults whose deposit asset is a staking derivative, `false` keeps the others.");
    SingleExposure: Flag = Param::flag("singleExposure", "`true` keeps vaults whose value depends on one asset only, `false` keeps the others.");
    NoIl: Flag = Param::flag("noIL", "`true` keeps vaults that are known to have no impermanent loss, `false` keeps the others.");
    Audited: Flag = Param::flag("audited", "`true` keeps vaults whose deployed version has at least one audit, `false` keeps the others.");
    HighConfidence: Flag = Param::flag("highConfidence", "`true` keeps vaults with a score of at least 7.5 and a net APR between 3 and 10 percent, `false` \
        keeps the others.");
    Depositable: Flag = Param::flag("depositable", "`true` keeps vaults whose deposit status is `open` or `unknown`, `false` keeps closed vaults.");
    SortBy: Choice =
        Param::choice("sortBy", VAULT_SORT_FIELDS, "Field to sort by; `tvl_usd` when absent. Rows without a value come last in both directions.");
    SortOrder: Word = Param::choice("sortOrder", &["asc", "desc"], "Sort direction: ascending or descending.").default("desc");
    Points: Count = Param::int("points", 1, 2160, 360, Clamp, "Maximum number of history points in the response.").alias(&["resolution"]);
    Days: Count = Param::int("days", 1, 365, 90, Clamp, "Number of days of history, counted back from now.");
    HistoryFrom: Instant = Param::instant("from", "Start of the period, inclusive; no limit when absent.");
    HistoryTo: Until = Param::instant("to", "End of the period, inclusive; no limit when absent. An instant in whole milliseconds includes its whole \
        millisecond.");
    ChangesSince: RequiredText =
        Param::text("since", 400, "An ISO 8601 instant, inclusive, or the cursor of the previous page, unchanged. A cursor is valid only with the value of \
            `changed` for which it was issued.").pattern(spelling::CHANGE_CURSOR).required();
    Changed: Word =
        Param::choice("changed", ChangeClock::WORDS, "Timestamp that defines a change: `sync` follows `last_synced_at`, `score` follows \
            `score_updated_at`.").default("sync");
    CompleteOnly: Flag = Param::flag("completeOnly", "`true` withholds the concentration figures and holders of vaults that are still being indexed; otherwise \
        provisional figures are returned.");
}

macro_rules! vaults_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            VaultList: Get "/v1/vaults" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Chain, Protocol, Curator, Asset, RiskTier, MinRiskScore, MaxRiskScore,
                        Search, MinTvl, Stablecoin, Lsd, SingleExposure, NoIl, Audited, HighConfidence, Depositable, SortBy, SortOrder],
                answers: "Paged<Vec<VaultRow>>", errors: [Forbidden],
                about: "Vaults with their scores, rates and deposit status, filtered, sorted and paged.",
            }
            VaultById: Get "/v1/vaults/{id}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events], scores: true,
                fold: [0: VaultId],
                query: [Points], answers: "Data<VaultPage>", errors: [],
                about: "One vault by id: its row, the evidence behind its score, its history, events and rewards.",
            }
            VaultsWithCriticalIncidents: Get "/v1/vaults/with-critical-incidents" {
                access: Public, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Vaults, Events],
                query: [Limit(100, 500), AffectsProtocolScore],
                answers: "Data<Vec<CriticalVault>>", errors: [],
                about: "Active vaults with a critical incident in the last 365 days, largest first. Without a key at most 50 rows are returned. An empty list \
                       is not proof that nothing happened.",
            }
            VaultScores: Get "/v1/vaults/scores" {
                access: Data, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Vaults], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(500, 1000), Chain, Protocol, Curator, Asset, RiskTier, MinRiskScore, MaxRiskScore,
                        Search, MinTvl, Stablecoin, Lsd, SingleExposure, NoIl, Audited, HighConfidence, Depositable, SortBy, SortOrder],
                answers: "Paged<Vec<VaultScoreRow>>", errors: [],
                about: "The scores of vaults in bulk, each with the score run that produced it. Filters and order are those of `/v1/vaults`.",
            }
            VaultChanges: Get "/v1/vaults/changes" {
                access: Data, rate_limit_class: Public, cache: Cache::NEVER, scores: true,
                query: [ChangesSince, Limit(100, 500), Changed],
                answers: "WithMeta<VaultChanges, ChangesMeta>", errors: [MissingParameter, InvalidCursor],
                about: "Vaults whose reading or published score changed since an instant or a cursor. Every change is delivered at least once, in the order in \
                       which changes became visible. A vault is delivered again with unchanged timestamps when its chain is no longer withheld, and when it becomes \
                       active or inactive.",
            }
            VaultBatch: Post "/v1/vaults/batch" {
                access: Public, rate_limit_class: Public, cache: Cache::NEVER, scores: true,
                body: BATCH_BODY,
                query: [], answers: "Data<Vec<VaultRow>>", errors: [InvalidBody, TooManyItems, PayloadTooLarge, UnsupportedMediaType, InvalidAddress, AddressNamespaceMismatch],
                about: "Up to 100 vaults in one request, by id or address. Unknown vaults are left out of the response.",
            }
            VaultDetail: Get "/v1/vault/{network}/{address}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events], scores: true,
                fold: [1: Address],
                query: [Points], answers: "Data<VaultPage>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "One vault by chain and address: its row, the evidence behind its score, its history, events and rewards.",
            }
            VaultSnapshots: Get "/v1/vault/{network}/{address}/snapshots" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [Days, Points], answers: "Data<Vec<SnapshotPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The vault's history, downsampled to at most `points` points. The first point, the last point and the extremes are kept.",
            }
            VaultScoreHistory: Get "/v1/vault/{network}/{address}/score-history" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults], scores: true,
                fold: [1: Address],
                query: [HistoryFrom, HistoryTo, Limit(500, 1000)], answers: "Data<Vec<ScoreHistoryPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Published changes of the vault's score or tier, oldest first. If there are more than `limit`, the newest are returned.",
            }
            VaultEvents: Get "/v1/vault/{network}/{address}/events" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Events],
                fold: [1: Address],
                query: [Page, OptionalLimit], answers: "Data<Vec<VaultEvent>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Published events that concern the vault, newest first, at most 500.",
            }
            VaultHolders: Get "/v1/vault/{network}/{address}/holders" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [CompleteOnly], answers: "Data<HolderSnapshot>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Holders of the vault's shares and their concentration, as of the newest holder snapshot.",
            }
            VaultHolderHistory: Get "/v1/vault/{network}/{address}/holders/history" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [HistoryFrom, HistoryTo, Limit(500, 1000), CompleteOnly],
                answers: "Data<Vec<HolderHistoryRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The concentration of the vault's shares over time, oldest first. If there are more than `limit` rows, the newest are returned.",
            }
            VaultMarkets: Get "/v1/vault/{network}/{address}/markets" {
                access: Data, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Vaults, Markets, Assets], scores: true,
                fold: [1: Address],
                query: [], answers: "Data<MarketAllocation>", errors: [InvalidAddress, AddressNamespaceMismatch, Forbidden],
                about: "The lending markets to which a curated vault allocates its deposits, with the risk of each market's collateral. The response is 404 \
                       for vaults of other protocols.",
            }
            VaultStrategies: Get "/v1/vault/{network}/{address}/strategies" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults],
                fold: [1: Address],
                query: [], answers: "Data<StrategyBreakdown>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The strategies to which an allocating vault lends its deposits. The response is 404 for vaults of other protocols.",
            }
            VaultStrategy: Get "/v1/vault/{network}/{address}/strategy" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults],
                fold: [1: Address],
                query: [], answers: "Data<StrategyInfo>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The single strategy of a compounding vault: its sources of yield and its risk flags. The response is 404 for vaults of other \
                       protocols.",
            }
        }
    };
}

pub(in crate::route) use vaults_rows;
