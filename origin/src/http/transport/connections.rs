//! Which connections a listener accepts, and which one is closed when there is no room for a new one.
//!
//! A connection costs a descriptor and some kilobytes long before it shows a credential. A listener therefore has two shares:
//!
//! - **Strangers** are addresses that have sent no authenticated request lately. Together they get a part of the connections (an
//!   eighth on the edge listener), and one address a quarter of that, so thousands of silent connections displace only each other.
//! - **Known peers** are addresses that sent an edge assertion, a live key or the admin token within ten minutes, and those of the
//!   allow list. They share the remaining connections. One address may use all of them, because all requests that pass a TLS proxy
//!   or a load balancer come from one address.
//!
//! In the share of known peers, a connection is *proved* once a request on it was authenticated. Unproved connections get a quarter
//! of the share, which also limits a proxy that opens a connection for every client before the client sends a request.
//!
//! When the share of known peers is full, the oldest unproved connection that waits for a request is closed. If no unproved one waits
//! and fewer than a quarter of the share are unproved, the oldest waiting proved connection is closed. Otherwise the new connection is
//! refused. A peer that was never seen, such as a balancer after a restart, connects as a stranger. The oldest connections are closed
//! first, so a new peer has time for its first request, which makes the peer known.

mod slot;

use crate::http::transport::connection_state::ConnectionState;
use crate::http::transport::listener_limits::{Bounds, Meters};
use rds_engine::clock::Stopwatch;
use rds_shared::access::ClientNet;
use rds_shared::push::address::Cidr;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

pub(in crate::http) use slot::ConnectionSlot;

/// How long a peer stays known after its last authenticated request, in seconds.
const KNOWN_SECONDS: u64 = 600;
/// Minimum time between two extensions of a peer's time as a known peer by the same connection, in seconds.
const REFRESH_SECONDS: u64 = 30;
/// Maximum known peers; the one that would expire first makes room.
const MAX_KNOWN_PEERS: usize = 4_096;
/// Minimum time between two warnings that a listener is full, in seconds.
const WARN_SECONDS: u64 = 60;

/// The connections of one listener.
#[derive(Debug)]
pub struct Connections {
    name: &'static str,
    bounds: Bounds,
    /// Addresses that may connect; all if it is empty.
    allow: Vec<Cidr>,
    began: Stopwatch,
    held: Mutex<Held>,
    head_bytes: AtomicUsize,
    warned_at: AtomicU64,
    /// Notified when the last connection has closed.
    emptied: Notify,
    pub meters: Meters,
}

/// Load of a listener: open connections by kind of peer, known peers, and bytes of incomplete heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// Proved connections of known peers.
    pub proved: usize,
    /// Unproved connections of known peers.
    pub unproved: usize,
    /// Connections of strangers.
    pub strangers: usize,
    /// Known peers, with or without an open connection.
    pub known_peers: usize,
    /// Bytes of incomplete heads on unproved connections.
    pub head_bytes: usize,
}

/// Connections by ascending number: the first is the oldest.
type Share = BTreeMap<u64, ConnectionState>;

#[derive(Debug, Default)]
struct Held {
    last: u64,
    strangers: Share,
    unproved: Share,
    proved: Share,
    by_stranger: HashMap<ClientNet, usize>,
    /// When each known peer expires, in seconds since the listener was created.
    known_peers: HashMap<ClientNet, u64>,
}

/// A connection's entry in its listener's count.
pub(in crate::http) struct ConnectionEntry {
    listener: Arc<Connections>,
    number: u64,
    peer: ClientNet,
    /// When the connection last marked its peer as known, in seconds since the listener was created, plus one; 0 before the first
    /// authenticated request.
    proved_at: AtomicU64,
    head_bytes: AtomicUsize,
    /// Whether the listener has closed the connection.
    has_ended: AtomicBool,
    is_over: Notify,
}

impl fmt::Debug for ConnectionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {} of the {} listener", self.number, self.listener.name)
    }
}

/// The share that a connection is in, and whether at least half of that share is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum PeerClass {
    /// A request on the connection was authenticated.
    Proved,
    /// The connection of a known peer, without an authenticated request.
    Unproved {
        /// Whether at least half of the slots for unproved connections are taken.
        crowded: bool,
    },
    /// The connection of a stranger.
    Stranger {
        /// Whether at least half of the slots for strangers are taken.
        crowded: bool,
    },
}

