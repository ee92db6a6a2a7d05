//! All rows of a list in the order of one column, in both directions.
//!
//! Only the ascending order is stored. The descending order has the groups of rows with equal values in reverse, each in row order,
//! and then the rows without a value, as the ascending order does.

use alloc::vec::Vec;
use core::{iter, ops::Range};

use super::bitmap::Bitmap;

/// Number of prefix bitmaps.
const PREFIXES: usize = 16;

/// `prefixes[i]` is the set of the first `i * step` rows in ascending order; these bitmaps find the position of a match without a scan
/// from the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sorted {
    /// The rows with a value in ascending order, then the others.
    rows: Vec<u32>,
    /// Number of rows with a value.
    present: usize,
    /// The positions in `rows` of the first row with each value.
    starts: Bitmap,
    prefixes: Vec<Bitmap>,
    step: usize,
}

impl Sorted {
    /// Of `rows` in ascending order, the first `present` of which have a value. `equal` says whether two rows have the same value.
    pub(super) fn new(rows: Vec<u32>, present: usize, equal: impl Fn(u32, u32) -> bool) -> Self {
        let mut starts = Bitmap::none(rows.len());
        let mut last = None;
        for (position, &row) in (0u32..).zip(rows.iter().take(present)) {
            if !last.is_some_and(|last| equal(last, row)) {
                starts.insert(position);
            }
            last = Some(row);
        }
        let step = rows.len().div_ceil(PREFIXES).max(1);
        let mut prefix = Bitmap::none(rows.len());
        let mut prefixes = Vec::with_capacity(PREFIXES + 1);
        prefixes.push(prefix.clone());
        for chunk in rows.chunks(step) {
            chunk.iter().for_each(|&row| prefix.insert(row));
            prefixes.push(prefix.clone());
        }
        Sorted { rows, present, starts, prefixes, step }
    }

    /// The rows in ascending order.
    pub(super) fn ascending(&self) -> &[u32] {
        &self.rows
    }

    /// The rows with a value in ascending order.
    pub(super) fn present(&self) -> &[u32] {
        self.rows.get(..self.present).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number of rows between two consecutive prefix bitmaps.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let prefixes: usize = self.prefixes.iter().map(Bitmap::heap_bytes).sum();
        let vectors = self.rows.capacity() * size_of::<u32>() + self.prefixes.capacity() * size_of::<Bitmap>();
        vectors + self.starts.heap_bytes() + prefixes
    }

    /// The ascending positions of the rows with the same value as the row at `position`, which must have a value.
    fn group(&self, position: usize) -> Range<usize> {
        let end = self.starts.first_from(position + 1).unwrap_or(self.present);
        self.starts.last_up_to(position).unwrap_or(0)..end
    }

    /// The rows from `position` on in one direction, in runs.
    pub(super) fn runs(&self, descending: bool, position: usize) -> impl Iterator<Item = &[u32]> {
        // Rows without a value, and all ascending rows, are stored in the order of the result.
        let (mut next, mut left, mut tail) = match self.present.checked_sub(position + 1).filter(|_| descending) {
            Some(mirrored) => {
                let group = self.group(mirrored);
                let skipped = position - (self.present - group.end);
                (Some(group.start + skipped..group.end), group.start, Some(self.present..self.rows.len()))
            }
            None => (Some(position..self.rows.len()), 0, None),
        };
        iter::from_fn(move || {
            let run = next.take().or_else(|| tail.take())?;
            if let Some(last) = left.checked_sub(1) {
                let end = left;
                left = self.starts.last_up_to(last).unwrap_or(0);
                next = Some(left..end);
            }
            self.rows.get(run)
        })
    }

    /// A position near before match number `offset` (from 0) in one direction, and the number of matches before the position.
    pub(super) fn locate(&self, descending: bool, matches: &Bitmap, offset: usize) -> (usize, usize) {
        if !descending {
            return self.locate_ascending(matches, offset);
        }
        let present = self.matches_before(self.present, matches);
        if let Some(mirrored) = present.checked_sub(offset + 1) {
            return self.locate_descending(matches, offset, mirrored);
        }
        // Only from the rows without a value on, the positions are those of the ascending order.
        self.locate_ascending(matches, offset).max((self.present, present))
    }

    /// The end of the longest prefix with at most `offset` matches, which is less than a step before the match.
    fn locate_ascending(&self, matches: &Bitmap, offset: usize) -> (usize, usize) {
        let above = self.prefixes.partition_point(|prefix| prefix.overlap(matches) <= offset);
        let prefix = above.saturating_sub(1);
        (prefix * self.step, self.prefixes.get(prefix).map_or(0, |prefix| prefix.overlap(matches)))
    }

    /// `mirrored` matches come after match number `offset` in descending order, before the rows without a value.
    ///
    /// A group of equal values covers the same numbers of matches in both directions, counted from opposite ends. So the wanted match is in
    /// the group of ascending match number `mirrored`; it is as many matches after the group's beginning as in ascending order.
    fn locate_descending(&self, matches: &Bitmap, offset: usize, mirrored: usize) -> (usize, usize) {
        let (start, before) = self.locate_ascending(matches, mirrored);
        let rows = self.rows.get(start..).unwrap_or_default();
        let mut found = (start..).zip(rows).filter(|(_, row)| matches.contains(**row)).map(|(position, _)| position);
        let group = self.group(found.nth(mirrored.saturating_sub(before)).unwrap_or(start));
        let group_start = self.present.saturating_sub(group.end);
        if group.len() == 1 {
            return (group_start, offset);
        }
        // As the matches after `mirrored` come before `offset`: offset + mirrored + 1 = all matches that have a value.
        let before_group = (offset + mirrored + 1).saturating_sub(self.matches_before(group.end, matches));
        let in_group = offset.saturating_sub(before_group);
        let before_start = self.matches_before(group.start, matches);
        let (position, before) = self.locate_ascending(matches, before_start + in_group);
        if position <= group.start {
            return (group_start, before_group);
        }
        (group_start + position - group.start, before_group + before.saturating_sub(before_start))
    }

