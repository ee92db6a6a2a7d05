//! The comparison: each loss against the assets that have not failed, on the eve of the loss.

use super::subjects::{Subjects, is_core_or_better};
use rds_shared::scoring::MilliPoints;
use rds_shared::wire::time::Day;
use rds_store::research::losses::FirstLoss;
use std::collections::{BTreeMap, BTreeSet};

/// How far a loss could be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    /// The asset's failure has no date of its own, or the vault's deposit asset has no answers or is not in the registry.
    Unknown,
    /// No answer is dated before the loss.
    Unanswered,
    /// There are answers dated before the loss, but they do not suffice for a score.
    Unscored,
    /// No asset that can be compared had a score.
    Alone,
    Compared,
}

/// Counts over the losses of assets, or of vaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub failed: u64,
    /// See [`Judged::Unknown`].
    pub unknown: u64,
    pub unanswered: u64,
    pub unscored: u64,
    pub alone: u64,
    pub compared: u64,
    /// Losses with a score of Core or better on the eve.
    pub core: u64,
    /// Losses that pairs are counted for: vaults with one deposit asset that lost from one cause are one.
    pub separate: u64,
    pub pairs: Pairs,
}

/// Numbers of pairs of a lost asset (for a vault, its deposit asset) and an asset that has not
/// failed, by whether the lost asset's score on the eve of the loss was lower than, equal to or
/// higher than the other's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    pub lower: u64,
    pub equal: u64,
    pub higher: u64,
}

impl Pairs {
    pub fn all(self) -> u64 {
        self.lower + self.equal + self.higher
    }

    fn count(score: MilliPoints, others: impl Iterator<Item = MilliPoints>) -> Self {
        let mut pairs = Pairs::default();
        for other in others {
            *match score.cmp(&other) {
                std::cmp::Ordering::Less => &mut pairs.lower,
                std::cmp::Ordering::Equal => &mut pairs.equal,
                std::cmp::Ordering::Greater => &mut pairs.higher,
            } += 1;
        }
        pairs
    }
}

impl Counts {
    /// Losses without a comparison, for whatever reason.
    pub fn not_judged(&self) -> u64 {
        self.failed - self.compared
    }

    /// Losses with an answer dated before.
    pub fn answered(&self) -> u64 {
        self.unscored + self.scored()
    }

    /// Losses with a score on the eve.
    pub fn scored(&self) -> u64 {
        self.alone + self.compared
    }

    fn note(&mut self, judged: Judged, score: Option<MilliPoints>) {
        self.failed += 1;
        self.core += u64::from(score.is_some_and(is_core_or_better));
        *match judged {
            Judged::Unknown => &mut self.unknown,
            Judged::Unanswered => &mut self.unanswered,
            Judged::Unscored => &mut self.unscored,
            Judged::Alone => &mut self.alone,
            Judged::Compared => &mut self.compared,
        } += 1;
    }

    fn add_pairs(&mut self, pairs: Pairs) {
        self.separate += u64::from(pairs.all() > 0);
        self.pairs.lower += pairs.lower;
        self.pairs.equal += pairs.equal;
        self.pairs.higher += pairs.higher;
    }
}

/// The result of the study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Study {
    pub assets: Counts,
    pub vaults: Counts,
    /// Assets without an answer that states an unrecovered loss.
    pub survivors: u64,
    /// Vaults whose deposit asset is not in the registry.
    pub without_asset: u64,
    /// Vaults whose first loss is an incident; that of the others is a fall of the price.
    pub by_incident: u64,
}

/// What vaults lost from. Falls of one protocol's vaults on one day have one cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause<'a> {
    Incident(i64),
    Fall { protocol_id: &'a str, day: Day },
}

impl<'a> Cause<'a> {
    fn of(loss: &'a FirstLoss) -> Self {
        match loss.event_id {
            Some(id) => Cause::Incident(id),
            None => Cause::Fall { protocol_id: &loss.protocol_id, day: Day::of(loss.lost_at.0) },
        }
    }

    /// Whether the vault of `loss` lost from this cause, also if that was not its first loss.
    fn hit(self, loss: &FirstLoss) -> bool {
        match self {
            Cause::Incident(id) => loss.incident_ids.contains(&id),
            Cause::Fall { .. } => Cause::of(loss) == self,
        }
    }
}

/// The scores of the survivors on the eve of a day, computed once a day.
struct Survivors<'a> {
    subjects: &'a Subjects,
    numbers: Vec<usize>,
    on_day: BTreeMap<Day, Vec<(usize, MilliPoints)>>,
}