impl Connections {
    /// The listener `name`, without connections. If `allow` is not empty, only its addresses may connect.
    pub fn new(name: &'static str, bounds: Bounds, allow: Vec<Cidr>) -> Arc<Self> {
        Arc::new(Connections {
            name,
            bounds,
            allow,
            began: Stopwatch::start(),
            held: Mutex::default(),
            head_bytes: AtomicUsize::new(0),
            warned_at: AtomicU64::new(0),
            emptied: Notify::new(),
            meters: Meters::default(),
        })
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The current load.
    pub fn open(&self) -> Open {
        let (held, now) = (self.held(), self.seconds());
        Open {
            proved: held.proved.len(),
            unproved: held.unproved.len(),
            strangers: held.strangers.len(),
            known_peers: held.known_peers.values().filter(|until| now < **until).count(),
            head_bytes: self.head_bytes.load(Relaxed),
        }
    }

    /// Whether `peer` is known: it sent an authenticated request lately, or is in the allow list.
    pub fn is_known(&self, peer: IpAddr) -> bool {
        self.held().is_known(self, ClientNet::of(peer), self.seconds())
    }

    /// Completes once no connection is open.
    pub(in crate::http) async fn until_empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.held().is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// A slot for a connection from `peer`; `None` if it is refused.
    pub(in crate::http) fn take(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionSlot> {
        if !self.allow.is_empty() && !self.allow.iter().any(|block| block.contains(peer)) {
            self.meters.not_allowed.fetch_add(1, Relaxed);
            return None;
        }
        self.take_at(ClientNet::of(peer), self.seconds())
    }

    pub(in crate::http) fn take_at(self: &Arc<Self>, peer: ClientNet, now: u64) -> Option<ConnectionSlot> {
        let mut held = self.held();
        let is_known = held.is_known(self, peer, now);
        let fits = if is_known { self.make_room_for_known(&mut held) } else { self.make_room(&mut held, peer) };
        if !fits {
            drop(held);
            self.refuse(now);
            return None;
        }
        held.last += 1;
        let entry = ConnectionEntry {
            listener: self.clone(),
            number: held.last,
            peer,
            proved_at: AtomicU64::new(0),
            head_bytes: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            is_over: Notify::new(),
        };
        let (number, line) = (entry.number, ConnectionState::at(entry));
        if is_known {
            held.unproved.insert(number, line.clone());
        } else {
            held.strangers.insert(number, line.clone());
            *held.by_stranger.entry(peer).or_default() += 1;
        }
        Some(ConnectionSlot::new(line))
    }

    /// Makes room for one more connection of a stranger.
    fn make_room(&self, held: &mut Held, peer: ClientNet) -> bool {
        if held.by_stranger.get(&peer).is_some_and(|open| *open >= self.bounds.one_stranger) {
            // The address is at its own limit, so it can displace only one of its own connections.
            let own = oldest_waiting(&held.strangers, |entry| entry.peer == peer);
            return self.end(held, own);
        }
        held.strangers.len() < self.bounds.strangers || {
            let oldest = oldest_waiting(&held.strangers, |_| true);
            self.end(held, oldest)
        }
    }

    /// Makes room for one more connection of a known peer.
    fn make_room_for_known(&self, held: &mut Held) -> bool {
        let known = held.unproved.len() + held.proved.len();
        if held.unproved.len() < self.bounds.unproved && known < self.bounds.known {
            return true;
        }
        let mut oldest = oldest_waiting(&held.unproved, |_| true);
        if oldest.is_none() && held.unproved.len() < self.bounds.unproved {
            oldest = oldest_waiting(&held.proved, |_| true);
        }
        self.end(held, oldest)
    }

    /// Closes a connection; `false` if there is none to close.
    fn end(&self, held: &mut Held, number: Option<u64>) -> bool {
        let Some(line) = number.and_then(|number| held.remove(number)) else { return false };
        if let Some(entry) = line.entry() {
            entry.has_ended.store(true, Relaxed);
            entry.head_came();
            entry.is_over.notify_one();
        }
        self.meters.ended.fetch_add(1, Relaxed);
        true
    }

    /// Moves a connection to the proved ones. A stranger's connection stays in its share if no room can be made.
    fn move_to_proved(&self, held: &mut Held, number: u64) {
        let is_full = held.unproved.len() + held.proved.len() >= self.bounds.known;
        if is_full && held.strangers.contains_key(&number) {
            let oldest = oldest_waiting(&held.unproved, |_| true).or_else(|| oldest_waiting(&held.proved, |_| true));
            if !self.end(held, oldest) {
                return;
            }
        }
        if let Some(line) = held.remove(number) {
            held.proved.insert(number, line);
        }
    }

    fn refuse(&self, now: u64) {
        self.meters.refused.fetch_add(1, Relaxed);
        let warned_at = self.warned_at.load(Relaxed);
        if warned_at == 0 || now >= warned_at + WARN_SECONDS {
            self.warned_at.store(now.max(1), Relaxed);
            tracing::warn!(listener = self.name, "the listener is full: new connections are refused");
        }
    }

    /// Closes the oldest connections with incomplete heads, until the bytes of such heads are within their bound.
    fn shed_heads(&self) {
        let mut held = self.held();
        while self.head_bytes.load(Relaxed) > self.bounds.head_bytes {
            let has_some = |entry: &ConnectionEntry| entry.head_bytes.load(Relaxed) > 0;
            let oldest = oldest_waiting(&held.strangers, has_some).or_else(|| oldest_waiting(&held.unproved, has_some));
            if !self.end(&mut held, oldest) {
                return;
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds since the listener was created.
    fn seconds(&self) -> u64 {
        self.began.elapsed().as_secs()
    }
}

/// The oldest connection of `share` that waits for a request and satisfies `these`.
fn oldest_waiting(share: &Share, these: impl Fn(&ConnectionEntry) -> bool) -> Option<u64> {
    let mut waiting = share.iter().filter(|(_, line)| line.is_waiting());
    waiting.find(|(_, line)| line.entry().is_some_and(&these)).map(|(number, _)| *number)
}

impl Held {
    /// With an allow list, [`Connections::take`] admits only listed peers, and all of them count as known.
    fn is_known(&self, listener: &Connections, peer: ClientNet, now: u64) -> bool {
        !listener.allow.is_empty() || self.known_peers.get(&peer).is_some_and(|until| now < *until)
    }

    fn remove(&mut self, number: u64) -> Option<ConnectionState> {
        let Some(line) = self.strangers.remove(&number) else {
            return self.unproved.remove(&number).or_else(|| self.proved.remove(&number));
        };
        if let Some(peer) = line.entry().map(|entry| entry.peer)
            && let Some(open) = self.by_stranger.get_mut(&peer)
        {
            *open -= 1;
            if *open == 0 {
                self.by_stranger.remove(&peer);
            }
        }
        Some(line)
    }

    fn is_empty(&self) -> bool {
        self.strangers.is_empty() && self.unproved.is_empty() && self.proved.is_empty()
    }

    fn remember(&mut self, peer: ClientNet, now: u64) {
        if self.known_peers.len() >= MAX_KNOWN_PEERS && !self.known_peers.contains_key(&peer) {
            let first = self.known_peers.iter().min_by_key(|(_, until)| **until).map(|(peer, _)| *peer);
            first.inspect(|first| {
                self.known_peers.remove(first);
            });
        }
        self.known_peers.insert(peer, now + KNOWN_SECONDS);
    }
}

impl ConnectionEntry {
    /// Marks the connection as proved and its peer as known: a request on it was authenticated.
    pub(in crate::http) fn prove(&self) {
        self.prove_at(self.listener.seconds());
    }

    pub(in crate::http) fn prove_at(&self, now: u64) {
        let before = self.proved_at.load(Relaxed);
        if before != 0 && now + 1 < before + REFRESH_SECONDS {
            return;
        }
        self.proved_at.store(now + 1, Relaxed);
        self.head_came();
        let mut held = self.listener.held();
        held.remember(self.peer, now);
        if before == 0 {
            self.listener.move_to_proved(&mut held, self.number);
        }
    }

    fn is_proved(&self) -> bool {
        self.proved_at.load(Relaxed) != 0
    }

    /// The share of slots that the connection is in, and whether at least half of it is taken.
    pub(in crate::http) fn peer_class(&self) -> PeerClass {
        if self.is_proved() {
            return PeerClass::Proved;
        }
        let (held, bounds) = (self.listener.held(), self.listener.bounds);
        match held.strangers.contains_key(&self.number) {
            true => PeerClass::Stranger { crowded: held.strangers.len() * 2 >= bounds.strangers },
            false => PeerClass::Unproved { crowded: held.unproved.len() * 2 >= bounds.unproved },
        }
    }

    /// Counts received bytes of a request's head.
    pub(in crate::http) fn head_grew(&self, bytes: usize) {
        if self.is_proved() || self.has_ended.load(Relaxed) {
            return;
        }
        self.head_bytes.fetch_add(bytes, Relaxed);
        if self.listener.head_bytes.fetch_add(bytes, Relaxed) + bytes > self.listener.bounds.head_bytes {
            self.listener.shed_heads();
        }
    }

    /// Stops counting the head: it is complete, or no longer awaited.
    pub(in crate::http) fn head_came(&self) {
        self.listener.head_bytes.fetch_sub(self.head_bytes.swap(0, Relaxed), Relaxed);
    }
}
