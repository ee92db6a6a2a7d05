//! `serve`: from the environment to three open doors, and back.

use crate::app::App;
use crate::clock::Clock;
use crate::clock_check;
use crate::config::{self, Config, LogLevel};
use crate::edge_link::EdgeLink;
use crate::http::listeners::Listeners;
use crate::jobs::Jobs;
use crate::status::heartbeat::Heartbeat;
use crate::store::{self, Db, StoreError, test_clock};
use crate::telemetry::{self, AccessLog};
use crate::webhooks::deliver::Deliveries;
use anyhow::bail;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// How long connections may take to close at the end.
const CLOSE: Duration = Duration::from_secs(2);
/// How often a database that was away at the start is asked again.
const DATABASE_POLL: Duration = Duration::from_secs(1);

/// Serves until the process is told to stop.
pub(super) async fn serve() -> anyhow::Result<()> {
    let config = Config::read(config::environment)?;
    telemetry::init_service(config.log);
    for variable in config::unknown_here() {
        tracing::warn!(%variable, "nothing reads this variable");
    }
    let clock = if config.test_clock { Clock::movable() } else { Clock::system() };
    // Lazily: a database that is down now may be up in a moment, and until then readiness says so.
    let db = Db::connect_lazy(config.database.url.expose(), config.database.connections)?;
    let access_log = if config.log >= LogLevel::Info { AccessLog::to(std::io::stderr()) } else { AccessLog::off() };
    let link = config.link().map(|link| EdgeLink::new(&link, clock.clone())).transpose()?.map(Arc::new);
    let app = App::new(&config, db.clone(), clock.clone(), access_log)?;
    let listeners = Listeners::bind(&config).await?;
    let doors = listeners.addresses()?;
    // Set once: nobody else knows where the doors are.
    let _ = app.heartbeat.set(Heartbeat::through(doors.relay)?);
    let stop = leave(app.clone(), config.lame_duck, StopSignals::listen()?);
    warn_of_open_targets(&config);
    tracing::info!(edge = %doors.edge, relay = %doors.relay, admin = %doors.admin, test_clock = config.test_clock, "serving");
    let mut serving = pin!(listeners.serve(app.clone(), stop));
    // Jobs write: none starts before the schema is known to be this program's.
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
    // A place is free at once, not when this process has been silent for long.
    if let Ok(Err(error)) = tokio::time::timeout(CLOSE, app.streams.withdraw(&app.db)).await {
        tracing::warn!(%error, "this process's streams are counted until it is taken for dead");
    }
    if clock.is_movable() {
        // The next one begins at the real time again.
        let _ = tokio::time::timeout(CLOSE, test_clock::note(&db, None)).await;
    }
    if tokio::time::timeout(CLOSE, db.pool.close()).await.is_err() {
        tracing::warn!("the database connections did not close in time");
    }
    app.access_log.flush();
    tracing::info!("stopped");
    Ok(())
}

/// Waits until the database answers, and refuses one whose schema is older than this program: requests would fail half-way.
async fn wait_for_current_schema(db: &Db) -> anyhow::Result<()> {
    let mut is_told = false;
    loop {
        match store::pending_migrations(db).await {
            Ok(0) => return Ok(()),
            Ok(pending) => bail!("{pending} migrations are pending; run: rds-origin migrate"),
            Err(StoreError::Unavailable(error)) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!(%error, "the database does not answer; this process is not ready until it does");
                }
                sleep(DATABASE_POLL).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Tells operators' verbs which clock the service goes by, and operators when it went back. While the database is away neither is known.
async fn note_the_clock(db: &Db, clock: &Clock) {
    let told = test_clock::note(db, clock.shift());
    match tokio::time::timeout(CLOSE, told).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "operators' verbs are not told which clock this service goes by"),
        Err(_) => tracing::warn!("operators' verbs are not told which clock this service goes by"),
    }
    if let Ok(Ok(Some(newest))) = tokio::time::timeout(CLOSE, clock_check::behind(db, clock.now())).await {
        tracing::error!(now = %clock.now(), %newest, "{}", clock_check::WENT_BACK);
    }
}

/// Whoever may make webhooks can reach the networks that are allowed here.
fn warn_of_open_targets(config: &Config) {
    for block in config.webhook_policy.allowed() {
        tracing::warn!(%block, "webhooks may be delivered into a network that is not public (RDS_WEBHOOK_ALLOW)");
    }
}

/// Resolves when new connections are no longer to be taken: `lame_duck` after the first stop signal, or at the second.
///
/// In between this process is not ready but serves everybody: a load balancer that asks for readiness every few seconds must never
/// meet a closed port.
async fn leave(app: Arc<App>, lame_duck: Duration, mut signals: StopSignals) {
    signals.next().await;
    app.begin_leaving();
    if !lame_duck.is_zero() {
        tracing::info!(seconds = lame_duck.as_secs(), "told to stop: not ready any more, still serving");
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
