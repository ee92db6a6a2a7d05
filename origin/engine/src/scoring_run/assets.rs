//! Scores assets in the order of their dependencies. Changes are published immediately, without a dwell.

use crate::dimensions::stored_dimensions;
use rds_facts::{AssetAnswer, FlagEvent, FlagOverride};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::ScoreRange;
use rds_shared::scoring::asset::{
    AssetBreakdown, AssetCategory, AssetFlag, AssetInput, AttestationCadence, ChainSubScores, Dimension, FlagState,
    HardFailEvent, HardFailFlag, HardFailSet, Override, ReviewStatus, breakdown, cadence_seconds, evaluate,
};
use rds_shared::scoring::rubric::{Answer, AnswerSet, AssetEvidence, Attested, EnteredNumbers, SourcedAnswer, status};
use rds_shared::scoring::sanity_checks::RunFacts;
use rds_shared::wire::Timestamp;
use rds_store::assets::answers::{self, AttestedSet};
use rds_store::assets::scores::{self, AssetRow, AssetScoreRow, StoredEvidence};
use rds_store::ingest::facts::raw;
use rds_store::{StoreError, Tx, assets, decode_enum};
use std::collections::{BTreeMap, BTreeSet};

/// The result of scoring the assets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssetRun {
    /// Assets whose published score or flags changed. The vaults that hold such an asset must be scored again.
    pub moved: Vec<String>,
    /// Whether any published field of an asset changed.
    pub is_news: bool,
}

