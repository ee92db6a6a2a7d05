//! Stream leases: how many streams a key and an end viewer have open, counted in the database across all processes.
//!
//! A lease is released when its stream is dropped, for whatever reason. Its id is chosen before the request, so that a lease is also
//! released if the database's response was lost.

use super::meters::StreamMeters;
use rds_engine::entropy;
use rds_store::push::stream_leases as table;
use rds_store::push::stream_leases::{LeaseRequest, Verdict};
use rds_store::{Db, StoreError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};

/// Maximum number of concurrent reads of journal pages, so that many clients reconnecting at once do not use up the connection pool.
const MAX_CONCURRENT_PAGES: usize = 3;
/// Maximum number of leases waiting for release: they accumulate while the database is unavailable and streams end.
const MAX_UNRELEASED: usize = 4_096;

/// The streams of this process.
#[derive(Debug)]
pub struct Streams {
    pub meters: StreamMeters,
    /// Whether callers without a key are admitted.
    pub anonymous: bool,
    /// Permits for reading journal pages.
    pub pages: Semaphore,
    process: i64,
    announced: AtomicBool,
    draining: AtomicBool,
    held: Mutex<Held>,
    work: Notify,
    keys: Notify,
}

#[derive(Debug, Default)]
struct Held {
    open: HashMap<i64, Arc<Open>>,
    unreleased: Vec<i64>,
}

impl Held {
    /// Queues leases for release. Leases beyond the maximum are found later by `reconcile`.
    fn queue_release(&mut self, ids: impl IntoIterator<Item = i64>) {
        let room = MAX_UNRELEASED.saturating_sub(self.unreleased.len());
        self.unreleased.extend(ids.into_iter().take(room));
    }
}

#[derive(Debug, Default)]
struct Open {
    key: Option<i64>,
    /// Whether the database has granted the lease.
    settled: AtomicBool,
    ended: AtomicBool,
}

/// The lease of a stream; dropping it releases the lease.
#[derive(Debug)]
pub struct StreamLease {
    id: i64,
    streams: Arc<Streams>,
    open: Arc<Open>,
}

impl StreamLease {
    /// Whether the stream must end: its key was revoked, or its lease was deleted because this process was considered dead.
    pub fn must_end(&self) -> bool {
        self.open.ended.load(Relaxed)
    }

    /// A number that differs between streams.
    pub fn number(&self) -> u64 {
        self.id.unsigned_abs()
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        let mut held = self.streams.held();
        held.open.remove(&self.id);
        held.queue_release([self.id]);
        drop(held);
        self.streams.work.notify_one();
    }
}

impl Streams {
    /// An empty set of streams. `anonymous` admits callers without a key.
    pub fn new(anonymous: bool) -> Self {
        Streams {
            meters: StreamMeters::default(),
            anonymous,
            pages: Semaphore::new(MAX_CONCURRENT_PAGES),
            process: random(),
            announced: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            held: Mutex::default(),
            work: Notify::new(),
            keys: Notify::new(),
        }
    }

    /// From now on new streams are refused, and open ones end.
    pub fn begin_draining(&self) {
        self.draining.store(true, Relaxed);
    }

    /// Whether streams end and new ones are refused.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// The id of this process in the database.
    pub fn process(&self) -> i64 {
        self.process
    }

    /// Requests a lease for a stream of `key`, if any, and `viewer`, if any. The inner `Err` contains the limit that was reached.
    pub async fn admit(
        self: &Arc<Self>,
        db: &Db,
        key: Option<i64>,
        viewer: Option<&str>,
    ) -> Result<Result<StreamLease, Verdict>, StoreError> {
        if !self.announced.load(Relaxed) {
            self.announce(db).await?;
        }
        let (id, open) = (random(), Arc::new(Open { key, ..Open::default() }));
        self.held().open.insert(id, open.clone());
        let place = StreamLease { id, streams: self.clone(), open };
        match table::admit(db, LeaseRequest { id, process: self.process, key, viewer }).await? {
            Verdict::Admitted => {
                place.open.settled.store(true, Relaxed);
                Ok(Ok(place))
            }
            full => Ok(Err(full)),
        }
    }

    /// Number of open streams.
    pub fn open(&self) -> usize {
        self.held().open.len()
    }

    /// Wakes the check for revoked keys, because a key may have been revoked.
    pub fn keys_changed(&self) {
        self.keys.notify_one();
    }

    pub(super) async fn until_keys_change(&self) {
        self.keys.notified().await;
    }

    pub(super) async fn until_given_back(&self) {
        self.work.notified().await;
    }

    /// Records in the database that this process is alive.
    pub(super) async fn announce(&self, db: &Db) -> Result<(), StoreError> {
        table::alive(db, self.process).await?;
        self.announced.store(true, Relaxed);
        Ok(())
    }

    /// Removes this process and its leases when it ends.
    pub async fn withdraw(&self, db: &Db) -> Result<(), StoreError> {
        table::gone(db, self.process).await
    }

    /// Releases queued leases in the database. Leases that could not be released stay queued, also if this call is cancelled. Must
    /// not be called concurrently.
    pub(super) async fn release(&self, db: &Db) -> Result<(), StoreError> {
        let ids = self.held().unreleased.clone();
        if ids.is_empty() {
            return Ok(());
        }
        table::release(db, &ids).await?;
        // During the database call, other tasks only append to the queue.
        self.held().unreleased.drain(..ids.len());
        Ok(())
    }

    /// Compares open streams with the leases in the database. A stream without its lease ends: this process was considered dead, and
    /// another stream may use the freed place. A lease without a stream is released. Returns the number of streams ended.
    pub(super) async fn reconcile(&self, db: &Db) -> Result<usize, StoreError> {
        let settled: Vec<i64> =
            self.held().open.iter().filter(|(_, open)| open.settled.load(Relaxed)).map(|(id, _)| *id).collect();
        let counted: HashMap<i64, bool> = table::held_by(db, self.process).await?.into_iter().collect();
        let mut held = self.held();
        let mut ended = 0;
        for id in settled.iter().filter(|id| !counted.contains_key(id)) {
            if let Some(open) = held.open.get(id) {
                ended += usize::from(!open.ended.swap(true, Relaxed));
            }
        }
        let leaked: Vec<i64> =
            counted.into_iter().filter(|(id, old)| *old && !held.open.contains_key(id)).map(|(id, _)| id).collect();
        held.queue_release(leaked);
        Ok(ended)
    }

    /// Ends the streams of revoked keys; returns their number.
    pub(super) async fn end_revoked(&self, db: &Db) -> Result<usize, StoreError> {
        let mut keys: Vec<i64> = self.held().open.values().filter_map(|open| open.key).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return Ok(0);
        }
        let revoked = table::revoked_among(db, &keys).await?;
        let held = self.held();
        let theirs = held.open.values().filter(|open| open.key.is_some_and(|key| revoked.contains(&key)));
        Ok(theirs.filter(|open| !open.ended.swap(true, Relaxed)).count())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn random() -> i64 {
    i64::from_le_bytes(entropy::random_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreleased_leases_take_a_bounded_amount_of_memory() {
        let streams = Arc::new(Streams::new(false));
        for id in 0..3 * MAX_UNRELEASED as i64 {
            let open = Arc::<Open>::default();
            streams.held().open.insert(id, open.clone());
            drop(StreamLease { id, streams: streams.clone(), open });
        }
        let held = streams.held();
        assert_eq!((held.open.len(), held.unreleased.len()), (0, MAX_UNRELEASED));
    }
}
