//! How a list's rows are numbered after a change of the list, and which of them changed.

use alloc::{sync::Arc, vec::Vec};
use core::ops::Range;

/// Consecutive rows that are consecutive in the changed list too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) old: u32,
    pub(super) new: u32,
    pub(super) rows: u32,
}

/// A row of the changed list that is new or has other values than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangedRow {
    pub(super) row: u32,
    /// Its number before; `None` if it is new.
    pub(super) old: Option<u32>,
}

/// Relates the rows of a list to the rows of the same list before a change. A clone shares its content.
#[derive(Debug, Clone, Default)]
pub struct Renumbering(Arc<Parts>);

#[derive(Debug, Clone, Default)]
struct Parts {
    old_rows: usize,
    rows: usize,
    /// The rows that are in both lists, ascending.
    moves: Vec<Move>,
    /// Ascending.
    changed: Vec<ChangedRow>,
}

impl Renumbering {
    /// For each row of the changed list: its number among the `old_rows` rows before, `None` for a new row, and whether a value of
    /// any of its columns differs from before. Rows keep their relative order: a number that is not above the preceding ones counts
    /// as `None`.
    pub fn new(old_rows: usize, rows: impl Iterator<Item = (Option<u32>, bool)>) -> Self {
        let mut parts = Parts { old_rows, ..Parts::default() };
        let mut next_old = 0u32;
        for (row, (old, changed)) in (0u32..).zip(rows) {
            let old = old.filter(|&old| old >= next_old && (old as usize) < old_rows);
            if let Some(old) = old {
                next_old = old + 1;
                match parts.moves.last_mut() {
                    Some(last) if last.old + last.rows == old && last.new + last.rows == row => last.rows += 1,
                    _ => parts.moves.push(Move { old, new: row, rows: 1 }),
                }
            }
            if changed || old.is_none() {
                parts.changed.push(ChangedRow { row, old });
            }
            parts.rows += 1;
        }
        Renumbering(Arc::new(parts))
    }

    /// Number of rows before the change.
    pub fn old_rows(&self) -> usize {
        self.0.old_rows
    }

    /// Number of rows of the changed list.
    pub fn rows(&self) -> usize {
        self.0.rows
    }

    /// The rows that are in both lists, ascending.
    pub(super) fn moves(&self) -> &[Move] {
        &self.0.moves
    }

    /// Numbers of the rows that are new or changed, ascending.
    pub fn changed_rows(&self) -> impl ExactSizeIterator<Item = u32> {
        self.changed().iter().map(|changed| changed.row)
    }

    /// The rows that are new or changed, ascending.
    pub(super) fn changed(&self) -> &[ChangedRow] {
        &self.0.changed
    }

    /// Whether no row was added or removed.
    pub(super) fn keeps_numbers(&self) -> bool {
        let kept = match self.moves() {
            [] => 0,
            [only] => only.rows as usize,
            _ => return false,
        };
        kept == self.rows() && kept == self.old_rows()
    }

    /// The number before of `row`; `None` if it is new.
    pub(super) fn old_of(&self, row: u32) -> Option<u32> {
        let moves = self.moves();
        let found = moves.get(moves.partition_point(|found| found.new <= row).checked_sub(1)?)?;
        let offset = row - found.new;
        (offset < found.rows).then_some(found.old + offset)
    }

    /// The first number now of `old` rows; `None` unless all of them are in the changed list, and consecutive.
    pub(super) fn new_start(&self, old: Range<u32>) -> Option<u32> {
        let moves = self.moves();
        let found = moves.get(moves.partition_point(|found| found.old <= old.start).checked_sub(1)?)?;
        (old.end <= found.old + found.rows).then_some(found.new + (old.start - found.old))
    }

    /// The number now of each old row, `None` for a removed row.
    pub(super) fn new_numbers(&self) -> Vec<Option<u32>> {
        let mut numbers = alloc::vec![None; self.old_rows()];
        for found in self.moves() {
            let slots = numbers.iter_mut().skip(found.old as usize).take(found.rows as usize);
            slots.zip(found.new..).for_each(|(slot, new)| *slot = Some(new));
        }
        numbers
    }

    /// The values `old` of the rows before, in the places of the rows now; `blank` for new rows.
    pub(super) fn carry<T: Copy>(&self, old: &[T], blank: T) -> Vec<T> {
        let mut values = Vec::with_capacity(self.rows());
        for found in self.moves() {
            values.resize(found.new as usize, blank);
            let start = found.old as usize;
            values.extend_from_slice(old.get(start..start + found.rows as usize).unwrap_or_default());
        }
        values.resize(self.rows(), blank);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_that_stay_together_are_one_move() {
        let rows = [(Some(0), false), (Some(1), true), (None, false), (Some(3), false), (Some(4), false)];
        let renumbering = Renumbering::new(5, rows.into_iter());
        assert_eq!(renumbering.moves(), [Move { old: 0, new: 0, rows: 2 }, Move { old: 3, new: 3, rows: 2 }]);
        assert_eq!(renumbering.changed(), [ChangedRow { row: 1, old: Some(1) }, ChangedRow { row: 2, old: None }]);
        assert!(!renumbering.keeps_numbers());
        assert_eq!(renumbering.new_start(3..5), Some(3));
        assert_eq!(renumbering.new_start(1..4), None);
    }

    #[test]
    fn an_old_number_out_of_order_or_of_no_row_counts_as_a_new_row() {
        let rows = [(Some(1), false), (Some(0), false), (Some(7), false), (Some(2), false)];
        let renumbering = Renumbering::new(3, rows.into_iter());
        let new: Vec<u32> = renumbering.changed().iter().map(|changed| changed.row).collect();
        assert_eq!(new, [1, 2]);
        assert_eq!((0..4).map(|row| renumbering.old_of(row)).collect::<Vec<_>>(), [Some(1), None, None, Some(2)]);
    }

    proptest! {
        #[test]
        fn every_way_to_ask_for_a_number_gives_the_same_number(
            old_rows in 0usize..40, removed in proptest::collection::btree_set(0u32..40, 0..10),
            added in proptest::collection::vec(0usize..41, 0..10),
        ) {
            let mut rows: Vec<Option<u32>> =
                (0..old_rows as u32).filter(|row| !removed.contains(row)).map(Some).collect();
            added.iter().for_each(|&at| rows.insert(at.min(rows.len()), None));
            let renumbering = Renumbering::new(old_rows, rows.iter().map(|&old| (old, false)));
            let old: Vec<Option<u32>> = (0..rows.len() as u32).map(|row| renumbering.old_of(row)).collect();
            prop_assert_eq!(&old, &rows);
            let numbers: Vec<Option<u32>> = (0..old_rows as u32).map(Some).collect();
            prop_assert_eq!(renumbering.carry(&numbers, None), rows.clone());
            let new = renumbering.new_numbers();
            for old in 0..old_rows as u32 {
                let position = rows.iter().position(|&row| row == Some(old)).map(|at| at as u32);
                prop_assert_eq!(new[old as usize], position);
                prop_assert_eq!(renumbering.new_start(old..old + 1), position);
            }
            prop_assert_eq!(renumbering.keeps_numbers(), (0..old_rows as u32).map(Some).eq(rows));
        }
    }
}
