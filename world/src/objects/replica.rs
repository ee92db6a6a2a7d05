//! The replica's Durable Object: the edge's [`Store`] and [`pull`] on a simulated disk.

use crate::ether::Ether;
use crate::facts::Facts;
use crate::network::Site;
use crate::runtime::Promise;
use rds_edge::guard::DiskFault;
use rds_edge::guard::objects::single_flight::SingleFlight;
use rds_edge::replica::pull::{self, PullFault, ReplicaOrigin};
use rds_edge::replica::refresh::ReplicaAnswer;
use rds_edge::replica::store::{Change, ReplicaDisk, Store, Stored};
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{ReplicaAsk, put_part};
use rds_shared::pace::Pause;
use rds_shared::replica::SegmentName;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// How long a question of an isolate waits for the origin.
const PATIENCE: Duration = Duration::from_millis(500);
/// Timeout of a call to the origin.
const ORIGIN_TIMEOUT: Duration = Duration::from_millis(2_500);

/// The object through all its instances.
pub struct ReplicaObject {
    pub site: Site,
    ether: Rc<Ether>,
    facts: Rc<Facts>,
    keys: Vec<AssertionKey>,
    disk: Rc<Disk>,
    store: RefCell<Rc<Store<Disked>>>,
    pulls: Rc<SingleFlight>,
    rests_until: Cell<i64>,
}

#[derive(Default)]
struct Disk {
    stored: RefCell<Option<Stored>>,
    segments: RefCell<BTreeMap<SegmentName, Vec<u8>>>,
}

/// The disk as an instance has it.
#[derive(Clone)]
struct Disked(Rc<Disk>);

impl ReplicaDisk for Disked {
    fn read(&self) -> Result<Option<Stored>, DiskFault> {
        Ok(self.0.stored.borrow().clone())
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        let mut slot = self.0.stored.borrow_mut();
        let empty = || Stored { stamp: Vec::new(), confirmed_at: 0, manifest: Vec::new(), deltas: Vec::new() };
        let mut stored = slot.take().unwrap_or_else(empty);
        stored.stamp = change.stamp.to_vec();
        stored.confirmed_at = change.confirmed_at;
        if let Some((manifest, names)) = &change.manifest {
            stored.manifest = manifest.to_vec();
            self.0.segments.borrow_mut().retain(|name, _| names.contains(name));
        }
        stored.deltas.extend(change.added.iter().map(|(number, bytes)| (*number, bytes.to_vec())));
        stored.deltas.retain(|(number, _)| !change.dropped.contains(number));
        *slot = Some(stored);
        Ok(())
    }

    fn lacking(&self, names: &[SegmentName]) -> Result<Vec<SegmentName>, DiskFault> {
        let known = self.0.segments.borrow();
        Ok(names.iter().filter(|name| !known.contains_key(name)).copied().collect())
    }

    fn segment(&self, name: &SegmentName) -> Result<Option<Vec<u8>>, DiskFault> {
        Ok(self.0.segments.borrow().get(name).cloned())
    }

    fn delete_segment(&self, name: &SegmentName) -> Result<(), DiskFault> {
        self.0.segments.borrow_mut().remove(name);
        Ok(())
    }

    fn put_segments(&self, segments: &[(SegmentName, &[u8])]) -> Result<(), DiskFault> {
        self.0.segments.borrow_mut().extend(segments.iter().map(|(name, bytes)| (*name, bytes.to_vec())));
        Ok(())
    }
}

impl ReplicaObject {
    pub fn new(ether: &Rc<Ether>, facts: &Rc<Facts>, keys: Vec<AssertionKey>, site: Site) -> Rc<Self> {
        let disk = Rc::<Disk>::default();
        let store = Rc::new(Store::new(Disked(Rc::clone(&disk)), keys.clone()));
        Rc::new(ReplicaObject {
            site,
            ether: Rc::clone(ether),
            facts: Rc::clone(facts),
            keys,
            disk,
            store: store.into(),
            pulls: Rc::default(),
            rests_until: Cell::new(0),
        })
    }

