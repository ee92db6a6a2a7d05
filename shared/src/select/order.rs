//! A sortable column: its values as integers, the rows in the order of the values, and ranges of values.

use alloc::{sync::Arc, vec::Vec};

use super::bitmap::Bitmap;
use super::renumbering::Renumbering;
use super::sorted::Sorted;
use super::sorting::sort;
use crate::pace::Pace;

/// The key of a row without a value: greater than the keys of all values.
const ABSENT: i64 = i64::MAX;
/// Beyond this part of the rows, sorting all rows is cheaper than moving the changed ones.
const MAX_MOVED: usize = 4;
/// About what a pass over all rows takes for each, and a comparison of two.
const ROW_NANOS: usize = 25;
const COMPARE_NANOS: usize = 5;

/// Maps a number to an integer that sorts the same way. -0 and 0 get the same key; NaN gets none.
pub(super) fn key_of(number: f64) -> Option<i64> {
    let bits = (number + 0.0).to_bits() as i64;
    (!number.is_nan()).then_some(bits ^ ((bits >> 63) as u64 >> 1) as i64)
}

/// A row's value as an integer that sorts as the column does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(i64);

impl Key {
    pub(super) const NONE: Key = Key(ABSENT);

    /// Of a number; NaN has no value.
    pub(super) fn of_number(number: Option<f64>) -> Key {
        number.and_then(key_of).map_or(Key::NONE, Key)
    }

    /// Of an integer. The two least and the greatest `i64` have the keys of their neighbours.
    pub(super) fn of_integer(integer: Option<i64>) -> Key {
        // So that no value has the key of no value, in both directions.
        integer.map_or(Key::NONE, |integer| Key(integer.clamp(i64::MIN + 2, ABSENT - 1)))
    }

    /// A key that sorts in the opposite direction; no value stays last.
    fn reversed(self) -> Key {
        if self == Key::NONE { self } else { Key(self.0.saturating_neg()) }
    }
}

/// The rows sorted by one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    /// For each row, the key of its value.
    keys: Vec<Key>,
    sorted: Sorted,
}

impl Order {
    /// Sorts by `keys`, one per row.
    pub(super) async fn build(keys: Vec<Key>, pace: &Pace<'_>) -> Self {
        pace.step(keys.len() * ROW_NANOS).await;
        let places: Vec<(Key, u32)> = keys.iter().copied().zip(0u32..).collect();
        let places = sort(places, COMPARE_NANOS, pace, Ord::cmp).await;
        pace.step(keys.len() * ROW_NANOS).await;
        Self::of_sorted(keys, places.into_iter().map(|(_, row)| row).collect())
    }

    /// Of rows already sorted by their keys.
    pub(super) fn of_sorted(keys: Vec<Key>, rows: Vec<u32>) -> Self {
        let key = |row: u32| keys.get(row as usize).copied().unwrap_or(Key::NONE);
        let present = rows.partition_point(|&row| key(row) != Key::NONE);
        let sorted = Sorted::new(rows, present, |a, b| key(a) == key(b));
        Order { keys, sorted }
    }

    /// The order after a change of the list, where `values` are the keys of the changed rows.
    pub(super) async fn after(
        previous: &Arc<Order>,
        renumbering: &Renumbering,
        values: &[Key],
        pace: &Pace<'_>,
    ) -> Arc<Order> {
        pace.step(values.len() * ROW_NANOS).await;
        let rows = renumbering.changed().iter().zip(values.iter().copied());
        let mut changed: Vec<(Key, u32)> = rows
            .filter(|(row, key)| row.old.is_none_or(|old| previous.key(old) != *key))
            .map(|(row, key)| (key, row.row))
            .collect();
        if changed.is_empty() && renumbering.keeps_numbers() {
            return Arc::clone(previous);
        }
        pace.step(renumbering.rows() * ROW_NANOS).await;
        let mut keys = previous.carried_keys(renumbering);
        for &(key, row) in &changed {
            if let Some(slot) = keys.get_mut(row as usize) {
                *slot = key;
            }
        }
        if changed.len() > keys.len() / MAX_MOVED {
            return Arc::new(Order::build(keys, pace).await);
        }
        changed = sort(changed, COMPARE_NANOS, pace, Ord::cmp).await;
        pace.step(renumbering.rows() * 2 * ROW_NANOS).await;
        let mut moved = Bitmap::none(keys.len());
        changed.iter().for_each(|(_, row)| moved.insert(*row));
        let stayed = previous.stayed(renumbering, &moved);
        let key = |row: u32| keys.get(row as usize).copied().unwrap_or(Key::NONE);
        let rows = merge(&stayed, changed.into_iter().map(|(_, row)| row), |a, b| (key(a), a) < (key(b), b));
        Arc::new(Order::of_sorted(keys, rows))
    }

    /// The rows that stay in the list and are not in `moved`, by their numbers now, in ascending order.
    pub(super) fn stayed(&self, renumbering: &Renumbering, moved: &Bitmap) -> Vec<u32> {
        let mut stayed = Vec::with_capacity(renumbering.rows());
        let rows = self.sorted.ascending().iter().copied();
        if renumbering.keeps_numbers() {
            stayed.extend(rows.filter(|&row| !moved.contains(row)));
        } else {
            let numbers = renumbering.new_numbers();
            let now = rows.filter_map(|row| numbers.get(row as usize).copied().flatten());
            stayed.extend(now.filter(|&row| !moved.contains(row)));
        }
        stayed
    }

