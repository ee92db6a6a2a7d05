//! The filters and sort fields of the vault lists.

use alloc::{string::String, vec, vec::Vec};

use super::vaults::Columns;
use super::{Condition, FlagColumn, WordColumn};
use crate::model::status::DepositStatus;
use crate::route::{Row, RowQuery, params};
use crate::scoring::named_enum;

/// Filters of a vault list; the default passes every vault. Letter case is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VaultFilter<'q> {
    /// Chain slugs or chain ids. Here and in the other list fields, an empty list passes every vault.
    pub chains: &'q [String],
    /// Protocol ids.
    pub protocols: &'q [String],
    /// Curator ids.
    pub curators: &'q [String],
    /// Symbols of deposit assets.
    pub assets: &'q [String],
    pub tiers: &'q [&'q str],
    /// Minimum score, 0 to 10, inclusive; excludes vaults without a score.
    pub min_score: Option<f64>,
    /// Maximum score, 0 to 10, inclusive; excludes vaults without a score.
    pub max_score: Option<f64>,
    /// Substring of the name, symbol, asset, protocol or curator.
    pub search: Option<&'q str>,
    /// Minimum TVL in USD, inclusive.
    pub min_tvl: Option<f64>,
    /// Whether the deposit asset is a stablecoin.
    pub stablecoin: Option<bool>,
    /// Whether the deposit asset is a staking derivative.
    pub lsd: Option<bool>,
    /// Whether the vault's value depends on one asset only.
    pub single_exposure: Option<bool>,
    /// Whether the vault has no impermanent loss: no position can lose to price divergence within a pool.
    pub no_il: Option<bool>,
    /// Whether an audit is known.
    pub audited: Option<bool>,
    /// Whether the vault satisfies [`crate::rules::high_confidence::is_high_confidence`].
    pub high_confidence: Option<bool>,
    /// True passes the deposit statuses `open` and `unknown`, false only `closed`.
    pub depositable: Option<bool>,
}

/// The order of a vault list: rows without a value last, ties by id ascending, whatever the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VaultSort {
    pub by: VaultSortField,
    /// Whether the greatest value comes first; Z to A for names.
    pub descending: bool,
}

/// By default a list is sorted by TVL, greatest first.
impl Default for VaultSort {
    fn default() -> Self {
        VaultSort { by: VaultSortField::TvlUsd, descending: true }
    }
}

named_enum! {
    /// The sort fields of a vault list.
    pub enum VaultSortField {
        TvlUsd = "tvl_usd",
        AvailableLiquidityUsd = "available_liquidity_usd",
        LiquidityDeficitUsd = "liquidity_deficit_usd",
        AprNet = "apr_net",
        BorrowAprNet = "borrow_apr_net",
        BorrowRewardApr = "borrow_reward_apr",
        Utilization = "utilization",
        RealYieldShare = "real_yield_share",
        /// Letter case is ignored.
        Name = "name",
        TotalScore = "total_score",
        LastSyncedAt = "last_synced_at",
    }
}

impl VaultSort {
    /// The order that a request selects (`sortBy`, `sortOrder`).
    pub fn from_query<R: Row>(query: RowQuery<'_, R>) -> Self {
        let by = query.get(params::SortBy).and_then(|field| field.parse().ok());
        VaultSort { by: by.unwrap_or(VaultSortField::TvlUsd), descending: query.get(params::SortOrder) != "asc" }
    }
}

impl<'q> VaultFilter<'q> {
    /// The filters of a request.
    pub fn from_query<R: Row>(query: RowQuery<'q, R>) -> Self {
        VaultFilter {
            chains: query.get(params::Chain),
            protocols: query.get(params::Protocol),
            curators: query.get(params::Curator),
            assets: query.get(params::Asset),
            tiers: query.get(params::RiskTier),
            min_score: query.get(params::MinRiskScore),
            max_score: query.get(params::MaxRiskScore),
            search: query.get(params::Search),
            min_tvl: query.get(params::MinTvl),
            stablecoin: query.get(params::Stablecoin),
            lsd: query.get(params::Lsd),
            single_exposure: query.get(params::SingleExposure),
            no_il: query.get(params::NoIl),
            audited: query.get(params::Audited),
            high_confidence: query.get(params::HighConfidence),
            depositable: query.get(params::Depositable),
        }
    }

