//! Properties of every sequence of score runs. The expected results are derived from the runs, not from the state under test.

mod scoring_support;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rds_shared::rules::dwell::{ChangeType, Publication};
use rds_shared::rules::tiers::{SCORE_STEP, Tier, tier_of};
use rds_shared::scoring::MilliPoints;
use rds_shared::wire::time::Timestamp;
use scoring_support::score;

const HOUR: i64 = 3600;

/// One run: seconds since the previous run, raw score, whether a hard cap binds.
type Run = (i64, MilliPoints, bool);

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let pause = select(vec![600, HOUR, 3 * HOUR, 6 * HOUR, 24 * HOUR]);
    let near = |boundary: i64| (-60..=60_i64).prop_map(move |step| MilliPoints::saturating(boundary + 10 * step));
    let raw = prop_oneof![near(8000), near(5000), score()];
    vec((pause, raw, prop::bool::weighted(0.05)), 1..60)
}

/// Whether the condition is true of every run in the last `seconds`, and of the run before them.
fn held(seen: &[(i64, MilliPoints)], seconds: i64, holds: impl Fn(MilliPoints) -> bool) -> bool {
    let Some((now, _)) = seen.last() else { return false };
    let unbroken = seen.iter().rev().take_while(|(_, raw)| holds(*raw));
    unbroken.last().is_some_and(|(since, _)| now - since >= seconds)
}

proptest! {
    #![proptest_config(scoring_support::config())]

    #[test]
    fn a_tier_is_published_after_its_dwell_and_a_score_when_it_changes(first in score(), runs in runs()) {
        let mut published = Publication::first(Timestamp::from_seconds(0), Some(first));
        let (mut now, mut seen) = (0, vec![(0, first)]);
        for (pause, raw, hard) in runs {
            now += pause;
            seen.push((now, raw));
            let before = published;
            let change = published.step(Timestamp::from_seconds(now), Some(raw), hard, false);
            let (old, new) = (before.tier().unwrap(), published.tier().unwrap());
            prop_assert_eq!(Some(new), published.score().map(tier_of));
            let Some(change) = change else {
                prop_assert_eq!((before.score(), old), (published.score(), new));
                continue;
            };
            prop_assert_eq!((change.prev_score, change.new_score), (before.score(), published.score()));
            prop_assert_eq!((change.prev_tier, change.new_tier), (Some(old), Some(new)));
            match change.change_type {
                ChangeType::TierPromote => {
                    prop_assert!(new > old && new <= tier_of(raw));
                    prop_assert!(held(&seen, 6 * HOUR, |raw| raw >= new.floor()), "promoted early");
                }
                ChangeType::TierDemote => {
                    prop_assert!(new < old);
                    prop_assert!(held(&seen, 24 * HOUR, |raw| raw < old.floor()), "demoted early");
                }
                ChangeType::HardDemote => prop_assert!(new < old && new == tier_of(raw)),
                ChangeType::ScoreMove => {
                    let moved = before.score().unwrap().get() - published.score().unwrap().get();
                    prop_assert!(new == old && moved.abs() >= SCORE_STEP);
                }
                other => prop_assert!(false, "{other} in a plain run"),
            }
        }
    }

    #[test]
    fn a_repeated_run_changes_nothing(first in score(), runs in runs()) {
        let mut published = Publication::first(Timestamp::from_seconds(0), Some(first));
        let mut now = 0;
        for (pause, raw, hard) in runs {
            now += pause;
            let at = Timestamp::from_seconds(now);
            published.step(at, Some(raw), hard, false);
            let settled = published;
            prop_assert_eq!(published.step(at, Some(raw), hard, false), None);
            prop_assert_eq!(published, settled);
        }
    }

    #[test]
    fn a_tier_changes_when_its_announced_dwell_ends(first in score(), runs in runs()) {
        let mut published = Publication::first(Timestamp::from_seconds(0), Some(first));
        let mut now = 0;
        for (pause, raw, _) in runs {
            now += pause;
            published.step(Timestamp::from_seconds(now), Some(raw), false, false);
            let Some(dwell) = published.dwell(Timestamp::from_seconds(now)) else {
                prop_assert_eq!(published.tier(), Some(tier_of(raw)));
                continue;
            };
            prop_assert_eq!(dwell.candidate_tier, tier_of(raw));
            let (mut early, mut due) = (published, published);
            early.step(dwell.publishes_at.plus_seconds(-1), Some(raw), false, false);
            prop_assert_ne!(early.tier(), Some(dwell.candidate_tier));
            due.step(dwell.publishes_at, Some(raw), false, false);
            prop_assert_eq!(due.tier(), Some(dwell.candidate_tier));
        }
    }

    #[test]
    fn a_vault_without_a_score_has_neither_tier_nor_dwell(first in score(), hard in any::<bool>()) {
        let mut published = Publication::first(Timestamp::from_seconds(0), Some(first));
        let change = published.step(Timestamp::from_seconds(1), None, hard, true).unwrap();
        prop_assert_eq!(change.change_type, ChangeType::Unscored);
        prop_assert_eq!((published.tier(), published.dwell(Timestamp::from_seconds(9))), (None::<Tier>, None));
    }
}
