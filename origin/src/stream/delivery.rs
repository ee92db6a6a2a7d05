//! One stream, from `ready` to its end.
//!
//! A stream has a position in the journal and no other state of its own. Replayed and live frames continue from the same position: from the
//! journal while the ring does not reach back to the position, then from the ring. So no operation is lost or repeated between replay and
//! live delivery.
//!
//! A stream that has delivered everything needs no task of its own. Where its connection can do so, the delivery ends with a [`LiveStream`],
//! which [`live`](crate::http::transport::live) keeps for as long as the client keeps up, and [`resume`] continues afterwards.

use super::alarm::Alarm;
use super::body::FrameSlot;
use super::live_stream::LiveStream;
use super::pages::{self, Page};
use super::silence::silence_left;
use super::{StreamLease, Streams};
use crate::journal::Journal;
use crate::journal::frame::Frame;
use crate::journal::ring::Batch;
use crate::metrics::lag::PushStep;
use rds_engine::clock::{Clock, Stopwatch};
use rds_shared::push::Cursor;
use rds_shared::push::cursor::{Resume, Start, Window};
use rds_shared::push::frames;
use rds_shared::push::gap::{Gap, GapReason};
use rds_shared::push::stream_limits::{HEARTBEAT_SECONDS, MAX_QUEUED_FRAMES, REPLAY_LIMIT};
use rds_shared::wire::Timestamp;
use rds_store::push::journal::read::Extent;
use rds_store::{Db, StoreError};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;

/// A client counts as not reading if a frame is not taken within this many microseconds; shorter waits are bursts.
pub const STALLED_MICROS: u64 = 100_000;
/// Maximum number of frames taken from the ring at once.
pub const BATCH_FRAMES: usize = 32;
/// Delay before a checkpoint frame reports skipped operations to the client, so that many skipped operations share one frame.
pub const CHECKPOINT_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of operations fetched from the journal for one stream. The stream then ends with a cursor, and the client continues from
/// it in another request.
const MAX_FETCHED: u32 = 50_000;
/// When the service stops, streams end spread over this many milliseconds, so that clients do not all reconnect at once.
const SPREAD_MILLIS: u64 = 2_000;

/// Minimum wait of a stream for the next signal or deadline.
const MIN_WAIT: Duration = Duration::from_millis(10);

/// The parts of the service that every stream of a process shares.
#[derive(Debug)]
pub struct StreamSources {
    pub db: Db,
    pub clock: Clock,
    pub journal: Arc<Journal>,
    pub streams: Arc<Streams>,
}

/// The parameters of a stream.
#[derive(Debug)]
pub struct Subscription {
    /// Only operations that concern this vault; `None` for all.
    pub vault: Option<String>,
    /// `vault` as the client wrote it.
    pub asked: Option<String>,
    /// The start position.
    pub start: Start,
    /// The range of the journal when the stream was opened.
    pub extent: Extent,
    /// The stream's lease.
    pub lease: StreamLease,
}

/// A running stream.
struct Delivery {
    sources: Arc<StreamSources>,
    out: FrameSlot,
    vault: Option<Arc<str>>,
    extent: Extent,
    lease: StreamLease,
    /// Everything up to this position was delivered or skipped.
    at: u64,
    /// The last position that was sent to the client.
    announced: u64,
    /// Operations up to this position are a replay.
    replay_to: u64,
    /// Number of operations replayed.
    replayed: u32,
    /// Number of operations fetched from the journal since the stream last read from the ring.
    fetched: u32,
    /// When the next heartbeat is due.
    heartbeat_at: Timestamp,
    /// Started when the stream began to wait after its last frame.
    silent: Stopwatch,
    /// Whether a frame was sent since the stream last waited.
    has_sent: bool,
    /// Wakes the stream when a heartbeat, a checkpoint or its end is due.
    alarm: Alarm,
    /// Time since the first skipped operation that no frame has reported to the client.
    passing: Option<Stopwatch>,
}

/// Why a delivery ends.
enum DeliveryEnd {
    /// The stream ends, and its last frame was already sent.
    Over,
    /// The stream has delivered everything there is, and its connection can go on without a task.
    Live,
}

/// Delivers `subscription` until the client disconnects or the stream must end.
pub async fn deliver(sources: Arc<StreamSources>, subscription: Subscription, out: FrameSlot) {
    let Subscription { vault, asked, start, extent, lease } = subscription;
    let signals = sources.journal.signals();
    let at = start.after.get();
    let (replay_to, heartbeat_at) = (extent.tail.get(), sources.clock.now().plus_seconds(i64::from(HEARTBEAT_SECONDS)));
    let mut delivery = Delivery {
        sources,
        out,
        vault: vault.map(Arc::from),
        extent,
        lease,
        at,
        announced: at,
        replay_to,
        replayed: 0,
        fetched: 0,
        heartbeat_at,
        silent: Stopwatch::start(),
        has_sent: false,
        alarm: Alarm::default(),
        passing: None,
    };
    if let Some(gap) = &start.gap {
        delivery.count(gap);
    }
    let opening = Frame::new(&frames::opening(asked.as_deref(), &start));
    let end = async {
        delivery.send(opening).await?;
        delivery.run(signals).await
    };
    let end = end.await;
    delivery.finish(end);
}

