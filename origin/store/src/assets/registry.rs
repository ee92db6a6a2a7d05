//! The data of the asset part of the catalog, read in one snapshot.

use crate::assets::attestations::{self, ReviewerFacts, SignedRow};
use crate::assets::rwa::{self, CandidateRow, DeploymentRow, ObservationRow, SourceRow};
use crate::assets::{self, AssetFacts};
use crate::{At, Db, StoreError};
use rds_shared::rules::rwa_totals::{CARRY_DAYS, DAY};
use rds_shared::select::assets::RWA_CATEGORIES;

/// The asset data of the catalog, from one database snapshot.
#[derive(Debug, Clone, Default)]
pub struct AssetRegistry {
    /// Data version of the last change to any served asset data.
    pub version: i64,
    /// By number, ascending.
    pub assets: Vec<AssetFacts>,
    /// Real-world assets, by number, ascending.
    pub deployments: Vec<DeploymentRow>,
    /// Signed mappings to products.
    pub mappings: Vec<SignedRow>,
    /// The newest day with a total of real-world assets.
    pub day: Option<At>,
    /// Observations that can count towards the total of `day`.
    pub observations: Vec<ObservationRow>,
    pub sources: Vec<SourceRow>,
    /// Deployments that sources discovered.
    pub candidates: Vec<CandidateRow>,
    pub reviewers: Vec<ReviewerFacts>,
}

/// Loads the data; `None` if it is unchanged since version `known`.
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
