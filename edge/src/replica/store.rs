//! The Durable Object's state: the origin's documents, and what they answer. Segments stay on disk.
//!
//! The documents are a manifest and a chain of deltas. The chain passes through the manifest's state and ends at the stamp's, so that a holder
//! of any state on the way gets the deltas from there on, and every other one gets the manifest.

use super::documents::{self, Fault, Opened, OpenedStep, PackedDelta};
use crate::guard::DiskFault;
use rds_shared::access::AssertionKey;
use rds_shared::access::link::ReplicaAsk;
use rds_shared::replica::{Manifest, SegmentName, Stamp, StateId, Step, Update};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Bytes of the deltas since the manifest above which a new manifest is wanted.
pub const WHOLE_AFTER_BYTES: usize = 256 << 10;
/// Bytes of all deltas above which those before the manifest are dropped.
const MAX_DELTA_BYTES: usize = 2 * WHOLE_AFTER_BYTES;

/// Durable storage of the documents.
pub trait ReplicaDisk {
    /// The stored documents; `None` if there are none.
    fn read(&self) -> Result<Option<Stored>, DiskFault>;

    /// Applies a change atomically.
    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault>;

    /// Those of `names` that are not stored.
    fn lacking(&self, names: &[SegmentName]) -> Result<Vec<SegmentName>, DiskFault>;

    fn segment(&self, name: &SegmentName) -> Result<Option<Vec<u8>>, DiskFault>;

    /// Deletes a segment.
    fn delete_segment(&self, name: &SegmentName) -> Result<(), DiskFault>;

    /// Stores segments, replacing what is stored under their names.
    fn put_segments(&self, segments: &[(SegmentName, &[u8])]) -> Result<(), DiskFault>;
}

/// The stored documents, sealed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stored {
    pub stamp: Vec<u8>,
    /// When the origin confirmed the stamp, in milliseconds since the Unix epoch, by the clock of the Durable Object.
    pub confirmed_at: i64,
    pub manifest: Vec<u8>,
    /// The deltas in their order, by ascending numbers.
    pub deltas: Vec<(i64, Vec<u8>)>,
}

