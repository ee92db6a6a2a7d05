//! Hindsight: with the answers dated before, did assets and vaults that later lost money stand lower?
//!
//! An asset has failed if an answer states a loss that holders did not get back; the earliest such answer dates the failure. Its score on the
//! eve is computed from the answers dated before, under the rules in force, and compared with the scores of the other assets on the same
//! day. A vault has failed if its price per share fell or it had an incident; what is compared is the score of its deposit asset on the eve.

use super::records::Kept;
use rds_facts::AssetAnswer;
use rds_shared::model::research::{Figure, RecordKind, ReportType, ValidationReport};
use rds_shared::rules::tiers::{Tier, tier_of};
use rds_shared::scoring::asset::{AssetCategory, AssetInput, Dimension, ReviewStatus, evaluate};
use rds_shared::scoring::rubric::{Answer, AssetEvidence, EnteredNumbers};
use rds_shared::scoring::{METHODOLOGY_VERSION, MilliPoints};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use rds_store::assets::{answers, scores};
use rds_store::research::samples;
use rds_store::{StoreError, Tx, decode_enum};
use std::collections::BTreeMap;

/// The answers that state an unrecovered loss.
const LOSSES: [(Dimension, &str, &str); 4] = [
    (Dimension::PegStability, "events_24m", "not_recovered"),
    (Dimension::PegStability, "worst_ever", "not_recovered"),
    (Dimension::Redeemability, "who", "suspended"),
    (Dimension::ProtocolSecurity, "losses", "unrecovered"),
];

/// An asset with its answers. Deployments with the same answers are one subject.
struct Subject {
    category: AssetCategory,
    answers: Vec<AssetAnswer>,
}

impl Subject {
    /// When the earliest answer states an unrecovered loss.
    fn failed_at(&self) -> Option<Timestamp> {
        let states_loss = |one: &&AssetAnswer| {
            LOSSES.iter().any(|(dimension, question, answer)| {
                one.dimension == *dimension && one.question == *question && one.answer == *answer
            })
        };
        self.answers.iter().filter(|one| !one.withdrawn).filter(states_loss).map(|one| one.as_of.0).min()
    }

    /// The number of answers dated before `then`.
    fn answered_before(&self, then: Timestamp) -> usize {
        self.answers.iter().filter(|one| one.as_of.0 < then).count()
    }

