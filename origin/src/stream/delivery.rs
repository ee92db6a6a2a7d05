//! One stream, from `ready` to its end.
//!
//! It holds a place in the journal and nothing else. Replay and live frames come from the same place on, first from the journal
//! where the ring does not reach back that far, then from the ring: there is no moment between the two at which an operation
//! could be lost or come twice.

use super::Place;
use super::alarm::Alarm;
use super::body::Outlet;
use super::pages::{self, Page};
use crate::app::App;
use crate::clock::Stopwatch;
use crate::journal::ring::Batch;
use crate::store::StoreError;
use crate::store::journal::read::Extent;
use axum::body::Bytes;
use rds_shared::push::Cursor;
use rds_shared::push::cursor::{REPLAY_LIMIT, Resume, Start, Window};
use rds_shared::push::frames::{self, HEARTBEAT_SECONDS, QUEUE_FRAMES};
use rds_shared::push::gap::Gap;
use rds_shared::wire::Timestamp;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;

/// A frame that is not taken for so long, in microseconds, waits for a client that does not read; less is a burst on its way.
const STALLED: u64 = 100_000;
/// Frames taken from the ring at a time.
const AT_ONCE: usize = 32;
/// How soon a client learns that operations were passed over; a crowd of them is one cursor.
const CHECKPOINT: Duration = Duration::from_secs(1);
/// Streams end over so many milliseconds when the service stops, so that clients do not all come back at once.
const STAGGER: u64 = 2_000;

/// What a stream delivers.
#[derive(Debug)]
pub struct Subscription {
    /// Only operations that concern this vault.
    pub vault: Option<String>,
    /// The same as the client wrote it.
    pub asked: Option<String>,
    /// Where it begins.
    pub start: Start,
    /// What the journal held when it was opened.
    pub extent: Extent,
    /// Its place among the streams.
    pub place: Place,
}

/// A stream under way.
struct Delivery {
    app: Arc<App>,
    out: Outlet,
    vault: Option<String>,
    extent: Extent,
    place: Place,
    /// Everything up to here was delivered or passed over.
    at: u64,
    /// The last position that the client was told.
    told: u64,
    /// Up to here operations are a replay.
    replay_to: u64,
    /// Operations replayed.
    replayed: u32,
    /// When the next heartbeat is due.
    beat: Timestamp,
    /// Whether something was sent that puts it off.
    beaten: bool,
    /// Rings when it is due, or something else is.
    alarm: Alarm,
    /// Since when operations were passed over that the client was not told of.
    passing: Option<Stopwatch>,
}

/// Why a stream ends by itself.
struct Over;

/// Delivers `subscription` until the client goes, or there is a reason to end.
pub async fn deliver(app: Arc<App>, subscription: Subscription, out: Outlet) {
    let Subscription { vault, asked, start, extent, place } = subscription;
    let signals = app.journal.signals();
    let at = start.after.get();
    let (replay_to, beat) = (extent.tail.get(), app.clock.now().plus_seconds(i64::from(HEARTBEAT_SECONDS)));
    let mut delivery = Delivery {
        app,
        out,
        vault,
        extent,
        place,
        at,
        told: at,
        replay_to,
        replayed: 0,
        beat,
        beaten: false,
        alarm: Alarm::default(),
        passing: None,
    };
    if let Some(gap) = &start.gap {
        delivery.count(gap);
    }
    delivery.send(Bytes::from(frames::opening(asked.as_deref(), &start))).await;
    // However it ends, what is to be said about it has been said.
    let _ = delivery.run(signals).await;
}

impl Delivery {
    async fn run(&mut self, mut signals: watch::Receiver<u64>) -> Result<(), Over> {
        let mut leaves_at: Option<Timestamp> = None;
        loop {
            if self.place.is_over() {
                return Err(Over);
            }
            // Seen before the ring is read: what is appended after that is a new signal.
            signals.mark_unchanged();
            let batch = self.next().await?;
            let more = batch.more;
            self.hand_out(batch).await?;
            if self.app.is_draining() {
                let now = self.app.clock.wall();
                if leaves_at.is_none() {
                    self.send(Bytes::from_static(frames::DRAINING)).await;
                    let wait = i64::try_from(self.place.number() % STAGGER).unwrap_or(0);
                    leaves_at = Some(Timestamp::from_millis(now.as_millis() + wait));
                }
                if leaves_at.is_some_and(|at| now >= at) {
                    return Err(Over);
                }
            }
            if !more {
                self.rest(&mut signals, leaves_at).await;
            }
        }
    }

    /// The next frames, from the ring or from the journal.
    async fn next(&mut self) -> Result<Batch, Over> {
        loop {
            if let Some(batch) = self.app.journal.ring.after(self.at, self.vault.as_deref(), AT_ONCE) {
                return Ok(batch);
            }
            match pages::read(&self.app, &mut self.extent, self.at, self.vault.as_deref()).await {
                Ok(Page::Frames(batch)) => return Ok(batch),
                Ok(Page::Gone) => self.begin_again().await?,
                Err(error) => return self.failed(&error).await,
            }
        }
    }

