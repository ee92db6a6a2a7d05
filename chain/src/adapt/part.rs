//! The parts into which a vault's assets are divided.

use super::scale::{PPM, multiply_divide};
use super::{Unknown, Value};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Assets of a vault that are in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<T> {
    /// Where they are.
    pub place: T,
    /// How many, in the smallest unit of the vault's asset.
    pub assets: u128,
    /// Their part of all assets, in parts per million.
    pub share_ppm: u32,
}

/// The places with their shares, in the given order. A place without assets has the share 0.
///
/// The shares sum to exactly 1,000,000: each is rounded down, and the missing millionths go one each to the places with the largest
/// remainders, to the earlier one of two equal remainders. If there are no assets at all, every share is 0.
pub fn divide<T>(places: Vec<(T, u128)>) -> Value<Vec<Part<T>>> {
    let total = places.iter().try_fold(0_u128, |total, (_, assets)| total.checked_add(*assets));
    let total = total.ok_or(Unknown::Implausible)?;
    let (mut parts, mut remainders) = (Vec::with_capacity(places.len()), Vec::with_capacity(places.len()));
    let mut missing = if total == 0 { 0 } else { PPM };
    for (index, (place, assets)) in places.into_iter().enumerate() {
        // Only a total of 0 has no quotient; a part of a whole is at most 1,000,000 parts per million.
        let (share, remainder) = multiply_divide(assets, PPM.into(), total).unwrap_or((0, 0));
        let share_ppm = u32::try_from(share).unwrap_or(PPM);
        missing = missing.saturating_sub(share_ppm);
        remainders.push((Reverse(remainder), index));
        parts.push(Part { place, assets, share_ppm });
    }
    remainders.sort_unstable();
    for (_, index) in remainders.into_iter().take(usize::try_from(missing).unwrap_or(0)) {
        if let Some(part) = parts.get_mut(index) {
            part.share_ppm = part.share_ppm.saturating_add(1);
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    fn shares(assets: &[u128]) -> Vec<u32> {
        let places = assets.iter().map(|assets| ((), *assets)).collect();
        divide(places).unwrap().into_iter().map(|part| part.share_ppm).collect()
    }

    #[test]
    fn missing_millionths_go_to_the_largest_remainders_and_then_to_the_earlier_place() {
        assert_eq!(shares(&[1, 1, 1]), [333_334, 333_333, 333_333]);
        assert_eq!(shares(&[1, 1, 1, 1, 1, 1]), [166_667, 166_667, 166_667, 166_667, 166_666, 166_666]);
        assert_eq!(shares(&[1, 2]), [333_333, 666_667]);
        assert_eq!(shares(&[5, 0]), [1_000_000, 0]);
        assert_eq!(shares(&[0, 0]), [0, 0]);
        assert!(shares(&[]).is_empty());
    }

    #[test]
    fn assets_whose_sum_overflows_are_implausible() {
        assert_eq!(divide(vec![((), u128::MAX), ((), 1)]), Err(Unknown::Implausible));
    }

    proptest! {
        #[test]
        fn shares_sum_to_a_million_and_differ_from_the_exact_share_by_less_than_one(
            assets in proptest::collection::vec(0..u128::MAX / 64, 1..64),
        ) {
            let total: u128 = assets.iter().sum();
            let shares = shares(&assets);
            let sum: u32 = shares.iter().sum();
            prop_assert_eq!(sum, if total == 0 { 0 } else { 1_000_000 });
            for (share, assets) in shares.into_iter().zip(assets) {
                let (exact, _) = multiply_divide(assets, 1_000_000, total.max(1)).unwrap();
                prop_assert!(u128::from(share) == exact || u128::from(share) == exact + 1);
            }
        }
    }
}
