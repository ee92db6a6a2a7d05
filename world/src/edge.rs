//! An edge: the data centre's isolate, its clock, and the host that the edge's own code runs on.

use crate::clock::Clock;
use crate::ether::Ether;
use crate::network::Site;
use crate::objects::key::KeyObject;
use crate::runtime::{Group, Promise};
use crate::world::World;
use rds_docs::Asset;
use rds_edge::cache::Entry;
use rds_edge::guard::objects::message::{AddressTake, KeyMessage, KeyReply, ReserveAsk};
use rds_edge::origin_link::calls::report_to_breaker;
use rds_edge::origin_link::retry::exchange;
use rds_edge::origin_link::signed_call::{Call, CallStamp, OriginAnswer, UnsignedCall};
use rds_edge::pipeline::Isolate;
use rds_edge::ports::{AssetFault, BodyFault, Guards, Host, Inbound, NoAnswer, Peer, Unreachable};
use rds_edge::tag_versions::{TagMessage, TagReply};
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::Verdict;
use rds_shared::access::link::KeyLookupResult;
use rds_shared::route::TagVersions;
use rds_shared::wire::{RequestId, Timestamp};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Clocks of isolates have a resolution of a millisecond, and a timer may fire that much early or late.
const CLOCK_MICROS: u64 = 2_000;

/// An edge through all its isolates.
pub struct Edge {
    pub site: Site,
    pub clock: Clock,
    isolate: RefCell<Rc<Isolate>>,
    group: Cell<Group>,
    /// When the clock was last set back, in microseconds; a reservation may then last longer.
    pub set_back_at: Cell<u64>,
    /// The data centre's cache: responses, and the parts of the replica's state. It outlives isolates.
    pub stored: RefCell<BTreeMap<String, StoredResponse>>,
    pub kept: RefCell<BTreeMap<u32, Vec<u8>>>,
}

/// Headers and body of a response in the data centre's cache.
type StoredResponse = (Vec<(String, String)>, Vec<u8>);

impl Edge {
    pub fn new(ether: &Ether, site: Site) -> Self {
        let clock = Clock::new(Rc::clone(&ether.runtime), ether.skew, &mut ether.random.borrow_mut());
        let (isolate, group) = (RefCell::default(), Cell::new(ether.runtime.group()));
        let (stored, kept) = (RefCell::default(), RefCell::default());
        Edge { site, clock, isolate, group, set_back_at: Cell::new(0), stored, kept }
    }

    pub fn isolate(&self) -> Rc<Isolate> {
        Rc::clone(&self.isolate.borrow())
    }

    pub fn group(&self) -> Group {
        self.group.get()
    }

    /// Ends the isolate with its memory and its requests, and starts another.
    pub fn evict(&self, ether: &Ether) {
        ether.runtime.end(self.group.get());
        self.group.set(ether.runtime.group());
        self.isolate.replace(Rc::default());
        ether.journal.line(format_args!("edge {} starts a new isolate", self.site));
    }
}

/// A request as its caller sends it.
#[derive(Debug, Clone)]
pub struct Ask {
    pub method: &'static str,
    pub target: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Inbound for Ask {
    fn method(&self) -> &str {
        self.method
    }

    fn target(&self) -> &str {
        self.target
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn peer(&self) -> Peer {
        Peer::At([127, 0, 0, 1].into())
    }

    async fn body(&self, max_bytes: usize) -> Result<Vec<u8>, BodyFault> {
        if self.body.len() > max_bytes { Err(BodyFault::TooLarge) } else { Ok(self.body.clone()) }
    }
}

/// The host of one request, or of work that outlives it.
#[derive(Clone)]
pub struct EdgeHost {
    pub world: Rc<World>,
    pub edge: Rc<Edge>,
    /// The isolate that the work began in.
    pub isolate: Rc<Isolate>,
    /// Whether this request was sent to its key's object.
    pub has_asked: Cell<bool>,
}

impl EdgeHost {
    pub fn new(world: &Rc<World>, edge: &Rc<Edge>) -> Self {
        EdgeHost {
            world: Rc::clone(world),
            edge: Rc::clone(edge),
            isolate: edge.isolate(),
            has_asked: Cell::new(false),
        }
    }

    fn ether(&self) -> &Rc<Ether> {
        &self.world.ether
    }

    /// Runs `work` in this isolate beside the request.
    pub fn later(&self, work: impl Future<Output = ()> + 'static) {
        self.ether().runtime.spawn(self.edge.group(), work);
    }

    /// Sends a message to a key's object and waits for the reply, at most `limit`. The object receives the message whether or not the
    /// caller still waits.
    async fn send(&self, object: Rc<KeyObject>, message: KeyMessage, limit: Duration) -> Result<KeyReply, Unreachable> {
        let replied = Promise::default();
        let (ether, from, back) = (Rc::clone(self.ether()), self.edge.site, replied.clone());
        self.world.ledger.borrow_mut().called(&object.digest);
        self.ether().runtime.spawn(0, async move {
            let instance = object.instance();
            if !ether.network.carry(from, instance.site()).await {
                return;
            }
            // A message that was on its way while the object restarted reaches the old instance, if that still runs.
            let respond = Promise::default();
            ether.journal.line(format_args!("key {} receives from {from}: {message:?}", object.record.get().id));
            instance.receive(message, respond.clone());
            let Some(reply) = respond.within(&ether.runtime, Duration::from_secs(30)).await else { return };
            if ether.network.carry(instance.site(), from).await {
                back.keep(reply);
            }
        });
        replied.within(&self.ether().runtime, limit).await.ok_or_else(|| Unreachable("no answer in time".to_owned()))
    }
}

impl Host for EdgeHost {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.edge.clock.millis())
    }

