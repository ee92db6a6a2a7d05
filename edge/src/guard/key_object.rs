//! The Durable Object of one key: the runtime around [`super::key::KeyGuard`].
//!
//! It asks the origin who the key belongs to, one question at a time, and sends it what was used, every minute, until it is
//! acknowledged. The object's clock is the only one that counts.

use super::DiskFault;
use super::flight::{Flight, Ticket};
use super::key::KeyGuard as Machine;
use super::message::{self, KeyAsk, KeyMessage, KeyReply, Tally};
use super::record::Standing;
use super::sql::Database;
use crate::config::Config;
use crate::origin::{Call, OriginAnswer, Seal};
use crate::ports::NoAnswer;
use crate::runtime;
use core::cell::{Cell, RefCell};
use core::time::Duration;
use rds_shared::access::budget::{WINDOW_SECONDS, window_of};
use rds_shared::access::link::{EDGE, KEY_QUESTION, KeyAnswer, KeyQuestion, USAGE};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::Method;
use rds_shared::wire::{RequestId, hex};
use serde::Serialize;
use std::rc::Rc;
use worker::{DurableObject, Env, Request, Response, Result, State, console_error, durable_object};

/// Keys flush their usage spread over this long after the minute, so that they do not all come to the origin at once.
const SPREAD_SECONDS: i64 = 10;
/// The wait before usage that could not be delivered is sent again.
const RETRY: Duration = Duration::from_secs(15);
/// Batches sent in one go.
const BATCHES: usize = 8;

/// The object.
#[durable_object(alarm)]
pub struct KeyGuard {
    inner: Rc<Inner>,
}

struct Inner {
    state: State,
    env: Env,
    disk: Database,
    /// Read from the disk at the first need, and again after a fault.
    machine: RefCell<Option<Machine>>,
    question: Rc<Flight>,
    /// Whether the next delivery of usage is arranged, as far as this instance knows.
    alarm_is_set: Cell<bool>,
}

impl DurableObject for KeyGuard {
    fn new(state: State, env: Env) -> Self {
        let disk = Database::of(&state);
        let (machine, question) = (RefCell::default(), Rc::default());
        KeyGuard { inner: Rc::new(Inner { state, env, disk, machine, question, alarm_is_set: Cell::new(false) }) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        let reply = match message::read(&text) {
            Some(KeyMessage::Ask(ask)) => self.inner.ask(ask).await,
            Some(KeyMessage::News { digest, record }) => self.inner.news(digest, record),
            Some(KeyMessage::Report { tally }) => self.inner.report(&tally).await,
            None => KeyReply::Unable,
        };
        let response = Response::empty()?;
        response.headers().set(message::HEADER, &message::write(&reply))?;
        Ok(response)
    }

    async fn alarm(&self) -> Result<Response> {
        self.inner.alarm_is_set.set(false);
        let delivered = self.inner.deliver().await;
        if let Err(fault) = &delivered {
            console_error!("usage: {}", fault.0);
        }
        match (delivered, self.inner.with(|machine, disk| machine.owes(disk))) {
            (Ok(()), Ok(false)) => {}
            (Ok(()), Ok(true)) => self.inner.set_alarm().await,
            _ => {
                let _ = self.inner.state.storage().set_alarm(RETRY).await;
                self.inner.alarm_is_set.set(true);
            }
        }
        Response::empty()
    }
}

impl Inner {
    /// Runs a step of the machine. After a fault the next step begins with what the disk holds.
    fn with<T>(
        &self,
        step: impl FnOnce(&mut Machine, &Database) -> core::result::Result<T, DiskFault>,
    ) -> core::result::Result<T, DiskFault> {
        let mut slot = self.machine.borrow_mut();
        let machine = match slot.take() {
            Some(machine) => machine,
            None => Machine::load(&self.disk)?,
        };
        let machine = slot.insert(machine);
        let outcome = step(machine, &self.disk);
        if let Err(fault) = &outcome {
            console_error!("a key's disk: {}", fault.0);
            *slot = None;
        }
        outcome
    }

    async fn ask(self: &Rc<Self>, ask: KeyAsk) -> KeyReply {
        // Once for what is known, once for what the origin says, and once more for an answer that somebody else waited for.
        for _ in 0..3 {
            let with_text = ask.text.is_some();
            let Ok(standing) = self.with(|machine, _| Ok(machine.standing(runtime::now_millis(), with_text))) else {
                return KeyReply::Unable;
            };
            match standing {
                Standing::Live { record, refresh } => {
                    if refresh {
                        self.question(&ask);
                    }
                    return self.charge(&ask, record).await;
                }
                Standing::Rejected => return KeyReply::Rejected,
                Standing::TextNeeded => return KeyReply::TextNeeded,
                Standing::Unable => return KeyReply::Unable,
                Standing::Ask => {
                    self.question(&ask);
                    self.question.landed().await;
                }
            }
        }
        KeyReply::Unable
    }

