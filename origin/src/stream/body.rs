//! The delivery of a stream as an HTTP body. A frame is produced once the previous one was taken, so at most one is buffered.
//! After the response has begun, the connection takes the frames directly (see [`http1`](crate::http::transport::http1)).

use super::live_stream::LiveStream;
use crate::journal::Journal;
use crate::journal::frame::Frame;
use crate::metrics::lag::PushStep;
use axum::body::{Bytes, HttpBody};
use hyper::body;
use rds_engine::clock::Stopwatch;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

/// The slot through which a delivery hands over its frames.
#[derive(Debug, Clone, Default)]
pub struct FrameSlot(Arc<Mutex<Slot>>);

#[derive(Debug, Default)]
struct Slot {
    frame: Option<Frame>,
    /// Whether the connection can continue a live stream without its delivery.
    can_go_live: bool,
    /// The stream that the connection continues.
    live: Option<Box<LiveStream>>,
}

impl FrameSlot {
    /// Hands over `frame` and waits until the connection requests the next one. Returns the waiting time in microseconds, which
    /// is long if the client does not read.
    pub async fn send(&self, frame: Frame) -> u64 {
        let watch = Stopwatch::start();
        self.slot().frame = Some(frame);
        // The connection that takes a frame polls again before it waits for anything else, so no waker is needed.
        poll_fn(|_| match self.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        watch.micros()
    }

    /// Whether a delivery may end with [`go_live`](Self::go_live).
    pub fn can_go_live(&self) -> bool {
        self.slot().can_go_live
    }

    /// Completes once a delivery may end with [`go_live`](Self::go_live), if it could not before.
    pub async fn until_live_is_possible(&self) {
        // The connection polls the delivery after it has allowed this, so no waker is needed.
        poll_fn(|_| match self.can_go_live() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Leaves the stream to the connection, as the last act of a delivery.
    pub fn go_live(&self, live: LiveStream) {
        self.slot().live = Some(Box::new(live));
    }

    fn is_empty(&self) -> bool {
        self.slot().frame.is_none()
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A delivery and its slot. Dropping it ends the delivery and releases the stream's lease.
pub struct FrameStream {
    slot: FrameSlot,
    delivery: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    journal: Arc<Journal>,
}

impl FrameStream {
    /// The frames of `deliver`, which are those of `journal`.
    pub fn new<F: Future<Output = ()> + Send + 'static>(
        journal: Arc<Journal>,
        deliver: impl FnOnce(FrameSlot) -> F,
    ) -> Self {
        let slot = FrameSlot::default();
        let delivery = deliver(slot.clone());
        FrameStream { slot, delivery: Some(Box::pin(delivery)), journal }
    }

    /// Lets the delivery end with a live stream, which the caller then continues.
    pub fn allow_live(&self) {
        self.slot.slot().can_go_live = true;
    }

    /// The live stream with which the delivery has ended.
    pub fn take_live(&self) -> Option<Box<LiveStream>> {
        self.slot.slot().live.take()
    }

    /// The next frame; `None` after the last one.
    pub fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame>> {
        let over = match &mut self.delivery {
            Some(delivery) => delivery.as_mut().poll(cx).is_ready(),
            None => true,
        };
        if over {
            self.delivery = None;
        }
        match self.slot.slot().frame.take() {
            Some(frame) => Poll::Ready(Some(frame)),
            None if over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Records how long the connection took to write frames that it had taken.
    pub fn written(&self, since: Stopwatch) {
        self.journal.lag.record(PushStep::Write, since.micros());
    }
}

impl fmt::Debug for FrameStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FrameStream")
    }
}

/// Shared access to a frame stream, for taking it out of the body that began it.
#[derive(Debug, Clone, Default)]
pub struct FrameStreamHandle(Arc<Mutex<Held>>);

/// The frame stream (`None` once taken), and whether its first frame was read from the body.
#[derive(Debug, Default)]
struct Held {
    frames: Option<FrameStream>,
    has_begun: bool,
}

impl FrameStreamHandle {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the first frame was taken from the body.
    pub fn has_begun(&self) -> bool {
        self.held().has_begun
    }

    /// Takes the frame stream, to continue where the body stopped.
    pub fn take(&self) -> Option<FrameStream> {
        self.held().frames.take()
    }
}

/// The body with which the response of a stream begins.
#[derive(Debug)]
pub struct EventBody(FrameStreamHandle);

impl EventBody {
    /// A body filled by `deliver` with frames of `journal`.
    pub fn new<F: Future<Output = ()> + Send + 'static>(
        journal: Arc<Journal>,
        deliver: impl FnOnce(FrameSlot) -> F,
    ) -> Self {
        let frames = Some(FrameStream::new(journal, deliver));
        EventBody(FrameStreamHandle(Arc::new(Mutex::new(Held { frames, has_begun: false }))))
    }

    /// Access to the body's frame stream.
    pub fn source(&self) -> FrameStreamHandle {
        self.0.clone()
    }
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<body::Frame<Bytes>, Infallible>>> {
        let mut held = self.0.held();
        let Some(frames) = &mut held.frames else { return Poll::Ready(None) };
        let frame = ready!(frames.poll_frame(cx));
        held.has_begun = true;
        if frame.is_none() {
            // The body has reported its end, so the connection must not take the stream and write the end a second time.
            held.frames = None;
        }
        Poll::Ready(frame.map(|frame| Ok(body::Frame::data(frame.bytes()))))
    }
}

impl Drop for EventBody {
    /// Drops the frame stream, unless it was taken.
    fn drop(&mut self) {
        drop(self.0.take());
    }
}
