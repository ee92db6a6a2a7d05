//! The service's metrics, as Prometheus text.
//!
//! Every cell is an atomic that exists from the start: counting takes no lock and allocates nothing. `origin/OPERATING.md` says what
//! each metric means to an operator; a test compares the two.
//!
//! # Invariants
//!
//! - Labels come from closed sets and their cells exist from the start: counting is one addition, and a scrape queries no database. Tests compare metrics,
//!   `OPERATING.md` and `alerts.yml` (`tests/it/service/metrics.rs`, `e2e/alerts.test.mjs`).

pub mod answers;
pub mod database_metrics;
pub(crate) mod exposition;
pub mod histogram;
pub mod lag;
pub mod openmetrics;
pub mod process;
mod requests;

pub(crate) use exposition::{head, metric};
pub use requests::{Caller, Label};

use crate::webhooks::counters::Counters;
use answers::Answers;
use database_metrics::LastDbStats;
use process::LoopDelay;
use rds_shared::model::health::FailSafeMode;
use rds_shared::wire::Timestamp;
use requests::Requests;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// The outcome of a full score run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// Its scores are published.
    Completed,
    /// A sanity check held it back; the last good run is still served.
    Withheld,
    /// It failed; nothing of it was stored.
    Failed,
}

impl RunOutcome {
    const ALL: [RunOutcome; 3] = [RunOutcome::Completed, RunOutcome::Withheld, RunOutcome::Failed];

    const fn name(self) -> &'static str {
        match self {
            RunOutcome::Completed => "completed",
            RunOutcome::Withheld => "withheld",
            RunOutcome::Failed => "failed",
        }
    }
}

/// The process's counters and gauges.
#[derive(Debug, Default)]
pub struct Metrics {
    pub requests: Requests,
    pub answers: Answers,
    score_runs: [AtomicU64; RunOutcome::ALL.len()],
    /// When a request of the edge was last verified, in seconds of the wall clock; 0 before the first.
    pub edge_heard_at: AtomicI64,
    /// Scheduling delay of this process's threads.
    pub loop_delay: LoopDelay,
    /// The last figures read from the database.
    pub database: LastDbStats,
    /// Requests on the edge listener without a valid assertion.
    pub assertions_refused: AtomicU64,
    /// Observation batches that were committed.
    pub ingest_batches: AtomicU64,
    /// Observation batches that were refused or failed.
    pub ingest_refused: AtomicU64,
    /// Observations of committed batches.
    pub ingest_observations: AtomicU64,
    /// Times the catalog could not be refreshed.
    pub catalog_failures: AtomicU64,
    /// Microseconds the latest refresh took.
    pub catalog_refresh_micros: AtomicU64,
    /// When the catalog was last found current, in seconds of the wall clock; 0 before the first time.
    pub catalog_current_at: AtomicI64,
    /// Usage batches that were added.
    pub usage_applied: AtomicU64,
    /// Usage batches that had been added before.
    pub usage_repeated: AtomicU64,
    /// Usage batches of an unknown key, or after a missing batch.
    pub usage_lost: AtomicU64,
    /// Changes of keys that the edge acknowledged.
    pub key_updates_acknowledged: AtomicU64,
    /// Rounds of key changes that the edge did not acknowledge completely.
    pub key_updates_failed: AtomicU64,
    /// Changes of keys that the edge has not acknowledged yet.
    pub key_updates_waiting: AtomicU64,
    /// Messages of changed facts that the edge acknowledged.
    pub edge_tags_acknowledged: AtomicU64,
    /// Messages of changed facts that the edge did not acknowledge.
    pub edge_tags_failed: AtomicU64,
    /// Latest time at which the edge is known to have had every change of facts, in seconds of the wall clock; initially the start of
    /// sending. 0 without an edge.
    pub edge_tags_known_to: AtomicI64,
    /// Access-log lines dropped because the log output was too slow.
    pub log_lines_dropped: AtomicU64,
    pub webhooks: Counters,
}

