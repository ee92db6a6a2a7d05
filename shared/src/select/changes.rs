//! The change feed: rows in the order in which their latest change became visible.
//!
//! Data versions are given out one after the other by whoever writes, and a version is visible whole or not at all. So the
//! order (version, instant, row) never gains a member before a place that a reader has passed: a row that changes
//! again moves to the end, a batch that commits late with old instants stands behind everything committed before it, and
//! rows of one instant are told apart by their ids. A reader that passes its place back misses nothing.

use alloc::vec::Vec;

use crate::wire::{Floor, Timestamp};

/// The latest change of a row on one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The data version in which it became visible.
    pub version: i64,
    /// When it happened, on the feed's clock.
    pub instant: Timestamp,
    /// The row, numbered in ascending id order.
    pub row: u32,
}

impl Change {
    /// Whether a reader who began with an instant is given it.
    fn passes(&self, floor: Floor) -> bool {
        self.version > floor.version || self.instant >= floor.instant
    }
}

/// A reader's place: behind every change up to (version, instant), and behind the first `rows` rows of exactly those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The data version.
    pub version: i64,
    /// The instant.
    pub instant: Timestamp,
    /// How many rows have an id up to the last delivered one.
    pub rows: u32,
}

/// The feed of one clock.
#[derive(Debug, Clone, Default)]
pub struct ChangeFeed(Vec<Change>);

/// Some of the changes behind a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// In feed order.
    pub changes: Vec<Change>,
    /// How many there are from the place on, these included.
    pub total: usize,
}

impl ChangeFeed {
    /// The feed of these changes, at most one a row.
    pub fn build(changes: impl Iterator<Item = Change>) -> Self {
        let mut changes: Vec<Change> = changes.collect();
        changes.sort_unstable();
        ChangeFeed(changes)
    }

    /// The first `limit` changes behind `place`, or from the beginning, that pass `floor`.
    pub fn page(&self, place: Option<Place>, floor: Option<Floor>, limit: usize) -> ChangePage {
        let passed = place.map_or(0, |place| {
            let after = (place.version, place.instant, place.rows);
            self.0.partition_point(|change| (change.version, change.instant, change.row) < after)
        });
        let rest = self.0.get(passed..).unwrap_or_default();
        let Some(floor) = floor else {
            return ChangePage { changes: rest.iter().take(limit).copied().collect(), total: rest.len() };
        };
        let old = rest.partition_point(|change| change.version <= floor.version);
        let (old, new) = rest.split_at_checked(old).unwrap_or((rest, &[]));
        let total = old.iter().filter(|change| change.passes(floor)).count() + new.len();
        let changes = rest.iter().filter(|change| change.passes(floor)).take(limit).copied().collect();
        ChangePage { changes, total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec;
    use proptest::prelude::*;

    fn change(version: i64, seconds: i64, row: u32) -> Change {
        Change { version, instant: Timestamp::from_seconds(seconds), row }
    }

    #[test]
    fn a_change_that_is_committed_late_stands_behind_what_was_delivered() {
        let feed = ChangeFeed::build([change(1, 100, 0), change(2, 90, 1)].into_iter());
        let place = Place { version: 1, instant: Timestamp::from_seconds(100), rows: 1 };
        assert_eq!(feed.page(Some(place), None, 10), ChangePage { changes: vec![change(2, 90, 1)], total: 1 });
    }

    #[test]
    fn an_instant_leaves_out_only_what_was_visible_when_it_was_given() {
        let feed =
            ChangeFeed::build([change(1, 80, 0), change(1, 100, 1), change(2, 90, 2), change(3, 70, 3)].into_iter());
        let floor = Floor { version: 2, instant: Timestamp::from_seconds(100) };
        let page = feed.page(None, Some(floor), 10);
        assert_eq!(page, ChangePage { changes: vec![change(1, 100, 1), change(3, 70, 3)], total: 2 });
    }

    proptest! {
        /// A reader pages while rows change in batches; whatever the instants of a batch are, it ends knowing every row's latest change.
        #[test]
        fn a_reader_that_keeps_up_knows_the_latest_change_of_every_row(
            batches in proptest::collection::vec(proptest::collection::btree_map(0u32..12, 0i64..4, 1..6), 1..12),
            limit in 1usize..5, pages in 0usize..4, since in proptest::option::of(0i64..4),
        ) {
            let (mut latest, mut seen) = (BTreeMap::new(), BTreeMap::new());
            let mut place = None;
            let mut floor = None;
            let read = |place: &mut Option<Place>, floor: Option<Floor>, latest: &BTreeMap<u32, Change>, seen: &mut BTreeMap<u32, Change>| {
                let page = ChangeFeed::build(latest.values().copied()).page(*place, floor, limit);
                for change in &page.changes {
                    seen.insert(change.row, *change);
                    *place = Some(Place { version: change.version, instant: change.instant, rows: change.row + 1 });
                }
                page.total
            };
            for (version, batch) in (1_i64..).zip(batches) {
                for (row, seconds) in batch {
                    latest.insert(row, change(version, seconds, row));
                }
                if version == 1 {
                    floor = since.map(|seconds| Floor { version, instant: Timestamp::from_seconds(seconds) });
                }
                for _ in 0..pages {
                    read(&mut place, floor, &latest, &mut seen);
                }
            }
            let mut left = usize::MAX;
            while left > 0 {
                let total = read(&mut place, floor, &latest, &mut seen);
                prop_assert!(total < left, "the rest shrinks with every page");
                left = total;
            }
            let expected: BTreeMap<u32, Change> =
                latest.into_iter().filter(|(_, change)| floor.is_none_or(|floor| change.passes(floor))).collect();
            // What was left out by the instant and never changed again is not delivered; all the rest is.
            prop_assert_eq!(seen.into_iter().filter(|(row, _)| expected.contains_key(row)).collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
