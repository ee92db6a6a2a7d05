//! How a key's Durable Object answers its messages, without a runtime: groups of requests, refusals that wait for outstanding
//! reservations, and requests that wait for a look-up at the origin.
//!
//! [`crate::guard::keys::object`] implements [`KeyHost`] on the Workers runtime; the simulation in `world/` implements it on simulated
//! machines.

use crate::guard::DiskFault;
use crate::guard::keys::record::KeyStatus;
use crate::guard::keys::state::{KeyDisk, KeyGuard};
use crate::guard::objects::message::{KeyAsk, KeyReply, ReserveAsk, Settled, Take, Tally};
use crate::guard::objects::single_flight::SingleFlight;
use core::cell::{Cell, RefCell};
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use rds_shared::access::budget::Verdict;
use rds_shared::access::link::KeyLookupResponse;
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::RateLimitClass;
use rds_shared::wire::hex;

/// Poll interval while waiting for reservations to settle.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long a request waits for the origin if a confirmed record can be used instead. The Worker's timeout is one second.
const ORIGIN_TIMEOUT: Duration = Duration::from_millis(600);
/// Maximum number of refusals held back; further ones are sent without delay.
const MAX_HELD: usize = 1_024;

/// A request that waits for its answer.
pub trait WaitingAsk: 'static {
    fn ask(&self) -> &KeyAsk;

    fn answer(self, reply: &KeyReply);
}

/// What the answers need from the Durable Object's host. Clones share one Durable Object.
pub trait KeyHost: Clone + 'static {
    type Disk: KeyDisk;
    type Waiting: WaitingAsk;

    /// Runs a step of the state machine. After a storage fault, the next step loads the state from storage again.
    fn with<T>(&self, step: impl FnOnce(&mut KeyGuard, &Self::Disk) -> Result<T, DiskFault>) -> Result<T, DiskFault>;

    fn held(&self) -> &Held<Self::Waiting>;

    /// The look-up at the origin that may be in flight.
    fn key_look_up(&self) -> &SingleFlight;

    /// Milliseconds since the Unix epoch, by the Durable Object's clock.
    fn now_millis(&self) -> i64;

    /// Fresh random bytes.
    fn random(&self) -> [u8; 16];

    /// Looks the key up at the origin in the background, unless a look-up is in flight. Its outcome goes to [`looked_up`].
    fn start_look_up(&self, ask: &KeyAsk);

    /// Schedules the delivery of usage for just after the end of this minute.
    fn arrange_delivery(&self);

    /// Waits for `duration`.
    fn wait(&self, duration: Duration) -> impl Future<Output = ()> + 'static;

    /// Runs `work` beside the requests.
    fn spawn(&self, work: impl Future<Output = ()> + 'static);
}

/// Refused requests that wait for outstanding reservations to settle, which may free allowance.
#[derive(Debug)]
pub struct Held<W> {
    waiting: RefCell<Vec<W>>,
    /// Whether a task is polling for the end of the outstanding reservations.
    is_settling: Cell<bool>,
}

impl<W> Default for Held<W> {
    fn default() -> Self {
        Held { waiting: RefCell::default(), is_settling: Cell::new(false) }
    }
}

/// The reply to a request.
enum Reply {
    Is(KeyReply),
    /// A refusal that is held back, because an outstanding reservation may give requests back.
    Unsettled(KeyReply),
    /// The key must first be looked up at the origin.
    Ask,
}

/// Records the reports that a request carries. Called once per request, whatever the outcome of the request.
pub fn take_reports<H: KeyHost>(host: &H, ask: &KeyAsk) {
    settle(host, &ask.settled);
    report(host, &ask.tally);
}

/// Answers a group of requests.
pub fn answer<H: KeyHost>(host: &H, waiting: Vec<H::Waiting>) {
    let asks: Vec<_> = waiting.iter().map(WaitingAsk::ask).collect();
    let replies = replies(host, &asks);
    for (waiting, reply) in waiting.into_iter().zip(replies) {
        match reply {
            Reply::Is(reply) => waiting.answer(&reply),
            Reply::Unsettled(refusal) => hold(host, waiting, &refusal),
            Reply::Ask => host.spawn(answer_asked(host.clone(), waiting)),
        }
    }
}

