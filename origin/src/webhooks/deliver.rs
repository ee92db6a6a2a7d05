//! Deliveries: claimed under a lease, and sent with no transaction open.
//!
//! The leases of a worker that crashes expire; its deliveries are then claimed again with the same attempt number, because a crash
//! is not an outcome. After a crash an attempt may be made twice, and it is never lost.

use super::record::{Attempted, keep_written, record};
use super::send::{AttemptEnd, AttemptRequest};
use super::slots::{Intake, Slot, Slots};
use crate::app::App;
use crate::metrics::lag::PushStep;
use crate::traces::{self, Span};
use rds_engine::clock::Stopwatch;
use rds_shared::push::delivery::attempt_headers;
use rds_shared::push::schedule::{Failure, MAX_LAPSES};
use rds_store::StoreError;
use rds_store::webhooks::deliveries as table;
use rds_store::webhooks::deliveries::{Capacity, Claimed};
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
/// How often due deliveries are looked for; short, so that a moved test clock takes effect.
const POLL: Duration = Duration::from_millis(200);
/// Pause after a claim that was not full, to gather more deliveries: a claim costs the same for one as for many.
const BATCH_DELAY: Duration = Duration::from_millis(10);
/// Pause after a failed database call.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

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
    let mut span = app.traces.of_job("webhook attempt");
    if let Some(span) = &mut span {
        span.set_number("rds.webhook", claimed.subscription);
        span.set_number("rds.delivery", claimed.lease.delivery());
        span.set("rds.event", claimed.event_id.to_string());
        span.keep();
    }
    let attempted = traces::within(span.as_ref().map(Span::context), make(app, claimed)).await;
    if let Some(span) = span.as_mut().filter(|_| !matches!(attempted.ended, AttemptEnd::Answered(200..=299))) {
        span.fail();
    }
    app.journal.lag.record_traced(PushStep::Attempt, watch.micros(), span.map(|span| span.trace_id()));
    app.metrics.webhooks.ended(&attempted.ended);
    attempted
}

async fn make(app: &App, claimed: Claimed) -> Attempted {
    if claimed.lapses >= MAX_LAPSES {
        tracing::error!(
            delivery = claimed.lease.delivery(),
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

/// One round: claims due deliveries, makes the attempts and records them. Returns the number of attempts.
pub async fn round(app: &Arc<App>) -> Result<usize, StoreError> {
    let claimed = take_up(app, Capacity::whole(CLAIM_SIZE)).await?;
    make_all(app, claimed).await
}

/// Makes the attempts of leased deliveries and records them. Returns the number of attempts.
pub async fn make_all(app: &Arc<App>, claimed: Vec<Claimed>) -> Result<usize, StoreError> {
    let mut attempts = JoinSet::new();
    for claimed in claimed {
        let app = app.clone();
        attempts.spawn(async move { attempt(&app, claimed).await });
    }
    let batch: Arc<[Attempted]> = attempts.join_all().await.into();
    if !batch.is_empty() {
        record(app, &batch).await?;
    }
    Ok(batch.len())
}
