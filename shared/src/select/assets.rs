//! Columns, filters and order of the asset lists. The only order is by score: best first, unscored assets last.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::vaults::{put_score, read_score};
use super::{Condition, Filling, FlagColumn, Index, Indexed, Selection, Sort, SortColumn, WordColumn};
use crate::model::asset::{AssetRow, KycGate};
use crate::model::facets::{AssetFacets, Counts, UNKNOWN, UNKNOWN_TIER};
use crate::model::ids::ChainId;
pub use crate::route::params::{CATEGORIES, RWA_CATEGORIES};
use crate::route::{Row, RowQuery, params, routes};
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::scoring::asset::{AssetCategory, ReviewStatus};
use crate::wire::page::PageRequest;
use crate::wire::record::{self, Reader};

/// What the filters, the search and the order of the asset lists need of an asset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AssetColumns<'a> {
    pub chain_id: ChainId,
    /// The chain's slug; the `chain` filter takes the slug or the chain id.
    pub chain_slug: &'a str,
    /// The score that the list shows and sorts by.
    pub headline: Option<MilliPoints>,
    pub category: AssetCategory,
    pub instrument_type: Option<&'a str>,
    pub review_status: ReviewStatus,
    pub risk_tier: Option<Tier>,
    pub regulatory_wrapper: Option<&'a str>,
    pub kyc_gate: Option<KycGate>,
    pub symbol: &'a str,
    pub address: Option<&'a str>,
}

impl<'a> AssetColumns<'a> {
    /// The columns of a list row.
    pub fn of(row: &'a AssetRow, chain_slug: &'a str) -> Self {
        AssetColumns {
            chain_id: row.chain_id,
            chain_slug,
            headline: row.risk_score,
            category: row.category,
            instrument_type: row.instrument_type.as_deref(),
            review_status: row.review_status,
            risk_tier: row.risk_tier,
            regulatory_wrapper: row.institutional.regulatory_wrapper.as_deref(),
            kyc_gate: row.institutional.kyc_gate,
            symbol: &row.symbol,
            address: row.address.as_ref().map(|address| address.as_str()),
        }
    }

    /// Appends the columns as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        record::put_variable(self.chain_id.0, out);
        record::put_bytes(self.chain_slug.as_bytes(), out);
        put_score(self.headline, out);
        record::put_choice(Some(self.category), AssetCategory::ALL, out);
        record::put_optional_text(self.instrument_type, out);
        record::put_choice(Some(self.review_status), ReviewStatus::ALL, out);
        record::put_choice(self.risk_tier, Tier::ALL, out);
        record::put_optional_text(self.regulatory_wrapper, out);
        record::put_choice(self.kyc_gate, KycGate::ALL, out);
        record::put_bytes(self.symbol.as_bytes(), out);
        record::put_optional_text(self.address, out);
    }

    /// Reads columns that [`write`](Self::write) wrote.
    pub fn read(reader: &mut Reader<'a>) -> Option<Self> {
        Some(AssetColumns {
            chain_id: ChainId(reader.variable()?),
            chain_slug: reader.text()?,
            headline: read_score(reader)?,
            category: reader.choice(AssetCategory::ALL)??,
            instrument_type: reader.optional_text()?,
            review_status: reader.choice(ReviewStatus::ALL)??,
            risk_tier: reader.choice(Tier::ALL)?,
            regulatory_wrapper: reader.optional_text()?,
            kyc_gate: reader.choice(KycGate::ALL)?,
            symbol: reader.text()?,
            address: reader.optional_text()?,
        })
    }
}

/// Filters of an asset list; the default passes every asset. Letter case is ignored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssetFilter<'q> {
    /// Chain slugs or chain ids.
    pub chains: &'q [String],
    pub categories: Vec<&'q str>,
    pub instrument_types: &'q [String],
    /// Whether an on-chain protocol makes the asset, see [`is_defi_instrument`].
    pub defi_instrument: Option<bool>,
    pub review_statuses: Vec<&'q str>,
    /// Tiers; `unknown` for unscored assets.
    pub tiers: Vec<&'q str>,
    pub regulatory_wrappers: &'q [String],
    pub kyc_gates: Vec<&'q str>,
    /// Substring of the symbol or address.
    pub search: Option<&'q str>,
}

impl<'q> AssetFilter<'q> {
    /// The filters of a request for the list of assets.
    pub fn of_assets(query: RowQuery<'q, routes::AssetList>) -> Self {
        AssetFilter {
            instrument_types: query.get(params::InstrumentType),
            defi_instrument: query.get(params::DefiInstrument),
            ..Self::common(query)
        }
    }

    /// The filters of a request for the list of real-world assets.
    pub fn of_rwa(query: RowQuery<'q, routes::RwaList>) -> Self {
        Self::common(query)
    }

    /// The filters that the lists of assets and of real-world assets have in common.
    fn common<R: Row>(query: RowQuery<'q, R>) -> Self {
        AssetFilter {
            chains: query.get(params::Chain),
            categories: query.get(params::Category).to_vec(),
            instrument_types: &[],
            defi_instrument: None,
            review_statuses: query.get(params::ReviewStatus).to_vec(),
            tiers: query.get(params::AssetTier).to_vec(),
            regulatory_wrappers: query.get(params::RegulatoryWrapper),
            kyc_gates: query.get(params::KycGate).to_vec(),
            search: query.get(params::AssetSearch),
        }
    }

