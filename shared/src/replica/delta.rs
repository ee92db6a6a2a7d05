//! Deltas: what leads from one state to another.
//!
//! A row that changed in few places travels as [edits](crate::wire::edits). What results is checked by the state's name, not by how it was made.

use super::changes;
use super::families::Families;
use super::family::{FAMILIES, Family};
use super::inflate::inflate;
use super::row::{HASH_NANOS, Row, Rows};
use super::state::StateId;
use crate::pace::{Pace, at_once};
use crate::wire::edits::{self, Edit};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use miniz_oxide::deflate::compress_to_vec;

/// Most bytes that a delta may unpack to.
const MAX_UNPACKED_BYTES: usize = 64 << 20;
const LEVEL: u8 = 6;
/// About what it takes to put a change in order, to find and patch its row, and to take over a row.
const SORT_NANOS: usize = 40;
const CHANGE_NANOS: usize = 30_000;
const ROW_NANOS: usize = 10;
/// Rows of which one tells whether a family's rows are packed.
const PACKED_OF: usize = 64;

/// The changes that lead from one state to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    pub from: StateId,
    pub to: StateId,
    /// At most one change of each row.
    pub changes: Vec<Change>,
}

/// A change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new row, or one that replaces that with its key.
    Put(Family, Row),
    /// The bytes of a row that changed.
    Patch(Family, Patch),
    /// The row with this key is gone.
    Remove(Family, Vec<u8>),
}

/// The bytes of a row's content that changed, in their order. The key is not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub key: Vec<u8>,
    pub edits: Vec<Edit>,
}

/// Why a delta cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaFault {
    /// It begins at another state.
    OtherState,
    /// It does not lead to the state that it names.
    WrongResult,
}

impl Delta {
    /// What leads from one state to another. Rows that are the same in memory are not compared.
    pub fn between(from: (&Rows, StateId), to: (&Rows, StateId)) -> Self {
        let mut changes = Vec::new();
        for family in Family::ALL.into_iter().filter(|family| !from.0.shares(to.0, *family)) {
            let (mut old, mut new) = (from.0.of(family).as_slice(), to.0.of(family).as_slice());
            loop {
                match (old.split_first(), new.split_first()) {
                    (None, None) => break,
                    (Some((gone, others)), None) => {
                        changes.push(Change::Remove(family, gone.key().to_vec()));
                        old = others;
                    }
                    (None, Some((added, others))) => {
                        changes.push(Change::Put(family, added.clone()));
                        new = others;
                    }
                    (Some((before, rest_old)), Some((after, rest_new))) => match before.key().cmp(after.key()) {
                        Ordering::Less => {
                            changes.push(Change::Remove(family, before.key().to_vec()));
                            old = rest_old;
                        }
                        Ordering::Greater => {
                            changes.push(Change::Put(family, after.clone()));
                            new = rest_new;
                        }
                        Ordering::Equal => {
                            if !before.is_same(after) && before != after {
                                changes.push(Change::of(family, before, after));
                            }
                            (old, new) = (rest_old, rest_new);
                        }
                    },
                }
            }
        }
        Delta { from: from.1, to: to.1, changes }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(self.from.bytes());
        out.extend_from_slice(self.to.bytes());
        out.extend_from_slice(&compress_to_vec(&changes::encode(&self.changes), LEVEL));
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        at_once(Self::read(bytes, &Pace::unbroken()))
    }

    /// Like [`decode`](Self::decode), with pauses.
    pub async fn read(bytes: &[u8], pace: &Pace<'_>) -> Option<Self> {
        let (from, to, packed) = split(bytes)?;
        let raw = inflate(packed, MAX_UNPACKED_BYTES, pace).await?;
        let changes = changes::read(&raw, pace).await?;
        Some(Delta { from, to, changes })
    }

    /// The states between which an encoded delta leads.
    pub fn ends(bytes: &[u8]) -> Option<(StateId, StateId)> {
        split(bytes).map(|(from, to, _)| (from, to))
    }

    /// The rows after the changes, given the rows of the state `at`. Every changed row is hashed, to check that the result is the state
    /// that the delta names.
    pub fn apply(&self, rows: &Rows, at: StateId) -> Result<Rows, DeltaFault> {
        at_once(self.apply_only(rows.clone(), at, Families::ALL, &Pace::unbroken()))
    }

    /// Like [`apply`](Self::apply), with pauses, for a holder of some families, whose rows are `rows`. Changes of other families are passed over.
    /// If there are any, the name of the result cannot be computed, and that the delta begins at the holder's state is all that is checked.
    /// Rows that nobody else holds are freed one by one, as soon as those that replace them are made.
    pub async fn apply_only(
        &self,
        rows: Rows,
        at: StateId,
        families: Families,
        pace: &Pace<'_>,
    ) -> Result<Rows, DeltaFault> {
        if at != self.from {
            return Err(DeltaFault::OtherState);
        }
        pace.step(self.changes.len() * SORT_NANOS).await;
        let (mut after, mut id, mut is_whole) = (rows, at, true);
        for (family, changes) in Family::ALL.into_iter().zip(self.by_family()) {
            if changes.is_empty() {
                continue;
            }
            if !families.has(family) {
                is_whole = false;
                continue;
            }
            let rows = Arc::try_unwrap(after.take(family)).unwrap_or_else(|shared| shared.to_vec());
            let list = merged(rows, family, &changes, &mut id, pace).await;
            after.put_sorted(family, list.ok_or(DeltaFault::WrongResult)?);
        }
        if id == self.to || !is_whole { Ok(after) } else { Err(DeltaFault::WrongResult) }
    }

