//! Sorts many rows in pieces: runs first, which are then merged.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::pace::Pace;

/// Items of a run, and of a step of a merge.
const RUN: usize = 1 << 12;
/// Comparisons of an item while a run of it is sorted.
const COMPARISONS: usize = 14;

/// Sorts items no two of which are equal; `nanos` is about what a comparison takes.
pub(super) async fn sort<T: Copy>(
    items: Vec<T>,
    nanos: usize,
    pace: &Pace<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<T> {
    let mut from = items;
    for run in from.chunks_mut(RUN) {
        pace.step(run.len() * COMPARISONS * nanos).await;
        run.sort_unstable_by(&compare);
    }
    let mut into = Vec::new();
    let mut width = RUN;
    while width < from.len() {
        into.clear();
        into.reserve_exact(from.len());
        for pair in from.chunks(2 * width) {
            let (mut one, mut other) = pair.split_at(width.min(pair.len()));
            while !one.is_empty() || !other.is_empty() {
                pace.step((one.len() + other.len()).min(RUN) * (nanos + 4)).await;
                merge(&mut one, &mut other, &mut into, &compare);
            }
        }
        core::mem::swap(&mut from, &mut into);
        width *= 2;
    }
    from
}

/// Moves the least items of two runs to `into`, at most [`RUN`].
fn merge<T: Copy>(one: &mut &[T], other: &mut &[T], into: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    for _ in 0..RUN {
        let least = match (one.split_first(), other.split_first()) {
            (Some((first, rest)), Some((second, _))) if compare(first, second).is_le() => {
                *one = rest;
                first
            }
            (_, Some((second, rest))) => {
                *other = rest;
                second
            }
            (Some((first, rest)), None) => {
                *one = rest;
                first
            }
            (None, None) => return,
        };
        into.push(*least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;
    use crate::pace::tests::Counted;
    use alloc::vec;

    fn numbers(count: usize) -> Vec<u32> {
        (0..count as u32).map(|number| number.wrapping_mul(0x9e37_79b1)).collect()
    }

    #[test]
    fn runs_of_any_number_and_length_are_merged() {
        for count in [0, 1, 2, RUN - 1, RUN, RUN + 1, 2 * RUN, 3 * RUN + 7, 9 * RUN + 1] {
            let sorted = at_once(sort(numbers(count), 1, &Pace::unbroken(), u32::cmp));
            let mut expected = numbers(count);
            expected.sort_unstable();
            assert!(sorted == expected, "{count} items");
        }
    }

    #[test]
    fn a_long_sort_pauses_often() {
        let host = Counted::default();
        at_once(sort(numbers(25 * RUN), 10, &Pace::of(&host), u32::cmp));
        assert!(host.0.get() >= 8, "{} pauses", host.0.get());
        assert_eq!(at_once(sort(vec![2, 1], 10, &Pace::of(&host), u32::cmp)), [1, 2]);
    }
}
