//! What the service counts about itself, as Prometheus text.
//!
//! Every cell exists from the start and is an atomic: counting takes no lock and allocates nothing.

use crate::webhooks::counters::Counters;
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::{ROUTES, RouteId};
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Statuses with a cell of their own; anything else is counted as the last.
const STATUSES: [u16; 18] = [200, 204, 304, 400, 401, 403, 404, 405, 409, 410, 413, 414, 415, 429, 500, 503, 504, 0];

/// Upper bounds of the latency histogram, in microseconds.
const BUCKETS: [u64; 14] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000, 60_000_000];

/// What a request is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// A route of the table.
    Route(RouteId),
    /// The operators' door.
    Admin,
    /// The edge's own messages.
    EdgeMessage,
    /// No route: refused, unknown or malformed.
    Unmatched,
}

impl Label {
    /// The label's text in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Label::Route(id) => id.name(),
            Label::Admin => "Admin",
            Label::EdgeMessage => "EdgeMessage",
            Label::Unmatched => "Unmatched",
        }
    }

    fn cell(self) -> usize {
        match self {
            Label::Route(id) => id as usize,
            Label::Admin => ROUTES.len(),
            Label::EdgeMessage => ROUTES.len() + 1,
            Label::Unmatched => ROUTES.len() + 2,
        }
    }
}

#[derive(Debug, Default)]
struct Requests {
    by_status: [AtomicU64; STATUSES.len()],
    by_latency: [AtomicU64; BUCKETS.len()],
    micros: AtomicU64,
}

/// The process's counters and gauges.
#[derive(Debug)]
pub struct Metrics {
    requests: Vec<Requests>,
    /// Requests at the edge door whose assertion did not hold.
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
    /// When the catalog was last found current, in seconds of the wall clock.
    pub catalog_current_at: AtomicI64,
    /// Usage batches that were added.
    pub usage_applied: AtomicU64,
    /// Usage batches that had been added before.
    pub usage_repeated: AtomicU64,
    /// Usage batches before which others are missing, or whose key is not here.
    pub usage_lost: AtomicU64,
    /// Changes of keys that the edge acknowledged.
    pub edge_news_acknowledged: AtomicU64,
    /// Rounds of telling in which the edge did not acknowledge all.
    pub edge_news_failed: AtomicU64,
    /// Changes of keys that the edge has not acknowledged yet.
    pub edge_news_waiting: AtomicU64,
    /// Messages of changed facts that the edge acknowledged.
    pub edge_tags_acknowledged: AtomicU64,
    /// Messages of changed facts that it did not.
    pub edge_tags_failed: AtomicU64,
    /// Up to when the edge knows of every change of facts, in seconds of the wall clock; 0 before that is known.
    pub edge_tags_known_to: AtomicI64,
    /// Access-log lines that were given up because the sink did not keep pace.
    pub log_lines_dropped: AtomicU64,
    /// What is counted of webhooks.
    pub webhooks: Counters,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            requests: (0..ROUTES.len() + 3).map(|_| Requests::default()).collect(),
            assertions_refused: AtomicU64::default(),
            ingest_batches: AtomicU64::default(),
            ingest_refused: AtomicU64::default(),
            ingest_observations: AtomicU64::default(),
            catalog_failures: AtomicU64::default(),
            catalog_refresh_micros: AtomicU64::default(),
            catalog_current_at: AtomicI64::default(),
            usage_applied: AtomicU64::default(),
            usage_repeated: AtomicU64::default(),
            usage_lost: AtomicU64::default(),
            edge_news_acknowledged: AtomicU64::default(),
            edge_news_failed: AtomicU64::default(),
            edge_news_waiting: AtomicU64::default(),
            edge_tags_acknowledged: AtomicU64::default(),
            edge_tags_failed: AtomicU64::default(),
            edge_tags_known_to: AtomicI64::default(),
            log_lines_dropped: AtomicU64::default(),
            webhooks: Counters::default(),
        }
    }
}