    /// Number of matches among the first `position` rows in ascending order.
    fn matches_before(&self, position: usize, matches: &Bitmap) -> usize {
        let (nearest, end) = self.nearest_prefix(position);
        let counted = nearest.map_or(0, |prefix| prefix.overlap(matches));
        let count = |rows: Range<usize>| {
            self.rows.get(rows).unwrap_or_default().iter().filter(|row| matches.contains(**row)).count()
        };
        if end <= position { counted + count(end..position) } else { counted.saturating_sub(count(position..end)) }
    }

    /// The prefix bitmap whose end is nearest to `position`, and that end.
    fn nearest_prefix(&self, position: usize) -> (Option<&Bitmap>, usize) {
        let prefix = (position + self.step / 2) / self.step;
        (self.prefixes.get(prefix).or(self.prefixes.last()), (prefix * self.step).min(self.rows.len()))
    }

    /// The rows at ascending `positions` as a set: the difference of the two nearest prefix bitmaps, corrected row by row at both ends.
    pub(super) fn set(&self, positions: Range<usize>) -> Bitmap {
        let mut found = self.up_to(positions.end);
        found.take_out(&self.up_to(positions.start));
        found
    }

    fn up_to(&self, position: usize) -> Bitmap {
        let (Some(nearest), end) = self.nearest_prefix(position) else { return Bitmap::none(0) };
        let mut found = nearest.clone();
        let rows = |from: usize, to: usize| self.rows.get(from..to).unwrap_or_default().iter();
        rows(end, position).for_each(|&row| found.insert(row));
        rows(position, end).for_each(|&row| found.remove(row));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sorted rows, and the rows in both directions as a plain sort has them.
    fn sorted(keys: &[Option<i32>]) -> (Sorted, [Vec<u32>; 2]) {
        let key = |row: u32| keys[row as usize];
        let mut ascending: Vec<u32> = (0..keys.len() as u32).collect();
        let mut descending = ascending.clone();
        ascending.sort_by_key(|&row| (key(row).is_none(), key(row)));
        descending.sort_by_key(|&row| (key(row).is_none(), key(row).map(|key| -key)));
        let present = keys.iter().flatten().count();
        (Sorted::new(ascending.clone(), present, |a, b| key(a) == key(b)), [ascending, descending])
    }

    fn keys() -> impl Strategy<Value = Vec<Option<i32>>> {
        // From many ties to almost none.
        (1i32..400).prop_flat_map(|bound| proptest::collection::vec(proptest::option::weighted(0.8, 0..bound), 1..400))
    }

    #[test]
    fn in_both_directions_rows_without_a_value_are_last_and_ties_are_in_row_order() {
        let (sorted, _) = sorted(&[Some(2), None, Some(1), Some(2), None]);
        let rows = |descending: bool| sorted.runs(descending, 0).flatten().copied().collect::<Vec<u32>>();
        assert_eq!(rows(false), [2, 0, 3, 1, 4]);
        assert_eq!(rows(true), [0, 3, 2, 1, 4]);
    }

    proptest! {
        #[test]
        fn runs_from_any_position_give_the_rest_of_the_order(keys in keys(), from in any::<prop::sample::Index>()) {
            let (sorted, [ascending, descending]) = sorted(&keys);
            let from = from.index(keys.len());
            let rows = |descending: bool| sorted.runs(descending, from).flatten().copied().collect::<Vec<u32>>();
            prop_assert_eq!(rows(false), &ascending[from..]);
            prop_assert_eq!(rows(true), &descending[from..]);
        }

        #[test]
        fn locate_returns_a_position_less_than_a_step_before_the_match(
            keys in keys(), members in proptest::collection::btree_set(0u32..400, 1..300), offset in 0usize..300,
        ) {
            let (sorted, orders) = sorted(&keys);
            let mut matches = Bitmap::none(keys.len());
            members.iter().for_each(|&row| matches.insert(row));
            for (descending, rows) in [(false, &orders[0]), (true, &orders[1])] {
                let positions: Vec<usize> = (0..rows.len()).filter(|&at| matches.contains(rows[at])).collect();
                if let Some(&wanted) = positions.get(offset) {
                    let (start, before) = sorted.locate(descending, &matches, offset);
                    prop_assert_eq!(before, positions.iter().filter(|&&at| at < start).count());
                    prop_assert!(start <= wanted && wanted < start + sorted.step());
                }
            }
        }

        #[test]
        fn a_set_of_positions_contains_the_rows_there(
            keys in keys(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(),
        ) {
            let (sorted, [ascending, _]) = sorted(&keys);
            let (from, to) = (from.index(keys.len() + 1), to.index(keys.len() + 1));
            let positions = from.min(to)..from.max(to);
            let mut expected = ascending[positions.clone()].to_vec();
            expected.sort_unstable();
            prop_assert_eq!(sorted.set(positions).iter().collect::<Vec<u32>>(), expected);
        }
    }
}
