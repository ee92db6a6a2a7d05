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
use rds_shared::push::gap::{Gap, GapReason};
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
/// The longest that a stream says nothing.
const SILENCE: Duration = Duration::from_secs(HEARTBEAT_SECONDS as u64);
/// Operations that are fetched from the journal for one stream before it is sent on its way with a cursor: what concerns few
/// vaults is looked for in turns, like everything else that takes long.
const FETCHED: u32 = 50_000;
/// Streams end over so many milliseconds when the service stops, so that clients do not all come back at once.
const STAGGER: u64 = 2_000;

/// The shortest wait.
const SHORTEST: Duration = Duration::from_millis(10);

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
    /// Operations fetched from the journal since the ring was last reached.
    fetched: u32,
    /// When the next heartbeat is due.
    beat: Timestamp,
    /// Since when nothing was sent, as of the last rest.
    silent: Stopwatch,
    /// Whether something was sent since then.
    beaten: bool,
    /// Rings when a heartbeat is due, or something else is.
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
        fetched: 0,
        beat,
        silent: Stopwatch::start(),
        beaten: false,
        alarm: Alarm::default(),
        passing: None,
    };
    if let Some(gap) = &start.gap {
        delivery.count(gap);
    }
    // However it ends, what is to be said about it has been said.
    let _ = delivery.run(Bytes::from(frames::opening(asked.as_deref(), &start)), signals).await;
}

impl Delivery {
    async fn run(&mut self, opening: Bytes, mut signals: watch::Receiver<u64>) -> Result<(), Over> {
        self.send(opening).await?;
        let mut leaving: Option<(Stopwatch, Duration)> = None;
        loop {
            if self.place.is_over() {
                return Err(Over);
            }
            // Seen before the ring is read: what is appended after that is a new signal.
            signals.mark_unchanged();
            let batch = self.next().await?;
            let more = batch.more;
            self.hand_out(batch).await?;
            if self.app.is_draining() && leaving.is_none() {
                leaving = Some((Stopwatch::start(), Duration::from_millis(self.place.number() % STAGGER)));
                self.send(Bytes::from_static(frames::DRAINING)).await?;
            }
            let left = leaving.map(|(since, wait)| wait.saturating_sub(since.elapsed()));
            if left == Some(Duration::ZERO) {
                return Err(Over);
            }
            if !more {
                self.rest(&mut signals, left).await?;
            }
        }
    }

    /// The next frames, from the ring or from the journal.
    async fn next(&mut self) -> Result<Batch, Over> {
        loop {
            if let Some(batch) = self.app.journal.ring.after(self.at, self.vault.as_deref(), AT_ONCE) {
                self.fetched = 0;
                return Ok(batch);
            }
            // In a box, because a stream that waits would keep its place.
            match Box::pin(pages::read(&self.app, &mut self.extent, self.at, self.vault.as_deref())).await {
                Ok(Page::Frames(batch)) => {
                    self.fetched = self.fetched.saturating_add(batch.fetched);
                    return Ok(batch);
                }
                Ok(Page::Gone) => self.begin_again(None).await?,
                Ok(Page::Missing(upto)) => self.begin_again(Some(Cursor::new(upto))).await?,
                Err(error) => return self.failed(&error).await,
            }
        }
    }

    /// Goes on from the window's floor where the journal has moved on from under the stream, or behind what is `missing` in it.
    async fn begin_again(&mut self, missing: Option<Cursor>) -> Result<(), Over> {
        let (Extent { floor, tail, jumps }, at) = (&self.extent, Cursor::new(self.at));
        let start = Window { floor: *floor, tail: *tail, jumps }.start(Resume::After(at));
        // What is missing inside the window is no position that one could be given anything from.
        let hole = missing.map(|to| Gap { reason: GapReason::CursorUnknown, from: Some(at), to: Some(to), cursor: to });
        let Some(gap) = start.gap.or(hole) else {
            self.app.journal.meters.broken.fetch_add(1, Relaxed);
            tracing::error!(%at, "the journal holds a place, but not what follows it");
            return self.end_with(Gap::replay_failed(at)).await;
        };
        self.count(&gap);
        self.send(Bytes::from(frames::gap(&gap))).await?;
        (self.at, self.replay_to) = (gap.cursor.get(), self.extent.tail.get());
        self.checkpoint().await
    }

    async fn hand_out(&mut self, batch: Batch) -> Result<(), Over> {
        let frames = batch.frames.len() as u64;
        for (seq, frame) in batch.frames {
            if seq <= self.replay_to {
                if self.replayed == REPLAY_LIMIT {
                    return self.truncate().await;
                }
                self.replayed += 1;
            }
            let micros = self.send(frame).await?;
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
            self.checkpoint().await?;
        } else if self.passing.is_none() {
            self.passing = Some(Stopwatch::start());
        }
        match batch.more && self.fetched >= FETCHED {
            true => self.truncate().await,
            false => Ok(()),
        }
    }

