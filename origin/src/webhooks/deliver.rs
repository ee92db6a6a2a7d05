//! Deliveries: taken up under a lease, sent with no transaction open, written down together with what the breaker makes of them.
//!
//! A worker that dies leaves leases that end by themselves; the deliveries are then taken up again, with the same attempt's number,
//! because a crash of ours is no outcome. So an attempt may be made twice after a crash, and is never lost.

use super::send::{Ended, Parcel};
use super::slots::Slots;
use crate::app::App;
use crate::clock::Stopwatch;
use crate::store::webhook_deliveries::{self as table, Claimed, Made, Room};
use crate::store::webhooks::{self as subscriptions};
use crate::store::{StoreError, Tx};
use rds_shared::push::breaker::{Event, Transition};
use rds_shared::push::schedule::{Delivery, Failure, Outcome};
use rds_shared::push::webhook::attempt_headers;
use rds_shared::wire::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Attempts that wait to be written down, at most.
const ENDED: usize = 512;
/// Deliveries taken up in one go.
const CLAIMED: u32 = 64;
/// Attempts written down in one go.
const WRITTEN: usize = 64;
/// How often it is asked what is due: a moved test clock takes effect this soon.
const POLL: Duration = Duration::from_millis(200);
/// How long more is waited for where fewer were due than could be taken up: a claim costs the same for one as for many.
const GATHER: Duration = Duration::from_millis(10);
/// How long leases hold: as long it is worth while to write an attempt down.
const LEASE: Duration = Duration::from_secs(table::LEASE_SECONDS.unsigned_abs() as u64);
/// How long the store rests after a failure.
const REST: Duration = Duration::from_millis(500);
/// A delivery whose leases ended so often without a word is given up: whatever it does to us, it shall stop.
const LAPSES: i16 = 20;

/// An attempt that was made.
#[derive(Debug, Clone)]
struct Attempted {
    claimed: Claimed,
    ended: Ended,
    duration_ms: u32,
}

/// The running deliveries.
#[derive(Debug)]
pub struct Deliveries {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Deliveries {
    /// Starts them.
    pub fn start(app: &Arc<App>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let app = app.clone();
        Deliveries { stop, task: tokio::spawn(async move { keep_delivering(&app, stopped).await }) }
    }

