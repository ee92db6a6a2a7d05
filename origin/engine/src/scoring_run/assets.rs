//! Scores assets in the order of their dependencies. Changes are published immediately, without a dwell.

use crate::ingest::references::stored_dimensions;
use rds_facts::{FlagEvent, FlagOverride};
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{
    AssetCategory, AssetInput, AttestationCadence, ChainSubScores, FlagState, HardFailEvent, HardFailFlag, HardFailSet,
    Override, ReviewStatus, breakdown, cadence_seconds, evaluate,
};
use rds_shared::scoring::sanity_checks::RunFacts;
use rds_shared::wire::Timestamp;
use rds_store::assets::scores::{self, AssetRow, AssetScoreRow};
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
    let mut scores: BTreeMap<&str, Option<MilliPoints>> = BTreeMap::new();
    let mut changed = Vec::new();
    for id in dependency_order(&rows) {
        let Some(row) = rows.get(id) else { continue };
        let input = input(row, &scores, now)?;
        if row.last_refresh_at.or(row.reviewed_at).is_some() {
            facts.read(input.age_seconds, input.cadence_seconds);
        }
        let outcome = evaluate(&input);
        scores.insert(id, outcome.score);
        let score = AssetScoreRow {
            asset_id: row.id.clone(),
            score: outcome.score.map(MilliPoints::get),
            tier: outcome.score.map(|score| tier_of(score).as_str()),
            hard_fail_flags: input.hard_fail_flags.iter().map(HardFailFlag::as_str).collect(),
            hard_fail_cap: input.hard_fail_flags.lowest_cap().map(MilliPoints::get),
            breakdown: breakdown(&input, &outcome, outcome.score).map(|it| raw(&it)).transpose()?,
            updated_at: now.into(),
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

/// The inputs of one asset. A dependency without an entry in `scores` is in a cycle with the asset and counts as unscored.
fn input(
    row: &AssetRow,
    scores: &BTreeMap<&str, Option<MilliPoints>>,
    now: Timestamp,
) -> Result<AssetInput, StoreError> {
    let category: AssetCategory = decode_enum("asset.category", &row.category)?;
    let cadence = row
        .attestation_cadence
        .as_deref()
        .map(|text| decode_enum::<AttestationCadence>("asset.attestation_cadence", text));
    let published = |id: &String| scores.get(id.as_str()).copied().flatten();
    let dimensions = row.dimensions.as_ref().map(stored_dimensions).unwrap_or_default();
    let refreshed = row.last_refresh_at.or(row.reviewed_at);
    let status =
        row.review_status.as_deref().map(|text| decode_enum::<ReviewStatus>("asset_version.review_status", text));
    let overrides = overrides(row, now)?;
    Ok(AssetInput {
        lockup_days: u32::try_from(row.lockup_days).unwrap_or(0),
        underlying: row.underlying.as_ref().map(published),
        dependencies: row.dependency_chain.iter().map(|id| (id.clone(), published(id))).collect(),
        chain: chain_profile(row),
        age_seconds: refreshed.map_or(0, |at| now.seconds_since(at.0).max(0)),
        cadence_seconds: cadence_seconds(category, cadence.transpose()?),
        review_status: status.transpose()?.unwrap_or(ReviewStatus::Unreviewed),
        hard_fail_flags: flags(row, &overrides, now)?,
        overrides,
        ..AssetInput::new(category, dimensions)
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
