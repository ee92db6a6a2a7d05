//! Which questions are open, in the order of the value that their answers would unlock.

use crate::scoring_run::{entered_numbers, unstated_inputs};
use rds_facts::{AssetAnswer, ProtocolAnswer};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{AssetCategory, Dimension};
use rds_shared::scoring::rubric::{
    Answer, AssetEvidence, DimensionBasis, EnteredNumbers, PartState, ProtocolInput, ProtocolPart, supply_limit,
};
use rds_shared::wire::Timestamp;
use rds_store::assets::{answers, scores};
use rds_store::scoring::evidence_value::{self, DependentValue};
use rds_store::scoring::protocol_answers;
use rds_store::{Db, StoreError, decode_enum};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// A question without an answer that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// `dimension.question` of an asset, or the input of a protocol.
    pub question: String,
    /// Why it is open: `unknown`, `aged` or `withdrawn`.
    pub state: PartState,
    /// Part of the asset's score that it decides, in hundredths of a percent; 0 for a protocol, and for a question that only limits the
    /// score.
    pub weight: u32,
    /// Greatest score of the asset while the question is open; null if the question does not limit the score.
    pub limits_score_to: Option<MilliPoints>,
}

/// A subject with its open questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenSubject {
    /// `asset` or `protocol`.
    pub kind: &'static str,
    pub id: String,
    /// Observed TVL of the active vaults that depend on it, in USD.
    pub tvl_usd: f64,
    /// The part of `tvl_usd` that answers would unlock: in vaults without a score, or with the score basis `assumed` or `bound`.
    pub unlockable_tvl_usd: f64,
    /// Number of the active vaults that depend on it.
    pub vaults: i64,
    /// Number of these vaults without a score.
    pub unscored: i64,
    /// Whether the asset has none of the methodology's categories, so that no question can be asked.
    pub lacks_category: bool,
    /// Heaviest first.
    pub open: Vec<OpenQuestion>,
}

/// The subjects with open questions as of `now`, those that would unlock the most TVL first. Subjects that would unlock none come last.
pub async fn open_subjects(db: &Db, now: Timestamp) -> Result<Vec<OpenSubject>, StoreError> {
    let mut tx = db.snapshot().await?;
    let mut reviewed = HashMap::new();
    for row in scores::load(&mut tx).await? {
        let category: AssetCategory = decode_enum("asset.category", &row.category)?;
        let entered = entered_numbers(&row)?;
        reviewed.insert(row.id, (category, entered));
    }
    let about_assets = answers::all(&mut *tx).await?;
    let about_protocols = protocol_answers::all(&mut *tx).await?;
    let unstated = unstated_inputs(&mut tx, now).await?;
    let mut subjects = Vec::new();
    for value in evidence_value::of_assets(&mut *tx).await? {
        let Some((category, entered)) = reviewed.get(&value.id) else { continue };
        let given = about_assets.get(&value.id).map(Vec::as_slice).unwrap_or_default();
        let lacks_category = *category == AssetCategory::Unreviewed;
        subjects.push(subject("asset", value, lacks_category, open_of_asset(*category, entered, given, now)));
    }
    for value in evidence_value::of_protocols(&mut *tx).await? {
        let Some(unstated) = unstated.get(&value.id) else { continue };
        let given = about_protocols.get(&value.id).map(Vec::as_slice).unwrap_or_default();
        subjects.push(subject("protocol", value, false, open_of_protocol(unstated, given, now)));
    }
    subjects.retain(|it| it.lacks_category || !it.open.is_empty());
    sort(&mut subjects);
    Ok(subjects)
}

fn subject(kind: &'static str, value: DependentValue, lacks_category: bool, open: Vec<OpenQuestion>) -> OpenSubject {
    let DependentValue { id, tvl_usd, unlockable_tvl_usd, vaults, unscored } = value;
    OpenSubject { kind, id, tvl_usd, unlockable_tvl_usd, vaults, unscored, lacks_category, open }
}

fn sort(subjects: &mut [OpenSubject]) {
    subjects.sort_by(|a, b| {
        let by_tvl = b.unlockable_tvl_usd.total_cmp(&a.unlockable_tvl_usd).then(b.tvl_usd.total_cmp(&a.tvl_usd));
        by_tvl.then(b.vaults.cmp(&a.vaults)).then_with(|| (&a.id, a.kind).cmp(&(&b.id, b.kind)))
    });
}

/// The open questions of the dimensions that the category weighs, and those about who can raise the asset's supply. A question is closed
/// where the number of a signed review counts instead of answers.
fn open_of_asset(
    category: AssetCategory,
    entered: &EnteredNumbers,
    given: &[AssetAnswer],
    now: Timestamp,
) -> Vec<OpenQuestion> {
    let answers: Vec<(Dimension, Answer<'_>)> = given.iter().map(|one| (one.dimension, one.sourced().answer)).collect();
    let evidence = AssetEvidence::new(category, entered, &answers, now);
    let mut open: Vec<OpenQuestion> = Vec::new();
    for it in evidence.dimensions.iter().filter(|it| it.basis != DimensionBasis::SignedReview) {
        for part in it.outcome.parts.iter().filter(|part| !part.state.is_known()) {
            open.push(OpenQuestion {
                question: format!("{}.{}", it.dimension, part.question.id),
                state: part.state,
                weight: u32::from(it.weight) * u32::from(part.question.weight),
                limits_score_to: None,
            });
        }
    }
    // Open questions about the supply do not limit an asset whose values a signed review states.
    if evidence.dimensions.iter().all(|it| it.basis != DimensionBasis::SignedReview) {
        limited_by_supply(category, &answers, now, &mut open);
    }
    open.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.question.cmp(&b.question)));
    open
}

/// Adds the open questions about who can raise the supply, and the limit that each sets while it is open. Two categories ask them with a
/// weight as well.
fn limited_by_supply(
    category: AssetCategory,
    answers: &[(Dimension, Answer<'_>)],
    now: Timestamp,
    open: &mut Vec<OpenQuestion>,
) {
    let about = answers.iter().filter(|(dimension, _)| *dimension == Dimension::BridgeMechanism);
    let about: Vec<Answer<'_>> = about.map(|(_, answer)| *answer).collect();
    let parts = supply_limit(category, &about, now).map(|limit| limit.parts).unwrap_or_default();
    for part in parts.iter().filter(|part| !part.state.is_known()) {
        let question = format!("{}.{}", Dimension::BridgeMechanism, part.question);
        let limits_score_to = Some(MilliPoints::from(part.ceiling));
        match open.iter_mut().find(|it| it.question == question) {
            Some(weighed) => weighed.limits_score_to = limits_score_to,
            None => open.push(OpenQuestion { question, state: part.state, weight: 0, limits_score_to }),
        }
    }
}

/// The inputs in `unstated` without an answer that counts as evidence.
fn open_of_protocol(unstated: &BTreeSet<ProtocolInput>, given: &[ProtocolAnswer], now: Timestamp) -> Vec<OpenQuestion> {
    let evaluated: Vec<_> = given.iter().filter_map(ProtocolAnswer::evaluated).collect();
    let parts = unstated.iter().map(|input| ProtocolPart::new(*input, &evaluated, now));
    let open = parts.filter(|part| !part.state.is_known());
    open.map(|part| OpenQuestion {
        question: part.input.as_str().to_owned(),
        state: part.state,
        weight: 0,
        limits_score_to: None,
    })
    .collect()
}

#[cfg(test)]
#[path = "evidence_status_tests.rs"]
mod tests;
