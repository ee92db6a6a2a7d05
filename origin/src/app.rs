//! The running service without its listeners. Handlers and background jobs each take the parts that they use.

use crate::catalog::LiveCatalog;
use crate::catalog::histories::Histories;
use crate::chain::ChainMeters;
use crate::config::{Config, KeepDays};
use crate::edge_link::outbox::EdgeSeen;
use crate::graph::Graph;
use crate::journal::Journal;
use crate::keys::bcrypt_rows::LegacyKeyVerifier;
use crate::metrics::{Gauges, Metrics};
use crate::replica::Replica;
use crate::status::heartbeat::Heartbeat;
use crate::status::traffic::Traffic;
use crate::status::writes::Writes;
use crate::stream::Streams;
use crate::stream::delivery::StreamSources;
use crate::telemetry::AccessLog;
use crate::thinning::meters::ThinningMeters;
use crate::traces::Traces;
use crate::traces::export::Meters;
use crate::webhooks::{Egress, Webhooks};
use anyhow::Context;
use arc_swap::ArcSwapOption;
use rds_engine::clock::Clock;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::service::health::HealthFacts;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub struct App {
    pub clock: Clock,
    pub db: Db,
    /// The read model, built from the database and kept in memory.
    pub catalog: LiveCatalog,
    /// The exposure graph: whether it is enabled, and its snapshot.
    pub graph: Graph,
    /// Cache of recently requested vault histories.
    pub histories: Histories,
    /// The journal of published operations.
    pub journal: Arc<Journal>,
    /// The open event streams of this process.
    pub streams: Arc<Streams>,
    /// Data sources of the open streams.
    pub stream_sources: Arc<StreamSources>,
    pub metrics: Arc<Metrics>,
    /// What leads the edge's replica from one state of the catalog's rows to the next.
    pub replica: Replica,
    /// Responses of this process, counted for the status feed.
    pub traffic: Traffic,
    /// Whether the database accepts writes.
    pub writes: Writes,
    pub access_log: AccessLog,
    /// Traces of sampled requests and jobs.
    pub traces: Traces,
    pub trace_meters: Arc<Meters>,
    /// Verifies older keys, of which only a bcrypt hash is stored.
    pub prover: LegacyKeyVerifier,
    /// Records in the database when an edge looks up keys.
    pub edge_seen: EdgeSeen,
    /// Seconds between two full score runs; 0 turns scheduled runs off.
    pub score_every_seconds: u32,
    /// How long histories are kept whole, and what this process has thinned.
    pub keep_days: KeepDays,
    pub thinning: ThinningMeters,
    /// The key that signs decisions and basket versions; `None` if none is configured.
    pub signing_key: Option<DecisionKey>,
    /// Creation and delivery of webhooks.
    pub webhooks: Webhooks,
    /// The chains that are read, with their providers.
    pub chains: Vec<rds_rpc::file::Chain>,
    pub chain_meters: ChainMeters,
    /// The process's check of its own readiness; set once the listeners are open.
    pub heartbeat: OnceLock<Heartbeat>,
    /// The last health facts from the database, for when it is unavailable.
    pub last_health: ArcSwapOption<HealthFacts>,
    /// Held while health facts are counted, so that only one task counts at a time.
    pub counting: Arc<tokio::sync::Mutex<()>>,
    leaving: AtomicBool,
    started_at: Timestamp,
    db_limit: u32,
}

impl App {
    /// A service whose catalog is empty until its first refresh.
    ///
    /// Must be called within the runtime if traces are configured. Fails only if `RDS_WEBHOOK_CA` contains an invalid certificate.
    pub fn new(config: &Config, db: Db, clock: Clock, access_log: AccessLog) -> anyhow::Result<Arc<Self>> {
        Self::reaching(config, db, clock, access_log, Egress::of_system())
    }

