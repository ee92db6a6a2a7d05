//! The table: one row a route.

use super::asset_params::*;
use super::family::Family;
use super::param::{Above::Clamp, Param};
use crate::wire::error::ErrorCode::{self, *};
use Access::{Data, Key, Public};
use alloc::format;
use alloc::string::String;

/// The methods routes use. HEAD is GET without the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads; HEAD comes with it.
    Get,
    /// Writes, checks and batch look-ups.
    Post,
    /// Removals.
    Delete,
}

impl Method {
    /// Reads an HTTP method; HEAD reads as GET, and a method that no route uses as `None`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "GET" | "HEAD" => Some(Method::Get),
            "POST" => Some(Method::Post),
            "DELETE" => Some(Method::Delete),
            _ => None,
        }
    }

    /// The method's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// The holder of any live key.
    Key,
    /// A key of plan `data` or higher.
    Data,
    /// A key of plan `decisioning` or higher.
    Decisioning,
}

/// How long an answer may be kept at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// Seconds it counts as fresh; 0 is never kept.
    pub fresh: u32,
    /// Seconds after that in which it may stand in for a failed read.
    pub stale_if_error: u32,
    /// Whether each caller class has its own copy.
    pub by_class: bool,
}

impl Cache {
    /// Never kept.
    pub const NEVER: Cache = Cache { fresh: 0, stale_if_error: 0, by_class: false };

    /// Kept `fresh` seconds, and up to a day after as the last good copy.
    pub const fn public(fresh: u32) -> Cache {
        Cache { fresh, stale_if_error: 86_400, by_class: false }
    }

    /// The same for answers that not everybody may have: each caller class has its own copy.
    pub const fn by_class(fresh: u32) -> Cache {
        Cache { by_class: true, ..Cache::public(fresh) }
    }

    /// Whether answers are kept at all.
    pub const fn is_kept(self) -> bool {
        self.fresh > 0
    }
}

/// The body a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// None.
    None,
    /// JSON of at most so many bytes.
    Json {
        /// Most bytes taken; more is 413.
        max_bytes: usize,
    },
}

/// Which of the origin's doors answer a route. The edge answers all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Only the edge's.
    Edge,
    /// The edge's, and the relay's for backends that connect directly.
    EdgeAndRelay,
}

/// A row of the table.
#[derive(Debug)]
pub struct Route {
    /// What both hosts match on.
    pub id: RouteId,
    /// The method.
    pub method: Method,
    /// The path, with `{name}` for parameters.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// The budget it is charged to.
    pub family: Family,
    /// How long an answer is kept.
    pub cache: Cache,
    /// The doors that answer it.
    pub door: Door,
    /// The body it takes.
    pub body: Body,
    /// The query parameters it knows.
    pub query: &'static [Param],
    /// The type of its success body.
    pub answers: &'static str,
    /// The errors it can answer beside the common ones.
    pub errors: &'static [ErrorCode],
    /// One or two sentences for the document.
    pub about: &'static str,
}

impl Route {
    /// Its name in usage counts, as `GET /v1/vaults/{id}`.
    pub fn endpoint(&self) -> String {
        format!("{} {}", self.method.as_str(), self.path)
    }

    /// Whether what it answers depends on who asks: such an answer is nobody else's.
    pub fn depends_on_caller(&self) -> bool {
        self.cache.by_class || self.access != Public
    }
}

