//! A day of one symbol: what the vaults that hold it were worth, and what they paid.
//!
//! Source: interface, "Assets", the symbol history.

use alloc::collections::BTreeMap;

use crate::wire::time::Day;

/// The last reading of one vault on one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayReading {
    /// The UTC day.
    pub day: Day,
    /// Supplied value in USD.
    pub tvl_usd: f64,
    /// Net rate as a fraction; null when the vault reported none.
    pub apr_net: Option<f64>,
}

/// What a symbol's vaults add up to on one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayTotal {
    /// Sum of their values in USD.
    pub tvl_usd: f64,
    /// Their net rate weighted by value, over those that reported one; null when none did.
    pub apr_net: Option<f64>,
    /// Vaults that were read.
    pub vaults: u64,
}

/// Adds readings up by day, in the order given. A day without a reading is not in the answer: it is missing, not zero.
pub fn by_day(readings: impl IntoIterator<Item = DayReading>) -> BTreeMap<Day, DayTotal> {
    #[derive(Default)]
    struct Sum {
        tvl: f64,
        vaults: u64,
        weighted: f64,
        weight: f64,
    }
    let mut days: BTreeMap<Day, Sum> = BTreeMap::new();
    for reading in readings {
        let sum = days.entry(reading.day).or_default();
        sum.vaults += 1;
        sum.tvl += reading.tvl_usd;
        if let Some(apr) = reading.apr_net {
            sum.weighted += apr * reading.tvl_usd;
            sum.weight += reading.tvl_usd;
        }
    }
    let total = |sum: Sum| DayTotal {
        tvl_usd: sum.tvl,
        apr_net: (sum.weight > 0.0).then(|| sum.weighted / sum.weight),
        vaults: sum.vaults,
    };
    days.into_iter().map(|(day, sum)| (day, total(sum))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(day: i64, tvl_usd: f64, apr_net: Option<f64>) -> DayReading {
        DayReading { day: Day::from_number(day), tvl_usd, apr_net }
    }

    #[test]
    fn the_rate_is_weighted_over_the_vaults_that_report_one() {
        let days = by_day([reading(3, 300.0, Some(0.02)), reading(3, 100.0, Some(0.06)), reading(3, 600.0, None)]);
        let day = days[&Day::from_number(3)];
        assert_eq!((day.tvl_usd, day.vaults), (1_000.0, 3));
        assert!((day.apr_net.unwrap() - 0.03).abs() < 1e-12);
    }

    #[test]
    fn nobody_reporting_is_null_and_a_missing_day_is_missing() {
        let days = by_day([reading(3, 5.0, None), reading(6, 0.0, Some(0.5))]);
        assert_eq!(days.keys().copied().collect::<alloc::vec::Vec<_>>(), [Day::from_number(3), Day::from_number(6)]);
        assert!(days.values().all(|day| day.apr_net.is_none()));
    }
}
