//! One isolate with a scripted origin and a clock set by the test.

use crate::exchanges::arrived;
pub use crate::exchanges::{Ask, With, answer, bytes, envelope, page, text, unsigned, x_cache};
use crate::objects::Objects;
use crate::replica_object::ReplicaObject;
use rds_docs::{Asset, Library};
use rds_edge::cache::Entry;
use rds_edge::config::Config;
use rds_edge::guard::objects::message::{AddressTake, KeyMessage, KeyReply, ReserveAsk};
use rds_edge::origin_link::calls::report_to_breaker;
use rds_edge::origin_link::retry::{CallOutcome, exchange};
use rds_edge::origin_link::signed_call::{self, Call, CallStamp, OriginAnswer};
use rds_edge::pipeline::{self, Isolate};
use rds_edge::ports::{AssetFault, Guards, Host, NoAnswer, Unreachable};
use rds_edge::replica::refresh::{begin_due, refresh, take_lease};
use rds_edge::respond::Reply;
use rds_edge::tag_versions::{TagMessage, TagReply, Withheld};
use rds_shared::access::budget::Verdict;
use rds_shared::access::{KeyDigest, link};
use rds_shared::route::TagVersions;
use rds_shared::wire::{RequestId, Timestamp};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
pub const OUR_PAGE: &str = "https://app.example";

/// The clock at the beginning, in milliseconds.
const START: i64 = 1_795_219_200_000;

type Script = Box<dyn Fn(&Call) -> Result<OriginAnswer, NoAnswer>>;
type StoredResponse = (Vec<(String, String)>, Vec<u8>);

/// The isolate and its environment.
pub struct World {
    pub config: Config,
    pub isolate: Isolate,
    pub calls: RefCell<Vec<(Call, Duration)>>,
    pub log: RefCell<Vec<String>>,
    pub stored: RefCell<BTreeMap<String, StoredResponse>>,
    pub objects: Objects,
    pub timers: RefCell<Vec<KeyDigest>>,
    /// Reservations by their end, in milliseconds.
    reservations: RefCell<Vec<(i64, KeyDigest)>>,
    pub tag_versions: TagVersionsObject,
    pub replica: ReplicaObject,
    /// Tag versions that other requests learn during the next call to the origin.
    pub meanwhile: Cell<TagVersions>,
    /// Whether the origin accepts calls but answers none.
    pub hangs: Cell<bool>,
    /// Timeouts of the background probes, in order.
    pub probes: RefCell<Vec<Duration>>,
    /// Whether background probes end at once. If not, [`World::land_probe`] ends them.
    pub probes_land: Cell<bool>,
    /// How often a report of response counts was scheduled.
    pub counts_arranged: Cell<usize>,
    /// Whether the origin answers probes but never the requests of callers.
    pub is_slow: Cell<bool>,
    /// Number of assets that were asked for, found or not.
    pub assets_asked: Cell<usize>,
    pub has_assets: Cell<bool>,
    millis: Cell<i64>,
    draws: Cell<u8>,
    script: RefCell<Script>,
}

impl World {
    /// A world whose origin answers with `script`.
    pub fn new(script: impl Fn(&Call) -> Result<OriginAnswer, NoAnswer> + 'static) -> Self {
        let variable = |name: &str| match name {
            "ORIGIN_URL" => Some("http://origin.example".to_owned()),
            "ASSERTION_KEY" => Some(KEY.to_owned()),
            "FIRST_PARTY_ORIGINS" => Some(OUR_PAGE.to_owned()),
            "GRAPH" => Some("1".to_owned()),
            _ => None,
        };
        World {
            config: Config::read(variable).unwrap(),
            isolate: Isolate::default(),
            calls: RefCell::default(),
            log: RefCell::default(),
            stored: RefCell::default(),
            objects: Objects::default(),
            timers: RefCell::default(),
            reservations: RefCell::default(),
            tag_versions: TagVersionsObject::default(),
            replica: ReplicaObject::new(Timestamp::from_millis(START)),
            meanwhile: Cell::default(),
            hangs: Cell::default(),
            probes: RefCell::default(),
            probes_land: Cell::new(true),
            counts_arranged: Cell::default(),
            is_slow: Cell::default(),
            assets_asked: Cell::default(),
            has_assets: Cell::new(true),
            millis: Cell::new(START),
            draws: Cell::new(0),
            script: RefCell::new(Box::new(script)),
        }
    }

    /// Makes the origin answer with `script`.
    pub fn origin(&self, script: impl Fn(&Call) -> Result<OriginAnswer, NoAnswer> + 'static) {
        *self.script.borrow_mut() = Box::new(script);
    }

    /// Makes the origin refuse connections.
    pub fn origin_is_down(&self) {
        self.origin(|_| Err(NoAnswer::Unreachable("connection refused".to_owned())));
    }

