//! What every request is answered with: one value, shared by the doors and the jobs.

use crate::catalog::Holder;
use crate::catalog::histories::Histories;
use crate::clock::Clock;
use crate::config::Config;
use crate::edge_link::outbox::EdgeSeen;
use crate::graph::Graph;
use crate::http::admin_door::AdminToken;
use crate::http::assertion::Nonces;
use crate::http::doors::Doors;
use crate::http::recent::Recent;
use crate::http::relay_lookups::Lookups;
use crate::http::relay_meter::Meter;
use crate::journal::Journal;
use crate::keys::bcrypt_rows::Prover;
use crate::metrics::{Gauges, Metrics};
use crate::status::heartbeat::Heartbeat;
use crate::status::traffic::Traffic;
use crate::status::writes::Writes;
use crate::store::Db;
use crate::store::health::HealthFacts;
use crate::stream::Streams;
use crate::telemetry::AccessLog;
use crate::webhooks::{Outward, Webhooks};
use anyhow::Context;
use arc_swap::ArcSwapOption;
use rds_shared::access::{AssertionKey, Refused, TrustedProxies};
use rds_shared::graph::signature::DecisionKey;
use rds_shared::model::health::FailSafeMode;
use rds_shared::wire::Timestamp;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

pub use rds_shared::VERSION;

/// The running service.
#[derive(Debug)]
pub struct App {
    /// The time.
    pub clock: Clock,
    /// The facts.
    pub db: Db,
    /// The read model made from them.
    pub catalog: Holder,
    /// Pages of it that were just asked for.
    pub recent: Recent,
    /// The exposure graph: whether it is offered, and what it is answered from.
    pub graph: Graph,
    /// Readings of vaults that were asked for lately.
    pub histories: Histories,
    /// What left the service, in its order.
    pub journal: Journal,
    /// The streams that are open here.
    pub streams: Arc<Streams>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What was answered here lately.
    pub traffic: Traffic,
    /// Whether the database takes writes.
    pub writes: Writes,
    /// Where requests are logged.
    pub access_log: AccessLog,
    /// What the edge signs with.
    pub assertion_keys: Vec<AssertionKey>,
    /// Assertions that were used.
    pub nonces: Nonces,
    /// What is held of connections and bodies.
    pub doors: Doors,
    /// Proves keys that are older than the digests.
    pub prover: Prover,
    /// What callers at the relay door have used of their allowances.
    pub relay_meter: Meter,
    /// How keys are looked up there.
    pub relay_lookups: Lookups,
    /// Keys that were refused there lately, for when they cannot be judged.
    pub relay_refused: Mutex<Refused>,
    /// Whose word on a caller's address counts there.
    pub relay_proxies: TrustedProxies,
    /// When the edge last asked about a key, as far as the database has been told.
    pub edge_seen: EdgeSeen,
    /// What operators present.
    pub admin_token: AdminToken,
    /// How long a read may take.
    pub read_deadline: Duration,
    /// Seconds between two runs over every vault; 0 is never by itself.
    pub score_every_seconds: u32,
    /// What decisions are signed with here.
    pub signing_key: Option<DecisionKey>,
    /// What webhooks are made and delivered with.
    pub webhooks: Webhooks,
    /// How this process asks itself whether it is ready, once its doors are open.
    pub heartbeat: OnceLock<Heartbeat>,
    /// What the database last said about itself, for when it says nothing.
    pub last_health: ArcSwapOption<HealthFacts>,
    /// Held by whoever counts for it: one at a time does.
    pub counting: Arc<tokio::sync::Mutex<()>>,
    leaving: AtomicBool,
    draining: AtomicBool,
    started_at: Timestamp,
    db_limit: u32,
}

impl App {
    /// A service that answers nothing yet: the catalog is empty until its first refresh.
    ///
    /// Fails only when an authority that webhook targets shall be trusted by is none.
    pub fn new(config: &Config, db: Db, clock: Clock, access_log: AccessLog) -> anyhow::Result<Arc<Self>> {
        Self::reaching(config, db, clock, access_log, Outward::of_system())
    }