    pub(super) fn conditions(&self, columns: &Columns) -> Vec<Condition<'q>> {
        let mut all = Vec::new();
        let mut any_of = |column: WordColumn, words: Vec<&'q str>| {
            if !words.is_empty() {
                all.push(Condition::AnyOf(column, words));
            }
        };
        let named = |names: &'q [String]| names.iter().map(String::as_str).collect::<Vec<_>>();
        any_of(columns.chain, named(self.chains));
        any_of(columns.protocol, named(self.protocols));
        any_of(columns.curator, named(self.curators));
        any_of(columns.asset, named(self.assets));
        any_of(columns.tier, self.tiers.to_vec());
        any_of(columns.deposits, self.deposit_statuses());
        let mut is = |column: FlagColumn, wanted: Option<bool>| {
            all.extend(wanted.map(|wanted| Condition::Is(column, wanted)));
        };
        is(columns.stablecoin, self.stablecoin);
        is(columns.lsd, self.lsd);
        is(columns.single_exposure, self.single_exposure);
        is(columns.no_il, self.no_il);
        is(columns.audited, self.audited);
        is(columns.high_confidence, self.high_confidence);
        if self.min_score.is_some() || self.max_score.is_some() {
            all.push(Condition::Between(VaultSortField::SCORE, self.min_score, self.max_score));
        }
        if self.min_tvl.is_some() {
            all.push(Condition::Between(VaultSortField::TVL, self.min_tvl, None));
        }
        all.extend(self.search.map(Condition::Contains));
        all
    }

    /// `depositable=true` includes `unknown`: a vault whose deposit status could not be read may be open.
    fn deposit_statuses(&self) -> Vec<&'static str> {
        match self.depositable {
            None => vec![],
            Some(true) => vec![DepositStatus::Open.as_str(), DepositStatus::Unknown.as_str()],
            Some(false) => vec![DepositStatus::Closed.as_str()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::table::VAULT_SORT_FIELDS;
    use crate::route::{Query, routes};

    fn query(text: &str) -> Query {
        Query::parse(routes::VaultList::QUERY, text).unwrap()
    }

    fn of(query: &Query) -> RowQuery<'_, routes::VaultList> {
        RowQuery::of(query)
    }

    #[test]
    fn a_request_without_parameters_filters_nothing_and_sorts_by_tvl_descending() {
        let plain = query("");
        assert_eq!(VaultFilter::from_query(of(&plain)), VaultFilter::default());
        assert_eq!(VaultSort::from_query(of(&plain)), VaultSort::default());
    }

    #[test]
    fn every_parameter_of_the_list_reaches_its_filter() {
        let asked = query(
            "chain=base,1&protocol=Aave&curator=c&asset=USDC&riskTier=Prime,edge&min_score=5&maxRiskScore=7.5\
             &search=steak&minTvl=1e6&stablecoin=true&lsd=false&singleExposure=true&noIL=true&audited=true\
             &highConfidence=false&depositable=true&sortBy=name&sortOrder=asc",
        );
        let filter = VaultFilter::from_query(of(&asked));
        let expected = VaultFilter {
            chains: &["1".into(), "base".into()],
            protocols: &["aave".into()],
            curators: &["c".into()],
            assets: &["usdc".into()],
            tiers: &["prime", "edge"],
            min_score: Some(5.0),
            max_score: Some(7.5),
            search: Some("steak"),
            min_tvl: Some(1e6),
            stablecoin: Some(true),
            lsd: Some(false),
            single_exposure: Some(true),
            no_il: Some(true),
            audited: Some(true),
            high_confidence: Some(false),
            depositable: Some(true),
        };
        assert_eq!(filter, expected);
        assert_eq!(VaultSort::from_query(of(&asked)), VaultSort { by: VaultSortField::Name, descending: false });
    }

    #[test]
    fn every_sort_field_of_the_route_can_be_sorted_by() {
        let fields: Vec<&str> = VaultSortField::ALL.iter().map(|field| field.as_str()).collect();
        assert_eq!(fields, VAULT_SORT_FIELDS);
    }
}