/// Values that other parts hold and the scrape reads.
#[derive(Debug, Clone, Copy)]
pub struct Gauges {
    /// The catalog's version; 0 before the first.
    pub catalog_version: i64,
    /// Active vaults in it.
    pub catalog_rows: usize,
    /// Seconds since the catalog was last found current.
    pub catalog_age_seconds: i64,
    /// Seconds since the edge last knew of every change of facts; 0 where none is told.
    pub edge_tags_lag_seconds: i64,
    /// Open database connections.
    pub db_connections: u32,
    /// Those of them that wait for work.
    pub db_idle: usize,
    /// Older keys' proofs asked for.
    pub bcrypt_proofs: u64,
    /// Whether this process is going away.
    pub draining: bool,
    /// The platform's mode.
    pub fail_safe: FailSafeMode,
}

impl Metrics {
    /// Counts one answered request.
    pub fn answered(&self, label: Label, status: u16, micros: u64) {
        let Some(requests) = self.requests.get(label.cell()) else { return };
        let status = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len() - 1);
        requests.by_status[status].fetch_add(1, Relaxed);
        requests.micros.fetch_add(micros, Relaxed);
        if let Some(bucket) = BUCKETS.iter().position(|bound| micros <= *bound) {
            requests.by_latency[bucket].fetch_add(1, Relaxed);
        }
    }

    /// The whole page of a scrape.
    pub fn render(&self, gauges: &Gauges) -> String {
        let mut out = String::with_capacity(16 * 1024);
        self.render_requests(&mut out);
        let counters: [(&str, &str, &AtomicU64); 13] = [
            (
                "rds_assertions_refused_total",
                "Requests at the edge door whose assertion did not hold.",
                &self.assertions_refused,
            ),
            ("rds_ingest_batches_total", "Observation batches committed.", &self.ingest_batches),
            ("rds_ingest_batches_refused_total", "Observation batches refused or failed.", &self.ingest_refused),
            ("rds_ingest_observations_total", "Observations of committed batches.", &self.ingest_observations),
            ("rds_catalog_refresh_failures_total", "Catalog refreshes that failed.", &self.catalog_failures),
            ("rds_log_lines_dropped_total", "Access-log lines given up.", &self.log_lines_dropped),
            ("rds_usage_batches_total", "Usage batches added.", &self.usage_applied),
            ("rds_usage_batches_repeated_total", "Usage batches that had been added before.", &self.usage_repeated),
            ("rds_usage_gaps_total", "Usage batches behind a gap, or of an unknown key.", &self.usage_lost),
            ("rds_edge_news_acknowledged_total", "Key changes the edge acknowledged.", &self.edge_news_acknowledged),
            ("rds_edge_news_failed_total", "Rounds in which the edge did not acknowledge.", &self.edge_news_failed),
            (
                "rds_edge_tags_acknowledged_total",
                "Messages of changed facts the edge acknowledged.",
                &self.edge_tags_acknowledged,
            ),
            ("rds_edge_tags_failed_total", "Messages of changed facts it did not.", &self.edge_tags_failed),
        ];
        for (name, help, value) in counters {
            metric(&mut out, name, help, "counter", value.load(Relaxed) as f64);
        }
        let values: [(&str, &str, f64); 11] = [
            ("rds_catalog_version", "Data version the catalog was made from.", gauges.catalog_version as f64),
            ("rds_catalog_rows", "Active vaults in the catalog.", gauges.catalog_rows as f64),
            (
                "rds_catalog_age_seconds",
                "Seconds since the catalog was last found current.",
                gauges.catalog_age_seconds as f64,
            ),
            (
                "rds_catalog_refresh_seconds",
                "Duration of the latest refresh.",
                self.catalog_refresh_micros.load(Relaxed) as f64 / 1e6,
            ),
            ("rds_db_connections", "Open database connections.", f64::from(gauges.db_connections)),
            ("rds_db_connections_idle", "Open database connections without work.", gauges.db_idle as f64),
            (
                "rds_edge_news_waiting",
                "Key changes the edge has not acknowledged.",
                self.edge_news_waiting.load(Relaxed) as f64,
            ),
            (
                "rds_edge_tags_lag_seconds",
                "Age of the oldest change of facts the edge may not know of.",
                gauges.edge_tags_lag_seconds as f64,
            ),
            ("rds_bcrypt_proofs", "Proofs of older keys asked for since the start.", gauges.bcrypt_proofs as f64),
            (
                "rds_fail_safe_mode",
                "0 while scores are current, 1 while the last good ones are served, 2 while none is.",
                f64::from(gauges.fail_safe as u8),
            ),
            ("rds_draining", "1 while this process finishes its last requests.", f64::from(u8::from(gauges.draining))),
        ];
        for (name, help, value) in values {
            metric(&mut out, name, help, "gauge", value);
        }
        self.webhooks.render(&mut out);
        out
    }

    fn render_requests(&self, out: &mut String) {
        let labels: Vec<Label> = ROUTES
            .iter()
            .map(|route| Label::Route(route.id))
            .chain([Label::Admin, Label::EdgeMessage, Label::Unmatched])
            .collect();
        head(out, "rds_requests_total", "Requests answered.", "counter");
        for (label, requests) in labels.iter().zip(&self.requests) {
            for (status, count) in STATUSES.iter().zip(&requests.by_status) {
                let count = count.load(Relaxed);
                if count > 0 {
                    let _ =
                        writeln!(out, "rds_requests_total{{route=\"{}\",status=\"{status}\"}} {count}", label.name());
                }
            }
        }
        head(out, "rds_request_seconds", "Time from the request's head to its answer.", "histogram");
        for (label, requests) in labels.iter().zip(&self.requests) {
            let total: u64 = requests.by_status.iter().map(|count| count.load(Relaxed)).sum();
            if total == 0 {
                continue;
            }
            let (name, mut seen) = (label.name(), 0);
            for (bound, count) in BUCKETS.iter().zip(&requests.by_latency) {
                seen += count.load(Relaxed);
                let _ = writeln!(
                    out,
                    "rds_request_seconds_bucket{{route=\"{name}\",le=\"{}\"}} {seen}",
                    *bound as f64 / 1e6
                );
            }
            let _ = writeln!(out, "rds_request_seconds_bucket{{route=\"{name}\",le=\"+Inf\"}} {total}");
            let _ = writeln!(
                out,
                "rds_request_seconds_sum{{route=\"{name}\"}} {}",
                requests.micros.load(Relaxed) as f64 / 1e6
            );
            let _ = writeln!(out, "rds_request_seconds_count{{route=\"{name}\"}} {total}");
        }
    }
}

/// Appends what stands before the values of a metric.
pub(crate) fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Appends one metric without labels.
pub(crate) fn metric(out: &mut String, name: &str, help: &str, kind: &str, value: f64) {
    head(out, name, help, kind);
    let _ = writeln!(out, "{name} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUGES: Gauges = Gauges {
        catalog_version: 7,
        catalog_rows: 3,
        catalog_age_seconds: 1,
        edge_tags_lag_seconds: 0,
        db_connections: 2,
        db_idle: 1,
        bcrypt_proofs: 0,
        draining: false,
        fail_safe: FailSafeMode::Normal,
    };

    #[test]
    fn a_scrape_tells_routes_statuses_and_latencies_apart() {
        let metrics = Metrics::default();
        metrics.answered(Label::Route(RouteId::VaultList), 200, 120);
        metrics.answered(Label::Route(RouteId::VaultList), 200, 90);
        metrics.answered(Label::Route(RouteId::VaultList), 400, 10);
        metrics.answered(Label::Unmatched, 418, 10);
        let text = metrics.render(&GAUGES);
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