    fn conditions(&self, columns: &Columns) -> Vec<Condition<'_>> {
        let named = |names: &'q [String]| names.iter().map(String::as_str).collect::<Vec<_>>();
        let words = [
            (columns.chain, named(self.chains)),
            (columns.category, self.categories.clone()),
            (columns.instrument_type, named(self.instrument_types)),
            (columns.review_status, self.review_statuses.clone()),
            (columns.tier, self.tiers.clone()),
            (columns.regulatory_wrapper, named(self.regulatory_wrappers)),
            (columns.kyc_gate, self.kyc_gates.clone()),
        ];
        let words = words.into_iter().filter(|(_, words)| !words.is_empty());
        let mut all: Vec<Condition<'_>> = words.map(|(column, words)| Condition::AnyOf(column, words)).collect();
        all.extend(self.defi_instrument.map(|wanted| Condition::Is(columns.defi_instrument, wanted)));
        all.extend(self.search.map(Condition::Contains));
        all
    }
}

/// Whether an on-chain protocol makes assets of this category out of other assets.
pub const fn is_defi_instrument(category: AssetCategory) -> bool {
    use AssetCategory::{CdpStablecoin, DefiDerivative, Lrt, Lst, SyntheticStablecoin};
    matches!(category, CdpStablecoin | SyntheticStablecoin | Lst | Lrt | DefiDerivative)
}

/// Index of an asset list. Row numbers are positions in the list.
#[derive(Debug, Clone, Default)]
pub struct AssetIndex {
    index: Index,
    columns: Columns,
}

#[derive(Debug, Clone, Default)]
struct Columns {
    chain: WordColumn,
    category: WordColumn,
    instrument_type: WordColumn,
    review_status: WordColumn,
    tier: WordColumn,
    regulatory_wrapper: WordColumn,
    kyc_gate: WordColumn,
    defi_instrument: FlagColumn,
    headline: SortColumn,
}

impl Indexed for AssetIndex {
    type Columns<'a> = AssetColumns<'a>;

    /// Assets are in ascending order of asset ids: equal scores keep that order.
    fn add(&mut self, index: &mut Filling, assets: &[AssetColumns<'_>]) {
        let rows = || assets.iter();
        let headline = index.add_integers(rows().map(|asset| asset.headline.map(|score| i64::from(score.get()))));
        let chain = index.add_words(rows().map(|asset| Some(asset.chain_slug)), false);
        for asset in assets {
            index.alias(chain, &asset.chain_id.to_string(), asset.chain_slug);
        }
        self.columns = Columns {
            chain,
            category: index.add_words(rows().map(|asset| Some(asset.category.as_str())), false),
            instrument_type: index.add_words(rows().map(|asset| asset.instrument_type), false),
            review_status: index.add_words(rows().map(|asset| Some(asset.review_status.as_str())), false),
            tier: index.add_words(rows().map(|asset| Some(tier(asset.risk_tier))), false),
            regulatory_wrapper: index.add_words(rows().map(|asset| asset.regulatory_wrapper.or(Some(UNKNOWN))), false),
            kyc_gate: index.add_words(rows().map(|asset| asset.kyc_gate.map(KycGate::as_str)), false),
            defi_instrument: index.add_flags(rows().map(|asset| is_defi_instrument(asset.category))),
            headline,
        };
        index.set_texts(rows().map(|asset| [asset.symbol].into_iter().chain(asset.address)));
    }

    fn complete(&mut self, index: Index) {
        self.index = index;
    }
}

impl AssetIndex {
    /// The requested page of the assets that pass `filter`, best score first.
    pub fn select(&self, filter: &AssetFilter<'_>, page: PageRequest) -> Selection {
        let sort = Sort { by: self.columns.headline, descending: true };
        self.index.select(&filter.conditions(&self.columns), sort, page)
    }
}

fn tier(tier: Option<Tier>) -> &'static str {
    tier.map_or(UNKNOWN_TIER, Tier::as_str)
}

/// Number of assets per value of each field.
pub fn facets<'a>(rows: impl Iterator<Item = &'a AssetRow> + Clone) -> AssetFacets {
    let institutional = || rows.clone().map(|row| &row.institutional);
    let texts = |words: Vec<&'static str>, field| Counts::of(field, words.into_iter().map(String::from));
    AssetFacets {
        chains: Counts::of("chain_id", rows.clone().map(|row| row.chain_id)),
        categories: texts(rows.clone().map(|row| row.category.as_str()).collect(), "category"),
        review_statuses: texts(rows.clone().map(|row| row.review_status.as_str()).collect(), "review_status"),
        risk_tiers: texts(rows.clone().map(|row| tier(row.risk_tier)).collect(), "risk_tier"),
        regulatory_wrappers: Counts::of_texts(
            "regulatory_wrapper",
            institutional().map(|it| it.regulatory_wrapper.as_deref()),
        ),
        kyc_gates: Counts::of_texts("kyc_gate", institutional().map(|it| it.kyc_gate.map(KycGate::as_str))),
        jurisdictions: Counts::of_texts(
            "jurisdiction",
            institutional().map(|it| it.regulatory_jurisdiction.as_deref()),
        ),
        custodians: Counts::of_texts("custodian", institutional().map(|it| it.custodian_name.as_deref())),
        auditors: Counts::of_texts("auditor", institutional().map(|it| it.auditor_name.as_deref())),
    }
}

/// Whether an asset of this category is a real-world asset.
pub fn is_rwa(category: AssetCategory) -> bool {
    RWA_CATEGORIES.contains(&category.as_str())
}

#[cfg(test)]
#[path = "assets_tests.rs"]
pub(crate) mod tests;