/// Continues a live stream until the client disconnects, the stream must end, or it is live again. `has_stalled` says that the client did
/// not read for [`STALLED_MICROS`].
pub async fn resume(live: LiveStream, has_stalled: bool, out: FrameSlot) {
    let LiveStream { sources, vault, lease, at, announced, heartbeat_at, silent, passing } = live;
    let signals = sources.journal.signals();
    // The range of the journal is read anew before it is used.
    let extent = Extent { floor: Cursor::new(0), tail: Cursor::new(at), jumps: Vec::new() };
    let mut delivery = Delivery {
        sources,
        out,
        vault,
        extent,
        lease,
        at,
        announced,
        replay_to: 0,
        replayed: 0,
        fetched: 0,
        heartbeat_at,
        silent,
        has_sent: false,
        alarm: Alarm::default(),
        passing,
    };
    let end = async {
        if has_stalled && delivery.is_behind() {
            delivery.overflow().await?;
        }
        delivery.run(signals).await
    };
    let end = end.await;
    delivery.finish(end);
}

impl Delivery {
    async fn run(&mut self, mut signals: watch::Receiver<u64>) -> Result<(), DeliveryEnd> {
        let mut leaving: Option<(Stopwatch, Duration)> = None;
        loop {
            if self.lease.must_end() {
                return Err(DeliveryEnd::Over);
            }
            // The signal is marked as seen before the ring is read, so an operation appended later is a new signal.
            signals.mark_unchanged();
            let batch = self.next().await?;
            let more = batch.more;
            self.hand_out(batch).await?;
            if self.sources.streams.is_draining() && leaving.is_none() {
                leaving = Some((Stopwatch::start(), Duration::from_millis(self.lease.number() % SPREAD_MILLIS)));
                self.send(Frame::new(frames::DRAINING)).await?;
            }
            let left = leaving.map(|(since, wait)| wait.saturating_sub(since.elapsed()));
            if left == Some(Duration::ZERO) {
                return Err(DeliveryEnd::Over);
            }
            if !more {
                self.rest(&mut signals, left).await?;
            }
        }
    }

    /// Leaves a live stream to the connection. Otherwise the stream has already sent its last frame, and nothing is left to do.
    fn finish(self, end: Result<(), DeliveryEnd>) {
        if let Err(DeliveryEnd::Live) = end {
            let Delivery { sources, out, vault, lease, at, announced, heartbeat_at, silent, passing, .. } = self;
            out.go_live(LiveStream { sources, vault, lease, at, announced, heartbeat_at, silent, passing });
        }
    }

