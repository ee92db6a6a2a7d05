//! A sortable column: its rows presorted in both directions, and ranges of its values.
//!
//! In both directions, rows without a value come last and equal values are in row order.

use alloc::vec::Vec;
use core::ops::Range;

use super::bitmap::Bitmap;

/// The rank of a row without a value.
const ABSENT: u32 = u32::MAX;
/// Number of prefix bitmaps kept for each direction.
const PREFIXES: usize = 32;

/// Maps a number to an integer that sorts the same way. -0 and 0 get the same key; NaN gets none.
pub(super) fn key_of(number: f64) -> Option<i64> {
    let bits = (number + 0.0).to_bits() as i64;
    (!number.is_nan()).then_some(bits ^ ((bits >> 63) as u64 >> 1) as i64)
}

/// All rows sorted in one direction. `prefixes[i]` is the set of the first `i * step` rows; these bitmaps find the position of a
/// match without a scan from the beginning.
#[derive(Debug, Clone)]
pub(super) struct Sorted {
    rows: Vec<u32>,
    prefixes: Vec<Bitmap>,
    step: usize,
}

impl Sorted {
    fn new(rows: Vec<u32>) -> Self {
        let step = rows.len().div_ceil(PREFIXES).max(1);
        let mut prefix = Bitmap::none(rows.len());
        let mut prefixes = alloc::vec![prefix.clone()];
        for chunk in rows.chunks(step) {
            chunk.iter().for_each(|&row| prefix.insert(row));
            prefixes.push(prefix.clone());
        }
        Sorted { rows, prefixes, step }
    }

    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Number of rows between two consecutive prefix bitmaps.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// A position less than [`step`](Self::step) rows before match number `offset` (from 0), and the number of matches before the position.
    ///
    /// The position is the end of the longest prefix bitmap with at most `offset` matches.
    pub(super) fn locate(&self, matches: &Bitmap, offset: usize) -> (usize, usize) {
        let above = self.prefixes.partition_point(|prefix| prefix.overlap(matches) <= offset);
        let prefix = above.saturating_sub(1);
        (prefix * self.step, self.prefixes.get(prefix).map_or(0, |prefix| prefix.overlap(matches)))
    }

    /// The rows at `positions` as a set: the difference of the two nearest prefix bitmaps, corrected row by row at both ends.
    pub(super) fn set(&self, positions: Range<usize>) -> Bitmap {
        let mut found = self.up_to(positions.end);
        found.take_out(&self.up_to(positions.start));
        found
    }

    fn up_to(&self, position: usize) -> Bitmap {
        let prefix = (position + self.step / 2) / self.step;
        let Some(mut found) = self.prefixes.get(prefix).or(self.prefixes.last()).cloned() else {
            return Bitmap::none(0);
        };
        let prefix_end = (prefix * self.step).min(self.rows.len());
        let rows = |from: usize, to: usize| self.rows.get(from..to).unwrap_or_default().iter();
        rows(prefix_end, position).for_each(|&row| found.insert(row));
        rows(position, prefix_end).for_each(|&row| found.remove(row));
        found
    }
}

/// The rows sorted by one column.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// For each row, the rank of its value among the distinct values, or [`ABSENT`].
    ranks: Vec<u32>,
    ascending: Sorted,
    descending: Sorted,
    /// Number of rows with a value; they come first in both directions.
    present: usize,
}

impl Order {
    /// Sorts by `keys`, one per row.
    pub(super) fn build<K: Ord>(keys: &[Option<K>]) -> Self {
        let mut valued: Vec<(&K, u32)> =
            (0u32..).zip(keys).filter_map(|(row, key)| key.as_ref().map(|key| (key, row))).collect();
        valued.sort_unstable();
        let equals = || valued.chunk_by(|a, b| a.0 == b.0);
        let mut ranks = alloc::vec![ABSENT; keys.len()];
        for (rank, (_, row)) in (0u32..).zip(equals()).flat_map(|(rank, rows)| rows.iter().map(move |row| (rank, row)))
        {
            if let Some(slot) = ranks.get_mut(*row as usize) {
                *slot = rank;
            }
        }
        let absent = || (0u32..).zip(&ranks).filter(|(_, rank)| **rank == ABSENT).map(|(row, _)| row);
        let ascending = valued.iter().map(|(_, row)| *row).chain(absent()).collect();
        let descending = equals().rev().flatten().map(|(_, row)| *row).chain(absent()).collect();
        let (ascending, descending) = (Sorted::new(ascending), Sorted::new(descending));
        Order { present: valued.len(), ranks, ascending, descending }
    }

