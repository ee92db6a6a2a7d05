//! Implements [`crate::ports`] on the Workers runtime. Only this module, [`crate::cache::store`], [`crate::tag_versions::object`] and the
//! Durable Objects of [`crate::guard`] touch JavaScript.

pub mod ambient;
mod assets;
mod bodies;
pub mod calls;
mod incoming_body;
mod peer;
mod replica;

use crate::cache::{Entry, store};
use crate::config::Config;
use crate::guard::objects::client::Objects;
use crate::guard::objects::message::{AddressTake, KeyMessage, KeyReply, ReserveAsk};
use crate::origin_link::calls::{probe_line, report_to_breaker};
use crate::origin_link::retry::exchange;
use crate::origin_link::signed_call::{Call, CallStamp, OriginAnswer, UnsignedCall};
use crate::pipeline::{self, Isolate};
use crate::ports::{AssetFault, BodyFault, Guards, Host, Inbound, NoAnswer, Peer, Unreachable};
use crate::replica::refresh::{begin_due, take_lease};
use crate::respond::{Reply, ReplyBody};
use crate::tag_versions::{TagMessage, TagReply};
use ambient::{Init, now, random};
use assets::Assets;
use bodies::Bodies;
use core::time::Duration;
use rds_docs::Asset;
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::Verdict;
use rds_shared::route::TagVersions;
use rds_shared::wire::{RequestId, Timestamp};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use wasm_bindgen::JsValue;
use worker::js_sys::{Reflect, Uint8Array};
use worker::web_sys::{Headers, ReadableStream, Request, Response, ResponseInit};
use worker::{Context, Delay, Env, console_error};

/// Delay before an isolate's response counts are reported, so that more are collected.
const REPORT_DELAY: Duration = Duration::from_secs(5);

thread_local! {
    static ISOLATE: Rc<Isolate> = Rc::default();
    /// Read at the first request; an invalid configuration stays `None` until the next deployment.
    static CONFIG: OnceCell<Option<Rc<Config>>> = const { OnceCell::new() };
    /// Bodies already in JavaScript memory.
    static BODIES: Bodies = Bodies::default();
    /// Assets already in JavaScript memory.
    static ASSETS: Assets = Assets::default();
    /// Durable Object bindings, the same for every request; if one is missing this stays `None` until the next deployment.
    static OBJECTS: OnceCell<Option<Objects>> = const { OnceCell::new() };
}

/// Answers a request. An error means that the runtime could not build the response; `entry.mjs` then writes the error
/// envelope.
pub async fn serve(request: &Request, env: &Env, context: &Context) -> worker::Result<Response> {
    let inbound = Incoming::new(request);
    let reply = match config(env).zip(objects(env)) {
        Some((config, objects)) => {
            let isolate = ISOLATE.with(Rc::clone);
            let host = Runtime { config: &config, env, context, objects, kept: Cell::default() };
            let reply = pipeline::handle(&inbound, &isolate, &config, &host).await;
            return Ok(response(&reply, host.kept.take())?);
        }
        None => pipeline::unconfigured(&inbound, random()),
    };
    Ok(response(&reply, None)?)
}

pub fn config(env: &Env) -> Option<Rc<Config>> {
    // workerd binds a variable that its environment lacks to null, for which `Env::var` throws.
    let variable = |name: &str| Reflect::get(env, &name.into()).ok()?.as_string();
    let read = || match Config::read(variable) {
        Ok(config) => Some(Rc::new(config)),
        Err(faults) => {
            for fault in faults {
                console_error!("configuration: {fault}");
            }
            None
        }
    };
    CONFIG.with(|config| config.get_or_init(read).clone())
}

fn objects(env: &Env) -> Option<Objects> {
    let find = || {
        let objects = Objects::bound(env);
        if objects.is_none() {
            console_error!("configuration: KEYS, ADDRESSES and EPOCHS must be bound to Durable Objects");
        }
        objects
    };
    OBJECTS.with(|objects| objects.get_or_init(find).clone())
}

/// A body that the host keeps in JavaScript memory, so that it does not cross into Wasm.
enum Kept {
    /// The origin's stream. A caller who disconnects ends it at the origin.
    Stream(ReadableStream),
    Asset(Uint8Array),
}