/// Answers a request after its key was looked up at the origin.
async fn answer_asked<H: KeyHost>(host: H, waiting: H::Waiting) {
    // Try twice: the look-up in flight may have been started without the key's text, and then its answer may not suffice.
    for _ in 0..2 {
        host.start_look_up(waiting.ask());
        if !look_up_done(&host).await {
            break;
        }
        match replies(&host, &[waiting.ask()]).pop() {
            Some(Reply::Is(reply)) => return waiting.answer(&reply),
            Some(Reply::Unsettled(refusal)) => return hold(&host, waiting, &refusal),
            Some(Reply::Ask) | None => {}
        }
    }
    waiting.answer(&KeyReply::Unable);
}

/// Waits for the look-up in flight, but only for [`ORIGIN_TIMEOUT`] if a confirmed record can be used instead. Returns false if
/// the request cannot be answered.
async fn look_up_done<H: KeyHost>(host: &H) -> bool {
    if !is_kept(host) {
        return host.key_look_up().done().await;
    }
    let (mut done, mut late) = (pin!(host.key_look_up().done()), pin!(host.wait(ORIGIN_TIMEOUT)));
    let is_done = poll_fn(|context| match done.as_mut().poll(context) {
        Poll::Ready(is_done) => Poll::Ready(is_done),
        Poll::Pending => late.as_mut().poll(context).map(|()| false),
    });
    if !is_done.await {
        let _ = host.with(|machine, _| {
            machine.unanswered(host.now_millis());
            Ok(())
        });
    }
    true
}

/// Records the outcome of a look-up that was sent at `asked_at` (milliseconds): the origin's answer, or `None` without a usable one.
pub fn looked_up<H: KeyHost>(host: &H, digest: KeyDigest, answer: Option<&KeyLookupResponse>, asked_at: i64) {
    let now = host.now_millis();
    // Ignore a storage fault: the next step loads the state from storage and meets the fault again.
    let _ = host.with(|machine, disk| match answer {
        Some(answer) => machine.answered(disk, digest, answer, (asked_at, now), new_source(host)),
        None => {
            machine.unanswered(now);
            Ok(())
        }
    });
}

/// Whether the last confirmed record may be used while look-ups fail.
pub fn is_kept<H: KeyHost>(host: &H) -> bool {
    host.with(|machine, _| Ok(machine.is_kept(host.now_millis()))).unwrap_or(false)
}

/// Holds a refusal back until the outstanding reservations are settled or expired. No reservation is granted meanwhile, so the wait ends.
fn hold<H: KeyHost>(host: &H, waiting: H::Waiting, refusal: &KeyReply) {
    if host.held().waiting.borrow().len() >= MAX_HELD {
        return waiting.answer(refusal);
    }
    host.held().waiting.borrow_mut().push(waiting);
    if !host.held().is_settling.replace(true) {
        let polling = host.clone();
        host.spawn(async move {
            while is_unsettled(&polling, None) {
                polling.wait(POLL_INTERVAL).await;
            }
            polling.held().is_settling.set(false);
            answer_held(&polling);
        });
    }
}

/// Answers the requests held back; some may be held back again.
fn answer_held<H: KeyHost>(host: &H) {
    let held = host.held().waiting.take();
    if !held.is_empty() {
        answer(host, held);
    }
}

fn is_unsettled<H: KeyHost>(host: &H, class: Option<RateLimitClass>) -> bool {
    host.with(|machine, _| Ok(machine.is_unsettled(class, host.now_millis()))).unwrap_or(false)
}

