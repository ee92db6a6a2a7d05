//! The Durable Object of one key. It runs [`crate::guard::keys::state::KeyGuard`] on SQLite storage.
//!
//! All times are taken from this Durable Object's clock. Its calls to the origin are in [`crate::guard::keys::origin_calls`].
//!
//! The class is bound by hand: the SDK's macro copies every request and response once more, and wraps an answer that is ready
//! in a promise.

use crate::guard::DiskFault;
use crate::guard::keys::record::KeyStatus;
use crate::guard::keys::state::KeyGuard as Machine;
use crate::guard::known_keys::object::RegisterState;
use crate::guard::objects::group_commit::{GroupCommit, Waiting};
use crate::guard::objects::lazy_state::LazyState;
use crate::guard::objects::message::{self, KeyAsk, KeyMessage, KeyReply, ReserveAsk, Settled, Take, Tally};
use crate::guard::objects::single_flight::SingleFlight;
use crate::guard::objects::sql::Database;
use crate::runtime::ambient::{self, Init};
use core::cell::{Cell, RefCell};
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use rds_shared::access::budget::Verdict;
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::RateLimitClass;
use rds_shared::wire::hex;
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;
use worker::wasm_bindgen_futures::future_to_promise;
use worker::web_sys::{Request, Response, ResponseInit};
use worker::worker_sys::types::DurableObjectState;
use worker::{Delay, Env, State};

/// Poll interval while waiting for reservations to settle.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long a request waits for the origin if a confirmed record can be used instead. The Worker's timeout is one second.
const ORIGIN_TIMEOUT: Duration = Duration::from_millis(600);
/// Maximum number of refusals held back; further ones are sent without delay.
const MAX_HELD: usize = 1_024;

#[wasm_bindgen]
pub struct KeyGuard {
    inner: Rc<Inner>,
}

/// The reply to a request.
enum Reply {
    Is(KeyReply),
    /// A refusal that is held back, because an outstanding reservation may give requests back.
    Unsettled(KeyReply),
    /// The key must first be looked up at the origin.
    Ask,
}

pub(in crate::guard) struct Inner {
    pub(in crate::guard) state: State,
    pub(in crate::guard) env: Env,
    disk: Database,
    machine: LazyState<Machine>,
    asked: Rc<GroupCommit<KeyAsk>>,
    pub(in crate::guard) key_look_up: Rc<SingleFlight>,
    /// Refused requests waiting for outstanding reservations to settle, which may free allowance.
    held: RefCell<Vec<Waiting<KeyAsk>>>,
    /// Whether a task is polling for the end of the outstanding reservations.
    is_settling: Cell<bool>,
    /// Whether this instance has set the alarm for the next delivery of usage.
    pub(in crate::guard) alarm_is_set: Cell<bool>,
    /// State of this object if it is a register and not a key's object.
    pub(in crate::guard) register_state: RegisterState,
}

#[wasm_bindgen]
impl KeyGuard {
    /// Creates an instance; storage is read at first use.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, env: Env) -> Self {
        let state = State::from(state);
        let disk = Database::of(&state);
        let machine = LazyState::new("storage of a key");
        let (asked, key_look_up, held) = (Rc::default(), Rc::default(), RefCell::default());
        let (is_settling, alarm_is_set) = (Cell::new(false), Cell::new(false));
        let register_state = RegisterState::new(&state);
        let inner =
            Inner { state, env, disk, machine, asked, key_look_up, held, is_settling, alarm_is_set, register_state };
        KeyGuard { inner: Rc::new(inner) }
    }

    /// Answers a message: with a response if no waiting is needed, else with a promise. Concurrent requests are answered in one group
    /// commit.
    pub fn fetch(&self, request: &Request) -> Result<JsValue, JsValue> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        let ask = match message::read(&text) {
            Some(KeyMessage::Ask(ask)) => {
                self.inner.take_reports(&ask);
                ask
            }
            Some(KeyMessage::Reserve(asked)) => {
                self.inner.take_reports(&asked.ask);
                return respond(&self.inner.reserve(&asked));
            }
            Some(KeyMessage::Settle { settled }) => return respond(&self.inner.settle(&settled)),
            Some(KeyMessage::Update { digest, record }) => return respond(&self.inner.update(digest, record)),
            Some(KeyMessage::Report { tally }) => return respond(&self.inner.report(&tally)),
            Some(KeyMessage::List { digest }) => return respond(&self.inner.register_state.list(&digest)),
            Some(KeyMessage::LookUp(asked)) => {
                if let Some(reply) = self.inner.register_state.known_reply(&asked.digest) {
                    return respond(&reply);
                }
                let inner = Rc::clone(&self.inner);
                return Ok(future_to_promise(async move { respond(&inner.look_up(asked).await) }).into());
            }
            None => return respond(&KeyReply::Unable),
        };
        let inner = Rc::clone(&self.inner);
        Ok(self.inner.asked.join(&self.inner.state, ask, move |waiting| inner.answer(waiting)).into())
    }

    /// Sends the usage and schedules the next delivery.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        future_to_promise(async move {
            inner.flush().await;
            Ok(JsValue::UNDEFINED)
        })
    }
}

