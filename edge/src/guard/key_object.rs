//! The Durable Object of one key: the runtime around [`super::key::KeyGuard`].
//!
//! It asks the origin who the key belongs to, one question at a time, and sends it what was used, every minute, until it is
//! acknowledged. The object's clock is the only one that counts.
//!
//! The class is bound by hand: the SDK's macro copies every request and response once more, and makes a promise of an
//! answer that is at hand.

use super::DiskFault;
use super::flight::{Flight, Ticket};
use super::gather::{Gather, Waiting};
use super::key::KeyGuard as Machine;
use super::message::{self, KeyAsk, KeyMessage, KeyReply, Take, Tally};
use super::record::Standing;
use super::reloaded::Reloaded;
use super::sql::Database;
use crate::config::Config;
use crate::origin::{Call, OriginAnswer, Seal};
use crate::ports::NoAnswer;
use crate::runtime::{self, Init};
use core::cell::Cell;
use core::time::Duration;
use rds_shared::access::budget::{Verdict, WINDOW_SECONDS, window_of};
use rds_shared::access::link::{EDGE, KEY_QUESTION, KeyAnswer, KeyQuestion, USAGE};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::Method;
use rds_shared::wire::{RequestId, hex};
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Date, Object, Promise};
use worker::wasm_bindgen_futures::future_to_promise;
use worker::web_sys::{Request, Response, ResponseInit};
use worker::worker_sys::types::DurableObjectState;
use worker::{Env, State, console_error};

/// Keys flush their usage spread over this long after the minute, so that they do not all come to the origin at once.
const SPREAD_SECONDS: i64 = 10;
/// The wait before usage that could not be delivered is sent again.
const RETRY: Duration = Duration::from_secs(15);
/// Batches sent in one go.
const BATCHES: usize = 8;

/// The object.
#[wasm_bindgen]
pub struct KeyGuard {
    inner: Rc<Inner>,
}

struct Inner {
    state: State,
    env: Env,
    disk: Database,
    machine: Reloaded<Machine>,
    asked: Rc<Gather<KeyAsk>>,
    question: Rc<Flight>,
    /// Whether the next delivery of usage is arranged, as far as this instance knows.
    alarm_is_set: Cell<bool>,
}

#[wasm_bindgen]
impl KeyGuard {
    /// An instance over the object's storage; nothing is read yet.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, env: Env) -> Self {
        let state = State::from(state);
        let disk = Database::of(&state);
        let machine = Reloaded::new("a key's disk");
        let (asked, question, alarm_is_set) = (Rc::default(), Rc::default(), Cell::new(false));
        KeyGuard { inner: Rc::new(Inner { state, env, disk, machine, asked, question, alarm_is_set }) }
    }

    /// Answers a message: a response if nobody has to be waited for, else a promise of one. Who asks waits for those who ask with
    /// them.
    pub fn fetch(&self, request: &Request) -> Result<JsValue, JsValue> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        let ask = match message::read(&text) {
            Some(KeyMessage::Ask(ask)) => {
                // However the request itself fares: what an isolate has counted is told once.
                self.inner.report(&ask.tally);
                ask
            }
            Some(KeyMessage::News { digest, record }) => return respond(&self.inner.news(digest, record)),
            Some(KeyMessage::Report { tally }) => return respond(&self.inner.report(&tally)),
            None => return respond(&KeyReply::Unable),
        };
        let inner = Rc::clone(&self.inner);
        Ok(self.inner.asked.join(&self.inner.state, ask, move |waiting| inner.answer(waiting)).into())
    }

    /// Sends what was used, and arranges for the next time.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        future_to_promise(async move {
            inner.alarm_is_set.set(false);
            let delivered = inner.deliver().await;
            if let Err(fault) = &delivered {
                console_error!("usage: {}", fault.0);
            }
            match (delivered, inner.with(|machine, disk| machine.owes(disk))) {
                (Ok(()), Ok(false)) => {}
                (Ok(()), Ok(true)) => inner.arrange_delivery(),
                _ => inner.set_alarm(RETRY),
            }
            Ok(JsValue::UNDEFINED)
        })
    }
}

impl Inner {
    /// Runs a step of the machine. After a fault the next step begins with what the disk holds.
    fn with<T>(&self, step: impl FnOnce(&mut Machine, &Database) -> Result<T, DiskFault>) -> Result<T, DiskFault> {
        self.machine.with(|| Machine::load(&self.disk), |machine| step(machine, &self.disk))
    }

    /// Answers those who asked together.
    fn answer(self: &Rc<Self>, waiting: Vec<Waiting<KeyAsk>>) {
        let asks: Vec<_> = waiting.iter().map(|waiting| &waiting.request).collect();
        let replies = self.replies(&asks);
        for (waiting, reply) in waiting.into_iter().zip(replies) {
            let answer = match reply {
                Some(reply) => respond(&reply),
                None => {
                    let (inner, ask) = (Rc::clone(self), waiting.request.clone());
                    Ok(future_to_promise(async move { respond(&inner.ask(&ask).await) }).into())
                }
            };
            waiting.answer(answer);
        }
    }

