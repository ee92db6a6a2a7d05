//! The replica's Durable Object in this process, with the origin's documents behind it and switches to make either fail.

use crate::market::Documents;
use crate::world::{KEY, World};
use rds_edge::guard::DiskFault;
use rds_edge::ports::Unreachable;
use rds_edge::replica::message::Holder;
use rds_edge::replica::pull::{self, PullFault, ReplicaOrigin};
use rds_edge::replica::refresh::{ReplicaAnswer, ReplicaSource};
use rds_edge::replica::store::{Change, ReplicaDisk, Store, Stored};
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{ReplicaAsk, put_part};
use rds_shared::pace::Pause;
use rds_shared::replica::SegmentName;
use rds_shared::wire::Timestamp;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

type Tampering = Box<dyn Fn(Vec<u8>) -> Vec<u8>>;

pub struct ReplicaObject {
    /// Whether there is a binding.
    pub is_bound: Cell<bool>,
    /// Whether the Durable Object does not answer.
    pub is_away: Cell<bool>,
    /// Round-trip time of an answer.
    pub flight_millis: Cell<i64>,
    /// Number of questions, answered or not.
    pub asked: Cell<usize>,
    pub store: Store<TestDisk>,
    pub origin: TestOrigin,
    /// The parts of the state in the data centre's cache.
    pub kept: RefCell<BTreeMap<u32, Vec<u8>>>,
    /// Number of pauses of computations, and whether one lasts until it is polled again.
    pub pauses: Cell<usize>,
    pub pauses_last: Cell<bool>,
    /// What the isolate said about itself last.
    pub holder: RefCell<Holder>,
    /// Number of segments that the isolate fetched.
    pub fetched: Cell<usize>,
    /// Number of further questions for segments that are answered.
    pub answers_left: Cell<usize>,
    /// Changes the updates on their way to the isolate.
    pub tampering: RefCell<Option<Tampering>>,
    /// Changes the segments on their way to the isolate, that many times.
    pub wrong_segments: Cell<usize>,
    /// Questions in flight: when they land, and when they were begun.
    pub(crate) out: RefCell<Vec<(i64, Timestamp)>>,
}

/// The origin's side of the replica.
pub struct TestOrigin {
    pub documents: RefCell<Documents>,
    pub is_away: Cell<bool>,
    pub millis: Cell<i64>,
    /// Number of questions, answered or not.
    pub asked: Cell<usize>,
    /// Number of segments sent.
    pub sent: Cell<usize>,
    /// Sends the segments wrong, that many times.
    pub wrong_segments: Cell<usize>,
    pub log: RefCell<Vec<String>>,
}

impl ReplicaObject {
    pub fn new(now: Timestamp) -> Self {
        let keys = AssertionKey::parse_list(KEY).unwrap();
        ReplicaObject {
            is_bound: Cell::new(false),
            is_away: Cell::default(),
            flight_millis: Cell::default(),
            asked: Cell::default(),
            store: Store::new(TestDisk::default(), keys),
            origin: TestOrigin::new(now),
            kept: RefCell::default(),
            pauses: Cell::default(),
            pauses_last: Cell::default(),
            holder: RefCell::default(),
            fetched: Cell::default(),
            answers_left: Cell::new(usize::MAX),
            tampering: RefCell::default(),
            wrong_segments: Cell::default(),
            out: RefCell::default(),
        }
    }
}

impl TestOrigin {
    pub fn new(now: Timestamp) -> Self {
        TestOrigin {
            documents: RefCell::new(Documents::new(KEY, now)),
            is_away: Cell::default(),
            millis: Cell::new(now.as_millis()),
            asked: Cell::default(),
            sent: Cell::default(),
            wrong_segments: Cell::default(),
            log: RefCell::default(),
        }
    }
}

/// Damages a byte in the middle.
pub fn damaged(mut bytes: Vec<u8>) -> Vec<u8> {
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    bytes
}

fn counted_down(count: &Cell<usize>) -> bool {
    let left = count.get();
    count.set(left.saturating_sub(1));
    left > 0
}

impl Pause for TestOrigin {
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

impl Pause for World {
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        self.replica.pauses.set(self.replica.pauses.get() + 1);
        let mut is_over = !self.replica.pauses_last.get();
        Box::pin(std::future::poll_fn(move |_| match std::mem::replace(&mut is_over, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }))
    }
}

impl ReplicaOrigin for TestOrigin {
    fn now(&self) -> i64 {
        self.millis.get()
    }

    async fn replica(&self, ask: &ReplicaAsk) -> Result<Vec<u8>, PullFault> {
        self.asked.set(self.asked.get() + 1);
        if self.is_away.get() {
            return Err(PullFault::Unreachable("connection refused".to_owned()));
        }
        Ok(self.documents.borrow_mut().update(ask).encode())
    }

    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, PullFault> {
        if self.is_away.get() {
            return Err(PullFault::Unreachable("connection refused".to_owned()));
        }
        self.sent.set(self.sent.get() + names.len());
        let bytes = self.documents.borrow().segments_of(names);
        Ok(if counted_down(&self.wrong_segments) { damaged(bytes) } else { bytes })
    }

    fn log(&self, line: &str) {
        self.log.borrow_mut().push(line.to_owned());
    }
}

impl ReplicaSource for World {
    fn now(&self) -> Timestamp {
        World::now(self)
    }

