//! `RatingChange`: a published score or tier changed.

use crate::publication::{self, How, RATING_CHANGE_SOURCE};
use crate::scoring_run::VaultChange;
use rds_facts::EventRecord;
use rds_shared::model::status::Severity;
use rds_shared::rules::dwell::{Change, ChangeType};
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::{METHODOLOGY_VERSION, MilliPoints};
use rds_shared::wire::Timestamp;
use rds_store::ingest::last_notified;
use rds_store::{StoreError, Tx};
use serde_json::{Map, json};

/// Creates events for the changes that the run of data version `version` published, except first scores. Returns their number.
pub async fn rating_changes(
    tx: &mut Tx<'_>,
    changes: &[VaultChange],
    version: i64,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let moves: Vec<&VaultChange> = changes.iter().filter(|it| it.change.change_type != ChangeType::Initial).collect();
    if moves.is_empty() {
        return Ok(0);
    }
    let ids: Vec<&str> = moves.iter().map(|it| it.vault_id.as_str()).collect();
    let names = last_notified::names(tx, &ids).await?;
    let event = |it: &&VaultChange| {
        let name = names.get(&it.vault_id).map_or(it.vault_id.as_str(), String::as_str);
        event(&it.vault_id, name, &it.change, version, now)
    };
    let events: Vec<EventRecord> = moves.iter().map(event).collect();
    Ok(publication::publish_new(tx, &events, How::Published, now).await?.len() as u64)
}

fn event(vault_id: &str, name: &str, change: &Change, version: i64, now: Timestamp) -> EventRecord {
    let Change { change_type, prev_score, new_score, prev_tier, new_tier } = *change;
    let severity = match change_type {
        ChangeType::HardDemote => Severity::Critical,
        ChangeType::TierDemote | ChangeType::Unscored => Severity::Warning,
        ChangeType::Initial | ChangeType::ScoreMove | ChangeType::TierPromote | ChangeType::Methodology => {
            Severity::Info
        }
    };
    let rating = |score: Option<MilliPoints>, tier: Option<Tier>| match (score, tier) {
        (Some(score), Some(tier)) => format!("{:.2} ({tier})", f64::from(score.get()) / 1e3),
        _ => "unscored".to_owned(),
    };
    let (before, after) = (rating(prev_score, prev_tier), rating(new_score, new_tier));
    EventRecord {
        description: Some(format!("The published rating moved from {before} to {after}: {change_type}.")),
        data: Map::from_iter([
            ("change_type".to_owned(), json!(change_type)),
            ("prev_score".to_owned(), json!(prev_score)),
            ("new_score".to_owned(), json!(new_score)),
            ("prev_tier".to_owned(), json!(prev_tier)),
            ("new_tier".to_owned(), json!(new_tier)),
            ("methodology_version".to_owned(), json!(METHODOLOGY_VERSION)),
        ]),
        ..EventRecord::new(
            format!("rating:{vault_id}:{version}"),
            "RatingChange",
            severity,
            format!("{name} is rated {after}, previously {before}"),
            RATING_CHANGE_SOURCE,
            now.into(),
        )
    }
    .about(vec![vault_id.to_owned()])
}