    /// The replies that are at hand, with everything that is charged on the disk at once; `None` where the origin has to be asked first.
    fn replies(self: &Rc<Self>, asks: &[&KeyAsk]) -> Vec<Option<KeyReply>> {
        let standings: Vec<_> = asks.iter().map(|ask| self.standing(ask)).collect();
        let record = |standing: &Standing| match standing {
            Standing::Live { record, .. } => Some(*record),
            _ => None,
        };
        let charges = asks.iter().zip(&standings).filter_map(|(ask, standing)| record(standing).zip(ask.take.as_ref()));
        let mut verdicts = self.charge(&charges.collect::<Vec<_>>()).map(Vec::into_iter);
        let reply = |(ask, standing): (&&KeyAsk, Standing)| {
            Some(match standing {
                Standing::Live { record, .. } if ask.take.is_none() => KeyReply::Known { record, verdict: None },
                Standing::Live { record, .. } => match &mut verdicts {
                    Some(verdicts) => KeyReply::Known { record, verdict: verdicts.next().flatten() },
                    None => KeyReply::Unable,
                },
                Standing::Rejected => KeyReply::Rejected,
                Standing::TextNeeded => KeyReply::TextNeeded,
                Standing::Unable => KeyReply::Unable,
                Standing::Ask => return None,
            })
        };
        asks.iter().zip(standings).map(reply).collect()
    }

    /// How a request stands. If its key's record is to be looked up again soon, that is begun.
    fn standing(self: &Rc<Self>, ask: &KeyAsk) -> Standing {
        let with_text = ask.text.is_some();
        let standing = self.with(|machine, _| Ok(machine.standing(runtime::now_millis(), with_text)));
        if let Ok(Standing::Live { refresh: true, .. }) = standing {
            self.question(ask);
        }
        standing.unwrap_or(Standing::Unable)
    }

    /// The reply after the origin was asked.
    async fn ask(self: &Rc<Self>, ask: &KeyAsk) -> KeyReply {
        // Twice: the answer waited for first may be that to a question without the text.
        for _ in 0..2 {
            self.question(ask);
            if !self.question.landed().await {
                return KeyReply::Unable;
            }
            if let Some(reply) = self.replies(&[ask]).pop().flatten() {
                return reply;
            }
        }
        KeyReply::Unable
    }

    /// Charges requests; `None` when the disk failed.
    fn charge(&self, requests: &[(KeyRecord, &Take)]) -> Option<Vec<Option<Verdict>>> {
        let now = runtime::now_millis().div_euclid(1_000);
        let verdicts = self.with(|machine, disk| machine.take(disk, requests, now)).ok()?;
        if verdicts.iter().flatten().any(|verdict| verdict.admitted) {
            self.arrange_delivery();
        }
        Some(verdicts)
    }

    fn news(&self, digest: KeyDigest, record: KeyRecord) -> KeyReply {
        match self.with(|machine, disk| machine.told(disk, digest, record, (runtime::now_millis(), new_source()))) {
            Ok(()) => KeyReply::Done,
            Err(_) => KeyReply::Unable,
        }
    }

    fn report(&self, tally: &[Tally]) -> KeyReply {
        if tally.is_empty() {
            return KeyReply::Done;
        }
        let now = runtime::now_millis().div_euclid(1_000);
        match self.with(|machine, disk| machine.report(disk, tally, now)) {
            Ok(true) => self.arrange_delivery(),
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
        // A fault of the disk is told to whoever asks next: they find out by themselves.
        let _ = self.with(|machine, disk| match &understood {
            Some(answer) => machine.answered(disk, question.digest, answer, (asked_at, now), new_source()),
            None => {
                machine.unanswered(now);
                Ok(())
            }
        });
        if understood.is_none() {
            console_error!("{:?}: the origin gave no answer: {}", question.digest, told(&answered));
        }
        drop(ticket);
    }

    /// Sends the origin what was used, batch by batch.
    async fn deliver(&self) -> Result<(), DiskFault> {
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

    /// Sees to it that usage is delivered past the end of this minute.
    fn arrange_delivery(&self) {
        if self.alarm_is_set.get() {
            return;
        }
        let now = runtime::now_millis();
        let end = window_of(now.div_euclid(1_000)).saturating_add(1).saturating_mul(WINDOW_SECONDS);
        let spread = self.state.id().to_string().bytes().fold(0_i64, |sum, byte| sum.saturating_add(byte.into()));
        let at = end.saturating_add(spread.rem_euclid(SPREAD_SECONDS)).saturating_mul(1_000);
        self.set_alarm(Duration::from_millis(u64::try_from(at.saturating_sub(now)).unwrap_or_default()));
    }

    /// The alarm is a row like any other: no answer leaves the object before it is on disk.
    fn set_alarm(&self, wait: Duration) {
        let at = runtime::now_millis().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let at = Date::new(&JsValue::from_f64(at as f64));
        let set = self.state.storage().as_raw().set_alarm(at, Object::new());
        self.alarm_is_set.set(set.is_ok());
    }

    async fn post<M: Serialize>(&self, target: &str, message: &M) -> Result<OriginAnswer, NoAnswer> {
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

/// A message as the response that carries it.
pub(crate) fn respond<M: Serialize>(message: &M) -> Result<JsValue, JsValue> {
    let init: ResponseInit = Init::with(&[(message::HEADER, message::write(message))]).to_js()?;
    Response::new_with_opt_str_and_init(None, &init).map(JsValue::from)
}

fn new_source() -> String {
    hex(&runtime::random())
}

fn told(answered: &Result<OriginAnswer, NoAnswer>) -> String {
    match answered {
        Ok(answer) => format!("status {}", answer.status),
        Err(cause) => format!("{cause:?}"),
    }
}