    pub(super) fn sorted(&self, descending: bool) -> &Sorted {
        if descending { &self.descending } else { &self.ascending }
    }

    /// A number that sorts rows as [`sorted`](Self::sorted) does: the rank in the upper 32 bits, the row in the lower.
    #[inline]
    pub(super) fn place(&self, row: u32, descending: bool) -> u64 {
        let rank = self.ranks.get(row as usize).copied().unwrap_or(ABSENT);
        let rank = if descending && rank != ABSENT { ABSENT - 1 - rank } else { rank };
        u64::from(rank) << 32 | u64::from(row)
    }
}

/// The sorted values of a column, needed by range filters in addition to the order.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    /// The values in ascending order; entry `i` belongs to row `i` of the ascending order.
    keys: Vec<i64>,
}

impl Ranges {
    /// Collects the non-null `keys` in the ascending order of `order`, which must have been built from the same `keys`.
    pub(super) fn build(order: &Order, keys: &[Option<i64>]) -> Self {
        let valued = order.ascending.rows.iter().take(order.present);
        Ranges { keys: valued.filter_map(|&row| keys.get(row as usize).copied().flatten()).collect() }
    }

    /// The rows of `order` with a value from `min` to `max`, both inclusive. A NaN bound selects no row.
    pub(super) fn set(&self, order: &Order, min: Option<f64>, max: Option<f64>) -> Bitmap {
        let bound = |bound: Option<f64>, open: i64| bound.map_or(Some(open), key_of);
        let (start, end) = match (bound(min, i64::MIN), bound(max, i64::MAX)) {
            (Some(min), Some(max)) => {
                (self.keys.partition_point(|&key| key < min), self.keys.partition_point(|&key| key <= max))
            }
            _ => (0, 0),
        };
        order.ascending.set(start..end.max(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn in_both_directions_rows_without_a_value_are_last_and_ties_are_in_row_order() {
        let order = Order::build(&[Some(2), None, Some(1), Some(2), None]);
        assert_eq!(order.ascending.rows, [2, 0, 3, 1, 4]);
        assert_eq!(order.descending.rows, [0, 3, 2, 1, 4]);
    }

    proptest! {
        #[test]
        fn keys_sort_as_the_numbers_do(a in any::<f64>(), b in any::<f64>()) {
            match (key_of(a), key_of(b)) {
                (Some(x), Some(y)) => prop_assert_eq!(Some(x.cmp(&y)), a.partial_cmp(&b)),
                _ => prop_assert!(a.is_nan() || b.is_nan()),
            }
        }

        #[test]
        fn a_place_sorts_rows_as_the_order_does(
            keys in proptest::collection::vec(proptest::option::of(0..9), 0..80), descending: bool,
        ) {
            let order = Order::build(&keys);
            let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
            rows.sort_by_key(|&row| order.place(row, descending));
            prop_assert_eq!(rows.as_slice(), order.sorted(descending).rows());
        }

        #[test]
        fn a_range_contains_exactly_the_values_between_its_bounds(
            values in proptest::collection::vec(proptest::option::weighted(0.8, -3i32..40), 0..400),
            min in proptest::option::of(-4i32..41), max in proptest::option::of(-4i32..41),
        ) {
            let keys: Vec<Option<i64>> = values.iter().map(|value| value.and_then(|v| key_of(v.into()))).collect();
            let order = Order::build(&keys);
            let found = Ranges::build(&order, &keys).set(&order, min.map(f64::from), max.map(f64::from));
            let within = |v: i32| min.is_none_or(|min| v >= min) && max.is_none_or(|max| v <= max);
            let expected: Vec<u32> =
                (0u32..).zip(&values).filter(|(_, value)| value.is_some_and(within)).map(|(row, _)| row).collect();
            prop_assert_eq!(found.iter().collect::<Vec<u32>>(), expected);
        }

        #[test]
        fn locate_returns_a_position_less_than_a_step_before_the_match(
            keys in proptest::collection::vec(proptest::option::of(0..9), 1..400),
            members in proptest::collection::btree_set(0u32..400, 1..300), offset in 0usize..300,
        ) {
            let sorted = Order::build(&keys).ascending;
            let mut matches = Bitmap::none(keys.len());
            members.iter().for_each(|&row| matches.insert(row));
            let positions: Vec<usize> = (0..keys.len()).filter(|&at| matches.contains(sorted.rows[at])).collect();
            let (start, before) = sorted.locate(&matches, offset);
            prop_assert_eq!(before, positions.iter().filter(|&&at| at < start).count());
            if let Some(&wanted) = positions.get(offset) {
                prop_assert!(start <= wanted && wanted < start + sorted.step());
            }
        }
    }
}
