//! Ended attempts: recorded in batches, each together with the new state of its delivery and of the breaker.

use super::send::AttemptEnd;
use crate::app::App;
use crate::metrics::lag::PushStep;
use rds_engine::clock::Stopwatch;
use rds_shared::push::breaker::{Event, Transition};
use rds_shared::push::schedule::{AttemptOutcome, Delivery};
use rds_shared::wire::Timestamp;
use rds_store::webhooks::deliveries as table;
use rds_store::webhooks::deliveries::{AttemptResult, Claimed};
use rds_store::webhooks::{self as subscriptions};
use rds_store::{StoreError, Tx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// Maximum attempts recorded in one transaction.
const RECORD_SIZE: usize = 128;
/// How long ended attempts wait for others that are recorded with them: a transaction costs little more for many than for one.
const RECORD_DELAY: Duration = Duration::from_millis(20);
/// Duration of a lease. Recording an attempt is retried for the same time.
const LEASE: Duration = Duration::from_secs(table::LEASE_SECONDS.unsigned_abs() as u64);
/// Pause after a failed database call.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// An attempt that has ended.
#[derive(Debug, Clone)]
pub(super) struct Attempted {
    pub(super) claimed: Claimed,
    pub(super) ended: AttemptEnd,
    duration_ms: u32,
    /// Started when the attempt ended.
    age: Stopwatch,
}

impl Attempted {
    pub(super) fn new(claimed: Claimed, ended: AttemptEnd, duration_ms: u32) -> Self {
        Attempted { claimed, ended, duration_ms, age: Stopwatch::start() }
    }
}

/// Records attempts as they end, until the last one has ended.
pub(super) async fn keep_written(app: &App, mut ended: mpsc::Receiver<Attempted>) {
    let mut batch = Vec::with_capacity(RECORD_SIZE);
    while ended.recv_many(&mut batch, RECORD_SIZE).await > 0 {
        let gathering = async {
            loop {
                let room = RECORD_SIZE - batch.len();
                // With no room nothing is received, and the loop ends.
                if ended.recv_many(&mut batch, room).await == 0 {
                    return;
                }
            }
        };
        let _ = timeout(RECORD_DELAY, gathering).await;
        let whole: Arc<[Attempted]> = batch.drain(..).collect();
        match written(app, &whole).await {
            Ok(()) => {
                whole.iter().for_each(|attempted| app.journal.lag.record(PushStep::Record, attempted.age.micros()));
            }
            Err(error @ StoreError::Unavailable(_)) => {
                let attempts = whole.len();
                tracing::error!(attempts, %error, "webhook attempts could not be recorded before their leases expired; they are made again");
            }
            Err(error) => {
                tracing::error!(%error, "webhook attempts could not be recorded together; each is recorded on its own");
                // One bad attempt must not keep the others from being recorded.
                for one in whole.iter() {
                    if let Err(error) = written(app, &Arc::from([one.clone()])).await {
                        tracing::error!(delivery = one.claimed.id, %error, "a webhook attempt could not be recorded");
                    }
                }
            }
        }
        app.webhooks.unrecorded.fetch_sub(whole.len(), Relaxed);
        // The recorded attempts have freed slots for deliveries that wait.
        if app.webhooks.has_backlog.load(Relaxed) {
            app.webhooks.due();
        }
    }
}

/// Records attempts and retries while the database is unavailable, up to the duration of the leases. After that another worker makes
/// the attempts again.
async fn written(app: &App, batch: &Arc<[Attempted]>) -> Result<(), StoreError> {
    retry_while_unavailable(LEASE, RETRY_PAUSE, || record(app, batch)).await
}

/// Repeats the call `it` while the database is unavailable, up to `patience`; returns the last result.
async fn retry_while_unavailable<T, F: Future<Output = Result<T, StoreError>>>(
    patience: Duration,
    rest: Duration,
    mut it: impl FnMut() -> F,
) -> Result<T, StoreError> {
    let watch = Stopwatch::start();
    loop {
        match it().await {
            Err(StoreError::Unavailable(_)) if watch.elapsed() < patience => sleep(rest).await,
            done => return done,
        }
    }
}

pub(super) async fn record(app: &App, batch: &Arc<[Attempted]>) -> Result<(), StoreError> {
    let now = app.clock.now();
    let (given_up, fenced) = app
        .db
        .run_tx("end_webhook_attempts", |tx| {
            let batch = batch.clone();
            Box::pin(async move { end(tx, &batch, now).await })
        })
        .await?;
    app.metrics.webhooks.given_up.fetch_add(given_up, Relaxed);
    app.metrics.webhooks.fenced.fetch_add(fenced, Relaxed);
    Ok(())
}

/// Records a batch of attempts: leases, deliveries, attempts and breakers in one transaction. Returns how many deliveries were given
/// up, and how many attempts ended after their lease had expired.
async fn end(tx: &mut Tx<'_>, batch: &[Attempted], now: Timestamp) -> Result<(u64, u64), StoreError> {
    let (mut ids, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for attempted in batch {
        let id = attempted.claimed.subscription;
        ids.insert(id);
        if made(attempted, now).is_none_or(|(_, made)| made.delivery != Delivery::Delivered) {
            failed.insert(id);
        }
    }
    let succeeded: Vec<i64> = ids.difference(&failed).copied().collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    let changing = subscriptions::lock_changing(tx, &ids, &succeeded).await?;
    let mut owners: BTreeMap<i64, _> = changing.into_iter().map(|owner| (owner.id, owner)).collect();
    let lease = |attempted: &Attempted| (attempted.claimed.id, attempted.claimed.token);
    let (broken, whole): (Vec<&Attempted>, Vec<&Attempted>) =
        batch.iter().partition(|attempted| attempted.ended.outcome().is_none());
    if !broken.is_empty() {
        table::postpone(tx, &broken.into_iter().map(lease).collect::<Vec<_>>()).await?;
    }
    let leases: Vec<(i64, i64)> = whole.iter().copied().map(lease).collect();
    let ours = table::release(tx, &leases).await?;
    let fenced = whole.len() - ours.len();
    let made: Vec<(i64, AttemptResult)> = whole
        .into_iter()
        .filter(|attempted| ours.contains(&attempted.claimed.token))
        .filter_map(|a| made(a, now))
        .collect();
    let rows: Vec<AttemptResult> = made.iter().map(|(_, made)| made.clone()).collect();
    if rows.is_empty() {
        return Ok((0, fenced as u64));
    }
    table::record(tx, &rows, now).await?;
    let ended: BTreeSet<i64> = made
        .iter()
        .filter(|(_, made)| !matches!(made.delivery, Delivery::Pending { .. }))
        .map(|(owner, _)| *owner)
        .collect();
    let since: Vec<(i64, Timestamp)> = owners
        .values()
        .filter(|owner| ended.contains(&owner.id))
        .map(|owner| (owner.id, owner.breaker.finals_from(now)))
        .collect();
    let finals = if since.is_empty() { BTreeMap::new() } else { table::final_outcomes(tx, &since).await? };
    for (id, owner) in &mut owners {
        let before = owner.breaker;
        let mut moved = None;
        for (_, made) in made.iter().filter(|(owner, _)| owner == id) {
            let finals = finals.get(id).copied().unwrap_or_default();
            moved = owner.breaker.apply(now, Event::of_attempt(made.delivery, finals)).or(moved);
        }
        if let Some(transition @ (Transition::Paused(_) | Transition::Disabled(_))) = moved {
            tracing::warn!(webhook = id, ?transition, "a webhook's breaker opened");
        }
        if owner.breaker != before {
            subscriptions::save(tx, *id, &owner.breaker, moved.map(|_| now)).await?;
        }
    }
    let given_up = rows.iter().filter(|made| made.delivery == Delivery::FailedTerminal).count();
    Ok((given_up as u64, fenced as u64))
}

/// The result of an attempt, with its subscription; `None` if it does not count as an attempt.
fn made(attempted: &Attempted, now: Timestamp) -> Option<(i64, AttemptResult)> {
    let Attempted { claimed, ended, duration_ms, .. } = attempted;
    let outcome = ended.outcome()?;
    let delivery = Delivery::ended(claimed.attempt, outcome, claimed.lapses, now);
    let made = AttemptResult {
        id: claimed.id,
        token: claimed.token,
        attempt: claimed.attempt,
        status: match ended {
            AttemptEnd::Answered(status) => Some(*status),
            AttemptEnd::Failed(_) | AttemptEnd::OurFault(_) => None,
        },
        failure: match outcome {
            AttemptOutcome::Delivered => None,
            AttemptOutcome::Failed(failure) => Some(failure),
        },
        duration_ms: *duration_ms,
        delivery,
    };
    Some((claimed.subscription, made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unavailable_database_is_retried_until_the_time_limit() {
        let away = || StoreError::Unavailable(sqlx::Error::PoolClosed);
        let (patience, rest) = (Duration::from_millis(200), Duration::from_millis(1));
        let watch = Stopwatch::start();
        let in_vain: Result<(), _> = retry_while_unavailable(patience, rest, || async { Err(away()) }).await;
        assert!(matches!(in_vain, Err(StoreError::Unavailable(_))), "the last error is returned");
        assert!(watch.elapsed() >= patience);
        let mut tries = 0;
        let back = retry_while_unavailable(patience, rest, || {
            tries += 1;
            let outcome = if tries < 4 { Err(away()) } else { Ok(tries) };
            async { outcome }
        });
        assert_eq!(back.await.unwrap(), 4);
    }
}
