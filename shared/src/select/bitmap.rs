//! A set of row numbers, one bit per row.

use alloc::{sync::Arc, vec, vec::Vec};

use super::renumbering::Renumbering;

const WORD: usize = u64::BITS as usize;

/// Row numbers below a fixed bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    rows: usize,
}

impl Bitmap {
    /// The empty set, for row numbers below `rows`.
    pub(super) fn none(rows: usize) -> Self {
        Bitmap { words: vec![0; rows.div_ceil(WORD)], rows }
    }

    /// Adds `row`; a row beyond the bound is ignored.
    #[inline]
    pub(super) fn insert(&mut self, row: u32) {
        let row = row as usize;
        if row < self.rows
            && let Some(word) = self.words.get_mut(row / WORD)
        {
            *word |= 1 << (row % WORD);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, row: u32) {
        if let Some(word) = self.words.get_mut(row as usize / WORD) {
            *word &= !(1 << (row as usize % WORD));
        }
    }

    #[inline]
    pub(super) fn contains(&self, row: u32) -> bool {
        self.words.get(row as usize / WORD).is_some_and(|word| word >> (row as usize % WORD) & 1 == 1)
    }

    /// Number of rows in the set.
    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Size of the intersection with `other`.
    pub(super) fn overlap(&self, other: &Bitmap) -> usize {
        self.words.iter().zip(&other.words).map(|(word, theirs)| (word & theirs).count_ones() as usize).sum()
    }

    /// Adds the rows of `other`.
    pub(super) fn add(&mut self, other: &Bitmap) {
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word |= theirs;
        }
    }

    /// Keeps only the rows that are in `other` too.
    pub(super) fn keep(&mut self, other: &Bitmap) {
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word &= theirs;
        }
    }

    /// Removes the rows of `other`.
    pub(super) fn take_out(&mut self, other: &Bitmap) {
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word &= !theirs;
        }
    }

    /// Adds the rows `first + i` for each set bit `i` of `bits`; rows beyond the bound must not be among them.
    #[inline]
    pub(super) fn add_bits(&mut self, first: usize, bits: u64) {
        let (word, shift) = (first / WORD, first % WORD);
        if let Some(low) = self.words.get_mut(word) {
            *low |= bits << shift;
        }
        if shift > 0
            && let Some(high) = self.words.get_mut(word + 1)
        {
            *high |= bits >> (WORD - shift);
        }
    }

    /// Bit `i` of the result says whether row `first + i` is in the set.
    fn bits_at(&self, first: usize) -> u64 {
        let (word, shift) = (first / WORD, first % WORD);
        let at = |word: usize| self.words.get(word).copied().unwrap_or(0);
        if shift == 0 { at(word) } else { at(word) >> shift | at(word + 1) << (WORD - shift) }
    }

    /// The set with the numbers that its rows have after a change of the list; without the removed rows.
    pub(super) fn carry(&self, renumbering: &Renumbering) -> Bitmap {
        if renumbering.keeps_numbers() {
            return self.clone();
        }
        let mut carried = Bitmap::none(renumbering.rows());
        for found in renumbering.moves() {
            let rows = found.rows as usize;
            for done in (0..rows).step_by(WORD) {
                let bits = self.bits_at(found.old as usize + done);
                let wanted = u64::MAX >> WORD.saturating_sub(rows - done);
                carried.add_bits(found.new as usize + done, bits & wanted);
            }
        }
        carried
    }

    /// The last row of the set that is at most `row`.
    #[inline]
    pub(super) fn last_up_to(&self, row: usize) -> Option<usize> {
        let (mut at, word) = (row / WORD, self.words.get(row / WORD)?);
        let mut word = word & u64::MAX >> (WORD - 1 - row % WORD);
        while word == 0 {
            at = at.checked_sub(1)?;
            word = *self.words.get(at)?;
        }
        Some(at * WORD + (WORD - 1 - word.leading_zeros() as usize))
    }

    /// The first row of the set that is at least `row`.
    pub(super) fn first_from(&self, row: usize) -> Option<usize> {
        let mut at = row / WORD;
        let mut word = self.words.get(at)? & u64::MAX << (row % WORD);
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at * WORD + word.trailing_zeros() as usize)
    }

    /// Bytes that the set takes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// The rows below the bound that are not in the set.
    pub(super) fn complement(&self) -> Bitmap {
        let mut words: Vec<u64> = self.words.iter().map(|word| !word).collect();
        let spare = words.len() * WORD - self.rows;
        if let Some(last) = words.last_mut() {
            *last &= u64::MAX >> spare;
        }
        Bitmap { words, rows: self.rows }
    }

    /// The rows, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let first = (at * WORD) as u32;
            core::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)))
                .take_while(|&left| left != 0)
                .map(move |left| first + left.trailing_zeros())
        })
    }
}