/// A change of the stored documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<'a> {
    pub stamp: &'a [u8],
    pub confirmed_at: i64,
    /// A new manifest, and the segments that it names; all others are deleted.
    pub manifest: Option<(&'a [u8], Vec<SegmentName>)>,
    /// Deltas to add.
    pub added: Vec<(i64, &'a [u8])>,
    /// Deltas to delete.
    pub dropped: Vec<i64>,
}

/// The documents in memory.
#[derive(Debug, Clone)]
pub struct Kept {
    pub stamp: Stamp,
    /// As [`Stored::confirmed_at`].
    pub confirmed_at: i64,
    sealed_stamp: Vec<u8>,
    manifest: Vec<u8>,
    manifest_state: StateId,
    deltas: Vec<KeptDelta>,
}

#[derive(Debug, Clone)]
struct KeptDelta {
    number: i64,
    from: StateId,
    to: StateId,
    sealed: Vec<u8>,
}

impl Kept {
    /// Opens the stored documents; an error if they are not whole or not sealed with one of `keys`.
    fn open(stored: Stored, keys: &[AssertionKey]) -> Result<(Self, Manifest), Fault> {
        let manifest = documents::manifest(&stored.manifest, keys)?;
        let delta = |(number, sealed): (i64, Vec<u8>)| {
            let (from, to) = documents::ends_of_delta(&sealed, keys)?;
            Ok(KeptDelta { number, from, to, sealed })
        };
        let kept = Kept {
            stamp: documents::stamp(&stored.stamp, keys)?,
            confirmed_at: stored.confirmed_at,
            sealed_stamp: stored.stamp,
            manifest: stored.manifest,
            manifest_state: manifest.state,
            deltas: stored.deltas.into_iter().map(delta).collect::<Result<_, Fault>>()?,
        };
        if kept.is_chain() { Ok((kept, manifest)) } else { Err(Fault::WrongResult) }
    }

    /// Whether each delta begins where the one before ends, the last one ends at the stamp's state, and the manifest's state is on the way.
    fn is_chain(&self) -> bool {
        let is_linked = self.deltas.iter().zip(self.deltas.iter().skip(1)).all(|(one, next)| one.to == next.from);
        is_linked
            && self.deltas.last().is_none_or(|last| last.to == self.stamp.state)
            && self.place(self.manifest_state).is_some()
    }

    /// How many deltas lie before a state on the way: the latest such place.
    fn place(&self, state: StateId) -> Option<usize> {
        if state == self.stamp.state {
            return Some(self.deltas.len());
        }
        self.deltas.iter().rposition(|delta| delta.from == state)
    }

    fn sealed_from(&self, place: usize) -> Vec<Vec<u8>> {
        self.deltas.iter().skip(place).map(|delta| delta.sealed.clone()).collect()
    }

    /// What leads the asker to the stamp's state.
    pub fn update_for(&self, ask: &ReplicaAsk) -> Update {
        let place = ask.have.filter(|_| !ask.whole).and_then(|have| self.place(have));
        let step = match place {
            Some(place) if place == self.deltas.len() => Step::Current,
            Some(place) => Step::Deltas(self.sealed_from(place)),
            None => {
                let place = self.place(self.manifest_state).unwrap_or(self.deltas.len());
                Step::Whole { manifest: self.manifest.clone(), deltas: self.sealed_from(place) }
            }
        };
        Update { stamp: self.sealed_stamp.clone(), step }
    }

    /// Whether the deltas since the manifest are so long that a new manifest is wanted.
    pub fn wants_whole(&self) -> bool {
        let place = self.place(self.manifest_state).unwrap_or(0);
        bytes(self.deltas.iter().skip(place)) > WHOLE_AFTER_BYTES
    }

    /// The documents after an update that the origin confirmed at `confirmed_at`.
    fn after(before: Option<&Kept>, update: &Update, opened: &Opened, confirmed_at: i64) -> Result<Self, Fault> {
        let stamp = opened.stamp.clone();
        if before.is_some_and(|before| !stamp.tags.covers(&before.stamp.tags)) {
            return Err(Fault::Older);
        }
        let mut number = before.and_then(|before| before.deltas.last()).map_or(0, |last| last.number);
        let mut numbered = |deltas: &[PackedDelta], sealed: &[Vec<u8>]| {
            let kept = deltas.iter().zip(sealed).map(|(delta, sealed)| {
                number = number.saturating_add(1);
                KeptDelta { number, from: delta.from, to: delta.to, sealed: sealed.clone() }
            });
            kept.collect::<Vec<_>>()
        };
        let sealed_stamp = update.stamp.clone();
        let mut after = match (&opened.step, &update.step) {
            (OpenedStep::Whole { manifest, deltas }, Step::Whole { manifest: sealed, deltas: others }) => {
                let mut all = before.map_or(Vec::new(), |before| before.until(manifest.state));
                all.extend(numbered(deltas, others));
                let manifest_state = manifest.state;
                Kept { stamp, confirmed_at, sealed_stamp, manifest: sealed.clone(), manifest_state, deltas: all }
            }
            (OpenedStep::Deltas(deltas), Step::Deltas(sealed)) => {
                let before = before.ok_or(Fault::OtherState)?;
                if deltas.first().is_some_and(|first| first.from != before.stamp.state) {
                    return Err(Fault::OtherState);
                }
                let mut all = before.deltas.clone();
                all.extend(numbered(deltas, sealed));
                Kept { stamp, confirmed_at, sealed_stamp, deltas: all, ..before.clone() }
            }
            _ => Kept { stamp, confirmed_at, sealed_stamp, ..before.ok_or(Fault::OtherState)?.clone() },
        };
        if !after.is_chain() {
            return Err(Fault::WrongResult);
        }
        after.prune();
        Ok(after)
    }

    /// The deltas up to a state; none if the state is not on the way.
    fn until(&self, state: StateId) -> Vec<KeptDelta> {
        self.place(state).map_or(Vec::new(), |place| self.deltas.iter().take(place).cloned().collect())
    }

    fn prune(&mut self) {
        let mut before_manifest = self.place(self.manifest_state).unwrap_or(0);
        while before_manifest > 0 && bytes(self.deltas.iter()) > MAX_DELTA_BYTES {
            self.deltas.remove(0);
            before_manifest = before_manifest.saturating_sub(1);
        }
    }
}

fn bytes<'a>(deltas: impl Iterator<Item = &'a KeptDelta>) -> usize {
    deltas.map(|delta| delta.sealed.len()).fold(0, usize::saturating_add)
}

