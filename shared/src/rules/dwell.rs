//! Publication: when a raw score becomes the published one.
//!
//! A higher tier is published after the raw score has been at or above the tier boundary for 6 hours, a lower tier after 24 hours below the
//! boundary. Each boundary has a clock that measures this time (the dwell). A hard drop is published at once. While a tier change is
//! pending, the score is clamped to the range of the published tier, so that the published tier is always the tier of the published score.
//! Moves below 0.05 inside a tier are not published.

use super::tiers::{CORE_FLOOR, PRIME_FLOOR, SCORE_STEP, Tier, tier_of};
use crate::scoring::{MilliPoints, named_enum};
use crate::wire::time::Timestamp;
use serde::Serialize;

/// How long the raw score must stay at or above a higher tier's floor before that tier is published: 6 hours.
pub const PROMOTE_SECONDS: i64 = 6 * 3600;
/// How long the raw score must stay below the published tier's floor before the lower tier is published: 24 hours.
pub const DEMOTE_SECONDS: i64 = 24 * 3600;
/// A raw score this far or further below the published tier's floor demotes at once: 1.00.
pub const HARD_BELOW_FLOOR: i32 = 1000;
/// A raw score this far or further below the anchor ([`Rating::anchor`]) demotes at once: 1.50.
pub const HARD_BELOW_ANCHOR: i32 = 1500;

/// Which side of one tier boundary the raw score is on, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BoundaryClock {
    /// Whether the raw score is at or above the boundary.
    pub above: bool,
    /// Time of the score run in which the raw score crossed to this side.
    pub since: Timestamp,
}

impl BoundaryClock {
    const fn start(boundary: MilliPoints, raw: MilliPoints, now: Timestamp) -> Self {
        BoundaryClock { above: raw.get() >= boundary.get(), since: now }
    }

    /// Restarts the clock if the raw score has crossed the boundary.
    fn update(&mut self, boundary: MilliPoints, raw: MilliPoints, now: Timestamp) {
        let seen = BoundaryClock::start(boundary, raw, now);
        if seen.above != self.above {
            *self = seen;
        }
    }

    const fn held(self, seconds: i64, now: Timestamp) -> bool {
        now.seconds_since(self.since) >= seconds
    }
}

/// The published rating of a vault, and the state that the next score run needs. Stored as one database row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rating {
    /// The published score; [`tier_of`] gives the published tier.
    pub score: MilliPoints,
    /// The last score that was published while no tier change was pending; [`HARD_BELOW_ANCHOR`] is measured from it.
    pub anchor: MilliPoints,
    /// Clock of the boundary between Edge and Core.
    pub core: BoundaryClock,
    /// Clock of the boundary between Core and Prime.
    pub prime: BoundaryClock,
}

/// The publication state of a vault; the default is a vault that was never scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Publication {
    /// Null while the vault is unscored.
    pub rating: Option<Rating>,
}

named_enum! {
    /// Why a published score or tier changed.
    pub enum ChangeType {
        /// The first score, or the first score after the vault was unscored.
        Initial = "initial",
        /// The score was withdrawn.
        Unscored = "unscored",
        /// The score moved by at least 0.05 within the tier.
        ScoreMove = "score_move",
        /// The tier rose after its dwell.
        TierPromote = "tier_promote",
        /// The tier fell after its dwell.
        TierDemote = "tier_demote",
        /// The tier fell at once, without a dwell.
        HardDemote = "hard_demote",
        /// The first run under a new methodology changed the score; there is no dwell.
        Methodology = "methodology",
    }
}

/// A change to persist: one score-history point and one `rating.changed` operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub change_type: ChangeType,
    /// Null if there was no score before.
    pub prev_score: Option<MilliPoints>,
    /// Null if the score was withdrawn.
    pub new_score: Option<MilliPoints>,
    pub prev_tier: Option<Tier>,
    pub new_tier: Option<Tier>,
}

/// A pending tier change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dwell {
    /// The tier of the latest raw score.
    pub candidate_tier: Tier,
    /// When the raw score crossed the tier boundary whose dwell is running.
    pub since: Timestamp,
    /// The earliest time at which a score run publishes the candidate tier if the raw score stays in that tier; never in the past.
    pub publishes_at: Timestamp,
}

impl Rating {
    const fn first(raw: MilliPoints, now: Timestamp) -> Self {
        Rating {
            score: raw,
            anchor: raw,
            core: BoundaryClock::start(CORE_FLOOR, raw, now),
            prime: BoundaryClock::start(PRIME_FLOOR, raw, now),
        }
    }

    /// The published tier.
    pub const fn tier(&self) -> Tier {
        tier_of(self.score)
    }

    const fn clock(&self, floor_of: Tier) -> BoundaryClock {
        match floor_of {
            Tier::Prime => self.prime,
            Tier::Core | Tier::Edge => self.core,
        }
    }

