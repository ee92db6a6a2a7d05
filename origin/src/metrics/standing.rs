//! What only the database knows, read at intervals: a scrape never waits for it.
//!
//! While the database is away the figures stay as they were and `rds_db_up` says so; ages go on growing, for they are counted from instants.

use super::{head, metric};
use crate::app::App;
use crate::clock::Stopwatch;
use crate::store::standing::{self as table, Standing};
use arc_swap::ArcSwapOption;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often the database is asked.
const EVERY: Duration = Duration::from_secs(5);
/// How long it may take to answer.
const WITHIN: Duration = Duration::from_secs(5);

/// The last answer, and whether the last question had one.
#[derive(Debug, Default)]
pub struct Known {
    standing: ArcSwapOption<Standing>,
    /// Microseconds that the last answer took; 0 when there was none.
    answered_micros: AtomicU64,
}

/// Asks until the process ends.
pub async fn keep_known(app: &App) {
    loop {
        look(app).await;
        sleep(EVERY).await;
    }
}

/// Asks once.
pub async fn look(app: &App) {
    let (known, watch) = (&app.metrics.standing, Stopwatch::start());
    match timeout(WITHIN, table::standing(&app.db)).await {
        Ok(Ok(standing)) => {
            known.standing.store(Some(Arc::new(standing)));
            known.answered_micros.store(watch.micros().max(1), Relaxed);
        }
        // The catalog's refresh says when the database is down; once is enough.
        Ok(Err(_)) | Err(_) => known.answered_micros.store(0, Relaxed),
    }
}

/// Appends what was known last; `now` is the second of the domain's clock.
pub(super) fn render(out: &mut String, known: &Known, now: i64) {
    let micros = known.answered_micros.load(Relaxed);
    let standing = known.standing.load_full().map(|standing| (*standing).clone()).unwrap_or_default();
    let run_age = standing.run_since.map_or(0, |at| (now - at.as_seconds()).max(0));
    let (vaults, changes) = standing.last_run.map_or((0, 0), |(_, counts)| counts);
    for (name, help, value) in [
        ("rds_db_up", "1 while the database answers.", f64::from(u8::from(micros > 0))),
        ("rds_db_answer_seconds", "Time the database took to answer lately.", micros as f64 / 1e6),
        ("rds_db_size_bytes", "Size of the database on its disk.", standing.size_bytes as f64),
        ("rds_db_server_connections", "Connections of everybody to the server.", standing.connections as f64),
        ("rds_db_server_connections_limit", "Connections that the server takes.", standing.connections_limit as f64),
        (
            "rds_db_oldest_writer_seconds",
            "Age of the oldest transaction that writes.",
            standing.oldest_writer_seconds as f64,
        ),
        (
            "rds_score_run_age_seconds",
            "Age of the latest run over every vault, or of the first scores.",
            run_age as f64,
        ),
        ("rds_score_run_vaults", "Vaults that it evaluated.", vaults as f64),
        ("rds_score_run_changes", "Published scores that it changed.", changes as f64),
    ] {
        metric(out, name, help, "gauge", value);
    }
    let name = "rds_webhook_subscriptions";
    head(out, name, "Webhooks, by what they do.", "gauge");
    let [active, paused, disabled] = standing.webhooks;
    for (status, count) in [("active", active), ("paused", paused), ("disabled", disabled)] {
        let _ = writeln!(out, "{name}{{status=\"{status}\"}} {count}");
    }
}