/// The documents of a Durable Object, in memory and on its disk. After a storage fault they are loaded again.
#[derive(Debug)]
pub struct Store<D> {
    pub disk: D,
    keys: Vec<AssertionKey>,
    /// Number of stored segments that were not what their names say, since it was last taken.
    pub damaged: Cell<u64>,
    /// `None` before they are loaded; `Some(None)` if there are none.
    loaded: RefCell<Option<Option<Rc<Kept>>>>,
}

impl<D: ReplicaDisk> Store<D> {
    /// The documents on `disk`, sealed with one of `keys`.
    pub fn new(disk: D, keys: Vec<AssertionKey>) -> Self {
        Store { disk, keys, damaged: Cell::default(), loaded: RefCell::default() }
    }

    pub fn keys(&self) -> &[AssertionKey] {
        &self.keys
    }

    /// The documents; `None` if there are none that can be used. Documents that lack a segment, or that no key of this release has sealed,
    /// are of no use and are replaced by the next whole state.
    pub fn kept(&self) -> Result<Option<Rc<Kept>>, DiskFault> {
        if let Some(kept) = &*self.loaded.borrow() {
            return Ok(kept.clone());
        }
        let opened = self.disk.read()?.and_then(|stored| Kept::open(stored, &self.keys).ok());
        let kept = match opened {
            Some((kept, manifest)) => {
                let names: Vec<SegmentName> = manifest.names().copied().collect();
                self.disk.lacking(&names)?.is_empty().then(|| Rc::new(kept))
            }
            None => None,
        };
        *self.loaded.borrow_mut() = Some(kept.clone());
        Ok(kept)
    }

    /// Takes an update, all of whose segments are stored. After an error everything is as before.
    pub fn take(&self, update: &Update, opened: &Opened, confirmed_at: i64) -> Result<Result<(), Fault>, DiskFault> {
        let before = self.kept()?;
        let after = match Kept::after(before.as_deref(), update, opened, confirmed_at) {
            Ok(after) => after,
            Err(fault) => return Ok(Err(fault)),
        };
        let manifest = match &opened.step {
            OpenedStep::Whole { manifest, .. } => {
                Some((after.manifest.as_slice(), manifest.names().copied().collect()))
            }
            OpenedStep::Current | OpenedStep::Deltas(_) => None,
        };
        let numbers = |kept: &Kept| kept.deltas.iter().map(|delta| delta.number).collect::<Vec<_>>();
        let (old, new) = (before.as_deref().map_or(Vec::new(), numbers), numbers(&after));
        // Documents that are of no use may still be stored, and their deltas would break the chain when it is loaded again.
        let stored = match &before {
            Some(_) => old.clone(),
            None => {
                self.disk.read()?.map_or(Vec::new(), |stored| stored.deltas.iter().map(|(number, _)| *number).collect())
            }
        };
        let is_new = |delta: &&KeptDelta| !old.contains(&delta.number);
        let change = Change {
            stamp: &after.sealed_stamp,
            confirmed_at,
            manifest,
            added: after.deltas.iter().filter(is_new).map(|delta| (delta.number, delta.sealed.as_slice())).collect(),
            dropped: stored.into_iter().filter(|number| !new.contains(number)).collect(),
        };
        if let Err(fault) = self.disk.write(&change) {
            *self.loaded.borrow_mut() = None;
            return Err(fault);
        }
        *self.loaded.borrow_mut() = Some(Some(Rc::new(after)));
        Ok(Ok(()))
    }

    /// A stored segment. Bytes that are not what their name says are counted and deleted, so that they are fetched again.
    pub fn segment(&self, name: &SegmentName) -> Result<Option<Vec<u8>>, DiskFault> {
        let Some(bytes) = self.disk.segment(name)? else { return Ok(None) };
        if SegmentName::of(&bytes) == *name {
            return Ok(Some(bytes));
        }
        self.damaged.set(self.damaged.get().saturating_add(1));
        self.disk.delete_segment(name)?;
        Ok(None)
    }
}
