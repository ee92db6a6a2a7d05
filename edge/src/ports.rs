//! What the pipeline needs from its host. Tests implement these traits with a scripted caller, origin, cache and clock.
//!
//! An isolate has a single thread, so the futures are not `Send`.
#![expect(async_fn_in_trait, reason = "an isolate has a single thread")]

use crate::cache::Entry;
use crate::guard::objects::message::{AddressTake, KeyMessage, KeyReply, ReserveAsk};
use crate::origin_link::signed_call::{Call, OriginAnswer};
use crate::tag_versions::{TagMessage, TagReply};
use core::net::IpAddr;
use core::time::Duration;
use rds_docs::Asset;
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::Verdict;
use rds_shared::route::TagVersions;
use rds_shared::wire::{RequestId, Timestamp};
use std::rc::Rc;

/// An incoming request. Headers are read one by one, because each read crosses into JavaScript.
pub trait Inbound {
    /// The method, upper case.
    fn method(&self) -> &str;

    /// Path and query, still encoded, without the fragment.
    fn target(&self) -> &str;

    /// A header's value, if present.
    fn header(&self, name: &str) -> Option<String>;

    /// The peer of the connection.
    fn peer(&self) -> Peer;

    /// Reads the body, at most `max_bytes`.
    async fn body(&self, max_bytes: usize) -> Result<Vec<u8>, BodyFault>;
}

/// The peer of the connection, as reported by the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A peer with this address: plain workerd without the platform in front.
    At(IpAddr),
    /// Cloudflare's front end, which names the caller in `CF-Connecting-IP`.
    Platform,
    /// The runtime reports nothing.
    Unknown,
}

/// Why the body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// Longer than the route allows.
    TooLarge,
    /// The transfer was aborted.
    Broken,
    /// Not received in time.
    Late,
}

/// Why the origin gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The call exceeded its limit.
    Timeout,
    /// The connection failed or broke; the cause is for the log.
    Unreachable(String),
}

/// Why an asset could not be loaded, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetFault(pub String);

/// The longest timeout that the host enforces. Code that allows a call more time must enforce that limit itself.
pub const MAX_HOST_TIMEOUT: Duration = Duration::from_secs(10);

/// The runtime: clock, randomness, network and the data centre's cache.
pub trait Host {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// Fresh random bytes.
    fn random(&self) -> [u8; 16];

    /// Calls the origin with timeout `limit`, which includes the body. Limits above [`MAX_HOST_TIMEOUT`] must be enforced by the caller.
    /// For a stream, `limit` covers the headers only, and the host keeps the unread body for the reply.
    async fn call(&self, call: &Call, limit: Duration) -> Result<OriginAnswer, NoAnswer>;

    /// The response cached in this data centre under `key`, if any.
    async fn load(&self, key: &str) -> Option<Entry>;

    /// Stores a response in the data centre's cache, after the reply was sent.
    fn store(&self, key: &str, entry: &Rc<Entry>);

    /// Removes a response from the data centre's cache, after the reply was sent.
    fn forget(&self, key: &str);

    /// Loads an asset and keeps it for the reply. Content of another size or hash than the asset's is a fault.
    async fn load_asset(&self, asset: &'static Asset) -> Result<(), AssetFault>;

    /// The content of an asset. Content of another size or hash than the asset's is a fault.
    async fn read_asset(&self, asset: &'static Asset) -> Result<Vec<u8>, AssetFault>;

    /// Probes the origin independently of the current request and reports the outcome to this isolate's breaker. `request_id` is the
    /// request that caused the probe, for the log; `limit` is the probe's timeout.
    fn probe_later(&self, request_id: RequestId, limit: Duration);

    /// Writes a log line. Must not contain a credential or a caller's address.
    fn log(&self, line: &str);
}

/// A Durable Object that did not answer in time or sent an unreadable answer; the cause is for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreachable(pub String);

/// The Durable Objects: rate limits of keys and addresses, the key register, and tag versions.
pub trait Guards {
    /// Sends a message to a key's Durable Object and waits for its reply.
    async fn key(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable>;

    /// Sends a message to the register shard of a key and waits for its reply.
    async fn register(&self, digest: &KeyDigest, message: &KeyMessage) -> Result<KeyReply, Unreachable>;

    /// Charges a request to an address, at the Durable Object of its shard.
    async fn address(&self, shard: u8, take: &AddressTake) -> Result<Verdict, Unreachable>;

    /// One second from now, after the reply was sent, reports the uncounted requests of a key.
    fn report_later(&self, digest: KeyDigest);

    /// Reserves requests at a key's Durable Object, independently of the current request; `asked_at` is when the reservation was started.
    /// Settles the reservation when it ends.
    fn reserve_later(&self, asked_at: Timestamp, question: ReserveAsk);

    /// A few seconds from now, after the reply was sent, reports this isolate's response counts to the tag versions' Durable Object.
    fn count_later(&self);

    /// Sends a message to the Durable Object of the tag versions, and returns what the object then knows.
    async fn tag_versions(&self, message: &TagMessage) -> Result<TagReply, Unreachable>;

    /// Exchanges tag versions with their Durable Object independently of the current request. The answer completes the lease renewal
    /// that this isolate began at `begun`. If the rows of this isolate then need an update, asks for one.
    fn renew_lease(&self, begun: Timestamp, seen: TagVersions);

    /// Whether the replica's Durable Object is bound.
    fn has_replica(&self) -> bool;

    /// Asks the replica's Durable Object for an update independently of the current request ([`crate::replica::refresh`]), and ends the question
    /// that this isolate began at `begun`.
    fn refresh_replica(&self, begun: Timestamp);

    /// Waits for `duration`.
    async fn wait(&self, duration: Duration);
}