    /// The score on the eve of `then`, from the answers dated before. Chain and dependencies are left out, because their facts have no date.
    fn score_before(&self, then: Timestamp) -> Option<MilliPoints> {
        let eve = then.plus_seconds(-1);
        let known: Vec<(Dimension, Answer<'_>)> = self
            .answers
            .iter()
            .filter(|one| one.as_of.0 < then)
            .map(|one| (one.dimension, Answer { withdrawn_at: None, ..one.sourced().answer }))
            .collect();
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

/// Counts over all failures.
#[derive(Default)]
struct Counts {
    failed: u64,
    answered: u64,
    scored: u64,
    core: u64,
    /// Pairs of a failed and a surviving asset that both had a score on the eve, and those in which the failed one stood lower.
    pairs: u64,
    lower: u64,
}

impl Counts {
    /// Counts one failure against the survivors.
    fn add(&mut self, failed: &Subject, then: Timestamp, survivors: &[&Subject]) {
        self.failed += 1;
        self.answered += u64::from(failed.answered_before(then) > 0);
        let Some(score) = failed.score_before(then) else { return };
        self.scored += 1;
        self.core += u64::from(tier_of(score) != Tier::Edge);
        for survivor in survivors.iter().filter_map(|it| it.score_before(then)) {
            self.pairs += 1;
            self.lower += u64::from(score < survivor);
        }
    }

    fn figures(&self, what: &str) -> [Figure; 5] {
        [
            Figure::number(format!("failed_{what}"), self.failed),
            Figure::part(format!("failed_{what}:answered_before"), self.answered, self.failed),
            Figure::part(format!("failed_{what}:scored_before"), self.scored, self.failed),
            Figure::part(format!("failed_{what}:core_or_better_before"), self.core, self.scored),
            Figure::part(format!("pairs_of_{what}:failed_lower"), self.lower, self.pairs),
        ]
    }
}

/// Stores the report. It is public if there is at least one asset with answers, whatever comes out.
pub async fn run(tx: &mut Tx<'_>, kept: &mut Kept) -> Result<(), StoreError> {
    let categories: BTreeMap<String, String> =
        scores::load(tx).await?.into_iter().map(|row| (row.id, row.category)).collect();
    let mut by_id = BTreeMap::new();
    for (id, answers) in answers::all(&mut **tx).await? {
        let Some(category) = categories.get(&id) else { continue };
        by_id.insert(id, Subject { category: decode_enum("asset.category", category)?, answers });
    }
    let subjects = distinct(&by_id);
    let (failed, survivors): (Vec<&Subject>, Vec<&Subject>) =
        subjects.iter().copied().partition(|it| it.failed_at().is_some());
    let (mut assets, mut vaults) = (Counts::default(), Counts::default());
    for subject in &failed {
        if let Some(then) = subject.failed_at() {
            assets.add(subject, then, &survivors);
        }
    }
    let fallen = samples::first_losses(tx).await?;
    let without_asset = fallen.iter().filter(|loss| loss.asset_id.is_none()).count() as u64;
    for loss in &fallen {
        match loss.asset_id.as_ref().and_then(|id| by_id.get(id)) {
            Some(subject) => vaults.add(subject, loss.as_of.0, &survivors),
            None => vaults.failed += 1,
        }
    }
    let first = subjects.iter().flat_map(|it| &it.answers).map(|one| one.as_of.0).min();
    let report = ValidationReport {
        model_version: METHODOLOGY_VERSION.into(),
        report_type: ReportType::Hindsight,
        summary: format!(
            "{} of {} assets with answers failed. On the eve, {} of these had an answer and {} a score; {} of the scored ones were Core or better. \
             In {} of {} pairs with a surviving asset the failed one stood lower. {} vaults lost value; the deposit asset of {} had a score before.",
            assets.failed,
            subjects.len(),
            assets.answered,
            assets.scored,
            assets.core,
            assets.lower,
            assets.pairs,
            vaults.failed,
            vaults.scored
        ),
        method: "An asset failed on the date of its earliest answer that states an unrecovered loss: a price that did not come back, a stopped redemption, or a \
                 loss through its own code or keys. A vault failed at the first sampled instant whose window has a loss: a fall of its price per share, or an incident. Scores on the eve use \
                 only answers dated before, under the present rules, without chains, dependencies and hard-fail flags."
            .into(),
        weaknesses: vec![
            format!("{} failed assets are too few for a rate, whatever it is.", assets.failed),
            "An asset without an answer before its failure has no score on the eve. That is caution by ignorance and no prediction.".to_owned(),
            first.map_or_else(
                || "There are no answers.".to_owned(),
                |first| format!("The oldest answer is of {}; earlier failures cannot be tested.", Micros(first)),
            ),
            "A failure is dated by the source that states it, which may be younger than the loss.".to_owned(),
            "Answers dated before a failure may have been chosen after it: the registry is younger than most of its sources.".to_owned(),
            "Survivors are the assets that somebody answered questions about, which are the larger ones.".to_owned(),
            format!("{without_asset} of {} vaults with a loss have no deposit asset in the registry.", fallen.len()),
        ],
        figures: assets
            .figures("assets")
            .into_iter()
            .chain([Figure::number("surviving_assets", survivors.len() as u64)])
            .chain(vaults.figures("vaults"))
            .collect(),
        backtests: Vec::new(),
    };
    let counted = subjects.len() as u64;
    kept.document(tx, RecordKind::ValidationReport, report.report_type.as_str(), &report, counted).await
}

/// One subject for all deployments with the same answers.
fn distinct(by_id: &BTreeMap<String, Subject>) -> Vec<&Subject> {
    let mut found: Vec<&Subject> = Vec::new();
    for subject in by_id.values() {
        if !found.iter().any(|other| same(other, subject)) {
            found.push(subject);
        }
    }
    found
}

fn same(one: &Subject, other: &Subject) -> bool {
    let content = |subject: &Subject| {
        let mut content: Vec<_> = subject
            .answers
            .iter()
            .map(|it| (it.dimension, it.question.clone(), it.answer.clone(), it.as_of, it.source_url.clone()))
            .collect();
        content.sort();
        content
    };
    one.category == other.category && one.answers.len() == other.answers.len() && content(one) == content(other)
}
