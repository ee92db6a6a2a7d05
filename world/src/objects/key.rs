//! The Durable Object of a key: the edge's [`KeyGuard`] and [`answers`] on a simulated disk. An instance that ends loses its memory and what
//! it was doing; its disk stays. The next instance may start elsewhere and with another clock.

use super::commit::{Group as Commit, Joined};
use super::disk::{Disk, Platter};
use crate::clock::Clock;
use crate::ether::Ether;
use crate::network::Site;
use crate::runtime::{Group, Promise};
use rds_edge::guard::DiskFault;
use rds_edge::guard::keys::answers::{self, Held, KeyHost, WaitingAsk};
use rds_edge::guard::keys::state::KeyGuard;
use rds_edge::guard::objects::message::{KeyAsk, KeyMessage, KeyReply};
use rds_edge::guard::objects::single_flight::SingleFlight;
use rds_shared::access::link::{KeyLookupResponse, KeyLookupResult};
use rds_shared::access::{KeyDigest, KeyRecord};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

/// Time of a commit.
const COMMIT: Duration = Duration::from_millis(1);
/// Timeout of a call to the origin.
const ORIGIN_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Where replies go.
pub type Respond = Promise<KeyReply>;

/// A key's Durable Object through all its instances.
pub struct KeyObject {
    pub digest: KeyDigest,
    /// The record at the origin.
    pub record: Cell<KeyRecord>,
    ether: Rc<Ether>,
    platter: RefCell<Rc<Platter>>,
    instance: RefCell<Instance>,
    /// Usage that the origin received: requests by number of the batch.
    pub reported: Cell<u64>,
    batches: Cell<u64>,
}

/// One instance. Clones share it.
#[derive(Clone)]
pub struct Instance(Rc<Inner>);

struct Inner {
    ether: Rc<Ether>,
    site: Site,
    clock: Clock,
    group: Group,
    disk: Disk,
    machine: RefCell<Option<KeyGuard>>,
    held: Held<Waiting>,
    look_up: Rc<SingleFlight>,
    commit: Rc<Commit<Waiting>>,
    owner: RefCell<std::rc::Weak<KeyObject>>,
    alarm_is_set: Cell<bool>,
}

pub struct Waiting {
    ask: KeyAsk,
    respond: Respond,
}

impl WaitingAsk for Waiting {
    fn ask(&self) -> &KeyAsk {
        &self.ask
    }

    fn answer(self, reply: &KeyReply) {
        self.respond.keep(reply.clone());
    }
}

impl KeyObject {
    pub fn new(ether: &Rc<Ether>, digest: KeyDigest, record: KeyRecord, site: Site) -> Rc<Self> {
        let platter = Rc::<Platter>::default();
        let instance = Instance::new(ether, &platter, site);
        let object = Rc::new(KeyObject {
            digest,
            record: Cell::new(record),
            ether: Rc::clone(ether),
            platter: platter.into(),
            instance: instance.clone().into(),
            reported: Cell::new(0),
            batches: Cell::new(0),
        });
        instance.0.owner.replace(Rc::downgrade(&object));
        object
    }

    pub fn instance(&self) -> Instance {
        self.instance.borrow().clone()
    }

    /// Ends the instance and starts another at `site`. Unless `is_fenced`, the old one continues beside it for the messages that it has, but
    /// has lost its disk.
    pub fn restart(self: &Rc<Self>, site: Site, is_fenced: bool) {
        let old = self.instance();
        if is_fenced {
            self.ether.runtime.end(old.0.group);
        }
        if self.ether.planted.object_forgets_its_disk {
            self.platter.replace(Rc::default());
        }
        let next = Instance::new(&self.ether, &self.platter.borrow(), site);
        next.0.owner.replace(Rc::downgrade(self));
        self.ether.journal.line(format_args!("key {} restarts at {site}", self.record.get().id));
        self.instance.replace(next);
    }
}

impl Instance {
    fn new(ether: &Rc<Ether>, platter: &Rc<Platter>, site: Site) -> Self {
        let clock = Clock::new(Rc::clone(&ether.runtime), ether.skew, &mut ether.random.borrow_mut());
        Instance(Rc::new(Inner {
            ether: Rc::clone(ether),
            site,
            clock,
            group: ether.runtime.group(),
            disk: platter.instance().disk,
            machine: RefCell::new(None),
            held: Held::default(),
            look_up: Rc::default(),
            commit: Rc::default(),
            owner: RefCell::default(),
            alarm_is_set: Cell::new(false),
        }))
    }