    /// Takes up nothing new, and waits for the attempts under way: who answers in time is not sent the same again.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

async fn keep_delivering(app: &Arc<App>, mut stopped: watch::Receiver<bool>) {
    let slots = Slots::default();
    let (made, ended) = mpsc::channel(ENDED);
    let writing = app.clone();
    let writing = tokio::spawn(async move { keep_written(&writing, ended).await });
    while !*stopped.borrow() {
        let room = slots.room(CLAIMED);
        let claimed = if room.deliveries == 0 { Vec::new() } else { claim(app, room).await };
        let found = claimed.len();
        for claimed in claimed {
            // There is one for each: nobody else takes any. It is taken before the attempt begins, so that no more are claimed
            // than can be made at once.
            let place = slots.take(claimed.is_failing);
            let (app, made) = (app.clone(), made.clone());
            tokio::spawn(async move {
                let ended = place.hold(attempt(&app, claimed)).await;
                let _ = made.send(ended).await;
            });
        }
        if found == 0 {
            tokio::select! {
                () = sleep(POLL) => {}
                () = app.webhooks.until_due() => {}
                _ = stopped.changed() => {}
            }
        }
        if found < CLAIMED as usize {
            sleep(GATHER).await;
        }
    }
    drop(made);
    // The last sender goes with the last attempt; then the writer has written everything.
    if timeout(app.webhooks.sender.deadline() + REST * 4, writing).await.is_err() {
        tracing::warn!("attempts of webhooks were still under way and will be made again");
    }
}

async fn claim(app: &App, room: Room) -> Vec<Claimed> {
    match take_up(app, room).await {
        Ok(claimed) => claimed,
        Err(error) => {
            // The catalog's refresh says when the database is down; once is enough.
            if !matches!(error, StoreError::Unavailable(_)) {
                tracing::error!(%error, "due webhook deliveries could not be taken up");
            }
            sleep(REST).await;
            Vec::new()
        }
    }
}

async fn take_up(app: &App, room: Room) -> Result<Vec<Claimed>, StoreError> {
    let now = app.clock.now();
    app.db.run_tx("claim_webhook_deliveries", |tx| Box::pin(table::claim(tx, now, room))).await
}

/// Makes one attempt, and counts what it came to.
async fn attempt(app: &App, claimed: Claimed) -> Attempted {
    let attempted = make(app, claimed).await;
    app.metrics.webhooks.ended(&attempted.ended);
    attempted
}

async fn make(app: &App, claimed: Claimed) -> Attempted {
    if claimed.lapses >= LAPSES {
        tracing::error!(
            delivery = claimed.id,
            "a webhook delivery was taken up {LAPSES} times without an end; it is given up"
        );
        return Attempted { claimed, ended: Ended::Failed(Failure::DeliveryError), duration_ms: 0 };
    }
    let secrets = match app.webhooks.signing(claimed.subscription, &claimed.secrets, app.clock.now()) {
        Ok(secrets) => secrets,
        Err(error) => {
            tracing::error!(webhook = claimed.subscription, %error, "a webhook delivery cannot be signed");
            return Attempted { claimed, ended: Ended::Ours(error.to_string()), duration_ms: 0 };
        }
    };
    // The receiver's clock is the wall's.
    let now = app.clock.wall();
    let headers = attempt_headers(&secrets, &claimed.event_id, claimed.attempt, &claimed.body, now);
    let parcel =
        Parcel { url: claimed.url.clone(), headers: headers.into_iter().collect(), body: claimed.body.clone() };
    app.metrics.webhooks.in_flight.fetch_add(1, Relaxed);
    let (ended, duration_ms) = app.webhooks.sender.send(parcel).await;
    app.metrics.webhooks.in_flight.fetch_sub(1, Relaxed);
    if let Ended::Ours(why) = &ended {
        tracing::warn!(
            webhook = claimed.subscription,
            why,
            "a webhook attempt broke on a fault of ours; it is made again"
        );
    }
    Attempted { claimed, ended, duration_ms }
}

/// Writes attempts down as they end, until the last one has.
async fn keep_written(app: &App, mut ended: mpsc::Receiver<Attempted>) {
    let mut batch = Vec::with_capacity(WRITTEN);
    while ended.recv_many(&mut batch, WRITTEN).await > 0 {
        let whole: Arc<[Attempted]> = batch.drain(..).collect();
        match written(app, &whole).await {
            Ok(()) => {}
            Err(error @ StoreError::Unavailable(_)) => {
                let attempts = whole.len();
                tracing::error!(attempts, %error, "webhook attempts could not be written down in time; they are made again");
            }
            Err(error) => {
                tracing::error!(%error, "webhook attempts could not be written down together");
                // Whichever of them it is, the others are none the worse for it.
                for one in whole.iter() {
                    if let Err(error) = written(app, &Arc::from([one.clone()])).await {
                        tracing::error!(delivery = one.claimed.id, %error, "a webhook attempt could not be written down");
                    }
                }
            }
        }
        // Their places are free.
        app.webhooks.due();
    }
}

/// Writes attempts down, however long the database is away: for as long as the leases hold. After that somebody else makes the
/// attempts again.
async fn written(app: &App, batch: &Arc<[Attempted]>) -> Result<(), StoreError> {
    insist(LEASE, REST, || write_down(app, batch)).await
}

/// Does `it` again while the database is away and `patience` lasts; what became of it the last time.
async fn insist<T, F: Future<Output = Result<T, StoreError>>>(
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

async fn write_down(app: &App, batch: &Arc<[Attempted]>) -> Result<(), StoreError> {
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

/// Ends a batch of attempts: leases, deliveries, attempts and breakers in one transaction. How many deliveries were given up, and
/// how many attempts came after their lease.
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
        table::rest(tx, &broken.into_iter().map(lease).collect::<Vec<_>>()).await?;
    }
    let leases: Vec<(i64, i64)> = whole.iter().copied().map(lease).collect();
    let ours = table::give_back(tx, &leases).await?;
    let fenced = whole.len() - ours.len();
    let made: Vec<(i64, Made)> = whole
        .into_iter()
        .filter(|attempted| ours.contains(&attempted.claimed.token))
        .filter_map(|a| made(a, now))
        .collect();
    let rows: Vec<Made> = made.iter().map(|(_, made)| made.clone()).collect();
    if rows.is_empty() {
        return Ok((0, fenced as u64));
    }
    table::write_down(tx, &rows, now).await?;
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
    let finals = if since.is_empty() { BTreeMap::new() } else { table::finals(tx, &since).await? };
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

/// What became of an attempt, with its owner; none where it counts as none.
fn made(attempted: &Attempted, now: Timestamp) -> Option<(i64, Made)> {
    let Attempted { claimed, ended, duration_ms } = attempted;
    let outcome = ended.outcome()?;
    let delivery = match claimed.lapses >= LAPSES {
        true => Delivery::FailedTerminal,
        false => Delivery::after(claimed.attempt, outcome, now),
    };
    let made = Made {
        id: claimed.id,
        token: claimed.token,
        attempt: claimed.attempt,
        status: match ended {
            Ended::Answered(status) => Some(*status),
            Ended::Failed(_) | Ended::Ours(_) => None,
        },
        failure: match outcome {
            Outcome::Delivered => None,
            Outcome::Failed(failure) => Some(failure),
        },
        duration_ms: *duration_ms,
        delivery,
    };
    Some((claimed.subscription, made))
}

/// One round: takes up what is due, makes the attempts, and writes them down. How many attempts there were.
pub async fn round(app: &Arc<App>) -> Result<usize, StoreError> {
    let mut attempts = JoinSet::new();
    for claimed in take_up(app, Room::whole(CLAIMED)).await? {
        let app = app.clone();
        attempts.spawn(async move { attempt(&app, claimed).await });
    }
    let batch: Arc<[Attempted]> = attempts.join_all().await.into();
    if !batch.is_empty() {
        write_down(app, &batch).await?;
    }
    Ok(batch.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_that_refuses_at_once_is_asked_as_long_as_one_that_does_not_answer() {
        let away = || StoreError::Unavailable(sqlx::Error::PoolClosed);
        let (patience, rest) = (Duration::from_millis(200), Duration::from_millis(1));
        let watch = Stopwatch::start();
        let in_vain: Result<(), _> = insist(patience, rest, || async { Err(away()) }).await;
        assert!(matches!(in_vain, Err(StoreError::Unavailable(_))), "it is told");
        assert!(watch.elapsed() >= patience);
        let mut tries = 0;
        let back = insist(patience, rest, || {
            tries += 1;
            let outcome = if tries < 4 { Err(away()) } else { Ok(tries) };
            async { outcome }
        });
        assert_eq!(back.await.unwrap(), 4);
    }
}
