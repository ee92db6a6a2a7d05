//! Deliveries: claimed under a lease, sent with no transaction open, and recorded together with the new state of the breaker.
//!
//! The leases of a worker that crashes expire; its deliveries are then claimed again with the same attempt number, because a crash
//! is not an outcome. After a crash an attempt may be made twice, and it is never lost.

use super::send::{AttemptEnd, AttemptRequest};
use super::slots::{Intake, Slot, Slots};
use crate::app::App;
use crate::metrics::lag::PushStep;
use rds_engine::clock::Stopwatch;
use rds_shared::push::breaker::{Event, Transition};
use rds_shared::push::delivery::attempt_headers;
use rds_shared::push::schedule::{AttemptOutcome, Delivery, Failure};
use rds_shared::wire::Timestamp;
use rds_store::webhooks::deliveries as table;
use rds_store::webhooks::deliveries::{AttemptResult, Capacity, Claimed};
use rds_store::webhooks::{self as subscriptions};
use rds_store::{StoreError, Tx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Maximum attempts waiting to be recorded.
const MAX_UNRECORDED: usize = 512;
/// Maximum deliveries of one claim.
const CLAIM_SIZE: u32 = 64;
/// Maximum attempts recorded in one transaction.
const RECORD_SIZE: usize = 128;
/// How long ended attempts wait for others that are recorded with them.
const RECORD_DELAY: Duration = Duration::from_millis(5);
/// How often due deliveries are looked for; short, so that a moved test clock takes effect.
const POLL: Duration = Duration::from_millis(200);
/// Pause after a claim that was not full, to gather more deliveries: a claim costs the same for one as for many.
const BATCH_DELAY: Duration = Duration::from_millis(10);
/// Duration of a lease. Recording an attempt is retried for the same time.
const LEASE: Duration = Duration::from_secs(table::LEASE_SECONDS.unsigned_abs() as u64);
/// Pause after a failed database call.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// A delivery whose lease expired this often without an outcome is given up, because the delivery itself may crash the worker.
const MAX_LAPSES: i16 = 20;

#[derive(Debug, Clone)]
struct Attempted {
    claimed: Claimed,
    ended: AttemptEnd,
    duration_ms: u32,
    /// Started when the attempt ended.
    age: Stopwatch,
}

impl Attempted {
    fn new(claimed: Claimed, ended: AttemptEnd, duration_ms: u32) -> Self {
        Attempted { claimed, ended, duration_ms, age: Stopwatch::start() }
    }
}

/// The running deliveries.
#[derive(Debug)]
pub struct Deliveries {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Deliveries {
    pub fn start(app: &Arc<App>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let app = app.clone();
        Deliveries { stop, task: tokio::spawn(async move { keep_delivering(&app, stopped).await }) }
    }

    /// Claims nothing new and waits for running attempts, so that an endpoint which answers in time does not get the same event again.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

async fn keep_delivering(app: &Arc<App>, mut stopped: watch::Receiver<bool>) {
    let slots = Slots::default();
    let (made, ended) = mpsc::channel(MAX_UNRECORDED);
    let writing = app.clone();
    let writing = tokio::spawn(async move { keep_written(&writing, ended).await });
    let starter = (app.clone(), made.clone());
    app.webhooks.set_intake(Some(Intake::new(slots.clone(), move |slot, claimed| {
        let (app, made) = &starter;
        start(app, made, slot, claimed);
    })));
    while !*stopped.borrow() {
        let mut reserved = slots.reserve(CLAIM_SIZE);
        let capacity = reserved.capacity();
        let claimed = if capacity.deliveries == 0 { Vec::new() } else { claim(app, capacity).await };
        let found = claimed.len();
        for claimed in claimed {
            let slot = reserved.take(claimed.is_failing);
            start(app, &made, slot, claimed);
        }
        drop(reserved);
        if found == 0 {
            // As long as attempts are under way, more deliveries may wait for their slots.
            let is_waiting = capacity.deliveries == 0 || app.webhooks.unrecorded.load(Relaxed) > 0;
            app.webhooks.has_backlog.fetch_and(is_waiting, Relaxed);
            tokio::select! {
                () = sleep(POLL) => {}
                () = app.webhooks.until_due() => {}
                _ = stopped.changed() => {}
            }
        }
        if found < CLAIM_SIZE as usize {
            sleep(BATCH_DELAY).await;
        }
    }
    // A fan-out that is under way may still start attempts; it then holds the intake until they are started.
    app.webhooks.set_intake(None);
    drop(made);
    // The channel closes when the last attempt has ended; the writer then records the remaining attempts and ends.
    if timeout(app.webhooks.sender.deadline() + RETRY_PAUSE * 4, writing).await.is_err() {
        tracing::warn!("webhook attempts were still running at shutdown; they will be made again");
    }
}

/// Starts the attempt of a claimed delivery in its slot. The slot is freed when the attempt has ended.
fn start(app: &Arc<App>, made: &mpsc::Sender<Attempted>, slot: Slot, claimed: Claimed) {
    let (app, made) = (app.clone(), made.clone());
    app.webhooks.unrecorded.fetch_add(1, Relaxed);
    tokio::spawn(async move {
        let ended = slot.hold(attempt(&app, claimed)).await;
        let _ = made.send(ended).await;
    });
}

async fn claim(app: &App, capacity: Capacity) -> Vec<Claimed> {
    match take_up(app, capacity).await {
        Ok(claimed) => claimed,
        Err(error) => {
            // The catalog refresh already logs that the database is unavailable.
            if !matches!(error, StoreError::Unavailable(_)) {
                tracing::error!(%error, "due webhook deliveries could not be claimed");
            }
            sleep(RETRY_PAUSE).await;
            Vec::new()
        }
    }
}

async fn take_up(app: &App, capacity: Capacity) -> Result<Vec<Claimed>, StoreError> {
    let now = app.clock.now();
    app.db.run_tx("claim_webhook_deliveries", |tx| Box::pin(table::claim(tx, now, capacity))).await
}

/// Makes one attempt and counts its outcome.
async fn attempt(app: &App, claimed: Claimed) -> Attempted {
    let waited = app.clock.now().as_micros().saturating_sub(claimed.due.as_micros());
    app.journal.lag.record(PushStep::Start, waited.max(0).unsigned_abs());
    let watch = Stopwatch::start();
    let attempted = make(app, claimed).await;
    app.journal.lag.record(PushStep::Attempt, watch.micros());
    app.metrics.webhooks.ended(&attempted.ended);
    attempted
}

async fn make(app: &App, claimed: Claimed) -> Attempted {
    if claimed.lapses >= MAX_LAPSES {
        tracing::error!(
            delivery = claimed.id,
            "a webhook delivery was claimed {MAX_LAPSES} times without an outcome; it is given up"
        );
        return Attempted::new(claimed, AttemptEnd::Failed(Failure::DeliveryError), 0);
    }
    let secrets = match app.webhooks.signing(claimed.subscription, &claimed.secrets, app.clock.now()) {
        Ok(secrets) => secrets,
        Err(error) => {
            tracing::error!(webhook = claimed.subscription, %error, "a webhook delivery cannot be signed");
            return Attempted::new(claimed, AttemptEnd::OurFault(error.to_string()), 0);
        }
    };
    // Receivers compare the signature's time with the real time, so the wall clock is used.
    let now = app.clock.wall();
    let headers = attempt_headers(&secrets, &claimed.event_id, claimed.attempt, &claimed.body, now);
    let request =
        AttemptRequest { url: claimed.url.clone(), headers: headers.into_iter().collect(), body: claimed.body.clone() };
    app.metrics.webhooks.in_flight.fetch_add(1, Relaxed);
    let (ended, duration_ms) = app.webhooks.sender.send(request).await;
    app.metrics.webhooks.in_flight.fetch_sub(1, Relaxed);
    if let AttemptEnd::OurFault(why) = &ended {
        tracing::warn!(
            webhook = claimed.subscription,
            why,
            "a webhook attempt failed because of an error on our side; it is made again"
        );
    }
    Attempted::new(claimed, ended, duration_ms)
}

/// Records attempts as they end, until the last one has ended.
async fn keep_written(app: &App, mut ended: mpsc::Receiver<Attempted>) {
    let mut batch = Vec::with_capacity(RECORD_SIZE);
    while ended.recv_many(&mut batch, RECORD_SIZE).await > 0 {
        // One transaction for several attempts costs little more than for one.
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

async fn record(app: &App, batch: &Arc<[Attempted]>) -> Result<(), StoreError> {
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
    let mut owners: Vec<i64> = batch.iter().map(|attempted| attempted.claimed.subscription).collect();
    owners.sort_unstable();
    owners.dedup();
    let mut owners: BTreeMap<i64, _> =
        subscriptions::lock(tx, &owners).await?.into_iter().map(|owner| (owner.id, owner)).collect();
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
            let event = match made.delivery {
                Delivery::Delivered => Event::Delivered(finals),
                Delivery::FailedTerminal => Event::DeliveryFailed(finals),
                Delivery::Pending { .. } => Event::AttemptFailed,
            };
            moved = owner.breaker.apply(now, event).or(moved);
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
    let delivery = match claimed.lapses >= MAX_LAPSES {
        true => Delivery::FailedTerminal,
        false => Delivery::after(claimed.attempt, outcome, now),
    };
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

/// One round: claims due deliveries, makes the attempts and records them. Returns the number of attempts.
pub async fn round(app: &Arc<App>) -> Result<usize, StoreError> {
    let mut attempts = JoinSet::new();
    for claimed in take_up(app, Capacity::whole(CLAIM_SIZE)).await? {
        let app = app.clone();
        attempts.spawn(async move { attempt(&app, claimed).await });
    }
    let batch: Arc<[Attempted]> = attempts.join_all().await.into();
    if !batch.is_empty() {
        record(app, &batch).await?;
    }
    Ok(batch.len())
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