    /// Receives a message, as the edge's `object::KeyGuard::fetch` does.
    pub fn receive(&self, message: KeyMessage, respond: Respond) {
        let ask = match message {
            KeyMessage::Ask(ask) => {
                answers::take_reports(self, &ask);
                ask
            }
            KeyMessage::Reserve(asked) => {
                answers::take_reports(self, &asked.ask);
                return respond.keep(answers::reserve(self, &asked));
            }
            KeyMessage::Settle { settled } => return respond.keep(answers::settle(self, &settled)),
            KeyMessage::Update { digest, record } => return respond.keep(answers::update(self, digest, record)),
            KeyMessage::Report { tally } => return respond.keep(answers::report(self, &tally)),
            KeyMessage::List { .. } | KeyMessage::LookUp(_) => return respond.keep(KeyReply::Unable),
        };
        match self.0.commit.join(Waiting { ask, respond }) {
            Joined::First => {
                let object = self.clone();
                self.spawn(async move {
                    object.0.ether.runtime.sleep(COMMIT).await;
                    answers::answer(&object, object.0.commit.take());
                });
            }
            Joined::Full => answers::answer(self, self.0.commit.take()),
            Joined::Waits => {}
        }
    }

    pub fn site(&self) -> Site {
        self.0.site
    }

    pub fn set_clock_by(&self, micros: i64) {
        self.0.clock.set_by(micros);
    }

    /// Sends the closed windows to the origin, batch by batch, as the edge's `origin_calls::flush` does.
    async fn flush(self) {
        self.0.alarm_is_set.set(false);
        loop {
            let now = self.now_millis().div_euclid(1_000);
            let Ok(Some(batch)) = self.with(|machine, disk| machine.next_batch(disk, now)) else { break };
            if !self.reaches_origin().await {
                break;
            }
            let Some(owner) = self.0.owner.borrow().upgrade() else { break };
            if batch.sequence > owner.batches.get() {
                owner.batches.set(batch.sequence);
                let served: u64 = batch.rows.iter().map(|row| row.served).sum();
                owner.reported.set(owner.reported.get() + served);
            }
            if !self.reaches_origin().await {
                break;
            }
            let _ = self.with(|machine, disk| machine.acknowledged(disk, batch.sequence));
        }
        if self.with(|machine, disk| machine.owes(disk)).unwrap_or(true) {
            self.arrange_delivery();
        }
    }

    /// Carries one message between this object and the origin.
    async fn reaches_origin(&self) -> bool {
        self.0.ether.network.carry(self.0.site, self.0.ether.origin_site).await
    }
}

impl KeyHost for Instance {
    type Disk = Disk;
    type Waiting = Waiting;

    fn with<T>(&self, step: impl FnOnce(&mut KeyGuard, &Disk) -> Result<T, DiskFault>) -> Result<T, DiskFault> {
        let mut slot = self.0.machine.borrow_mut();
        let outcome = (|| {
            let machine = match slot.take() {
                Some(machine) => machine,
                None => KeyGuard::load(&self.0.disk)?,
            };
            step(slot.insert(machine), &self.0.disk)
        })();
        if outcome.is_err() {
            *slot = None;
        }
        outcome
    }

    fn held(&self) -> &Held<Waiting> {
        &self.0.held
    }

    fn key_look_up(&self) -> &SingleFlight {
        &self.0.look_up
    }

    fn now_millis(&self) -> i64 {
        self.0.clock.millis()
    }

    fn random(&self) -> [u8; 16] {
        self.0.ether.random.borrow_mut().bytes()
    }

    fn start_look_up(&self, ask: &KeyAsk) {
        let Some(ticket) = self.0.look_up.begin() else { return };
        let (object, digest) = (self.clone(), ask.digest);
        let asked_at = self.now_millis();
        self.spawn(async move {
            let reply = Promise::default();
            let (asking, answered) = (object.clone(), reply.clone());
            object.spawn(async move {
                if !asking.reaches_origin().await {
                    return;
                }
                let owner = asking.0.owner.borrow().upgrade().map(|owner| owner.record.get());
                if let Some(owner) = owner
                    && asking.reaches_origin().await
                {
                    answered.keep(KeyLookupResponse { answer: KeyLookupResult::Known { record: owner }, told: true });
                }
            });
            let answer = reply.within(&object.0.ether.runtime, ORIGIN_TIMEOUT).await;
            answers::looked_up(&object, digest, answer.as_ref(), asked_at);
            drop(ticket);
        });
    }

    fn arrange_delivery(&self) {
        if self.0.alarm_is_set.replace(true) {
            return;
        }
        let now = self.now_millis();
        let wait = (now.div_euclid(60_000) + 1) * 60_000 + 4_000 - now;
        let object = self.clone();
        self.spawn(async move {
            object.0.ether.runtime.sleep(Duration::from_millis(wait.unsigned_abs())).await;
            object.flush().await;
        });
    }

    fn wait(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.0.ether.runtime.sleep(duration)
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        self.0.ether.runtime.spawn(self.0.group, work);
    }
}
