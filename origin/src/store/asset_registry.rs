//! What the asset side of the catalog is built from, all of one instant.

use super::assets::{self, AssetFacts};
use super::attestations::{self, ReviewerFacts, SignedRow};
use super::rwa::{self, CandidateRow, DeploymentRow, ObservationRow, SourceRow};
use super::{At, Db, StoreError};
use rds_shared::rules::canonical_aum::{CARRY_DAYS, DAY};
use rds_shared::select::assets::RWA_CATEGORIES;

/// The facts.
#[derive(Debug, Clone, Default)]
pub struct AssetRegistry {
    /// The data version in which any of them last changed.
    pub version: i64,
    /// In ascending order of numbers.
    pub assets: Vec<AssetFacts>,
    /// Real-world assets, in the same order.
    pub deployments: Vec<DeploymentRow>,
    /// Signed mappings to products.
    pub mappings: Vec<SignedRow>,
    /// The newest day that has a total.
    pub day: Option<At>,
    /// What may speak for that day.
    pub observations: Vec<ObservationRow>,
    /// Sources.
    pub sources: Vec<SourceRow>,
    /// What sources surfaced.
    pub candidates: Vec<CandidateRow>,
    /// Reviewers.
    pub reviewers: Vec<ReviewerFacts>,
}

/// The facts, unless the catalog has those of this version already.
pub async fn load(db: &Db, known: Option<i64>) -> Result<Option<AssetRegistry>, StoreError> {
    let mut tx = db.snapshot().await?;
    let version = assets::changed_version(&mut *tx).await?;
    if known == Some(version) {
        return Ok(None);
    }
    let day = rwa::newest_day(&mut *tx).await?;
    let from = day.map(|at| At(at.0.plus_seconds(-CARRY_DAYS * DAY)));
    Ok(Some(AssetRegistry {
        version,
        assets: assets::load(&mut *tx).await?,
        deployments: rwa::deployments(&mut *tx, RWA_CATEGORIES).await?,
        mappings: attestations::mappings(&mut *tx).await?,
        day,
        observations: match from {
            Some(from) => rwa::observations(&mut *tx, from).await?,
            None => Vec::new(),
        },
        sources: rwa::sources(&mut *tx).await?,
        candidates: rwa::candidates(&mut *tx).await?,
        reviewers: attestations::reviewers(&mut *tx).await?,
    }))
}
