//! The Durable Object of the replica: it keeps the origin's documents in SQLite and answers isolates from them.
//!
//! It asks the origin first if its documents lack what an isolate wants, or if their last confirmation is old. One such question is out at a
//! time. An isolate waits for it for half of its own patience; after a failure the next question is asked after a pause.

use super::holders::Holders;
use super::message::{IsolateAsk, ReplicaMessage, ReplicaReply};
use super::pull::{self, PullFault, ReplicaOrigin};
use super::store::Store;
use super::tables::Tables;
use crate::config::Config;
use crate::guard::DiskFault;
use crate::guard::objects::message;
use crate::guard::objects::single_flight::SingleFlight;
use crate::origin_link::retry::{CallOutcome, exchange};
use crate::origin_link::signed_call::{CallStamp, UnsignedCall};
use crate::runtime::{self, ambient, calls};
use core::cell::{Cell, OnceCell, RefCell};
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;
use rds_shared::access::link::{EDGE, REPLICA, ReplicaAsk, ReplicaHolders, SEGMENTS, SegmentsAsk, put_part};
use rds_shared::pace::Pause;
use rds_shared::replica::{FORMAT, SegmentName};
use rds_shared::route::Method;
use rds_shared::wire::RequestId;
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Promise, Uint8Array};
use worker::wasm_bindgen_futures::future_to_promise;
use worker::web_sys::{Request, Response, ResponseInit};
use worker::worker_sys::types::DurableObjectState;
use worker::{Delay, Env, State, console_error};

/// The Durable Object. Bound by hand, because the SDK's macro copies every request and response once more (see
/// [`crate::guard::keys::object`]).
#[wasm_bindgen]
pub struct Replica {
    inner: Rc<Inner>,
}

struct Inner {
    state: State,
    env: Env,
    /// Made at first use, because the keys are in the configuration.
    store: OnceCell<Store<Tables>>,
    pulls: Rc<SingleFlight>,
    /// No question is asked before this instant, in milliseconds.
    rests_until: Cell<i64>,
    holders: RefCell<Holders>,
}

#[wasm_bindgen]
impl Replica {
    /// Creates an instance; storage is read at first use.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, env: Env) -> Self {
        let inner = Inner {
            state: State::from(state),
            env,
            store: OnceCell::new(),
            pulls: Rc::default(),
            rests_until: Cell::new(0),
            holders: RefCell::default(),
        };
        Replica { inner: Rc::new(inner) }
    }

    /// Answers an isolate. A response without a reply says that there is nothing to answer with.
    pub fn fetch(&self, request: &Request) -> Result<Promise, JsValue> {
        let text = request.headers().get(message::HEADER)?.unwrap_or_default();
        let inner = Rc::clone(&self.inner);
        Ok(future_to_promise(async move {
            match inner.answer(&text).await {
                Some((reply, body)) => respond(reply, &body),
                None => Response::new().map(JsValue::from),
            }
        }))
    }
}

fn respond(reply: ReplicaReply, body: &[u8]) -> Result<JsValue, JsValue> {
    let init: ResponseInit = ambient::Init::with(&[(message::HEADER, message::write(&reply))]).to_js()?;
    let body = Uint8Array::from(body);
    Response::new_with_opt_buffer_source_and_init(Some(&body.into()), &init).map(JsValue::from)
}

impl Inner {
    async fn answer(self: Rc<Self>, text: &str) -> Option<(ReplicaReply, Vec<u8>)> {
        let config = runtime::config(&self.env)?;
        let answered = match message::read(text)? {
            ReplicaMessage::Ask(IsolateAsk { ask, holder }) if ask.format == FORMAT => {
                self.holders.borrow_mut().note(&holder, ambient::now_millis());
                self.update(&config, &ask).await
            }
            ReplicaMessage::Segments(ask) if ask.format == FORMAT => self.segments(&config, &ask.names).await,
            ReplicaMessage::Ask(_) | ReplicaMessage::Segments(_) => return None,
        };
        let body = match answered {
            Ok(body) => body?,
            Err(DiskFault(cause)) => {
                console_error!("storage of the replica: {cause}");
                return None;
            }
        };
        let confirmed_at = self.store(&config).kept().ok().flatten().map(|kept| kept.confirmed_at);
        let age = ambient::now_millis().saturating_sub(confirmed_at?);
        Some((ReplicaReply { age: u64::try_from(age).unwrap_or(0) }, body))
    }

    fn store(&self, config: &Config) -> &Store<Tables> {
        self.store.get_or_init(|| Store::new(Tables::of(&self.state), config.verification_keys.clone()))
    }

