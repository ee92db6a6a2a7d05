//! Keeps the current snapshot in memory: loads the snapshot that the database names, and builds a new one when a build is due.

use super::{Snapshot, answers, build, frozen};
use crate::app::App;
use rds_engine::clock::Stopwatch;
use rds_shared::graph::breach::MarketIds;
use rds_shared::graph::incidents::IncidentMap;
use rds_shared::graph::lending::LendingMarket;
use rds_shared::graph::look_through::ExposureGraph;
use rds_shared::graph::snapshot::Manifest;
use rds_store::graph::{facts, snapshots};
use rds_store::{Db, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Interval at which the database is asked for the current snapshot, and whether a build is due.
pub const POLL: Duration = Duration::from_secs(1);

/// Loads the snapshot that is current in the database. Returns whether it differs from the one in memory.
///
/// If the database fails, the snapshot in memory is kept. A snapshot that is withheld or cannot be loaded is dropped.
pub async fn refresh(app: &App) -> anyhow::Result<bool> {
    let current = snapshots::current(&app.db).await?;
    follow(app, current).await
}

/// Like [`refresh`], for a snapshot id that was just read. If its bodies have been deleted since, another snapshot has
/// replaced it and is loaded instead.
pub async fn follow(app: &App, current: Option<String>) -> anyhow::Result<bool> {
    let tried = match hold(app, current.as_deref()).await {
        Err(error) if !is_unavailable(&error) => match snapshots::current(&app.db).await? {
            now if now == current => Err(error),
            now => hold(app, now.as_deref()).await,
        },
        tried => tried,
    };
    // If the current snapshot cannot be loaded, the one in memory is dropped: other processes answer from the current snapshot, and answers
    // must not differ.
    tried.inspect_err(|error| {
        if !is_unavailable(error) {
            app.graph.current.store(None);
        }
    })
}

/// Loads the snapshot `id` into memory, or drops the one in memory if `id` is `None`. Returns whether the snapshot in memory changed.
async fn hold(app: &App, id: Option<&str>) -> anyhow::Result<bool> {
    let held = app.graph.current();
    let Some(id) = id else {
        app.graph.current.store(None);
        return Ok(held.is_some());
    };
    if held.is_some_and(|held| held.id().to_hex() == id) {
        return Ok(false);
    }
    let watch = Stopwatch::start();
    let snapshot = load(&app.db, id).await?;
    tracing::info!(%id, vaults = snapshot.graph.facts().vaults().len(), micros = watch.micros(), "the exposure graph was loaded");
    app.graph.current.store(Some(Arc::new(snapshot)));
    Ok(true)
}

/// Loads and opens a stored snapshot.
pub async fn load(db: &Db, id: &str) -> anyhow::Result<Snapshot> {
    let missing = || StoreError::Corrupt { column: "graph_current.snapshot_id", text: id.to_owned() };
    let manifest = frozen::manifest(id, &snapshots::manifest(db, id).await?.ok_or_else(missing)?)?;
    let mut bodies = BTreeMap::new();
    for publication in &manifest.publications {
        let body = snapshots::body(db, &publication.content_hash.to_hex()).await?;
        bodies.insert(publication.name, frozen::intact(publication.content_hash, body)?);
    }
    let ids = facts::market_ids(db).await?;
    tokio::task::spawn_blocking(move || open(manifest, &bodies, &ids)).await?
}

/// Builds the snapshot in memory, with its encoded responses, from bodies. A publication that the manifest does not list is empty.
fn open(manifest: Manifest, bodies: &BTreeMap<&str, String>, ids: &MarketIds) -> anyhow::Result<Snapshot> {
    let body = |name: &str| bodies.get(name).map_or("[]", String::as_str);
    let graph = ExposureGraph::build(frozen::facts(body(frozen::VAULTS))?);
    let incidents = IncidentMap::build(graph.facts(), frozen::rows(body(frozen::INCIDENTS))?)?;
    let lending: Vec<LendingMarket> = frozen::rows(body(frozen::LENDING))?;
    let breach = answers::breach(&lending, ids)?;
    let incident_summary = answers::incident_summary(&manifest, &incidents, graph.facts())?;
    Ok(Snapshot { manifest, graph, incidents, breach: breach.into(), incident_summary: incident_summary.into() })
}

/// Builds a snapshot if a build is due by the service's clock and this process claims it. Returns whether a snapshot was built.
pub async fn build_due(app: &App) -> anyhow::Result<bool> {
    let every = i64::from(app.graph.every_seconds);
    let now = app.clock.now();
    if every == 0 || !snapshots::claim_build(&app.db, now, every).await? {
        return Ok(false);
    }
    Ok(build::build(&app.db, now).await?.is_some())
}

/// Follows and builds until the process ends; returns at once if the graph is disabled. Logs the first failure and the recovery.
pub async fn keep_current(app: &App) {
    if !app.graph.is_enabled() {
        return;
    }
    let mut working = true;
    loop {
        let round = async {
            // A snapshot that cannot be loaded must not prevent the next build.
            let loaded = refresh(app).await;
            if build_due(app).await? { refresh(app).await } else { loaded }
        };
        match round.await {
            Ok(_) if !working => {
                working = true;
                tracing::info!("the exposure graph is current again");
            }
            Ok(_) => {}
            Err(error) => {
                // The catalog's refresh already logs that the database is down.
                if std::mem::replace(&mut working, false) && !is_unavailable(&error) {
                    tracing::error!(%error, "the exposure graph cannot be built or loaded");
                }
            }
        }
        let _ = timeout(POLL, app.graph.signalled()).await;
    }
}

fn is_unavailable(error: &anyhow::Error) -> bool {
    error.downcast_ref::<StoreError>().is_some_and(|error| matches!(error, StoreError::Unavailable(_)))
}
