//! The state of a connection: progress of its latest request, whether it streams, and time limits for its client.

use crate::http::transport::connections::{ConnectionEntry, PeerClass};
use crate::stream::body::{FrameStream, FrameStreamHandle};
use rds_engine::clock::Stopwatch;
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// Time limits for the clients of a listener.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct Limits {
    /// Maximum time for a request's head from its first byte on, and for a stranger to send the first byte.
    pub(in crate::http) head: Duration,
    /// Maximum idle time between two requests.
    pub(in crate::http) idle: Duration,
    /// Replaces `head` and `idle` for a stranger's or an unproved connection while at least half of the slots for such connections are
    /// taken.
    pub(in crate::http) crowded: Duration,
    /// How often the limits are checked. A connection may exceed a limit by this much, but needs only one timer for all its
    /// requests.
    pub(in crate::http) check_interval: Duration,
    /// Maximum time for a write.
    pub(in crate::http) write_timeout: Duration,
}

/// A connection's state, shared with its requests.
#[derive(Debug, Clone, Default)]
pub struct ConnectionState(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_streaming: AtomicBool,
    /// The frames of a stream whose first frame was not written yet.
    source: Mutex<Option<FrameStreamHandle>>,
    /// The upper bits count the steps of all requests; the lowest two bits are the latest [`Step`].
    steps: AtomicU64,
    /// The connection's entry in the listener's count; `None` without a listener.
    entry: Option<ConnectionEntry>,
}

/// Progress of a connection's latest request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Step {
    /// There is no request, or its response has been written.
    Idle,
    /// A part of its head has arrived.
    HeadBegun,
    /// Its handler is running.
    RequestReceived,
    /// Its response is ready, but not completely written.
    Answered,
}

impl Step {
    const ALL: [Step; 4] = [Step::Idle, Step::HeadBegun, Step::RequestReceived, Step::Answered];
}

impl ConnectionState {
    /// The state of the connection with this entry.
    pub(in crate::http) fn at(entry: ConnectionEntry) -> Self {
        ConnectionState(Arc::new(Shared { entry: Some(entry), ..Shared::default() }))
    }

    pub(in crate::http) fn entry(&self) -> Option<&ConnectionEntry> {
        self.0.entry.as_ref()
    }

    /// Marks the connection as proved: a request on it had a valid credential.
    pub fn prove(&self) {
        self.entry().inspect(|entry| entry.prove());
    }

    /// Whether the connection's peer is a stranger.
    pub(in crate::http) fn is_strange(&self) -> bool {
        self.entry().is_some_and(|entry| matches!(entry.peer_class(), PeerClass::Stranger { .. }))
    }

    /// Whether the connection waits for a request or for the rest of a request's head.
    pub(in crate::http) fn is_waiting(&self) -> bool {
        matches!(self.step().0, Step::Idle | Step::HeadBegun) && !self.is_streaming()
    }

    /// Records bytes received from the client.
    pub(in crate::http) fn came(&self, bytes: usize) {
        self.record_step_after(Step::Idle, Step::HeadBegun);
        if let Some(entry) = self.entry()
            && self.step().0 == Step::HeadBegun
        {
            entry.head_grew(bytes);
        }
    }

    /// Records that a request's head is complete.
    pub(in crate::http) fn asked(&self) {
        self.record_step(Step::RequestReceived);
        self.entry().inspect(|entry| entry.head_came());
    }

    /// Marks the connection as streaming. With a `source`, the socket takes over the frames after the first one and ends the HTTP
    /// connection. Without one (HTTP/1.0, which has no chunked encoding), the body writes all frames.
    pub fn streams(&self, source: Option<FrameStreamHandle>) {
        *self.source() = source;
        self.0.is_streaming.store(true, Relaxed);
    }

    pub(in crate::http) fn is_streaming(&self) -> bool {
        self.0.is_streaming.load(Relaxed)
    }

    /// Takes the frames of a stream whose first frame was taken from the body.
    pub(in crate::http) fn take_frames(&self) -> Option<FrameStream> {
        if !self.is_streaming() {
            return None;
        }
        let mut source = self.source();
        source.take_if(|source| source.has_begun())?.take()
    }

    fn source(&self) -> MutexGuard<'_, Option<FrameStreamHandle>> {
        self.0.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest step, and a number that changes with every step.
    fn step(&self) -> (Step, u64) {
        let steps = self.0.steps.load(Relaxed);
        (Step::ALL[(steps & 3) as usize], steps)
    }

    /// Records a step. Only the task of the connection calls this.
    pub(in crate::http) fn record_step(&self, step: Step) {
        let steps = self.0.steps.load(Relaxed);
        self.0.steps.store((steps | 3).wrapping_add(1) | step as u64, Relaxed);
    }

    /// Records `step` if the latest one is `before`.
    pub(in crate::http) fn record_step_after(&self, before: Step, step: Step) {
        if self.step().0 == before {
            self.record_step(step);
        }
    }

    /// How long a client may stay idle or take to send a head.
    fn may_wait(&self, limits: Limits, (step, steps): (Step, u64)) -> Duration {
        let peer_class = self.entry().map_or(PeerClass::Proved, ConnectionEntry::peer_class);
        match (peer_class, step) {
            (PeerClass::Unproved { crowded: true } | PeerClass::Stranger { crowded: true }, _) => limits.crowded,
            (PeerClass::Stranger { .. }, Step::Idle) if steps == 0 => limits.head,
            (_, Step::Idle) => limits.idle,
            _ => limits.head,
        }
    }

    /// Completes once the client exceeds `limits` for a request's head or for idling.
    pub(in crate::http) async fn overdue(&self, limits: Limits) {
        let (mut seen, mut since) = (self.step(), Stopwatch::start());
        loop {
            sleep(limits.check_interval).await;
            if self.is_streaming() {
                // A stream has its own limits.
                return pending().await;
            }
            let now = self.step();
            if now != seen {
                (seen, since) = (now, Stopwatch::start());
            }
            let limit = match now.0 {
                Step::Idle | Step::HeadBegun => self.may_wait(limits, now),
                // The pipeline limits the time for a response, and each write has its own limit.
                Step::RequestReceived | Step::Answered => continue,
            };
            if since.elapsed() >= limit {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_changes_the_number_even_if_the_step_is_the_same() {
        let line = ConnectionState::default();
        assert_eq!(line.step().0, Step::Idle);
        let mut seen = vec![line.step()];
        for step in
            [Step::HeadBegun, Step::RequestReceived, Step::Answered, Step::Idle, Step::Idle, Step::RequestReceived]
        {
            line.record_step(step);
            assert_eq!(line.step().0, step);
            assert!(!seen.contains(&line.step()));
            seen.push(line.step());
        }
        line.record_step_after(Step::Idle, Step::HeadBegun);
        assert_eq!(line.step().0, Step::RequestReceived, "what comes while it is answered begins nothing");
    }
}
