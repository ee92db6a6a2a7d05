//! Daily totals of one symbol: value and mean net rate of the vaults that hold it.
//!
//! On a day on which at least one vault of the symbol was read, a vault without a reading counts with its last value of the
//! [`CARRIED_DAYS`] days before. Its rate is not carried: a day's mean rate covers only the vaults that report a rate on that day.

use alloc::collections::BTreeMap;

use crate::wire::time::Day;

/// Number of days for which a vault's last value replaces missing readings. After that the vault is not part of the sum.
pub const CARRIED_DAYS: i64 = 7;

/// The last reading of one vault on one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayReading {
    /// The UTC day.
    pub day: Day,
    /// Supplied value in USD.
    pub tvl_usd: f64,
    /// Net annual rate as a fraction; `None` if the vault reported no rate.
    pub apr_net: Option<f64>,
    /// Whether the reading is from an earlier day, because the vault was not read on this one.
    pub is_carried: bool,
}

/// Totals of a symbol's vaults on one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayTotal {
    /// Sum of the values in USD.
    pub tvl_usd: f64,
    /// Mean net rate weighted by value, over the vaults that reported a rate that day; null if none did.
    pub apr_net: Option<f64>,
    /// Number of vaults in the sum.
    pub vaults: u64,
    /// Number of vaults in the sum that were not read that day.
    pub carried: u64,
}

impl DayTotal {
    /// Whether every vault in the sum was read that day.
    pub fn is_whole(&self) -> bool {
        self.carried == 0
    }
}

/// Adds readings up by day, in the order given. A day on which no vault was read is absent from the result, even if there are carried
/// values.
pub fn by_day(readings: impl IntoIterator<Item = DayReading>) -> BTreeMap<Day, DayTotal> {
    #[derive(Default)]
    struct Sum {
        tvl: f64,
        vaults: u64,
        carried: u64,
        weighted: f64,
        weight: f64,
    }
    let mut days: BTreeMap<Day, Sum> = BTreeMap::new();
    for reading in readings {
        let sum = days.entry(reading.day).or_default();
        sum.vaults += 1;
        sum.tvl += reading.tvl_usd;
        if reading.is_carried {
            sum.carried += 1;
        } else if let Some(apr) = reading.apr_net {
            sum.weighted += apr * reading.tvl_usd;
            sum.weight += reading.tvl_usd;
        }
    }
    let total = |sum: Sum| DayTotal {
        tvl_usd: sum.tvl,
        apr_net: (sum.weight > 0.0).then(|| sum.weighted / sum.weight),
        vaults: sum.vaults,
        carried: sum.carried,
    };
    let is_read = |sum: &Sum| sum.carried < sum.vaults;
    days.into_iter().filter(|(_, sum)| is_read(sum)).map(|(day, sum)| (day, total(sum))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(day: i64, tvl_usd: f64, apr_net: Option<f64>) -> DayReading {
        DayReading { day: Day::from_number(day), tvl_usd, apr_net, is_carried: false }
    }

    fn carried(day: i64, tvl_usd: f64) -> DayReading {
        DayReading { apr_net: Some(0.5), is_carried: true, ..reading(day, tvl_usd, None) }
    }

    #[test]
    fn a_vault_that_was_not_read_keeps_its_value_and_reports_no_rate() {
        let days = by_day([reading(3, 100.0, Some(0.02)), carried(3, 900.0), reading(4, 1.0, None)]);
        let [third, fourth] = [3, 4].map(|day| days[&Day::from_number(day)]);
        assert_eq!((third.tvl_usd, third.vaults, third.carried, third.apr_net), (1_000.0, 2, 1, Some(0.02)));
        assert!(!third.is_whole() && fourth.is_whole());
    }

    #[test]
    fn a_day_on_which_no_vault_was_read_is_missing() {
        assert!(by_day([carried(3, 100.0), carried(3, 900.0)]).is_empty());
    }

    #[test]
    fn the_rate_is_weighted_over_the_vaults_that_report_one() {
        let days = by_day([reading(3, 300.0, Some(0.02)), reading(3, 100.0, Some(0.06)), reading(3, 600.0, None)]);
        let day = days[&Day::from_number(3)];
        assert_eq!((day.tvl_usd, day.vaults), (1_000.0, 3));
        assert!((day.apr_net.unwrap() - 0.03).abs() < 1e-12);
    }

    #[test]
    fn a_day_without_a_reported_rate_has_a_null_rate_and_an_unread_day_is_absent() {
        let days = by_day([reading(3, 5.0, None), reading(6, 0.0, Some(0.5))]);
        assert_eq!(days.keys().copied().collect::<alloc::vec::Vec<_>>(), [Day::from_number(3), Day::from_number(6)]);
        assert!(days.values().all(|day| day.apr_net.is_none()));
    }
}
