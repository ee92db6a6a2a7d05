//! `serve`: reads the configuration, serves on three listeners, and stops in order.

use crate::app::App;
use crate::clock_check;
use crate::config::{self, Config, LogLevel};
use crate::edge_link::EdgeLink;
use crate::http::listeners::Listeners;
use crate::http::server::Server;
use crate::jobs::Jobs;
use crate::status::heartbeat::Heartbeat;
use crate::telemetry::{self, AccessLog};
use crate::webhooks::deliver::Deliveries;
use anyhow::bail;
use rds_engine::clock::Clock;
use rds_store::service::test_clock;
use rds_store::{self as store, Db, StoreError};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// Time limit of each optional database operation at start and stop. After a timeout the process continues without the operation.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between attempts to reach a database that was down at the start.
const DATABASE_POLL: Duration = Duration::from_secs(1);

/// Serves until a stop signal arrives.
pub(super) async fn serve() -> anyhow::Result<()> {
    let config = Config::read(config::environment)?;
    telemetry::init_service(config.log, config.traces.is_some());
    for variable in config::unknown_here() {
        tracing::warn!(%variable, "nothing reads this variable");
    }
    let clock = if config.test_clock { Clock::movable() } else { Clock::system() };
    // The pool connects lazily, so the process runs and reports not ready while the database is down.
    let db = Db::connect_lazy(config.database.url.expose(), config.database.connections)?;
    let access_log = if config.log >= LogLevel::Info { AccessLog::to(std::io::stderr()) } else { AccessLog::off() };
    let link = config.link().map(|link| EdgeLink::new(&link, clock.clone())).transpose()?.map(Arc::new);
    let app = App::new(&config, db.clone(), clock.clone(), access_log)?;
    let listeners = Listeners::bind(&config).await?;
    let addresses = listeners.addresses()?;
    // Cannot fail: the heartbeat is set only here.
    let _ = app.heartbeat.set(Heartbeat::through(addresses.relay)?);
    let stop = leave(app.clone(), config.lame_duck, StopSignals::listen()?);
    warn_of_open_targets(&config);
    tracing::info!(edge = %addresses.edge, relay = %addresses.relay, admin = %addresses.admin, test_clock = config.test_clock, "serving");
    let mut serving = pin!(listeners.serve(Server::new(&config, app.clone()), stop));
    // Jobs write, so they start only once the schema is known to be current.
    let jobs = tokio::select! {
        () = &mut serving => None,
        current = wait_for_current_schema(&db) => {
            current?;
            note_the_clock(&db, &clock).await;
            Some((Jobs::start(&app, link), Deliveries::start(&app)))
        }
    };
    if let Some((jobs, deliveries)) = jobs {
        serving.await;
        jobs.stop().await;
        deliveries.stop().await;
    }
    // Frees the stream leases of this process now; otherwise they would count until they expire.
    if let Ok(Err(error)) = tokio::time::timeout(STEP_TIMEOUT, app.streams.withdraw(&app.db)).await {
        tracing::warn!(%error, "could not release the stream leases of this process; they count until they expire");
    }
    if clock.is_movable() {
        // Deletes the stored clock shift, because the next process starts at the real time.
        let _ = tokio::time::timeout(STEP_TIMEOUT, test_clock::note(&db, None)).await;
    }
    if tokio::time::timeout(STEP_TIMEOUT, db.pool.close()).await.is_err() {
        tracing::warn!("the database connections did not close in time");
    }
    app.traces.flush().await;
    app.access_log.flush();
    tracing::info!("stopped");
    Ok(())
}

/// Waits until the database answers. Fails if migrations are pending, because statements would fail on the old schema.
async fn wait_for_current_schema(db: &Db) -> anyhow::Result<()> {
    let mut is_logged = false;
    loop {
        match store::pending_migrations(db).await {
            Ok(0) => return Ok(()),
            Ok(pending) => bail!("{pending} migrations are pending; run: rds-origin migrate"),
            Err(StoreError::Unavailable(error)) => {
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::warn!(%error, "the database does not answer; this process is not ready until it does");
                }
                sleep(DATABASE_POLL).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Stores the shift of the test clock, so that operators' commands use the same time. Logs an error if the clock went back. Both are best
/// effort, because the database may be down.
async fn note_the_clock(db: &Db, clock: &Clock) {
    let stored = test_clock::note(db, clock.shift());
    match tokio::time::timeout(STEP_TIMEOUT, stored).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "could not store this service's clock for operators' commands"),
        Err(_) => tracing::warn!("could not store this service's clock for operators' commands"),
    }
    if let Ok(Ok(Some(newest))) =
        tokio::time::timeout(STEP_TIMEOUT, clock_check::newest_work_ahead_of(db, clock.now())).await
    {
        tracing::error!(now = %clock.now(), %newest, "{}", clock_check::WENT_BACK);
    }
}

/// Warns of every network outside the public internet that webhooks may be delivered to.
fn warn_of_open_targets(config: &Config) {
    for block in config.webhook_policy.allowed() {
        tracing::warn!(%block, "webhooks may be delivered into a network that is not public (RDS_WEBHOOK_ALLOW)");
    }
}

/// Resolves when the listeners should stop accepting: `lame_duck` after the first stop signal, or at the second.
///
/// In between this process reports not ready but still serves, so that a load balancer that polls readiness every few seconds stops
/// sending requests before the port is closed.
async fn leave(app: Arc<App>, lame_duck: Duration, mut signals: StopSignals) {
    signals.next().await;
    app.begin_leaving();
    if !lame_duck.is_zero() {
        tracing::info!(seconds = lame_duck.as_secs(), "stop signal received: not ready any more, still serving");
        tokio::select! {
            () = sleep(lame_duck) => {}
            () = signals.next() => {}
        }
    }
}

/// SIGTERM and SIGINT.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> anyhow::Result<Self> {
        Ok(StopSignals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
