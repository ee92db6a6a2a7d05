//! What the pipeline asks of its host: the seams at which tests put a scripted caller, origin, cache and clock.
//!
//! One isolate is one thread, so the futures are not `Send`.
#![expect(async_fn_in_trait, reason = "the futures stay on the isolate's one thread")]

use crate::cache::Entry;
use crate::guard::message::{AddressTake, KeyMessage, KeyReply, ReserveAsk};
use crate::origin::{Call, OriginAnswer};
use core::net::IpAddr;
use core::time::Duration;
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::Verdict;
use rds_shared::route::TagVersions;
use rds_shared::wire::{RequestId, Timestamp};
use std::rc::Rc;

/// A request as it came in. Headers are read one by one, because each reading crosses into JavaScript.
pub trait Inbound {
    /// The method, upper case.
    fn method(&self) -> &str;

    /// Path and query, still encoded, without the fragment.
    fn target(&self) -> &str;

    /// A header's value, if the header is there.
    fn header(&self, name: &str) -> Option<String>;

    /// Who connected.
    fn peer(&self) -> Peer;

    /// The body, read no further than `max_bytes`.
    async fn body(&self, max_bytes: usize) -> Result<Vec<u8>, BodyFault>;
}

/// Who connected to the Worker, as far as its runtime says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Somebody at this address: the runtime stands alone.
    At(IpAddr),
    /// The platform's own front, which names the caller in `CF-Connecting-IP`.
    Platform,
    /// The runtime says nothing.
    Unknown,
}

/// Why a body could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// It is longer than the route takes.
    TooLarge,
    /// The caller broke it off.
    Broken,
    /// It did not come in time.
    Late,
}

/// Why the origin gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// It took longer than the call allowed.
    Timeout,
    /// No connection, or one that broke; the cause is for the log.
    Unreachable(String),
}

/// The longest limit of a call that the host keeps itself. Whoever allows more looks after the call meanwhile, and gives up on it: one
/// timer is enough for the many calls that are answered at once.
pub const LONG: Duration = Duration::from_secs(10);

/// The runtime: clock, randomness, network and the data centre's cache.
pub trait Host {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// Fresh random bytes.
    fn random(&self) -> [u8; 16];

    /// Asks the origin, and gives up after `limit`, which covers the body too. Limits above [`LONG`] are left to the asker. The body of a stream that was asked for is kept
    /// aside, whole and unread, for the reply; `limit` covers its headers.
    async fn call(&self, call: &Call, limit: Duration) -> Result<OriginAnswer, NoAnswer>;

    /// The data centre's copy under `key`, if there is one and the cache answers.
    async fn load(&self, key: &str) -> Option<Entry>;

    /// Stores a copy in the data centre's cache, after the answer has gone out.
    fn store(&self, key: &str, entry: &Rc<Entry>);

    /// Removes a copy from the data centre's cache, after the answer has gone out.
    fn forget(&self, key: &str);

    /// Asks beside the request, however that goes on, whether the origin is there, and tells this isolate's breaker. The log names
    /// `request_id`, on whose occasion it is asked; `limit` is for the answer.
    fn probe_later(&self, request_id: RequestId, limit: Duration);

    /// Writes a line for the operator. Never with a credential or a caller's address in it.
    fn log(&self, line: &str);
}

/// An object that gave no answer in time, or no answer that can be read; the cause is for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreachable(pub String);

/// The way to the objects: those that count, and the one that keeps the versions of tags.
pub trait Guards {
    /// Tells a key's object something, and waits for its reply.
    async fn key(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable>;

    /// Tells the register that has a key something, and waits for its reply.
    async fn register(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable>;

    /// Charges a request to an address, at the object of its shard.
    async fn address(&self, shard: u8, take: &AddressTake) -> Result<Verdict, Unreachable>;

    /// In a second, after the answer has gone out, sends what there is to report of a key by then.
    fn report_later(&self, digest: KeyDigest);

    /// Asks a key's object to reserve requests, beside the request, however that goes on: the question was begun at `asked_at`.
    /// When what it reserves is over, that is told.
    fn reserve_later(&self, asked_at: Timestamp, question: ReserveAsk);

    /// In some seconds, after the answer has gone out, tells the object of the versions what this isolate answered by then.
    fn count_later(&self);

    /// Tells the object of the versions what was seen of them, and hears all that are known.
    async fn epochs(&self, seen: &TagVersions) -> Result<TagVersions, Unreachable>;

    /// The same beside the request, however that goes on: the answer ends the question that this isolate's lease began at
    /// `begun`.
    fn renew_lease(&self, begun: Timestamp, seen: TagVersions);

    /// Lets time pass.
    async fn wait(&self, duration: Duration);
}
