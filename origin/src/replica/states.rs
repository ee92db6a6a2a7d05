//! The current state and the ones before it, and what leads from those to the current one.

use super::state::{Advanced, State};
use crate::catalog::Catalog;
use rds_engine::clock::Stopwatch;
use rds_shared::model::ids::ChainId;
use rds_shared::read_model::chain_of;
use rds_shared::replica::{Change, Delta, Family, Rows, StateId};
use rds_shared::wire::edits;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Most states that are remembered besides the current one. The catalog changes at most every second or so.
const MAX_STATES: usize = 128;
/// How long a state is remembered after it was replaced: a replica that was out of reach for longer is served whole.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);
/// Most bytes of rows that only remembered states hold: some two complete changes of 25,000 vaults.
const MAX_REPLACED_BYTES: usize = 256 << 20;
/// Most bytes of a delta as it travels. A larger one is hardly shorter than the segments of 25,000 vaults, and unpacks to more than a Worker can
/// spare beside their rows.
const MAX_DELTA_BYTES: usize = 3 << 20;
/// Most bytes of a delta before compression, which shrinks changes to a tenth or so: a larger delta is not compressed only to be found too
/// large.
const MAX_RAW_DELTA_BYTES: usize = 24 << 20;
/// Most deltas to the current state that are kept. Replicas that are kept up to date have one of the last few states.
const MAX_DELTAS: usize = 4;

/// The states of the catalogs so far, as far as they are remembered.
#[derive(Debug, Default)]
pub(super) struct States {
    /// The catalog that `current` was made from; `None` before the first. A weak reference, so that a replaced catalog is freed.
    of: Option<Weak<Catalog>>,
    current: State,
    /// The withheld chains of which `current` contains nothing.
    withheld: Vec<ChainId>,
    /// Oldest first.
    earlier: VecDeque<Earlier>,
    /// Deltas to the current state by the state that they begin at, oldest first; `None` if one is too large.
    deltas: VecDeque<(StateId, Option<Arc<[u8]>>)>,
}

/// A state that was current before.
#[derive(Debug)]
struct Earlier {
    id: StateId,
    rows: Rows,
    replaced_at: Stopwatch,
    /// Bytes of the rows that the next state does not have.
    replaced_bytes: usize,
}

impl States {
    /// Makes the state of `catalog` the current one; `true` if it was not before.
    pub(super) fn advance_to(&mut self, catalog: &Arc<Catalog>) -> anyhow::Result<bool> {
        let next = Arc::downgrade(catalog);
        if self.of.as_ref().is_some_and(|of| of.ptr_eq(&next)) {
            return Ok(false);
        }
        let Advanced { state, replaced_bytes } = self.current.advance(&catalog.model.rows())?;
        self.withheld = without_rows(&catalog.withheld, &state.rows);
        let is_first = self.of.replace(next).is_none();
        let before = std::mem::replace(&mut self.current, state);
        if before.id == self.current.id {
            return Ok(is_first);
        }
        self.deltas.clear();
        self.earlier.retain(|earlier| earlier.id != self.current.id);
        if !is_first {
            let State { id, rows, .. } = before;
            self.earlier.push_back(Earlier { id, rows, replaced_at: Stopwatch::start(), replaced_bytes });
        }
        self.forget();
        Ok(true)
    }

    /// Forgets the oldest states beyond the limits.
    fn forget(&mut self) {
        let mut bytes: usize = self.earlier.iter().map(|earlier| earlier.replaced_bytes).sum();
        while let Some(oldest) = self.earlier.front() {
            let is_old = oldest.replaced_at.elapsed() > MAX_AGE;
            if self.earlier.len() <= MAX_STATES && bytes <= MAX_REPLACED_BYTES && !is_old {
                break;
            }
            bytes -= oldest.replaced_bytes;
            self.earlier.pop_front();
        }
    }

    pub(super) fn current(&self) -> &State {
        &self.current
    }

    /// The withheld chains of which the current state contains nothing, in ascending order.
    pub(super) fn withheld(&self) -> &[ChainId] {
        &self.withheld
    }

    /// Number of remembered states, with the current one; 0 before the first.
    pub(super) fn count(&self) -> usize {
        self.earlier.len() + usize::from(self.of.is_some())
    }

    /// The encoded delta from the state `have` to the current one. `None` if that state is not remembered, or if the delta is too large.
    pub(super) fn delta_from(&mut self, have: StateId) -> Option<Arc<[u8]>> {
        if let Some((_, known)) = self.deltas.iter().find(|(from, _)| *from == have) {
            return known.clone();
        }
        let earlier = self.earlier.iter().find(|earlier| earlier.id == have)?;
        let delta = Delta::between((&earlier.rows, earlier.id), (&self.current.rows, self.current.id));
        let encoded = match raw_bytes(&delta) <= MAX_RAW_DELTA_BYTES {
            true => Some(delta.encode()).filter(|encoded| encoded.len() <= MAX_DELTA_BYTES).map(Arc::from),
            false => None,
        };
        if self.deltas.len() >= MAX_DELTAS {
            self.deltas.pop_front();
        }
        self.deltas.push_back((have, encoded.clone()));
        encoded
    }
}

/// Bytes of a delta before compression, approximately.
fn raw_bytes(delta: &Delta) -> usize {
    let bytes = delta.changes.iter().map(|change| match change {
        Change::Put(_, row) => row.bytes().len(),
        Change::Patch(_, patch) => patch.key.len() + edits::stored_len(&patch.edits),
        Change::Remove(_, key) => key.len(),
    });
    bytes.sum()
}

/// The chains of `withheld` of which there are no rows. A chain that was served again while the catalog was built has some.
fn without_rows(withheld: &[ChainId], rows: &Rows) -> Vec<ChainId> {
    if withheld.is_empty() {
        return Vec::new();
    }
    let mut chains = BTreeSet::new();
    for family in Family::ALL {
        chains.extend(rows.of(family).iter().filter_map(|row| chain_of(family, row)));
    }
    withheld.iter().filter(|chain| !chains.contains(chain)).copied().collect()
}
