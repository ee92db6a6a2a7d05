//! Selects one page of the matching rows in sort order, by the cheapest of three methods:
//! - scan the sorted rows and test each: for frequent matches and a page near the beginning;
//! - collect the matching rows and select the page by rank: for few matches;
//! - locate the page's beginning, then scan: for deep pages, and filters that correlate with the sort order.

use alloc::vec::Vec;

use super::bitmap::Bitmap;
use super::order::Order;
use super::sorted::Sorted;

/// Cost of ranking one match, in units of scanning one row.
const RANK_COST: usize = 4;
/// A scan is abandoned after this multiple of the expected number of rows.
const MAX_OVERRUN: usize = 4;

/// Rows `offset..end` of the `total` rows in `matches`, sorted by `order`. If `matches` is `None`, all rows match. `end` is
/// at most `total`.
pub(super) fn page(
    order: &Order,
    descending: bool,
    matches: Option<&Bitmap>,
    total: usize,
    offset: usize,
    end: usize,
) -> Vec<u32> {
    let sorted = order.sorted();
    let Some(matches) = matches.filter(|_| total < sorted.len()) else {
        return sorted.runs(descending, offset).flatten().copied().take(end.saturating_sub(offset)).collect();
    };
    let max_scan = MAX_OVERRUN as u128 * end as u128 * sorted.len() as u128 / total.max(1) as u128;
    if max_scan <= sorted.step() as u128
        && let Some(page) = scan(sorted.runs(descending, 0), matches, offset, end, max_scan as usize)
    {
        return page;
    }
    let rank_cost = total.saturating_mul(RANK_COST);
    if rank_cost > MAX_OVERRUN * sorted.step()
        && let Some(page) = scan_from_located(sorted, descending, matches, offset, end, rank_cost)
    {
        return page;
    }
    select_by_rank(order, descending, matches, offset, end)
}

/// Tests the rows in order; `None` if the first `steps` rows do not reach the end of the page.
fn scan<'a>(
    runs: impl Iterator<Item = &'a [u32]>,
    matches: &Bitmap,
    offset: usize,
    end: usize,
    steps: usize,
) -> Option<Vec<u32>> {
    let size = end.saturating_sub(offset);
    let tested = runs.flatten().take(steps).copied();
    let mut page = Vec::with_capacity(size);
    page.extend(tested.filter(|&row| matches.contains(row)).skip(offset).take(size));
    (page.len() == size).then_some(page)
}

fn scan_from_located(
    sorted: &Sorted,
    descending: bool,
    matches: &Bitmap,
    offset: usize,
    end: usize,
    steps: usize,
) -> Option<Vec<u32>> {
    let (start, before) = sorted.locate(descending, matches, offset);
    let runs = sorted.runs(descending, start);
    scan(runs, matches, offset.checked_sub(before)?, end.checked_sub(before)?, steps)
}

/// Sorts the matching rows up to the end of the page.
fn select_by_rank(order: &Order, descending: bool, matches: &Bitmap, offset: usize, end: usize) -> Vec<u32> {
    let mut places: Vec<_> = matches.iter().map(|row| order.place(row, descending)).collect();
    if end < places.len() {
        places.select_nth_unstable(end);
        places.truncate(end);
    }
    places.sort_unstable();
    places.iter().skip(offset).map(|(_, row)| *row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::{Pace, at_once};
    use crate::select::order::Key;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_three_methods_select_the_same_page(
            keys in proptest::collection::vec(proptest::option::of(0i64..30), 1..500),
            members in proptest::collection::btree_set(0u32..500, 1..400),
            descending: bool, from in any::<prop::sample::Index>(), size in 1usize..50,
        ) {
            let keys_of_rows = keys.iter().map(|key| Key::of_integer(*key)).collect();
            let order = at_once(Order::build(keys_of_rows, &Pace::unbroken()));
            let mut matches = Bitmap::none(keys.len());
            members.iter().for_each(|&row| matches.insert(row));
            matches.insert(0);
            let total = matches.len();
            let from = from.index(total);
            let end = total.min(from + size);
            let sorted = order.sorted();
            let expected = select_by_rank(&order, descending, &matches, from, end);
            prop_assert_eq!(scan(sorted.runs(descending, 0), &matches, from, end, keys.len()), Some(expected.clone()));
            prop_assert_eq!(scan_from_located(sorted, descending, &matches, from, end, keys.len()), Some(expected.clone()));
            prop_assert_eq!(page(&order, descending, Some(&matches), total, from, end), expected);
        }
    }

    #[test]
    fn a_scan_that_does_not_reach_the_end_of_the_page_returns_none() {
        let mut matches = Bitmap::none(10);
        matches.insert(1);
        matches.insert(9);
        let rows: Vec<u32> = (0..10).collect();
        assert_eq!(scan([rows.as_slice()].into_iter(), &matches, 0, 2, 9), None);
        assert_eq!(scan([rows.as_slice()].into_iter(), &matches, 0, 1, 9), Some(alloc::vec![1]));
    }
}
