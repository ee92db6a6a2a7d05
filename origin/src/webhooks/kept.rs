//! Connections to receivers, kept for a moment after a delivery: the next one to the same place needs no handshake.
//!
//! Keeping one opens no way that a new connection would not have: an attempt takes one only if its own look-up has just found the
//! address at the other end, and the guard has judged it.

use crate::clock::Stopwatch;
use axum::body::Body;
use hyper::client::conn::http1::SendRequest;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Connections kept, at most.
const MOST: usize = 256;
/// How long one is kept without a delivery: less than the shortest time after which servers in the field close one, so that a
/// delivery seldom meets a closing one.
const UNUSED: Duration = Duration::from_secs(2);
/// How long one is used at all: a receiver that moved behind its address, or got another certificate, is met again soon.
const AGE: Duration = Duration::from_secs(60);

/// Where a connection leads: the URL's host as it is written there, which the certificate was checked for, and the port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// An open connection. It ends with the value.
#[derive(Debug)]
pub struct Line {
    /// Sends requests.
    pub requests: SendRequest<Body>,
    peer: IpAddr,
    opened: Stopwatch,
    unused: Stopwatch,
    driving: JoinHandle<()>,
}

impl Line {
    /// A connection to `peer`, carried by `driving`.
    pub fn new(requests: SendRequest<Body>, peer: IpAddr, driving: JoinHandle<()>) -> Self {
        Line { requests, peer, opened: Stopwatch::start(), unused: Stopwatch::start(), driving }
    }

    fn is_usable(&self) -> bool {
        let within = |watch: Stopwatch, limit: Duration| Duration::from_micros(watch.micros()) < limit;
        self.requests.is_ready() && within(self.unused, UNUSED) && within(self.opened, AGE)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Whatever the other end does: nothing goes on without an owner.
        self.driving.abort();
    }
}

/// The connections that are kept.
#[derive(Debug, Default)]
pub struct Kept(Mutex<HashMap<Place, Vec<Line>>>);

impl Kept {
    /// Takes one to `place` whose other end is among `addresses`.
    pub fn take(&self, place: &Place, addresses: &[IpAddr]) -> Option<Line> {
        let mut kept = self.kept();
        let lines = kept.get_mut(place)?;
        // One that leads to where the name leads no more is of no use to anybody.
        lines.retain(|line| line.is_usable() && addresses.contains(&line.peer));
        // The latest: what is not needed any more is left to grow old.
        let line = lines.pop();
        if lines.is_empty() {
            kept.remove(place);
        }
        line
    }

    /// Keeps one for the next delivery, if there is room.
    pub fn keep(&self, place: Place, mut line: Line) {
        line.unused = Stopwatch::start();
        let mut kept = self.kept();
        if kept.values().map(Vec::len).sum::<usize>() < MOST {
            kept.entry(place).or_default().push(line);
        }
    }

    /// Lets those go that were not needed for a while, or were closed.
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
