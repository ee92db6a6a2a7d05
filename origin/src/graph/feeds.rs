//! The feeds that price a holding, and their vendors.
//!
//! A source of feeds identifies the markets that use a feed by name, and their tokens by symbol. A name is ambiguous if two markets of a
//! chain share it, and a symbol if two tokens of a market share it. Then no feed is used, and the token's feeds are unknown.

use super::mappings::Mappings;
use rds_shared::graph::facts::OracleFeed;
use rds_shared::model::mapping::{MappingType, SubjectType};
use rds_store::graph::facts::{FeedRow, GraphRows, ReserveRow};
use std::collections::{BTreeSet, HashMap};

/// Indexes of all feeds.
pub(super) struct Feeds<'a> {
    /// Feeds by contract; a feed with several vendors occurs once for each.
    known: HashMap<&'a str, Vec<OracleFeed>>,
    /// Feeds by chain, by name of the market that uses the feed, and by symbol of the token that the feed prices.
    used: HashMap<(i64, String, &'a str), Vec<&'a str>>,
    /// Markets by chain and name.
    named: HashMap<(i64, String), BTreeSet<&'a str>>,
    /// Symbols of a token in a market, by the contracts of the market and the token.
    symbols: HashMap<(&'a str, &'a str), BTreeSet<&'a str>>,
    /// Tokens by market and symbol.
    tokens: HashMap<(&'a str, &'a str), BTreeSet<&'a str>>,
}

impl<'a> Feeds<'a> {
    /// Indexes `rows`.
    pub(super) fn of(rows: &'a GraphRows, mappings: &Mappings<'_>) -> Self {
        let mut feeds = Feeds {
            known: rows.feeds.iter().map(|feed| (feed.contract.as_str(), by_vendor(feed, mappings))).collect(),
            used: HashMap::new(),
            named: HashMap::new(),
            symbols: HashMap::new(),
            tokens: HashMap::new(),
        };
        for feed in &rows.feeds {
            for (market, symbol) in
                feed.used_by.iter().flat_map(|it| feed.reserve_symbols.iter().map(move |of| (it, of)))
            {
                feeds.used.entry((feed.chain_id, one_name(market), symbol)).or_default().push(&feed.contract);
            }
        }
        let markets = rows.markets.iter().map(|market| (market.chain_id, &market.name, &market.contract));
        let reserves = rows.reserves.iter().map(|reserve| (reserve.chain_id, &reserve.market_name, &reserve.contract));
        for (chain_id, name, contract) in markets.chain(reserves) {
            feeds.named.entry((chain_id, one_name(name))).or_default().insert(contract);
        }
        for reserve in &rows.reserves {
            let (market, token, symbol) = (&reserve.contract, &reserve.asset_address, &reserve.asset_symbol);
            feeds.symbols.entry((market, token)).or_default().insert(symbol);
            feeds.tokens.entry((market, symbol)).or_default().insert(token);
        }
        feeds
    }

    /// The feeds of a contract; none if it is unknown or its chain is not served.
    pub(super) fn named(&self, contract: &str) -> impl Iterator<Item = OracleFeed> {
        self.known.get(contract).into_iter().flatten().cloned()
    }

    /// The feeds by which a reserve's market prices a token; `None` if the market's name or the token's symbol is ambiguous.
    pub(super) fn of_token(&self, reserve: &ReserveRow, token: &str) -> Option<Vec<OracleFeed>> {
        let (chain_id, market, name) = (reserve.chain_id, reserve.contract.as_str(), one_name(&reserve.market_name));
        let is_one = |found: Option<&BTreeSet<&str>>| found.is_some_and(|found| found.len() == 1);
        let is_its_own = is_one(self.named.get(&(chain_id, name.clone())));
        let mut found = BTreeSet::new();
        for symbol in self.symbols.get(&(market, token)).into_iter().flatten() {
            let Some(feeds) = self.used.get(&(chain_id, name.clone(), *symbol)) else { continue };
            if !is_its_own || !is_one(self.tokens.get(&(market, *symbol))) {
                return None;
            }
            found.extend(feeds.iter().copied());
        }
        Some(found.into_iter().flat_map(|contract| self.named(contract)).collect())
    }
}

/// A feed, once per vendor. Mappings that are certain enough (`Trust::is_certain`) name the vendors; if there are none, the feed's source
/// names one.
fn by_vendor(feed: &FeedRow, mappings: &Mappings<'_>) -> Vec<OracleFeed> {
    let mut vendors: Vec<Option<String>> =
        mappings.facts(MappingType::OracleVendor, [(SubjectType::Feed, feed.contract.as_str())]).map(Some).collect();
    if vendors.is_empty() {
        vendors.push(feed.vendor.clone());
    }
    vendors.into_iter().map(|vendor| OracleFeed { id: feed.contract.clone(), vendor }).collect()
}

/// Gives a market's name one spelling: the source of feeds writes a colon where the registry has a space.
fn one_name(market: &str) -> String {
    market.replace(' ', ":")
}
