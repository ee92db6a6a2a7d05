//! The assets of the study: when they failed, and what was known about them before a day.

use rds_facts::AssetAnswer;
use rds_shared::rules::tiers::{Tier, tier_of};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{AssetCategory, AssetInput, Dimension, ReviewStatus, evaluate};
use rds_shared::scoring::rubric::{AssetEvidence, EnteredNumbers};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use std::collections::{BTreeMap, BTreeSet};

/// The answers that state a loss which holders did not get back: dimension, question, answer.
pub(super) const LOSSES: [(Dimension, &str, &str); 7] = [
    (Dimension::PegStability, "events_24m", "not_recovered"),
    (Dimension::PegStability, "worst_ever", "not_recovered"),
    (Dimension::Redeemability, "who", "suspended"),
    (Dimension::IssuerCustody, "record", "holder_loss"),
    (Dimension::BridgeMechanism, "record", "loss"),
    (Dimension::ProtocolSecurity, "losses", "unrecovered"),
    (Dimension::ProtocolSecurity, "losses", "old_unrecovered"),
];

fn states_loss(one: &AssetAnswer) -> bool {
    LOSSES.contains(&(one.dimension, one.question.as_str(), one.answer.as_str()))
}

/// What is known today about one deployment of an asset.
pub struct Deployment {
    pub asset_id: String,
    pub category: AssetCategory,
    pub underlying: Option<String>,
    pub answers: Vec<AssetAnswer>,
    /// The dates of the published incidents of its contract.
    pub incidents: Vec<Timestamp>,
}

/// An asset with its answers. Deployments with the same answers are one subject.
pub struct Subject {
    category: AssetCategory,
    /// The answers that are not withdrawn.
    ///
    /// A withdrawal has no reason in the data. Reviewers withdraw a mistake, and a changed fact gets a newer answer, so a withdrawn answer
    /// is no evidence at any instant.
    answers: Vec<AssetAnswer>,
    incidents: BTreeSet<Timestamp>,
}

impl Subject {
    /// Whether an answer states an unrecovered loss.
    pub fn has_failed(&self) -> bool {
        self.answers.iter().any(states_loss)
    }

    /// The day of the earliest incident of the asset, if it is not after the earliest source that states the loss. `None` if the failure
    /// has no date of its own: the source may be younger than the loss, and what is dated in between was not known before.
    pub fn failed_on(&self) -> Option<Day> {
        let stated = self.answers.iter().filter(|one| states_loss(one)).map(|one| Day::of(one.as_of.0)).min()?;
        self.incidents.first().map(|at| Day::of(*at)).filter(|day| *day <= stated)
    }

    /// The answers dated before `day`. Sources state days, so an answer of the day of a loss may already describe the loss.
    fn before(&self, day: Day) -> impl Iterator<Item = &AssetAnswer> {
        self.answers.iter().filter(move |one| one.as_of.0 < day.start())
    }

    /// Whether any answer is dated before `day`.
    pub fn is_answered_before(&self, day: Day) -> bool {
        self.before(day).next().is_some()
    }

    /// The score on the eve of `day`, from the answers dated before, by the present rules. Chain and dependencies are left out, because
    /// their facts have no date.
    pub fn score_before(&self, day: Day) -> Option<MilliPoints> {
        let eve = day.start().plus_seconds(-1);
        let known: Vec<_> = self.before(day).map(|one| (one.dimension, one.sourced().answer)).collect();
        let evidence = AssetEvidence::new(self.category, &EnteredNumbers::default(), &known, eve);
        let refresh = evidence.refresh?;
        let input = AssetInput {
            review_status: ReviewStatus::Provisional,
            supply_ceiling: evidence.supply_ceiling(),
            age_seconds: refresh.age_seconds(eve),
            cadence_seconds: refresh.cadence_seconds,
            ..AssetInput::new(self.category, evidence.values())
        };
        evaluate(&input).score
    }
}

/// Whether a score is in the range of Core or Prime.
pub fn is_core_or_better(score: MilliPoints) -> bool {
    tier_of(score) != Tier::Edge
}

/// The subjects, by number.
#[derive(Default)]
pub struct Subjects {
    pub all: Vec<Subject>,
    /// Number of withdrawn answers, which are left out.
    pub withdrawn: u64,
    by_id: BTreeMap<String, usize>,
    /// Asset and the asset that it wraps.
    wraps: Vec<(usize, String)>,
}

impl Subjects {
    /// The subjects of the deployments that have an answer that is not withdrawn.
    pub fn new(deployments: Vec<Deployment>) -> Self {
        let mut subjects = Subjects::default();
        let mut by_content = BTreeMap::new();
        for deployment in deployments {
            let Deployment { asset_id, category, underlying, mut answers, incidents } = deployment;
            let given = answers.len();
            answers.retain(|one| !one.withdrawn);
            subjects.withdrawn += (given - answers.len()) as u64;
            if answers.is_empty() {
                continue;
            }
            let number = *by_content.entry((category, content(&answers))).or_insert_with(|| {
                subjects.all.push(Subject { category, answers, incidents: BTreeSet::new() });
                subjects.all.len() - 1
            });
            if let Some(subject) = subjects.all.get_mut(number) {
                subject.incidents.extend(incidents);
            }
            subjects.wraps.extend(underlying.map(|below| (number, below)));
            subjects.by_id.insert(asset_id, number);
        }
        subjects
    }

    /// The subjects of these ids, without those that have no answers.
    pub fn of<'a>(&'a self, ids: &'a [String]) -> impl Iterator<Item = usize> + 'a {
        ids.iter().filter_map(|id| self.by_id.get(id).copied())
    }

    /// The subjects that wrap `number`, directly or through another wrapper.
    pub fn wrappers_of(&self, number: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([number]);
        loop {
            let size = found.len();
            for (wrapper, below) in &self.wraps {
                if self.by_id.get(below).is_some_and(|below| found.contains(below)) {
                    found.insert(*wrapper);
                }
            }
            if found.len() == size {
                found.remove(&number);
                return found;
            }
        }
    }

    /// The date of the oldest answer.
    pub fn first_answer(&self) -> Option<Timestamp> {
        self.all.iter().flat_map(|subject| &subject.answers).map(|one| one.as_of.0).min()
    }
}

/// What determines whether two deployments have the same answers.
fn content(answers: &[AssetAnswer]) -> Vec<impl Ord + use<>> {
    let mut content: Vec<_> = answers
        .iter()
        .map(|it| {
            (it.dimension, it.question.clone(), it.answer.clone(), it.as_of, it.source_kind, it.source_url.clone())
        })
        .collect();
    content.sort();
    content
}
