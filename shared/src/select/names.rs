//! The order of a list by the first of each row's texts, compared without regard to letter case.
//!
//! A row's key is the position of the first row with its text, so that texts are kept in the corpus alone.

use alloc::{sync::Arc, vec::Vec};
use core::cmp::Ordering;

use super::bitmap::Bitmap;
use super::order::{Key, Order, merge};
use super::renumbering::Renumbering;
use super::sorting::sort;
use super::text::Corpus;
use crate::pace::Pace;

/// Beyond this part of the rows, a pass over all rows is cheaper than moving the changed ones.
const MAX_MOVED: usize = 16;
/// About what a pass over all rows takes for each, and a comparison of two texts.
const ROW_NANOS: usize = 40;
const COMPARE_NANOS: usize = 20;
/// About what it takes to place one row among all others.
const PLACE_NANOS: usize = 4_000;

/// The order of the entries of a corpus.
pub(super) async fn build(corpus: &Corpus, pace: &Pace<'_>) -> Order {
    let (texts, sorted) = sorted(corpus, pace).await;
    pace.step(sorted.len() * ROW_NANOS).await;
    order(sorted, |a, b| text(&texts, a) == text(&texts, b))
}

/// The first text of every row, and the rows in the order of the texts.
async fn sorted<'c>(corpus: &'c Corpus, pace: &Pace<'_>) -> (Vec<&'c [u8]>, Vec<u32>) {
    pace.step(corpus.len() * ROW_NANOS).await;
    let texts: Vec<&[u8]> = corpus.first_texts().collect();
    // The first eight bytes decide most comparisons.
    let heads: Vec<(u64, u32)> = texts.iter().map(|text| head(text)).zip(0u32..).collect();
    let compare = |a: &(u64, u32), b: &(u64, u32)| {
        a.0.cmp(&b.0).then_with(|| text(&texts, a.1).cmp(text(&texts, b.1))).then(a.1.cmp(&b.1))
    };
    let heads = sort(heads, COMPARE_NANOS, pace, compare).await;
    (texts, heads.into_iter().map(|(_, row)| row).collect())
}

fn text<'c>(texts: &[&'c [u8]], row: u32) -> &'c [u8] {
    texts.get(row as usize).copied().unwrap_or_default()
}

/// The order after a change of the list to the rows of `corpus`. `changed` are the rows with other texts than before, ascending.
pub(super) async fn after(
    previous: &Arc<Order>,
    renumbering: &Renumbering,
    corpus: &Corpus,
    changed: &[u32],
    pace: &Pace<'_>,
) -> Arc<Order> {
    if changed.is_empty() && renumbering.keeps_numbers() {
        return Arc::clone(previous);
    }
    let rows = renumbering.rows();
    if changed.len() > rows / MAX_MOVED {
        return Arc::new(build(corpus, pace).await);
    }
    pace.step(changed.len() * PLACE_NANOS).await;
    let compare = |a: u32, b: u32| -> Ordering { corpus.first_text(a).cmp(corpus.first_text(b)).then(a.cmp(&b)) };
    let mut moved = Bitmap::none(rows);
    changed.iter().for_each(|&row| moved.insert(row));
    let mut sorted = changed.to_vec();
    sorted.sort_unstable_by(|&a, &b| compare(a, b));
    let stayed = previous.stayed(renumbering, &moved);
    let sorted = merge(&stayed, sorted.into_iter(), |a, b| compare(a, b).is_lt());
    pace.step(rows * ROW_NANOS).await;
    // Texts of rows that did not change are equal if they were before.
    let keys = previous.carried_keys(renumbering);
    Arc::new(order(sorted, |a, b| {
        if moved.contains(a) || moved.contains(b) {
            return corpus.first_text(a) == corpus.first_text(b);
        }
        keys.get(a as usize) == keys.get(b as usize)
    }))
}

/// The order of rows that are sorted. `equal` compares the texts of two of them.
fn order(sorted: Vec<u32>, equal: impl Fn(u32, u32) -> bool) -> Order {
    let mut keys = alloc::vec![Key::NONE; sorted.len()];
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
    Order::of_sorted(keys, sorted)
}

/// The first eight bytes of a text as a number; texts with different heads are in the order of their heads.
fn head(text: &[u8]) -> u64 {
    let mut head = [0; size_of::<u64>()];
    head.iter_mut().zip(text).for_each(|(byte, given)| *byte = *given);
    u64::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;
    use crate::select::text::fold;
    use alloc::string::String;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_in_the_order_of_their_folded_first_texts(
            names in proptest::collection::vec("[aAbBzΣσßİ\0 ]{0,11}", 0..60),
        ) {
            let corpus = Corpus::build(names.iter().map(|name| [name.as_str(), "zz"]));
            let order = at_once(build(&corpus, &Pace::unbroken()));
            let mut expected: Vec<u32> = (0..names.len() as u32).collect();
            expected.sort_by_key(|&row| names.get(row as usize).map(|name| fold(name)));
            prop_assert_eq!(order.sorted().ascending(), expected);
            let equal = |a: u32, b: u32| order.place(a, false).0 == order.place(b, false).0;
            let folded: Vec<String> = names.iter().map(|name| fold(name)).collect();
            for (a, first) in (0u32..).zip(&folded) {
                for (b, second) in (0u32..).zip(&folded) {
                    prop_assert_eq!(equal(a, b), first == second);
                }
            }
        }
    }
}
