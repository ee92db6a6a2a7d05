//! A thread of live streams: it waits for signals of the journal, for its sockets, and for what is due.

use super::batches::{Batches, Filters};
use super::entry::{Entry, Fate, Now};
use super::wheel::{TICK_MILLIS, Wheel};
use super::{HandedBack, LiveConnection, LiveMeters};
use crate::stream::delivery::StreamSources;
use axum::body::Bytes;
use mio::{Events, Interest, Poll, Token, Waker};
use rds_engine::clock::Stopwatch;
use slab::Slab;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The token of the waker; streams have smaller ones.
const WAKE: Token = Token(usize::MAX);
/// Maximum number of events taken at once.
const EVENTS: usize = 1_024;

/// A running thread; it ends when this is dropped.
pub struct Poller {
    door: Arc<Door>,
    waker: Arc<Waker>,
}

/// Through which new streams come in.
#[derive(Debug, Default)]
struct Door {
    /// `None` once the thread has ended.
    new: Mutex<Option<Vec<LiveConnection>>>,
    closing: AtomicBool,
}

impl Door {
    fn new_ones(&self) -> MutexGuard<'_, Option<Vec<LiveConnection>>> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poller")
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.door.closing.store(true, Relaxed);
        let _ = self.waker.wake();
    }
}

impl Poller {
    /// Starts thread `number`.
    pub fn start(
        number: usize,
        sources: Arc<StreamSources>,
        meters: Arc<LiveMeters>,
        back: Arc<dyn Fn(HandedBack) + Send + Sync>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        let door = Arc::new(Door { new: Mutex::new(Some(Vec::new())), closing: AtomicBool::new(false) });
        sources.journal.wakes(waker.clone());
        let mut thread = Thread {
            poll,
            door: door.clone(),
            sources,
            meters,
            back,
            streams: Slab::new(),
            filters: Filters::default(),
            wheel: Wheel::default(),
            batches: Batches::default(),
            began: Stopwatch::start(),
        };
        std::thread::Builder::new().name(format!("streams-{number}")).spawn(move || {
            let ended = thread.run();
            if let Err(error) = ended {
                tracing::error!(%error, "a thread of live streams has ended: its streams end too");
            }
        })?;
        Ok(Poller { door, waker })
    }

    /// Hands `connection` to the thread; gives it back if the thread has ended.
    pub fn keep(&self, connection: LiveConnection) -> Result<(), LiveConnection> {
        let mut new = self.door.new_ones();
        let Some(waiting) = new.as_mut() else { return Err(connection) };
        waiting.push(connection);
        drop(new);
        // The thread looks for new streams after every event, so a wake that fails only delays this one.
        let _ = self.waker.wake();
        Ok(())
    }
}

struct Thread {
    poll: Poll,
    door: Arc<Door>,
    sources: Arc<StreamSources>,
    meters: Arc<LiveMeters>,
    back: Arc<dyn Fn(HandedBack) + Send + Sync>,
    streams: Slab<Entry>,
    filters: Filters,
    wheel: Wheel,
    batches: Batches,
    began: Stopwatch,
}

impl Drop for Thread {
    /// However the thread ends, nobody hands it another stream.
    fn drop(&mut self) {
        *self.door.new_ones() = None;
        self.meters.held.fetch_sub(self.streams.len(), Relaxed);
    }
}

/// What happened to a socket.
struct Happened {
    stream: usize,
    is_readable: bool,
    is_writable: bool,
}

