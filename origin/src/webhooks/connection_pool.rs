//! A pool of connections to receivers: the next delivery to the same host and port needs no handshake.
//!
//! Reuse does not weaken the address check: an attempt takes a connection only if its own look-up has just returned the address at
//! the other end, and the guard has permitted that address.

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
pub struct Place {
    pub host: String,
    pub port: u16,
}

/// An open connection, which is closed when this is dropped.
#[derive(Debug)]
pub struct Line {
    pub requests: SendRequest<Body>,
    peer: IpAddr,
    opened: Stopwatch,
    unused: Stopwatch,
    driving: JoinHandle<()>,
}

impl Line {
    /// A connection to `peer`, driven by the task `driving`.
    pub fn new(requests: SendRequest<Body>, peer: IpAddr, driving: JoinHandle<()>) -> Self {
        Line { requests, peer, opened: Stopwatch::start(), unused: Stopwatch::start(), driving }
    }

    fn is_usable(&self) -> bool {
        let within = |watch: Stopwatch, limit: Duration| Duration::from_micros(watch.micros()) < limit;
        self.requests.is_ready() && within(self.unused, MAX_IDLE) && within(self.opened, MAX_AGE)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The task must not outlive the connection's owner.
        self.driving.abort();
    }
}

/// The pooled connections.
#[derive(Debug, Default)]
pub struct ConnectionPool(Mutex<HashMap<Place, Vec<Line>>>);

impl ConnectionPool {
    /// Takes a connection to `place` whose other end is among `addresses`.
    pub fn take(&self, place: &Place, addresses: &[IpAddr]) -> Option<Line> {
        let mut kept = self.kept();
        let lines = kept.get_mut(place)?;
        // A connection to an address that the name no longer has is useless.
        lines.retain(|line| line.is_usable() && addresses.contains(&line.peer));
        // The latest one, so that surplus connections grow old and are closed.
        let line = lines.pop();
        if lines.is_empty() {
            kept.remove(place);
        }
        line
    }

    /// Pools a connection for the next delivery, if there is room.
    pub fn keep(&self, place: Place, mut line: Line) {
        line.unused = Stopwatch::start();
        let mut kept = self.kept();
        if kept.values().map(Vec::len).sum::<usize>() < MAX_CONNECTIONS {
            kept.entry(place).or_default().push(line);
        }
    }

    /// Drops connections that were idle for too long or were closed.
    pub fn let_go(&self) {
        self.kept().retain(|_, lines| {
            lines.retain(Line::is_usable);
            !lines.is_empty()
        });
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Place, Vec<Line>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
