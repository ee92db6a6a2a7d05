//! Assets, real-world assets, portfolios and totals: parameters and rows.

use crate::route::param::Param;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// The values that the `category` parameter takes.
pub const CATEGORIES: &[&str] = &[
    "native",
    "fiat_backed_stablecoin",
    "cdp_stablecoin",
    "synthetic_stablecoin",
    "lst",
    "lrt",
    "wrapped_btc",
    "governance_token",
    "defi_derivative",
    "tokenized_treasury",
    "t_bill_backed_stable",
    "rwa_credit",
    "commodity_backed",
    "tokenized_equity",
    "wrapped_crypto",
    "unreviewed",
];

/// The categories of real-world assets.
pub const RWA_CATEGORIES: &[&str] =
    &["tokenized_treasury", "t_bill_backed_stable", "rwa_credit", "commodity_backed", "tokenized_equity"];

params! {
    Range: Word = Param::choice("range", &["7d", "30d", "90d", "1y"], "How many days, the current one included.").default("30d");
    Category: Choices = Param::choices("category", CATEGORIES, "Categories, separated by commas.");
    RwaCategory: Choices = Param::choices("category", RWA_CATEGORIES, "Categories, separated by commas.");
    InstrumentType: Names = Param::names("instrument_type", "Instrument types, separated by commas.");
    DefiInstrument: Flag = Param::flag("defi_instrument", "Whether a protocol on chain makes the asset out of another one.");
    IncludeQuality: Flag = Param::flag("include_quality", "true adds to each row how much of its evidence is there.");
    ReviewStatus: Choices =
        Param::choices("review_status", &["reviewed", "provisional", "unreviewed"], "Review statuses, separated by commas.");
    AssetTier: Choices =
        Param::choices("risk_tier", &["Prime", "Core", "Edge", "unknown"], "Tiers, separated by commas; unknown is unscored.");
    RegulatoryWrapper: Names = Param::names("regulatory_wrapper", "Legal forms, separated by commas.");
    KycGate: Choices =
        Param::choices("kyc_gate", &["permissionless", "kyc_required", "accredited", "qualified_purchaser", "professional_investor", "institutional_only",], "Who may hold the asset, separated by commas.");
    AssetSearch: Text = Param::text("search", 200, "Part of the symbol or address, in any case.");
    AumBreakdown: Word = Param::choice("breakdown", &["chain", "category"], "What each day is broken down by.").default("chain");
}

macro_rules! assets_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Stats: Get "/v1/stats" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults, Markets, Assets, Feeds], scores: true,
                query: [], answers: "Data<Stats>", errors: [],
                about: "What the platform covers: vaults, scores and value, by tier, chain, protocol, curator, asset category and strategy.",
            }
            AssetSymbols: Get "/v1/assets" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<AssetSymbol>>", errors: [],
                about: "Symbols of deposit assets with the vaults that take them, most vaults first.",
            }
            AssetSymbolHistory: Get "/v1/assets/{symbol}/history" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Vaults],
                fold: [0: Upper],
                query: [Range], answers: "SymbolHistory", errors: [],
                about: "Daily investable value and net rate of one exact symbol, in any case; missing days stay missing.",
            }
            Portfolio: Get "/v1/portfolio/{address}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults], scores: true,
                fold: [0: Address],
                query: [], answers: "Data<Portfolio>", errors: [InvalidAddress],
                about: "Vault positions that an address is known to hold, their value and their weighted score.",
            }
            Royco: Get "/v1/royco" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100)],
                answers: "Paged<Vec<RewardedVault>>", errors: [Forbidden],
                about: "Vaults of the protocol royco with their rewards, largest value first; an empty list where it is not tracked.",
            }
            AssetList: Get "/v1/assets/enriched" {
                access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Chain, Category, InstrumentType, DefiInstrument, IncludeQuality,
                        ReviewStatus, AssetTier, RegulatoryWrapper, KycGate, AssetSearch],
                answers: "Paged<Vec<AssetRow>>", errors: [Forbidden],
                about: "Assets with their scores and evidence, best score first. Per-dimension values need a key.",
            }
            AssetFacets: Get "/v1/assets/enriched/facets" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Assets], scores: true,
                query: [], answers: "Data<AssetFacets>", errors: [],
                about: "How many assets carry each value, over all assets.",
            }
            AssetDetail: Get "/v1/assets/{chain_id}/{address}" {
                access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets, Vaults], scores: true,
                fold: [1: Address],
                query: [], answers: "Data<AssetDetail<AssetRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "One asset with its versions, attestations and the breakdown of its score. Evidence needs a key. A chain's own coin has no contract: its address is written native.",
            }
            RwaList: Get "/v1/rwa" {
                access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Chain, RwaCategory, ReviewStatus, AssetTier, RegulatoryWrapper,
                        KycGate, AssetSearch],
                answers: "Paged<Vec<RwaRow>>", errors: [Forbidden],
                deprecated: [CANONICAL_PRODUCT_ID, INSTITUTIONAL_AUM, AUM_SCOPE],
                about: "Real-world assets with product identity and canonical value, best headline first. Per-dimension values need a key.",
            }
            RwaFacets: Get "/v1/rwa/facets" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Assets], scores: true,
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
                query: [Range, AumBreakdown], answers: "AumHistory", errors: [],
                about: "The canonical value day by day, each day in its newest revision.",
            }
            RwaById: Get "/v1/rwa/{asset_id}" {
                access: Public, family: Public, cache: Cache::by_class(15), tags: [Assets], scores: true,
                query: [], answers: "Data<AssetDetail<RwaRow>>", errors: [],
                deprecated: [CANONICAL_PRODUCT_ID, INSTITUTIONAL_AUM, AUM_SCOPE],
                about: "One real-world asset with its versions, attestations and the breakdown of its score. Evidence needs a key.",
            }
            ReviewerList: Get "/v1/reviewers" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Assets],
                query: [Page, OptionalLimit], answers: "Data<Vec<ReviewerRow>>", errors: [],
                about: "Who reviews assets, with the public keys that their attestations are checked with.",
            }
        }
    };
}

pub(in crate::route) use assets_rows;