    /// Goes on from the window's floor where the journal has moved on from under the stream.
    async fn begin_again(&mut self) -> Result<(), Over> {
        let Extent { floor, tail, jumps } = &self.extent;
        let start = Window { floor: *floor, tail: *tail, jumps }.start(Resume::After(Cursor::new(self.at)));
        let Some(gap) = start.gap else {
            self.app.journal.meters.broken.fetch_add(1, Relaxed);
            tracing::error!(at = self.at, "the journal holds a place, but not what follows it");
            return self.end_with(Gap::replay_failed(Cursor::new(self.at))).await;
        };
        self.count(&gap);
        self.send(Bytes::from(frames::gap(&gap))).await;
        (self.at, self.replay_to) = (start.after.get(), self.extent.tail.get());
        self.checkpoint().await;
        Ok(())
    }

    async fn hand_out(&mut self, batch: Batch) -> Result<(), Over> {
        let frames = batch.frames.len() as u64;
        for (seq, frame) in batch.frames {
            if seq <= self.replay_to {
                if self.replayed == REPLAY_LIMIT {
                    self.checkpoint().await;
                    let tail = self.app.journal.ring.tail().max(self.replay_to);
                    return self.end_with(Gap::replay_truncated(Cursor::new(self.at), Cursor::new(tail))).await;
                }
                self.replayed += 1;
            }
            let micros = self.send(frame).await;
            (self.at, self.told) = (seq, seq);
            if micros >= STALLED && seq > self.replay_to && self.is_behind() {
                return self.overflow().await;
            }
        }
        self.app.streams.meters.frames.fetch_add(frames, Relaxed);
        self.at = self.at.max(batch.upto);
        if self.at == self.told {
            self.passing = None;
        } else if batch.more && frames == 0 {
            // A replay that finds nothing to show says how far it is, page by page.
            self.checkpoint().await;
        } else if self.passing.is_none() {
            self.passing = Some(Stopwatch::start());
        }
        Ok(())
    }

    fn is_behind(&self) -> bool {
        self.app.journal.ring.is_behind(self.at, self.vault.as_deref(), QUEUE_FRAMES)
    }

    /// A client that does not read: it gets what a queue would have held for it, the gap, and the end.
    async fn overflow(&mut self) -> Result<(), Over> {
        let mut room = QUEUE_FRAMES;
        while room > 0 {
            let batch = self.next().await?;
            for (seq, frame) in batch.frames.into_iter().take(room) {
                self.send(frame).await;
                (self.at, self.told) = (seq, seq);
                room -= 1;
            }
            if !batch.more {
                break;
            }
        }
        let tail = self.app.journal.ring.tail().max(self.at);
        self.end_with(Gap::queue_overflow(Cursor::new(self.at), Cursor::new(tail))).await
    }

    /// Waits for a signal, or for the next thing that is due by time.
    async fn rest(&mut self, signals: &mut watch::Receiver<u64>, leaves_at: Option<Timestamp>) {
        let now = self.app.clock.now();
        if std::mem::take(&mut self.beaten) {
            self.beat = now.plus_seconds(i64::from(HEARTBEAT_SECONDS));
        }
        if now >= self.beat {
            self.send(Bytes::from_static(frames::HEARTBEAT)).await;
            return;
        }
        let mut wait = until(now, self.beat);
        if let Some(passing) = self.passing {
            let passed = Duration::from_micros(passing.micros());
            if passed >= CHECKPOINT {
                self.checkpoint().await;
                return;
            }
            wait = wait.min(CHECKPOINT.saturating_sub(passed));
        }
        if let Some(at) = leaves_at {
            wait = wait.min(until(self.app.clock.wall(), at));
        }
        // Whatever it was that ended the wait, the next round finds it.
        tokio::select! {
            biased;
            _ = signals.changed() => {}
            () = self.alarm.within(wait) => {}
        }
    }

    async fn checkpoint(&mut self) {
        (self.told, self.passing) = (self.at, None);
        self.send(Bytes::from(frames::checkpoint(Cursor::new(self.at)))).await;
    }

    async fn failed<T>(&mut self, error: &StoreError) -> Result<T, Over> {
        tracing::warn!(%error, at = self.at, "a replay could not be read");
        self.end_with(Gap::replay_failed(Cursor::new(self.told))).await
    }

    async fn end_with<T>(&mut self, gap: Gap) -> Result<T, Over> {
        self.count(&gap);
        self.send(Bytes::from(frames::gap(&gap))).await;
        Err(Over)
    }

    fn count(&self, gap: &Gap) {
        self.app.streams.meters.gap(gap.reason, self.app.clock.now());
    }

    /// Sends a frame, and puts the heartbeat off.
    async fn send(&mut self, frame: Bytes) -> u64 {
        self.beaten = true;
        self.out.send(frame).await
    }
}

/// How long from `now` to `at`; never nothing, so that a clock that stands still keeps nobody busy.
fn until(now: Timestamp, at: Timestamp) -> Duration {
    let micros = at.as_micros().saturating_sub(now.as_micros()).max(10_000);
    Duration::from_micros(micros.unsigned_abs())
}