    /// The next frames, from the ring or from the journal.
    async fn next(&mut self) -> Result<Batch, DeliveryEnd> {
        loop {
            if let Some(batch) = self.sources.journal.ring.after(self.at, self.vault.as_deref(), BATCH_FRAMES) {
                self.fetched = 0;
                return Ok(batch);
            }
            // Boxed, so that idle streams do not carry this large future.
            let StreamSources { db, clock, streams, .. } = &*self.sources;
            match Box::pin(pages::read(db, clock, streams, &mut self.extent, self.at, self.vault.as_deref())).await {
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

    /// Continues at the window's floor if the journal no longer contains the position, or after `missing` if the operations up to that
    /// number no longer exist.
    async fn begin_again(&mut self, missing: Option<Cursor>) -> Result<(), DeliveryEnd> {
        let (Extent { floor, tail, jumps }, at) = (&self.extent, Cursor::new(self.at));
        let start = Window { floor: *floor, tail: *tail, jumps }.start(Resume::After(at));
        // Nothing can be delivered from a position whose operations are missing, even inside the window.
        let hole = missing.map(|to| Gap { reason: GapReason::CursorUnknown, from: Some(at), to: Some(to), cursor: to });
        let Some(gap) = start.gap.or(hole) else {
            self.sources.journal.meters.broken.fetch_add(1, Relaxed);
            tracing::error!(%at, "the journal has the position of a stream, but not the operations after it");
            return self.end_with(Gap::replay_failed(at)).await;
        };
        self.count(&gap);
        self.send(Frame::new(&frames::gap(&gap))).await?;
        (self.at, self.replay_to) = (gap.cursor.get(), self.extent.tail.get());
        self.checkpoint().await
    }

    async fn hand_out(&mut self, batch: Batch) -> Result<(), DeliveryEnd> {
        let frames = batch.frames.len() as u64;
        if let Some(age) = batch.age
            && batch.frames.first().is_some_and(|(seq, _)| *seq > self.replay_to)
        {
            self.sources.journal.lag.record(PushStep::Wake, age.micros());
        }
        for (seq, frame) in batch.frames {
            if seq <= self.replay_to {
                if self.replayed == REPLAY_LIMIT {
                    return self.truncate().await;
                }
                self.replayed += 1;
            }
            let micros = self.send(frame).await?;
            (self.at, self.announced) = (seq, seq);
            if micros >= STALLED_MICROS && seq > self.replay_to && self.is_behind() {
                return self.overflow().await;
            }
        }
        self.sources.streams.meters.frames.fetch_add(frames, Relaxed);
        self.at = self.at.max(batch.upto);
        if self.at == self.announced {
            self.passing = None;
        } else if batch.more && frames == 0 {
            // A replay without matching operations reports its progress page by page.
            self.checkpoint().await?;
        } else if self.passing.is_none() {
            self.passing = Some(Stopwatch::start());
        }
        match batch.more && self.fetched >= MAX_FETCHED {
            true => self.truncate().await,
            false => Ok(()),
        }
    }

    /// Ends a replay that exceeds the limit of one connection; the client reconnects with the cursor.
    async fn truncate(&mut self) -> Result<(), DeliveryEnd> {
        self.checkpoint().await?;
        let tail = self.sources.journal.ring.tail().max(self.replay_to);
        self.end_with(Gap::replay_truncated(Cursor::new(self.at), Cursor::new(tail))).await
    }

    fn is_behind(&self) -> bool {
        self.sources.journal.ring.is_behind(self.at, self.vault.as_deref(), MAX_QUEUED_FRAMES)
    }

    /// Ends the stream of a client that reads too slowly. Sends at most `MAX_QUEUED_FRAMES` more frames, then a gap frame.
    async fn overflow(&mut self) -> Result<(), DeliveryEnd> {
        let mut room = MAX_QUEUED_FRAMES;
        while room > 0 {
            // `send` checks the lease too, but is not called for a page without frames for this stream.
            if self.lease.must_end() {
                return Err(DeliveryEnd::Over);
            }
            let batch = self.next().await?;
            let is_whole = batch.frames.len() <= room;
            for (seq, frame) in batch.frames.into_iter().take(room) {
                self.send(frame).await?;
                (self.at, self.announced) = (seq, seq);
                room -= 1;
            }
            if is_whole {
                self.at = self.at.max(batch.upto);
            }
            // The loop also ends after `MAX_FETCHED` operations without enough frames, and when the service stops.
            if !batch.more || self.fetched >= MAX_FETCHED || self.sources.streams.is_draining() {
                break;
            }
        }
        let tail = self.sources.journal.ring.tail().max(self.at);
        self.end_with(Gap::queue_overflow(Cursor::new(self.at), Cursor::new(tail))).await
    }

    /// Waits for a signal, or until a heartbeat, a checkpoint or the end of the stream is due.
    async fn rest(&mut self, signals: &mut watch::Receiver<u64>, left: Option<Duration>) -> Result<(), DeliveryEnd> {
        let now = self.sources.clock.now();
        if std::mem::take(&mut self.has_sent) {
            self.heartbeat_at = now.plus_seconds(i64::from(HEARTBEAT_SECONDS));
            self.silent = Stopwatch::start();
        }
        let silence = silence_left(now, self.heartbeat_at, self.silent.elapsed());
        if silence.is_zero() {
            return self.send(Frame::new(frames::HEARTBEAT)).await.map(drop);
        }
        let mut wait = silence.min(left.unwrap_or(silence));
        if let Some(passing) = self.passing {
            let passed = passing.elapsed();
            if passed >= CHECKPOINT_DELAY {
                return self.checkpoint().await;
            }
            wait = wait.min(CHECKPOINT_DELAY.saturating_sub(passed));
        }
        let is_live = left.is_none() && self.at >= self.replay_to;
        if is_live && self.out.can_go_live() {
            return Err(DeliveryEnd::Live);
        }
        // The next round determines what ended the wait. The minimum wait avoids a busy loop while a test clock is stopped.
        tokio::select! {
            biased;
            _ = signals.changed() => {}
            () = self.out.until_live_is_possible(), if is_live => {}
            () = self.alarm.within(wait.max(MIN_WAIT)) => {}
        }
        Ok(())
    }

    async fn checkpoint(&mut self) -> Result<(), DeliveryEnd> {
        (self.announced, self.passing) = (self.at, None);
        self.send(Frame::new(&frames::checkpoint(Cursor::new(self.at)))).await.map(drop)
    }

    async fn failed<T>(&mut self, error: &StoreError) -> Result<T, DeliveryEnd> {
        tracing::warn!(%error, at = self.at, "a replay could not be read");
        self.end_with(Gap::replay_failed(Cursor::new(self.announced))).await
    }

    async fn end_with<T>(&mut self, gap: Gap) -> Result<T, DeliveryEnd> {
        self.count(&gap);
        self.send(Frame::new(&frames::gap(&gap))).await?;
        Err(DeliveryEnd::Over)
    }

    fn count(&self, gap: &Gap) {
        self.sources.streams.meters.gap(gap.reason, self.sources.clock.now());
    }

    /// Sends a frame, which also postpones the heartbeat. A stream that must end sends nothing more, not even frames already read.
    async fn send(&mut self, frame: Frame) -> Result<u64, DeliveryEnd> {
        if self.lease.must_end() {
            return Err(DeliveryEnd::Over);
        }
        self.has_sent = true;
        Ok(self.out.send(frame).await)
    }
}
