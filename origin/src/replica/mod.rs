//! The origin's side of the replica ([`rds_shared::replica`]): leads the edge's copy of the catalog's rows from one state to the next.
//!
//! | file | content |
//! |---|---|
//! | this one | the answers to an edge that asks |
//! | `state` | the rows of a catalog with their digests |
//! | `states` | the current state, those before it, and deltas between them |
//! | `segments` | segments and manifests |
//! | [`meters`] | metrics |
//! | [`holders`] | what the edge's isolates hold, as its Durable Objects last said |
//!
//! # Invariants
//!
//! - A stamp claims only what its rows include: the tag versions are read before the catalog ([`LiveCatalog::tags`]), the withheld chains before
//!   the facts, and a chain of which there are rows nevertheless is left out.
//! - States and segments are named by content, so a replica may be led on by any process (`tests/it/http/replica.rs`).
//! - Nothing is computed while no edge asks: the first request makes the first state, and [`IDLE`] after the last one everything is dropped.
//! - States, deltas, segments and answers in memory have bounds, and nothing is computed on the threads that answer requests.

pub mod holders;
pub mod meters;
mod segments;
mod state;
mod states;

use self::meters::{Meters, Served};
use self::segments::Segments;
use self::states::States;
use crate::catalog::{CATCH_UP_TIMEOUT, Catalog, LiveCatalog};
use anyhow::Context;
use axum::body::Bytes;
use rds_engine::clock::Stopwatch;
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{ReplicaAsk, SEGMENTS_BYTES, put_part};
use rds_shared::replica::{Family, Kind, SegmentName, Stamp, StateId, Step, Update, seal};
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::Timestamp;
use sha2::{Digest, Sha256};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// How long after an edge's last request its next one is prepared for.
pub const IDLE: Duration = Duration::from_secs(15 * 60);
/// Most bytes of answers in memory: eight of the largest.
const MAX_ANSWER_BYTES: usize = 8 * SEGMENTS_BYTES;
/// Bytes that are accounted for at once.
const PERMIT_BYTES: usize = 1 << 10;

/// What this process knows of the replicas that ask it.
#[derive(Debug)]
pub struct Replica {
    memory: Arc<tokio::sync::Mutex<Memory>>,
    /// When an edge last asked; `None` before the first time.
    asked: Mutex<Option<Stopwatch>>,
    /// One permit for each [`PERMIT_BYTES`] of answers.
    room: Arc<Semaphore>,
    pub meters: Arc<Meters>,
}

/// States and segments. Used by one task at a time, on a thread for blocking work.
#[derive(Debug, Default)]
struct Memory {
    states: States,
    segments: Segments,
}

/// An answer. Its bytes count towards the bound of all answers until they are dropped.
#[derive(Debug)]
pub struct Content {
    pub bytes: Bytes,
    pub sha256: [u8; 32],
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Too many bytes of answers are in memory.
    #[error("too many bytes of answers are in memory")]
    Full,
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

impl Default for Replica {
    fn default() -> Self {
        Replica {
            memory: Arc::default(),
            asked: Mutex::default(),
            room: Arc::new(Semaphore::new(MAX_ANSWER_BYTES / PERMIT_BYTES)),
            meters: Arc::default(),
        }
    }
}

/// A catalog, and the tag versions that it covers.
#[derive(Debug)]
struct Covered {
    tags: TagVersions,
    catalog: Arc<Catalog>,
}

impl Covered {
    fn now(live: &LiveCatalog) -> anyhow::Result<Self> {
        // The tags are read before the catalog is taken.
        let tags = live.tags();
        Ok(Covered { tags, catalog: live.current().context("there is no catalog yet")? })
    }
}

impl Replica {
    /// The update for a replica, sealed with `key`; `now` is the stamp's instant. Waits at most [`CATCH_UP_TIMEOUT`] for the tag versions that
    /// it should cover.
    pub async fn update(
        &self,
        live: &LiveCatalog,
        ask: ReplicaAsk,
        key: AssertionKey,
        now: Timestamp,
    ) -> Result<Content, Fault> {
        self.is_asked();
        if let Some(holders) = &ask.holders {
            self.meters.holders.hear(holders);
        }
        // Other tags say nothing about the rows.
        let _ = live.tags_since(&claimed(&ask.covering), CATCH_UP_TIMEOUT).await;
        let meters = Arc::clone(&self.meters);
        let make = move |memory: &mut Memory, covered: &Covered| {
            memory.advance_to(&covered.catalog, &meters)?;
            let (served, update) = memory.update(covered, &ask, &key, now, &meters);
            let bytes = update.encode();
            meters.served(served, bytes.len());
            Ok(bytes)
        };
        self.content(self.with_memory(live, make).await?).await
    }

