//! Which feeds price a holding, and who runs them.
//!
//! A source of feeds says by name which markets use a feed, and by symbol for which tokens. A name that two markets of a chain
//! share, or a symbol that two tokens of a market share, says neither: no feed is taken from it, and what prices the token is unknown.

use super::mappings::Mappings;
use crate::store::graph::facts::{FeedRow, GraphRows, ReserveRow};
use rds_shared::graph::facts::OracleFeed;
use rds_shared::model::mapping::{MappingType, SubjectType};
use std::collections::{BTreeSet, HashMap};

/// All feeds.
pub(super) struct Feeds<'a> {
    /// By contract, once for each of its vendors.
    known: HashMap<&'a str, Vec<OracleFeed>>,
    /// By the market's name that uses them, and the symbol that they price there.
    used: HashMap<(i64, String, &'a str), Vec<&'a str>>,
    /// Markets by their names.
    named: HashMap<(i64, String), BTreeSet<&'a str>>,
    /// What a market calls a token, by the market's contract and the token's.
    symbols: HashMap<(&'a str, &'a str), BTreeSet<&'a str>>,
    /// Tokens by what a market calls them.
    tokens: HashMap<(&'a str, &'a str), BTreeSet<&'a str>>,
}

impl<'a> Feeds<'a> {
    /// Reads them out of the rows.
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

    /// A feed by its contract; none where it is not known, or its chain is not served.
    pub(super) fn named(&self, contract: &str) -> impl Iterator<Item = OracleFeed> {
        self.known.get(contract).into_iter().flatten().cloned()
    }

    /// The feeds by which a reserve's market prices a token. Null where names do not say which they are.
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

/// A feed's vendors are those of the mappings that are sure; where there is none, the one that its source names.
fn by_vendor(feed: &FeedRow, mappings: &Mappings<'_>) -> Vec<OracleFeed> {
    let mut vendors: Vec<Option<String>> =
        mappings.facts(MappingType::OracleVendor, [(SubjectType::Feed, feed.contract.as_str())]).map(Some).collect();
    if vendors.is_empty() {
        vendors.push(feed.vendor.clone());
    }
    vendors.into_iter().map(|vendor| OracleFeed { id: feed.contract.clone(), vendor }).collect()
}

/// A source of feeds writes a market's name with a colon where the registry has a space.
fn one_name(market: &str) -> String {
    market.replace(' ', ":")
}