    /// The keys of the rows after a change of the list; none for new rows.
    pub(super) fn carried_keys(&self, renumbering: &Renumbering) -> Vec<Key> {
        renumbering.carry(&self.keys, Key::NONE)
    }

    pub(super) fn sorted(&self) -> &Sorted {
        &self.sorted
    }

    fn key(&self, row: u32) -> Key {
        self.keys.get(row as usize).copied().unwrap_or(Key::NONE)
    }

    /// A value that sorts rows as [`sorted`](Self::sorted) does.
    #[inline]
    pub(super) fn place(&self, row: u32, descending: bool) -> (Key, u32) {
        let key = self.key(row);
        (if descending { key.reversed() } else { key }, row)
    }

    /// The rows whose number lies within the bounds, both inclusive. A bound that is NaN lets no row in.
    pub(super) fn between(&self, min: Option<f64>, max: Option<f64>) -> Bitmap {
        let bound = |bound: Option<f64>, open: i64| bound.map_or(Some(open), key_of);
        let rows = self.sorted.present();
        let (start, end) = match (bound(min, i64::MIN), bound(max, i64::MAX)) {
            (Some(min), Some(max)) => (
                rows.partition_point(|&row| self.key(row) < Key(min)),
                rows.partition_point(|&row| self.key(row) <= Key(max)),
            ),
            _ => (0, 0),
        };
        self.sorted.set(start..end.max(start))
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Key>() + self.sorted.heap_bytes()
    }
}

/// Merges two sequences that are sorted by `less`. The second should be much the shorter: each of its rows is placed by binary search.
pub(super) fn merge(long: &[u32], short: impl Iterator<Item = u32>, less: impl Fn(u32, u32) -> bool) -> Vec<u32> {
    let mut merged = Vec::with_capacity(long.len() + short.size_hint().1.unwrap_or(0));
    let mut rest = long;
    for row in short {
        let (before, after) =
            rest.split_at_checked(rest.partition_point(|&other| less(other, row))).unwrap_or((rest, &[]));
        merged.extend_from_slice(before);
        merged.push(row);
        rest = after;
    }
    merged.extend_from_slice(rest);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;
    use proptest::prelude::*;

    fn build(keys: Vec<Key>) -> Order {
        at_once(Order::build(keys, &Pace::unbroken()))
    }

    fn keys(values: &[Option<i64>]) -> Vec<Key> {
        values.iter().map(|value| Key::of_integer(*value)).collect()
    }

    #[test]
    fn the_least_and_the_greatest_integers_are_values_in_both_directions() {
        let order = build(keys(&[None, Some(i64::MAX), Some(i64::MIN), Some(0)]));
        let rows = |descending: bool| order.sorted.runs(descending, 0).flatten().copied().collect::<Vec<u32>>();
        assert_eq!(rows(false), [2, 3, 1, 0]);
        assert_eq!(rows(true), [1, 3, 2, 0]);
        assert!((0..3).map(|row| order.place(row + 1, true)).all(|place| place < order.place(0, true)));
    }

    #[test]
    fn a_column_that_did_not_change_is_shared() {
        let order = Arc::new(build(keys(&[Some(2), None, Some(1)])));
        let same = Renumbering::new(3, (0..3).map(|row| (Some(row), true)));
        let values = [Some(2), None, Some(1)];
        let after = at_once(Order::after(&order, &same, &keys(&values), &Pace::unbroken()));
        assert!(Arc::ptr_eq(&order, &after));
    }

    proptest! {
        #[test]
        fn keys_sort_as_the_numbers_do(a in any::<f64>(), b in any::<f64>()) {
            match (key_of(a), key_of(b)) {
                (Some(x), Some(y)) => prop_assert_eq!(Some(x.cmp(&y)), a.partial_cmp(&b)),
                _ => prop_assert!(a.is_nan() || b.is_nan()),
            }
            let numbers = [a, b].map(|number| Key::of_number(Some(number)));
            prop_assert_eq!(numbers.map(|key| key == Key::NONE), [a.is_nan(), b.is_nan()]);
        }

        #[test]
        fn a_place_sorts_rows_as_the_order_does(
            values in proptest::collection::vec(proptest::option::of(0i64..9), 0..80), descending: bool,
        ) {
            let order = build(keys(&values));
            let mut rows: Vec<u32> = (0..values.len() as u32).collect();
            rows.sort_by_key(|&row| order.place(row, descending));
            prop_assert_eq!(rows, order.sorted.runs(descending, 0).flatten().copied().collect::<Vec<u32>>());
        }

        #[test]
        fn a_range_contains_exactly_the_values_between_its_bounds(
            values in proptest::collection::vec(proptest::option::weighted(0.8, -3i32..40), 0..400),
            min in proptest::option::of(-4i32..41), max in proptest::option::of(-4i32..41),
        ) {
            let order = build(values.iter().map(|value| Key::of_number(value.map(f64::from))).collect());
            let found = order.between(min.map(f64::from), max.map(f64::from));
            let within = |v: i32| min.is_none_or(|min| v >= min) && max.is_none_or(|max| v <= max);
            let expected: Vec<u32> =
                (0u32..).zip(&values).filter(|(_, value)| value.is_some_and(within)).map(|(row, _)| row).collect();
            prop_assert_eq!(found.iter().collect::<Vec<u32>>(), expected);
        }
    }
}