    /// The segments with these names, as the answer to a [`SegmentsAsk`](rds_shared::access::link::SegmentsAsk). If one is not known, the
    /// segments of the current state are made first: another process may have named it.
    pub async fn segments(&self, live: &LiveCatalog, names: Vec<SegmentName>) -> Result<Content, Fault> {
        self.is_asked();
        let meters = Arc::clone(&self.meters);
        let find = move |memory: &mut Memory, covered: &Covered| {
            if names.iter().any(|name| memory.segments.get(name).is_none()) {
                memory.advance_to(&covered.catalog, &meters)?;
                memory.manifest(&meters);
            }
            let found = answer_of(&memory.segments, &names);
            meters.segment_bytes.fetch_add(found.len() as u64, Relaxed);
            Ok(found)
        };
        self.content(self.with_memory(live, find).await?).await
    }

    /// Makes the state of the current catalog if an edge asked lately, so that its next request finds the state, and every other process
    /// knows the states that this one serves. Otherwise drops everything.
    pub async fn follow(&self, live: &LiveCatalog) -> anyhow::Result<()> {
        let asked = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        match asked {
            None => Ok(()),
            Some(asked) if asked.elapsed() > IDLE => {
                *self.memory.lock().await = Memory::default();
                *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = None;
                self.meters.states.store(0, Relaxed);
                Ok(())
            }
            Some(_) => {
                let meters = Arc::clone(&self.meters);
                self.with_memory(live, move |memory, covered| memory.advance_to(&covered.catalog, &meters)).await
            }
        }
    }

    fn is_asked(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stopwatch::start());
    }

    /// Runs `work` on a thread for blocking work. It runs to its end even if the request that asked for it is cancelled, so that a large state
    /// is made once, however short the edge's patience is.
    async fn with_memory<T: Send + 'static>(
        &self,
        live: &LiveCatalog,
        work: impl FnOnce(&mut Memory, &Covered) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let mut memory: OwnedMutexGuard<Memory> = Arc::clone(&self.memory).lock_owned().await;
        // Taken after the lock, so that states follow each other in the order of the catalogs.
        let covered = Covered::now(live)?;
        spawn_blocking(move || work(&mut memory, &covered)).await?
    }

    /// Hashes an answer, and counts its bytes until they are dropped.
    async fn content(&self, bytes: Vec<u8>) -> Result<Content, Fault> {
        let permits = u32::try_from(bytes.len().div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.room).try_acquire_many_owned(permits) else {
            self.meters.refused.fetch_add(1, Relaxed);
            return Err(Fault::Full);
        };
        let hashed = spawn_blocking(move || {
            let sha256 = Sha256::digest(&bytes).into();
            Content { bytes: Bytes::from_owner(Counted { bytes, _permit: permit }), sha256 }
        });
        hashed.await.map_err(|error| Fault::Failed(error.into()))
    }
}

/// The bytes of an answer with their share of the bound.
#[derive(Debug)]
struct Counted {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Memory {
    fn advance_to(&mut self, catalog: &Arc<Catalog>, meters: &Meters) -> anyhow::Result<()> {
        let watch = Stopwatch::start();
        if self.states.advance_to(catalog)? {
            meters.state_micros.store(watch.micros(), Relaxed);
            meters.states.store(self.states.count() as u64, Relaxed);
        }
        Ok(())
    }