/// Builds the runtime's response. `kept` is the body that the host keeps for it, if any.
fn response(reply: &Reply, kept: Option<Kept>) -> Result<Response, JsValue> {
    let init: ResponseInit = Init { status: Some(reply.status), ..Init::with(&reply.headers) }.to_js()?;
    let bytes = match (&reply.body, kept) {
        (None, _) | (Some(ReplyBody::Stream), None) => None,
        (Some(ReplyBody::Bytes(bytes)), _) => Some(BODIES.with(|all| all.of(bytes))),
        (Some(ReplyBody::Asset(_)), Some(Kept::Asset(content))) => Some(content),
        (Some(ReplyBody::Stream), Some(Kept::Stream(stream))) => {
            return Response::new_with_opt_readable_stream_and_init(Some(&stream), &init);
        }
        (Some(ReplyBody::Asset(_) | ReplyBody::Stream), _) => return Err("the host does not have the body".into()),
    };
    Response::new_with_opt_buffer_source_and_init(bytes.as_deref(), &init)
}

/// An incoming request of the runtime.
struct Incoming<'a> {
    request: &'a Request,
    headers: Headers,
    method: String,
    url: String,
}

impl<'a> Incoming<'a> {
    fn new(request: &'a Request) -> Self {
        Incoming { request, headers: request.headers(), method: request.method(), url: request.url() }
    }
}

impl Inbound for Incoming<'_> {
    fn method(&self) -> &str {
        &self.method
    }

    fn target(&self) -> &str {
        let after_scheme = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let target = after_scheme.find('/').and_then(|slash| after_scheme.get(slash..)).unwrap_or("/");
        target.split('#').next().unwrap_or(target)
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).ok().flatten()
    }

    fn peer(&self) -> Peer {
        peer::of(self.request)
    }

    async fn body(&self, max_bytes: usize) -> Result<Vec<u8>, BodyFault> {
        let Some(stream) = self.request.body() else { return Ok(Vec::new()) };
        incoming_body::read(&stream, max_bytes).await
    }
}

/// The runtime, for one request.
struct Runtime<'a> {
    config: &'a Config,
    env: &'a Env,
    context: &'a Context,
    objects: Objects,
    /// The body of this request's reply, if it stays in JavaScript memory.
    kept: Cell<Option<Kept>>,
}

impl Runtime<'_> {
    /// The content of an asset, kept in JavaScript memory for the next request.
    async fn asset(&self, asset: &'static Asset) -> Result<Uint8Array, AssetFault> {
        if let Some(content) = ASSETS.with(|all| all.get(asset)) {
            return Ok(content);
        }
        let content = assets::fetch(self.env, asset).await?;
        ASSETS.with(|all| all.keep(asset, &content));
        Ok(content)
    }
}

impl Host for Runtime<'_> {
    fn now(&self) -> Timestamp {
        now()
    }

    fn random(&self) -> [u8; 16] {
        random()
    }

    async fn call(&self, call: &Call, limit: Duration) -> Result<OriginAnswer, NoAnswer> {
        if call.streams {
            let (answer, stream) = calls::open(self.config, call, limit).await?;
            self.kept.set(stream.map(Kept::Stream));
            return Ok(answer);
        }
        calls::call(self.config, call, limit).await
    }

    async fn load(&self, key: &str) -> Option<Entry> {
        store::load(store::url(&self.config.cache_host, key)).await
    }

    fn store(&self, key: &str, entry: &Rc<Entry>) {
        let (url, entry) = (store::url(&self.config.cache_host, key), Rc::clone(entry));
        self.context.wait_until(async move {
            let _ = store::store(url, &entry).await;
        });
    }

    fn forget(&self, key: &str) {
        let url = store::url(&self.config.cache_host, key);
        self.context.wait_until(async move {
            let _ = store::forget(url).await;
        });
    }

    async fn load_asset(&self, asset: &'static Asset) -> Result<(), AssetFault> {
        let content = self.asset(asset).await?;
        self.kept.set(Some(Kept::Asset(content)));
        Ok(())
    }

    async fn read_asset(&self, asset: &'static Asset) -> Result<Vec<u8>, AssetFault> {
        Ok(self.asset(asset).await?.to_vec())
    }

    fn probe_later(&self, request_id: RequestId, limit: Duration) {
        let (config, isolate) = (self.config.clone(), ISOLATE.with(Rc::clone));
        self.context.wait_until(async move {
            let seal = || CallStamp { now: now(), nonce: random() };
            let send = async |call: &Call, limit| calls::call(&config, call, limit).await;
            let question = UnsignedCall::alive(request_id);
            let outcome = exchange(&config.assertion_key, &question, limit, seal, send).await;
            if let Some(line) = probe_line(request_id, &outcome) {
                console_error!("{line}");
            }
            report_to_breaker(&mut isolate.breaker.borrow_mut(), now(), &outcome);
        });
    }

    fn log(&self, line: &str) {
        console_error!("{line}");
    }
}

