//! Cache of the readings of recently requested vaults: charts request the same year of hourly points repeatedly.
//!
//! An entry is valid for one version of the vault. Every batch with a reading of the vault, however late, or a change of its campaigns
//! gives the vault a new version.

use super::Vault;
use rds_shared::model::ids::VaultId;
use rds_shared::model::vault_history::SnapshotPoint;
use rds_shared::wire::Timestamp;
use rds_store::vaults::snapshots;
use rds_store::{Db, StoreError};
use sqlx::PgConnection;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of points in the cache, about 50 MB.
const MAX_POINTS: usize = 500_000;

#[derive(Debug, Default)]
pub struct Histories(Mutex<Cache>);

#[derive(Debug, Default)]
struct Cache {
    vaults: HashMap<VaultId, Entry>,
    points: usize,
    /// Request counter; the entry with the lowest number is the least recently used.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    version: i64,
    /// The earliest instant covered by the readings.
    from: Timestamp,
    readings: Arc<[SnapshotPoint]>,
    asked: u64,
}

/// A range of a vault's readings, oldest first.
#[derive(Debug, Clone)]
pub struct Stretch {
    readings: Arc<[SnapshotPoint]>,
    first: usize,
    end: usize,
}

impl Stretch {
    fn of(readings: Arc<[SnapshotPoint]>, from: Timestamp, to: Timestamp) -> Self {
        let first = readings.partition_point(|point| point.recorded_at < from);
        let end = readings.partition_point(|point| point.recorded_at <= to).max(first);
        Stretch { readings, first, end }
    }

    pub fn points(&self) -> &[SnapshotPoint] {
        self.readings.get(self.first..self.end).unwrap_or_default()
    }
}

impl Histories {
    /// Readings of `vault` from `from` to `to`, both inclusive; never older than the catalog that `vault` comes from.
    pub async fn between(&self, db: &Db, vault: &Vault, from: Timestamp, to: Timestamp) -> Result<Stretch, StoreError> {
        let (id, version) = (&vault.row.id, vault.changed_version);
        if let Some(readings) = self.kept(id, version, from) {
            return Ok(Stretch::of(readings, from, to));
        }
        let mut snapshot = db.snapshot().await?;
        self.read(&mut snapshot, (id, version), from, to).await
    }

    /// Like [`Self::between`], in a database snapshot in which the vault has `version`.
    pub async fn between_in(
        &self,
        snapshot: &mut PgConnection,
        (id, version): (&VaultId, i64),
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Stretch, StoreError> {
        match self.kept(id, version, from) {
            Some(readings) => Ok(Stretch::of(readings, from, to)),
            None => self.read(snapshot, (id, version), from, to).await,
        }
    }

    async fn read(
        &self,
        snapshot: &mut PgConnection,
        (id, version): (&VaultId, i64),
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Stretch, StoreError> {
        // Without an upper bound, because later requests may have a later `to`.
        let read = snapshots::between(snapshot, id.as_str(), from, Timestamp::from_micros(i64::MAX)).await?;
        let readings: Arc<[SnapshotPoint]> = read.into();
        self.keep(id, version, from, &readings);
        Ok(Stretch::of(readings, from, to))
    }

    /// Empties the cache. Called when a catalog is built without a previous one, because versions may then be numbered anew.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Cache::default();
    }

    fn kept(&self, id: &VaultId, version: i64, from: Timestamp) -> Option<Arc<[SnapshotPoint]>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let asked = kept.clock;
        let entry = kept.vaults.get_mut(id).filter(|entry| entry.version == version && entry.from <= from)?;
        entry.asked = asked;
        Some(Arc::clone(&entry.readings))
    }

    fn keep(&self, id: &VaultId, version: i64, from: Timestamp, readings: &Arc<[SnapshotPoint]>) {
        if readings.len() > MAX_POINTS {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let asked = kept.clock;
        // Two concurrent reads of a vault may see different states; the older must not replace the newer.
        if kept.vaults.get(id).is_some_and(|entry| entry.version > version) {
            return;
        }
        kept.forget(id);
        while kept.points + readings.len() > MAX_POINTS {
            let oldest = kept.vaults.iter().min_by_key(|(_, entry)| entry.asked).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { return };
            kept.forget(&oldest);
        }
        kept.points += readings.len();
        kept.vaults.insert(id.clone(), Entry { version, from, readings: Arc::clone(readings), asked });
    }
}

impl Cache {
    fn forget(&mut self, id: &VaultId) {
        if let Some(entry) = self.vaults.remove(id) {
            self.points = self.points.saturating_sub(entry.readings.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::model::status::BorrowIncentiveStatus;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_seconds(hour * 3_600)
    }

    fn readings(hours: std::ops::Range<i64>) -> Arc<[SnapshotPoint]> {
        let point = |hour| SnapshotPoint {
            recorded_at: at(hour),
            tvl_usd: None,
            apr_net: None,
            borrow_apr: None,
            borrow_reward_apr: None,
            borrow_apr_net: None,
            borrow_incentive_status: BorrowIncentiveStatus::None,
            price_per_share: None,
        };
        hours.map(point).collect()
    }

    fn id(number: usize) -> VaultId {
        VaultId::parse(&format!("demo-1-0x{number:040x}")).unwrap()
    }

    #[test]
    fn a_range_includes_both_ends() {
        let hours = |from, to| {
            let stretch = Stretch::of(readings(0..10), at(from), at(to));
            stretch.points().iter().map(|point| point.recorded_at.as_seconds() / 3_600).collect::<Vec<_>>()
        };
        assert_eq!(hours(3, 5), [3, 4, 5]);
        assert_eq!(hours(8, 99), [8, 9]);
        assert!(hours(20, 30).is_empty() && hours(5, 3).is_empty());
    }

    #[test]
    fn an_entry_is_valid_for_one_version_and_its_period() {
        let histories = Histories::default();
        histories.keep(&id(1), 7, at(5), &readings(5..9));
        assert!(histories.kept(&id(1), 7, at(5)).is_some() && histories.kept(&id(1), 7, at(6)).is_some());
        assert!(histories.kept(&id(1), 7, at(4)).is_none(), "it does not go back so far");
        assert!(histories.kept(&id(1), 8, at(6)).is_none(), "the vault has changed");
        assert!(histories.kept(&id(2), 7, at(6)).is_none());
        histories.keep(&id(1), 6, at(0), &readings(0..4));
        assert!(histories.kept(&id(1), 7, at(5)).is_some(), "an older state replaces nothing");
    }

    #[test]
    fn memory_is_bounded_and_recently_used_entries_stay() {
        let histories = Histories::default();
        let year = readings(0..8_760);
        for number in 0..200 {
            histories.keep(&id(number), 1, at(0), &year);
            assert!(histories.kept(&id(0), 1, at(0)).is_some());
            assert!(histories.0.lock().unwrap().points <= MAX_POINTS);
        }
        assert!(histories.kept(&id(1), 1, at(0)).is_none() && histories.kept(&id(199), 1, at(0)).is_some());
        histories.keep(&id(0), 2, at(0), &readings(0..3));
        let kept = histories.0.lock().unwrap();
        assert_eq!(kept.points, kept.vaults.values().map(|entry| entry.readings.len()).sum::<usize>());
    }
}
