//! The catalog's change feeds and their cursors.

use super::{Catalog, Vault};
use rds_shared::model::EncodedRow;
use rds_shared::select::changes::{Change, ChangeFeed, Place};
use rds_shared::wire::{ChangeClock, ChangeCursor, Floor, Timestamp};
use std::sync::Arc;

/// Every vault, active or not, ordered by its latest change on each clock.
#[derive(Debug)]
pub(super) struct ChangeFeeds {
    synced: ChangeFeed,
    rescored: ChangeFeed,
}

impl ChangeFeeds {
    /// The feeds of `vaults`, which must be in ascending order of ids.
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

/// Start of a page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// At this instant of the clock, inclusive.
    Instant(Timestamp),
    /// After the last change of the previous page.
    Cursor(ChangeCursor),
}

/// A page of changed vaults.
#[derive(Debug)]
pub struct Changed {
    /// The vaults' bulk score rows, in feed order.
    pub rows: Vec<EncodedRow>,
    /// Number of changes from the start of the page to the end of the feed.
    pub total: usize,
    /// Start of the next page.
    pub next: ChangeCursor,
}

impl Catalog {
    /// The next `limit` vaults of the feed of `clock`, starting at `from`.
    pub fn changes(&self, clock: ChangeClock, from: &Since, limit: usize) -> Changed {
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
                // Once the reader is past the floor's version, later changes need no floor.
                let floor = floor.filter(|floor| version <= floor.version);
                ChangeCursor { clock, version, instant, id: vault.row.id.to_string(), floor }
            }
            (None, Since::Instant(instant)) => {
                ChangeCursor { clock, version: self.version, instant: *instant, id: String::new(), floor }
            }
            (None, Since::Cursor(cursor)) => cursor.clone(),
        };
        let rows = page.changes.iter().filter_map(|change| self.vaults.get(change.row as usize));
        Changed { rows: rows.filter_map(|vault| vault.encoded.scores()).collect(), total: page.total, next }
    }
}
