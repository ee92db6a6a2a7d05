//! Ended attempts: recorded in batches, each together with the new state of its delivery and of the breaker.

use super::send::AttemptEnd;
use crate::app::App;
use crate::metrics::lag::PushStep;
use rds_engine::clock::Stopwatch;
use rds_shared::push::breaker::{Event, Transition};
use rds_shared::push::schedule::{AttemptOutcome, Delivery};
use rds_shared::wire::Timestamp;
use rds_store::webhooks::deliveries as table;
use rds_store::webhooks::deliveries::{AttemptResult, Claimed, DeliveryLease, Lease};
use rds_store::webhooks::event_leases::{self, FirstLease};
use rds_store::webhooks::{self as subscriptions, Subscription};
use rds_store::{StoreError, Tx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// Maximum attempts recorded in one transaction.
const RECORD_SIZE: usize = 256;
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
                        let delivery = one.claimed.lease.delivery();
                        tracing::error!(delivery, %error, "a webhook attempt could not be recorded");
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
    let mut ended = Ended::default();
    for attempted in batch {
        let Attempted { claimed, .. } = attempted;
        let made = made(attempted, now);
        ids.insert(claimed.subscription);
        if made.is_none_or(|made| made.delivery != Delivery::Delivered) {
            failed.insert(claimed.subscription);
        }
        match (claimed.lease, made) {
            (Lease::First(lease), Some(made)) => ended.firsts.push((lease, made)),
            (Lease::First(lease), None) => ended.broken_firsts.push(lease),
            (Lease::OfDelivery(lease), Some(made)) => ended.others.push((lease, claimed.subscription, made)),
            (Lease::OfDelivery(lease), None) => ended.broken_others.push(lease),
        }
    }
    let succeeded: Vec<i64> = ids.difference(&failed).copied().collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    let changing = subscriptions::lock_changing(tx, &ids, &succeeded).await?;
    let whole = ended.firsts.len() + ended.others.len();
    let mut made = ended.record_firsts(tx, now).await?;
    made.extend(ended.record_others(tx, now).await?);
    move_breakers(tx, changing, &made, now).await?;
    let given_up = made.iter().filter(|(_, made)| made.delivery == Delivery::FailedTerminal).count();
    Ok((given_up as u64, (whole - made.len()) as u64))
}

/// Attempts that have ended, by what they were made under. Those without a result ended with an internal error.
#[derive(Default)]
struct Ended {
    firsts: Vec<(FirstLease, AttemptResult)>,
    broken_firsts: Vec<FirstLease>,
    /// With their subscriptions.
    others: Vec<(DeliveryLease, i64, AttemptResult)>,
    broken_others: Vec<DeliveryLease>,
}

impl Ended {
    /// Records the first attempts of deliveries without a row. Returns the results that were recorded, with their subscriptions.
    async fn record_firsts(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<(i64, AttemptResult)>, StoreError> {
        let leases: Vec<FirstLease> =
            self.firsts.iter().map(|(lease, _)| lease).chain(&self.broken_firsts).copied().collect();
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let held = event_leases::release(tx, &leases).await?;
        let broken: Vec<FirstLease> =
            self.broken_firsts.iter().filter(|lease| held.contains(&lease.delivery)).copied().collect();
        if !broken.is_empty() {
            event_leases::postpone(tx, &broken).await?;
        }
        let made: Vec<_> = self.firsts.iter().filter(|(lease, _)| held.contains(&lease.delivery)).copied().collect();
        if made.is_empty() {
            return Ok(Vec::new());
        }
        let inserted = event_leases::insert(tx, &made, now).await?;
        let of_new = |(lease, made): (FirstLease, AttemptResult)| {
            inserted.contains(&lease.delivery).then_some((lease.subscription, made))
        };
        Ok(made.into_iter().filter_map(of_new).collect())
    }

    /// Records the attempts of deliveries that have rows. Returns the results that were recorded, with their subscriptions.
    async fn record_others(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<(i64, AttemptResult)>, StoreError> {
        if !self.broken_others.is_empty() {
            table::postpone(tx, &self.broken_others).await?;
        }
        let leases: Vec<DeliveryLease> = self.others.iter().map(|(lease, ..)| *lease).collect();
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let ours = table::release(tx, &leases).await?;
        let made: Vec<_> = self.others.iter().filter(|(lease, ..)| ours.contains(&lease.token)).collect();
        if !made.is_empty() {
            let rows: Vec<_> = made.iter().map(|(lease, _, made)| (*lease, *made)).collect();
            table::record(tx, &rows, now).await?;
        }
        Ok(made.into_iter().map(|(_, subscription, made)| (*subscription, *made)).collect())
    }
}

/// Tells the breakers of these subscriptions what was recorded, and stores those that changed.
async fn move_breakers(
    tx: &mut Tx<'_>,
    changing: Vec<Subscription>,
    made: &[(i64, AttemptResult)],
    now: Timestamp,
) -> Result<(), StoreError> {
    let ended: BTreeSet<i64> = made
        .iter()
        .filter(|(_, made)| !matches!(made.delivery, Delivery::Pending { .. }))
        .map(|(owner, _)| *owner)
        .collect();
    let since: Vec<(i64, Timestamp)> = changing
        .iter()
        .filter(|owner| ended.contains(&owner.id))
        .map(|owner| (owner.id, owner.breaker.finals_from(now)))
        .collect();
    let finals = if since.is_empty() { BTreeMap::new() } else { table::final_outcomes(tx, &since).await? };
    for Subscription { id, breaker: before, .. } in changing {
        let (mut breaker, mut moved) = (before, None);
        for (_, made) in made.iter().filter(|(owner, _)| *owner == id) {
            let finals = finals.get(&id).copied().unwrap_or_default();
            moved = breaker.apply(now, Event::of_attempt(made.delivery, finals)).or(moved);
        }
        if let Some(transition @ (Transition::Paused(_) | Transition::Disabled(_))) = moved {
            tracing::warn!(webhook = id, ?transition, "a webhook's breaker opened");
        }
        if breaker != before {
            subscriptions::save(tx, id, &breaker, moved.map(|_| now)).await?;
        }
    }
    Ok(())
}

/// The result of an attempt; `None` if it does not count as an attempt.
fn made(attempted: &Attempted, now: Timestamp) -> Option<AttemptResult> {
    let Attempted { claimed, ended, duration_ms, .. } = attempted;
    let outcome = ended.outcome()?;
    let delivery = Delivery::ended(claimed.attempt, outcome, claimed.lapses, now);
    Some(AttemptResult {
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
    })
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
