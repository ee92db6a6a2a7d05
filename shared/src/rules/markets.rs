//! What a lending market's reserves add up to.
//!
//! Source: interface, "Market" (totals) and "Market reserve".

use alloc::string::String;
use core::cmp::Ordering;

/// A member of a pool-shaped market, as far as the totals look at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReserveReading {
    /// Supplied value in USD, borrowed amounts included; null when it was not read.
    pub supplied_usd: Option<f64>,
    /// Borrowed over supplied, may exceed 1; null when it was not read or nobody can borrow.
    pub utilization: Option<f64>,
    /// Whether it takes part: active, and not shut down.
    pub rolls_up: bool,
}

impl ReserveReading {
    /// Value lent out, in USD; null unless both supply and utilization were read.
    pub fn borrowed_usd(&self) -> Option<f64> {
        let (supplied, utilization) = known(self.supplied_usd).zip(known(self.utilization))?;
        known(Some(supplied * utilization))
    }
}

/// The totals of one market. Amounts in USD.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MarketTotals {
    /// Reserves that take part.
    pub reserve_count: u64,
    /// Those of them whose supply was read.
    pub supplied_observed_count: u64,
    /// Those of them whose borrow side was read.
    pub borrow_observed_count: u64,
    /// Sum of what was read; 0 when nothing was.
    pub supplied_usd: f64,
    /// Sum over the observed borrow sides; null, never 0, without any.
    pub borrowed_usd: Option<f64>,
    /// `borrowed_usd` over the supply of those same reserves; null where there is nothing to divide by.
    pub utilization: Option<f64>,
}

/// Adds reserves up, in the order given, so that equal members give equal sums to the bit.
pub fn totals(reserves: impl IntoIterator<Item = ReserveReading>) -> MarketTotals {
    let mut totals = MarketTotals::default();
    let (mut borrowed, mut lendable) = (0.0, 0.0);
    for reserve in reserves.into_iter().filter(|reserve| reserve.rolls_up) {
        totals.reserve_count += 1;
        let Some(supplied) = known(reserve.supplied_usd) else { continue };
        totals.supplied_observed_count += 1;
        totals.supplied_usd += supplied;
        if let Some(lent) = reserve.borrowed_usd() {
            totals.borrow_observed_count += 1;
            borrowed += lent;
            lendable += supplied;
        }
    }
    if totals.borrow_observed_count > 0 {
        totals.borrowed_usd = Some(borrowed);
        totals.utilization = known(Some(borrowed / lendable));
    }
    totals
}

/// The order of a market's reserves: largest supply first, the unread last; the caller breaks ties.
pub fn by_supply(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (known(a), known(b)) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Longest key that is made of a name, before its number.
const KEY_CHARS: usize = 48;

/// The market key that a name gives: lower-case letters and digits of ASCII, runs of anything else as one hyphen.
///
/// Only the first sight of a contract asks for it; see [`numbered_key`] for names that were taken.
pub fn key_of(name: &str) -> String {
    let mut key = String::new();
    for character in name.chars() {
        if key.len() >= KEY_CHARS {
            break;
        }
        if character.is_ascii_alphanumeric() {
            key.push(character.to_ascii_lowercase());
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    let trimmed = key.trim_end_matches('-');
    String::from(if trimmed.is_empty() { "market" } else { trimmed })
}

/// The key for the `number`-th contract, from 1, that would have the same one.
pub fn numbered_key(key: &str, number: u64) -> String {
    if number <= 1 { String::from(key) } else { alloc::format!("{key}-{number}") }
}

fn known(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn reserve(supplied_usd: Option<f64>, utilization: Option<f64>) -> ReserveReading {
        ReserveReading { supplied_usd, utilization, rolls_up: true }
    }

    #[test]
    fn without_an_observed_borrow_side_nothing_is_said_to_be_borrowed() {
        let found = totals([reserve(Some(100.0), None), reserve(None, Some(0.5)), reserve(Some(1.0), Some(f64::NAN))]);
        assert_eq!((found.borrowed_usd, found.utilization, found.borrow_observed_count), (None, None, 0));
        assert_eq!((found.supplied_usd, found.reserve_count, found.supplied_observed_count), (101.0, 3, 2));
    }

    #[test]
    fn an_unknown_utilization_counts_toward_the_supply_only() {
        let found = totals([reserve(Some(100.0), Some(0.5)), reserve(Some(300.0), None)]);
        assert_eq!((found.supplied_usd, found.borrowed_usd, found.utilization), (400.0, Some(50.0), Some(0.5)));
    }

    #[test]
    fn an_idle_market_has_borrowed_nothing_which_is_known() {
        let found = totals([reserve(Some(100.0), Some(0.0))]);
        assert_eq!((found.borrowed_usd, found.utilization), (Some(0.0), Some(0.0)));
        let empty = totals([reserve(Some(0.0), Some(0.0))]);
        assert_eq!((empty.borrowed_usd, empty.utilization), (Some(0.0), None));
    }

    #[test]
    fn what_is_shut_down_or_gone_adds_nothing() {
        let closed = ReserveReading { rolls_up: false, ..reserve(Some(1e9), Some(0.9)) };
        assert_eq!(totals([closed]), MarketTotals::default());
    }

    #[test]
    fn reserves_stand_by_supply_with_the_unread_last() {
        let mut supplies = [None, Some(1.0), Some(f64::NAN), Some(7.0), Some(0.0)];
        supplies.sort_by(|a, b| by_supply(*a, *b));
        assert_eq!(
            supplies.map(|supply| supply.filter(|value| !value.is_nan())),
            [Some(7.0), Some(1.0), Some(0.0), None, None]
        );
    }

    #[test]
    fn a_key_is_made_of_a_name_and_numbered_when_it_is_taken() {
        let keys = ["Prime", "ethena_ecosystem", "  USDC / wstETH (86%) ", "Größe", "ÄÖ"].map(key_of);
        assert_eq!(keys, ["prime", "ethena-ecosystem", "usdc-wsteth-86", "gr-e", "market"]);
        assert_eq!(key_of(&"x".repeat(100)).len(), KEY_CHARS);
        assert_eq!([1, 2, 3].map(|number| numbered_key("prime", number)), ["prime", "prime-2", "prime-3"]);
    }

    proptest! {
        #[test]
        fn every_name_gives_a_key_that_a_path_can_hold(name in "\\PC{0,80}") {
            let key = key_of(&name);
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            prop_assert!(!key.is_empty() && key.chars().all(allowed) && !key.starts_with('-') && !key.ends_with('-'));
        }

        #[test]
        fn the_parts_make_the_whole(
            members in proptest::collection::vec(
                (proptest::option::of(0.0f64..1e9), proptest::option::of(0.0f64..2.0), any::<bool>()), 0..20),
        ) {
            let readings: Vec<ReserveReading> = members.iter()
                .map(|&(supplied_usd, utilization, rolls_up)| ReserveReading { supplied_usd, utilization, rolls_up }).collect();
            let found = totals(readings.iter().copied());
            prop_assert_eq!(found.borrowed_usd.is_none(), found.borrow_observed_count == 0);
            prop_assert!(found.borrow_observed_count <= found.supplied_observed_count);
            prop_assert!(found.supplied_observed_count <= found.reserve_count);
            // A market's utilization lies among those of its reserves.
            if let Some(utilization) = found.utilization {
                let observed = readings.iter().filter(|r| r.rolls_up && r.borrowed_usd().is_some());
                let most = observed.filter_map(|r| r.utilization).fold(0.0, f64::max);
                prop_assert!(utilization <= most * (1.0 + 1e-12));
            }
        }
    }
}
