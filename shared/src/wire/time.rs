//! Instants and days in the API's format: ISO 8601 in UTC, with `Z`.

use alloc::string::String;
use core::fmt::{self, Write};
use serde::{Serialize, Serializer};

/// An instant, in microseconds since 1970-01-01T00:00:00Z.
///
/// Serialises with three fractional digits; asset and RWA answers and webhook envelopes use [`Micros`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// 0001-01-01T00:00:00Z to 9999-12-30T22:00:00.999999Z: years of four digits, within the range of the parser's calendar.
const RANGE: core::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_207_200_999_999;

impl Timestamp {
    /// From microseconds since the epoch, clamped to the years 1 to 9999.
    pub const fn from_micros(micros: i64) -> Self {
        let (low, high) = (*RANGE.start(), *RANGE.end());
        Timestamp(if micros < low {
            low
        } else if micros > high {
            high
        } else {
            micros
        })
    }

    /// From milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// From seconds since the epoch.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(MICROS_PER_SECOND))
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(MICROS_PER_SECOND)
    }

    /// The instant `seconds` later.
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_micros(self.0.saturating_add(seconds.saturating_mul(MICROS_PER_SECOND)))
    }

    /// Whole seconds from `earlier` to this instant, rounded down; negative if `earlier` is later.
    pub const fn seconds_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0).div_euclid(MICROS_PER_SECOND)
    }

    /// The last microsecond of this millisecond if the instant is a whole millisecond, else the instant itself.
    ///
    /// Instants are stored in microseconds, but most answers show milliseconds. A caller who sends a shown instant back as an inclusive
    /// upper bound expects the row with that instant in the result.
    pub const fn end_of_shown_millisecond(self) -> Self {
        if self.0.rem_euclid(1_000) == 0 { Self::from_micros(self.0.saturating_add(999)) } else { self }
    }

    /// Reads ISO 8601 with an offset or `Z`, or a bare date (midnight UTC).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let instant = if text.len() == 10 {
            let date: jiff::civil::Date = text.parse().ok()?;
            date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp()
        } else {
            text.parse::<jiff::Timestamp>().ok()?
        };
        let micros = instant.as_microsecond();
        RANGE.contains(&micros).then_some(Timestamp(micros))
    }

    fn write(self, f: &mut impl Write, digits: usize) -> fmt::Result {
        let (days, micros) = (
            self.0.div_euclid(SECONDS_PER_DAY * MICROS_PER_SECOND),
            self.0.rem_euclid(SECONDS_PER_DAY * MICROS_PER_SECOND),
        );
        let (year, month, day) = civil_from_days(days);
        let (seconds, micros) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.")?;
        if digits == 6 { write!(f, "{micros:06}Z") } else { write!(f, "{:03}Z", micros / 1_000) }
    }
}

/// Days since the epoch to a proleptic Gregorian date (Howard Hinnant's published algorithm `civil_from_days`).
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// A UTC day, by its number since 1970-01-01. Serialises as `2026-11-21`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i64);

impl Day {
    /// The day with this number, clamped to the years 1 to 9999.
    pub const fn from_number(number: i64) -> Self {
        Day::of(Timestamp::from_seconds(number.saturating_mul(SECONDS_PER_DAY)))
    }

    /// The day of an instant.
    pub const fn of(instant: Timestamp) -> Self {
        Day(instant.as_seconds().div_euclid(SECONDS_PER_DAY))
    }

    /// Days since 1970-01-01.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The day `days` later.
    pub const fn plus(self, days: i64) -> Self {
        Day::from_number(self.0.saturating_add(days))
    }

    /// Midnight UTC at the start of the day.
    pub const fn start(self) -> Timestamp {
        Timestamp::from_seconds(self.0.saturating_mul(SECONDS_PER_DAY))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 3)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A [`Timestamp`] that is written with six fractional digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub Timestamp);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, 6)
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads an instant from JSON in the format of [`Timestamp::parse`], for ingested facts.
impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("must be an ISO 8601 instant such as 2026-11-21T00:00:00Z"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn instants_are_written_in_utc_with_z() {
        let instant = Timestamp::parse("2026-11-21T02:30:00.123456+02:00").unwrap();
        assert_eq!(instant.to_string(), "2026-11-21T00:30:00.123Z");
        assert_eq!(Micros(instant).to_string(), "2026-11-21T00:30:00.123456Z");
    }

    #[test]
    fn a_bare_date_is_midnight_utc() {
        assert_eq!(Timestamp::parse("2026-11-21").unwrap().to_string(), "2026-11-21T00:00:00.000Z");
    }

    #[test]
    fn a_text_that_is_not_an_instant_is_refused() {
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-21T00:00:00", "1732147200"] {
            assert_eq!(Timestamp::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_first_and_last_instants_of_the_calendar_are_readable() {
        for text in ["0001-01-01T00:00:00.000000Z", "9999-12-30T22:00:00.999999Z"] {
            assert_eq!(Micros(Timestamp::parse(text).unwrap()).to_string(), text);
        }
        assert_eq!(Timestamp::from_micros(i64::MAX).plus_seconds(i64::MAX).to_string(), "9999-12-30T22:00:00.999Z");
    }

    #[test]
    fn a_day_runs_from_midnight_to_midnight_in_utc() {
        let late = Timestamp::parse("2026-11-21T23:59:59.999999Z").unwrap();
        let day = Day::of(late);
        assert_eq!((day.to_string().as_str(), day.plus(1).to_string().as_str()), ("2026-11-21", "2026-11-22"));
        assert_eq!(day.start(), Timestamp::parse("2026-11-21").unwrap());
        assert_eq!(Day::of(Timestamp::from_micros(-1)).to_string(), "1969-12-31");
    }

    proptest! {
        #[test]
        fn an_inclusive_upper_bound_in_milliseconds_includes_the_row_that_showed_it(micros in RANGE) {
            let stored = Timestamp::from_micros(micros);
            let shown = Timestamp::parse(&stored.to_string()).unwrap();
            let last = shown.end_of_shown_millisecond();
            prop_assert!(shown <= stored && stored <= last);
            prop_assert_eq!(last.to_string(), stored.to_string());
            prop_assert_eq!(last.end_of_shown_millisecond(), last);
        }

        #[test]
        fn every_instant_reads_back_as_written(micros in RANGE) {
            let instant = Timestamp::from_micros(micros);
            prop_assert_eq!(Timestamp::parse(&Micros(instant).to_string()), Some(instant));
        }
    }
}
