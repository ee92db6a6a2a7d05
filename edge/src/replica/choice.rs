//! Which families an isolate holds: all of them if they fit in its memory, otherwise the most used ones.
//!
//! The use of a family is the number of requests that its rows answered, or would have answered if they were held; it halves every ten minutes.
//! So that families do not replace each other again and again, one that is held counts twice and needs less room than one that is not.

use core::cmp::Reverse;
use rds_shared::read_model::ALWAYS;
use rds_shared::replica::{FAMILIES, Families, Family};
use rds_shared::wire::Timestamp;

/// Maximum bytes of rows that are held and of those that are about to replace all of them.
pub const PEAK_BYTES: usize = 110_000_000;
/// Time in which the use of a family halves.
const HALF_LIFE_MILLIS: i64 = 600_000;
/// Requests that a family which is held has ahead of the others.
const AHEAD: u64 = 30;

/// Bytes in memory by family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes([usize; FAMILIES]);

impl Sizes {
    pub fn of(&self, family: Family) -> usize {
        self.0.get(family as usize).copied().unwrap_or(0)
    }

    pub fn set(&mut self, family: Family, bytes: usize) {
        if let Some(place) = self.0.get_mut(family as usize) {
            *place = bytes;
        }
    }

    /// Bytes of these families together.
    pub fn total(&self, families: Families) -> usize {
        families.iter().map(|family| self.of(family)).fold(0, usize::saturating_add)
    }
}

/// How much each family is used.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    requests: [u32; FAMILIES],
    /// When the numbers were last halved; `None` before the first request.
    halved_at: Option<Timestamp>,
}

impl Usage {
    /// Counts a request whose answer is made from these families.
    pub fn note(&mut self, families: Families, now: Timestamp) {
        self.halve(now);
        for family in families.iter() {
            if let Some(requests) = self.requests.get_mut(family as usize) {
                *requests = requests.saturating_add(1);
            }
        }
    }

    fn halve(&mut self, now: Timestamp) {
        let from = self.halved_at.filter(|at| *at <= now).unwrap_or(now);
        let times = now.as_millis().saturating_sub(from.as_millis()).checked_div(HALF_LIFE_MILLIS).unwrap_or(0);
        self.halved_at =
            Some(Timestamp::from_millis(from.as_millis().saturating_add(times.saturating_mul(HALF_LIFE_MILLIS))));
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        for requests in &mut self.requests {
            *requests = requests.checked_shr(times).unwrap_or(0);
        }
    }

    /// Requests for a family, older ones counting less.
    pub fn of(&self, family: Family) -> u64 {
        self.requests.get(family as usize).copied().unwrap_or(0).into()
    }
}

