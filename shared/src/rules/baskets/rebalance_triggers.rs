//! Rebalance triggers: the calendar, the methodology, and changes of the constituents since the last version.

use super::eligibility::Candidate;
use super::rebalance::Current;
use super::weights::Constituent;
use crate::rules::tiers::tier_of;
use crate::scoring::named_enum;
use crate::wire::time::Timestamp;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;

/// A constituent's score drop since the last version that triggers a rebalance: 0.30.
pub const SCORE_DOWN: i32 = 300;
/// A constituent's score rise since the last version that triggers a rebalance: 1.00.
pub const SCORE_UP: i32 = 1000;
/// The hour of the quarterly rebalance, UTC.
const HOUR: i8 = 16;

named_enum! {
    /// What triggers a rebalance, most severe first. A version's `trigger_reason` is the first trigger that applied.
    ///
    /// A new methodology precedes the score changes it causes, and a hard fail precedes the tier change it causes.
    pub enum Trigger {
        /// The basket has no version yet.
        Inception = "inception",
        /// The methodology differs from that of the last rebalance.
        Methodology = "methodology",
        /// A hard fail of a constituent was raised since the current version took effect.
        HardFail = "hard_fail",
        /// A constituent's tier changed, or the constituent lost its score.
        TierCross = "tier_cross",
        /// A constituent's score fell by 0.30 points or more.
        ScoreDown = "score_down",
        /// A constituent's score rose by 1.00 point or more.
        ScoreUp = "score_up",
        /// The quarterly rebalance became due since the basket was last rebalanced.
        Calendar = "calendar",
    }
}

/// The latest due time of a quarterly rebalance that is not after `now`: 16:00 UTC on the last business day of a quarter.
///
/// A business day is Monday to Friday; public holidays differ by country and are not considered.
pub fn latest_quarter_end(now: Timestamp) -> Option<Timestamp> {
    let today = jiff::Timestamp::from_microsecond(now.as_micros()).ok()?.to_zoned(TimeZone::UTC).date();
    let this_quarter = Date::new(today.year(), (today.month() + 2) / 3 * 3, 1).ok()?;
    let last_quarter = this_quarter.checked_sub(jiff::Span::new().months(3)).ok();
    let due = [Some(this_quarter), last_quarter].into_iter().flatten().filter_map(last_business_day);
    due.filter(|due| *due <= now).max()
}

