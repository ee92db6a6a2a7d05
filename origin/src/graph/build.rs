//! Builds a snapshot: reads the facts as of one instant and stores them under their hash.

use super::facts::{self, Registry};
use super::{frozen, incidents, lending};
use rds_shared::graph::snapshot::Manifest;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::wire::Timestamp;
use rds_store::graph::facts as graph_facts;
use rds_store::graph::facts::GraphRows;
use rds_store::graph::snapshots::{self, NewSnapshot, StoreResult};
use rds_store::{Db, StoreError};
use std::sync::Arc;

/// The result of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Built {
    pub snapshot_id: ContentHash,
    /// Number of vaults in the snapshot.
    pub vaults: usize,
    /// Whether the snapshot is new, and whether it became the current one.
    pub kept: StoreResult,
}

/// Builds a snapshot of the facts and makes it current unless a snapshot of newer facts exists. `None` if there is neither a vault nor a
/// withheld chain.
pub async fn build(db: &Db, now: Timestamp) -> anyhow::Result<Option<Built>> {
    let rows = graph_facts::read(db).await?;
    if rows.vaults.is_empty() && rows.withheld.is_empty() {
        return Ok(None);
    }
    keep(db, rows, now).await.map(Some)
}

/// Freezes `rows` and stores the snapshot.
pub async fn keep(db: &Db, rows: GraphRows, now: Timestamp) -> anyhow::Result<Built> {
    let (data_version, withheld) = (rows.data_version, rows.withheld.clone());
    let (manifest, bodies, vaults) = tokio::task::spawn_blocking(move || freeze(&rows, now)).await??;
    let frozen = Arc::new((manifest, bodies, withheld));
    let kept = db
        .run_tx("keep snapshot", |tx| {
            let frozen = frozen.clone();
            Box::pin(async move {
                let (manifest, bodies, withheld) = &*frozen;
                snapshots::store(tx, &NewSnapshot { manifest, bodies, data_version, withheld }, now).await
            })
        })
        .await?;
    Ok(Built { snapshot_id: frozen.0.snapshot_id, vaults, kept })
}

/// The manifest of these rows, the bodies of its publications in the manifest's order, and the number of vaults.
///
/// `now` is part of the manifest but not of the content that its id covers.
pub fn freeze(rows: &GraphRows, now: Timestamp) -> Result<(Manifest, Vec<String>, usize), StoreError> {
    let registry = Registry::of(rows)?;
    let (vaults, cursor) = facts::of(rows, &registry)?;
    let (lending, lending_cursor) = lending::of(rows, &registry)?;
    let (incidents, incidents_cursor) = incidents::of(rows, cursor.max(lending_cursor));
    let bodies = [
        (frozen::INCIDENTS, frozen::text(&incidents), incidents.len(), incidents_cursor),
        (frozen::LENDING, frozen::text(&lending), lending.len(), lending_cursor),
        (frozen::VAULTS, frozen::text(vaults.vaults()), vaults.vaults().len(), cursor),
    ];
    let publications = bodies.iter().map(|(name, body, rows, cursor)| frozen::publication(name, body, *rows, *cursor));
    let manifest = Manifest::freeze(publications, now);
    // The manifest keeps this order.
    Ok((manifest, bodies.into_iter().map(|(_, body, ..)| body).collect(), vaults.vaults().len()))
}