impl Thread {
    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut happened = Vec::new();
        let mut has_more = false;
        loop {
            let wait = if has_more { Some(Duration::ZERO) } else { self.until_next_tick() };
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            if self.door.closing.load(Relaxed) {
                return Ok(());
            }
            let mut is_signalled = has_more;
            for event in &events {
                match event.token() {
                    WAKE => is_signalled = true,
                    Token(stream) => happened.push(Happened {
                        stream,
                        is_readable: event.is_readable() || event.is_read_closed() || event.is_error(),
                        is_writable: event.is_writable(),
                    }),
                }
            }
            self.batches.clear();
            for it in happened.drain(..) {
                self.look_at(&it);
            }
            self.take_in();
            has_more = is_signalled && self.round();
            self.tick();
        }
    }

    fn now(&self) -> Now {
        Now { clock: self.sources.clock.now(), watch: Stopwatch::start() }
    }

    /// Milliseconds since the thread began.
    fn millis(&self) -> u64 {
        self.began.micros() / 1_000
    }

    fn until_next_tick(&self) -> Option<Duration> {
        let at = self.wheel.next()?.saturating_mul(TICK_MILLIS);
        Some(Duration::from_millis(at.saturating_sub(self.millis())))
    }

    /// Looks at a socket on which something happened.
    fn look_at(&mut self, happened: &Happened) {
        let now = self.now();
        let Some(entry) = self.streams.get_mut(happened.stream) else { return };
        let fate = if happened.is_readable && entry.is_gone() {
            Fate::Gone
        } else if happened.is_writable && entry.pending.is_some() {
            match entry.write_pending() {
                Some(fate) => fate,
                None => entry.advance_all(&self.sources, &mut self.batches, now),
            }
        } else {
            Fate::Stays
        };
        self.settle(happened.stream, fate);
    }

    /// Takes in new streams. What was appended to the ring since their last look is written at once.
    fn take_in(&mut self) {
        let Some(new) = self.door.new_ones().as_mut().map(std::mem::take) else { return };
        for LiveConnection { stream, socket, slot, write_timeout } in new {
            let mut socket = mio::net::TcpStream::from_std(socket);
            let vacant = self.streams.vacant_entry();
            let place = vacant.key();
            let both = Interest::READABLE | Interest::WRITABLE;
            if let Err(error) = self.poll.registry().register(&mut socket, Token(place), both) {
                tracing::error!(%error, "the socket of a live stream cannot be watched: the stream ends");
                continue;
            }
            self.meters.held.fetch_add(1, Relaxed);
            let filter = self.filters.add(stream.vault.as_ref());
            let write_timeout = u32::try_from(write_timeout.as_millis()).unwrap_or(u32::MAX);
            vacant.insert(Entry { stream, socket, slot, filter, write_timeout, tick: 0, pending: None });
            let now = self.now();
            if let Some(entry) = self.streams.get_mut(place) {
                let fate = entry.advance_all(&self.sources, &mut self.batches, now);
                self.settle(place, fate);
            }
        }
    }

    /// Writes to every stream what is new. Whether a stream has more to write.
    fn round(&mut self) -> bool {
        let now = self.now();
        let mut settled = Vec::new();
        let mut has_more = false;
        // After a test clock was moved, a heartbeat may be due earlier.
        let is_movable = self.sources.clock.is_movable();
        for (place, entry) in &mut self.streams {
            let fate = entry.advance(&self.sources, &mut self.batches, now);
            has_more |= fate == Fate::HasMore;
            // Only what changes its place in the wheel, or leaves, is looked at again.
            let stays = matches!(fate, Fate::Stays | Fate::HasMore);
            if !stays || is_movable || entry.stream.passing.is_some() || entry.pending.is_some() {
                settled.push((place, fate));
            }
        }
        for (place, fate) in settled {
            self.settle(place, fate);
        }
        has_more
    }

    /// Looks at the streams for which something is due.
    fn tick(&mut self) {
        let (now, tick) = (self.now(), self.millis() / TICK_MILLIS);
        let mut due = Vec::new();
        let streams = &self.streams;
        self.wheel.take(tick, |place, tick| {
            if streams.get(place as usize).is_some_and(|entry| entry.tick == tick) {
                due.push((place as usize, tick));
            }
        });
        for (place, tick) in due {
            // A stream may lie at one tick twice.
            if let Some(entry) = self.streams.get_mut(place).filter(|entry| entry.tick == tick) {
                entry.tick = 0;
                let fate = entry.send_what_is_due(now);
                self.settle(place, fate);
            }
        }
    }

    /// Does with a stream what `fate` says.
    fn settle(&mut self, place: usize, fate: Fate) {
        match fate {
            Fate::Stays | Fate::HasMore => {
                let now = self.millis().div_ceil(TICK_MILLIS);
                let Some(entry) = self.streams.get_mut(place) else { return };
                let tick = now.saturating_add(entry.ticks_until_due(self.sources.clock.now()));
                // A stream that already lies at an earlier tick is put where it belongs then.
                if (entry.tick == 0 || tick < entry.tick)
                    && let Ok(place) = u32::try_from(place)
                {
                    entry.tick = self.wheel.add(place, tick);
                }
            }
            Fate::Gone => drop(self.remove(place)),
            Fate::Ends => {
                if let Some(entry) = self.remove(place) {
                    entry.end();
                }
            }
            Fate::Back => self.hand_back(place),
        }
    }

    fn remove(&mut self, place: usize) -> Option<Entry> {
        let mut entry = self.streams.try_remove(place)?;
        self.meters.held.fetch_sub(1, Relaxed);
        self.filters.remove(entry.stream.vault.as_ref());
        // A closed socket is no longer watched anyway.
        let _ = self.poll.registry().deregister(&mut entry.socket);
        if self.streams.capacity() > 1_024 && self.streams.len() < self.streams.capacity() / 4 {
            self.streams.shrink_to_fit();
        }
        Some(entry)
    }

    fn hand_back(&mut self, place: usize) {
        let Some(Entry { stream, socket, slot, write_timeout, pending, .. }) = self.remove(place) else { return };
        self.meters.handed_back.fetch_add(1, Relaxed);
        let has_stalled = pending.is_some();
        let rest = pending.map_or_else(Bytes::new, |pending| pending.rest);
        let write_timeout = Duration::from_millis(u64::from(write_timeout));
        let connection = LiveConnection { stream, socket: socket.into(), slot, write_timeout };
        (self.back)(HandedBack { connection, rest, has_stalled });
    }
}
