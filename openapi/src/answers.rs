//! The response of each route on success, by the type that its handler serialises.
//!
//! The `match` has no catch-all arm, so a new route does not compile until its response is listed here.

use rds_shared::graph::breach::Preview;
use rds_shared::graph::incidents::IncidentSummary;
use rds_shared::graph::snapshot::Manifest;
use rds_shared::graph::verification::Verification;
use rds_shared::model::allocation::MarketAllocation;
use rds_shared::model::asset::{AssetDetail, AssetHistory, AssetRow};
use rds_shared::model::attestation::ReviewerRow;
use rds_shared::model::basket::{BasketChangeRow, BasketDetail, BasketMethodologyRow, BasketRow, ListedBasketVersion};
use rds_shared::model::chain::ChainRow;
use rds_shared::model::curator::{CuratorEvents, CuratorPage, CuratorRow};
use rds_shared::model::decision::{CheckResult, PublishedSigner, SealedDecision};
use rds_shared::model::event::{CriticalVault, EventDetail, EventRow, Feed, MarketEvent};
use rds_shared::model::facets::AssetFacets;
use rds_shared::model::graph::{ByKey, Incidents, LookedThrough};
use rds_shared::model::health::{Health, Ready};
use rds_shared::model::holders::{HolderHistoryRow, HolderSnapshot};
use rds_shared::model::index::{IndexDetail, IndexLevel, IndexRow};
use rds_shared::model::key::Me;
use rds_shared::model::loss::{LossMeta, LossRow};
use rds_shared::model::market::{Market, MarketPage};
use rds_shared::model::oracle::ServedFeed;
use rds_shared::model::portfolio::Portfolio;
use rds_shared::model::protocol::{ProtocolPage, ProtocolRow};
use rds_shared::model::reference_rate::{ReferenceRate, ReferenceRateDetail};
use rds_shared::model::research::{
    Backtest, Claim, ModelHealth, Prediction, Recorded, ResearchMeta, Source, ValidationReport,
};
use rds_shared::model::rwa::{RwaCoverage, RwaRow};
use rds_shared::model::rwa_history::AumHistory;
use rds_shared::model::security::{MoreMeta, SecurityEvent};
use rds_shared::model::signal::{Signal, SignalDetail, SignalMeta};
use rds_shared::model::stats::Stats;
use rds_shared::model::status_feed::StatusFeed;
use rds_shared::model::strategy::{StrategyBreakdown, StrategyInfo};
use rds_shared::model::symbol::{AssetSymbol, SymbolHistory};
use rds_shared::model::vault::{self, RewardedVault, VaultRow};
use rds_shared::model::vault_changes::{ChangesMeta, VaultChanges};
use rds_shared::model::vault_history::{ScoreHistoryPoint, SnapshotPoint, VaultEvent};
use rds_shared::model::vault_score::VaultScoreRow;
use rds_shared::model::webhook::{
    BasketWebhook, WebhookDeleted, WebhookDelivery, WebhookReplayed, WebhookSubscription,
};
use rds_shared::route::RouteId;
use rds_shared::scoring::asset::AssetBreakdown;
use rds_shared::scoring::methodology::Methodology;
use rds_shared::scoring::provenance::{PublishedProvenance, RiskVectors};
use rds_shared::wire::{Data, Paged, WithMeta};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// A vault's detail, with its provenance as stored.
type VaultPage = vault::VaultPage<RiskVectors, PublishedProvenance<'static>>;
/// The detail of an asset, for both asset lists.
type Detail<R> = AssetDetail<R, AssetHistory<AssetBreakdown>>;

/// The body of a successful response.
#[derive(Debug)]
pub enum Success {
    /// JSON of this schema.
    Json(Schema),
    /// Server-sent events.
    Stream,
    /// The OpenAPI document.
    Document,
    /// A JSON-RPC response of the MCP server.
    JsonRpc,
    /// A page of the documentation or a file that pages load, of one of these media types.
    Files(&'static [&'static str]),
}

