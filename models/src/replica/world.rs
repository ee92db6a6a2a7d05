//! The state of the model: the Durable Object's storage, the origin's processes and the isolates.

use super::Mishap;
use super::catalogue::{Catalogue, Process, full, key};
use rds_edge::guard::DiskFault;
use rds_edge::replica::documents::{Content, Fault, Opened, OpenedStep};
use rds_edge::replica::pull::{PullFault, pull};
use rds_edge::replica::segments::{Segments, Unpacked};
use rds_edge::replica::store::{Change, ReplicaDisk, Store, Stored};
use rds_shared::access::link::ReplicaAsk;
use rds_shared::pace::{Pace, at_once};
use rds_shared::replica::{FORMAT, Families, Family, Row, Rows, SegmentName, StateId, Step, Update};
use rds_shared::route::TagVersions;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The Durable Object's storage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Platter {
    documents: Option<Stored>,
    segments: BTreeMap<SegmentName, Vec<u8>>,
}

struct Disk<'a> {
    platter: &'a RefCell<Platter>,
    /// Writes until one fails.
    writes: Cell<u8>,
}

impl Disk<'_> {
    fn write(&self) -> Result<(), DiskFault> {
        self.writes.set(self.writes.get().checked_sub(1).ok_or_else(full)?);
        Ok(())
    }
}

impl ReplicaDisk for Disk<'_> {
    fn read(&self) -> Result<Option<Stored>, DiskFault> {
        Ok(self.platter.borrow().documents.clone())
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        self.write()?;
        let platter = &mut *self.platter.borrow_mut();
        let empty = Stored { stamp: Vec::new(), confirmed_at: 0, manifest: Vec::new(), deltas: Vec::new() };
        let documents = platter.documents.get_or_insert(empty);
        (documents.stamp, documents.confirmed_at) = (change.stamp.to_vec(), change.confirmed_at);
        if let Some((manifest, names)) = &change.manifest {
            documents.manifest = manifest.to_vec();
            platter.segments.retain(|name, _| names.contains(name));
        }
        documents.deltas.retain(|(number, _)| !change.dropped.contains(number));
        documents.deltas.extend(change.added.iter().map(|(number, sealed)| (*number, sealed.to_vec())));
        documents.deltas.sort();
        Ok(())
    }

    fn lacking(&self, names: &[SegmentName]) -> Result<Vec<SegmentName>, DiskFault> {
        let platter = self.platter.borrow();
        Ok(names.iter().filter(|name| !platter.segments.contains_key(name)).copied().collect())
    }

    fn segment(&self, name: &SegmentName) -> Result<Option<Vec<u8>>, DiskFault> {
        Ok(self.platter.borrow().segments.get(name).cloned())
    }

    fn delete_segment(&self, name: &SegmentName) -> Result<(), DiskFault> {
        self.platter.borrow_mut().segments.remove(name);
        Ok(())
    }

    fn put_segments(&self, segments: &[(SegmentName, &[u8])]) -> Result<(), DiskFault> {
        self.write()?;
        let named = segments.iter().map(|(name, bytes)| (*name, bytes.to_vec()));
        self.platter.borrow_mut().segments.extend(named);
        Ok(())
    }
}

/// The rows of an isolate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Held {
    state: StateId,
    tags: TagVersions,
    rows: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Isolate {
    pub held: Option<Held>,
    /// The bytes of an update on their way.
    pub answer: Option<Vec<u8>>,
}

/// The world. Its last fields remember what happened, for the invariants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// The version of each process of the origin.
    pub versions: [usize; 2],
    platter: Platter,
    pub isolates: Vec<Isolate>,
    pub moves: u8,
    pub mishaps: u8,
    pub has_other_rows: bool,
    pub has_gone_back: bool,
    pub misleads: bool,
    pub has_sent_damage: bool,
    pub has_followed: bool,
    pub has_taken_whole: bool,
    pub has_refused_older: bool,
}

impl World {
    pub fn new(isolates: usize) -> Self {
        World {
            versions: [0, 0],
            platter: Platter::default(),
            isolates: vec![Isolate::default(); isolates],
            moves: 0,
            mishaps: 0,
            has_other_rows: false,
            has_gone_back: false,
            misleads: false,
            has_sent_damage: false,
            has_followed: false,
            has_taken_whole: false,
            has_refused_older: false,
        }
    }

    pub fn stored_segments(&self) -> usize {
        self.platter.segments.len()
    }

