//! The publication of a vault's score: score runs at any distance, with raw scores around every boundary, drops, gaps and new methodologies.
//!
//! Real: [`Publication`]. An independent reading of the methodology judges every run: it remembers the raw scores of earlier runs, not clocks.

use rds_shared::rules::dwell::{
    Change, ChangeType, DEMOTE_SECONDS, HARD_BELOW_ANCHOR, HARD_BELOW_FLOOR, PROMOTE_SECONDS, Publication,
};
use rds_shared::rules::tiers::{CORE_FLOOR, PRIME_FLOOR, SCORE_STEP, Tier, tier_of};
use rds_shared::scoring::MilliPoints;
use rds_shared::wire::Timestamp;
use stateright::{Model, Property};

const START: Timestamp = Timestamp::from_seconds(1_795_219_200);

/// Bounds of the exploration.
#[derive(Debug, Clone, Copy)]
pub struct Dwell {
    /// Score runs after the first one.
    pub runs: u8,
}

/// A score run, this many seconds after the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    after: i64,
    raw: Option<i32>,
    is_hard: bool,
    is_new_methodology: bool,
}

/// A vault's publication, and what the methodology's text is judged by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    now: Timestamp,
    publication: Publication,
    runs: u8,
    raw: Option<MilliPoints>,
    /// Since when the raw score has been on its side of the floors of `Core` and `Prime`.
    sides: [Option<(bool, Timestamp)>; 2],
    /// The last score that was published while no tier change was pending.
    settled: Option<MilliPoints>,
    broken: Option<&'static str>,
    seen: Option<ChangeType>,
}

impl World {
    /// Since when the raw score has been on the side `above` of the tier's floor; `None` if it is not.
    fn since(&self, floor_of: Tier, above: bool) -> Option<Timestamp> {
        let side = self.sides[usize::from(floor_of == Tier::Prime)];
        side.filter(|(is_above, _)| *is_above == above).map(|(_, since)| since)
    }

    fn run(&mut self, run: Run) {
        let raw = run.raw.and_then(MilliPoints::new);
        let before = self.publication;
        self.now = self.now.plus_seconds(run.after);
        self.runs += 1;
        let is_first = before.rating.is_none() || run.is_new_methodology;
        for (side, floor) in self.sides.iter_mut().zip([CORE_FLOOR, PRIME_FLOOR]) {
            let above = raw.map(|raw| raw >= floor);
            *side = match (above, *side) {
                (None, _) => None,
                (Some(above), Some((was, since))) if above == was && !is_first => Some((above, since)),
                (Some(above), _) => Some((above, self.now)),
            };
        }
        let change = self.publication.step(self.now, raw, run.is_hard, run.is_new_methodology);
        self.raw = raw;
        self.seen = change.map(|change| change.change_type);
        self.broken = self.fault(before, run, change).or(self.broken);
        if let (Some(raw), Some(score)) = (raw, self.publication.score())
            && tier_of(raw) == tier_of(score)
        {
            self.settled = Some(score);
        }
        if raw.is_none() {
            self.settled = None;
        }
    }

