//! What open streams need beside their deliveries: places given back, this process kept in the count, revoked keys noticed, and
//! heartbeats that follow a clock that was moved.

use crate::app::App;
use crate::journal::in_time;
use crate::store::StoreError;
use crate::store::stream_leases as table;
use rds_shared::wire::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often this process says that it is alive; a third of how long it is believed.
const ALIVE: Duration = Duration::from_secs(5);
/// How often it is asked whether a key was revoked. A notice of a changed key shortens the wait.
const KEYS: Duration = Duration::from_secs(1);
/// How often what could not be given back is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// What one question to the database may take: one that nobody answers must not keep a revoked key's streams open.
const ANSWER: Duration = Duration::from_secs(5);
/// How often the clock is compared with the wall's.
const CLOCK: Duration = Duration::from_millis(250);
/// A difference that changed by this many microseconds was changed by somebody.
const MOVED: i64 = 1_000_000;

/// Gives places back as streams end.
pub async fn keep_giving_back(app: &App) {
    loop {
        let _ = timeout(RETRY, app.streams.until_given_back()).await;
        if in_time(ANSWER, app.streams.give_back(&app.db)).await.is_err() {
            sleep(RETRY).await;
        }
    }
}

/// Keeps this process in the count, and the count true.
pub async fn keep_alive(app: &App) {
    loop {
        let kept = async {
            app.streams.announce(&app.db).await?;
            let ended = app.streams.reconcile(&app.db).await?;
            if let Some(at) = app.streams.meters.overflowed_at() {
                table::overflowed(&app.db, at).await?;
            }
            Ok::<_, StoreError>(ended)
        };
        // The sequencer says when the database is down; once is enough.
        if let Ok(ended @ 1..) = in_time(ANSWER, kept).await {
            tracing::warn!(
                ended,
                "streams were ended: this process had been taken for dead and their places given away"
            );
            app.journal.signal();
        }
        sleep(ALIVE).await;
    }
}

/// Ends the streams of keys that are revoked.
pub async fn keep_revoking(app: &App) {
    loop {
        let _ = timeout(KEYS, app.streams.until_keys_change()).await;
        if let Ok(ended @ 1..) = in_time(ANSWER, app.streams.end_revoked(&app.db)).await {
            app.streams.meters.revoked.fetch_add(ended as u64, Relaxed);
            app.journal.signal();
        }
    }
}

/// Has every stream look at the clock when it was moved.
pub async fn keep_time(app: &App) {
    if !app.clock.is_movable() {
        return;
    }
    let difference = || app.clock.now().as_micros().saturating_sub(app.clock.wall().as_micros());
    let mut known = difference();
    loop {
        sleep(CLOCK).await;
        let now = difference();
        if now.saturating_sub(known).abs() >= MOVED {
            known = now;
            app.journal.signal();
        }
    }
}

/// Whether a stream of any process overflowed in the `seconds` before `now`: what the status page asks.
pub async fn overflowed_within(app: &App, now: Timestamp, seconds: i64) -> Result<bool, StoreError> {
    let since = now.plus_seconds(-seconds);
    let here = app.streams.meters.overflowed_at().is_some_and(|at| at >= since);
    Ok(here || table::overflowed_since(&app.db, since).await?)
}