    /// The changes of each family, by key. Of several changes of one row, the last one counts.
    fn by_family(&self) -> [Vec<(&[u8], &Change)>; FAMILIES] {
        let mut all: [Vec<(&[u8], &Change)>; FAMILIES] = core::array::from_fn(|_| Vec::new());
        for change in &self.changes {
            let (family, key) = match change {
                Change::Put(family, row) => (family, row.key()),
                Change::Patch(family, patch) => (family, patch.key.as_slice()),
                Change::Remove(family, key) => (family, key.as_slice()),
            };
            if let Some(changes) = all.get_mut(*family as usize) {
                changes.push((key, change));
            }
        }
        // They travel in this order, so that there is nothing to do.
        for changes in all.iter_mut().filter(|changes| !changes.is_sorted_by(|a, b| a.0 < b.0)) {
            changes.reverse();
            changes.sort_by_key(|(key, _)| *key);
            changes.dedup_by_key(|(key, _)| *key);
        }
        all
    }
}

/// The states between which an encoded delta leads, and its packed changes.
fn split(bytes: &[u8]) -> Option<(StateId, StateId, &[u8])> {
    let (from, rest) = bytes.split_first_chunk::<32>()?;
    let (to, packed) = rest.split_first_chunk::<32>()?;
    Some((StateId::from_bytes(*from), StateId::from_bytes(*to), packed))
}

/// A family's rows after its changes; `id` follows. `None` if a row that is patched or removed is not there.
async fn merged(
    mut rows: Vec<Row>,
    family: Family,
    changes: &[(&[u8], &Change)],
    id: &mut StateId,
    pace: &Pace<'_>,
) -> Option<Vec<Row>> {
    pace.step(rows.len() * ROW_NANOS).await;
    // Changed rows are packed as the others are.
    let dictionary = rows.iter().take(PACKED_OF).find_map(Row::dictionary).map(Arc::clone);
    let (mut from, mut added, mut gone) = (0, Vec::new(), Vec::new());
    for (key, change) in changes {
        from += rows.get(from..)?.partition_point(|row| row.key() < *key);
        let place = rows.get_mut(from).filter(|row| row.key() == *key);
        let known = place.as_deref().map(Row::unpacked);
        pace.step(known.as_ref().map_or(0, Row::stored_len) * 2 * HASH_NANOS + CHANGE_NANOS).await;
        let next = match change {
            Change::Put(_, row) => Some(row.clone()),
            Change::Patch(_, patch) => Some(patch.applied_to(known.as_ref()?)?),
            Change::Remove(..) => {
                known.as_ref()?;
                None
            }
        };
        if let Some(row) = known {
            id.remove(&row.digest(family));
        }
        if let Some(row) = &next {
            id.add(&row.digest(family));
        }
        let next = next.map(|row| match &dictionary {
            Some(dictionary) => row.packed(dictionary),
            None => row,
        });
        match (place, next) {
            (Some(place), Some(row)) => *place = row,
            (Some(_), None) => gone.push(from),
            (None, Some(row)) => added.push((from, row)),
            (None, None) => {}
        }
    }
    if gone.is_empty() && added.is_empty() {
        return Some(rows);
    }
    pace.step(rows.len() * ROW_NANOS).await;
    let mut list = Vec::with_capacity(rows.len() + added.len() - gone.len());
    let (mut gone, mut added) = (gone.into_iter().peekable(), added.into_iter().peekable());
    for (place, row) in rows.into_iter().enumerate() {
        while let Some((_, row)) = added.next_if(|(at, _)| *at == place) {
            list.push(row);
        }
        if gone.next_if_eq(&place).is_none() {
            list.push(row);
        }
    }
    list.extend(added.map(|(_, row)| row));
    Some(list)
}

impl Change {
    /// How `before` became `after`, a row with the same key.
    fn of(family: Family, before: &Row, after: &Row) -> Self {
        match Patch::of(before, after) {
            Some(patch) => Change::Patch(family, patch),
            None => Change::Put(family, after.clone()),
        }
    }
}

impl Patch {
    /// How `before` became `after`, a row with the same key; `None` if the whole row is hardly longer.
    fn of(before: &Row, after: &Row) -> Option<Self> {
        let (old, new) = (before.content(), after.content());
        let edits = edits::between(&old, &new);
        (edits::stored_len(&edits) < new.len() / 2).then(|| Patch { key: after.key().to_vec(), edits })
    }

    /// The row with its changed bytes; `None` if it has fewer bytes than the edits speak of.
    fn applied_to(&self, row: &Row) -> Option<Row> {
        Row::new(row.key(), &edits::applied(&self.edits, &row.content())?)
    }
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
