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
    Range: Word = Param::choice("range", &["7d", "30d", "90d", "1y"], "Length of the period in days, including today; `1y` is 365 days.").default("30d");
    Category: Choices = Param::choices("category", CATEGORIES, "Only assets of these categories, separated by commas.");
    RwaCategory: Choices = Param::choices("category", RWA_CATEGORIES, "Only assets of these categories, separated by commas.");
    InstrumentType: Names = Param::names("instrument_type", "Only assets of these instrument types, separated by commas. Letter case is ignored.");
    DefiInstrument: Flag = Param::flag("defi_instrument", "`true` keeps assets that an on-chain protocol makes out of other assets, such as staking \
        derivatives; `false` keeps the others.");
    IncludeQuality: Flag = Param::flag("include_quality", "`true` adds `quality` to each row: how much evidence the asset's review has. Otherwise `quality` is \
        null.");
    ReviewStatus: Choices =
        Param::choices("review_status", &["reviewed", "provisional", "unreviewed"], "Only assets with these review statuses, separated by commas.");
    AssetTier: Choices =
        Param::choices("risk_tier", &["Prime", "Core", "Edge", "unknown"], "Only assets of these tiers, separated by commas; `unknown` selects unscored \
            assets.");
    RegulatoryWrapper: Names = Param::names("regulatory_wrapper", "Only assets with these legal forms, separated by commas; `(unknown)` selects assets without \
        a known one. Letter case is ignored.");
    KycGate: Choices =
        Param::choices("kyc_gate", &["permissionless", "kyc_required", "accredited", "qualified_purchaser", "professional_investor", "institutional_only",], "Only assets with these requirements for holders, separated by commas.");
    AssetSearch: Text = Param::text("search", 200, "Substring of the symbol or address. Letter case is ignored.");
    AumBreakdown: Word = Param::choice("breakdown", &["chain", "category"], "Property by which the total of each day is broken down.").default("chain");
}

macro_rules! assets_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Stats: Get "/v1/stats" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults, Markets, Assets, Feeds], scores: true,
                query: [], answers: "Data<Stats>", errors: [],
                about: "Totals over all active vaults: their number, scores and value, also by tier, chain, protocol, curator, asset category and strategy.",
            }
            AssetSymbols: Get "/v1/assets" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<AssetSymbol>>", errors: [],
                about: "Symbols of deposit assets, each with its number of vaults, most vaults first.",
            }
            AssetSymbolHistory: Get "/v1/assets/{symbol}/history" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Vaults],
                fold: [0: Upper],
                query: [Range], answers: "SymbolHistory", errors: [],
                about: "Daily investable value and net rate of one asset symbol. The symbol must match exactly, except for letter case. Days without data are \
                       left out.",
            }
            Portfolio: Get "/v1/portfolio/{address}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults], scores: true,
                fold: [0: Address],
                query: [], answers: "Data<Portfolio>", errors: [InvalidAddress],
                about: "Vault positions that an address is known to hold, with their value and weighted score.",
            }
            Royco: Get "/v1/royco" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100)],
                answers: "Paged<Vec<RewardedVault>>", errors: [Forbidden],
                about: "Vaults of the protocol `royco` with their rewards, largest value first. The list is empty if the protocol is not tracked.",
            }
            AssetList: Get "/v1/assets/enriched" {
                access: Public, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Assets], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Chain, Category, InstrumentType, DefiInstrument, IncludeQuality,
                        ReviewStatus, AssetTier, RegulatoryWrapper, KycGate, AssetSearch],
                answers: "Paged<Vec<AssetRow>>", errors: [Forbidden],
                about: "Assets with their scores and evidence, highest score first. Values of single dimensions require a key.",
            }
            AssetFacets: Get "/v1/assets/enriched/facets" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Assets], scores: true,
                query: [], answers: "Data<AssetFacets>", errors: [],
                about: "Number of assets by chain, category, tier and other properties, over all assets.",
            }
            AssetDetail: Get "/v1/assets/{chain_id}/{address}" {
                access: Public, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Assets, Vaults], scores: true,
                fold: [1: Address],
                query: [], answers: "Data<AssetDetail<AssetRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "One asset with its version history, attestations and score breakdown. The evidence requires a key. The address of a chain's native \
                       coin is `native`.",
            }
            RwaList: Get "/v1/rwa" {
                access: Public, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Assets], scores: true,
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Chain, RwaCategory, ReviewStatus, AssetTier, RegulatoryWrapper,
                        KycGate, AssetSearch],
                answers: "Paged<Vec<RwaRow>>", errors: [Forbidden],
                deprecated: [CANONICAL_PRODUCT_ID, INSTITUTIONAL_AUM, AUM_SCOPE],
                about: "Real-world assets with product identity and canonical value, highest headline score first. Values of single dimensions require a key.",
            }
            RwaFacets: Get "/v1/rwa/facets" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Assets], scores: true,
                query: [], answers: "Data<AssetFacets>", errors: [],
                about: "Number of real-world assets by chain, category, tier and other properties, over all of them.",
            }
            RwaCoverage: Get "/v1/rwa/coverage" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Assets],
                query: [], answers: "Data<RwaCoverage>", errors: [],
                about: "Data coverage of real-world assets, with the state of their sources, findings and the discovery queue.",
            }
            RwaHistory: Get "/v1/rwa/stats/history" {
                access: Data, rate_limit_class: Public, cache: Cache::by_class(30), tags: [Assets],
                query: [Range, AumBreakdown], answers: "AumHistory", errors: [],
                about: "Canonical assets under management of real-world assets per day, each day in its newest revision. Days without a total are left out.",
            }
            RwaById: Get "/v1/rwa/{asset_id}" {
                access: Public, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Assets], scores: true,
                query: [], answers: "Data<AssetDetail<RwaRow>>", errors: [],
                deprecated: [CANONICAL_PRODUCT_ID, INSTITUTIONAL_AUM, AUM_SCOPE],
                about: "One real-world asset with its version history, attestations and score breakdown. The evidence requires a key.",
            }
            ReviewerList: Get "/v1/reviewers" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Assets],
                query: [Page, OptionalLimit], answers: "Data<Vec<ReviewerRow>>", errors: [],
                about: "Reviewers of assets, with the public keys for verifying their attestations.",
            }
        }
    };
}

pub(in crate::route) use assets_rows;
