//! The table: one row a route.

use super::asset_params::*;
use super::basket_params::*;
use super::event_params::*;
pub use super::event_params::{EVENT_SORT_FIELDS, FEED_DAYS};
use super::family::Family;
use super::param::{Above::Clamp, Param};
use super::push_params::*;
use super::row::{Access, Body, Cache, Door, Method, Route};
use super::rows_macro::routes;
use super::security_params::*;
use super::tag::Tag;
use super::vault_params::*;
pub use super::vault_params::{FEED_KINDS, MARKET_SORT_FIELDS, VAULT_SORT_FIELDS};
use super::webhook_params::*;
use crate::wire::error::ErrorCode::*;
use Access::{Data, Decisioning, Key, Public};

routes! {
    VaultList: Get "/v1/vaults" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
        query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, PROTOCOL, CURATOR, ASSET, RISK_TIER, MIN_RISK_SCORE, MAX_RISK_SCORE,
                SEARCH, MIN_TVL, STABLECOIN, LSD, SINGLE_EXPOSURE, NO_IL, AUDITED, HIGH_CONFIDENCE, DEPOSITABLE, SORT_BY, SORT_ORDER],
        answers: "Paged<Vec<VaultRow>>", errors: [Forbidden],
        about: "Vaults with their scores, rates and gates: filtered, sorted and paged.",
    }

    VaultById: Get "/v1/vaults/{id}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events],
        query: [POINTS], answers: "Data<VaultPage>", errors: [],
        about: "One vault by its id: the row, the evidence behind its score, history, events and rewards.",
    }
    VaultsWithCriticalIncidents: Get "/v1/vaults/with-critical-incidents" {
        access: Public, family: Public, cache: Cache::by_class(15), tags: [Vaults, Events],
        query: [Param::size("limit", 100, 500), AFFECTS_PROTOCOL_SCORE],
        answers: "Data<Vec<CriticalVault>>", errors: [],
        about: "Active vaults with a critical incident in the last 365 days, largest first; at most 50 without a key. An empty list proves no absence.",
    }
    VaultScores: Get "/v1/vaults/scores" {
        access: Data, family: Public, cache: Cache::by_class(15), tags: [Vaults],
        query: [Param::page("page"), Param::size("limit", 500, 1000), CHAIN, PROTOCOL, CURATOR, ASSET, RISK_TIER, MIN_RISK_SCORE, MAX_RISK_SCORE,
                SEARCH, MIN_TVL, STABLECOIN, LSD, SINGLE_EXPOSURE, NO_IL, AUDITED, HIGH_CONFIDENCE, DEPOSITABLE, SORT_BY, SORT_ORDER],
        answers: "Paged<Vec<VaultScoreRow>>", errors: [],
        about: "The scores of vaults in bulk, with the run behind each: the filters and the order of the vault list.",
    }
    VaultChanges: Get "/v1/vaults/changes" {
        access: Data, family: Public, cache: Cache::NEVER,
        query: [SINCE, Param::size("limit", 100, 500), CHANGED],
        answers: "Changes<VaultChanges>", errors: [MissingParameter, InvalidCursor],
        about: "Vaults whose reading or published score changed since an instant or a cursor, at least once each, in the order in which the changes became visible. A vault whose chain is shown again, and one that begins or ceases to be active, is given once more with the instants it has.",
    }
    VaultBatch: Post "/v1/vaults/batch" {
        access: Public, family: Public, cache: Cache::NEVER,
        body: BATCH_BODY,
        query: [], answers: "Data<Vec<VaultRow>>", errors: [InvalidBody, TooManyItems, PayloadTooLarge, UnsupportedMediaType],
        about: "Up to 100 vaults at once, by id or address. What is not known is left out of the answer.",
    }
    VaultDetail: Get "/v1/vault/{network}/{address}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events],
        query: [POINTS], answers: "Data<VaultPage>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "One vault by chain and address: the row, the evidence behind its score, history, events and rewards.",
    }
    VaultSnapshots: Get "/v1/vault/{network}/{address}/snapshots" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [DAYS, POINTS], answers: "Data<Vec<SnapshotPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "The vault's history, thinned to at most `points` points; first, last and extremes are kept.",
    }
    VaultScoreHistory: Get "/v1/vault/{network}/{address}/score-history" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [FROM, TO, Param::size("limit", 500, 1000)], answers: "Data<Vec<ScoreHistoryPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "Every published change of the vault's score or tier, oldest first.",
    }
    VaultEvents: Get "/v1/vault/{network}/{address}/events" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events],
        query: [], answers: "Data<Vec<VaultEvent>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "Published events that concern the vault, newest first.",
    }
    VaultHolders: Get "/v1/vault/{network}/{address}/holders" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [COMPLETE_ONLY], answers: "Data<HolderSnapshot>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "Who holds the vault's shares, and how concentrated they are, as of the newest look.",
    }
    VaultHolderHistory: Get "/v1/vault/{network}/{address}/holders/history" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [FROM, TO, Param::size("limit", 500, 1000), COMPLETE_ONLY],
        answers: "Data<Vec<HolderHistoryRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "The concentration of the vault's shares through time, oldest first.",
    }
    VaultMarkets: Get "/v1/vault/{network}/{address}/markets" {
        access: Data, family: Public, cache: Cache::by_class(15), tags: [Vaults, Markets, Assets],
        query: [], answers: "Data<MarketAllocation>", errors: [InvalidAddress, AddressNamespaceMismatch, Forbidden],
        about: "The lending markets a curated vault's deposits are spread over, with the risk of each market's collateral. Other protocols' vaults are 404.",
    }
    VaultStrategies: Get "/v1/vault/{network}/{address}/strategies" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
        query: [], answers: "Data<StrategyBreakdown>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "The strategies an allocating vault lends its deposits to. Other protocols' vaults are 404.",
    }
    VaultStrategy: Get "/v1/vault/{network}/{address}/strategy" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
        query: [], answers: "Data<StrategyInfo>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "The one strategy of a compounding vault: where its yield comes from, and what it warns of. Other protocols' vaults are 404.",
    }
    Chains: Get "/v1/chains" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [], answers: "Data<Vec<ChainRow>>", errors: [],
        about: "Chains with active vaults, with the slugs that paths and filters take.",
    }
    ProtocolList: Get "/v1/protocols" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [], answers: "Data<Vec<ProtocolRow>>", errors: [],
        about: "Protocols with their vaults counted and their value summed.",
    }
    ProtocolById: Get "/v1/protocols/{id}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events],
        query: [Param::page("vaultPage"), Param::size("vaultLimit", 20, 100)], answers: "Data<ProtocolPage>", errors: [Forbidden],
        about: "One protocol with its vaults, versions and incidents.",
    }
    CuratorList: Get "/v1/curators" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [Param::page("page"), Param::size("limit", 20, 100),
                Param::choice("sortBy", &["tvl_total", "vault_count", "avg_apr", "name"], "The field to sort by.").default("tvl_total"), SORT_ORDER],
        answers: "Paged<Vec<CuratorRow>>", errors: [Forbidden],
        about: "Curators with their vaults counted and their value summed.",
    }
    CuratorById: Get "/v1/curators/{id}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events],
        query: [Param::page("vaultPage"), Param::size("vaultLimit", 20, 100)], answers: "Data<CuratorPage>", errors: [Forbidden],
        about: "One curator with its vaults, chains and latest events.",
    }
    CuratorEvents: Get "/v1/curators/{id}/events" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events],
        query: [Param::int("offset", 0, u32::MAX as i64, 0, Clamp, "Events to pass over."), Param::size("limit", 5, 100)],
        answers: "Data<CuratorEvents>", errors: [Forbidden],
        about: "Published events of the curator's vaults, newest first.",
    }
    Me: Get "/v1/me" {
        access: Key, family: Public, cache: Cache::NEVER,
        query: [], answers: "Data<Me>", errors: [],
        about: "The calling key: who holds it, what it may do, what it has used.",
    }
    MarketList: Get "/v1/markets" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Markets, Assets],
        query: [Param::page("page"), Param::size("limit", 20, 100), PROTOCOL, VERSION, CHAIN, MARKET_SORT, SORT_ORDER],
        answers: "Paged<Vec<Market>>", errors: [Forbidden],
        about: "Lending markets with their totals: filtered, sorted and paged.",
    }
    MarketById: Get "/v1/markets/{id}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Markets, Assets],
        query: [], answers: "Data<MarketPage>", errors: [],
        about: "One lending market with its reserves, efficiency modes, hubs, and who administers it.",
    }
    MarketEvents: Get "/v1/markets/{id}/events" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Markets, Events],
        query: [Param::size("limit", 50, 100)], answers: "Data<Vec<MarketEvent>>", errors: [],
        about: "Published risk events of one market and bad debt of its vaults, newest first; no telemetry.",
    }
    EventList: Get "/v1/events" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Events],
        query: [Param::page("page"), Param::size("limit", 20, 100), EVENT_TYPE, SEVERITY, PROTOCOL_ID, CURATOR_ID, CHAIN_ID, INCIDENT_SEVERITY,
                REMEDIATION_STATUS, EVENT_SEARCH, EXCLUDE_SOURCE, EVENT_SORT, SORT_ORDER, DAYS_BACK],
        answers: "Feed<EventRow>", errors: [Forbidden],
        about: "The events feed: repeats of one underlying event are one row, told by the newest of them. Filters, order and pages act on these rows.",
    }
    EventById: Get "/v1/events/{id}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Events, Vaults],
        query: [], answers: "Data<EventDetail>", errors: [],
        about: "One published event, of a group any, with the vaults that it touches.",
    }
    EventGroup: Get "/v1/events/group/{groupKey}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Events],
        query: [], answers: "Data<EventRow>", errors: [],
        about: "What stands for a group of repeated events now: its newest published one. 404 when none is left.",
    }
    OracleList: Get "/v1/oracle" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Feeds],
        query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, VENDOR, FEED_KIND, FEED_STATUS],
        answers: "Paged<Vec<OracleFeed>>", errors: [Forbidden],
        about: "Price feeds and their like, by chain and address, each with its age and whether it keeps its heartbeat.",
    }
    OracleByAddress: Get "/v1/oracle/{chain}/{address}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Feeds],
        query: [], answers: "Data<OracleFeed>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "One feed by chain and contract.",
    }
    Stats: Get "/v1/stats" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults, Markets, Assets, Feeds],
        query: [], answers: "Data<Stats>", errors: [],
        about: "What the platform covers: vaults, scores and value, by tier, chain, protocol, curator, asset category and strategy.",
    }
    AssetSymbols: Get "/v1/assets" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
        query: [], answers: "Data<Vec<AssetSymbol>>", errors: [],
        about: "Symbols of deposit assets with the vaults that take them, most vaults first.",
    }
    AssetSymbolHistory: Get "/v1/assets/{symbol}/history" {
        access: Public, family: Public, cache: Cache::public(60), tags: [Vaults],
        query: [RANGE], answers: "SymbolHistory", errors: [],
        about: "Daily investable value and net rate of one exact symbol, in any case; missing days stay missing.",
    }
    Portfolio: Get "/v1/portfolio/{address}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
        query: [], answers: "Data<Portfolio>", errors: [InvalidAddress],
        about: "Vault positions that an address is known to hold, their value and their weighted score.",
    }
    Royco: Get "/v1/royco" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
        query: [Param::page("page"), Param::size("limit", 20, 100)],
        answers: "Paged<Vec<RewardedVault>>", errors: [Forbidden],
        about: "Vaults of the protocol royco with their rewards, largest value first; an empty list where it is not tracked.",
    }
    AssetList: Get "/v1/assets/enriched" {
        access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets],
        query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, CATEGORY, INSTRUMENT_TYPE, DEFI_INSTRUMENT, INCLUDE_QUALITY,
                REVIEW_STATUS, ASSET_TIER, REGULATORY_WRAPPER, KYC_GATE, ASSET_SEARCH],
        answers: "Paged<Vec<AssetRow>>", errors: [Forbidden],
        about: "Assets with their scores and evidence, best score first. Per-dimension values need a key.",
    }
    AssetFacets: Get "/v1/assets/enriched/facets" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Assets],
        query: [], answers: "Data<AssetFacets>", errors: [],
        about: "How many assets carry each value, over all assets.",
    }
    AssetDetail: Get "/v1/assets/{chain_id}/{address}" {
        access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets, Vaults],
        query: [], answers: "Data<AssetDetail<AssetRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
        about: "One asset with its versions, attestations and the breakdown of its score. Evidence needs a key. A chain's own coin has no contract: its address is written native.",
    }
    RwaList: Get "/v1/rwa" {
        access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets],
        query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, RWA_CATEGORY, REVIEW_STATUS, ASSET_TIER, REGULATORY_WRAPPER,
                KYC_GATE, ASSET_SEARCH],
        answers: "Paged<Vec<RwaRow>>", errors: [Forbidden],
        about: "Real-world assets with product identity and canonical value, best headline first. Per-dimension values need a key.",
    }
    RwaFacets: Get "/v1/rwa/facets" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Assets],
        query: [], answers: "Data<AssetFacets>", errors: [],
        about: "How many real-world assets carry each value, over all of them.",
    }
    RwaCoverage: Get "/v1/rwa/coverage" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Assets],
        query: [], answers: "Data<RwaCoverage>", errors: [],
        about: "What is known of real-world assets and how their sources do, with findings and the discovery queue.",
    }
    RwaHistory: Get "/v1/rwa/stats/history" {
        access: Data, family: Public, cache: Cache::by_class(30), tags: [Assets],
        query: [RANGE, AUM_BREAKDOWN], answers: "AumHistory", errors: [],
        about: "The canonical value day by day, each day in its newest revision.",
    }
    RwaById: Get "/v1/rwa/{asset_id}" {
        access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets],
        query: [], answers: "Data<AssetDetail<RwaRow>>", errors: [],
        about: "One real-world asset with its versions, attestations and the breakdown of its score. Evidence needs a key.",
    }
    ReviewerList: Get "/v1/reviewers" {
        access: Public, family: Public, cache: Cache::public(30), tags: [Assets],
        query: [], answers: "Data<Vec<ReviewerRow>>", errors: [],
        about: "Who reviews assets, with the public keys that their attestations are checked with.",
    }
    SecurityEventList: Get "/v1/security-events" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Security],
        query: [Param::page("page"), Param::size("limit", 50, 100), LOSS_SOURCE, IN_UNIVERSE, PUBLISHED_BY, ONE_CHAIN, LOSS_SEVERITY,
                TITLE_SEARCH, BY_LOSS, HAS_LOSS, MIN_LOSS],
        answers: "SecurityEvents", errors: [Forbidden],
        about: "The published rows of the security registry, newest attack first; with hasLoss=true the loss board. No rows means that none is \
                published, not that nothing happened.",
    }
    LossBoard: Get "/v1/security-events/losses" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Security],
        query: [Param::page("page"), Param::size("limit", 50, 100), LOSS_SOURCE, IN_UNIVERSE, ONE_CHAIN, LOSS_SEVERITY, TITLE_SEARCH, BY_LOSS,
                MIN_LOSS],
        answers: "LossBoard", errors: [Forbidden],
        about: "One row per case that lost US dollars, with what the whole corpus covers. A filter that can match nothing answers an empty page.",
    }
    SignalList: Get "/v1/signals" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Signals],
        query: [Param::page("page"), Param::size("limit", 30, 100), SIGNAL_SEVERITY, ENTITY, VAULT_KEY, SIGNAL_CATEGORY, SINCE_INSTANT],
        answers: "Signals", errors: [Forbidden],
        about: "Risk signals with the vaults that they touch, newest first; those of the latest 30 days where since is absent.",
    }
    SignalById: Get "/v1/signals/{id}" {
        access: Public, family: Public, cache: Cache::public(15), tags: [Signals],
        query: [], answers: "Data<SignalDetail>", errors: [],
        about: "One signal in full: what it says, of whom, which vaults it touches, and where it comes from.",
    }
    BasketList: Get "/v1/baskets" {
        access: Public, family: Public, cache: Cache::current_basket(), tags: [Baskets],
        query: [], answers: "Data<Vec<BasketRow>>", errors: [],
        about: "The published baskets, each with the version in force.",
    }
    BasketById: Get "/v1/baskets/{id}" {
        access: Public, family: Public, cache: Cache::current_basket(), tags: [Baskets],
        query: [BASKET_AT], answers: "Data<BasketDetail>", errors: [],
        about: "A basket's version in force now, or at an instant: constituents, weights, and the rules it was made by.",
    }
    BasketVersions: Get "/v1/baskets/{id}/versions" {
        access: Public, family: Public, cache: Cache::by_class(60), tags: [Baskets],
        query: [Param::page("page"), Param::size("pageSize", 50, 200)], answers: "Paged<Vec<BasketVersionRow>>", errors: [Forbidden],
        about: "Every version of a basket, newest first, each linked to the one before it.",
    }
    BasketVersion: Get "/v1/baskets/{id}/version/{versionId}" {
        access: Public, family: Public, cache: Cache::immutable(), tags: [Baskets],
        query: [], answers: "Data<BasketDetail>", errors: [VersionRetired],
        about: "One version, which never changes. A retired one is 410 and names its successor.",
    }
    BasketChanges: Get "/v1/baskets/{id}/changes" {
        access: Public, family: Public, cache: Cache::public(60), tags: [Baskets],
        query: [CHANGED_VERSIONS], answers: "Data<Vec<BasketChangeRow>>", errors: [],
        about: "What each of the newest versions changed: who came, who went, whose weight moved.",
    }
    BasketMethodologyVersions: Get "/v1/baskets/{id}/methodology/versions" {
        access: Public, family: Public, cache: Cache::public(60), tags: [Baskets],
        query: [], answers: "Data<Vec<BasketMethodologyRow>>", errors: [],
        about: "The versions of the basket's rules, newest first.",
    }
    WebhookCreate: Post "/v1/webhooks" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        body: CREATION_BODY,
        query: [], answers: "Data<WebhookSubscription>",
        errors: [InvalidBody, WebhookUrlRejected, Conflict, IdempotencyKeyReused, PayloadTooLarge, UnsupportedMediaType],
        about: "Subscribes a URL to families of events; the signing secret is in this answer only. Repeating it with the same Idempotency-Key makes nothing new.",
    }
    WebhookList: Get "/v1/webhooks" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        query: [], answers: "Data<Vec<WebhookSubscription>>", errors: [],
        about: "The organisation's subscriptions, oldest first.",
    }
    WebhookById: Get "/v1/webhooks/{id}" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        query: [], answers: "Data<WebhookSubscription>", errors: [],
        about: "One subscription of the organisation.",
    }
    WebhookDelete: Delete "/v1/webhooks/{id}" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        query: [], answers: "Data<WebhookDeleted>", errors: [],
        about: "Deletes a subscription with its deliveries; nothing more is sent, but for attempts that are under way.",
    }
    WebhookTest: Post "/v1/webhooks/{id}/test" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        query: [], answers: "Data<WebhookDelivery>", errors: [],
        about: "Enqueues one webhook.test delivery; it goes out when the subscription delivers.",
    }
    WebhookDeliveries: Get "/v1/webhooks/{id}/deliveries" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        query: [DELIVERIES], answers: "Data<Vec<WebhookDelivery>>", errors: [],
        about: "The subscription's deliveries, newest first, each with its attempts and a request that can be repeated by hand.",
    }
    WebhookReplay: Post "/v1/webhooks/{id}/replay" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        query: [REPLAY_FROM, REPLAY_TO], answers: "Data<WebhookReplayed>", errors: [],
        about: "Enqueues deliveries that were given up in the window again: the same events under the same ids, with six fresh attempts.",
    }
    WebhookEnable: Post "/v1/webhooks/{id}/enable" {
        access: Decisioning, family: Public, cache: Cache::NEVER,
        query: [], answers: "Data<WebhookSubscription>", errors: [],
        about: "Takes up deliveries again after a pause or a disablement. After key_revoked the calling key is the one that deliveries are made for.",
    }
    EventStream: Get "/v1/events/stream" {
        access: Data, family: Public, cache: Cache::NEVER,
        door: EdgeAndRelay,
        query: [STREAM_VAULT, STREAM_SINCE], answers: "EventStream", errors: [StreamLimitReached, ShuttingDown],
        about: "What becomes public, is promoted or retracted, as server-sent events, with replay of the last 24 hours.",
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
