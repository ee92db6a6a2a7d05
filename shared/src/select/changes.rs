//! The change feed: rows in the order in which their latest change became visible.
//!
//! Data versions are assigned one after the other, and each version becomes visible as a whole. In the order (version,
//! instant, row), a new change therefore always sorts after the changes that were visible before:
//! - A row that changes again moves to the end.
//! - A batch that commits late with old instants sorts after everything committed before.
//!
//! A reader that resumes from its last position therefore misses no change.

use alloc::vec::Vec;

use crate::wire::{Floor, Timestamp};

/// The latest change of a row in one feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The data version in which the change became visible.
    pub version: i64,
    /// Time of the change: of the reading, or of the new score, depending on the feed.
    pub instant: Timestamp,
    /// The row, numbered in ascending id order.
    pub row: u32,
}

impl Change {
    /// Whether a reader that started at `floor` receives this change: it became visible after the floor's version, or its instant is not
    /// before the floor's instant.
    fn passes(&self, floor: Floor) -> bool {
        self.version > floor.version || self.instant >= floor.instant
    }
}

/// A reader's position: after every change before (version, instant), and after the changes of the first `rows` rows at
/// exactly that version and instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub version: i64,
    pub instant: Timestamp,
    /// Number of rows whose id is at most the id of the last delivered row.
    pub rows: u32,
}

/// The latest change of each row, in the order (version, instant, row).
#[derive(Debug, Clone, Default)]
pub struct ChangeFeed(Vec<Change>);

/// One page of the changes after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// The changes of the page, in feed order.
    pub changes: Vec<Change>,
    /// Number of all changes after the position, including `changes`.
    pub total: usize,
}

impl ChangeFeed {
    /// Builds the feed from at most one change per row.
    pub fn build(changes: impl Iterator<Item = Change>) -> Self {
        let mut changes: Vec<Change> = changes.collect();
        changes.sort_unstable();
        ChangeFeed(changes)
    }

    /// The first `limit` changes that pass `floor`, after `place` or from the beginning.
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
    fn a_change_that_is_committed_late_comes_after_those_already_delivered() {
        let feed = ChangeFeed::build([change(1, 100, 0), change(2, 90, 1)].into_iter());
        let place = Place { version: 1, instant: Timestamp::from_seconds(100), rows: 1 };
        assert_eq!(feed.page(Some(place), None, 10), ChangePage { changes: vec![change(2, 90, 1)], total: 1 });
    }

    #[test]
    fn a_since_instant_skips_only_changes_visible_at_the_first_request() {
        let feed =
            ChangeFeed::build([change(1, 80, 0), change(1, 100, 1), change(2, 90, 2), change(3, 70, 3)].into_iter());
        let floor = Floor { version: 2, instant: Timestamp::from_seconds(100) };
        let page = feed.page(None, Some(floor), 10);
        assert_eq!(page, ChangePage { changes: vec![change(1, 100, 1), change(3, 70, 3)], total: 2 });
    }

    proptest! {
        /// A reader pages while rows change in batches with arbitrary instants; it ends with every row's latest change.
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
            // Every row whose latest change passes the floor was delivered with that change.
            prop_assert_eq!(seen.into_iter().filter(|(row, _)| expected.contains_key(row)).collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