impl Survivors<'_> {
    /// The pairs of a loss on `day` with the survivors that are not `excluded`.
    fn pairs(&mut self, score: MilliPoints, day: Day, excluded: &BTreeSet<usize>) -> Pairs {
        let (subjects, numbers) = (self.subjects, &self.numbers);
        let scores = self.on_day.entry(day).or_insert_with(|| {
            let score = |number: &usize| Some((*number, subjects.all.get(*number)?.score_before(day)?));
            numbers.iter().filter_map(score).collect()
        });
        let compared = scores.iter().filter(|(number, _)| !excluded.contains(number));
        Pairs::count(score, compared.map(|(_, score)| *score))
    }
}

/// Compares every loss with the survivors. A survivor is left out where it lost from the same cause: the asset itself, what wraps or
/// holds it, and what the other vaults of the incident held.
pub fn study(subjects: &Subjects, losses: &[FirstLoss]) -> Study {
    let numbers: Vec<usize> =
        subjects.all.iter().enumerate().filter(|(_, it)| !it.has_failed()).map(|(number, _)| number).collect();
    let mut study = Study {
        survivors: numbers.len() as u64,
        without_asset: losses.iter().filter(|loss| loss.deposit_ids.is_empty()).count() as u64,
        by_incident: losses.iter().filter(|loss| loss.event_id.is_some()).count() as u64,
        ..Study::default()
    };
    let mut survivors = Survivors { subjects, numbers, on_day: BTreeMap::new() };
    for (number, failed) in subjects.all.iter().enumerate().filter(|(_, it)| it.has_failed()) {
        let excluded = || lost_with_asset(subjects, losses, number);
        let (judged, score, pairs) = judge(&mut survivors, failed.failed_on().map(|day| (number, day)), excluded);
        study.assets.note(judged, score);
        study.assets.add_pairs(pairs);
    }
    let mut seen = BTreeMap::new();
    for loss in losses {
        let deposit = subjects.of(&loss.deposit_ids).next();
        let cause = Cause::of(loss);
        let (judged, score) = *seen.entry((deposit, cause)).or_insert_with(|| {
            let excluded = || deposit.into_iter().chain(lost_from(subjects, losses, cause)).collect();
            let loss = deposit.map(|number| (number, Day::of(loss.lost_at.0)));
            let (judged, score, pairs) = judge(&mut survivors, loss, excluded);
            study.vaults.add_pairs(pairs);
            (judged, score)
        });
        study.vaults.note(judged, score);
    }
    study
}

/// Judges a loss: a subject and the day on which it was lost.
fn judge(
    survivors: &mut Survivors<'_>,
    loss: Option<(usize, Day)>,
    excluded: impl Fn() -> BTreeSet<usize>,
) -> (Judged, Option<MilliPoints>, Pairs) {
    let known = loss.and_then(|(number, day)| Some((survivors.subjects.all.get(number)?, day)));
    let Some((subject, day)) = known else { return (Judged::Unknown, None, Pairs::default()) };
    match subject.score_before(day) {
        None if subject.is_answered_before(day) => (Judged::Unscored, None, Pairs::default()),
        None => (Judged::Unanswered, None, Pairs::default()),
        Some(score) => {
            let pairs = survivors.pairs(score, day, &excluded());
            (if pairs.all() > 0 { Judged::Compared } else { Judged::Alone }, Some(score), pairs)
        }
    }
}

/// The asset itself, its wrappers, and the share tokens of vaults that deposit it or a wrapper and had a loss.
fn lost_with_asset(subjects: &Subjects, losses: &[FirstLoss], number: usize) -> BTreeSet<usize> {
    let mut lost = subjects.wrappers_of(number);
    lost.insert(number);
    let holds = |loss: &&FirstLoss| subjects.of(&loss.deposit_ids).any(|deposit| lost.contains(&deposit));
    let shares: Vec<usize> = losses.iter().filter(holds).flat_map(|loss| subjects.of(&loss.share_ids)).collect();
    lost.extend(shares);
    lost
}

/// The deposit assets and the share tokens of the vaults that lost from `cause`.
fn lost_from(subjects: &Subjects, losses: &[FirstLoss], cause: Cause<'_>) -> BTreeSet<usize> {
    let hit = losses.iter().filter(|loss| cause.hit(loss));
    hit.flat_map(|loss| subjects.of(&loss.deposit_ids).chain(subjects.of(&loss.share_ids))).collect()
}