    /// The same with another way into the world.
    pub fn reaching(
        config: &Config,
        db: Db,
        clock: Clock,
        access_log: AccessLog,
        outward: Outward,
    ) -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(App {
            started_at: clock.wall(),
            db_limit: config.database.connections,
            clock,
            db,
            catalog: Holder::default(),
            recent: Recent::default(),
            graph: Graph::new(config.graph, config.graph_every_seconds),
            histories: Histories::default(),
            journal: Journal::default(),
            streams: Arc::new(Streams::new(config.anonymous_stream)),
            metrics: Arc::default(),
            traffic: Traffic::default(),
            writes: Writes::default(),
            access_log,
            assertion_keys: config.assertion_keys.clone(),
            nonces: Nonces::default(),
            doors: Doors::new(config),
            prover: Prover::default(),
            relay_meter: Meter::default(),
            relay_lookups: Lookups::default(),
            relay_refused: Mutex::default(),
            relay_proxies: config.trusted_proxies.clone(),
            edge_seen: EdgeSeen::default(),
            admin_token: AdminToken::new(&config.admin_token),
            read_deadline: config.read_deadline,
            score_every_seconds: config.score_every_seconds,
            signing_key: config.signing_key.clone(),
            webhooks: Webhooks::new(config, outward).context("RDS_WEBHOOK_CA")?,
            heartbeat: OnceLock::new(),
            last_health: ArcSwapOption::empty(),
            counting: Arc::default(),
            leaving: AtomicBool::new(false),
            draining: AtomicBool::new(false),
        }))
    }

    /// Makes this process not ready, so that load balancers stop sending it requests. Everything else goes on as before.
    pub fn begin_leaving(&self) {
        self.leaving.store(true, Relaxed);
    }

    /// Ends this process's streams with a `draining` frame. It is not ready from here on.
    pub fn begin_draining(&self) {
        self.begin_leaving();
        self.draining.store(true, Relaxed);
        self.journal.signal();
    }

    /// The platform's fail-safe mode, as the facts that are served have it.
    pub fn fail_safe(&self) -> FailSafeMode {
        self.catalog.tags().fail_safe().unwrap_or(FailSafeMode::Normal)
    }

    /// Whether this process was told to stop.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Relaxed)
    }

    /// Whether this process ends its streams and takes no new connections.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// The whole page of a metrics scrape.
    pub fn scrape(&self) -> String {
        let mut page = self.metrics.render(&self.gauges());
        self.journal.meters.render(&mut page, |at| self.since(at), self.journal.ring.size());
        self.streams.meters.render(&mut page, self.streams.open());
        self.doors.render(&mut page);
        page
    }

    /// Seconds since a second of the wall clock at which something last was as it should be. Where that never was, 0, it has been
    /// missing since the process began.
    fn since(&self, at: i64) -> i64 {
        age(at, self.started_at.as_seconds(), self.clock.wall().as_seconds())
    }

    /// The values that it reads from other parts.
    fn gauges(&self) -> Gauges {
        let catalog = self.catalog.current();
        let now = self.clock.now();
        let tags_known_to = self.metrics.edge_tags_known_to.load(Relaxed);
        Gauges {
            catalog_version: catalog.as_ref().map_or(0, |catalog| catalog.version),
            catalog_rows: catalog.as_ref().map_or(0, |catalog| catalog.active_vaults()),
            catalog_age_seconds: self.since(self.metrics.catalog_current_at.load(Relaxed)),
            // Where no edge is told, none lags.
            edge_tags_lag_seconds: if tags_known_to == 0 { 0 } else { self.since(tags_known_to) },
            edge_heard_age_seconds: self.since(self.metrics.edge_heard_at.load(Relaxed)),
            reading_ages_seconds: catalog.as_ref().map_or((0, 0), |catalog| catalog.reading_ages(now)),
            graph_enabled: self.graph.is_enabled(),
            graph_age_seconds: self.graph.current().map(|held| now.seconds_since(held.manifest.built_at).max(0)),
            db_connections: self.db.pool.size(),
            db_limit: self.db_limit,
            db_idle: self.db.pool.num_idle(),
            bcrypt_proofs: self.prover.asked.load(Relaxed),
            writes_refused: self.writes.are_refused(),
            draining: self.is_leaving(),
            started_at: self.started_at,
            now,
            fail_safe: self.fail_safe(),
            score_every_seconds: self.score_every_seconds,
        }
    }
}

/// Seconds from `at` to `now`, or from when the process `began` where that is 0.
fn age(at: i64, began: i64, now: i64) -> i64 {
    (now - if at == 0 { began } else { at }).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::meters::JournalMeters;

    #[test]
    fn what_never_was_is_missing_since_the_process_began() {
        assert_eq!([age(0, 100, 190), age(150, 100, 190), age(200, 100, 190)], [90, 40, 0]);
        let mut page = String::new();
        JournalMeters::default().render(&mut page, |at| age(at, 100, 190), (0, 0));
        assert!(page.lines().any(|line| line == "rds_journal_lag_seconds 90"), "{page}");
    }
}