macro_rules! routes {
    ($($id:ident: $method:ident $path:literal {
        access: $access:expr, family: $family:ident, cache: $cache:expr,
        $(door: $door:ident,)? $(body: $body:expr,)?
        query: [$($param:expr),* $(,)?], answers: $answers:literal, errors: [$($error:ident),* $(,)?], about: $about:literal $(,)?
    })*) => {
        /// Every route of the service.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RouteId { $(#[doc = $about] $id,)* }

        impl RouteId {
            /// The route's name in metrics and operation ids.
            pub const fn name(self) -> &'static str {
                match self { $(RouteId::$id => stringify!($id),)* }
            }

            /// The route's row.
            #[expect(clippy::indexing_slicing, reason = "ids and rows come from one macro, in one order; a test walks all of them")]
            pub fn route(self) -> &'static Route {
                &ROUTES[self as usize]
            }
        }

        /// The table.
        pub static ROUTES: &[Route] = &[$(
            Route {
                id: RouteId::$id, method: Method::$method, path: $path, access: $access, family: Family::$family, cache: $cache,
                door: routes!(@door $($door)?), body: routes!(@body $($body)?), query: &[$($param),*],
                answers: $answers, errors: &[$($error),*], about: $about,
            },
        )*];
    };
    (@door) => { Door::Edge };
    (@door $door:ident) => { Door::$door };
    (@body) => { Body::None };
    (@body $body:expr) => { $body };
}

/// Filters of the vault lists, and their order. Source: interface, "Vaults".
const CHAIN: Param = Param::names("chain", "Chains, as slugs or numbers, separated by commas.");
const PROTOCOL: Param = Param::names("protocol", "Protocol ids, separated by commas.");
const CURATOR: Param = Param::names("curator", "Curator ids, separated by commas.");
const ASSET: Param = Param::names("asset", "Asset symbols, separated by commas; case does not matter.");
const RISK_TIER: Param = Param::choices("riskTier", &["prime", "core", "edge"], "Tiers, separated by commas.");
const MIN_RISK_SCORE: Param =
    Param::decimal("minRiskScore", 0.0, 10.0, "Least score, inclusive; vaults without a score drop out.")
        .alias(&["minScore", "min_score"]);
const MAX_RISK_SCORE: Param =
    Param::decimal("maxRiskScore", 0.0, 10.0, "Greatest score, inclusive; vaults without a score drop out.");
const SEARCH: Param =
    Param::text("search", 200, "Part of the vault's name, symbol, asset, protocol or curator, in any case.");
const MIN_TVL: Param = Param::decimal("minTvl", 0.0, 1e18, "Least total value locked, in USD.");
const STABLECOIN: Param = Param::flag("stablecoin", "Whether the deposit asset is a stablecoin.");
const LSD: Param = Param::flag("lsd", "Whether the deposit asset is a staking derivative.");
const SINGLE_EXPOSURE: Param = Param::flag("singleExposure", "Whether the vault holds one asset only.");
const NO_IL: Param = Param::flag("noIL", "Whether the vault is free of impermanent loss.");
const AUDITED: Param = Param::flag("audited", "Whether the deployed version has at least one audit.");
const HIGH_CONFIDENCE: Param =
    Param::flag("highConfidence", "Whether the score is at least 7.5 and the net APR between 3 and 10 percent.");
const DEPOSITABLE: Param =
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
const SORT_BY: Param = Param::choice(
    "sortBy",
    VAULT_SORT_FIELDS,
    "The field to sort by; by TVL when it is absent. Rows without a value come last in both directions.",
);
const SORT_ORDER: Param = Param::choice("sortOrder", &["asc", "desc"], "The direction.").default("desc");
const POINTS: Param = Param::int("points", 1, 2160, 360, Clamp, "Most points of the vault's history in the answer.")
    .alias(&["resolution"]);
const DAYS: Param = Param::int("days", 1, 365, 90, Clamp, "Days of history.");
const FROM: Param = Param::instant("from", "First instant, inclusive.");
const TO: Param = Param::instant("to", "Last instant, inclusive.");
/// The batch look-up's body.
const BATCH_BODY: Body = Body::Json { max_bytes: 64 * 1024 };