/// Values that other parts of the service hold; they are read at each scrape.
#[derive(Debug, Clone, Copy)]
pub struct Gauges {
    /// The data version of the catalog; 0 before the first catalog.
    pub catalog_version: i64,
    /// Active vaults in the catalog.
    pub catalog_rows: usize,
    /// Seconds since the catalog was last found current, or since the process began.
    pub catalog_age_seconds: i64,
    /// Seconds since the edge last knew every change of facts; 0 without an edge.
    pub edge_tags_lag_seconds: i64,
    /// Seconds since the last verified request of the edge, or since the process began.
    pub edge_heard_age_seconds: i64,
    /// Age of the newest reading of any vault, and of the median vault's newest reading, in seconds of the domain clock.
    pub reading_ages_seconds: (i64, i64),
    /// Whether the exposure graph is enabled in this process.
    pub graph_enabled: bool,
    /// Age of the loaded exposure graph snapshot, in seconds; `None` if none is loaded.
    pub graph_age_seconds: Option<i64>,
    /// Open database connections.
    pub db_connections: u32,
    /// Maximum database connections of this process.
    pub db_limit: u32,
    /// Open database connections that are idle.
    pub db_idle: usize,
    /// Requested verifications of older keys.
    pub bcrypt_proofs: u64,
    /// Whether the database refuses writes.
    pub writes_refused: bool,
    /// Whether this process is shutting down.
    pub draining: bool,
    /// When the process began.
    pub started_at: Timestamp,
    /// The domain time.
    pub now: Timestamp,
    /// The fail-safe mode.
    pub fail_safe: FailSafeMode,
    /// Seconds between two full score runs; 0 if they are not scheduled.
    pub score_every_seconds: u32,
}

impl Metrics {
    /// Counts a full score run.
    pub fn scored(&self, outcome: RunOutcome) {
        self.score_runs[outcome as usize].fetch_add(1, Relaxed);
    }

    /// All metrics, as Prometheus text; with `exemplars`, buckets of requests have examples.
    pub fn render(&self, gauges: &Gauges, exemplars: bool) -> String {
        let mut out = String::with_capacity(16 * 1024);
        self.requests.render(&mut out, exemplars);
        self.answers.render(&mut out);
        self.render_score_runs(&mut out);
        let counters: [(&str, &str, &AtomicU64); 13] = [
            (
                "rds_assertions_refused_total",
                "Requests on the edge listener without a valid assertion.",
                &self.assertions_refused,
            ),
            ("rds_ingest_batches_total", "Observation batches committed.", &self.ingest_batches),
            ("rds_ingest_batches_refused_total", "Observation batches refused or failed.", &self.ingest_refused),
            ("rds_ingest_observations_total", "Observations of committed batches.", &self.ingest_observations),
            ("rds_catalog_refresh_failures_total", "Catalog refreshes that failed.", &self.catalog_failures),
            ("rds_log_lines_dropped_total", "Access-log lines dropped.", &self.log_lines_dropped),
            ("rds_usage_batches_total", "Usage batches added.", &self.usage_applied),
            ("rds_usage_batches_repeated_total", "Usage batches that had been added before.", &self.usage_repeated),
            ("rds_usage_gaps_total", "Usage batches after a missing one, or of an unknown key.", &self.usage_lost),
            ("rds_edge_news_acknowledged_total", "Key changes the edge acknowledged.", &self.key_updates_acknowledged),
            (
                "rds_edge_news_failed_total",
                "Rounds of key changes not acknowledged completely.",
                &self.key_updates_failed,
            ),
            (
                "rds_edge_tags_acknowledged_total",
                "Messages of changed facts the edge acknowledged.",
                &self.edge_tags_acknowledged,
            ),
            ("rds_edge_tags_failed_total", "Messages of changed facts not acknowledged.", &self.edge_tags_failed),
        ];
        for (name, help, value) in counters {
            metric(&mut out, name, help, "counter", value.load(Relaxed) as f64);
        }
        let (newest_reading, median_reading) = gauges.reading_ages_seconds;
        let values: [(&str, &str, f64); 20] = [
            ("rds_catalog_version", "Data version the catalog was made from.", gauges.catalog_version as f64),
            ("rds_catalog_rows", "Active vaults in the catalog.", gauges.catalog_rows as f64),
            (
                "rds_catalog_age_seconds",
                "Seconds since the catalog was last found current, or since the process began.",
                gauges.catalog_age_seconds as f64,
            ),
            (
                "rds_catalog_refresh_seconds",
                "Duration of the latest refresh.",
                self.catalog_refresh_micros.load(Relaxed) as f64 / 1e6,
            ),
            ("rds_vault_newest_reading_age_seconds", "Age of the newest reading of any vault.", newest_reading as f64),
            (
                "rds_vault_median_reading_age_seconds",
                "Age of the median vault's newest reading.",
                median_reading as f64,
            ),
            ("rds_graph_enabled", "1 if the exposure graph is enabled.", f64::from(u8::from(gauges.graph_enabled))),
            (
                "rds_graph_snapshot_loaded",
                "1 while an exposure graph snapshot is loaded.",
                f64::from(u8::from(gauges.graph_age_seconds.is_some())),
            ),
            (
                "rds_graph_snapshot_age_seconds",
                "Age of the loaded exposure graph snapshot.",
                gauges.graph_age_seconds.unwrap_or(0) as f64,
            ),
            ("rds_db_connections", "Open database connections.", f64::from(gauges.db_connections)),
            ("rds_db_connections_idle", "Idle database connections.", gauges.db_idle as f64),
            (
                "rds_db_connections_limit",
                "Database connections that this process may open.",
                f64::from(gauges.db_limit),
            ),
            (
                "rds_edge_heard_age_seconds",
                "Seconds since the last verified request of the edge, or since the process began.",
                gauges.edge_heard_age_seconds as f64,
            ),
            (
                "rds_edge_news_waiting",
                "Key changes the edge has not acknowledged.",
                self.key_updates_waiting.load(Relaxed) as f64,
            ),
            (
                "rds_edge_tags_lag_seconds",
                "Age of the oldest change of facts that the edge may not know.",
                gauges.edge_tags_lag_seconds as f64,
            ),
            (
                "rds_bcrypt_proofs",
                "Verifications of older keys requested since the start.",
                gauges.bcrypt_proofs as f64,
            ),
            (
                "rds_fail_safe_mode",
                "0 normal, 1 degraded (the last good scores are served), 2 fail_closed (no scores are served).",
                f64::from(gauges.fail_safe as u8),
            ),
            (
                "rds_score_run_every_seconds",
                "Seconds between two full score runs; 0 if they are not scheduled.",
                f64::from(gauges.score_every_seconds),
            ),
            (
                "rds_db_writes_refused",
                "1 while the database refuses writes.",
                f64::from(u8::from(gauges.writes_refused)),
            ),
            ("rds_draining", "1 while this process is shutting down.", f64::from(u8::from(gauges.draining))),
        ];
        for (name, help, value) in values {
            metric(&mut out, name, help, "gauge", value);
        }
        database_metrics::render(&mut out, &self.database, gauges.now.as_seconds());
        self.webhooks.render(&mut out);
        process::render(&mut out, gauges.started_at, &self.loop_delay);
        out
    }