    /// Runs a new instance of the Durable Object.
    fn object<T>(&mut self, writes: u8, step: impl FnOnce(&Store<Disk<'_>>) -> T) -> T {
        let platter = RefCell::new(std::mem::take(&mut self.platter));
        let outcome = step(&Store::new(Disk { platter: &platter, writes: Cell::new(writes) }, key()));
        self.platter = platter.into_inner();
        outcome
    }

    pub fn pull(&mut self, catalogue: &Catalogue, process: usize, is_old: bool, mishap: Mishap) {
        let (before, damaged) = (self.stamp(), self.damaged());
        let version = self.versions[process];
        let process = Process { catalogue, version, is_old, mishap, calls: Cell::new(0) };
        let writes = if let Mishap::Disk(at) = mishap { at } else { u8::MAX };
        let outcome = self.object(writes, |store| at_once(pull(store, &process, TagVersions::default())));
        self.has_refused_older |= outcome == Err(PullFault::Refused(Fault::Older));
        let after = self.stamp();
        self.has_gone_back |= before.is_some_and(|before| after.is_none_or(|after| !after.covers(&before)));
        // A segment that is damaged on disk is noticed when it is asked for.
        let still_damaged = self.damaged();
        self.has_sent_damage |= still_damaged > damaged;
        self.misleads |= after.is_some() && still_damaged == 0 && !self.leads_everybody(catalogue);
    }

    /// Number of stored segments that are not what their names say.
    fn damaged(&self) -> usize {
        self.platter.segments.iter().filter(|(name, bytes)| SegmentName::of(bytes) != **name).count()
    }

    /// The tag versions of the Durable Object's stamp.
    fn stamp(&mut self) -> Option<TagVersions> {
        self.object(0, |store| store.kept().ok().flatten().map(|kept| kept.stamp.tags))
    }

    /// Whether a holder of any version's rows, and one without rows, gets what the stamp names.
    fn leads_everybody(&mut self, catalogue: &Catalogue) -> bool {
        let holders = catalogue.versions.iter().map(|version| {
            let rows = version.rows.of(Family::Vaults).iter().map(|row| row.bytes().to_vec()).collect();
            Some(Held { state: version.state, tags: TagVersions::default(), rows })
        });
        let holders: Vec<Option<Held>> = holders.chain([None]).collect();
        holders.into_iter().all(|held| {
            let update = self.answer(held.as_ref().map(|held| held.state));
            update
                .and_then(|update| self.applied(&update, held.as_ref()).ok())
                .is_some_and(|held| is_of(catalogue, &held))
        })
    }

    fn answer(&mut self, have: Option<StateId>) -> Option<Update> {
        let ask = ReplicaAsk { format: FORMAT, have, covering: TagVersions::default(), whole: false, holders: None };
        self.object(0, |store| store.kept().ok().flatten().map(|kept| kept.update_for(&ask)))
    }

    pub fn ask(&mut self, isolate: usize) {
        let have = self.isolates[isolate].held.as_ref().map(|held| held.state);
        self.isolates[isolate].answer = self.answer(have).map(|update| update.encode());
    }

    /// The rows after an update, with segments of the Durable Object.
    fn applied(&mut self, update: &Update, held: Option<&Held>) -> Result<Held, Fault> {
        let (keys, pace) = (key(), Pace::unbroken());
        let opened = at_once(Opened::of(update, &keys, &pace))?;
        let content = held.map(content);
        let mut segments = Segments::default();
        let wanted = Families::ALL;
        if let OpenedStep::Whole { manifest, .. } = &opened.step {
            let carried = opened.carried(content.as_ref());
            segments.expect(manifest);
            for family in wanted.without(carried).iter() {
                for name in manifest.of(family) {
                    let bytes =
                        self.object(0, |store| store.segment(name).ok().flatten()).ok_or(Fault::SegmentMissing)?;
                    self.has_sent_damage |= SegmentName::of(&bytes) != *name;
                    segments.take(at_once(Unpacked::of(*name, &bytes, None, &pace))?);
                }
            }
        }
        let content = at_once(opened.content(content, wanted, &segments, &pace))?;
        let rows = content.rows.of(Family::Vaults).iter().map(|row| row.bytes().to_vec()).collect();
        Ok(Held { state: content.state, tags: opened.stamp.tags, rows })
    }

    pub fn take(&mut self, catalogue: &Catalogue, isolate: usize) {
        let Some(bytes) = self.isolates[isolate].answer.take() else { return };
        let Some(update) = Update::decode(&bytes) else { return };
        let held = self.isolates[isolate].held.clone();
        let Ok(next) = self.applied(&update, held.as_ref()) else { return };
        // As in `refresh`: an isolate keeps rows that include a change which the stamp lacks.
        if held.is_some_and(|held| !next.tags.covers(&held.tags)) {
            return;
        }
        self.has_followed |= matches!(update.step, Step::Deltas(_));
        self.has_taken_whole |= matches!(update.step, Step::Whole { .. });
        self.has_other_rows |= !is_of(catalogue, &next);
        self.isolates[isolate].held = Some(next);
    }

    pub fn damage(&mut self, segment: usize) {
        if let Some(bytes) = self.platter.segments.values_mut().nth(segment) {
            bytes.push(1);
        }
    }
}

/// The rows of all families; only vaults have any.
fn content(held: &Held) -> Content {
    let mut rows = Rows::default();
    let list: Vec<Row> = held.rows.iter().filter_map(|bytes| Row::from_bytes(bytes)).collect();
    let _ = rows.set(Family::Vaults, Arc::new(list));
    Content { state: held.state, families: Families::ALL, rows }
}

/// Whether the rows are those of the version whose tags the holder claims.
fn is_of(catalogue: &Catalogue, held: &Held) -> bool {
    let version = catalogue.versions.iter().find(|version| version.tags == held.tags);
    version.is_some_and(|version| version.state == held.state && content(held).rows == version.rows)
}