impl Inner {
    /// Runs a step of the state machine. After a storage fault, the next step loads the state from storage again.
    pub(in crate::guard) fn with<T>(
        &self,
        step: impl FnOnce(&mut Machine, &Database) -> Result<T, DiskFault>,
    ) -> Result<T, DiskFault> {
        self.machine.with(|| Machine::load(&self.disk), |machine| step(machine, &self.disk))
    }

    /// Records the reports that a request carries. Called once per request, whatever the outcome of the request.
    fn take_reports(self: &Rc<Self>, ask: &KeyAsk) {
        self.settle(&ask.settled);
        self.report(&ask.tally);
    }

    /// Answers a group of requests.
    fn answer(self: &Rc<Self>, waiting: Vec<Waiting<KeyAsk>>) {
        let asks: Vec<_> = waiting.iter().map(|waiting| &waiting.request).collect();
        let replies = self.replies(&asks);
        for (waiting, reply) in waiting.into_iter().zip(replies) {
            match reply {
                Reply::Is(reply) => waiting.answer(respond(&reply)),
                Reply::Unsettled(refusal) => self.hold(waiting, &refusal),
                Reply::Ask => {
                    let inner = Rc::clone(self);
                    self.state.wait_until(async move { inner.answer_asked(waiting).await });
                }
            }
        }
    }

    /// Answers a request after its key was looked up at the origin.
    async fn answer_asked(self: Rc<Self>, waiting: Waiting<KeyAsk>) {
        // Try twice: the look-up in flight may have been started without the key's text, and then its answer may not suffice.
        for _ in 0..2 {
            self.start_look_up(&waiting.request);
            if !self.look_up_done().await {
                break;
            }
            match self.replies(&[&waiting.request]).pop() {
                Some(Reply::Is(reply)) => return waiting.answer(respond(&reply)),
                Some(Reply::Unsettled(refusal)) => return self.hold(waiting, &refusal),
                Some(Reply::Ask) | None => {}
            }
        }
        waiting.answer(respond(&KeyReply::Unable));
    }

    /// Waits for the look-up in flight, but only for [`ORIGIN_TIMEOUT`] if a confirmed record can be used instead. Returns false if
    /// the request cannot be answered.
    async fn look_up_done(&self) -> bool {
        if !self.is_kept() {
            return self.key_look_up.done().await;
        }
        let (mut done, mut late) = (pin!(self.key_look_up.done()), pin!(Delay::from(ORIGIN_TIMEOUT)));
        let is_done = poll_fn(|context| match done.as_mut().poll(context) {
            Poll::Ready(is_done) => Poll::Ready(is_done),
            Poll::Pending => late.as_mut().poll(context).map(|()| false),
        });
        if !is_done.await {
            let _ = self.with(|machine, _| {
                machine.unanswered(ambient::now_millis());
                Ok(())
            });
        }
        true
    }

    fn is_kept(&self) -> bool {
        self.with(|machine, _| Ok(machine.is_kept(ambient::now_millis()))).unwrap_or(false)
    }

    /// Holds a refusal back until the outstanding reservations are settled or expired. No reservation is granted meanwhile, so the wait ends.
    fn hold(self: &Rc<Self>, waiting: Waiting<KeyAsk>, refusal: &KeyReply) {
        if self.held.borrow().len() >= MAX_HELD {
            return waiting.answer(respond(refusal));
        }
        self.held.borrow_mut().push(waiting);
        if !self.is_settling.replace(true) {
            let inner = Rc::clone(self);
            self.state.wait_until(async move {
                while inner.is_unsettled(None) {
                    Delay::from(POLL_INTERVAL).await;
                }
                inner.is_settling.set(false);
                inner.answer_held();
            });
        }
    }

    /// Answers the requests held back; some may be held back again.
    fn answer_held(self: &Rc<Self>) {
        let held = self.held.take();
        if !held.is_empty() {
            self.answer(held);
        }
    }

    fn is_unsettled(&self, class: Option<RateLimitClass>) -> bool {
        self.with(|machine, _| Ok(machine.is_unsettled(class, ambient::now_millis()))).unwrap_or(false)
    }

