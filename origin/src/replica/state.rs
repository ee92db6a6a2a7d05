//! The rows of a catalog with their digests, made from those before.

use anyhow::Context;
use rds_shared::replica::family::FAMILIES;
use rds_shared::replica::{Family, Row, Rows, StateId};
use std::cmp::Ordering;
use std::sync::Arc;

/// SHA-256 of a row ([`Row::digest`]).
type Digest = [u8; 32];

/// The rows of a state, and the digest of each.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) id: StateId,
    pub(super) rows: Rows,
    digests: [Arc<Vec<Digest>>; FAMILIES],
}

/// A state, and what it took over.
#[derive(Debug)]
pub(super) struct Advanced {
    pub(super) state: State,
    /// Bytes of the rows before that are not in the state.
    pub(super) replaced_bytes: usize,
}

impl State {
    /// The state of `rows`. Rows that are equal to rows of this state are these rows, so that equal rows are the same in memory and only other
    /// rows are hashed.
    pub(super) fn advance(&self, rows: &Rows) -> anyhow::Result<Advanced> {
        let mut state = State::default();
        let mut replaced_bytes = 0;
        for family in Family::ALL {
            let (known, next) = (self.rows.of(family), rows.of(family));
            let known_digests = &self.digests[family as usize];
            let merged = match Arc::ptr_eq(known, next) {
                true => None,
                false => merge(family, (known, known_digests), next),
            };
            let (list, digests) = match merged {
                None => (Arc::clone(known), Arc::clone(known_digests)),
                Some(Merged { rows, digests, replaced }) => {
                    replaced_bytes += replaced;
                    (Arc::new(rows), Arc::new(digests))
                }
            };
            digests.iter().for_each(|digest| state.id.add(digest));
            state.rows.set(family, list).with_context(|| format!("the {} are out of order", family.name()))?;
            state.digests[family as usize] = digests;
        }
        Ok(Advanced { state, replaced_bytes })
    }

    /// The digests of a family's rows, in their order.
    pub(super) fn digests(&self, family: Family) -> &[Digest] {
        &self.digests[family as usize]
    }
}

struct Merged {
    rows: Vec<Row>,
    digests: Vec<Digest>,
    /// Bytes of the known rows that are not among `rows`.
    replaced: usize,
}

/// The rows of `next` with their digests; `None` if they equal the known ones.
fn merge(family: Family, known: (&[Row], &[Digest]), next: &[Row]) -> Option<Merged> {
    let mut merged =
        Merged { rows: Vec::with_capacity(next.len()), digests: Vec::with_capacity(next.len()), replaced: 0 };
    let mut rest = known.0.iter().zip(known.1).peekable();
    let mut is_same = known.0.len() == next.len();
    for row in next {
        let mut found = None;
        while let Some((before, digest)) = rest.next_if(|(before, _)| before.key() <= row.key()) {
            match before.key().cmp(row.key()) {
                Ordering::Equal if before.is_same(row) || before == row => found = Some((before, digest)),
                _ => merged.replaced += before.bytes().len(),
            }
        }
        let (row, digest) = match found {
            Some((before, digest)) => (before.clone(), *digest),
            None => {
                is_same = false;
                (row.clone(), row.digest(family))
            }
        };
        merged.rows.push(row);
        merged.digests.push(digest);
    }
    merged.replaced += rest.map(|(before, _)| before.bytes().len()).sum::<usize>();
    (!is_same).then_some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Rows with these contents, by number.
    fn rows(of: &BTreeMap<u8, u8>) -> Rows {
        let list = of.iter().map(|(number, content)| Row::new(&[*number], &[*content; 9]).unwrap()).collect();
        let mut rows = Rows::default();
        rows.set(Family::Markets, Arc::new(list)).unwrap();
        rows
    }

    proptest! {
        #[test]
        fn a_state_reached_in_steps_is_the_state_of_its_rows_and_shares_what_did_not_change(
            steps in prop::collection::vec(prop::collection::btree_map(0u8..12, 0u8..3, 0..12), 1..6),
        ) {
            let mut state = State::default();
            for step in &steps {
                let before = state;
                let next = rows(step);
                let Advanced { state: after, replaced_bytes } = before.advance(&next).unwrap();
                prop_assert_eq!(&after.rows, &next);
                prop_assert_eq!(after.id, StateId::of(&next));
                let digests: Vec<Digest> = next.of(Family::Markets).iter().map(|row| row.digest(Family::Markets)).collect();
                prop_assert_eq!(after.digests(Family::Markets), digests.as_slice());
                let mut replaced = 0;
                for row in before.rows.of(Family::Markets).iter() {
                    match after.rows.find(Family::Markets, row.key()) {
                        Some(kept) if kept == row => prop_assert!(kept.is_same(row)),
                        _ => replaced += row.bytes().len(),
                    }
                }
                prop_assert_eq!(replaced_bytes, replaced);
                prop_assert_eq!(before.id == after.id, after.rows.shares(&before.rows, Family::Markets));
                state = after;
            }
        }
    }
}
