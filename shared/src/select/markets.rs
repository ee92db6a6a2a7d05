//! Columns, filters and order of the market list.

use alloc::{string::ToString, vec::Vec};

use super::{Condition, Index, Selection, Sort, SortColumn, WordColumn};
use crate::model::market::Market;
use crate::route::{RowQuery, params, routes};
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;

named_enum! {
    /// The sort fields of the market list.
    pub enum MarketSortField {
        TotalSuppliedUsd = "total_supplied_usd",
        /// Markets without an observed borrow side come last.
        TotalBorrowedUsd = "total_borrowed_usd",
        ReserveCount = "reserve_count",
        /// Letter case is ignored.
        Name = "name",
    }
}

/// Index of the served markets. Row numbers are positions in the list passed to [`MarketIndex::build`].
#[derive(Debug, Clone)]
pub struct MarketIndex {
    index: Index,
    protocol: WordColumn,
    version: WordColumn,
    chain: WordColumn,
    orders: [SortColumn; 4],
}

impl Default for MarketIndex {
    /// The index of an empty list.
    fn default() -> Self {
        Self::build(&[])
    }
}

impl MarketIndex {
    /// Indexes markets with the slugs of their chains; the markets must be in ascending byte order of their ids.
    pub fn build(markets: &[(&Market, &str)]) -> Self {
        let mut index = Index::new(markets.len());
        let rows = || markets.iter().map(|(market, _)| *market);
        let orders = [
            index.add_numbers(rows().map(|market| Some(market.total_supplied_usd)), false),
            index.add_numbers(rows().map(|market| market.total_borrowed_usd), false),
            index.add_integers(rows().map(|market| i64::try_from(market.reserve_count).ok())),
            index.add_names(rows().map(|market| market.name.as_str())),
        ];
        let protocol = index.add_words(rows().map(|market| Some(market.protocol_id.as_str())), false);
        let version = index.add_words(rows().map(|market| Some(market.protocol_version.as_str())), false);
        let chain = index.add_words(markets.iter().map(|(_, slug)| Some(*slug)), false);
        for (market, slug) in markets {
            index.alias(chain, &market.chain_id.to_string(), slug);
        }
        MarketIndex { index, protocol, version, chain, orders }
    }

    /// The page that a request selects (`protocol`, `version`, `chain`, `sortBy`, `sortOrder`).
    pub fn select(&self, query: RowQuery<'_, routes::MarketList>, page: PageRequest) -> Selection {
        let filters = [
            (self.protocol, query.get(params::Protocol)),
            (self.version, query.get(params::Version)),
            (self.chain, query.get(params::Chain)),
        ];
        let conditions: Vec<Condition<'_>> = filters
            .into_iter()
            .filter(|(_, words)| !words.is_empty())
            .map(|(column, words)| Condition::AnyOf(column, words.iter().map(|word| word.as_str()).collect()))
            .collect();
        let field = query.get(params::MarketSort).parse().unwrap_or(MarketSortField::TotalSuppliedUsd);
        let [supplied, borrowed, reserves, name] = self.orders;
        let by = match field {
            MarketSortField::TotalSuppliedUsd => supplied,
            MarketSortField::TotalBorrowedUsd => borrowed,
            MarketSortField::ReserveCount => reserves,
            MarketSortField::Name => name,
        };
        let sort = Sort { by, descending: query.get(params::SortOrder) != "asc" };
        self.index.select(&conditions, sort, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::{Address, ChainId};
    use crate::model::market::{MarketShape, MarketSource, TotalsSource};
    use crate::route::{Query, Row, table::MARKET_SORT_FIELDS};
    use crate::wire::time::Timestamp;
    use alloc::string::String;

    fn market(id: &str, version: &str, chain: u64, supplied: f64, borrowed: Option<f64>) -> Market {
        let (_, address) = Address::parse_any("0x00000000000000000000000000000000000000aa").unwrap();
        Market {
            id: id.into(),
            protocol_id: "aave".into(),
            protocol_version: version.into(),
            protocol_name: "Aave".into(),
            chain_id: ChainId(chain),
            chain_name: String::new(),
            market_key: id.into(),
            name: id.to_uppercase(),
            address,
            hub_address: None,
            source: MarketSource::OnchainRpc,
            totals_source: TotalsSource::Members,
            reserve_count: supplied as u64 % 3,
            borrow_observed_count: 0,
            total_supplied_usd: supplied,
            total_borrowed_usd: borrowed,
            utilization: None,
            loan_asset_symbol: None,
            collateral_asset_symbol: None,
            lltv: None,
            is_protocol_listed: true,
            last_synced_at: Timestamp::from_seconds(0),
            shape: MarketShape::Pool,
            supplied_observed_count: 0,
        }
    }

    fn found(text: &str) -> Vec<u32> {
        let rows = [
            market("a", "v3", 1, 5.0, None),
            market("b", "v3", 8453, 10.0, Some(2.0)),
            market("c", "v4", 1, 3.0, Some(0.0)),
        ];
        let chains = ["ethereum", "base", "ethereum"];
        let index = MarketIndex::build(&rows.iter().zip(chains).collect::<Vec<_>>());
        let query = Query::parse(routes::MarketList::QUERY, text).unwrap();
        let query = RowQuery::of(&query);
        index.select(query, query.page().unwrap()).rows
    }

    #[test]
    fn the_largest_supply_comes_first_unless_another_order_is_asked_for() {
        assert_eq!(found(""), [1, 0, 2]);
        assert_eq!(found("sortOrder=asc"), [2, 0, 1]);
        assert_eq!(found("sortBy=total_borrowed_usd"), [1, 2, 0], "an unknown borrow side is last");
        assert_eq!(found("sortBy=total_borrowed_usd&sortOrder=asc"), [2, 1, 0]);
        assert_eq!(found("sortBy=reserve_count"), [0, 1, 2]);
        assert_eq!(found("sortBy=name&sortOrder=asc"), [0, 1, 2]);
    }

    #[test]
    fn filters_take_lists_and_chains_by_slug_or_number() {
        assert_eq!(found("chain=1"), [0, 2]);
        assert_eq!(found("chain=Base,nowhere"), [1]);
        assert_eq!(found("version=V4"), [2]);
        assert_eq!(found("protocol=aave&version=v3&chain=ethereum"), [0]);
        assert!(found("protocol=nobody").is_empty());
    }

    #[test]
    fn every_sort_field_of_the_route_can_be_sorted_by() {
        let fields: Vec<&str> = MarketSortField::ALL.iter().map(|field| field.as_str()).collect();
        assert_eq!(fields, MARKET_SORT_FIELDS);
    }
}