    async fn update(self: &Rc<Self>, config: &Rc<Config>, ask: &ReplicaAsk) -> Result<Option<Vec<u8>>, DiskFault> {
        let store = self.store(config);
        let mut patience = pin!(Delay::from(config.guard_timeout.checked_div(2).unwrap_or_default()));
        // The question that is out may have begun before the isolate's change, so a second one may be needed.
        for _ in 0..2 {
            if !pull::is_due(store, &ask.covering, ambient::now_millis())? {
                break;
            }
            self.begin(config, ask);
            let mut ended = pin!(self.pulls.done());
            let is_over = poll_fn(|context| match ended.as_mut().poll(context) {
                Poll::Ready(_) => Poll::Ready(true),
                Poll::Pending => patience.as_mut().poll(context).map(|()| false),
            });
            if !is_over.await {
                break;
            }
        }
        Ok(store.kept()?.map(|kept| kept.update_for(ask).encode()))
    }

    /// Asks the origin, unless a question is out or one has failed just now.
    fn begin(self: &Rc<Self>, config: &Rc<Config>, ask: &ReplicaAsk) {
        if ambient::now_millis() < self.rests_until.get() {
            return;
        }
        let Some(ticket) = self.pulls.begin() else { return };
        let (inner, config, covering) = (Rc::clone(self), Rc::clone(config), ask.covering);
        self.state.wait_until(async move {
            let holders = inner.holders.borrow_mut().report(inner.state.id().to_string(), ambient::now_millis());
            let origin = Origin { config: &config, holders: Some(holders) };
            if let Err(fault) = pull::pull(inner.store(&config), &origin, covering).await {
                console_error!("the replica could not be pulled: {fault}");
                inner.rests_until.set(ambient::now_millis().saturating_add(fault.pause()));
            }
            drop(ticket);
        });
    }

    /// Segments from storage; those that are not there, or are damaged, are fetched from the origin.
    async fn segments(&self, config: &Config, names: &[SegmentName]) -> Result<Option<Vec<u8>>, DiskFault> {
        let store = self.store(config);
        let read = || names.iter().map(|name| store.segment(name)).collect::<Result<Vec<_>, _>>();
        let mut segments = read()?;
        if store.damaged.get() > 0 {
            console_error!("{} stored segments of the replica were not what their names say", store.damaged.take());
        }
        if segments.iter().any(Option::is_none) {
            if let Err(fault) = pull::fetch(store, &Origin { config, holders: None }, names).await {
                console_error!("segments of the replica could not be fetched: {fault}");
            }
            segments = read()?;
        }
        let mut body = Vec::new();
        segments.iter().for_each(|segment| put_part(segment.as_deref().unwrap_or_default(), &mut body));
        Ok(Some(body))
    }
}

/// Calls the origin.
struct Origin<'a> {
    config: &'a Config,
    /// What the isolates hold that ask this Durable Object.
    holders: Option<ReplicaHolders>,
}

impl Origin<'_> {
    async fn ask<M: Serialize>(&self, path: &str, message: &M) -> Result<Vec<u8>, PullFault> {
        let body = serde_json::to_vec(message).map_err(|error| PullFault::Unreachable(error.to_string()))?;
        let request_id = RequestId::from_random(ambient::random());
        let mut question = UnsignedCall::new(Method::Post, path, body, EDGE.to_owned(), request_id);
        question.is_repeatable = true;
        let seal = || CallStamp { now: ambient::now(), nonce: ambient::random() };
        let send = async |call: &_, limit| calls::call(self.config, call, limit).await;
        match exchange(&self.config.assertion_key, &question, self.config.origin_timeout, seal, send).await {
            CallOutcome::Answered(answer) if answer.status == 200 => Ok(answer.body),
            CallOutcome::Answered(answer) => Err(PullFault::Status(answer.status)),
            outcome => Err(PullFault::Unreachable(outcome.log_line().unwrap_or_default())),
        }
    }
}

impl Pause for Origin<'_> {
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(Delay::from(Duration::ZERO))
    }
}

impl ReplicaOrigin for Origin<'_> {
    fn now(&self) -> i64 {
        ambient::now_millis()
    }

    async fn replica(&self, ask: &ReplicaAsk) -> Result<Vec<u8>, PullFault> {
        self.ask(REPLICA, &ReplicaAsk { holders: self.holders.clone(), ..ask.clone() }).await
    }

    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, PullFault> {
        self.ask(SEGMENTS, &SegmentsAsk { format: FORMAT, names: names.to_vec() }).await
    }

    fn log(&self, line: &str) {
        console_error!("{line}");
    }
}
