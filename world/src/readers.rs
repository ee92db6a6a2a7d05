//! Readers of the list in a world, the origin's changes of it, and the parts of an edge's host that they need.

use crate::disturbances::tell;
use crate::edge::{Ask, Edge, EdgeHost};
use crate::facts::{Facts, Read};
use crate::network::Site;
use crate::objects::replica::ReplicaObject;
use crate::objects::tags::TagObject;
use crate::random::Random;
use crate::runtime::Promise;
use crate::world::World;
use rds_edge::pipeline::{self, Isolate};
use rds_edge::ports::Unreachable;
use rds_edge::replica::message::Holder;
use rds_edge::replica::refresh::{ReplicaAnswer, ReplicaSource, begin_due, refresh, take_lease};
use rds_edge::tag_versions::{TagMessage, TagReply};
use rds_shared::access::link::{ReplicaAsk, TAG_INVALIDATION_PATH, TagInvalidation};
use rds_shared::pace::Pause;
use rds_shared::replica::SegmentName;
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::Timestamp;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

/// How long after an edge's clock was set back its leases may last longer, in microseconds.
const SET_BACK_MICROS: u64 = 5_000_000;

/// The origin's facts and the objects that lead them to the edges.
pub struct Publication {
    pub facts: Rc<Facts>,
    pub tags: TagObject,
    pub tag_site: Cell<Site>,
    pub replica: Option<Rc<ReplicaObject>>,
}

impl Publication {
    /// With `has_replica`, isolates hold the rows of the list.
    pub fn new(ether: &Rc<crate::ether::Ether>, keys: &[rds_shared::access::AssertionKey], has_replica: bool) -> Self {
        let facts = Rc::new(Facts::new(Timestamp::from_millis(crate::clock::START_MILLIS)));
        let replica = has_replica.then(|| ReplicaObject::new(ether, &facts, keys.to_vec(), 1));
        Publication { facts, tags: TagObject::default(), tag_site: Cell::new(0), replica }
    }
}

/// The origin changes the list again and again, and tells the edge of each change until it is acknowledged.
pub fn publish(world: &Rc<World>) {
    let (world, mut random) = (Rc::clone(world), Random::new(world.scenario.seed, 5));
    let runtime = Rc::clone(&world.ether.runtime);
    runtime.spawn(0, async move {
        loop {
            let gap = random.gap(3_000_000);
            world.ether.runtime.sleep(Duration::from_micros(gap)).await;
            let facts = &world.publication.facts;
            let version = facts.documents.borrow_mut().publish(&[], Timestamp::from_millis(world.millis()));
            world.ether.journal.line(format_args!("the origin commits change {version}"));
            let versions = TagVersions::default().with(Tag::Vaults, version);
            let Ok(body) = serde_json::to_vec(&TagInvalidation { versions, withheld: None }) else { return };
            loop {
                let site = usize::try_from(random.below(world.edges.len() as u64)).unwrap_or(0);
                let Some(edge) = world.edges.get(site) else { return };
                let answer = tell(&world, edge, TAG_INVALIDATION_PATH, body.clone(), Duration::from_secs(5)).await;
                if answer == Some(200) || answer == Some(204) {
                    break;
                }
                world.ether.runtime.sleep(Duration::from_millis(500)).await;
            }
            world.ether.journal.line(format_args!("change {version} is acknowledged"));
            facts.acknowledged.set(version);
            facts.acknowledgements.set(facts.acknowledgements.get() + 1);
        }
    });
}

/// A reader's request, from the door to the answer.
pub async fn read(world: Rc<World>, edge: Rc<Edge>, ask: Rc<Ask>) {
    let facts = Rc::clone(&world.publication.facts);
    facts.reads.set({
        let mut reads = facts.reads.get();
        reads.sent += 1;
        reads
    });
    let acknowledged = facts.acknowledged.get();
    let host = EdgeHost::new(&world, &edge);
    let reply = pipeline::handle(&*ask, &host.isolate, &world.config, &host).await;
    let now = Timestamp::from_millis(edge.clock.millis());
    let lease = host.isolate.tag_lease.borrow().state(now);
    let set_back_at = edge.set_back_at.get();
    let is_set_back = set_back_at > 0 && world.ether.runtime.now() < set_back_at + SET_BACK_MICROS;
    facts.read(&world.ether, Read { site: edge.site, acknowledged, lease, is_set_back }, &reply);
}