/// The families to hold in `max_bytes`, given those that are held now. `None` if not even the families fit that every holder needs.
///
/// From the most used family on, each one is taken that still fits; of equally used ones, the smaller first. A family that is not held must leave
/// a tenth of the bytes free, so that it has room to grow before something is left out again.
pub fn choose(sizes: &Sizes, usage: &Usage, held: Families, max_bytes: usize) -> Option<Families> {
    let rank = |family: &Family| match held.has(*family) {
        true => usage.of(*family).saturating_mul(2).saturating_add(AHEAD),
        false => usage.of(*family),
    };
    let mut others: Vec<Family> = Families::ALL.without(ALWAYS).iter().collect();
    others.sort_by_key(|family| (Reverse(rank(family)), sizes.of(*family)));
    let with_room = max_bytes.saturating_sub(max_bytes.checked_div(10).unwrap_or(0));
    let (mut chosen, mut bytes) = (ALWAYS, sizes.total(ALWAYS));
    if bytes > max_bytes {
        return None;
    }
    for family in others {
        let after = bytes.saturating_add(sizes.of(family));
        if after <= if held.has(family) { max_bytes } else { with_room } {
            (chosen, bytes) = (chosen.with(family), after);
        }
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_seconds(1_795_219_200 + 60 * minutes)
    }

    fn sizes(of: &[(Family, usize)]) -> Sizes {
        let mut sizes = Sizes::default();
        of.iter().for_each(|(family, bytes)| sizes.set(*family, *bytes));
        sizes
    }

    fn used(of: &[(Family, u32)]) -> Usage {
        let mut usage = Usage::default();
        for (family, requests) in of {
            (0..*requests).for_each(|_| usage.note(Families::of(&[*family]), at(0)));
        }
        usage
    }

    const THREE: [(Family, usize); 3] = [(Family::Vaults, 50), (Family::Feeds, 30), (Family::Markets, 10)];

    fn left_out(usage: &[(Family, u32)], held: Families, max_bytes: usize) -> Vec<Family> {
        let chosen = choose(&sizes(&THREE), &used(usage), held, max_bytes).unwrap();
        Families::ALL.without(chosen).iter().collect()
    }

    #[test]
    fn the_least_used_family_is_left_out() {
        assert!(left_out(&[], Families::NONE, 100).is_empty());
        assert_eq!(left_out(&[(Family::Vaults, 9), (Family::Feeds, 5)], Families::NONE, 95), [Family::Markets]);
        assert_eq!(left_out(&[(Family::Vaults, 9), (Family::Markets, 5)], Families::NONE, 80), [Family::Feeds]);
        assert_eq!(left_out(&[(Family::Feeds, 9)], Families::NONE, 80), [Family::Vaults]);
        assert_eq!(left_out(&[], Families::NONE, 80), [Family::Vaults], "without requests, as many as fit");
    }

    #[test]
    fn a_family_that_is_held_stays_until_another_is_used_much_more() {
        let held = Families::ALL.without(Families::of(&[Family::Feeds]));
        let after = |vaults, feeds| left_out(&[(Family::Vaults, vaults), (Family::Feeds, feeds)], held, 75);
        assert_eq!(after(100, 120), [Family::Feeds]);
        assert_eq!(after(100, 229), [Family::Feeds]);
        assert_eq!(after(100, 231), [Family::Vaults]);
        let held = Families::ALL.without(Families::of(&[Family::Vaults]));
        let after = |vaults, feeds| left_out(&[(Family::Vaults, vaults), (Family::Feeds, feeds)], held, 75);
        assert_eq!(after(231, 231), [Family::Vaults], "and does not return for as much");
    }

    #[test]
    fn a_family_that_does_not_fit_in_again_needs_some_room() {
        let held = Families::ALL.without(Families::of(&[Family::Markets]));
        let with_markets = |max_bytes| left_out(&[], held, max_bytes).is_empty();
        assert_eq!([90, 98, 100].map(with_markets), [false, false, true]);
        assert!(left_out(&[], Families::ALL, 90).is_empty(), "it is held");
    }

    #[test]
    fn without_what_every_holder_needs_nothing_is_held() {
        let sizes = sizes(&[(Family::Protocols, 60), (Family::Singles, 41)]);
        assert_eq!(choose(&sizes, &Usage::default(), Families::ALL, 100), None);
        assert_eq!(choose(&sizes, &Usage::default(), Families::ALL, 101), Some(Families::ALL));
    }

    #[test]
    fn requests_count_half_after_ten_minutes_and_nothing_after_a_day() {
        let mut usage = used(&[(Family::Feeds, 8)]);
        let feeds = |usage: &mut Usage, minutes| {
            usage.note(Families::NONE, at(minutes));
            usage.of(Family::Feeds)
        };
        let seen = [9, 10, 19, 20, 5, 16, 2_000].map(|minutes| feeds(&mut usage, minutes));
        assert_eq!(seen, [8, 4, 4, 2, 2, 1, 0], "a clock that is set back does not matter");
    }

    proptest! {
        #[test]
        fn what_is_chosen_fits_and_is_chosen_again(
            bytes in prop::array::uniform13(0usize..60), requests in prop::array::uniform13(0u32..200), held in 0u16..1 << FAMILIES,
            max_bytes in 0usize..400,
        ) {
            let (sizes, usage) = (Sizes(bytes), Usage { requests, halved_at: None });
            let held: Families = Family::ALL.into_iter().filter(|family| held >> *family as u16 & 1 == 1).collect();
            match choose(&sizes, &usage, held, max_bytes) {
                None => prop_assert!(sizes.total(ALWAYS) > max_bytes),
                Some(chosen) => {
                    prop_assert!(chosen.has_all(ALWAYS) && sizes.total(chosen) <= max_bytes);
                    prop_assert_eq!(choose(&sizes, &usage, chosen, max_bytes), Some(chosen));
                }
            }
        }
    }
}
