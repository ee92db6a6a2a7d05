//! Hindsight: with the answers dated before, did assets and vaults that later lost money stand lower?
//!
//! An asset has failed if an answer states a loss that holders did not get back; an incident of its own contract dates the failure. Its
//! score on the eve is computed from the answers dated before, under the rules in force, and compared with the scores of the other assets
//! on the same day. A vault has failed if its price per share fell or it had an incident; what is compared is the score of its deposit
//! asset on the eve of its first loss.
//!
//! # Invariants
//!
//! - No loss is compared with an asset that lost from the same cause, and none is counted as judged without a comparison.
//! - Losses have their own dates, never those of the sources that report them.

mod report;
mod study;
mod subjects;
#[cfg(test)]
mod tests;

use super::records::Kept;
use rds_shared::model::research::RecordKind;
use rds_shared::wire::Timestamp;
use rds_store::assets::answers;
use rds_store::research::losses;
use rds_store::{StoreError, Tx, decode_enum};
use std::collections::BTreeMap;
use subjects::{Deployment, Subjects};

/// Stores the report. It is public if there is at least one asset with answers, whatever comes out.
pub async fn run(tx: &mut Tx<'_>, kept: &mut Kept) -> Result<(), StoreError> {
    let mut answers = answers::all(&mut **tx).await?;
    let mut incidents: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
    for incident in losses::asset_incidents(tx).await? {
        incidents.entry(incident.asset_id).or_default().push(incident.occurred_at.0);
    }
    let mut deployments = Vec::new();
    for asset in losses::studied_assets(tx).await? {
        deployments.push(Deployment {
            category: decode_enum("asset.category", &asset.category)?,
            answers: answers.remove(&asset.id).unwrap_or_default(),
            incidents: incidents.remove(&asset.id).unwrap_or_default(),
            asset_id: asset.id,
            underlying: asset.underlying,
        });
    }
    let subjects = Subjects::new(deployments);
    let study = study::study(&subjects, &losses::first_losses(tx).await?);
    let report = report::report(&subjects, &study);
    let counted = subjects.all.len() as u64;
    kept.document(tx, RecordKind::ValidationReport, report.report_type.as_str(), &report, counted).await
}