    /// The encoded manifest of the current state.
    fn manifest(&mut self, meters: &Meters) -> Arc<[u8]> {
        let (manifest, made) = self.segments.manifest(self.states.current());
        meters.segments_made.fetch_add(made as u64, Relaxed);
        manifest
    }

    /// What leads from the asker's state to the current one, which is that of the catalog of `covered`.
    fn update(
        &mut self,
        covered: &Covered,
        ask: &ReplicaAsk,
        key: &AssertionKey,
        now: Timestamp,
        meters: &Meters,
    ) -> (Served, Update) {
        let state = self.states.current().id;
        let stamp = Stamp {
            state,
            version: covered.catalog.version,
            tags: claimed(&covered.tags),
            withheld: self.states.withheld().to_vec(),
            made_at: now,
        };
        let known: Option<StateId> = ask.have.filter(|_| !ask.whole);
        let (served, step) = match known {
            Some(have) if have == state => (Served::Current, Step::Current),
            _ => match known.and_then(|have| self.states.delta_from(have)) {
                Some(delta) => (Served::Delta, Step::Deltas(vec![seal(Kind::Delta, &delta, key)])),
                None => {
                    let manifest = seal(Kind::Manifest, &self.manifest(meters), key);
                    (Served::Whole, Step::Whole { manifest, deltas: Vec::new() })
                }
            },
        };
        (served, Update { stamp: seal(Kind::Stamp, &stamp.encode(), key), step })
    }
}

/// The versions of the tags that a replica's rows depend on, and of the fail-safe mode.
fn claimed(tags: &TagVersions) -> TagVersions {
    let mut claimed = TagVersions::default().with(Tag::FailSafe, tags.of(Tag::FailSafe));
    for family in Family::ALL {
        claimed.raise_to(&tags.only(family.tags()));
    }
    claimed
}

/// The segments with these names, empty from the first one on that does not fit.
fn answer_of(segments: &Segments, names: &[SegmentName]) -> Vec<u8> {
    let found: Vec<&[u8]> = names.iter().map(|name| segments.get(name).map_or(&[][..], AsRef::as_ref)).collect();
    let mut room = SEGMENTS_BYTES.saturating_sub(4 * names.len());
    let mut out = Vec::with_capacity(found.iter().map(|bytes| bytes.len() + 4).sum::<usize>().min(SEGMENTS_BYTES));
    for bytes in found {
        let fits = bytes.len() <= room;
        room = if fits { room - bytes.len() } else { 0 };
        put_part(if fits { bytes } else { &[] }, &mut out);
    }
    out
}

/// Follows the catalog until the process ends.
pub async fn keep_following(live: &LiveCatalog, replica: &Replica) {
    let mut refreshes = live.refreshes();
    while refreshes.changed().await.is_ok() {
        if let Err(error) = replica.follow(live).await {
            tracing::error!(%error, "the rows for replicas at the edge could not be made");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::read_model::serves;
    use rds_shared::route::ROUTES;

    #[test]
    fn a_stamp_claims_every_tag_of_the_routes_that_a_replica_answers_and_no_other() {
        let all: TagVersions = Tag::ALL.into_iter().map(|tag| (tag, 7)).collect();
        let mut needed = TagVersions::default().with(Tag::FailSafe, 7);
        for route in ROUTES.iter().filter(|route| serves(route.id)) {
            needed.raise_to(&all.only(route.tags));
        }
        assert_eq!(claimed(&all), needed);
    }

    #[tokio::test]
    async fn answers_beyond_the_bound_are_refused_until_others_are_sent() {
        let replica = Replica::default();
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(replica.content(vec![0; SEGMENTS_BYTES]).await.unwrap());
        }
        assert!(matches!(replica.content(vec![0; 1]).await, Err(Fault::Full)));
        held.pop();
        assert_eq!(replica.content(b"x".to_vec()).await.unwrap().bytes, "x");
        assert_eq!(replica.meters.refused.load(Relaxed), 1);
    }
}