    /// Advances the clock.
    pub fn pass_seconds(&self, seconds: i64) {
        self.pass_millis(seconds * 1_000);
    }

    /// Advances the clock by milliseconds.
    pub fn pass_millis(&self, millis: i64) {
        self.millis.set(self.millis.get() + millis);
        self.land_questions();
        self.end_reservations();
    }

    /// Settles reservations that have ended, as the runtime would.
    fn end_reservations(&self) {
        let (over, running) = self.reservations.take().into_iter().partition(|(end, _)| *end < self.millis.get());
        self.reservations.replace(running);
        let over: Vec<(i64, KeyDigest)> = over;
        for (_, digest) in over {
            let settled = self.isolate.guards.reserved.borrow_mut().over(&digest, self.now());
            if !settled.is_empty() {
                let _ = self.objects.key(&digest, &KeyMessage::Settle { settled }, self.millis.get());
            }
        }
    }

    /// Delivers the replies to lease renewals whose round-trip time has passed.
    fn land_questions(&self) {
        let (landed, out) =
            self.tag_versions.out.take().into_iter().partition(|question| question.lands_at <= self.millis.get());
        self.tag_versions.out.replace(out);
        for Renewal { begun, answer, .. } in landed {
            take_lease(&self.isolate, (begun, self.now()), answer);
            let now = self.now();
            if self.replica.is_bound.get() && begin_due(&self.isolate, now) {
                self.fly(now);
            }
        }
        let (landed, out) = self.replica.out.take().into_iter().partition(|(at, _)| *at <= self.millis.get());
        self.replica.out.replace(out);
        let landed: Vec<(i64, Timestamp)> = landed;
        for (_, begun) in landed {
            finished(refresh(self, &self.isolate, &self.config.verification_keys, begun));
        }
    }

    /// Sends a question to the replica's Durable Object.
    fn fly(&self, begun: Timestamp) {
        self.replica.out.borrow_mut().push((self.millis.get() + self.replica.flight_millis.get(), begun));
        if self.replica.flight_millis.get() == 0 {
            self.land_questions();
        }
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.millis.get())
    }

    /// Replaces the isolate, as a deployment does: its memory is lost, the data centre's cache is kept.
    pub fn new_isolate(&mut self) {
        self.isolate = Isolate::default();
    }

    /// Number of calls to the origin.
    pub fn asked(&self) -> usize {
        self.calls.borrow().len()
    }

    /// The last request to the origin.
    pub fn last_call(&self) -> Call {
        self.calls.borrow().last().unwrap().0.clone()
    }

    /// Timeout of the last call to the origin.
    pub fn last_limit(&self) -> Duration {
        self.calls.borrow().last().unwrap().1
    }

    /// Advances the clock by one second, then sends the pending reports, as the runtime's timers would.
    pub fn run_timers(&self) {
        self.pass_millis(1_000);
        for digest in self.timers.take() {
            let tally = self.isolate.guards.reports.borrow_mut().take(&digest);
            let _ = self.objects.key(&digest, &KeyMessage::Report { tally }, self.millis.get());
        }
    }

    /// Ends a background probe with the scripted answer of the origin.
    pub fn land_probe(&self) {
        let outcome = match self.hangs.get() {
            true => CallOutcome::None(NoAnswer::Timeout),
            false => finished(exchange(
                &self.config.assertion_key,
                &signed_call::UnsignedCall::alive(RequestId::from_random([7; 16])),
                self.config.origin_timeout,
                || CallStamp { now: self.now(), nonce: self.random() },
                async |call: &Call, _| (self.script.borrow())(call).map(|answer| arrived(call, answer)),
            )),
        };
        report_to_breaker(&mut self.isolate.breaker.borrow_mut(), self.now(), &outcome);
    }

    pub fn get(&self, target: &str) -> Reply {
        self.send(&Ask::new("GET", target))
    }

    pub fn send(&self, ask: &Ask) -> Reply {
        finished(pipeline::handle(ask, &self.isolate, &self.config, self))
    }
}

impl Host for World {
    fn now(&self) -> Timestamp {
        World::now(self)
    }

    fn random(&self) -> [u8; 16] {
        self.draws.set(self.draws.get().wrapping_add(1));
        [self.draws.get(); 16]
    }

    async fn call(&self, call: &Call, limit: Duration) -> Result<OriginAnswer, NoAnswer> {
        self.calls.borrow_mut().push((call.clone(), limit));
        if self.hangs.get() {
            // The host enforces the timeout of probes; a caller's request stays pending.
            if call.target != link::ALIVE {
                return std::future::pending().await;
            }
            self.pass_millis(i64::try_from(limit.as_millis()).unwrap());
            return Err(NoAnswer::Timeout);
        }
        if self.is_slow.get() && call.target != link::ALIVE {
            return std::future::pending().await;
        }
        let answer = (self.script.borrow())(call);
        self.isolate.tag_lease.borrow_mut().record_versions(&self.meanwhile.take());
        answer.map(|answer| arrived(call, answer))
    }