routes! {
    VaultList: Get "/v1/vaults" {
        access: Public, family: Public, cache: Cache::public(15),
        query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, PROTOCOL, CURATOR, ASSET, RISK_TIER, MIN_RISK_SCORE, MAX_RISK_SCORE,
                SEARCH, MIN_TVL, STABLECOIN, LSD, SINGLE_EXPOSURE, NO_IL, AUDITED, HIGH_CONFIDENCE, DEPOSITABLE, SORT_BY, SORT_ORDER],
        answers: "Paged<Vec<VaultRow>>", errors: [Forbidden],
        about: "Vaults with their scores, rates and gates: filtered, sorted and paged.",
    }

    VaultById: Get "/v1/vaults/{id}" {
        access: Public, family: Public, cache: Cache::public(15),
        query: [POINTS], answers: "Data<VaultPage>", errors: [],
        about: "One vault by its id: the row, the evidence behind its score, history, events and rewards.",
    }
    VaultScores: Get "/v1/vaults/scores" {
        access: Data, family: Public, cache: Cache::by_class(15),
        query: [Param::page("page"), Param::size("limit", 500, 1000), CHAIN, PROTOCOL, CURATOR, ASSET, RISK_TIER, MIN_RISK_SCORE, MAX_RISK_SCORE,
                SEARCH, MIN_TVL, STABLECOIN, LSD, SINGLE_EXPOSURE, NO_IL, AUDITED, HIGH_CONFIDENCE, DEPOSITABLE, SORT_BY, SORT_ORDER],
        answers: "Paged<Vec<VaultScoreRow>>", errors: [],
        about: "The scores of vaults in bulk, with the run behind each: the filters and the order of the vault list.",
    }
    VaultBatch: Post "/v1/vaults/batch" {
        access: Public, family: Public, cache: Cache::NEVER,
        body: BATCH_BODY,
        query: [], answers: "Data<Vec<VaultRow>>", errors: [InvalidBody, TooManyItems, PayloadTooLarge, UnsupportedMediaType],
        about: "Up to 100 vaults at once, by id or address. What is not known is left out of the answer.",
    }
    VaultDetail: Get "/v1/vault/{network}/{address}" {
        access: Public, family: Public, cache: Cache::public(15),
        query: [POINTS], answers: "Data<VaultPage>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "One vault by chain and address: the row, the evidence behind its score, history, events and rewards.",
    }
    VaultSnapshots: Get "/v1/vault/{network}/{address}/snapshots" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [DAYS, POINTS], answers: "Data<Vec<SnapshotPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "The vault's history, thinned to at most `points` points; first, last and extremes are kept.",
    }
    VaultScoreHistory: Get "/v1/vault/{network}/{address}/score-history" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [FROM, TO, Param::size("limit", 500, 1000)], answers: "Data<Vec<ScoreHistoryPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "Every published change of the vault's score or tier, oldest first.",
    }
    VaultEvents: Get "/v1/vault/{network}/{address}/events" {
        access: Public, family: Public, cache: Cache::public(15),
        query: [], answers: "Data<Vec<VaultEvent>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "Published events that concern the vault, newest first.",
    }
    Chains: Get "/v1/chains" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [], answers: "Data<Vec<ChainRow>>", errors: [],
        about: "Chains with active vaults, with the slugs that paths and filters take.",
    }
    ProtocolList: Get "/v1/protocols" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [], answers: "Data<Vec<ProtocolRow>>", errors: [],
        about: "Protocols with their vaults counted and their value summed.",
    }
    ProtocolById: Get "/v1/protocols/{id}" {
        access: Public, family: Public, cache: Cache::public(15),
        query: [Param::page("vaultPage"), Param::size("vaultLimit", 20, 100)], answers: "Data<ProtocolPage>", errors: [Forbidden],
        about: "One protocol with its vaults, versions and incidents.",
    }
    CuratorList: Get "/v1/curators" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [Param::page("page"), Param::size("limit", 20, 100),
                Param::choice("sortBy", &["tvl_total", "vault_count", "avg_apr", "name"], "The field to sort by.").default("tvl_total"), SORT_ORDER],
        answers: "Paged<Vec<CuratorRow>>", errors: [Forbidden],
        about: "Curators with their vaults counted and their value summed.",
    }
    CuratorById: Get "/v1/curators/{id}" {
        access: Public, family: Public, cache: Cache::public(15),
        query: [Param::page("vaultPage"), Param::size("vaultLimit", 20, 100)], answers: "Data<CuratorPage>", errors: [Forbidden],
        about: "One curator with its vaults, chains and latest events.",
    }
    CuratorEvents: Get "/v1/curators/{id}/events" {
        access: Public, family: Public, cache: Cache::public(15),
        query: [Param::int("offset", 0, u32::MAX as i64, 0, Clamp, "Events to pass over."), Param::size("limit", 5, 100)],
        answers: "Data<CuratorEvents>", errors: [Forbidden],
        about: "Published events of the curator's vaults, newest first.",
    }
    Me: Get "/v1/me" {
        access: Key, family: Public, cache: Cache::NEVER,
        query: [], answers: "Data<Me>", errors: [],
        about: "The calling key: who holds it, what it may do, what it has used.",
    }
    AssetList: Get "/v1/assets/enriched" {
        access: Public, family: Public, cache: Cache::by_class(15),
        query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, CATEGORY, INSTRUMENT_TYPE, DEFI_INSTRUMENT, INCLUDE_QUALITY,
                REVIEW_STATUS, ASSET_TIER, REGULATORY_WRAPPER, KYC_GATE, ASSET_SEARCH],
        answers: "Paged<Vec<AssetRow>>", errors: [Forbidden],
        about: "Assets with their scores and evidence, best score first. Per-dimension values need a key.",
    }
    AssetFacets: Get "/v1/assets/enriched/facets" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [], answers: "Data<AssetFacets>", errors: [],
        about: "How many assets carry each value, over all assets.",
    }
    AssetDetail: Get "/v1/assets/{chain_id}/{address}" {
        access: Public, family: Public, cache: Cache::by_class(15),
        query: [], answers: "Data<AssetDetail<AssetRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "One asset with its versions, attestations and the breakdown of its score. Evidence needs a key.",
    }
    RwaList: Get "/v1/rwa" {
        access: Public, family: Public, cache: Cache::by_class(15),
        query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, RWA_CATEGORY, REVIEW_STATUS, ASSET_TIER, REGULATORY_WRAPPER,
                KYC_GATE, ASSET_SEARCH],
        answers: "Paged<Vec<RwaRow>>", errors: [Forbidden],
        about: "Real-world assets with product identity and canonical value, best headline first. Per-dimension values need a key.",
    }
    RwaFacets: Get "/v1/rwa/facets" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [], answers: "Data<AssetFacets>", errors: [],
        about: "How many real-world assets carry each value, over all of them.",
    }
    RwaCoverage: Get "/v1/rwa/coverage" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [], answers: "Data<RwaCoverage>", errors: [],
        about: "What is known of real-world assets and how their sources do, with findings and the discovery queue.",
    }
    RwaHistory: Get "/v1/rwa/stats/history" {
        access: Data, family: Public, cache: Cache::by_class(30),
        query: [RANGE, AUM_BREAKDOWN], answers: "AumHistory", errors: [],
        about: "The canonical value day by day, each day in its newest revision.",
    }
    RwaById: Get "/v1/rwa/{asset_id}" {
        access: Public, family: Public, cache: Cache::by_class(15),
        query: [], answers: "Data<AssetDetail<RwaRow>>", errors: [],
        about: "One real-world asset with its versions, attestations and the breakdown of its score. Evidence needs a key.",
    }
    ReviewerList: Get "/v1/reviewers" {
        access: Public, family: Public, cache: Cache::public(30),
        query: [], answers: "Data<Vec<ReviewerRow>>", errors: [],
        about: "Who reviews assets, with the public keys that their attestations are checked with.",
    }
    Health: Get "/v1/health" {
        access: Public, family: Health, cache: Cache::NEVER,
        door: EdgeAndRelay,
        query: [], answers: "Health", errors: [],
        about: "Whether the service answers and how fresh its data is.",
    }
    Ready: Get "/ready" {
        access: Public, family: Unmetered, cache: Cache::NEVER,
        door: EdgeAndRelay,
        query: [], answers: "Ready", errors: [],
        about: "Whether the database answers within a second.",
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
