//! The state of the model: a Durable Object on its storage, isolates, and messages on their way.

use super::rows;
use super::{LIMIT, window_at};
use rds_edge::guard::DiskFault;
use rds_edge::guard::keys::isolate_reservations::{RESERVABLE_CLASS, Reserved};
use rds_edge::guard::keys::state::{Change, KeyDisk, KeyGuard, Stored};
use rds_edge::guard::keys::subclient::Subclient;
use rds_edge::guard::objects::message::{KeyAsk, Reservation, ReserveAsk, Settled, Take};
use rds_shared::access::budget::{Verdict, WINDOW_SECONDS};
use rds_shared::access::link::{KeyLookupResult, UsageBatch, UsageRow};
use rds_shared::access::{KeyDigest, KeyRecord, Plan};
use rds_shared::route::RouteId;
use rds_shared::wire::Timestamp;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

pub use rows::Rows;

/// 400 ms before the end of a window, in milliseconds.
const START: i64 = 29_920_320 * WINDOW_SECONDS * 1_000 + 59_600;
const PATIENCE: Duration = Duration::from_secs(1);
const ROUTE: RouteId = RouteId::VaultList;

/// Runs a step of the Durable Object, which is loaded first if no instance runs. Storage never fails here.
pub fn step<T>(
    object: &mut Option<KeyGuard>,
    rows: &mut Rows,
    change: impl FnOnce(&mut KeyGuard, &Disk<'_>) -> Result<T, DiskFault>,
) -> Option<T> {
    let stored = RefCell::new(std::mem::take(rows));
    let disk = Disk(&stored);
    let loaded = object.take().map_or_else(|| KeyGuard::load(&disk), Ok);
    let outcome = loaded.and_then(|mut loaded| {
        let outcome = change(&mut loaded, &disk);
        *object = Some(loaded);
        outcome
    });
    *rows = stored.into_inner();
    outcome.ok()
}

/// Storage as a Durable Object sees it: each call is one durable step.
pub struct Disk<'a>(pub &'a RefCell<Rows>);

impl KeyDisk for Disk<'_> {
    fn load(&self) -> Result<Stored, DiskFault> {
        Ok(self.0.borrow().stored())
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        self.0.borrow_mut().apply(change);
        Ok(())
    }

    fn closed_days(&self, window: i64) -> Result<Vec<i64>, DiskFault> {
        Ok(self.0.borrow().closed_days(window))
    }

    fn batch_rows(&self, sequence: u64) -> Result<Vec<UsageRow>, DiskFault> {
        Ok(self.0.borrow().batch_rows(sequence))
    }
}

/// A message between an isolate and the Durable Object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Message {
    Reserve { isolate: usize, asked_at: i64, want: u32, lasts: u32, settled: Vec<Settled> },
    Answer { isolate: usize, asked_at: i64, reservation: Option<Reservation> },
    Settle(Vec<Settled>),
}

/// The world. Its last fields remember what happened, for the invariants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// Milliseconds.
    pub now: i64,
    pub rows: Rows,
    /// The instance of the Durable Object; `None` before its first message.
    pub object: Option<KeyGuard>,
    pub isolates: Vec<Reserved>,
    pub messages: Vec<Message>,
    next_id: i64,
    pub bursts: u8,
    pub is_crowded: bool,
    pub mishaps: u8,
    pub steps: u8,
    /// Batches that the origin received, each counted once.
    received: BTreeMap<u64, UsageBatch>,
    /// Admitted requests by window.
    pub admitted: BTreeMap<i64, u32>,
    /// Requests that were counted and whose answers were lost.
    pub unanswered: u32,
    pub was_set_back: bool,
    pub had_foreign_verdict: bool,
    pub had_other_batch: bool,
    pub is_too_long: bool,
    pub was_refused: bool,
    pub was_spent: bool,
    pub has_given_back: bool,
}

/// The key.
pub fn record() -> KeyRecord {
    KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: LIMIT, shared: false, active: true, version: 1 }
}

fn digest() -> KeyDigest {
    KeyDigest::from_bytes([7; 32])
}