    async fn load(&self, key: &str) -> Option<Entry> {
        let (headers, body) = self.stored.borrow().get(key)?.clone();
        Entry::from_stored(|name| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()), body)
    }

    fn store(&self, key: &str, entry: &Rc<Entry>) {
        let (headers, body) = entry.to_stored();
        self.stored.borrow_mut().insert(key.to_owned(), (headers, body.to_vec()));
    }

    fn forget(&self, key: &str) {
        self.stored.borrow_mut().remove(key);
    }

    async fn load_asset(&self, _: &'static Asset) -> Result<(), AssetFault> {
        self.assets_asked.set(self.assets_asked.get() + 1);
        self.has_assets.get().then_some(()).ok_or_else(|| AssetFault("ASSETS is not bound".to_owned()))
    }

    async fn read_asset(&self, asset: &'static Asset) -> Result<Vec<u8>, AssetFault> {
        self.load_asset(asset).await.map(|()| Library::open().content(asset).to_vec())
    }

    fn probe_later(&self, _: RequestId, limit: Duration) {
        self.probes.borrow_mut().push(limit);
        if self.probes_land.get() {
            self.land_probe();
        }
    }

    fn log(&self, line: &str) {
        self.log.borrow_mut().push(line.to_owned());
    }
}

impl Guards for World {
    async fn key(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable> {
        self.objects.key(digest, message, self.millis.get())
    }

    async fn register(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable> {
        self.objects.register(digest, message)
    }

    async fn address(&self, shard: u8, take: &AddressTake) -> Result<Verdict, Unreachable> {
        self.objects.address(shard, take, self.millis.get())
    }

    fn report_later(&self, digest: KeyDigest) {
        self.timers.borrow_mut().push(digest);
    }

    fn reserve_later(&self, asked_at: Timestamp, question: ReserveAsk) {
        let digest = question.ask.digest;
        let answer = match self.objects.key(&digest, &KeyMessage::Reserve(question), self.millis.get()) {
            Ok(KeyReply::Reserved { record, reservation }) => reservation.map(|reservation| (record, reservation)),
            _ => None,
        };
        let lasts = self.isolate.guards.reserved.borrow_mut().end(&digest, (asked_at, self.now()), answer);
        if let Some(lasts) = lasts {
            let end = self.millis.get() + i64::try_from(lasts.as_millis()).unwrap();
            self.reservations.borrow_mut().push((end, digest));
        }
    }

    fn count_later(&self) {
        self.counts_arranged.set(self.counts_arranged.get() + 1);
    }

    async fn tag_versions(&self, message: &TagMessage) -> Result<TagReply, Unreachable> {
        self.tag_versions.exchange(message)
    }

    fn renew_lease(&self, begun: Timestamp, seen: TagVersions) {
        let limit = i64::try_from(self.config.guard_timeout.as_millis()).unwrap();
        let flight = self.tag_versions.flight_millis.get();
        let answer = self.tag_versions.exchange(&TagMessage::seen(seen)).ok().filter(|_| flight < limit);
        let lands_at = self.millis.get() + flight.min(limit);
        self.tag_versions.out.borrow_mut().push(Renewal { begun, answer, lands_at });
        self.land_questions();
    }

    fn has_replica(&self) -> bool {
        self.replica.is_bound.get()
    }

    fn refresh_replica(&self, begun: Timestamp) {
        self.fly(begun);
    }

    async fn wait(&self, duration: Duration) {
        self.pass_millis(i64::try_from(duration.as_millis()).unwrap());
    }
}

/// The tag versions' Durable Object.
#[derive(Default)]
pub struct TagVersionsObject {
    pub versions: RefCell<TagVersions>,
    pub withheld: RefCell<Withheld>,
    /// Number of calls, answered or not.
    pub asked: Cell<usize>,
    pub is_away: Cell<bool>,
    /// Round-trip time of a reply.
    pub flight_millis: Cell<i64>,
    out: RefCell<Vec<Renewal>>,
}

/// A lease renewal in flight.
struct Renewal {
    begun: Timestamp,
    answer: Option<TagReply>,
    lands_at: i64,
}

impl TagVersionsObject {
    fn exchange(&self, message: &TagMessage) -> Result<TagReply, Unreachable> {
        self.asked.set(self.asked.get() + 1);
        if self.is_away.get() {
            return Err(Unreachable("the Durable Object does not answer".to_owned()));
        }
        if let Some(withheld) = &message.withheld {
            self.withheld.borrow_mut().renew(withheld);
        }
        self.versions.borrow_mut().raise_to(&message.seen);
        Ok(TagReply { versions: *self.versions.borrow(), withheld: self.withheld.borrow().clone() })
    }
}

/// Polls once: the scripted host is always ready.
fn finished<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the pipeline waits for something that will not happen"),
    }
}
