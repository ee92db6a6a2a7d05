//! Totals of a lending market's reserves, and market keys.

use alloc::string::String;
use core::cmp::Ordering;

/// A reserve of a pooled market: the inputs of the totals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReserveReading {
    /// Supplied value in USD, borrowed amounts included; null when it was not read.
    pub supplied_usd: Option<f64>,
    /// Borrowed over supplied value, as a fraction; may exceed 1; `None` if it was not read or the reserve is not borrowable.
    pub utilization: Option<f64>,
    /// Whether the reserve counts toward the totals: active, and not shut down.
    pub rolls_up: bool,
}

impl ReserveReading {
    /// Value lent out, in USD; null unless both supply and utilization were read.
    pub fn borrowed_usd(&self) -> Option<f64> {
        let (supplied, utilization) = known(self.supplied_usd).zip(known(self.utilization))?;
        known(Some(supplied * utilization))
    }
}

/// The totals of one market. Amounts are in USD.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MarketTotals {
    /// Number of reserves that count toward the totals.
    pub reserve_count: u64,
    /// Number of reserves in the totals whose supply was read.
    pub supplied_observed_count: u64,
    /// Number of reserves in the totals whose borrow side was read.
    pub borrow_observed_count: u64,
    /// Sum of the supplies read; 0 when none was.
    pub supplied_usd: f64,
    /// Borrowed value of the reserves whose borrow side was read; null, not 0, if none was read.
    pub borrowed_usd: Option<f64>,
    /// `borrowed_usd` over the supply of the same reserves; null when that supply is 0.
    pub utilization: Option<f64>,
}

/// Adds reserves up in the order given: the same reserves in the same order give bit-identical sums.
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

/// The order of a market's reserves: largest supply first, reserves without a reading last; the caller breaks ties.
pub fn by_supply(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (known(a), known(b)) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Maximum length, in characters, of a key derived from a name, without the number that [`numbered_key`] appends.
const KEY_CHARS: usize = 48;

/// The market key derived from a name: lower-case ASCII letters and digits, with each run of other characters replaced by one hyphen.
///
/// A contract's key is derived once, when the contract is first seen; [`numbered_key`] resolves a key that is already taken.
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

/// The key of the `number`-th contract, counted from 1, among the contracts whose names give the same key.
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
    fn without_an_observed_borrow_side_the_borrowed_value_is_null() {
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
    fn an_idle_market_has_a_known_borrowed_value_of_zero() {
        let found = totals([reserve(Some(100.0), Some(0.0))]);
        assert_eq!((found.borrowed_usd, found.utilization), (Some(0.0), Some(0.0)));
        let empty = totals([reserve(Some(0.0), Some(0.0))]);
        assert_eq!((empty.borrowed_usd, empty.utilization), (Some(0.0), None));
    }

    #[test]
    fn reserves_that_are_shut_down_or_inactive_add_nothing() {
        let closed = ReserveReading { rolls_up: false, ..reserve(Some(1e9), Some(0.9)) };
        assert_eq!(totals([closed]), MarketTotals::default());
    }

    #[test]
    fn reserves_are_ordered_by_supply_with_unread_ones_last() {
        let mut supplies = [None, Some(1.0), Some(f64::NAN), Some(7.0), Some(0.0)];
        supplies.sort_by(|a, b| by_supply(*a, *b));
        assert_eq!(
            supplies.map(|supply| supply.filter(|value| !value.is_nan())),
            [Some(7.0), Some(1.0), Some(0.0), None, None]
        );
    }

    #[test]
    fn a_market_key_is_a_slug_of_the_name_with_a_number_if_taken() {
        let keys = ["Prime", "ethena_ecosystem", "  USDC / wstETH (86%) ", "Größe", "ÄÖ"].map(key_of);
        assert_eq!(keys, ["prime", "ethena-ecosystem", "usdc-wsteth-86", "gr-e", "market"]);
        assert_eq!(key_of(&"x".repeat(100)).len(), KEY_CHARS);
        assert_eq!([1, 2, 3].map(|number| numbered_key("prime", number)), ["prime", "prime-2", "prime-3"]);
    }

    proptest! {
        #[test]
        fn every_name_gives_a_key_that_is_valid_in_a_path(name in "\\PC{0,80}") {
            let key = key_of(&name);
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            prop_assert!(!key.is_empty() && key.chars().all(allowed) && !key.starts_with('-') && !key.ends_with('-'));
        }

        #[test]
        fn the_totals_agree_with_the_reserves(
            members in proptest::collection::vec(
                (proptest::option::of(0.0f64..1e9), proptest::option::of(0.0f64..2.0), any::<bool>()), 0..20),
        ) {
            let readings: Vec<ReserveReading> = members.iter()
                .map(|&(supplied_usd, utilization, rolls_up)| ReserveReading { supplied_usd, utilization, rolls_up }).collect();
            let found = totals(readings.iter().copied());
            prop_assert_eq!(found.borrowed_usd.is_none(), found.borrow_observed_count == 0);
            prop_assert!(found.borrow_observed_count <= found.supplied_observed_count);
            prop_assert!(found.supplied_observed_count <= found.reserve_count);
            // A market's utilization is at most the highest utilization of its reserves.
            if let Some(utilization) = found.utilization {
                let observed = readings.iter().filter(|r| r.rolls_up && r.borrowed_usd().is_some());
                let most = observed.filter_map(|r| r.utilization).fold(0.0, f64::max);
                prop_assert!(utilization <= most * (1.0 + 1e-12));
            }
        }
    }
}