impl EdgeHost {
    /// Sends a message to the tag versions' object.
    pub async fn exchange_tags(&self, message: &TagMessage) -> Result<TagReply, Unreachable> {
        let (world, from, message, replied) =
            (Rc::clone(&self.world), self.edge.site, message.clone(), Promise::default());
        let back = replied.clone();
        self.world.ether.runtime.spawn(0, async move {
            let site = world.publication.tag_site.get();
            if !world.ether.network.carry(from, site).await {
                return;
            }
            world.ether.journal.line(format_args!("the tag versions receive from {from}: {}", message.seen.to_text()));
            let Some(mut reply) = world.publication.tags.exchange(&message) else { return };
            if world.ether.planted.tag_object_stores_nothing {
                world.publication.tags.restart(true);
            }
            if world.ether.planted.lease_answers_are_old {
                reply = world.publication.tags.old(world.ether.runtime.now(), reply);
            }
            if world.ether.network.carry(site, from).await {
                back.keep(reply);
            }
        });
        let limit = self.world.config.guard_timeout;
        let reply = replied.within(&self.world.ether.runtime, limit).await;
        reply.ok_or_else(|| Unreachable("no answer in time".to_owned()))
    }

    /// As the edge's `runtime::Runtime::renew_lease`.
    pub fn renew(&self, begun: Timestamp, seen: TagVersions) {
        let host = self.clone();
        self.later(async move {
            let reply = host.exchange_tags(&TagMessage::seen(seen)).await;
            let ended = Timestamp::from_millis(host.edge.clock.millis());
            take_lease(&host.isolate, (begun, ended), reply.ok());
            if host.world.publication.replica.is_some() && begin_due(&host.isolate, ended) {
                host.refresh(ended).await;
            }
        });
    }

    /// Asks the replica's object for an update.
    pub async fn refresh(&self, begun: Timestamp) {
        let isolate: Rc<Isolate> = Rc::clone(&self.isolate);
        refresh(self, &isolate, &self.world.config.verification_keys, begun).await;
    }

    /// Sends a question to the replica's object.
    async fn of_replica<T: 'static, F: Future<Output = Option<T>> + 'static>(
        &self,
        answer: impl FnOnce(Rc<ReplicaObject>) -> F + 'static,
    ) -> Result<T, Unreachable> {
        let Some(object) = self.world.publication.replica.clone() else {
            return Err(Unreachable("it is not bound".to_owned()));
        };
        let (world, from, replied) = (Rc::clone(&self.world), self.edge.site, Promise::default());
        let back = replied.clone();
        self.world.ether.runtime.spawn(0, async move {
            let site = object.site;
            if world.ether.network.carry(from, site).await
                && let Some(reply) = answer(object).await
                && world.ether.network.carry(site, from).await
            {
                back.keep(reply);
            }
        });
        let reply = replied.within(&self.world.ether.runtime, self.world.config.guard_timeout).await;
        reply.ok_or_else(|| Unreachable("no answer in time".to_owned()))
    }
}

impl Pause for EdgeHost {
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

impl ReplicaSource for EdgeHost {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.edge.clock.millis())
    }

    async fn ask(&self, ask: &ReplicaAsk, _: Holder) -> Result<ReplicaAnswer, Unreachable> {
        let ask = ask.clone();
        self.of_replica(move |object| async move { object.ask(&ask).await }).await
    }

    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, Unreachable> {
        let names = names.to_vec();
        self.of_replica(move |object| async move { Some(object.segments(&names)) }).await
    }

    async fn load(&self, part: u32) -> Option<Vec<u8>> {
        self.edge.kept.borrow().get(&part).cloned()
    }

    async fn store(&self, part: u32, bytes: Vec<u8>) {
        self.edge.kept.borrow_mut().insert(part, bytes);
    }

    fn log(&self, line: &str) {
        self.world.ether.journal.line(format_args!("edge {} logs: {line}", self.edge.site));
    }
}
