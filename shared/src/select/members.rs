//! The rows of one group.

use alloc::{sync::Arc, vec::Vec};

use super::bitmap::Bitmap;
use super::renumbering::Renumbering;

/// A set of rows: a bitmap, or an ascending list if that is smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Members {
    Dense(Bitmap),
    Sparse(Vec<u32>),
}

impl Members {
    /// Of `members`, ascending and below `rows`.
    pub(super) fn new(mut members: Vec<u32>, rows: usize) -> Self {
        // A list takes 32 bits per member, a bitmap one bit per row.
        if members.len() < rows.div_ceil(32) {
            members.shrink_to_fit();
            return Members::Sparse(members);
        }
        let mut bitmap = Bitmap::none(rows);
        members.iter().for_each(|&row| bitmap.insert(row));
        Members::Dense(bitmap)
    }

    /// The rows after a change of the list: without the old rows in `leaving`, and with the new numbers `entering`, ascending.
    /// `new_numbers` are those of `renumbering` if the numbers change.
    pub(super) fn after(
        self: &Arc<Self>,
        renumbering: &Renumbering,
        new_numbers: &[Option<u32>],
        leaving: &Bitmap,
        entering: impl ExactSizeIterator<Item = u32>,
    ) -> Arc<Members> {
        let loses = match &**self {
            Members::Dense(bitmap) => bitmap.overlap(leaving) > 0,
            Members::Sparse(rows) => rows.iter().any(|&row| leaving.contains(row)),
        };
        if renumbering.keeps_numbers() && !loses && entering.len() == 0 {
            return Arc::clone(self);
        }
        match &**self {
            Members::Dense(bitmap) => {
                let mut stayed = bitmap.clone();
                stayed.take_out(leaving);
                let mut now = stayed.carry(renumbering);
                entering.for_each(|row| now.insert(row));
                let few = now.len() < renumbering.rows().div_ceil(32);
                Arc::new(if few { Members::new(now.iter().collect(), renumbering.rows()) } else { Members::Dense(now) })
            }
            Members::Sparse(rows) => {
                let stayed = rows.iter().copied().filter(|&row| !leaving.contains(row));
                let mut now = Vec::with_capacity(rows.len() + entering.len());
                if renumbering.keeps_numbers() {
                    now.extend(stayed);
                } else {
                    now.extend(stayed.filter_map(|row| new_numbers.get(row as usize).copied().flatten()));
                }
                if entering.len() > 0 {
                    now.extend(entering);
                    now.sort_unstable();
                }
                Arc::new(Members::new(now, renumbering.rows()))
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Members::Dense(bitmap) => bitmap.len() == 0,
            Members::Sparse(rows) => rows.is_empty(),
        }
    }

    pub(super) fn contains(&self, row: u32) -> bool {
        match self {
            Members::Dense(bitmap) => bitmap.contains(row),
            Members::Sparse(rows) => rows.binary_search(&row).is_ok(),
        }
    }

    pub(super) fn add_to(&self, found: &mut Bitmap) {
        match self {
            Members::Dense(bitmap) => found.add(bitmap),
            Members::Sparse(rows) => rows.iter().for_each(|&row| found.insert(row)),
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Members::Dense(bitmap) => bitmap.heap_bytes(),
            Members::Sparse(rows) => rows.capacity() * size_of::<u32>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(members: &Members, rows: usize) -> Vec<u32> {
        let mut found = Bitmap::none(rows);
        members.add_to(&mut found);
        found.iter().collect()
    }

    #[test]
    fn few_rows_are_stored_as_a_list_and_many_as_a_bitmap() {
        assert_eq!(Members::new(alloc::vec![500], 1_000), Members::Sparse(alloc::vec![500]));
        assert!(matches!(Members::new((0..500).collect(), 1_000), Members::Dense(_)));
    }

    proptest! {
        #[test]
        fn changed_members_are_those_that_a_new_set_would_have(
            rows in 1usize..300, members in proptest::collection::btree_set(0u32..300, 0..150), few: bool,
            left in proptest::collection::btree_set(0u32..300, 0..20), removed in proptest::option::of(0u32..300),
            added in proptest::option::of(0usize..300), entered in proptest::collection::btree_set(0u32..300, 0..20),
        ) {
            let members = members.into_iter().filter(|row| (*row as usize) < rows).step_by(if few { 40 } else { 1 });
            let members = Arc::new(Members::new(members.collect(), rows));
            let mut numbers: Vec<Option<u32>> = (0..rows as u32).filter(|row| Some(*row) != removed).map(Some).collect();
            added.into_iter().for_each(|at| numbers.insert(at.min(numbers.len()), None));
            let renumbering = Renumbering::new(rows, numbers.iter().map(|&old| (old, false)));
            let mut leaving = Bitmap::none(rows);
            left.iter().for_each(|&row| leaving.insert(row));
            let stays = |old: u32| members.contains(old) && !leaving.contains(old);
            // Only a row that is not in the group enters it.
            let (mut expected, mut entering) = (Vec::new(), Vec::new());
            for (row, old) in (0u32..).zip(&numbers) {
                if old.is_some_and(stays) {
                    expected.push(row);
                } else if entered.contains(&row) {
                    expected.push(row);
                    entering.push(row);
                }
            }
            let after = members.after(&renumbering, &renumbering.new_numbers(), &leaving, entering.into_iter());
            prop_assert_eq!(sorted(&after, numbers.len()), expected.clone());
            prop_assert_eq!(&*after, &Members::new(expected.clone(), numbers.len()));
            prop_assert_eq!(after.is_empty(), expected.is_empty());
        }
    }
}
