//! The change feeds of the catalog, and the cursors into them.

use super::{Catalog, Vault};
use rds_shared::model::EncodedRow;
use rds_shared::select::changes::{Change, ChangeFeed, Place};
use rds_shared::wire::{ChangeClock, ChangeCursor, Floor, Timestamp};
use std::sync::Arc;

/// Every vault, active or not, in the order of its latest change on each clock.
#[derive(Debug)]
pub(super) struct ChangeFeeds {
    synced: ChangeFeed,
    rescored: ChangeFeed,
}

impl ChangeFeeds {
    /// The feeds of `vaults`, which stand in ascending order of ids.
    pub(super) fn build(vaults: &[Arc<Vault>]) -> Self {
        let feed = |clock| {
            let changes = (0..).zip(vaults).filter_map(|(row, vault)| {
                let (version, instant) = vault.changed(clock)?;
                Some(Change { version, instant, row })
            });
            ChangeFeed::build(changes)
        };
        ChangeFeeds { synced: feed(ChangeClock::Sync), rescored: feed(ChangeClock::Score) }
    }
}

/// Where a reader of changes begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// At this instant of the clock, inclusive.
    Instant(Timestamp),
    /// Behind what it was given last.
    Cursor(ChangeCursor),
}

/// A page of changed vaults.
#[derive(Debug)]
pub struct Changed<'a> {
    /// Their bulk score rows, in feed order.
    pub rows: Vec<&'a EncodedRow>,
    /// How many there are from the beginning of the page on.
    pub total: usize,
    /// Where the next page begins.
    pub next: ChangeCursor,
}

impl Catalog {
    /// The next `limit` vaults of the feed that `cursor` belongs to, or of its beginning at an instant.
    pub fn changes(&self, clock: ChangeClock, from: &Since, limit: usize) -> Changed<'_> {
        let feed = match clock {
            ChangeClock::Sync => &self.changes.synced,
            ChangeClock::Score => &self.changes.rescored,
        };
        let (place, floor) = match from {
            Since::Instant(instant) => (None, Some(Floor { version: self.version, instant: *instant })),
            Since::Cursor(cursor) => {
                let rows = self.vaults.partition_point(|vault| vault.row.id.as_str() <= cursor.id.as_str());
                let rows = u32::try_from(rows).unwrap_or(u32::MAX);
                (Some(Place { version: cursor.version, instant: cursor.instant, rows }), cursor.floor)
            }
        };
        let page = feed.page(place, floor, limit);
        let named = |change: &Change| Some((self.vaults.get(change.row as usize)?, change.version, change.instant));
        let last = page.changes.last().and_then(named);
        let next = match (last, from) {
            (Some((vault, version, instant)), _) => {
                // What became visible later is behind the floor for good.
                let floor = floor.filter(|floor| version <= floor.version);
                ChangeCursor { clock, version, instant, id: vault.row.id.to_string(), floor }
            }
            (None, Since::Instant(instant)) => {
                ChangeCursor { clock, version: self.version, instant: *instant, id: String::new(), floor }
            }
            (None, Since::Cursor(cursor)) => cursor.clone(),
        };
        let rows = page.changes.iter().filter_map(|change| self.vaults.get(change.row as usize));
        Changed { rows: rows.map(|vault| &vault.scores).collect(), total: page.total, next }
    }
}
