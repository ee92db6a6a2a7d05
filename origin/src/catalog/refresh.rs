//! Keeps the catalog current: polls the data version, and rebuilds when it changed.
//!
//! A notification of changed facts only shortens the wait; polling is authoritative. While the database is down, the last catalog is served.

use super::{Catalog, Changes, SecurityFacts};
use crate::app::App;
use rds_engine::clock::Stopwatch;
use rds_shared::route::TagVersions;
use rds_store::StoreError;
use rds_store::assets::registry;
use rds_store::ingest::publication;
use rds_store::markets::{self, oracles};
use rds_store::push::journal;
use rds_store::registry::catalog as table;
use rds_store::security::{self, losses};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::timeout;

/// Poll interval of the data version.
pub const POLL: Duration = Duration::from_secs(1);

/// Kinds of facts that markets are built from, apart from their member vaults.
const MARKET_KINDS: [&str; 6] = ["market", "market_state", "market_reserve", "chain", "protocol", "chain_retraction"];
/// Kinds of facts that feeds are built from.
const FEED_KINDS: [&str; 2] = ["oracle_feed", "chain"];
/// Kinds of facts that the security registry and the loss board are built from.
const SECURITY_KINDS: [&str; 4] = ["security_event", "loss_case", "chain", "protocol"];

/// Brings the catalog up to date once; `true` if it was rebuilt.
pub async fn refresh(app: &App) -> anyhow::Result<bool> {
    let round = app.catalog.begin_round();
    let outcome = rebuild(app).await;
    app.catalog.end_round(round, outcome.as_ref().ok().map(|(_, tags)| *tags));
    outcome.map(|(is_rebuilt, _)| is_rebuilt)
}

/// Rebuilds the catalog if the data version has changed. Returns whether it was rebuilt, and the tag versions that it now covers.
async fn rebuild(app: &App) -> anyhow::Result<(bool, TagVersions)> {
    // Timeline, version and tags are read before the facts and in one statement, so that a catalog of `version` or later covers `tags`. The
    // next round detects a restore that happens after this read, even if the restored database issues the same versions again.
    let (timeline, version, tags) = journal::timeline(&app.db).await?;
    // After a restore, facts read before it may no longer exist, so the previous catalog is not reused.
    let previous = app.catalog.current().filter(|catalog| catalog.timeline == timeline && catalog.version <= version);
    let known = previous.as_ref().map(|catalog| catalog.version);
    if known != Some(version) {
        let watch = Stopwatch::start();
        // Read before the facts, so that nothing read afterwards includes one of these chains, unless it is served again meanwhile.
        let withheld = journal::read::withheld(&app.db.pool).await?;
        let (version, vaults) = table::load_vaults(&app.db, known).await?;
        // The registry is read after the vaults, so that it contains every row that they refer to. It may contain rows newer than
        // `version`; their data version causes the next rebuild.
        let registry = table::load_registry(&app.db).await?;
        let markets = match moved(app, known, &MARKET_KINDS).await? {
            true => Some(markets::load(&app.db).await?),
            false => None,
        };
        let feeds = match moved(app, known, &FEED_KINDS).await? {
            true => Some(oracles::load(&app.db).await?),
            false => None,
        };
        let security = match moved(app, known, &SECURITY_KINDS).await? {
            true => {
                Some(SecurityFacts { events: security::load(&app.db).await?, losses: losses::load(&app.db).await? })
            }
            false => None,
        };
        let assets = registry::load(&app.db, previous.as_ref().map(|catalog| catalog.assets.version)).await?;
        // If a restore happened during the read, the catalog would accept cursors of facts that the restore undid.
        anyhow::ensure!(
            journal::timeline(&app.db).await?.0 == timeline,
            "the database was restored while the catalog was read"
        );
        let changes = Changes { timeline, version, vaults, registry, markets, feeds, security, assets, withheld };
        let next = tokio::task::spawn_blocking(move || Catalog::build(previous.as_deref(), changes)).await??;
        tracing::debug!(version, vaults = next.active_vaults(), micros = watch.micros(), "the catalog was rebuilt");
        app.metrics.catalog_refresh_micros.store(watch.micros(), Relaxed);
        app.catalog.swap(next);
        if known.is_none() {
            app.histories.forget();
        }
    }
    app.metrics.catalog_current_at.store(app.clock.wall().as_seconds(), Relaxed);
    Ok((known != Some(version), tags))
}

/// Whether rows of these kinds may have changed since the data version `known`.
async fn moved(app: &App, known: Option<i64>, kinds: &[&str]) -> Result<bool, StoreError> {
    match known {
        None => Ok(true),
        Some(version) => publication::changed_since(&app.db, version, kinds).await,
    }
}

/// Refreshes until the process ends. Logs once when refreshing fails, and once when it works again.
pub async fn keep_current(app: &App) {
    let mut working = true;
    loop {
        let watch = Stopwatch::start();
        match refresh(app).await {
            Ok(_) if !working => {
                working = true;
                tracing::info!("the catalog is current again");
            }
            Ok(_) => {}
            Err(error) => {
                app.metrics.catalog_failures.fetch_add(1, Relaxed);
                if std::mem::replace(&mut working, false) {
                    let down = error
                        .downcast_ref::<StoreError>()
                        .is_some_and(|error| matches!(error, StoreError::Unavailable(_)));
                    tracing::warn!(%error, database_down = down, "the catalog cannot be refreshed; the last one is served");
                }
            }
        }
        // Pauses as long as the refresh took, so that continuous changes use at most half of a core.
        tokio::time::sleep(Duration::from_micros(watch.micros()).min(POLL)).await;
        let _ = timeout(POLL, app.catalog.until_facts_change()).await;
    }
}
