//! A set of row numbers, one bit per row.

use alloc::{vec, vec::Vec};

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
            for row in 0..220 {
                prop_assert_eq!(first.contains(row), a.contains(&row));
                changed.remove(row);
            }
            prop_assert_eq!(changed.len(), 0);
        }
    }
}