    fn random(&self) -> [u8; 16] {
        self.ether().random.borrow_mut().bytes()
    }

    async fn call(&self, call: &Call, limit: Duration) -> Result<OriginAnswer, NoAnswer> {
        let (world, from, call, replied) = (Rc::clone(&self.world), self.edge.site, call.clone(), Promise::default());
        let back = replied.clone();
        self.ether().runtime.spawn(0, async move {
            let (network, site) = (&world.ether.network, world.ether.origin_site);
            if !network.carry(from, site).await {
                return;
            }
            let answer = world.publication.facts.answer(&world.ether, &call);
            if network.carry(site, from).await {
                back.keep(answer);
            }
        });
        replied.within(&self.ether().runtime, limit).await.ok_or(NoAnswer::Timeout)
    }

    async fn load(&self, key: &str) -> Option<Entry> {
        let (headers, body) = self.edge.stored.borrow().get(key)?.clone();
        Entry::from_stored(|name| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()), body)
    }

    fn store(&self, key: &str, entry: &Rc<Entry>) {
        let (headers, body) = entry.to_stored();
        self.edge.stored.borrow_mut().insert(key.to_owned(), (headers, body.to_vec()));
    }

    fn forget(&self, key: &str) {
        self.edge.stored.borrow_mut().remove(key);
    }

    async fn load_asset(&self, _: &'static Asset) -> Result<(), AssetFault> {
        Err(AssetFault("this world has no assets".to_owned()))
    }

    async fn read_asset(&self, _: &'static Asset) -> Result<Vec<u8>, AssetFault> {
        Err(AssetFault("this world has no assets".to_owned()))
    }

    fn probe_later(&self, request_id: RequestId, limit: Duration) {
        let host = self.clone();
        self.later(async move {
            let stamp = || CallStamp { now: host.now(), nonce: host.random() };
            let send = async |call: &Call, limit| host.call(call, limit).await;
            let question = UnsignedCall::alive(request_id);
            let outcome = exchange(&host.world.config.assertion_key, &question, limit, stamp, send).await;
            report_to_breaker(&mut host.isolate.breaker.borrow_mut(), host.now(), &outcome);
        });
    }

    fn log(&self, line: &str) {
        // A request's id is random text of the seed, so the line is the same in every run.
        self.ether().journal.line(format_args!("edge {} logs: {line}", self.edge.site));
    }
}