    /// Charges the requests whose keys are valid, in one change of storage, and returns a reply for each request.
    fn replies(self: &Rc<Self>, asks: &[&KeyAsk]) -> Vec<Reply> {
        let statuses: Vec<_> = asks.iter().map(|ask| self.judge(ask)).collect();
        let record = |status: &KeyStatus| match status {
            KeyStatus::Live { record, .. } => Some(*record),
            _ => None,
        };
        let charges = asks.iter().zip(&statuses).filter_map(|(ask, status)| record(status).zip(ask.take.as_ref()));
        let mut verdicts = self.charge(&charges.collect::<Vec<_>>()).map(Vec::into_iter);
        let reply = |(ask, status): (&&KeyAsk, KeyStatus)| {
            Reply::Is(match status {
                KeyStatus::Live { record, .. } => match (&ask.take, &mut verdicts) {
                    (None, _) => KeyReply::Known { record, verdict: None },
                    (Some(_), None) => KeyReply::Unable,
                    (Some(take), Some(verdicts)) => {
                        let verdict = verdicts.next().flatten();
                        let known = KeyReply::Known { record, verdict };
                        if verdict.is_some_and(|verdict| !verdict.admitted) && self.is_unsettled(Some(take.class)) {
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
    fn judge(self: &Rc<Self>, ask: &KeyAsk) -> KeyStatus {
        let with_text = ask.text.is_some();
        let status = self.with(|machine, _| Ok(machine.status(ambient::now_millis(), with_text)));
        if let Ok(KeyStatus::Live { refresh: true, .. }) = status {
            self.start_look_up(ask);
        }
        status.unwrap_or(KeyStatus::Unable)
    }

    fn reserve(self: &Rc<Self>, asked: &ReserveAsk) -> KeyReply {
        let record = match self.judge(&asked.ask) {
            KeyStatus::Live { record, .. } => record,
            KeyStatus::Rejected => return KeyReply::Rejected,
            KeyStatus::TextNeeded | KeyStatus::Unable | KeyStatus::Ask => return KeyReply::Unable,
        };
        if !self.held.borrow().is_empty() {
            return KeyReply::Reserved { record, reservation: None };
        }
        let [a, b, c, d, e, f, ..] = ambient::random();
        let id = i64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        match self.with(|machine, disk| machine.reserve(disk, &record, asked, (ambient::now_millis(), id))) {
            Ok(reservation) => KeyReply::Reserved { record, reservation },
            Err(_) => KeyReply::Unable,
        }
    }

    fn settle(self: &Rc<Self>, settled: &[Settled]) -> KeyReply {
        if settled.is_empty() {
            return KeyReply::Done;
        }
        let now = ambient::now_millis().div_euclid(1_000);
        match self.with(|machine, disk| machine.settle(disk, settled, now)) {
            Ok(()) => self.arrange_delivery(),
            Err(_) => return KeyReply::Unable,
        }
        self.answer_held();
        KeyReply::Done
    }

    /// Charges requests; `None` after a storage fault.
    fn charge(&self, requests: &[(KeyRecord, &Take)]) -> Option<Vec<Option<Verdict>>> {
        let now = ambient::now_millis().div_euclid(1_000);
        let verdicts = self.with(|machine, disk| machine.take(disk, requests, now)).ok()?;
        if verdicts.iter().flatten().any(|verdict| verdict.admitted) {
            self.arrange_delivery();
        }
        Some(verdicts)
    }

    fn update(&self, digest: KeyDigest, record: KeyRecord) -> KeyReply {
        match self
            .with(|machine, disk| machine.record_update(disk, digest, record, (ambient::now_millis(), new_source())))
        {
            Ok(()) => KeyReply::Done,
            Err(_) => KeyReply::Unable,
        }
    }

    fn report(&self, tally: &[Tally]) -> KeyReply {
        if tally.is_empty() {
            return KeyReply::Done;
        }
        let now = ambient::now_millis().div_euclid(1_000);
        match self.with(|machine, disk| machine.report(disk, tally, now)) {
            Ok(true) => self.arrange_delivery(),
            Ok(false) => {}
            Err(_) => return KeyReply::Unable,
        }
        KeyReply::Done
    }
}

/// A response that carries a message.
pub(crate) fn respond<M: Serialize>(message: &M) -> Result<JsValue, JsValue> {
    let init: ResponseInit = Init::with(&[(message::HEADER, message::write(message))]).to_js()?;
    Response::new_with_opt_str_and_init(None, &init).map(JsValue::from)
}

pub(in crate::guard) fn new_source() -> String {
    hex(&ambient::random())
}