impl World {
    pub fn new(isolates: usize) -> Self {
        let mut world = World {
            now: START,
            rows: Rows::default(),
            object: None,
            isolates: vec![Reserved::default(); isolates],
            messages: Vec::new(),
            next_id: 1,
            bursts: 0,
            is_crowded: false,
            mishaps: 0,
            steps: 0,
            received: BTreeMap::new(),
            admitted: BTreeMap::new(),
            unanswered: 0,
            was_set_back: false,
            had_foreign_verdict: false,
            had_other_batch: false,
            is_too_long: false,
            was_refused: false,
            was_spent: false,
            has_given_back: false,
        };
        let known = KeyLookupResult::Known { record: record() }.into();
        world.step(|object, disk| object.answered(disk, digest(), &known, (START, START), "source".to_owned()));
        world
    }

    fn step<T>(&mut self, change: impl FnOnce(&mut KeyGuard, &Disk<'_>) -> Result<T, DiskFault>) -> Option<T> {
        step(&mut self.object, &mut self.rows, change)
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Unix seconds.
    pub fn seconds(&self) -> i64 {
        self.now.div_euclid(1_000)
    }

    /// Whether an isolate has reservations to settle.
    pub fn has_ended(&self, isolate: usize) -> bool {
        !self.isolates[isolate].clone().over(&digest(), self.at()).is_empty()
    }

    /// Makes requests as the pipeline does: from a reservation, else at the Durable Object.
    pub fn requests(&mut self, isolate: usize, count: u32, is_lost: bool) {
        for _ in 0..count {
            let now = self.at();
            if let Some(spent) = self.isolates[isolate].spend(&digest(), RESERVABLE_CLASS, ROUTE, now) {
                self.was_spent = true;
                self.admit(&spent.verdict);
                if spent.is_low {
                    self.reserve(isolate);
                }
                continue;
            }
            let settled = self.isolates[isolate].over(&digest(), now);
            self.settle(&settled);
            let take = Take { class: RESERVABLE_CLASS, endpoint: String::new(), client: Subclient::Pooled };
            let seconds = self.seconds();
            let verdict = self.step(|object, disk| object.take(disk, &[(record(), &take)], seconds));
            let Some(verdict) = verdict.and_then(|mut verdicts| verdicts.pop()).flatten() else { return };
            match (verdict.admitted, is_lost) {
                (true, true) => self.unanswered += 1,
                (true, false) => {
                    self.admit(&verdict);
                    if self.isolates[isolate].asked(&digest(), verdict.allowance.remaining, now) {
                        self.reserve(isolate);
                    }
                }
                (false, _) => {
                    self.was_refused = true;
                    return;
                }
            }
        }
    }

    /// One group of requests, answered in one commit: those that are left, and one more.
    pub fn crowd(&mut self) {
        let take = Take { class: RESERVABLE_CLASS, endpoint: String::new(), client: Subclient::Pooled };
        let seconds = self.seconds();
        let group = vec![(record(), &take); LIMIT as usize + 1];
        let verdicts = self.step(|object, disk| object.take(disk, &group, seconds)).unwrap_or_default();
        for verdict in verdicts.into_iter().flatten() {
            match verdict.admitted {
                true => self.admit(&verdict),
                false => self.was_refused = true,
            }
        }
    }

    fn admit(&mut self, verdict: &Verdict) {
        let window = verdict.allowance.reset / WINDOW_SECONDS - 1;
        *self.admitted.entry(window).or_default() += 1;
        if !self.was_set_back {
            self.had_foreign_verdict |= window != window_at(self.now);
        }
    }

    fn reserve(&mut self, isolate: usize) {
        let now = self.at();
        let Some(request) = self.isolates[isolate].begin(&digest(), now, PATIENCE) else { return };
        let settled = self.isolates[isolate].over(&digest(), now);
        self.send(Message::Reserve { isolate, asked_at: self.now, want: request.want, lasts: request.lasts, settled });
    }

    /// The timer of a reservation that ended.
    pub fn settle_by_timer(&mut self, isolate: usize) {
        let now = self.at();
        let settled = self.isolates[isolate].over(&digest(), now);
        self.send(Message::Settle(settled));
    }

    fn send(&mut self, message: Message) {
        self.messages.push(message);
        // The network keeps no order, so worlds that differ in it only are the same.
        self.messages.sort_by_key(|message| match message {
            Message::Reserve { isolate, asked_at, .. } => (0, *isolate, *asked_at),
            Message::Answer { isolate, asked_at, .. } => (1, *isolate, *asked_at),
            Message::Settle(settled) => (2, 0, settled.first().map_or(0, |settled| settled.id)),
        });
    }

    pub fn deliver(&mut self, message: usize, is_repeated: bool) {
        let message = if is_repeated { self.messages[message].clone() } else { self.messages.remove(message) };
        match message {
            Message::Settle(settled) => self.settle(&settled),
            Message::Reserve { isolate, asked_at, want, lasts, settled } => {
                self.settle(&settled);
                let (shown, tally, settled) = (String::new(), Vec::new(), Vec::new());
                let ask = KeyAsk { digest: digest(), shown, text: None, take: None, tally, settled };
                let asked = ReserveAsk { ask, class: RESERVABLE_CLASS, want, lasts };
                let (now, id) = (self.now, self.next_id);
                self.next_id += 1;
                let made = self.step(|object, disk| object.reserve(disk, &record(), &asked, (now, id))).flatten();
                self.send(Message::Answer { isolate, asked_at, reservation: made });
            }
            Message::Answer { isolate, asked_at, reservation } => {
                let times = (Timestamp::from_millis(asked_at), self.at());
                let answer = reservation.map(|reservation| (record(), reservation));
                self.isolates[isolate].end(&digest(), times, answer);
            }
        }
        self.note_duration();
    }

    /// Whether a reservation, all of which were requested by now, would still admit in 250 ms.
    fn note_duration(&mut self) {
        if self.was_set_back {
            return;
        }
        let later = Timestamp::from_millis(self.now + 250);
        let mut isolates = self.isolates.iter().cloned();
        self.is_too_long |=
            isolates.any(|mut isolate| isolate.spend(&digest(), RESERVABLE_CLASS, ROUTE, later).is_some());
    }

    pub fn lose(&mut self, message: usize) {
        // An isolate whose question or answer is lost stops waiting after its patience.
        if let Message::Reserve { isolate, asked_at, .. } | Message::Answer { isolate, asked_at, .. } =
            self.messages.remove(message)
        {
            let times = (Timestamp::from_millis(asked_at), self.at());
            self.isolates[isolate].end(&digest(), times, None);
        }
    }

    fn settle(&mut self, settled: &[Settled]) {
        if settled.is_empty() {
            return;
        }
        let (seconds, before) = (self.seconds(), self.rows.clone());
        self.step(|object, disk| object.settle(disk, settled, seconds));
        let used = |rows: &Rows| used_in(rows, window_at(self.now));
        self.has_given_back |= used(&self.rows) < used(&before);
    }

    /// Whether a window that can be folded has counts.
    pub fn may_fold(&self) -> bool {
        !self.rows.closed_days(window_at(self.now - 2_000)).is_empty() || !self.rows.batches.is_empty()
    }

    pub fn fold(&mut self, is_acknowledged: bool) {
        let seconds = self.seconds();
        let Some(batch) = self.step(|object, disk| object.next_batch(disk, seconds)).flatten() else { return };
        let sequence = batch.sequence;
        if is_acknowledged {
            self.step(|object, disk| object.acknowledged(disk, sequence));
        }
        let known = self.received.entry(sequence).or_insert_with(|| batch.clone());
        self.had_other_batch |= *known != batch;
    }

    /// Requests in the usage that the origin received.
    pub fn reported(&self) -> u64 {
        self.received.values().flat_map(|batch| &batch.rows).map(|row| row.served).sum()
    }

    pub fn admitted_in_all(&self) -> u64 {
        self.admitted.values().copied().map(u64::from).sum()
    }

    /// Whether storage has counted at least `count` requests in the window; a folded window has left its rows.
    pub fn is_counted(&self, window: i64, count: u32) -> bool {
        let floor = self.rows.key.as_ref().map_or(0, |key| key.floor);
        window < floor || used_in(&self.rows, window) >= count
    }
}

/// Requests of a window in storage: admitted and reserved.
fn used_in(rows: &Rows, window: i64) -> u32 {
    let counted = rows.counts.iter().filter(|((at, class, ..), _)| *at == window && !class.is_empty());
    let reserved = rows.reserved.values().filter(|out| out.window == window);
    counted.map(|(_, entry)| entry.served).chain(reserved.map(|out| out.size)).sum()
}
