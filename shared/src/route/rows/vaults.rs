//! Vaults: parameters and rows.

use crate::model::spelling;
use crate::route::param::{OnOverflow::Clamp, Param, Registry};
use crate::route::row::Body;
use crate::route::typed::kinds::*;
use crate::route::typed::params;
use crate::wire::ChangeClock;

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
/// The body of the batch look-up.
pub(in crate::route) const BATCH_BODY: Body = Body::Json { max_bytes: 64 * 1024 };

params! {
    Chain: Names = Param::names("chain", "Chains, as slugs or numbers, separated by commas.").of(Registry::Chains);
    Protocol: Names = Param::names("protocol", "Protocol ids, separated by commas.").of(Registry::Protocols);
    Curator: Names = Param::names("curator", "Curator ids, separated by commas.").of(Registry::Curators);
    Asset: Names = Param::names("asset", "Asset symbols, separated by commas; case does not matter.");
    RiskTier: Choices = Param::choices("riskTier", &["prime", "core", "edge"], "Tiers, separated by commas.");
    MinRiskScore: Decimal =
        Param::decimal("minRiskScore", 0.0, 10.0, "Least score, inclusive; vaults without a score drop out.").former(&["minScore", "min_score"]);
    MaxRiskScore: Decimal = Param::decimal("maxRiskScore", 0.0, 10.0, "Greatest score, inclusive; vaults without a score drop out.");
    Search: Text = Param::text("search", 200, "Part of the vault's name, symbol, asset, protocol or curator, in any case.");
    MinTvl: Decimal = Param::decimal("minTvl", 0.0, 1e18, "Least total value locked, in USD.");
    Stablecoin: Flag = Param::flag("stablecoin", "Whether the deposit asset is a stablecoin.");
    Lsd: Flag = Param::flag("lsd", "Whether the deposit asset is a staking derivative.");
    SingleExposure: Flag = Param::flag("singleExposure", "Whether the vault holds one asset only.");
    NoIl: Flag = Param::flag("noIL", "Whether the vault is free of impermanent loss.");
    Audited: Flag = Param::flag("audited", "Whether the deployed version has at least one audit.");
    HighConfidence: Flag = Param::flag("highConfidence", "Whether the score is at least 7.5 and the net APR between 3 and 10 percent.");
    Depositable: Flag = Param::flag("depositable", "true keeps vaults that take deposits or whose gate is unknown, false the closed ones.");
    SortBy: Choice =
        Param::choice("sortBy", VAULT_SORT_FIELDS, "The field to sort by; by TVL when it is absent. Rows without a value come last in both directions.");
    SortOrder: Word = Param::choice("sortOrder", &["asc", "desc"], "The direction.").default("desc");
    Points: Count = Param::int("points", 1, 2160, 360, Clamp, "Most points of the vault's history in the answer.").alias(&["resolution"]);
    Days: Count = Param::int("days", 1, 365, 90, Clamp, "Days of history.");
    HistoryFrom: Instant = Param::instant("from", "First instant, inclusive.");
    HistoryTo: Until = Param::instant("to", "Last instant, inclusive; one without microseconds takes in all of its millisecond.");
    ChangesSince: RequiredText =
        Param::text("since", 400, "An ISO 8601 instant, inclusive, or the cursor of the page before: only one that was issued is taken.").written(spelling::CHANGE_CURSOR).required();
    Changed: Word =
        Param::choice("changed", ChangeClock::WORDS, "The clock to follow: last_synced_at or score_updated_at.").default("sync");
    CompleteOnly: Flag = Param::flag("completeOnly", "true withholds the figures of vaults that are still being indexed.");
}