    /// Ends a replay that is longer than one connection gives: the client comes back with the cursor.
    async fn truncate(&mut self) -> Result<(), Over> {
        self.checkpoint().await?;
        let tail = self.app.journal.ring.tail().max(self.replay_to);
        self.end_with(Gap::replay_truncated(Cursor::new(self.at), Cursor::new(tail))).await
    }

    fn is_behind(&self) -> bool {
        self.app.journal.ring.is_behind(self.at, self.vault.as_deref(), QUEUE_FRAMES)
    }

    /// A client that does not read: it gets what a queue would have held for it, the gap, and the end.
    async fn overflow(&mut self) -> Result<(), Over> {
        let mut room = QUEUE_FRAMES;
        while room > 0 {
            // A page may bring nothing for this stream, and then nothing else looks.
            if self.place.is_over() {
                return Err(Over);
            }
            let batch = self.next().await?;
            let is_whole = batch.frames.len() <= room;
            for (seq, frame) in batch.frames.into_iter().take(room) {
                self.send(frame).await?;
                (self.at, self.told) = (seq, seq);
                room -= 1;
            }
            if is_whole {
                self.at = self.at.max(batch.upto);
            }
            // What concerns few vaults is looked for in turns here too, and not while the service goes.
            if !batch.more || self.fetched >= FETCHED || self.app.is_draining() {
                break;
            }
        }
        let tail = self.app.journal.ring.tail().max(self.at);
        self.end_with(Gap::queue_overflow(Cursor::new(self.at), Cursor::new(tail))).await
    }

    /// Waits for a signal, or for the next thing that is due by time.
    async fn rest(&mut self, signals: &mut watch::Receiver<u64>, left: Option<Duration>) -> Result<(), Over> {
        let now = self.app.clock.now();
        if std::mem::take(&mut self.beaten) {
            self.beat = now.plus_seconds(i64::from(HEARTBEAT_SECONDS));
            self.silent = Stopwatch::start();
        }
        let silence = silence_left(now, self.beat, self.silent.elapsed());
        if silence.is_zero() {
            return self.send(Bytes::from_static(frames::HEARTBEAT)).await.map(drop);
        }
        let mut wait = silence.min(left.unwrap_or(silence));
        if let Some(passing) = self.passing {
            let passed = passing.elapsed();
            if passed >= CHECKPOINT {
                return self.checkpoint().await;
            }
            wait = wait.min(CHECKPOINT.saturating_sub(passed));
        }
        // Whatever it was that ended the wait, the next round finds it. A clock that stands still keeps nobody busy.
        tokio::select! {
            biased;
            _ = signals.changed() => {}
            () = self.alarm.within(wait.max(SHORTEST)) => {}
        }
        Ok(())
    }

    async fn checkpoint(&mut self) -> Result<(), Over> {
        (self.told, self.passing) = (self.at, None);
        self.send(Bytes::from(frames::checkpoint(Cursor::new(self.at)))).await.map(drop)
    }

    async fn failed<T>(&mut self, error: &StoreError) -> Result<T, Over> {
        tracing::warn!(%error, at = self.at, "a replay could not be read");
        self.end_with(Gap::replay_failed(Cursor::new(self.told))).await
    }

    async fn end_with<T>(&mut self, gap: Gap) -> Result<T, Over> {
        self.count(&gap);
        self.send(Bytes::from(frames::gap(&gap))).await?;
        Err(Over)
    }

    fn count(&self, gap: &Gap) {
        self.app.streams.meters.gap(gap.reason, self.app.clock.now());
    }

    /// Sends a frame, and puts the heartbeat off. Whoever is to get nothing more gets not even what had been read for it.
    async fn send(&mut self, frame: Bytes) -> Result<u64, Over> {
        if self.place.is_over() {
            return Err(Over);
        }
        self.beaten = true;
        Ok(self.out.send(frame).await)
    }
}

/// How much longer a stream may say nothing that has said nothing for so long: until its heartbeat is due by the service's clock,
/// and no longer than it may by anybody's, for that clock may have been set back.
fn silence_left(now: Timestamp, beat: Timestamp, silent: Duration) -> Duration {
    let by_clock = beat.as_micros().saturating_sub(now.as_micros()).max(0);
    Duration::from_micros(by_clock.unsigned_abs()).min(SILENCE.saturating_sub(silent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_due_by_whichever_clock_says_so_first() {
        let at = Timestamp::from_seconds;
        let after = Duration::from_secs;
        assert_eq!(silence_left(at(100), at(120), after(0)), SILENCE);
        assert_eq!(silence_left(at(115), at(120), after(15)), after(5));
        assert_eq!(silence_left(at(120), at(120), after(3)), Duration::ZERO, "moved ahead");
        assert_eq!(silence_left(at(900), at(120), after(3)), Duration::ZERO);
        assert_eq!(silence_left(at(100 - 3_600), at(120), after(15)), after(5), "set back by an hour");
        assert_eq!(silence_left(at(100 - 3_600), at(120), after(20)), Duration::ZERO);
        assert_eq!(silence_left(at(100 - 3_600), at(120), after(90)), Duration::ZERO);
    }
}
