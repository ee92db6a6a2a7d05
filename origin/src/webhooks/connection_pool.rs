//! A pool of connections to receivers: the next delivery to the same host and port needs no handshake.
//!
//! Reuse does not weaken the address check: an attempt takes a connection only if the peer's address is among those that the attempt's own
//! look-up returned and the egress filter permitted.

use axum::body::Body;
use hyper::client::conn::http1::SendRequest;
use rds_engine::clock::Stopwatch;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Maximum pooled connections.
const MAX_CONNECTIONS: usize = 256;
/// How long a connection stays pooled without a delivery: less than common servers' idle timeouts, so that a delivery seldom meets a
/// closing connection.
const MAX_IDLE: Duration = Duration::from_secs(2);
/// Maximum age of a connection, so that a receiver's new certificate or new host behind the address is noticed soon.
const MAX_AGE: Duration = Duration::from_secs(60);

/// The destination of a connection: the URL's host as written, for which the certificate was checked, and the port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    pub host: String,
    pub port: u16,
}

/// An open connection, which is closed when this is dropped.
#[derive(Debug)]
pub struct PooledConnection {
    pub requests: SendRequest<Body>,
    peer: IpAddr,
    opened: Stopwatch,
    unused: Stopwatch,
    driving: JoinHandle<()>,
}

impl PooledConnection {
    /// A connection to `peer`, driven by the task `driving`.
    pub fn new(requests: SendRequest<Body>, peer: IpAddr, driving: JoinHandle<()>) -> Self {
        PooledConnection { requests, peer, opened: Stopwatch::start(), unused: Stopwatch::start(), driving }
    }

    fn is_usable(&self) -> bool {
        let within = |watch: Stopwatch, limit: Duration| Duration::from_micros(watch.micros()) < limit;
        self.requests.is_ready() && within(self.unused, MAX_IDLE) && within(self.opened, MAX_AGE)
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        // The task must not outlive the connection's owner.
        self.driving.abort();
    }
}

/// The pooled connections.
#[derive(Debug, Default)]
pub struct ConnectionPool(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    by_destination: HashMap<Destination, Vec<PooledConnection>>,
    /// Number of all connections.
    count: usize,
}

impl ConnectionPool {
    /// Takes a connection to `destination` whose other end is among `addresses`.
    pub fn take(&self, destination: &Destination, addresses: &[IpAddr]) -> Option<PooledConnection> {
        let mut pool = self.pool();
        let Lines { by_destination, count } = &mut *pool;
        let lines = by_destination.get_mut(destination)?;
        let before = lines.len();
        // The connection that was pooled last is taken, so that surplus connections expire and are closed. A connection is also dropped if its
        // address is no longer among the host's addresses.
        let line = std::iter::from_fn(|| lines.pop()).find(|line| line.is_usable() && addresses.contains(&line.peer));
        *count -= before - lines.len();
        if lines.is_empty() {
            by_destination.remove(destination);
        }
        line
    }

    /// Pools a connection for the next delivery, if there is room.
    pub fn keep(&self, destination: Destination, mut line: PooledConnection) {
        line.unused = Stopwatch::start();
        let mut pool = self.pool();
        if pool.count < MAX_CONNECTIONS {
            pool.count += 1;
            pool.by_destination.entry(destination).or_default().push(line);
        }
    }

    /// Drops connections that were idle for too long or were closed.
    pub fn drop_expired(&self) {
        let mut pool = self.pool();
        pool.by_destination.retain(|_, lines| {
            lines.retain(PooledConnection::is_usable);
            !lines.is_empty()
        });
        pool.count = pool.by_destination.values().map(Vec::len).sum();
    }

    fn pool(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
