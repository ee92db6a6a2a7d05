//! Periodic upkeep of webhooks: ends pauses and overlaps, removes old rows and idle connections, reads gauges.

use crate::app::App;
use crate::webhooks::subscriptions::IDEMPOTENCY_SECONDS;
use rds_shared::push::breaker::Event;
use rds_shared::wire::Timestamp;
use rds_store::webhooks as subscriptions;
use rds_store::webhooks::secrets;
use rds_store::webhooks::upkeep as table;
use rds_store::webhooks::upkeep::WebhookBacklog;
use rds_store::{Db, StoreError};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Interval of the upkeep: short, so that a moved test clock takes effect.
const INTERVAL: Duration = Duration::from_secs(1);
/// Rounds between two readings of the gauges, and between two removals of old rows.
const GAUGE_ROUNDS: u64 = 5;
const PRUNE_ROUNDS: u64 = 300;
/// How long an event is kept once all its deliveries have ended, in seconds: 30 days, during which deliveries can be replayed.
const KEEP_SECONDS: i64 = 30 * 86_400;
/// Clock offset from which a warning is logged, in milliseconds: receivers refuse signatures that are 300 seconds off.
const MAX_OFFSET_MS: i64 = 60_000;

/// Ends the pauses that have expired at `now`; returns their number.
pub async fn resume(db: &Db, now: Timestamp) -> Result<usize, StoreError> {
    db.run_tx("resume_webhooks", |tx| {
        Box::pin(async move {
            let mut resumed = 0;
            for mut subscription in subscriptions::lock_resuming(tx, now).await? {
                if subscription.breaker.apply(now, Event::Tick).is_some() {
                    subscriptions::save(tx, subscription.id, &subscription.breaker, Some(now)).await?;
                    resumed += 1;
                }
            }
            Ok(resumed)
        })
    })
    .await
}

/// Runs the upkeep until the process ends.
pub async fn keep_up(app: &App) {
    let mut round: u64 = 0;
    loop {
        app.webhooks.sender.pool().drop_expired();
        match once(app, round).await {
            // The catalog refresh already logs that the database is unavailable.
            Ok(()) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "the upkeep of webhooks failed"),
        }
        round = round.wrapping_add(1);
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn once(app: &App, round: u64) -> Result<(), StoreError> {
    let now = app.clock.now();
    if resume(&app.db, now).await? > 0 {
        app.webhooks.due();
    }
    secrets::keep_overlaps(&app.db, now).await?;
    table::prune_removed(&app.db).await?;
    if round.is_multiple_of(GAUGE_ROUNDS) {
        gauge(app, table::backlog(&app.db, now).await?, now);
    }
    if round.is_multiple_of(PRUNE_ROUNDS) {
        while table::prune(&app.db, now.plus_seconds(-KEEP_SECONDS), now.plus_seconds(-IDEMPOTENCY_SECONDS)).await? > 0
        {
        }
    }
    Ok(())
}

fn gauge(app: &App, standing: WebhookBacklog, now: Timestamp) {
    let counters = &app.metrics.webhooks;
    counters.waiting.store(standing.waiting, Relaxed);
    counters.lag_seconds.store(standing.due_since.map_or(0, |due| now.seconds_since(due).max(0)), Relaxed);
    counters.fanout_behind.store(standing.behind, Relaxed);
    let offset = app.clock.wall().as_millis().saturating_sub(standing.database_now.as_millis());
    counters.clock_offset_ms.store(offset, Relaxed);
    if offset.abs() > MAX_OFFSET_MS {
        tracing::warn!(
            offset,
            "this process's clock differs from the database's by more than a minute: receivers may refuse webhooks"
        );
    }
}
