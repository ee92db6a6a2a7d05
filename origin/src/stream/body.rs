//! A delivery as an HTTP body: it makes the next frame when the last one was taken, and holds no other.

use crate::clock::Stopwatch;
use axum::body::{Bytes, HttpBody};
use hyper::body::Frame;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// Where a delivery puts its frames.
#[derive(Debug, Clone, Default)]
pub struct Outlet(Arc<Mutex<Option<Bytes>>>);

impl Outlet {
    /// Hands over `frame` and waits until the connection asks for the next one. The microseconds that took: long when the client
    /// does not read.
    pub async fn send(&self, frame: Bytes) -> u64 {
        let watch = Stopwatch::start();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(frame);
        // Whoever takes the frame polls again before it waits for anything else: nobody is to be woken.
        poll_fn(|_| match self.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        watch.micros()
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn take(&self) -> Option<Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The body. Dropping it drops the delivery, and with it the stream's place.
pub struct EventBody {
    outlet: Outlet,
    delivery: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl EventBody {
    /// The body that `deliver` fills.
    pub fn new<F: Future<Output = ()> + Send + 'static>(deliver: impl FnOnce(Outlet) -> F) -> Self {
        let outlet = Outlet::default();
        let delivery = deliver(outlet.clone());
        EventBody { outlet, delivery: Some(Box::pin(delivery)) }
    }
}

impl fmt::Debug for EventBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventBody")
    }
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let over = match &mut self.delivery {
            Some(delivery) => delivery.as_mut().poll(cx).is_ready(),
            None => true,
        };
        if over {
            self.delivery = None;
        }
        match self.outlet.take() {
            Some(frame) => Poll::Ready(Some(Ok(Frame::data(frame)))),
            None if over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}
