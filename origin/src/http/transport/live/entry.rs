//! One live stream: its position, its socket, and what the socket did not accept yet.

use super::batches::Batches;
use super::wheel::TICK_MILLIS;
use crate::http::transport::connections::ConnectionSlot;
use crate::journal::frame::{Frame, LAST_CHUNK};
use crate::metrics::lag::PushStep;
use crate::stream::delivery::{CHECKPOINT_DELAY, STALLED_MICROS, StreamSources};
use crate::stream::live_stream::LiveStream;
use crate::stream::silence::silence_left;
use axum::body::Bytes;
use mio::net::TcpStream;
use rds_engine::clock::Stopwatch;
use rds_shared::push::Cursor;
use rds_shared::push::frames;
use rds_shared::push::stream_limits::HEARTBEAT_SECONDS;
use rds_shared::wire::Timestamp;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A client of a stream has nothing to send. One that sends more than this at once is disconnected.
const MAX_UNASKED_BYTES: usize = 64 << 10;
/// Time without reading after which a client counts as not keeping up.
const STALLED: Duration = Duration::from_micros(STALLED_MICROS);

/// A live stream of a thread.
#[derive(Debug)]
pub struct Entry {
    pub stream: Box<LiveStream>,
    pub socket: TcpStream,
    pub slot: ConnectionSlot,
    /// Number of the stream's filter.
    pub filter: u32,
    /// Maximum time for a write, in milliseconds.
    pub write_timeout: u32,
    /// The tick at which the stream lies in the wheel.
    pub tick: u64,
    pub pending: Option<Box<Pending>>,
}

/// Bytes that the socket did not accept yet.
#[derive(Debug)]
pub struct Pending {
    pub rest: Bytes,
    pub since: Stopwatch,
}

/// What becomes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It waits for the next signal.
    Stays,
    /// It waits, and has more frames to write.
    HasMore,
    /// Its client has disconnected.
    Gone,
    /// It must end: its key was revoked, or its lease is gone.
    Ends,
    /// It continues as a task.
    Back,
}

/// The time, read once for many streams.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// The service's clock.
    pub clock: Timestamp,
    /// Started now.
    pub watch: Stopwatch,
}

impl Entry {
    /// Writes the frames after the stream's position, and what else is due.
    pub fn advance(&mut self, sources: &StreamSources, batches: &mut Batches, now: Now) -> Fate {
        if self.stream.lease.must_end() {
            return Fate::Ends;
        }
        if sources.streams.is_draining() {
            return Fate::Back;
        }
        if self.pending.is_some() {
            return Fate::Stays;
        }
        let (at, vault) = (self.stream.at, self.stream.vault.as_deref());
        let Some(chunks) = batches.after(&sources.journal.ring, self.filter, vault, at) else { return Fate::Back };
        if !chunks.bytes.is_empty() {
            let (bytes, more) = (chunks.bytes.clone(), chunks.more);
            (self.stream.announced, self.stream.at) = (chunks.last, chunks.upto.max(at));
            sources.streams.meters.frames.fetch_add(chunks.frames, Relaxed);
            if self.send(bytes, now) == Fate::Gone {
                return Fate::Gone;
            }
            if let Some([waited, writing]) = chunks.lag() {
                let lag = &sources.journal.lag;
                lag.record(PushStep::Wake, waited);
                // What the socket has not accepted is written later.
                if self.pending.is_none() {
                    lag.record(PushStep::Write, writing);
                }
            }
            self.note_skipped(now);
            return if more && self.pending.is_none() { Fate::HasMore } else { Fate::Stays };
        }
        self.stream.at = chunks.upto.max(at);
        self.note_skipped(now);
        self.send_what_is_due(now)
    }

    /// As [`advance`](Self::advance), until the stream has no more to write.
    pub fn advance_all(&mut self, sources: &StreamSources, batches: &mut Batches, now: Now) -> Fate {
        loop {
            match self.advance(sources, batches, now) {
                Fate::HasMore => {}
                fate => return fate,
            }
        }
    }

    fn note_skipped(&mut self, now: Now) {
        if self.stream.at == self.stream.announced {
            self.stream.passing = None;
        } else if self.stream.passing.is_none() {
            self.stream.passing = Some(now.watch);
        }
    }

    /// Sends a checkpoint or a heartbeat if one is due; gives up on a client that does not read.
    pub fn send_what_is_due(&mut self, now: Now) -> Fate {
        if let Some(pending) = &self.pending {
            return if pending.since.elapsed() >= STALLED { Fate::Back } else { Fate::Stays };
        }
        let stream = &mut self.stream;
        if stream.passing.is_some_and(|passing| passing.elapsed() >= CHECKPOINT_DELAY) {
            (stream.announced, stream.passing) = (stream.at, None);
            let frame = Frame::new(&frames::checkpoint(Cursor::new(stream.at)));
            return self.send(frame.chunk().clone(), now);
        }
        if silence_left(now.clock, stream.heartbeat_at, stream.silent.elapsed()).is_zero() {
            return self.send(Frame::new(frames::HEARTBEAT).chunk().clone(), now);
        }
        Fate::Stays
    }

    /// The time until [`send_what_is_due`](Self::send_what_is_due) has something to do, in ticks.
    pub fn ticks_until_due(&self, clock: Timestamp) -> u64 {
        let mut wait = silence_left(clock, self.stream.heartbeat_at, self.stream.silent.elapsed());
        if let Some(passing) = self.stream.passing {
            wait = wait.min(CHECKPOINT_DELAY.saturating_sub(passing.elapsed()));
        }
        if let Some(pending) = &self.pending {
            wait = wait.min(STALLED.saturating_sub(pending.since.elapsed()));
        }
        u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).div_ceil(TICK_MILLIS)
    }

    /// Writes `bytes`, and keeps what the socket does not accept.
    fn send(&mut self, bytes: Bytes, now: Now) -> Fate {
        self.stream.silent = now.watch;
        self.stream.heartbeat_at = now.clock.plus_seconds(i64::from(HEARTBEAT_SECONDS));
        match self.write(&bytes) {
            None => Fate::Gone,
            Some(written) if written == bytes.len() => Fate::Stays,
            Some(written) => {
                self.pending = Some(Box::new(Pending { rest: bytes.slice(written..), since: now.watch }));
                Fate::Stays
            }
        }
    }

    /// Writes what is pending, now that the socket accepts something. `None` if nothing is pending any more.
    pub fn write_pending(&mut self) -> Option<Fate> {
        let mut pending = self.pending.take()?;
        match self.write(&pending.rest) {
            None => Some(Fate::Gone),
            Some(written) if written == pending.rest.len() => None,
            Some(written) => {
                if written > 0 {
                    pending.rest = pending.rest.slice(written..);
                    pending.since = Stopwatch::start();
                }
                self.pending = Some(pending);
                Some(Fate::Stays)
            }
        }
    }

    /// Writes as many bytes as the socket accepts; `None` if the client is gone.
    fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match self.socket.write(rest) {
                Ok(0) => return None,
                Ok(some) => written += some,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(written)
    }

    /// Reads what the client has sent, which is of no interest. Whether it has disconnected.
    pub fn is_gone(&mut self) -> bool {
        let (mut bytes, mut came) = ([0; 1_024], 0);
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => return true,
                Ok(some) => {
                    came += some;
                    if came > MAX_UNASKED_BYTES {
                        return true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
    }

    /// Ends the body, if nothing is pending.
    pub fn end(mut self) {
        if self.pending.is_none() {
            let _ = self.write(LAST_CHUNK);
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}
