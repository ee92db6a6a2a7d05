//! The Durable Object of one key. It runs [`crate::guard::keys::state::KeyGuard`] on SQLite storage.
//!
//! All times are taken from this Durable Object's clock. How it answers is in [`crate::guard::keys::answers`]; its calls to the origin are in
//! [`crate::guard::keys::origin_calls`].
//!
//! The class is bound by hand: the SDK's macro copies every request and response once more, and wraps an answer that is ready
//! in a promise.

use crate::guard::DiskFault;
use crate::guard::keys::answers::{self, Held, KeyHost, WaitingAsk};
use crate::guard::keys::state::KeyGuard as Machine;
use crate::guard::known_keys::object::RegisterState;
use crate::guard::objects::group_commit::{GroupCommit, Waiting};
use crate::guard::objects::lazy_state::LazyState;
use crate::guard::objects::message::{self, KeyAsk, KeyMessage, KeyReply};
use crate::guard::objects::single_flight::SingleFlight;
use crate::guard::objects::sql::Database;
use crate::runtime::ambient::{self, Init};
use core::cell::Cell;
use core::time::Duration;
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;
use worker::wasm_bindgen_futures::future_to_promise;
use worker::web_sys::{Request, Response, ResponseInit};
use worker::worker_sys::types::DurableObjectState;
use worker::{Delay, Env, State};

#[wasm_bindgen]
pub struct KeyGuard {
    inner: Rc<Inner>,
}

pub(in crate::guard) struct Inner {
    pub(in crate::guard) state: State,
    pub(in crate::guard) env: Env,
    disk: Database,
    machine: LazyState<Machine>,
    asked: Rc<GroupCommit<KeyAsk>>,
    pub(in crate::guard) key_look_up: Rc<SingleFlight>,
    held: Held<Waiting<KeyAsk>>,
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
        let (asked, key_look_up, held) = (Rc::default(), Rc::default(), Held::default());
        let (alarm_is_set, register_state) = (Cell::new(false), RegisterState::new(&state));
        let inner = Inner { state, env, disk, machine, asked, key_look_up, held, alarm_is_set, register_state };
        KeyGuard { inner: Rc::new(inner) }
    }

    /// Answers a message: with a response if no waiting is needed, else with a promise. Concurrent requests are answered in one group
    /// commit.
    pub fn fetch(&self, request: &Request) -> Result<JsValue, JsValue> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        let inner = &self.inner;
        let ask = match message::read(&text) {
            Some(KeyMessage::Ask(ask)) => {
                answers::take_reports(inner, &ask);
                ask
            }
            Some(KeyMessage::Reserve(asked)) => {
                answers::take_reports(inner, &asked.ask);
                return respond(&answers::reserve(inner, &asked));
            }
            Some(KeyMessage::Settle { settled }) => return respond(&answers::settle(inner, &settled)),
            Some(KeyMessage::Update { digest, record }) => return respond(&answers::update(inner, digest, record)),
            Some(KeyMessage::Report { tally }) => return respond(&answers::report(inner, &tally)),
            Some(KeyMessage::List { digest }) => return respond(&inner.register_state.list(&digest)),
            Some(KeyMessage::LookUp(asked)) => {
                if let Some(reply) = inner.register_state.known_reply(&asked.digest) {
                    return respond(&reply);
                }
                let inner = Rc::clone(inner);
                return Ok(future_to_promise(async move { respond(&inner.look_up(asked).await) }).into());
            }
            None => return respond(&KeyReply::Unable),
        };
        let answering = Rc::clone(inner);
        Ok(inner.asked.join(&inner.state, ask, move |waiting| answers::answer(&answering, waiting)).into())
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
}

impl WaitingAsk for Waiting<KeyAsk> {
    fn ask(&self) -> &KeyAsk {
        &self.request
    }

    fn answer(self, reply: &KeyReply) {
        Waiting::answer(self, respond(reply));
    }
}

impl KeyHost for Rc<Inner> {
    type Disk = Database;
    type Waiting = Waiting<KeyAsk>;

    fn with<T>(&self, step: impl FnOnce(&mut Machine, &Database) -> Result<T, DiskFault>) -> Result<T, DiskFault> {
        Inner::with(self, step)
    }

    fn held(&self) -> &Held<Waiting<KeyAsk>> {
        &self.held
    }

    fn key_look_up(&self) -> &SingleFlight {
        &self.key_look_up
    }

    fn now_millis(&self) -> i64 {
        ambient::now_millis()
    }

    fn random(&self) -> [u8; 16] {
        ambient::random()
    }

    fn start_look_up(&self, ask: &KeyAsk) {
        Inner::start_look_up(self, ask);
    }

    fn arrange_delivery(&self) {
        Inner::arrange_delivery(self);
    }

    fn wait(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        Delay::from(duration)
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        self.state.wait_until(work);
    }
}

/// A response that carries a message.
pub(crate) fn respond<M: Serialize>(message: &M) -> Result<JsValue, JsValue> {
    let init: ResponseInit = Init::with(&[(message::HEADER, message::write(message))]).to_js()?;
    Response::new_with_opt_str_and_init(None, &init).map(JsValue::from)
}
