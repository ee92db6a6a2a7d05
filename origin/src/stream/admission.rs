//! Places: how many streams a key and an end viewer hold, counted in the database, so that it holds over all processes.
//!
//! A place is given back when its stream is dropped, however that comes about. The number of a place is made up before it is
//! asked for, so that one whose answer got lost is given back too.

use super::meters::StreamMeters;
use crate::entropy;
use crate::store::stream_leases::{self as table, Verdict, Wish};
use crate::store::{Db, StoreError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};

/// Pages of the journal that are read for streams at once: a crowd that reconnects must not take every connection.
const PAGES_AT_ONCE: usize = 3;
/// Places that wait to be given back, at most: while the database is away clients come and go.
const GIVEN_BACK: usize = 4_096;

/// The streams of this process.
#[derive(Debug)]
pub struct Streams {
    /// What is counted.
    pub meters: StreamMeters,
    /// Whether callers without a key are admitted.
    pub anonymous: bool,
    /// The turns of those who read pages.
    pub pages: Semaphore,
    process: i64,
    announced: AtomicBool,
    held: Mutex<Held>,
    work: Notify,
    keys: Notify,
}

#[derive(Debug, Default)]
struct Held {
    open: HashMap<i64, Open>,
    given_back: Vec<i64>,
}

impl Held {
    /// Notes what is to be given back. What there is no room for is leaked, and so found later.
    fn give_back(&mut self, ids: impl IntoIterator<Item = i64>) {
        let room = GIVEN_BACK.saturating_sub(self.given_back.len());
        self.given_back.extend(ids.into_iter().take(room));
    }
}

#[derive(Debug)]
struct Open {
    key: Option<i64>,
    /// Whether the database has said yes.
    settled: bool,
    ended: Arc<AtomicBool>,
}

/// A stream's place.
#[derive(Debug)]
pub struct Place {
    id: i64,
    streams: Arc<Streams>,
    ended: Arc<AtomicBool>,
}

impl Place {
    /// Whether the stream is to end: its key was revoked, or its place was taken for that of a process that had died.
    pub fn is_over(&self) -> bool {
        self.ended.load(Relaxed)
    }

    /// A number that differs from stream to stream.
    pub fn number(&self) -> u64 {
        self.id.unsigned_abs()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.streams.held();
        held.open.remove(&self.id);
        held.give_back([self.id]);
        drop(held);
        self.streams.work.notify_one();
    }
}

impl Streams {
    /// No stream yet. `anonymous` admits callers without a key.
    pub fn new(anonymous: bool) -> Self {
        Streams {
            meters: StreamMeters::default(),
            anonymous,
            pages: Semaphore::new(PAGES_AT_ONCE),
            process: random(),
            announced: AtomicBool::new(false),
            held: Mutex::default(),
            work: Notify::new(),
            keys: Notify::new(),
        }
    }

    /// This process, as rows of others name it too.
    pub fn process(&self) -> i64 {
        self.process
    }

    /// Asks for a place for a stream of `key`, or of nobody's, and of `viewer`. No place is `Err` with whose there is none of.
    pub async fn admit(
        self: &Arc<Self>,
        db: &Db,
        key: Option<i64>,
        viewer: Option<&str>,
    ) -> Result<Result<Place, Verdict>, StoreError> {
        if !self.announced.load(Relaxed) {
            self.announce(db).await?;
        }
        let (id, ended) = (random(), Arc::new(AtomicBool::new(false)));
        self.held().open.insert(id, Open { key, settled: false, ended: ended.clone() });
        let place = Place { id, streams: self.clone(), ended };
        match table::admit(db, Wish { id, process: self.process, key, viewer }).await? {
            Verdict::Admitted => {
                if let Some(open) = self.held().open.get_mut(&id) {
                    open.settled = true;
                }
                Ok(Ok(place))
            }
            full => Ok(Err(full)),
        }
    }

    /// Streams that are open.
    pub fn open(&self) -> usize {
        self.held().open.len()
    }

    /// A key may have been revoked: this is looked into at once instead of at the next look.
    pub fn keys_changed(&self) {
        self.keys.notify_one();
    }

    pub(super) async fn until_keys_change(&self) {
        self.keys.notified().await;
    }

    pub(super) async fn until_given_back(&self) {
        self.work.notified().await;
    }

    /// Says that this process is alive.
    pub(super) async fn announce(&self, db: &Db) -> Result<(), StoreError> {
        table::alive(db, self.process).await?;
        self.announced.store(true, Relaxed);
        Ok(())
    }

    /// Takes this process out of the count, at its end.
    pub async fn withdraw(&self, db: &Db) -> Result<(), StoreError> {
        table::gone(db, self.process).await
    }

    /// Tells the database what was given back. What cannot be told stays to be told, also where this is cut off. By one caller at a time.
    pub(super) async fn give_back(&self, db: &Db) -> Result<(), StoreError> {
        let ids = self.held().given_back.clone();
        if ids.is_empty() {
            return Ok(());
        }
        table::release(db, &ids).await?;
        // Others are only appended meanwhile.
        self.held().given_back.drain(..ids.len());
        Ok(())
    }

    /// Compares what is open with what the database counts. A stream whose place is gone ends: this process was taken for dead,
    /// and somebody else may have the place. A place without a stream is given back. How many streams were ended.
    pub(super) async fn reconcile(&self, db: &Db) -> Result<usize, StoreError> {
        let settled: Vec<i64> = self.held().open.iter().filter(|(_, open)| open.settled).map(|(id, _)| *id).collect();
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
        held.give_back(leaked);
        Ok(ended)
    }

    /// Ends the streams of keys that hold no more. How many.
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
    fn what_cannot_be_given_back_for_now_takes_a_bounded_amount_of_memory() {
        let streams = Arc::new(Streams::new(false));
        for id in 0..3 * GIVEN_BACK as i64 {
            let ended = Arc::default();
            streams.held().open.insert(id, Open { key: None, settled: true, ended: Arc::clone(&ended) });
            drop(Place { id, streams: streams.clone(), ended });
        }
        let held = streams.held();
        assert_eq!((held.open.len(), held.given_back.len()), (0, GIVEN_BACK));
    }
}