    /// Loses the memory; the disk stays.
    pub fn restart(&self) {
        self.store.replace(Rc::new(Store::new(Disked(Rc::clone(&self.disk)), self.keys.clone())));
    }

    fn store(&self) -> Rc<Store<Disked>> {
        Rc::clone(&self.store.borrow())
    }

    /// Answers an isolate, as the edge's `replica::object` does.
    pub async fn ask(self: &Rc<Self>, ask: &ReplicaAsk) -> Option<ReplicaAnswer> {
        let store = self.store();
        let mut late = pin!(self.ether.runtime.sleep(PATIENCE));
        for _ in 0..2 {
            if !pull::is_due(&store, &ask.covering, self.now()).ok()? {
                break;
            }
            self.begin(ask);
            let mut ended = pin!(self.pulls.done());
            let is_over = std::future::poll_fn(|context| match ended.as_mut().poll(context) {
                Poll::Ready(_) => Poll::Ready(true),
                Poll::Pending => late.as_mut().poll(context).map(|()| false),
            });
            if !is_over.await {
                break;
            }
        }
        let kept = store.kept().ok()??;
        let age = u64::try_from(self.now().saturating_sub(kept.confirmed_at)).unwrap_or(0);
        Some(ReplicaAnswer { update: kept.update_for(ask).encode(), age: Duration::from_millis(age) })
    }

    fn begin(self: &Rc<Self>, ask: &ReplicaAsk) {
        if self.now() < self.rests_until.get() {
            return;
        }
        let Some(ticket) = self.pulls.begin() else { return };
        let (object, covering) = (Rc::clone(self), ask.covering);
        self.ether.runtime.spawn(0, async move {
            if let Err(fault) = pull::pull(&*object.store(), &*object, covering).await {
                object.rests_until.set(object.now().saturating_add(fault.pause()));
            }
            drop(ticket);
        });
    }

    /// The segments that are stored; an empty part for each other.
    pub fn segments(&self, names: &[SegmentName]) -> Vec<u8> {
        let (store, mut body) = (self.store(), Vec::new());
        for name in names {
            put_part(&store.segment(name).ok().flatten().unwrap_or_default(), &mut body);
        }
        body
    }

    /// Asks the origin for bytes that `answer` makes there.
    async fn of_origin(&self, answer: impl FnOnce(&Facts) -> Vec<u8> + 'static) -> Result<Vec<u8>, PullFault> {
        let replied = Promise::default();
        let (ether, facts, back, site) = (Rc::clone(&self.ether), Rc::clone(&self.facts), replied.clone(), self.site);
        self.ether.runtime.spawn(0, async move {
            if ether.network.carry(site, ether.origin_site).await {
                let bytes = answer(&facts);
                if ether.network.carry(ether.origin_site, site).await {
                    back.keep(bytes);
                }
            }
        });
        let bytes = replied.within(&self.ether.runtime, ORIGIN_TIMEOUT).await;
        bytes.ok_or_else(|| PullFault::Unreachable("no answer in time".to_owned()))
    }
}

impl Pause for ReplicaObject {
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

impl ReplicaOrigin for ReplicaObject {
    fn now(&self) -> i64 {
        crate::clock::true_millis(&self.ether.runtime)
    }

    async fn replica(&self, ask: &ReplicaAsk) -> Result<Vec<u8>, PullFault> {
        let ask = ask.clone();
        self.of_origin(move |facts| facts.documents.borrow_mut().update(&ask).encode()).await
    }

    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, PullFault> {
        let names = names.to_vec();
        self.of_origin(move |facts| facts.documents.borrow().segments_of(&names)).await
    }

    fn log(&self, line: &str) {
        self.ether.journal.line(format_args!("the replica's object logs: {line}"));
    }
}
