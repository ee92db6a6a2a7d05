//! Metrics that are read from the database at intervals, so that a scrape never waits for it.
//!
//! While the database is unavailable, `rds_db_up` is 0 and the figures keep their last values; ages still grow, because they are computed
//! from instants.

use super::{head, metric};
use crate::metrics::Metrics;
use arc_swap::ArcSwapOption;
use rds_engine::clock::Stopwatch;
use rds_store::Db;
use rds_store::service::database_state as table;
use rds_store::service::database_state::ServiceState;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often the database is queried.
const QUERY_INTERVAL: Duration = Duration::from_secs(5);
/// Time limit for a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// The last figures, and whether the last query succeeded.
#[derive(Debug, Default)]
pub struct LastDbStats {
    state: ArcSwapOption<ServiceState>,
    /// Microseconds that the last query took; 0 if it failed.
    answered_micros: AtomicU64,
}

/// Queries the database at intervals until the process ends.
pub async fn keep_reading(db: &Db, metrics: &Metrics) {
    loop {
        read_once(db, metrics).await;
        sleep(QUERY_INTERVAL).await;
    }
}

/// Queries the database once and keeps the figures.
pub async fn read_once(db: &Db, metrics: &Metrics) {
    let (known, watch) = (&metrics.database, Stopwatch::start());
    match timeout(QUERY_TIMEOUT, table::read(db)).await {
        Ok(Ok(state)) => {
            known.state.store(Some(Arc::new(state)));
            known.answered_micros.store(watch.micros().max(1), Relaxed);
        }
        // The catalog refresh already logs that the database is unavailable.
        Ok(Err(_)) | Err(_) => known.answered_micros.store(0, Relaxed),
    }
}

/// Appends the last figures; `now` is the domain time in seconds.
pub(super) fn render(out: &mut String, known: &LastDbStats, now: i64) {
    let micros = known.answered_micros.load(Relaxed);
    let state = known.state.load_full().map(|state| (*state).clone()).unwrap_or_default();
    let run_age = state.run_since.map_or(0, |at| (now - at.as_seconds()).max(0));
    let (vaults, changes) = state.last_run.map_or((0, 0), |(_, counts)| counts);
    for (name, help, value) in [
        ("rds_db_up", "1 while the database answers.", f64::from(u8::from(micros > 0))),
        ("rds_db_answer_seconds", "Duration of the last query for these figures; 0 if it failed.", micros as f64 / 1e6),
        ("rds_db_size_bytes", "Size of the database on its disk.", state.size_bytes as f64),
        (
            "rds_db_server_connections",
            "Open connections of all clients to the database server.",
            state.connections as f64,
        ),
        (
            "rds_db_server_connections_limit",
            "Maximum connections of the database server.",
            state.connections_limit as f64,
        ),
        (
            "rds_db_oldest_writer_seconds",
            "Age of the oldest open transaction that has written.",
            state.oldest_writer_seconds as f64,
        ),
        ("rds_score_run_age_seconds", "Age of the latest full score run, or of the first scores.", run_age as f64),
        ("rds_score_run_vaults", "Vaults evaluated by the latest full score run.", vaults as f64),
        ("rds_score_run_changes", "Published scores changed by the latest full score run.", changes as f64),
    ] {
        metric(out, name, help, "gauge", value);
    }
    let name = "rds_webhook_subscriptions";
    head(out, name, "Webhook subscriptions by status.", "gauge");
    let [active, paused, disabled] = state.webhooks;
    for (status, count) in [("active", active), ("paused", paused), ("disabled", disabled)] {
        let _ = writeln!(out, "{name}{{status=\"{status}\"}} {count}");
    }
}
