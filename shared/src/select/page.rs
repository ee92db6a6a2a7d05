//! Taking one page out of an order.
//!
//! Three ways, the cheapest that will do:
//! - walk the sorted rows and test each, where matches are frequent and the page is near the beginning;
//! - gather the matching rows and select the page by rank, where they are few;
//! - look ahead to the page's beginning, then walk: deep pages, and filters that run with or against the sort order.

use alloc::vec::Vec;

use super::bitmap::Bitmap;
use super::order::{Order, Sorted};

/// What gathering one match costs, in steps of a walk.
const GATHER_COST: usize = 4;
/// How much longer than expected a walk may take before it is given up.
const PATIENCE: usize = 4;

/// The rows `offset..end` of those in `matches`, `total` in number, sorted by `order`. `None` stands for all rows;
/// `end` is at most `total`.
pub(super) fn page(
    order: &Order,
    descending: bool,
    matches: Option<&Bitmap>,
    total: usize,
    offset: usize,
    end: usize,
) -> Vec<u32> {
    let sorted = order.sorted(descending);
    let rows = sorted.rows();
    let Some(matches) = matches.filter(|_| total < rows.len()) else {
        return rows.get(offset..end).unwrap_or_default().to_vec();
    };
    let patient = PATIENCE as u128 * end as u128 * rows.len() as u128 / total.max(1) as u128;
    if patient <= sorted.step() as u128
        && let Some(page) = walk(rows, matches, offset, end, patient as usize)
    {
        return page;
    }
    let gathering = total.saturating_mul(GATHER_COST);
    if gathering > PATIENCE * sorted.step()
        && let Some(page) = walk_from_ahead(sorted, matches, offset, end, gathering)
    {
        return page;
    }
    gather(order, descending, matches, offset, end)
}

/// Tests the rows in turn; `None` when `steps` of them do not reach the page's end.
fn walk(rows: &[u32], matches: &Bitmap, offset: usize, end: usize, steps: usize) -> Option<Vec<u32>> {
    let size = end.saturating_sub(offset);
    let tested = rows.iter().take(steps).copied();
    let page: Vec<u32> = tested.filter(|&row| matches.contains(row)).skip(offset).take(size).collect();
    (page.len() == size).then_some(page)
}

fn walk_from_ahead(sorted: &Sorted, matches: &Bitmap, offset: usize, end: usize, steps: usize) -> Option<Vec<u32>> {
    let (start, before) = sorted.locate(matches, offset);
    walk(sorted.rows().get(start..)?, matches, offset.checked_sub(before)?, end.checked_sub(before)?, steps)
}

/// Ranks the matching rows and sorts only those up to the page's end.
fn gather(order: &Order, descending: bool, matches: &Bitmap, offset: usize, end: usize) -> Vec<u32> {
    let mut places: Vec<u64> = matches.iter().map(|row| order.place(row, descending)).collect();
    if end < places.len() {
        places.select_nth_unstable(end);
        places.truncate(end);
    }
    places.sort_unstable();
    places.iter().skip(offset).map(|place| *place as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_gives_the_same_page(
            keys in proptest::collection::vec(proptest::option::of(0..30), 1..500),
            members in proptest::collection::btree_set(0u32..500, 1..400),
            descending: bool, from in any::<prop::sample::Index>(), size in 1usize..50,
        ) {
            let order = Order::build(&keys);
            let mut matches = Bitmap::none(keys.len());
            members.iter().for_each(|&row| matches.insert(row));
            matches.insert(0);
            let total = matches.len();
            let from = from.index(total);
            let end = total.min(from + size);
            let sorted = order.sorted(descending);
            let expected = gather(&order, descending, &matches, from, end);
            prop_assert_eq!(walk(sorted.rows(), &matches, from, end, keys.len()), Some(expected.clone()));
            prop_assert_eq!(walk_from_ahead(sorted, &matches, from, end, keys.len()), Some(expected.clone()));
            prop_assert_eq!(page(&order, descending, Some(&matches), total, from, end), expected);
        }
    }

    #[test]
    fn a_walk_that_does_not_reach_the_end_of_the_page_says_so() {
        let mut matches = Bitmap::none(10);
        matches.insert(1);
        matches.insert(9);
        let rows: Vec<u32> = (0..10).collect();
        assert_eq!(walk(&rows, &matches, 0, 2, 9), None);
        assert_eq!(walk(&rows, &matches, 0, 1, 9), Some(alloc::vec![1]));
    }
}