    async fn charge(&self, ask: &KeyAsk, record: KeyRecord) -> KeyReply {
        let now = runtime::now_millis().div_euclid(1_000);
        let charged = self.with(|machine, disk| {
            let reported = machine.report(disk, &ask.tally, now)?;
            let verdict = match &ask.take {
                Some(take) => machine.take(disk, &record, take, now)?,
                None => None,
            };
            Ok((verdict, reported))
        });
        let Ok((verdict, reported)) = charged else { return KeyReply::Unable };
        if reported || verdict.is_some_and(|verdict| verdict.admitted) {
            self.arrange_delivery().await;
        }
        KeyReply::Known { record, verdict }
    }

    fn news(&self, digest: KeyDigest, record: KeyRecord) -> KeyReply {
        match self.with(|machine, disk| machine.told(disk, digest, record, new_source())) {
            Ok(()) => KeyReply::Done,
            Err(_) => KeyReply::Unable,
        }
    }

    async fn report(&self, tally: &[Tally]) -> KeyReply {
        let now = runtime::now_millis().div_euclid(1_000);
        match self.with(|machine, disk| machine.report(disk, tally, now)) {
            Ok(true) => self.arrange_delivery().await,
            Ok(false) => {}
            Err(_) => return KeyReply::Unable,
        }
        KeyReply::Done
    }

    /// Asks the origin in the background, unless it is being asked.
    fn question(self: &Rc<Self>, ask: &KeyAsk) {
        let Some(ticket) = self.question.begin() else { return };
        let question = KeyQuestion { digest: ask.digest, shown: ask.shown.clone(), text: ask.text.clone() };
        let inner = Rc::clone(self);
        self.state.wait_until(async move { inner.put(question, ticket).await });
    }

    async fn put(&self, question: KeyQuestion, ticket: Ticket) {
        let asked_at = runtime::now_millis();
        let answered = self.post(KEY_QUESTION, &question).await;
        let now = runtime::now_millis();
        let understood = match &answered {
            Ok(answer) if answer.status == 200 => serde_json::from_slice::<KeyAnswer>(&answer.body).ok(),
            _ => None,
        };
        let noted = self.with(|machine, disk| match &understood {
            Some(answer) => machine.answered(disk, question.digest, answer, (asked_at, now), new_source()),
            None => {
                machine.unanswered(now);
                Ok(())
            }
        });
        if understood.is_none() {
            console_error!("{:?}: the origin gave no answer: {}", question.digest, told(&answered));
        }
        if noted.is_err() {
            let _ = self.with(|machine, _| {
                machine.unanswered(now);
                Ok(())
            });
        }
        drop(ticket);
    }

    /// Sends the origin what was used, batch by batch.
    async fn deliver(&self) -> core::result::Result<(), DiskFault> {
        for _ in 0..BATCHES {
            let now = runtime::now_millis().div_euclid(1_000);
            let Some(batch) = self.with(|machine, disk| machine.next_batch(disk, now))? else { return Ok(()) };
            let answered = self.post(USAGE, &batch).await;
            match &answered {
                Ok(answer) if answer.status == 204 => {}
                _ => return Err(DiskFault(format!("not delivered: {}", told(&answered)))),
            }
            self.with(|machine, disk| machine.acknowledged(disk, batch.sequence))?;
        }
        Ok(())
    }

    async fn arrange_delivery(&self) {
        if !self.alarm_is_set.get() {
            self.set_alarm().await;
        }
    }

    /// Sets the alarm past the end of this minute.
    async fn set_alarm(&self) {
        let now = runtime::now_millis();
        let end = window_of(now.div_euclid(1_000)).saturating_add(1).saturating_mul(WINDOW_SECONDS);
        let spread = self.state.id().to_string().bytes().fold(0_i64, |sum, byte| sum.saturating_add(byte.into()));
        let at = end.saturating_add(spread.rem_euclid(SPREAD_SECONDS)).saturating_mul(1_000);
        let wait = Duration::from_millis(u64::try_from(at.saturating_sub(now)).unwrap_or_default());
        // Before the await: a second request need not set it again.
        self.alarm_is_set.set(true);
        if self.state.storage().set_alarm(wait).await.is_err() {
            self.alarm_is_set.set(false);
        }
    }

    async fn post<M: Serialize>(&self, target: &str, message: &M) -> core::result::Result<OriginAnswer, NoAnswer> {
        let unusable = |cause: &str| NoAnswer::Unreachable(cause.to_owned());
        let config: Rc<Config> = runtime::config(&self.env).ok_or_else(|| unusable("no configuration"))?;
        let body = serde_json::to_vec(message).map_err(|_| unusable("no message"))?;
        let seal = Seal {
            now: runtime::now(),
            nonce: runtime::random(),
            request_id: RequestId::from_random(runtime::random()),
        };
        let call = Call::new(&config, Method::Post, target, body, EDGE.to_owned(), None, seal);
        runtime::call(&config, &call, config.origin_timeout).await
    }
}

fn new_source() -> String {
    hex(&runtime::random())
}

fn told(answered: &core::result::Result<OriginAnswer, NoAnswer>) -> String {
    match answered {
        Ok(answer) => format!("status {}", answer.status),
        Err(cause) => format!("{cause:?}"),
    }
}
