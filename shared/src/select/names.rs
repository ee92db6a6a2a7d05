//! The order of a column of texts, compared without regard to letter case.

use alloc::{sync::Arc, vec::Vec};
use core::cmp::Ordering;

use super::bitmap::Bitmap;
use super::order::{Key, Order, merge};
use super::renumbering::Renumbering;

/// Beyond this part of the rows, a pass over all rows is cheaper than moving the changed ones.
const MAX_MOVED: usize = 16;

/// The texts of all rows. A row's key is the position of the first row with its text, so that texts need not be kept.
struct Names<'a>(Vec<&'a str>);

/// The order of `rows` rows by `names`; a row that `names` does not reach has no name.
pub(super) fn build<'a>(rows: usize, names: impl Iterator<Item = &'a str>) -> Order {
    let names = Names(names.take(rows).collect());
    // The first eight bytes decide most comparisons.
    let mut heads: Vec<(u64, u32)> = names.0.iter().map(|name| head(name)).zip(0u32..).collect();
    heads.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| names.compare(a.1, b.1)));
    let sorted = heads.into_iter().map(|(_, row)| row).collect();
    names.order(sorted, rows, |a, b| names.equal(a, b))
}

/// The order after a change of the list, where `names` are the texts of all rows now.
pub(super) fn after<'a>(
    previous: &Arc<Order>,
    renumbering: &Renumbering,
    names: impl Iterator<Item = &'a str>,
) -> Arc<Order> {
    if renumbering.changed().is_empty() && renumbering.keeps_numbers() {
        return Arc::clone(previous);
    }
    let rows = renumbering.rows();
    let names = Names(names.take(rows).collect());
    let mut changed: Vec<u32> = renumbering.changed().iter().map(|changed| changed.row).collect();
    let named = |row: &u32| (*row as usize) < names.0.len();
    let sorted = if changed.len() > rows / MAX_MOVED {
        // Most names are usually the same, so that the sort finds long sorted runs.
        let mut all = previous.stayed(renumbering, &Bitmap::none(0));
        all.extend(renumbering.changed().iter().filter(|changed| changed.old.is_none()).map(|changed| changed.row));
        all.retain(named);
        all.sort_by(|&a, &b| names.compare(a, b));
        all
    } else {
        let mut moved = Bitmap::none(rows);
        changed.iter().for_each(|&row| moved.insert(row));
        let mut stayed = previous.stayed(renumbering, &moved);
        stayed.retain(named);
        changed.retain(named);
        changed.sort_unstable_by(|&a, &b| names.compare(a, b));
        merge(&stayed, changed.into_iter(), |a, b| names.compare(a, b).is_lt())
    };
    // Texts of rows that did not change are equal if they were before.
    let keys = previous.carried_keys(renumbering);
    let mut changed = Bitmap::none(rows);
    renumbering.changed().iter().for_each(|row| changed.insert(row.row));
    let order = names.order(sorted, rows, |a, b| {
        if changed.contains(a) || changed.contains(b) {
            return names.equal(a, b);
        }
        keys.get(a as usize) == keys.get(b as usize)
    });
    if order == **previous { Arc::clone(previous) } else { Arc::new(order) }
}

impl Names<'_> {
    fn get(&self, row: u32) -> &str {
        self.0.get(row as usize).copied().unwrap_or_default()
    }

    /// By name, then by row.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        compare_folded(self.get(a), self.get(b)).then(a.cmp(&b))
    }

    fn equal(&self, a: u32, b: u32) -> bool {
        compare_folded(self.get(a), self.get(b)).is_eq()
    }

    /// The order of `rows` rows, of which `sorted` are those with a name. `equal` compares two of them.
    fn order(&self, mut sorted: Vec<u32>, rows: usize, equal: impl Fn(u32, u32) -> bool) -> Order {
        let mut keys = alloc::vec![Key::NONE; rows];
        let (mut last, mut key) = (None, Key::NONE);
        for (position, &row) in (0i64..).zip(&sorted) {
            if !last.is_some_and(|last| equal(last, row)) {
                key = Key::of_integer(Some(position));
            }
            last = Some(row);
            if let Some(slot) = keys.get_mut(row as usize) {
                *slot = key;
            }
        }
        sorted.extend((0u32..).take(rows).skip(self.0.len()));
        Order::of_sorted(keys, sorted)
    }
}

/// Compares as the folded texts do: `fold` maps characters one by one, and the order of characters is that of their bytes.
fn compare_folded(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        let pairs = a.bytes().zip(b.bytes()).map(|(a, b)| (a.to_ascii_lowercase(), b.to_ascii_lowercase()));
        let differing = pairs.map(|(a, b)| a.cmp(&b)).find(|order| order.is_ne());
        return differing.unwrap_or_else(|| a.len().cmp(&b.len()));
    }
    a.chars().flat_map(char::to_lowercase).cmp(b.chars().flat_map(char::to_lowercase))
}

/// The first eight bytes of the folded text as a number; texts with different heads are in the order of their heads.
fn head(name: &str) -> u64 {
    let mut buffer = [0; 4];
    let folded = name.chars().take(8).flat_map(char::to_lowercase);
    let (mut head, mut free) = (0u64, 8u32);
    for character in folded {
        for &byte in character.encode_utf8(&mut buffer).as_bytes() {
            let Some(left) = free.checked_sub(1) else { return head };
            head |= u64::from(byte) << (8 * left);
            free = left;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::text::fold;
    use alloc::string::String;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_in_the_order_of_their_folded_bytes(
            names in proptest::collection::vec("[aAbBzΣσßİ\0 ]{0,11}", 0..60), rows in 0usize..70,
        ) {
            let order = build(rows, names.iter().map(String::as_str));
            let mut expected: Vec<u32> = (0..rows as u32).collect();
            expected.sort_by_key(|&row| (row as usize >= names.len(), names.get(row as usize).map(|name| fold(name))));
            prop_assert_eq!(order.sorted().ascending(), expected);
            let equal = |a: u32, b: u32| order.place(a, false).0 == order.place(b, false).0;
            for (a, first) in (0u32..).zip(names.iter().take(rows)) {
                for (b, second) in (0u32..).zip(names.iter().take(rows)) {
                    prop_assert_eq!(equal(a, b), fold(first) == fold(second));
                }
            }
        }
    }
}