/// Scores every asset as of `now`. Changed rows get data version `version`, and the inputs are counted in `facts`.
pub async fn score_assets(
    tx: &mut Tx<'_>,
    now: Timestamp,
    version: i64,
    facts: &mut RunFacts,
) -> Result<AssetRun, StoreError> {
    let rows: BTreeMap<String, AssetRow> =
        scores::load(tx).await?.into_iter().map(|row| (row.id.clone(), row)).collect();
    let answers = answers::all(&mut **tx).await?;
    let signed = answers::attested(&mut **tx, None).await?;
    let mut scores: BTreeMap<&str, Option<MilliPoints>> = BTreeMap::new();
    let mut changed = Vec::new();
    for id in dependency_order(&rows) {
        let Some(row) = rows.get(id) else { continue };
        let of_asset = answers.get(id).map(Vec::as_slice).unwrap_or_default();
        let category: AssetCategory = decode_enum("asset.category", &row.category)?;
        let entered = entered_numbers(row)?;
        let given: Vec<(Dimension, Answer<'_>)> =
            of_asset.iter().map(|one| (one.dimension, one.sourced().answer)).collect();
        let evidence = AssetEvidence::new(category, &entered, &given, now);
        let status = effective_status(review_status(row)?, &evidence, of_asset, &signed);
        let input = input(row, category, &evidence, status, &scores, now)?;
        if evidence.refresh.is_some() || row.last_refresh_at.or(row.reviewed_at).is_some() {
            facts.read(input.age_seconds, input.cadence_seconds);
        }
        let mut outcome = evaluate(&input);
        // Dependencies come first, so one that is not scored yet depends on this asset.
        let mut below = row.underlying.iter().chain(&row.dependency_chain);
        if below.any(|id| rows.contains_key(id) && !scores.contains_key(id.as_str())) {
            outcome.flags.push(AssetFlag::CircularDependency);
        }
        scores.insert(id, outcome.score);
        let breakdown = breakdown(&input, &outcome, outcome.score)
            .map(|it| raw(&AssetBreakdown { dimension_basis: evidence.bases(), ..it }))
            .transpose()?;
        let score = AssetScoreRow {
            asset_id: row.id.clone(),
            score: outcome.score.map(MilliPoints::get),
            tier: outcome.score.map(|score| tier_of(score).as_str()),
            hard_fail_flags: input.hard_fail_flags.iter().map(HardFailFlag::as_str).collect(),
            hard_fail_cap: input.hard_fail_flags.lowest_cap().map(MilliPoints::get),
            breakdown,
            updated_at: now.into(),
            evidence: stored(row, &evidence, &input),
        };
        if !score.same_as(row) {
            changed.push(score);
        }
    }
    scores::write(tx, &changed).await?;
    let is_news = assets::note_version_scores(tx).await? > 0 || !changed.is_empty();
    if is_news {
        assets::mark_changed(tx, version).await?;
    }
    // A vault's score depends on an asset's score and flags, but not on its breakdown.
    let moved = changed.into_iter().filter(|score| rows.get(&score.asset_id).is_none_or(|row| !score.reads_as(row)));
    Ok(AssetRun { moved: moved.map(|score| score.asset_id).collect(), is_news })
}

/// The ids of all assets, each after its dependencies. Within a cycle, the asset that is reached first comes last. Not recursive, because a
/// chain of dependencies may have any length.
fn dependency_order(rows: &BTreeMap<String, AssetRow>) -> Vec<&str> {
    let (mut order, mut done, mut path) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for root in rows.keys() {
        let mut open = vec![(root.as_str(), false)];
        while let Some((id, below_done)) = open.pop() {
            if done.contains(id) {
                continue;
            }
            if below_done {
                done.insert(id);
                order.push(id);
            } else if let Some(row) = rows.get(id).filter(|_| path.insert(id)) {
                open.push((id, true));
                let below = row.underlying.iter().chain(&row.dependency_chain);
                open.extend(below.map(|id| (id.as_str(), false)));
            }
        }
    }
    order
}

/// What the asset's score rests on, as stored.
fn stored(row: &AssetRow, evidence: &AssetEvidence<'_>, input: &AssetInput) -> StoredEvidence {
    let ScoreRange { lowest, highest, coverage } = evidence.range(input);
    let values: BTreeMap<&str, i32> =
        evidence.values().iter().filter_map(|(dimension, value)| Some((dimension.as_str(), value?.get()))).collect();
    let refresh = evidence.refresh;
    StoredEvidence {
        basis: Some(evidence.basis().as_str().to_owned()),
        coverage: i32::try_from(coverage.0).ok(),
        lowest: Some(lowest.get()),
        highest: Some(highest.get()),
        dimensions: Some(serde_json::json!(values)),
        review_status: Some(input.review_status.as_str().to_owned()),
        refreshed_at: refresh
            .filter(|_| !evidence.rests_on_numbers())
            .map(|it| it.observed_at.into())
            .or(row.last_refresh_at)
            .or(row.reviewed_at),
        cadence_seconds: Some(input.cadence_seconds),
    }
}

/// The numbers of the newest review.
pub fn entered_numbers(row: &AssetRow) -> Result<EnteredNumbers, StoreError> {
    Ok(EnteredNumbers {
        dimensions: row.dimensions.as_ref().map(stored_dimensions).unwrap_or_default(),
        is_signed: row.is_attested && review_status(row)? == Some(ReviewStatus::Reviewed),
    })
}

/// The status of the newest review.
fn review_status(row: &AssetRow) -> Result<Option<ReviewStatus>, StoreError> {
    let stored = row.review_status.as_deref();
    stored.map(|text| decode_enum("asset_version.review_status", text)).transpose()
}

/// The status that caps the score: that of the review where all values are numbers that it states, that of the set of answers where none
/// is, and the weaker of the two where both count. Answers that were read on a chain are nobody's to review.
fn effective_status(
    review: Option<ReviewStatus>,
    evidence: &AssetEvidence<'_>,
    answers: &[AssetAnswer],
    signed: &[AttestedSet],
) -> ReviewStatus {
    let of_review = review.unwrap_or(ReviewStatus::Unreviewed);
    let answers: Vec<&AssetAnswer> = answers.iter().filter(|one| one.is_given()).collect();
    if answers.is_empty() || !evidence.rests_on_answers() && evidence.rests_on_numbers() {
        return of_review;
    }
    let Some(asset_id) = answers.first().map(|one| one.asset_id.as_str()) else { return ReviewStatus::Unreviewed };
    let sourced: Vec<SourcedAnswer<'_>> = answers.iter().map(|one| one.sourced()).collect();
    let given_by: BTreeSet<&str> = answers.iter().map(|one| one.source.as_str()).collect();
    let attested: Vec<Attested<'_>> = signed
        .iter()
        .filter(|it| it.asset_id == asset_id)
        .filter_map(|it| {
            Some(Attested { reviewer_id: &it.reviewer_id, answers: ContentHash::parse(&it.answers_hash)? })
        })
        .collect();
    let given_by: Vec<&str> = given_by.into_iter().collect();
    let of_answers = status(&AnswerSet { subject: asset_id, answers: &sourced }, &given_by, &attested);
    // The statuses are in the order of their caps, the highest first.
    if evidence.rests_on_numbers() { of_review.max(of_answers) } else { of_answers }
}

/// The inputs of one asset. A dependency without an entry in `scores` is in a cycle with the asset and counts as unscored.
fn input(
    row: &AssetRow,
    category: AssetCategory,
    evidence: &AssetEvidence<'_>,
    review_status: ReviewStatus,
    scores: &BTreeMap<&str, Option<MilliPoints>>,
    now: Timestamp,
) -> Result<AssetInput, StoreError> {
    let cadence = row
        .attestation_cadence
        .as_deref()
        .map(|text| decode_enum::<AttestationCadence>("asset.attestation_cadence", text));
    let published = |id: &String| scores.get(id.as_str()).copied().flatten();
    let reviewed = row.last_refresh_at.or(row.reviewed_at);
    // Each question has a cadence of its own, so an asset with answers does not age by the default of its category.
    let (age_seconds, cadence_seconds) = match evidence.refresh.filter(|_| !evidence.rests_on_numbers()) {
        Some(refresh) => (refresh.age_seconds(now), refresh.cadence_seconds),
        None => {
            (reviewed.map_or(0, |at| now.seconds_since(at.0).max(0)), cadence_seconds(category, cadence.transpose()?))
        }
    };
    let overrides = overrides(row, now)?;
    Ok(AssetInput {
        lockup_days: u32::try_from(row.lockup_days).unwrap_or(0),
        underlying: row.underlying.as_ref().map(published),
        dependencies: row.dependency_chain.iter().map(|id| (id.clone(), published(id))).collect(),
        chain: chain_profile(row),
        age_seconds,
        cadence_seconds,
        review_status,
        supply_ceiling: evidence.supply_ceiling(),
        hard_fail_flags: flags(row, &overrides, now)?,
        overrides,
        ..AssetInput::new(category, evidence.values())
    })
}

/// The sub-scores of the asset's chain: `None` on a settlement layer, which has no chain overlay; four `None` on a chain without a profile.
fn chain_profile(row: &AssetRow) -> Option<ChainSubScores> {
    let score = |stored: Option<i32>| stored.and_then(MilliPoints::new);
    (!row.is_settlement).then(|| {
        [
            score(row.bridge_centralization),
            score(row.sequencer_centralization),
            score(row.validator_set_size_score),
            score(row.chain_age_score),
        ]
    })
}

/// The overrides in force. Overrides that were invalid at the review are skipped.
fn overrides(row: &AssetRow, now: Timestamp) -> Result<Vec<Override>, StoreError> {
    let (Some(json), Some(reviewed_at)) = (&row.hard_fail_overrides, row.reviewed_at) else { return Ok(Vec::new()) };
    let stored: Vec<FlagOverride> = serde_json::from_value(json.clone())
        .map_err(|_| StoreError::Corrupt { column: "asset_version.hard_fail_overrides", text: json.to_string() })?;
    let decisions = stored.iter().filter_map(|lifted| lifted.decision(reviewed_at).ok());
    Ok(decisions.filter(|decision| decision.is_in_force(now)).collect())
}

fn flags(row: &AssetRow, overrides: &[Override], now: Timestamp) -> Result<HardFailSet, StoreError> {
    let Some(json) = &row.hard_fail_events else { return Ok(HardFailSet::default()) };
    let events: Vec<FlagEvent> = serde_json::from_value(json.clone())
        .map_err(|_| StoreError::Corrupt { column: "asset_version.hard_fail_events", text: json.to_string() })?;
    let mut set = HardFailSet::default();
    for flag in HardFailFlag::ALL.iter().copied() {
        let of_flag = events.iter().filter(|event| event.flag == flag);
        let of_flag: Vec<HardFailEvent> =
            of_flag.map(|event| HardFailEvent { at: event.at.0, transition: event.transition }).collect();
        let lifted = overrides.iter().any(|decision| decision.lifts(flag, now));
        if !lifted && FlagState::at(flag, &of_flag, now).caps() {
            set.insert(flag);
        }
    }
    Ok(set)
}