    /// The tier of the latest raw score.
    const fn candidate(&self) -> Tier {
        match (self.prime.above, self.core.above) {
            (true, _) => Tier::Prime,
            (false, true) => Tier::Core,
            (false, false) => Tier::Edge,
        }
    }

    /// The tier that this run publishes, and the type of the change if the tier differs from the published tier.
    fn judge(&self, raw: MilliPoints, hard: bool, now: Timestamp) -> (Tier, Option<ChangeType>) {
        let (published, candidate) = (self.tier(), tier_of(raw));
        if candidate > published {
            let reached = [Tier::Prime, Tier::Core]
                .into_iter()
                .find(|tier| published < *tier && *tier <= candidate && self.clock(*tier).held(PROMOTE_SECONDS, now));
            return reached.map_or((published, None), |tier| (tier, Some(ChangeType::TierPromote)));
        }
        if candidate < published {
            let floor_lost = raw.get() <= published.floor().get() - HARD_BELOW_FLOOR;
            let fell = raw.get() <= self.anchor.get() - HARD_BELOW_ANCHOR;
            if hard || floor_lost || fell {
                return (candidate, Some(ChangeType::HardDemote));
            }
            if self.clock(published).held(DEMOTE_SECONDS, now) {
                return (candidate, Some(ChangeType::TierDemote));
            }
        }
        (published, None)
    }

    fn step(&mut self, now: Timestamp, raw: MilliPoints, hard: bool) -> Option<ChangeType> {
        self.core.update(CORE_FLOOR, raw, now);
        self.prime.update(PRIME_FLOOR, raw, now);
        let (tier, moved) = self.judge(raw, hard, now);
        let settled = tier == tier_of(raw);
        let shown = if settled { raw } else { raw.clamp(tier.floor(), tier.ceiling()) };
        let change = moved.or_else(|| is_a_move(self.score, shown).then_some(ChangeType::ScoreMove));
        if change.is_some() {
            self.score = shown;
        }
        if settled {
            self.anchor = self.score;
        }
        change
    }

    /// The first run under a new methodology: publishes the raw score without dwell, and resets the clocks and the anchor.
    fn restate(&mut self, now: Timestamp, raw: MilliPoints) -> Option<ChangeType> {
        let published = self.score;
        *self = Rating::first(raw, now);
        if tier_of(raw) == tier_of(published) && !is_a_move(published, raw) {
            (self.score, self.anchor) = (published, published);
            return None;
        }
        Some(ChangeType::Methodology)
    }
}

/// Whether two scores of one tier differ by at least [`SCORE_STEP`], so that the second is published.
const fn is_a_move(published: MilliPoints, shown: MilliPoints) -> bool {
    (published.get() - shown.get()).abs() >= SCORE_STEP
}

impl Publication {
    /// The state after a vault's first run: a score is published at once; without a score nothing is published.
    pub fn first(now: Timestamp, raw: Option<MilliPoints>) -> Self {
        Publication { rating: raw.map(|raw| Rating::first(raw, now)) }
    }

    /// The published score.
    pub fn score(&self) -> Option<MilliPoints> {
        self.rating.map(|rating| rating.score)
    }

    /// The published tier.
    pub fn tier(&self) -> Option<Tier> {
        self.rating.map(|rating| rating.tier())
    }

    /// Applies one run; returns the published change, if any.
    ///
    /// `hard` is [`VaultOutcome::hard`](crate::scoring::vault::VaultOutcome::hard) of the same run. If nothing is published, only the
    /// clocks and the anchor may change.
    ///
    /// Source: methodology, "Publication".
    pub fn step(
        &mut self,
        now: Timestamp,
        raw: Option<MilliPoints>,
        hard: bool,
        methodology_changed: bool,
    ) -> Option<Change> {
        let before = *self;
        let change_type = match (&mut self.rating, raw) {
            (None, None) => None,
            (None, Some(_)) => {
                *self = Publication::first(now, raw);
                Some(ChangeType::Initial)
            }
            (Some(_), None) => {
                *self = Publication::default();
                Some(ChangeType::Unscored)
            }
            (Some(rating), Some(raw)) if methodology_changed => rating.restate(now, raw),
            (Some(rating), Some(raw)) => rating.step(now, raw, hard),
        }?;
        Some(Change {
            change_type,
            prev_score: before.score(),
            new_score: self.score(),
            prev_tier: before.tier(),
            new_tier: self.tier(),
        })
    }

