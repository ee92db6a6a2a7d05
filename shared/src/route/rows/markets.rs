//! Lending markets and price feeds: parameters and rows.

use crate::route::param::Param;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Fields that the market list can be sorted by.
pub const MARKET_SORT_FIELDS: &[&str] = &["total_supplied_usd", "total_borrowed_usd", "reserve_count", "name"];
/// Kinds of feed that the list can be filtered by.
pub const FEED_KINDS: &[&str] = &["price", "exchange_rate", "nav", "proof_of_reserves", "sequencer_uptime"];

params! {
    Version: Names = Param::names("version", "Only markets of these protocol versions, such as `v3`, separated by commas. Letter case is ignored.");
    MarketSort: Word =
        Param::choice("sortBy", MARKET_SORT_FIELDS, "Field to sort by; rows without a value come last.").default("total_supplied_usd");
    Vendor: Names = Param::names("vendor", "Only feeds of these operators, separated by commas; `unknown` selects feeds without a known operator. Letter case \
        is ignored.");
    FeedKind: Choices = Param::choices("kind", FEED_KINDS, "Only feeds of these kinds, separated by commas.");
    FeedStatus: Choice = Param::choice("status", &["fresh", "stale", "unknown"], "Only feeds with this status: `fresh` if the latest update is at most one \
        heartbeat old, `stale` if it is older, `unknown` if the heartbeat or the update is unknown.");
}

macro_rules! markets_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            MarketList: Get "/v1/markets" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Markets, Assets],
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Protocol, Version, Chain, MarketSort, SortOrder],
                answers: "Paged<Vec<Market>>", errors: [Forbidden],
                about: "Lending markets with their totals, filtered, sorted and paged.",
            }
            MarketById: Get "/v1/markets/{id}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Markets, Assets], scores: true,
                fold: [0: Lower],
                query: [], answers: "Data<MarketPage>", errors: [],
                about: "One lending market with its reserves, efficiency modes, liquidity hubs and administrators.",
            }
            MarketEvents: Get "/v1/markets/{id}/events" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Markets, Events],
                fold: [0: Lower],
                query: [Limit(50, 100)], answers: "Data<Vec<MarketEvent>>", errors: [],
                about: "Published risk events of one market and bad debt of its vaults, newest first. Telemetry is not included.",
            }
            OracleList: Get "/v1/oracle" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Feeds],
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), Chain, Vendor, FeedKind, FeedStatus],
                answers: "Paged<Vec<ServedFeed>>", errors: [Forbidden],
                about: "Price feeds and feeds of other values, ordered by chain and address. Each row states its age and whether the latest update is within \
                       the heartbeat.",
            }
            OracleByAddress: Get "/v1/oracle/{chain}/{address}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Feeds],
                fold: [1: Address],
                query: [], answers: "Data<ServedFeed>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "One feed by chain and contract address.",
            }
        }
    };
}

pub(in crate::route) use markets_rows;