macro_rules! vaults_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            VaultList: Get "/v1/vaults" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Chain, Protocol, Curator, Asset, RiskTier, MinRiskScore, MaxRiskScore,
                        Search, MinTvl, Stablecoin, Lsd, SingleExposure, NoIl, Audited, HighConfidence, Depositable, SortBy, SortOrder],
                answers: "Paged<Vec<VaultRow>>", errors: [Forbidden],
                about: "Vaults with their scores, rates and gates: filtered, sorted and paged.",
            }
            VaultById: Get "/v1/vaults/{id}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events], scores: true,
                fold: [0: VaultId],
                query: [Points], answers: "Data<VaultPage>", errors: [],
                about: "One vault by its id: the row, the evidence behind its score, history, events and rewards.",
            }
            VaultsWithCriticalIncidents: Get "/v1/vaults/with-critical-incidents" {
                access: Public, family: Public, cache: Cache::by_class(15), tags: [Vaults, Events],
                query: [Limit(100, 500), AffectsProtocolScore],
                answers: "Data<Vec<CriticalVault>>", errors: [],
                about: "Active vaults with a critical incident in the last 365 days, largest first; at most 50 without a key. An empty list proves no absence.",
            }
            VaultScores: Get "/v1/vaults/scores" {
                access: Data, family: Public, cache: Cache::by_class(15), tags: [Vaults], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(500, 1000), Chain, Protocol, Curator, Asset, RiskTier, MinRiskScore, MaxRiskScore,
                        Search, MinTvl, Stablecoin, Lsd, SingleExposure, NoIl, Audited, HighConfidence, Depositable, SortBy, SortOrder],
                answers: "Paged<Vec<VaultScoreRow>>", errors: [],
                about: "The scores of vaults in bulk, with the run behind each: the filters and the order of the vault list.",
            }
            VaultChanges: Get "/v1/vaults/changes" {
                access: Data, family: Public, cache: Cache::NEVER, scores: true,
                query: [ChangesSince, Limit(100, 500), Changed],
                answers: "WithMeta<VaultChanges, ChangesMeta>", errors: [MissingParameter, InvalidCursor],
                about: "Vaults whose reading or published score changed since an instant or a cursor, at least once each, in the order in which the changes became visible. A vault whose chain is shown again, and one that begins or ceases to be active, is given once more with the instants it has.",
            }
            VaultBatch: Post "/v1/vaults/batch" {
                access: Public, family: Public, cache: Cache::NEVER, scores: true,
                body: BATCH_BODY,
                query: [], answers: "Data<Vec<VaultRow>>", errors: [InvalidBody, TooManyItems, PayloadTooLarge, UnsupportedMediaType, InvalidAddress, AddressNamespaceMismatch],
                about: "Up to 100 vaults at once, by id or address. What is not known is left out of the answer.",
            }
            VaultDetail: Get "/v1/vault/{network}/{address}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events], scores: true,
                fold: [1: Address],
                query: [Points], answers: "Data<VaultPage>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "One vault by chain and address: the row, the evidence behind its score, history, events and rewards.",
            }
            VaultSnapshots: Get "/v1/vault/{network}/{address}/snapshots" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [Days, Points], answers: "Data<Vec<SnapshotPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The vault's history, thinned to at most `points` points; first, last and extremes are kept.",
            }
            VaultScoreHistory: Get "/v1/vault/{network}/{address}/score-history" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults], scores: true,
                fold: [1: Address],
                query: [HistoryFrom, HistoryTo, Limit(500, 1000)], answers: "Data<Vec<ScoreHistoryPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Every published change of the vault's score or tier, oldest first.",
            }
            VaultEvents: Get "/v1/vault/{network}/{address}/events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events],
                fold: [1: Address],
                query: [Page, OptionalLimit], answers: "Data<Vec<VaultEvent>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Published events that concern the vault, newest first.",
            }
            VaultHolders: Get "/v1/vault/{network}/{address}/holders" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [CompleteOnly], answers: "Data<HolderSnapshot>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Who holds the vault's shares, and how concentrated they are, as of the newest look.",
            }
            VaultHolderHistory: Get "/v1/vault/{network}/{address}/holders/history" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [HistoryFrom, HistoryTo, Limit(500, 1000), CompleteOnly],
                answers: "Data<Vec<HolderHistoryRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The concentration of the vault's shares through time, oldest first.",
            }
            VaultMarkets: Get "/v1/vault/{network}/{address}/markets" {
                access: Data, family: Public, cache: Cache::by_class(15), tags: [Vaults, Markets, Assets], scores: true,
                fold: [1: Address],
                query: [], answers: "Data<MarketAllocation>", errors: [InvalidAddress, AddressNamespaceMismatch, Forbidden],
                about: "The lending markets a curated vault's deposits are spread over, with the risk of each market's collateral. Other protocols' vaults are 404.",
            }
            VaultStrategies: Get "/v1/vault/{network}/{address}/strategies" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
                fold: [1: Address],
                query: [], answers: "Data<StrategyBreakdown>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The strategies an allocating vault lends its deposits to. Other protocols' vaults are 404.",
            }
            VaultStrategy: Get "/v1/vault/{network}/{address}/strategy" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
                fold: [1: Address],
                query: [], answers: "Data<StrategyInfo>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The one strategy of a compounding vault: where its yield comes from, and what it warns of. Other protocols' vaults are 404.",
            }
        }
    };
}

pub(in crate::route) use vaults_rows;