impl Guards for EdgeHost {
    async fn key(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable> {
        let Some(object) = self.world.key_object(digest) else { return Ok(KeyReply::Rejected) };
        if matches!(message, KeyMessage::Ask(_)) {
            self.has_asked.set(true);
        }
        let known = matches!(message, KeyMessage::Update { .. }) || self.isolate.guards.spray.borrow().knows(digest);
        let config = &self.world.config;
        let origin = if known { Duration::ZERO } else { config.origin_timeout };
        self.send(object, message.clone(), config.guard_timeout + origin).await
    }

    async fn register(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable> {
        let (ether, world) = (Rc::clone(self.ether()), Rc::clone(&self.world));
        let (from, digest, message, replied) = (self.edge.site, *digest, message.clone(), Promise::default());
        let back = replied.clone();
        self.ether().runtime.spawn(0, async move {
            let site = world.register_site;
            if !ether.network.carry(from, site).await {
                return;
            }
            let known = world.registers.known(&digest, world.millis());
            let reply = match (&message, known) {
                (KeyMessage::List { .. }, _) | (_, None) => {
                    // Both ways to the origin; a listing by the origin's own message needs none, and is rare.
                    if !(ether.network.carry(site, ether.origin_site).await
                        && ether.network.carry(ether.origin_site, site).await)
                    {
                        return;
                    }
                    let answer = match world.key_object(&digest) {
                        Some(object) => KeyLookupResult::Known { record: object.record.get() },
                        None => KeyLookupResult::Unknown,
                    };
                    match (world.registers.answered(&digest, &answer, world.millis()), &message) {
                        (KeyReply::Listed, KeyMessage::List { .. }) => KeyReply::Done,
                        (reply, _) => reply,
                    }
                }
                (_, Some(reply)) => reply,
            };
            if ether.network.carry(site, from).await {
                back.keep(reply);
            }
        });
        let limit = self.world.config.guard_timeout + self.world.config.origin_timeout;
        replied.within(&self.ether().runtime, limit).await.ok_or_else(|| Unreachable("no answer in time".to_owned()))
    }

    async fn address(&self, shard: u8, take: &AddressTake) -> Result<Verdict, Unreachable> {
        let (ether, world) = (Rc::clone(self.ether()), Rc::clone(&self.world));
        let (from, take, replied) = (self.edge.site, take.clone(), Promise::default());
        let back = replied.clone();
        self.ether().runtime.spawn(0, async move {
            let (site, object) = world.address_object(shard);
            if !ether.network.carry(from, site).await {
                return;
            }
            let now = world.millis().div_euclid(1_000);
            let Some(verdict) = object.take(&take, now) else { return };
            if verdict.admitted {
                world.ledger.borrow_mut().address_admitted(&ether, &take, now);
            }
            if ether.network.carry(site, from).await {
                back.keep(verdict);
            }
        });
        let limit = self.world.config.guard_timeout;
        replied.within(&self.ether().runtime, limit).await.ok_or_else(|| Unreachable("no answer in time".to_owned()))
    }

    fn report_later(&self, digest: KeyDigest) {
        let host = self.clone();
        self.later(async move {
            host.ether().runtime.sleep(Duration::from_secs(1)).await;
            let tally = host.isolate.guards.reports.borrow_mut().take(&digest);
            if !tally.is_empty() {
                let _ = host.key(&digest, &KeyMessage::Report { tally }).await;
            }
        });
    }

    /// As the edge's `runtime::Runtime::reserve_later`.
    fn reserve_later(&self, asked_at: Timestamp, question: ReserveAsk) {
        let host = self.clone();
        let sent_at = self.ether().runtime.now();
        self.later(async move {
            let digest = question.ask.digest;
            let mut answer = match host.key(&digest, &KeyMessage::Reserve(question)).await {
                Ok(KeyReply::Reserved { record, reservation }) => reservation.map(|reservation| (record, reservation)),
                _ => None,
            };
            if let Some((_, reservation)) = &mut answer {
                let end = sent_at + u64::from(reservation.lasts) * 1_000 + CLOCK_MICROS;
                host.world.ledger.borrow_mut().reserved(host.edge.site, digest, end);
                if host.ether().planted.reservation_outlives_its_end {
                    reservation.lasts = 3_000;
                }
            }
            let lasts = host.isolate.guards.reserved.borrow_mut().end(&digest, (asked_at, host.now()), answer);
            let Some(lasts) = lasts else { return };
            host.wait(lasts + Duration::from_millis(1)).await;
            let mut settled = host.isolate.guards.reserved.borrow_mut().over(&digest, host.now());
            if settled.is_empty() {
                return;
            }
            if host.ether().planted.settlement_hides_requests {
                settled.iter_mut().for_each(|settled| settled.spent.clear());
            }
            let _ = host.key(&digest, &KeyMessage::Settle { settled }).await;
        });
    }

    fn count_later(&self) {}

    async fn tag_versions(&self, message: &TagMessage) -> Result<TagReply, Unreachable> {
        self.exchange_tags(message).await
    }

    fn renew_lease(&self, begun: Timestamp, seen: TagVersions) {
        self.renew(begun, seen);
    }

    fn has_replica(&self) -> bool {
        self.world.publication.replica.is_some()
    }

    fn refresh_replica(&self, begun: Timestamp) {
        let host = self.clone();
        self.later(async move { host.refresh(begun).await });
    }

    async fn wait(&self, duration: Duration) {
        // Only acknowledgements wait for a second.
        if self.ether().planted.acknowledgement_does_not_wait && duration == Duration::from_secs(1) {
            return;
        }
        self.ether().runtime.sleep(duration).await;
    }
}