/// Media types of the documentation's files; a test compares them with the files.
const FILES: [&str; 8] = [
    "text/html",
    "text/markdown",
    "text/plain",
    "text/css",
    "text/javascript",
    "image/svg+xml",
    "application/schema+json",
    "application/wasm",
];

macro_rules! answers {
    ($($id:ident => $type:ty $(| $other:ty)*,)*) => {
        /// The successful response of `route`. The types that it refers to are added to the generator's definitions.
        pub fn of(route: RouteId, generator: &mut SchemaGenerator) -> Success {
            match route {
                $(RouteId::$id => Success::Json(one_of(vec![schema::<$type>(generator) $(, schema::<$other>(generator))*])),)*
                RouteId::EventStream => Success::Stream,
                RouteId::OpenApi => Success::Document,
                RouteId::Mcp => Success::JsonRpc,
                RouteId::Docs => Success::Files(&["text/html"]),
                RouteId::DocsFile => Success::Files(&FILES),
            }
        }

        /// The types as spelled in this macro's arguments, for a test that compares them with the route table.
        #[cfg(test)]
        const SPELLED: &[(RouteId, &str)] = &[$((RouteId::$id, stringify!($type $(| $other)*)),)*];
    };
}

/// A route may have several response types; the first is the response to a request without parameters.
fn one_of(mut schemas: Vec<Schema>) -> Schema {
    match schemas.len() {
        1 => schemas.remove(0),
        _ => json_schema!({"anyOf": schemas}),
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

answers! {
    Stats => Data<Stats>,
    AssetSymbols => Data<Vec<AssetSymbol>>,
    AssetSymbolHistory => SymbolHistory,
    Portfolio => Data<Portfolio>,
    Royco => Paged<Vec<RewardedVault>>,
    AssetList => Paged<Vec<AssetRow>>,
    AssetFacets => Data<AssetFacets>,
    AssetDetail => Data<Detail<AssetRow>>,
    RwaList => Paged<Vec<RwaRow>>,
    RwaFacets => Data<AssetFacets>,
    RwaCoverage => Data<RwaCoverage>,
    RwaHistory => AumHistory,
    RwaById => Data<Detail<RwaRow>>,
    ReviewerList => Data<Vec<ReviewerRow>>,
    Methodology => Data<Methodology>,
    ValidationReports => WithMeta<Vec<Recorded<ValidationReport>>, ResearchMeta>,
    Claims => WithMeta<Vec<Recorded<Claim>>, ResearchMeta>,
    ResearchSources => WithMeta<Vec<Recorded<Source>>, ResearchMeta>,
    Predictions => WithMeta<Vec<Prediction>, ResearchMeta>,
    Backtests => WithMeta<Vec<Recorded<Backtest>>, ResearchMeta>,
    ModelHealth => WithMeta<Vec<Recorded<ModelHealth>>, ResearchMeta>,
    BasketList => Data<Vec<BasketRow>>,
    BasketById => Data<BasketDetail>,
    BasketVersions => Paged<Vec<ListedBasketVersion>>,
    BasketVersion => Data<BasketDetail>,
    BasketChanges => Data<Vec<BasketChangeRow>>,
    BasketMethodologyVersions => Data<Vec<BasketMethodologyRow>>,
    LookThrough => Data<LookedThrough>,
    Breach => Data<Preview>,
    IncidentExposure => Data<Incidents<ByKey>>,
    IncidentSummary => Data<Incidents<IncidentSummary>>,
    GraphSnapshot => Data<Manifest>,
    GraphCheck => Data<CheckResult>,
    DecisionVerify => Data<Verification>,
    DecisionById => Data<SealedDecision>,
    SignerList => Data<Vec<PublishedSigner>>,
    EventList => Feed<EventRow>,
    EventById => Data<EventDetail>,
    EventGroup => Data<EventRow>,
    SecurityEventList => WithMeta<Vec<SecurityEvent>, MoreMeta> | WithMeta<Vec<LossRow>, LossMeta>,
    LossBoard => WithMeta<Vec<LossRow>, LossMeta>,
    SignalList => WithMeta<Vec<Signal>, SignalMeta>,
    SignalById => Data<SignalDetail>,
    IndexList => Data<Vec<IndexRow>>,
    IndexById => Data<IndexDetail>,
    IndexLevels => Data<Vec<IndexLevel>>,
    RateList => Data<Vec<ReferenceRate>>,
    RateBySymbol => Data<ReferenceRateDetail>,
    WebhookCreate => Data<WebhookSubscription>,
    WebhookList => Data<Vec<WebhookSubscription>>,
    WebhookById => Data<WebhookSubscription>,
    WebhookDelete => Data<WebhookDeleted>,
    WebhookTest => Data<WebhookDelivery>,
    WebhookDeliveries => Data<Vec<WebhookDelivery>>,
    WebhookReplay => Data<WebhookReplayed>,
    WebhookEnable => Data<WebhookSubscription>,
    BasketWebhookCreate => Data<BasketWebhook>,
    BasketWebhooksOfAll => Data<Vec<BasketWebhook>>,
    BasketWebhookList => Data<Vec<BasketWebhook>>,
    BasketWebhookDelete => Data<WebhookDeleted>,
    BasketWebhookReplay => Data<WebhookReplayed>,
    BasketWebhookEnable => Data<BasketWebhook>,
    VaultList => Paged<Vec<VaultRow>>,
    VaultById => Data<VaultPage>,
    VaultsWithCriticalIncidents => Data<Vec<CriticalVault>>,
    VaultScores => Paged<Vec<VaultScoreRow>>,
    VaultChanges => WithMeta<VaultChanges, ChangesMeta>,
    VaultBatch => Data<Vec<VaultRow>>,
    VaultDetail => Data<VaultPage>,
    VaultSnapshots => Data<Vec<SnapshotPoint>>,
    VaultScoreHistory => Data<Vec<ScoreHistoryPoint>>,
    VaultEvents => Data<Vec<VaultEvent>>,
    VaultHolders => Data<HolderSnapshot>,
    VaultHolderHistory => Data<Vec<HolderHistoryRow>>,
    VaultMarkets => Data<MarketAllocation>,
    VaultStrategies => Data<StrategyBreakdown>,
    VaultStrategy => Data<StrategyInfo>,
    Chains => Data<Vec<ChainRow>>,
    ProtocolList => Data<Vec<ProtocolRow>>,
    ProtocolById => Data<ProtocolPage>,
    CuratorList => Paged<Vec<CuratorRow>>,
    CuratorById => Data<CuratorPage>,
    CuratorEvents => Data<CuratorEvents>,
    MarketList => Paged<Vec<Market>>,
    MarketById => Data<MarketPage>,
    MarketEvents => Data<Vec<MarketEvent>>,
    OracleList => Paged<Vec<ServedFeed>>,
    OracleByAddress => Data<ServedFeed>,
    Me => Data<Me>,
    Health => Health,
    Ready => Ready,
    Status => StatusFeed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_table_and_the_document_use_the_same_types() {
        let bare = |text: &str| {
            text.replace([' ', '\n'], "").replace("Detail<", "AssetDetail<").replace("AssetAsset", "Asset")
        };
        for (id, spelled) in SPELLED {
            assert_eq!(bare(id.route().answers), bare(spelled), "{}", id.name());
        }
    }

    #[test]
    fn every_file_of_the_documentation_has_a_documented_media_type() {
        let bare = |media_type: &'static str| media_type.split(';').next().unwrap_or_default();
        let mut served: Vec<_> = rds_docs::DOCUMENTS.iter().map(|document| bare(document.media_type)).collect();
        served.sort_unstable();
        served.dedup();
        for media_type in &served {
            assert!(FILES.contains(media_type), "{media_type} is not documented");
        }
        for media_type in FILES {
            // The verifier's WebAssembly module is optional: it is served only if it was built.
            let is_there = served.contains(&media_type) || media_type == "application/wasm";
            assert!(is_there, "{media_type} is documented but not served");
        }
        assert_eq!(rds_docs::find("").map(|page| bare(page.media_type)), Some("text/html"));
    }
}