/// Charges the requests whose keys are valid, in one change of storage, and returns a reply for each request.
fn replies<H: KeyHost>(host: &H, asks: &[&KeyAsk]) -> Vec<Reply> {
    let statuses: Vec<_> = asks.iter().map(|ask| judge(host, ask)).collect();
    let record = |status: &KeyStatus| match status {
        KeyStatus::Live { record, .. } => Some(*record),
        _ => None,
    };
    let charges = asks.iter().zip(&statuses).filter_map(|(ask, status)| record(status).zip(ask.take.as_ref()));
    let mut verdicts = charge(host, &charges.collect::<Vec<_>>()).map(Vec::into_iter);
    let reply = |(ask, status): (&&KeyAsk, KeyStatus)| {
        Reply::Is(match status {
            KeyStatus::Live { record, .. } => match (&ask.take, &mut verdicts) {
                (None, _) => KeyReply::Known { record, verdict: None },
                (Some(_), None) => KeyReply::Unable,
                (Some(take), Some(verdicts)) => {
                    let verdict = verdicts.next().flatten();
                    let known = KeyReply::Known { record, verdict };
                    if verdict.is_some_and(|verdict| !verdict.admitted) && is_unsettled(host, Some(take.class)) {
                        return Reply::Unsettled(known);
                    }
                    known
                }
            },
            KeyStatus::Rejected => KeyReply::Rejected,
            KeyStatus::TextNeeded => KeyReply::TextNeeded,
            KeyStatus::Unable => KeyReply::Unable,
            KeyStatus::Ask => return Reply::Ask,
        })
    };
    asks.iter().zip(statuses).map(reply).collect()
}

/// Returns the status of the key for this request. Starts a look-up if the key's record is due for a refresh.
fn judge<H: KeyHost>(host: &H, ask: &KeyAsk) -> KeyStatus {
    let with_text = ask.text.is_some();
    let status = host.with(|machine, _| Ok(machine.status(host.now_millis(), with_text)));
    if let Ok(KeyStatus::Live { refresh: true, .. }) = status {
        host.start_look_up(ask);
    }
    status.unwrap_or(KeyStatus::Unable)
}

/// Reserves requests, unless refusals are held back.
pub fn reserve<H: KeyHost>(host: &H, asked: &ReserveAsk) -> KeyReply {
    let record = match judge(host, &asked.ask) {
        KeyStatus::Live { record, .. } => record,
        KeyStatus::Rejected => return KeyReply::Rejected,
        KeyStatus::TextNeeded | KeyStatus::Unable | KeyStatus::Ask => return KeyReply::Unable,
    };
    if !host.held().waiting.borrow().is_empty() {
        return KeyReply::Reserved { record, reservation: None };
    }
    let [a, b, c, d, e, f, ..] = host.random();
    let id = i64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    match host.with(|machine, disk| machine.reserve(disk, &record, asked, (host.now_millis(), id))) {
        Ok(reservation) => KeyReply::Reserved { record, reservation },
        Err(_) => KeyReply::Unable,
    }
}

/// Settles reservations that have ended, and answers the requests held back.
pub fn settle<H: KeyHost>(host: &H, settled: &[Settled]) -> KeyReply {
    if settled.is_empty() {
        return KeyReply::Done;
    }
    let now = host.now_millis().div_euclid(1_000);
    match host.with(|machine, disk| machine.settle(disk, settled, now)) {
        Ok(()) => host.arrange_delivery(),
        Err(_) => return KeyReply::Unable,
    }
    answer_held(host);
    KeyReply::Done
}

/// Charges requests; `None` after a storage fault.
fn charge<H: KeyHost>(host: &H, requests: &[(KeyRecord, &Take)]) -> Option<Vec<Option<Verdict>>> {
    let now = host.now_millis().div_euclid(1_000);
    let verdicts = host.with(|machine, disk| machine.take(disk, requests, now)).ok()?;
    if verdicts.iter().flatten().any(|verdict| verdict.admitted) {
        host.arrange_delivery();
    }
    Some(verdicts)
}

/// Records an update pushed by the origin.
pub fn update<H: KeyHost>(host: &H, digest: KeyDigest, record: KeyRecord) -> KeyReply {
    let stored =
        host.with(|machine, disk| machine.record_update(disk, digest, record, (host.now_millis(), new_source(host))));
    match stored {
        Ok(()) => KeyReply::Done,
        Err(_) => KeyReply::Unable,
    }
}

/// Counts requests that the Worker answered without charging the key.
pub fn report<H: KeyHost>(host: &H, tally: &[Tally]) -> KeyReply {
    if tally.is_empty() {
        return KeyReply::Done;
    }
    let now = host.now_millis().div_euclid(1_000);
    match host.with(|machine, disk| machine.report(disk, tally, now)) {
        Ok(true) => host.arrange_delivery(),
        Ok(false) => {}
        Err(_) => return KeyReply::Unable,
    }
    KeyReply::Done
}

fn new_source<H: KeyHost>(host: &H) -> String {
    hex(&host.random())
}