impl Guards for Runtime<'_> {
    async fn key(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable> {
        // The Durable Object of a key that is new to this isolate may have to call the origin first.
        let known = matches!(message, KeyMessage::Update { .. })
            || ISOLATE.with(|isolate| isolate.guards.spray.borrow().knows(digest));
        let origin = if known { Duration::ZERO } else { self.config.origin_timeout };
        let limit = self.config.guard_timeout.saturating_add(origin);
        self.objects.key(digest, message, limit).await
    }

    async fn register(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable> {
        // The register may have to call the origin first.
        let limit = self.config.guard_timeout.saturating_add(self.config.origin_timeout);
        self.objects.register(digest, message, limit).await
    }

    async fn address(&self, shard: u8, take: &AddressTake) -> Result<Verdict, Unreachable> {
        self.objects.address(shard, take, self.config.guard_timeout).await
    }

    fn report_later(&self, digest: KeyDigest) {
        let (objects, isolate, limit) = (self.objects.clone(), ISOLATE.with(Rc::clone), self.config.guard_timeout);
        self.context.wait_until(async move {
            Delay::from(Duration::from_secs(1)).await;
            let tally = isolate.guards.reports.borrow_mut().take(&digest);
            if !tally.is_empty()
                && let Err(unreachable) = objects.key(&digest, &KeyMessage::Report { tally }, limit).await
            {
                console_error!("a report of a key's requests was lost: {}", unreachable.0);
            }
        });
    }

    fn reserve_later(&self, asked_at: Timestamp, question: ReserveAsk) {
        let (objects, isolate, limit) = (self.objects.clone(), ISOLATE.with(Rc::clone), self.config.guard_timeout);
        self.context.wait_until(async move {
            let digest = question.ask.digest;
            let answer = match objects.key(&digest, &KeyMessage::Reserve(question), limit).await {
                Ok(KeyReply::Reserved { record, reservation }) => reservation.map(|reservation| (record, reservation)),
                Ok(_) => None,
                Err(unreachable) => {
                    console_error!("a key's Durable Object did not answer a reservation request: {}", unreachable.0);
                    None
                }
            };
            let lasts = isolate.guards.reserved.borrow_mut().end(&digest, (asked_at, now()), answer);
            let Some(lasts) = lasts else { return };
            // Timers have millisecond resolution and may fire up to one millisecond early.
            Delay::from(lasts.saturating_add(Duration::from_millis(1))).await;
            let settled = isolate.guards.reserved.borrow_mut().over(&digest, now());
            if !settled.is_empty()
                && let Err(unreachable) = objects.key(&digest, &KeyMessage::Settle { settled }, limit).await
            {
                console_error!("an ended reservation could not be reported: {}", unreachable.0);
            }
        });
    }

    fn count_later(&self) {
        let (objects, isolate, limit) = (self.objects.clone(), ISOLATE.with(Rc::clone), self.config.guard_timeout);
        self.context.wait_until(async move {
            Delay::from(REPORT_DELAY).await;
            let report = isolate.answered.borrow_mut().begin(random());
            let taken = match report {
                None => true,
                answered => {
                    let seen = isolate.tag_lease.borrow().known();
                    let message = TagMessage { answered, ..TagMessage::seen(seen) };
                    objects.tag_versions(&message, limit).await.is_ok()
                }
            };
            isolate.answered.borrow_mut().end(taken);
        });
    }

    async fn tag_versions(&self, message: &TagMessage) -> Result<TagReply, Unreachable> {
        self.objects.tag_versions(message, self.config.guard_timeout).await
    }

    fn renew_lease(&self, begun: Timestamp, seen: TagVersions) {
        let (objects, isolate, config) = (self.objects.clone(), ISOLATE.with(Rc::clone), self.config.clone());
        self.context.wait_until(async move {
            let reply = objects.tag_versions(&TagMessage::seen(seen), config.guard_timeout).await;
            if let Err(unreachable) = &reply {
                console_error!("the tag versions could not be read: {}", unreachable.0);
            }
            let ended = now();
            take_lease(&isolate, (begun, ended), reply.ok());
            if objects.has_replica() && begin_due(&isolate, ended) {
                replica::ask(&objects, &config, &isolate, ended, random()).await;
            }
        });
    }

    fn has_replica(&self) -> bool {
        self.objects.has_replica()
    }

    fn refresh_replica(&self, begun: Timestamp) {
        let (objects, isolate, config) = (self.objects.clone(), ISOLATE.with(Rc::clone), self.config.clone());
        self.context.wait_until(async move {
            replica::ask(&objects, &config, &isolate, begun, random()).await;
        });
    }

    async fn wait(&self, duration: Duration) {
        Delay::from(duration).await;
    }
}