    /// Like [`Self::new`], with `outward` as the egress of webhooks.
    pub fn reaching(
        config: &Config,
        db: Db,
        clock: Clock,
        access_log: AccessLog,
        outward: Egress,
    ) -> anyhow::Result<Arc<Self>> {
        let (journal, streams) = (Arc::new(Journal::default()), Arc::new(Streams::new(config.anonymous_stream)));
        let trace_meters = Arc::<Meters>::default();
        let traces = Traces::new(config.traces.as_ref(), &clock, &trace_meters)?;
        let stream_sources = Arc::new(StreamSources {
            db: db.clone(),
            clock: clock.clone(),
            journal: journal.clone(),
            streams: streams.clone(),
        });
        Ok(Arc::new(App {
            started_at: clock.wall(),
            db_limit: config.database.connections,
            clock,
            db,
            catalog: LiveCatalog::default(),
            graph: Graph::new(config.graph, config.graph_every_seconds),
            histories: Histories::default(),
            journal,
            streams,
            stream_sources,
            metrics: Arc::default(),
            replica: Replica::default(),
            traffic: Traffic::default(),
            writes: Writes::default(),
            traces,
            trace_meters,
            access_log,
            prover: LegacyKeyVerifier::default(),
            edge_seen: EdgeSeen::default(),
            score_every_seconds: config.score_every_seconds,
            keep_days: config.keep_days,
            thinning: ThinningMeters::default(),
            signing_key: config.signing_key.clone(),
            chain_meters: ChainMeters::new(&config.chains),
            chains: config.chains.clone(),
            webhooks: Webhooks::new(config, outward).context("RDS_WEBHOOK_CA")?,
            heartbeat: OnceLock::new(),
            last_health: ArcSwapOption::empty(),
            counting: Arc::default(),
            leaving: AtomicBool::new(false),
        }))
    }

    /// Makes this process report that it is not ready, so that load balancers stop sending it requests. Requests that still arrive are
    /// answered as before.
    pub fn begin_leaving(&self) {
        self.leaving.store(true, Relaxed);
    }

    /// Ends this process's streams with a `draining` frame and makes it not ready.
    pub fn begin_draining(&self) {
        self.begin_leaving();
        self.streams.begin_draining();
        self.journal.signal();
    }

    /// Whether this process is shutting down.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Relaxed)
    }

    /// The metrics page; with `exemplars`, buckets of histograms have examples, which only OpenMetrics allows.
    pub fn scrape(&self, exemplars: bool) -> String {
        let mut page = self.metrics.render(&self.gauges(), exemplars);
        self.journal.meters.render(&mut page, |at| self.since(at), self.journal.ring.size());
        self.journal.lag.render(&mut page, exemplars);
        self.streams.meters.render(&mut page, self.streams.open());
        self.replica.meters.render(&mut page);
        self.chain_meters.write(&mut page);
        self.trace_meters.render(&mut page);
        self.thinning.render(&mut page);
        page
    }

    /// Seconds since the wall-clock second `at`, or since the process began if `at` is 0 (never).
    fn since(&self, at: i64) -> i64 {
        age(at, self.started_at.as_seconds(), self.clock.wall().as_seconds())
    }

    /// The values of the gauges, read from the other parts of the service when the metrics page is rendered.
    fn gauges(&self) -> Gauges {
        let catalog = self.catalog.current();
        let now = self.clock.now();
        let tags_known_to = self.metrics.edge_tags_known_to.load(Relaxed);
        Gauges {
            catalog_version: catalog.as_ref().map_or(0, |catalog| catalog.version),
            catalog_rows: catalog.as_ref().map_or(0, |catalog| catalog.active_vaults()),
            catalog_age_seconds: self.since(self.metrics.catalog_current_at.load(Relaxed)),
            // `tags_known_to` is 0 if no edge is configured; then there is no lag.
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
            fail_safe: self.catalog.fail_safe(),
            score_every_seconds: self.score_every_seconds,
        }
    }
}

/// Seconds from `at` to `now`, or from the start of the process (`began`) if `at` is 0.
fn age(at: i64, began: i64, now: i64) -> i64 {
    (now - if at == 0 { began } else { at }).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::meters::JournalMeters;

    #[test]
    fn an_event_that_never_happened_is_counted_from_the_start_of_the_process() {
        assert_eq!([age(0, 100, 190), age(150, 100, 190), age(200, 100, 190)], [90, 40, 0]);
        let mut page = String::new();
        JournalMeters::default().render(&mut page, |at| age(at, 100, 190), (0, 0));
        assert!(page.lines().any(|line| line == "rds_journal_lag_seconds 90"), "{page}");
    }
}
