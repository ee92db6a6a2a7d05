//! What time alone changes of webhooks: pauses end, overlaps end, old rows and unused connections go, gauges are read.

use crate::app::App;
use crate::store::webhook_upkeep::{self as table, Standing};
use crate::store::webhooks as subscriptions;
use crate::store::{Db, StoreError, webhook_secrets};
use crate::webhooks::subscriptions::NAMED_SECONDS;
use rds_shared::push::breaker::Event;
use rds_shared::wire::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How often it is looked: a moved test clock takes effect this soon.
const EVERY: Duration = Duration::from_secs(1);
/// Every how many looks the gauges are read, and old rows removed.
const GAUGES: u64 = 5;
const PRUNE: u64 = 300;
/// How long an event is kept once all its deliveries have ended, in seconds: a month for replays.
const KEEP_SECONDS: i64 = 30 * 86_400;
/// From here on a clock that is off is told about, in milliseconds: receivers drop what is 300 seconds away.
const OFFSET_MS: i64 = 60_000;

/// Ends the pauses that are over at `now`; how many.
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

/// Looks after webhooks until the process ends.
pub async fn keep_up(app: &App) {
    let mut look: u64 = 0;
    loop {
        app.webhooks.sender.kept().let_go();
        match once(app, look).await {
            // The catalog's refresh says when the database is down; once is enough.
            Ok(()) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "the upkeep of webhooks failed"),
        }
        look = look.wrapping_add(1);
        tokio::time::sleep(EVERY).await;
    }
}

async fn once(app: &App, look: u64) -> Result<(), StoreError> {
    let now = app.clock.now();
    if resume(&app.db, now).await? > 0 {
        app.webhooks.due();
    }
    webhook_secrets::keep_overlaps(&app.db, now).await?;
    if look.is_multiple_of(GAUGES) {
        gauge(app, table::standing(&app.db, now).await?, now);
    }
    if look.is_multiple_of(PRUNE) {
        while table::prune(&app.db, now.plus_seconds(-KEEP_SECONDS), now.plus_seconds(-NAMED_SECONDS)).await? > 0 {}
    }
    Ok(())
}

fn gauge(app: &App, standing: Standing, now: Timestamp) {
    let counters = &app.metrics.webhooks;
    counters.waiting.store(standing.waiting, Relaxed);
    counters.lag_seconds.store(standing.due_since.map_or(0, |due| now.seconds_since(due).max(0)), Relaxed);
    counters.fanout_behind.store(standing.behind, Relaxed);
    let offset = app.clock.wall().as_millis().saturating_sub(standing.database_now.as_millis());
    counters.clock_offset_ms.store(offset, Relaxed);
    if offset.abs() > OFFSET_MS {
        tracing::warn!(offset, "this process' clock is off against the database's: receivers will refuse webhooks");
    }
}