/// 16:00 UTC on the last business day, Monday to Friday, of the month of `day`.
fn last_business_day(day: Date) -> Option<Timestamp> {
    let last = day.last_of_month();
    let back = match last.weekday() {
        Weekday::Saturday => 1,
        Weekday::Sunday => 2,
        _ => 0,
    };
    let day = last.checked_sub(jiff::Span::new().days(back)).ok()?;
    let due = day.at(HOUR, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?;
    Some(Timestamp::from_micros(due.timestamp().as_microsecond()))
}

/// Every trigger that applies at `now`, most severe first.
///
/// A constituent that is no longer a candidate triggers nothing; the next rebalance drops it. A new methodology triggers once, even if that
/// rebalance reproduces the current weights.
///
/// Source: methodology, "Definition" (refresh_rule).
pub fn triggers(
    methodology_version: &str,
    current: Option<Current<'_>>,
    candidates: &[Candidate],
    now: Timestamp,
) -> Vec<Trigger> {
    let Some(Current { version, last_rebalanced_at, confirmed_under, .. }) = current else {
        return [Trigger::Inception].into();
    };
    let mut found = Vec::new();
    if confirmed_under != methodology_version {
        found.push(Trigger::Methodology);
    }
    let known: BTreeMap<&str, &Candidate> = candidates.iter().map(|known| (known.id.as_str(), known)).collect();
    for constituent in &version.constituents {
        if let Some(candidate) = known.get(constituent.id.as_str()) {
            found.extend(moves(constituent, candidate, version.effective_from));
        }
    }
    if latest_quarter_end(now).is_some_and(|due| due > last_rebalanced_at) {
        found.push(Trigger::Calendar);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The triggers that one constituent has caused since the version took effect.
fn moves(then: &Constituent, now: &Candidate, effective_from: Timestamp) -> impl Iterator<Item = Trigger> {
    let moved = now.score.map(|score| score.get() - then.score.get());
    let found = [
        (Trigger::HardFail, now.hard_fail_since.is_some_and(|since| since > effective_from)),
        (Trigger::TierCross, now.score.map(tier_of) != Some(tier_of(then.score))),
        (Trigger::ScoreDown, moved.is_some_and(|moved| moved <= -SCORE_DOWN)),
        (Trigger::ScoreUp, moved.is_some_and(|moved| moved >= SCORE_UP)),
    ];
    found.into_iter().filter(|(_, applies)| *applies).map(|(trigger, _)| trigger)
}

#[cfg(test)]
mod tests {
    use super::super::eligibility::tests::candidate;
    use super::super::version::BasketVersion;
    use super::*;
    use crate::scoring::{MilliPoints, Ppm};
    use alloc::string::ToString;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn version() -> BasketVersion {
        let score = MilliPoints::saturating(8500);
        let constituent = Constituent { id: "a".into(), issuer: "p".into(), score, weight: Ppm::ONE };
        BasketVersion {
            basket_id: "b".into(),
            constituents: [constituent].into(),
            effective_from: at("2026-10-05T00:00:00Z"),
            methodology_version: "m1".into(),
            prior_version_id: None,
        }
    }

    /// The version in force, without a rebalance since it took effect.
    fn begun(version: &BasketVersion) -> Current<'_> {
        Current {
            version_id: "v1",
            version,
            last_rebalanced_at: version.effective_from,
            confirmed_under: &version.methodology_version,
        }
    }

    fn found(methodology: &str, candidate: Candidate, now: &str) -> Vec<Trigger> {
        let version = version();
        triggers(methodology, Some(begun(&version)), &[candidate], at(now))
    }

    #[test]
    fn the_quarter_ends_at_sixteen_on_its_last_business_day() {
        for (now, due) in [
            ("2026-11-21T00:00:00Z", "2026-09-30T16:00:00.000Z"),
            ("2026-12-31T15:59:59.999999Z", "2026-09-30T16:00:00.000Z"),
            ("2026-12-31T16:00:00Z", "2026-12-31T16:00:00.000Z"),
            // The end of a month inside the quarter is not a quarter end.
            ("2027-01-31T20:00:00Z", "2026-12-31T16:00:00.000Z"),
            // 30 June 2024 was a Sunday, 31 March 2018 a Saturday.
            ("2024-06-30T20:00:00Z", "2024-06-28T16:00:00.000Z"),
            ("2018-03-30T16:00:00Z", "2018-03-30T16:00:00.000Z"),
        ] {
            assert_eq!(latest_quarter_end(at(now)).unwrap().to_string(), due, "{now}");
        }
    }

    #[test]
    fn a_fall_of_0_30_points_triggers_and_a_rise_below_1_00_does_not() {
        let now = "2026-11-21T00:00:00Z";
        for (milli, expected) in [
            (8500, &[][..]),
            (8210, &[]),
            (8200, &[Trigger::ScoreDown]),
            (7990, &[Trigger::TierCross, Trigger::ScoreDown]),
            (9490, &[]),
            (9500, &[Trigger::ScoreUp]),
        ] {
            assert_eq!(found("m1", candidate("a", "p", milli), now), expected, "{milli}");
        }
        let unscored = Candidate { score: None, ..candidate("a", "p", 8500) };
        assert_eq!(found("m1", unscored, now), [Trigger::TierCross]);
    }

    #[test]
    fn only_a_hard_fail_raised_after_the_version_took_effect_triggers() {
        let failing = |since| Candidate { hard_fail_since: Some(at(since)), ..candidate("a", "p", 8500) };
        let now = "2026-11-21T00:00:00Z";
        assert_eq!(found("m1", failing("2026-10-05T00:00:00Z"), now), []);
        assert_eq!(found("m1", failing("2026-10-05T00:00:00.000001Z"), now), [Trigger::HardFail]);
    }

    #[test]
    fn triggers_are_listed_once_with_the_most_severe_first() {
        let version = version();
        let fallen = candidate("a", "p", 4000);
        let all = triggers("m2", Some(begun(&version)), &[fallen], at("2027-01-01T00:00:00Z"));
        assert_eq!(all, [Trigger::Methodology, Trigger::TierCross, Trigger::ScoreDown, Trigger::Calendar]);
        assert_eq!(triggers("m1", None, &[], at("2027-01-01T00:00:00Z")), [Trigger::Inception]);
        let rebalanced = Current { last_rebalanced_at: at("2026-12-31T16:00:00Z"), ..begun(&version) };
        assert_eq!(triggers("m1", Some(rebalanced), &[], at("2027-01-01T00:00:00Z")), []);
    }

    #[test]
    fn a_methodology_that_reproduced_the_weights_does_not_trigger_again() {
        let version = version();
        let confirmed = Current { confirmed_under: "m2", ..begun(&version) };
        let now = at("2026-11-21T00:00:00Z");
        assert_eq!(triggers("m2", Some(confirmed), &[], now), []);
        assert_eq!(triggers("m3", Some(confirmed), &[], now), [Trigger::Methodology]);
        assert_eq!(triggers("m1", Some(confirmed), &[], now), [Trigger::Methodology], "back to the version's rules");
    }
}