/// The set of a boolean column after a change of the list, where `flags` are the values of the changed rows.
pub(super) fn after(previous: &Arc<Bitmap>, renumbering: &Renumbering, flags: &[bool]) -> Arc<Bitmap> {
    let changed = renumbering.changed().iter().zip(flags);
    let mut changed =
        changed.filter(|(row, flag)| row.old.is_none_or(|old| previous.contains(old) != **flag)).peekable();
    if renumbering.keeps_numbers() && changed.peek().is_none() {
        return Arc::clone(previous);
    }
    let mut set = previous.carry(renumbering);
    changed.for_each(|(row, flag)| if *flag { set.insert(row.row) } else { set.remove(row.row) });
    Arc::new(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn bitmap(rows: usize, members: &BTreeSet<u32>) -> Bitmap {
        let mut bitmap = Bitmap::none(rows);
        members.iter().for_each(|&row| bitmap.insert(row));
        bitmap
    }

    proptest! {
        #[test]
        fn a_bitmap_behaves_like_a_set_of_row_numbers(
            rows in 0usize..200, a in proptest::collection::btree_set(0u32..200, 0..60),
            b in proptest::collection::btree_set(0u32..200, 0..60),
        ) {
            let within = |set: &BTreeSet<u32>| -> BTreeSet<u32> {
                set.iter().copied().filter(|&row| (row as usize) < rows).collect()
            };
            let (first, second) = (bitmap(rows, &a), bitmap(rows, &b));
            let (a, b) = (within(&a), within(&b));
            let set = |bitmap: &Bitmap| bitmap.iter().collect::<BTreeSet<u32>>();
            prop_assert_eq!(set(&first), a.clone());
            prop_assert_eq!(first.len(), a.len());
            prop_assert_eq!(first.overlap(&second), a.intersection(&b).count());
            let others: BTreeSet<u32> = (0..rows as u32).filter(|row| !a.contains(row)).collect();
            prop_assert_eq!(set(&first.complement()), others);
            let mut changed = first.clone();
            changed.add(&second);
            prop_assert_eq!(set(&changed), a.union(&b).copied().collect::<BTreeSet<u32>>());
            changed.take_out(&second);
            prop_assert_eq!(set(&changed), a.difference(&b).copied().collect::<BTreeSet<u32>>());
            changed = first.clone();
            changed.keep(&second);
            prop_assert_eq!(set(&changed), a.intersection(&b).copied().collect::<BTreeSet<u32>>());
            for row in 0..rows {
                let below = a.iter().copied().rfind(|&member| member as usize <= row);
                prop_assert_eq!(first.last_up_to(row), below.map(|member| member as usize));
                let above = a.iter().copied().find(|&member| member as usize >= row);
                prop_assert_eq!(first.first_from(row), above.map(|member| member as usize));
            }
            for row in 0..220 {
                prop_assert_eq!(first.contains(row), a.contains(&row));
                changed.remove(row);
            }
            prop_assert_eq!(changed.len(), 0);
        }

        #[test]
        fn a_carried_set_contains_the_rows_that_stay_with_their_new_numbers(
            rows in 0usize..300, members in proptest::collection::btree_set(0u32..300, 0..100),
            removed in proptest::collection::btree_set(0u32..300, 0..4), added in proptest::collection::vec(0usize..301, 0..4),
        ) {
            let set = bitmap(rows, &members);
            let mut numbers: Vec<Option<u32>> = (0..rows as u32).filter(|row| !removed.contains(row)).map(Some).collect();
            added.iter().for_each(|&at| numbers.insert(at.min(numbers.len()), None));
            let renumbering = Renumbering::new(rows, numbers.iter().map(|&old| (old, false)));
            let mut expected = Bitmap::none(numbers.len());
            let stays = |old: Option<u32>| old.is_some_and(|old| set.contains(old));
            (0u32..).zip(&numbers).filter(|(_, old)| stays(**old)).for_each(|(row, _)| expected.insert(row));
            prop_assert_eq!(set.carry(&renumbering), expected);
        }
    }
}