    /// The rule of the methodology that this run broke.
    fn fault(&self, before: Publication, run: Run, change: Option<Change>) -> Option<&'static str> {
        let (score, kind) = (self.publication.score(), change.map(|change| change.change_type));
        if change.is_none() && score != before.score() || change.is_some_and(|change| change.new_score != score) {
            return Some("every move of the published score is a change");
        }
        let (Some(raw), Some(score)) = (self.raw, score) else {
            return (self.raw.is_some() || score.is_some()).then_some("an unscored vault has no published score");
        };
        let Some(old) = before.score().filter(|_| !run.is_new_methodology) else {
            let is_near = before.score().is_some_and(|old| (old.get() - raw.get()).abs() < SCORE_STEP);
            return (score != raw && !is_near).then_some("a first score is published at once");
        };
        let (was, candidate, is) = (tier_of(old), tier_of(raw), tier_of(score));
        let held =
            |since: Option<Timestamp>, seconds| since.is_some_and(|since| self.now.seconds_since(since) >= seconds);
        let rises = |tier: Tier| was < tier && tier <= candidate && held(self.since(tier, true), PROMOTE_SECONDS);
        let expected = if candidate > was {
            [Tier::Prime, Tier::Core].into_iter().find(|tier| rises(*tier)).unwrap_or(was)
        } else if candidate < was {
            let anchor = self.settled.unwrap_or(old);
            let is_hard = run.is_hard
                || raw.get() <= was.floor().get() - HARD_BELOW_FLOOR
                || raw.get() <= anchor.get() - HARD_BELOW_ANCHOR;
            if is_hard && kind != Some(ChangeType::HardDemote) {
                return Some("a hard drop is published at once");
            }
            if is_hard || held(self.since(was, false), DEMOTE_SECONDS) { candidate } else { was }
        } else {
            was
        };
        if is != expected {
            return Some("a tier is published after its dwell, neither before nor later");
        }
        if is == was && score != old && (score.get() - old.get()).abs() < SCORE_STEP {
            return Some("moves below 0.05 inside a tier are not published");
        }
        let shown = if candidate == is { raw } else { raw.clamp(is.floor(), is.ceiling()) };
        (is != was && score != shown || (score.get() - shown.get()).abs() >= SCORE_STEP)
            .then_some("while a tier change is pending the score is clamped to the published tier")
    }

    /// Whether the pending change is published at the promised time, and not a second before, if the raw score stays.
    fn keeps_promise(&self) -> bool {
        let Some(dwell) = self.publication.dwell(self.now) else {
            return self.raw.map(tier_of) == self.publication.tier();
        };
        let tier_at = |at: Timestamp| {
            let mut later = self.publication;
            later.step(at, self.raw, false, false);
            later.tier()
        };
        let is_due = dwell.publishes_at <= self.now;
        tier_at(dwell.publishes_at) == Some(dwell.candidate_tier)
            && (is_due || tier_at(dwell.publishes_at.plus_seconds(-1)) != Some(dwell.candidate_tier))
    }
}

impl Model for Dwell {
    type State = World;
    type Action = Run;

    fn init_states(&self) -> Vec<World> {
        let (publication, raw, settled, broken, seen) = (Publication::default(), None, None, None, None);
        vec![World { now: START, publication, runs: 0, raw, sides: [None; 2], settled, broken, seen }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Run>) {
        if world.runs == self.runs {
            return;
        }
        let (core, prime) = (CORE_FLOOR.get(), PRIME_FLOOR.get());
        let raws = [core - HARD_BELOW_FLOOR, core - 1, core, core + 30, prime - 1, prime, prime + HARD_BELOW_ANCHOR];
        for after in [3_600, PROMOTE_SECONDS, DEMOTE_SECONDS - 3_600] {
            for raw in raws {
                let run = Run { after, raw: Some(raw), is_hard: false, is_new_methodology: false };
                actions.extend([run, Run { is_hard: true, ..run }]);
                if after == 3_600 {
                    actions.push(Run { is_new_methodology: true, ..run });
                }
            }
            actions.push(Run { after, raw: None, is_hard: false, is_new_methodology: false });
        }
    }

    fn next_state(&self, world: &World, run: Run) -> Option<World> {
        let mut next = world.clone();
        next.run(run);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a published score follows the methodology's text", |_, world: &World| {
                world.broken.is_none()
            }),
            Property::always("tier == tier_of(total_score)", |_, world: &World| {
                world.publication.tier() == world.publication.score().map(tier_of)
            }),
            Property::always("a pending tier is published at the promised time and not before", |_, world: &World| {
                world.keeps_promise()
            }),
            Property::sometimes("a tier rises after its dwell", |_, world: &World| {
                world.seen == Some(ChangeType::TierPromote)
            }),
            Property::sometimes("a tier falls after its dwell", |_, world: &World| {
                world.seen == Some(ChangeType::TierDemote)
            }),
            Property::sometimes("a tier falls at once", |_, world: &World| world.seen == Some(ChangeType::HardDemote)),
            Property::sometimes("a score moves within its tier", |_, world: &World| {
                world.seen == Some(ChangeType::ScoreMove)
            }),
        ]
    }
}
