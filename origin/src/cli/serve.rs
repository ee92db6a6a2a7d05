//! `serve`: from the environment to three open doors, and back.

use crate::app::App;
use crate::clock::Clock;
use crate::config::{self, Config, LogLevel};
use crate::edge_link::EdgeLink;
use crate::http::listeners::Listeners;
use crate::jobs::Jobs;
use crate::status::heartbeat::Heartbeat;
use crate::store::{self, Db, StoreError};
use crate::telemetry::{self, AccessLog};
use crate::webhooks::deliver::Deliveries;
use anyhow::bail;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How long connections may take to close at the end.
const CLOSE: Duration = Duration::from_secs(2);

/// Serves until the process is told to stop.
pub(super) async fn serve() -> anyhow::Result<()> {
    let config = Config::read(config::environment)?;
    telemetry::init_service(config.log);
    let clock = if config.test_clock { Clock::movable() } else { Clock::system() };
    // Lazily: a database that is down now may be up in a moment, and until then readiness says so.
    let db = Db::connect_lazy(config.database.url.expose(), config.database.connections)?;
    refuse_an_old_schema(&db).await?;
    let access_log = if config.log >= LogLevel::Info { AccessLog::to(std::io::stderr()) } else { AccessLog::off() };
    let link = config.link().map(|link| EdgeLink::new(&link, clock.clone())).transpose()?.map(Arc::new);
    let app = App::new(&config, db.clone(), clock, access_log)?;
    let listeners = Listeners::bind(&config).await?;
    let doors = listeners.addresses()?;
    // Set once: nobody else knows where the doors are.
    let _ = app.heartbeat.set(Heartbeat::through(doors.relay)?);
    let stop = told_to_stop()?;
    warn_of_open_targets(&config);
    let jobs = Jobs::start(&app, link);
    let deliveries = Deliveries::start(&app);
    tracing::info!(edge = %doors.edge, relay = %doors.relay, admin = %doors.admin, test_clock = config.test_clock, "serving");
    listeners.serve(app.clone(), stop).await;
    jobs.stop().await;
    deliveries.stop().await;
    // A place is free at once, not when this process has been silent for long.
    if let Ok(Err(error)) = tokio::time::timeout(CLOSE, app.streams.withdraw(&app.db)).await {
        tracing::warn!(%error, "this process's streams are counted until it is taken for dead");
    }
    if tokio::time::timeout(CLOSE, db.pool.close()).await.is_err() {
        tracing::warn!("the database connections did not close in time");
    }
    app.access_log.flush();
    tracing::info!("stopped");
    Ok(())
}

/// A service on a schema older than its code would fail in the middle of requests: better not to start.
async fn refuse_an_old_schema(db: &Db) -> anyhow::Result<()> {
    match store::pending_migrations(db).await {
        Ok(0) | Err(StoreError::Unavailable(_)) => Ok(()),
        Ok(pending) => bail!("{pending} migrations are pending; run: rds-origin migrate"),
        Err(error) => Err(error.into()),
    }
}

/// Whoever may make webhooks can reach the networks that are allowed here.
fn warn_of_open_targets(config: &Config) {
    for block in config.webhook_policy.allowed() {
        tracing::warn!(%block, "webhooks may be delivered into a network that is not public (RDS_WEBHOOK_ALLOW)");
    }
}

/// Resolves at the first SIGTERM or SIGINT.
fn told_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