    /// The pending tier change at `now`, if any.
    pub fn dwell(&self, now: Timestamp) -> Option<Dwell> {
        let rating = self.rating?;
        let (published, candidate_tier) = (rating.tier(), rating.candidate());
        let (clock, seconds) = match candidate_tier.cmp(&published) {
            core::cmp::Ordering::Equal => return None,
            core::cmp::Ordering::Greater => (rating.clock(candidate_tier), PROMOTE_SECONDS),
            core::cmp::Ordering::Less => (rating.clock(published), DEMOTE_SECONDS),
        };
        let publishes_at = clock.since.plus_seconds(seconds).max(now);
        Some(Dwell { candidate_tier, since: clock.since, publishes_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_seconds(hour * HOUR)
    }

    fn score(milli: i64) -> Option<MilliPoints> {
        Some(MilliPoints::saturating(milli))
    }

    #[test]
    fn a_score_after_a_withdrawal_is_published_as_a_first_score() {
        let mut vault = Publication::first(at(0), score(9000));
        let withdrawn = vault.step(at(1), None, false, false).unwrap();
        assert_eq!((withdrawn.change_type, withdrawn.prev_score), (ChangeType::Unscored, score(9000)));
        assert_eq!((withdrawn.new_score, withdrawn.new_tier), (None, None));
        assert_eq!(vault.step(at(2), None, false, false), None);
        let back = vault.step(at(3), score(4000), false, false).unwrap();
        assert_eq!((back.change_type, back.prev_tier, back.new_tier), (ChangeType::Initial, None, Some(Tier::Edge)));
    }

    #[test]
    fn a_new_methodology_publishes_without_dwell_and_resets_the_clocks() {
        let mut vault = Publication::first(at(0), score(8200));
        vault.step(at(1), score(7900), false, false);
        assert_eq!(vault.score(), score(8000));
        let restated = vault.step(at(2), score(7900), false, true).unwrap();
        assert_eq!((restated.change_type, restated.new_tier), (ChangeType::Methodology, Some(Tier::Core)));
        assert_eq!(vault, Publication::first(at(2), score(7900)));
        // A move of less than 0.05 in the same tier is not published under a new methodology either.
        assert_eq!(vault.step(at(3), score(7940), false, true), None);
        assert_eq!(vault.score(), score(7900));
    }

    #[test]
    fn a_drop_by_exactly_the_hard_limit_demotes_at_once_and_a_smaller_one_waits() {
        // 1.50 below the last settled score, and 1.00 below the floor of Prime; each without the other.
        for (before, limit) in [(9000, 7500), (8200, 7000)] {
            let dropped = |raw| {
                let mut vault = Publication::first(at(0), score(before));
                (vault.step(at(1), score(raw), false, false).unwrap().change_type, vault.tier())
            };
            assert_eq!(dropped(limit), (ChangeType::HardDemote, Some(Tier::Core)), "{before}");
            assert_eq!(dropped(limit + 10), (ChangeType::ScoreMove, Some(Tier::Prime)), "{before}");
        }
        // A binding hard cap demotes at once, however small the drop.
        let mut vault = Publication::first(at(0), score(8200));
        let change = vault.step(at(1), score(7990), true, false).unwrap();
        assert_eq!((change.change_type, change.new_tier), (ChangeType::HardDemote, Some(Tier::Core)));
    }

    #[test]
    fn a_new_methodology_publishes_a_move_within_the_tier_and_any_change_of_tier() {
        let mut within = Publication::first(at(0), score(7000));
        let moved = within.step(at(1), score(7050), false, true).unwrap();
        assert_eq!((moved.change_type, moved.new_score), (ChangeType::Methodology, score(7050)));
        let mut across = Publication::first(at(0), score(7990));
        let moved = across.step(at(1), score(8010), false, true).unwrap();
        assert_eq!((moved.change_type, moved.new_tier), (ChangeType::Methodology, Some(Tier::Prime)));
    }

    #[test]
    fn a_dwell_reports_the_pending_tier_and_its_publication_time() {
        let mut vault = Publication::first(at(0), score(8200));
        assert_eq!(vault.dwell(at(0)), None);
        vault.step(at(1), score(7900), false, false);
        let down = Dwell { candidate_tier: Tier::Core, since: at(1), publishes_at: at(25) };
        assert_eq!(vault.dwell(at(2)), Some(down));
        assert_eq!(vault.dwell(at(30)), Some(Dwell { publishes_at: at(30), ..down }));
        vault.step(at(25), score(7900), false, false);
        assert_eq!(vault.dwell(at(25)), None);
        vault.step(at(26), score(8100), false, false);
        let up = Dwell { candidate_tier: Tier::Prime, since: at(26), publishes_at: at(32) };
        assert_eq!(vault.dwell(at(27)), Some(up));
        assert_eq!(
            serde_json::to_string(&up).unwrap(),
            r#"{"candidate_tier":"Prime","since":"1970-01-02T02:00:00.000Z","publishes_at":"1970-01-02T08:00:00.000Z"}"#
        );
    }
}