    fn render_score_runs(&self, out: &mut String) {
        head(out, "rds_score_runs_total", "Full score runs of this process, by outcome.", "counter");
        for (outcome, count) in RunOutcome::ALL.iter().zip(&self.score_runs) {
            let _ = writeln!(out, "rds_score_runs_total{{outcome=\"{}\"}} {}", outcome.name(), count.load(Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::RouteId;

    const GAUGES: Gauges = Gauges {
        catalog_version: 7,
        catalog_rows: 3,
        catalog_age_seconds: 1,
        edge_tags_lag_seconds: 0,
        edge_heard_age_seconds: 0,
        reading_ages_seconds: (5, 60),
        graph_enabled: false,
        graph_age_seconds: None,
        db_connections: 2,
        db_limit: 16,
        db_idle: 1,
        bcrypt_proofs: 0,
        writes_refused: false,
        draining: false,
        started_at: Timestamp::from_seconds(1),
        now: Timestamp::from_seconds(2),
        fail_safe: FailSafeMode::Normal,
        score_every_seconds: 1_800,
    };

    #[test]
    fn a_scrape_tells_routes_statuses_and_latencies_apart() {
        let metrics = Metrics::default();
        metrics.requests.answered(Label::Route(RouteId::VaultList), 200, 120, None);
        metrics.requests.answered(Label::Route(RouteId::VaultList), 200, 90, None);
        metrics.requests.answered(Label::Route(RouteId::VaultList), 400, 10, None);
        metrics.requests.answered(Label::Unmatched, 418, 10, None);
        let text = metrics.render(&GAUGES, false);
        for line in [
            "rds_requests_total{route=\"VaultList\",status=\"200\"} 2",
            "rds_requests_total{route=\"VaultList\",status=\"400\"} 1",
            "rds_requests_total{route=\"Unmatched\",status=\"0\"} 1",
            "rds_request_seconds_bucket{route=\"VaultList\",le=\"0.0001\"} 2",
            "rds_request_seconds_bucket{route=\"VaultList\",le=\"+Inf\"} 3",
            "rds_catalog_version 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