    async fn ask(&self, ask: &ReplicaAsk, holder: Holder) -> Result<ReplicaAnswer, Unreachable> {
        let ReplicaObject { asked, store, origin, is_away, tampering, .. } = &self.replica;
        self.replica.holder.replace(holder);
        asked.set(asked.get() + 1);
        let now = World::now(self).as_millis();
        origin.millis.set(now);
        if is_away.get() {
            return Err(Unreachable("no answer".to_owned()));
        }
        if pull::is_due(store, &ask.covering, now).unwrap() {
            let _ = pull::pull(store, origin, ask.covering).await;
        }
        let kept = store.kept().unwrap().ok_or_else(|| Unreachable("it has nothing yet".to_owned()))?;
        let update = kept.update_for(ask).encode();
        let update = match &*tampering.borrow() {
            Some(tampering) => tampering(update),
            None => update,
        };
        Ok(ReplicaAnswer { update, age: Duration::from_millis(u64::try_from(now - kept.confirmed_at).unwrap()) })
    }

    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, Unreachable> {
        let left = self.replica.answers_left.get();
        self.replica.answers_left.set(left.checked_sub(1).ok_or_else(|| Unreachable("no answer".to_owned()))?);
        self.replica.fetched.set(self.replica.fetched.get() + names.len());
        let mut body = Vec::new();
        for name in names {
            put_part(&self.replica.store.segment(name).unwrap().unwrap_or_default(), &mut body);
        }
        Ok(if counted_down(&self.replica.wrong_segments) { damaged(body) } else { body })
    }

    async fn load(&self, part: u32) -> Option<Vec<u8>> {
        self.replica.kept.borrow().get(&part).cloned()
    }

    async fn store(&self, part: u32, bytes: Vec<u8>) {
        self.replica.kept.borrow_mut().insert(part, bytes);
    }

    fn log(&self, line: &str) {
        self.log.borrow_mut().push(line.to_owned());
    }
}

/// A disk in memory.
#[derive(Debug, Default)]
pub struct TestDisk {
    pub stored: RefCell<Option<Stored>>,
    pub segments: RefCell<BTreeMap<SegmentName, Vec<u8>>>,
    pub is_full: Cell<bool>,
}

impl TestDisk {
    /// Loses everything.
    pub fn wipe(&self) {
        self.stored.replace(None);
        self.segments.borrow_mut().clear();
    }
}

impl ReplicaDisk for &TestDisk {
    fn read(&self) -> Result<Option<Stored>, DiskFault> {
        (*self).read()
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        (*self).write(change)
    }

    fn lacking(&self, names: &[SegmentName]) -> Result<Vec<SegmentName>, DiskFault> {
        (*self).lacking(names)
    }

    fn segment(&self, name: &SegmentName) -> Result<Option<Vec<u8>>, DiskFault> {
        (*self).segment(name)
    }

    fn delete_segment(&self, name: &SegmentName) -> Result<(), DiskFault> {
        (*self).delete_segment(name)
    }

    fn put_segments(&self, segments: &[(SegmentName, &[u8])]) -> Result<(), DiskFault> {
        (*self).put_segments(segments)
    }
}

impl ReplicaDisk for TestDisk {
    fn read(&self) -> Result<Option<Stored>, DiskFault> {
        Ok(self.stored.borrow().clone())
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        if self.is_full.get() {
            return Err(DiskFault("full".to_owned()));
        }
        let mut slot = self.stored.borrow_mut();
        let mut stored = slot.take().unwrap_or(Stored {
            stamp: Vec::new(),
            confirmed_at: 0,
            manifest: Vec::new(),
            deltas: Vec::new(),
        });
        stored.stamp = change.stamp.to_vec();
        stored.confirmed_at = change.confirmed_at;
        if let Some((manifest, names)) = &change.manifest {
            stored.manifest = manifest.to_vec();
            self.segments.borrow_mut().retain(|name, _| names.contains(name));
        }
        // As in SQL, a document replaces the one with its number, and documents are read in the order of their numbers.
        let is_replaced = |number: &i64| change.added.iter().any(|(added, _)| added == number);
        stored.deltas.retain(|(number, _)| !change.dropped.contains(number) && !is_replaced(number));
        stored.deltas.extend(change.added.iter().map(|(number, bytes)| (*number, bytes.to_vec())));
        stored.deltas.sort_by_key(|(number, _)| *number);
        *slot = Some(stored);
        Ok(())
    }

    fn lacking(&self, names: &[SegmentName]) -> Result<Vec<SegmentName>, DiskFault> {
        let known = self.segments.borrow();
        Ok(names.iter().filter(|name| !known.contains_key(name)).copied().collect())
    }

    fn segment(&self, name: &SegmentName) -> Result<Option<Vec<u8>>, DiskFault> {
        Ok(self.segments.borrow().get(name).cloned())
    }

    fn delete_segment(&self, name: &SegmentName) -> Result<(), DiskFault> {
        self.segments.borrow_mut().remove(name);
        Ok(())
    }

    fn put_segments(&self, segments: &[(SegmentName, &[u8])]) -> Result<(), DiskFault> {
        if self.is_full.get() {
            return Err(DiskFault("full".to_owned()));
        }
        self.segments.borrow_mut().extend(segments.iter().map(|(name, bytes)| (*name, bytes.to_vec())));
        Ok(())
    }
}
