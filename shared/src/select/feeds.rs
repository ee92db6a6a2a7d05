//! Columns and filters of the feed list. A feed's status depends on the current time. The index therefore stores the instant
//! until which each feed is fresh, and the `status` filter is a range of such instants.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Condition, Filling, FlagColumn, Index, Indexed, Selection, Sort, SortColumn, WordColumn};
use crate::model::ids::ChainId;
use crate::model::oracle::{FeedKind, OracleFeed};
use crate::route::{RowQuery, params, routes};
use crate::rules::oracles::{FeedStatus, fresh_until};
use crate::wire::page::PageRequest;
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;

/// The `vendor` value that selects feeds without a known vendor.
const NO_VENDOR: &str = "unknown";

/// What the filters of the feed list need of a feed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeedColumns<'a> {
    pub chain_id: ChainId,
    /// The chain's slug; the `chain` filter takes the slug or the chain id.
    pub chain_slug: &'a str,
    pub vendor: Option<&'a str>,
    pub kind: FeedKind,
    /// The last instant at which the feed is fresh; `None` if its status is `unknown`.
    pub fresh_until: Option<Timestamp>,
}

impl<'a> FeedColumns<'a> {
    /// The columns of a feed.
    pub fn of(feed: &'a OracleFeed, chain_slug: &'a str) -> Self {
        FeedColumns {
            chain_id: feed.chain_id,
            chain_slug,
            vendor: feed.vendor.as_deref(),
            kind: feed.kind,
            fresh_until: fresh_until(feed.last_update_at, feed.heartbeat_seconds),
        }
    }

    /// Appends the columns as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        record::put_variable(self.chain_id.0, out);
        record::put_bytes(self.chain_slug.as_bytes(), out);
        record::put_optional_text(self.vendor, out);
        record::put_choice(Some(self.kind), FeedKind::ALL, out);
        record::put_instant(self.fresh_until, out);
    }

    /// Reads columns that [`write`](Self::write) wrote.
    pub fn read(reader: &mut Reader<'a>) -> Option<Self> {
        Some(FeedColumns {
            chain_id: ChainId(reader.variable()?),
            chain_slug: reader.text()?,
            vendor: reader.optional_text()?,
            kind: reader.choice(FeedKind::ALL)??,
            fresh_until: reader.instant()?,
        })
    }
}

/// Index of the feeds. Row numbers are positions in the list.
#[derive(Debug, Clone, Default)]
pub struct FeedIndex {
    index: Index,
    chain: WordColumn,
    vendor: WordColumn,
    kind: WordColumn,
    /// The last instant at which the feed is fresh, in microseconds. The value is exact in an `f64` as long as it is below 2^53, that is
    /// until the year 2255.
    fresh_until: SortColumn,
    has_heartbeat: FlagColumn,
    position: SortColumn,
}

impl Indexed for FeedIndex {
    type Columns<'a> = FeedColumns<'a>;

