//! Columns, filters and order of the market list.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Condition, Filling, Index, Indexed, Selection, Sort, SortColumn, WordColumn};
use crate::model::ids::ChainId;
use crate::model::market::Market;
use crate::route::{RowQuery, params, routes};
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::record::{self, Reader};

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

/// What the filters and orders of the market list need of a market.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarketColumns<'a> {
    pub chain_id: ChainId,
    /// The chain's slug; the `chain` filter takes the slug or the chain id.
    pub chain_slug: &'a str,
    pub protocol_id: &'a str,
    pub protocol_version: &'a str,
    pub name: &'a str,
    pub reserve_count: u64,
    pub total_supplied_usd: f64,
    pub total_borrowed_usd: Option<f64>,
}

impl<'a> MarketColumns<'a> {
    /// The columns of a list row.
    pub fn of(market: &'a Market, chain_slug: &'a str) -> Self {
        MarketColumns {
            chain_id: market.chain_id,
            chain_slug,
            protocol_id: &market.protocol_id,
            protocol_version: &market.protocol_version,
            name: &market.name,
            reserve_count: market.reserve_count,
            total_supplied_usd: market.total_supplied_usd,
            total_borrowed_usd: market.total_borrowed_usd,
        }
    }

    /// Appends the columns as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        record::put_variable(self.chain_id.0, out);
        for text in [self.chain_slug, self.protocol_id, self.protocol_version, self.name] {
            record::put_bytes(text.as_bytes(), out);
        }
        record::put_variable(self.reserve_count, out);
        record::put_numbers([Some(self.total_supplied_usd), self.total_borrowed_usd], out);
    }

    /// Reads columns that [`write`](Self::write) wrote.
    pub fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let chain_id = ChainId(reader.variable()?);
        let (chain_slug, protocol_id) = (reader.text()?, reader.text()?);
        let (protocol_version, name) = (reader.text()?, reader.text()?);
        let (reserve_count, [supplied, total_borrowed_usd]) = (reader.variable()?, reader.numbers()?);
        let total_supplied_usd = supplied?;
        Some(MarketColumns {
            chain_id,
            chain_slug,
            protocol_id,
            protocol_version,
            name,
            reserve_count,
            total_supplied_usd,
            total_borrowed_usd,
        })
    }
}

/// Index of the served markets. Row numbers are positions in the list.
#[derive(Debug, Clone, Default)]
pub struct MarketIndex {
    index: Index,
    protocol: WordColumn,
    version: WordColumn,
    chain: WordColumn,
    orders: [SortColumn; 4],
}

impl Indexed for MarketIndex {
    type Columns<'a> = MarketColumns<'a>;

    /// Markets are in ascending byte order of their ids.
    fn add(&mut self, index: &mut Filling, markets: &[MarketColumns<'_>]) {
        let rows = || markets.iter();
        index.set_texts(rows().map(|market| [market.name]));
        self.orders = [
            index.add_numbers(rows().map(|market| Some(market.total_supplied_usd)), false),
            index.add_numbers(rows().map(|market| market.total_borrowed_usd), false),
            index.add_integers(rows().map(|market| i64::try_from(market.reserve_count).ok())),
            index.add_names(),
        ];
        self.protocol = index.add_words(rows().map(|market| Some(market.protocol_id)), false);
        self.version = index.add_words(rows().map(|market| Some(market.protocol_version)), false);
        self.chain = index.add_words(rows().map(|market| Some(market.chain_slug)), false);
        for market in markets {
            index.alias(self.chain, &market.chain_id.to_string(), market.chain_slug);
        }
    }

    fn complete(&mut self, index: Index) {
        self.index = index;
    }
}

impl MarketIndex {
    /// The page that a request selects (`protocol`, `version`, `chain`, `sortBy`, `sortOrder`), without the markets of `hidden` chains, given by
    /// their numbers.
    pub fn select(&self, query: RowQuery<'_, routes::MarketList>, page: PageRequest, hidden: &[String]) -> Selection {
        let filters = [
            (self.protocol, query.get(params::Protocol)),
            (self.version, query.get(params::Version)),
            (self.chain, query.get(params::Chain)),
        ];
        let conditions: Vec<Condition<'_>> = filters
            .into_iter()
            .filter(|(_, words)| !words.is_empty())
            .map(|(column, words)| Condition::AnyOf(column, words.iter().map(|word| word.as_str()).collect()))
            .chain(Condition::hiding(self.chain, hidden))
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
    use crate::model::ids::Address;
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
        let columns: Vec<_> = rows.iter().zip(chains).map(|(row, slug)| MarketColumns::of(row, slug)).collect();
        let index = MarketIndex::build(&columns);
        let query = Query::parse(routes::MarketList::QUERY, text).unwrap();
        let query = RowQuery::of(&query);
        index.select(query, query.page().unwrap(), &[]).rows
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