    /// Feeds are in the order in which the list shows them.
    fn add(&mut self, index: &mut Filling, feeds: &[FeedColumns<'_>]) {
        let rows = || feeds.iter();
        self.fresh_until = index.add_numbers(rows().map(|feed| Some(feed.fresh_until?.as_micros() as f64)), true);
        self.has_heartbeat = index.add_flags(rows().map(|feed| feed.fresh_until.is_some()));
        let first = index.rows_before() as i64;
        self.position = index.add_integers((first..).take(feeds.len()).map(Some));
        self.vendor = index.add_words(rows().map(|feed| Some(feed.vendor.unwrap_or(NO_VENDOR))), false);
        self.kind = index.add_words(rows().map(|feed| Some(feed.kind.as_str())), false);
        self.chain = index.add_words(rows().map(|feed| Some(feed.chain_slug)), false);
        for run in feeds.chunk_by(|a, b| a.chain_id == b.chain_id) {
            if let Some(feed) = run.first() {
                index.alias(self.chain, &feed.chain_id.to_string(), feed.chain_slug);
            }
        }
    }

    fn complete(&mut self, index: Index) {
        self.index = index;
    }
}

impl FeedIndex {
    /// The page that a request at `now` selects (`chain`, `vendor`, `kind`, `status`), without the feeds of `hidden` chains, given by their
    /// numbers.
    pub fn select(
        &self,
        query: RowQuery<'_, routes::OracleList>,
        now: Timestamp,
        page: PageRequest,
        hidden: &[String],
    ) -> Selection {
        let mut conditions: Vec<Condition<'_>> = Condition::hiding(self.chain, hidden).into_iter().collect();
        for (words, column) in [(query.get(params::Chain), self.chain), (query.get(params::Vendor), self.vendor)] {
            if !words.is_empty() {
                conditions.push(Condition::AnyOf(column, words.iter().map(|word| word.as_str()).collect()));
            }
        }
        if let kinds @ [_, ..] = query.get(params::FeedKind) {
            conditions.push(Condition::AnyOf(self.kind, kinds.to_vec()));
        }
        let now = now.as_micros() as f64;
        conditions.extend(query.get(params::FeedStatus).and_then(|word| word.parse().ok()).map(
            |status| match status {
                FeedStatus::Fresh => Condition::Between(self.fresh_until, Some(now), None),
                FeedStatus::Stale => Condition::Between(self.fresh_until, None, Some(now - 1.0)),
                FeedStatus::Unknown => Condition::Is(self.has_heartbeat, false),
            },
        ));
        self.index.select(&conditions, Sort { by: self.position, descending: false }, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::Address;
    use crate::route::{Query, Row, table::FEED_KINDS};
    use crate::rules::oracles;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn feed(chain: u64, vendor: Option<&str>, heartbeat: Option<u64>, silent: Option<i64>) -> OracleFeed {
        let (_, address) = Address::parse_any("0x00000000000000000000000000000000000000fe").unwrap();
        OracleFeed {
            chain_id: ChainId(chain),
            chain_name: "".into(),
            address,
            kind: if heartbeat.is_some() { FeedKind::Price } else { FeedKind::Nav },
            asset: None,
            quote: None,
            description: None,
            vendor: vendor.map(Into::into),
            heartbeat_seconds: heartbeat,
            deviation_threshold: None,
            last_answer: None,
            last_update_at: silent.map(|seconds| NOW.plus_seconds(-seconds)),
            used_by: Vec::new(),
            reserve_symbols: Vec::new(),
            other_descriptions: Vec::new(),
            last_synced_at: NOW,
        }
    }

    fn feeds() -> [OracleFeed; 5] {
        [
            feed(1, Some("Chainlink"), Some(3_600), Some(3_600)),
            feed(1, None, Some(3_600), Some(3_601)),
            feed(8453, Some("pyth"), None, Some(1)),
            feed(8453, None, Some(60), None),
            feed(8453, Some("pyth"), Some(60), Some(5)),
        ]
    }

    fn found(text: &str, now: Timestamp) -> Vec<u32> {
        let (rows, chains) = (feeds(), ["ethereum", "ethereum", "base", "base", "base"]);
        let columns: Vec<_> = rows.iter().zip(chains).map(|(row, slug)| FeedColumns::of(row, slug)).collect();
        let index = FeedIndex::build(&columns);
        let query = Query::parse(routes::OracleList::QUERY, text).unwrap();
        let query = RowQuery::of(&query);
        index.select(query, now, query.page().unwrap(), &[]).rows
    }

    #[test]
    fn feeds_are_found_by_chain_vendor_and_kind() {
        assert_eq!(found("", NOW), [0, 1, 2, 3, 4]);
        assert_eq!(found("chain=8453", NOW), [2, 3, 4]);
        assert_eq!(found("vendor=chainlink,PYTH", NOW), [0, 2, 4]);
        assert_eq!(found("vendor=unknown", NOW), [1, 3]);
        assert_eq!(found("kind=nav", NOW), [2]);
    }

    #[test]
    fn a_status_filter_keeps_exactly_the_feeds_of_that_status_at_any_instant() {
        let rows = feeds();
        for moved in [-4_000_i64, -1, 0, 1, 55, 56, 10_000] {
            let now = NOW.plus_seconds(moved);
            for status in FeedStatus::ALL {
                let has_status = |feed: &OracleFeed| {
                    oracles::status(fresh_until(feed.last_update_at, feed.heartbeat_seconds), now) == *status
                };
                let expected: Vec<u32> =
                    (0..).zip(&rows).filter(|(_, feed)| has_status(feed)).map(|(row, _)| row).collect();
                assert_eq!(found(&alloc::format!("status={status}"), now), expected, "{moved} {status}");
            }
        }
    }

    #[test]
    fn every_kind_of_feed_can_be_filtered_by() {
        let kinds: Vec<&str> = FeedKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(kinds, FEED_KINDS);
    }
}
