//! Reads request bodies, within a size limit for each body and a memory limit for all bodies from one kind of sender.

use crate::http::exchange::answer::Failure;
use crate::http::transport::held_bytes::{HeldBytes, Share};
use axum::body::{Body, Bytes, HttpBody};
use rds_shared::wire::{ApiError, ErrorCode};
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// Time limit for the next chunk of a body.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(30);
/// `Retry-After` in seconds if there is no memory for a body.
const RETRY_AFTER_SECONDS: u32 = 1;

/// A body in memory. Its bytes count towards the memory limit until this value is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    pub bytes: Bytes,
    _share: Share<'a>,
}

/// The next chunk of `body`; `None` at its end. A chunk that does not arrive in time is a client error.
pub async fn next_chunk(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    next_within(CHUNK_TIMEOUT, body).await
}

async fn next_within(patience: Duration, body: &mut Body) -> Result<Option<Bytes>, Failure> {
    while let Some(frame) =
        timeout(patience, poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))).await.map_err(|_| late())?
    {
        let frame =
            frame.map_err(|_| ApiError::new(ErrorCode::InvalidBody, "the body ended before it was complete"))?;
        // Other frames are trailers, which no route reads.
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Reads all of `body`, and holds at most `cap` bytes. Fails with 413 if the body announces or sends more than `cap` bytes, and with 503 if
/// `memory` has no room.
pub async fn read(mut body: Body, cap: usize, memory: &HeldBytes) -> Result<Held<'_>, Failure> {
    let mut share = memory.share();
    if body.is_end_stream() {
        return Ok(Held { bytes: Bytes::new(), _share: share });
    }
    if body.size_hint().lower() > cap as u64 {
        return Err(too_large(cap).into());
    }
    let mut whole = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await? {
        if whole.len() + chunk.len() > cap {
            return Err(too_large(cap).into());
        }
        if !share.grow(chunk.len()) {
            return Err(ApiError::from(ErrorCode::ServiceUnavailable).retry_after(RETRY_AFTER_SECONDS).into());
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Held { bytes: Bytes::from(whole), _share: share })
}

/// Like [`read`], but the whole body must arrive within `patience`.
pub async fn read_within(patience: Duration, body: Body, cap: usize, memory: &HeldBytes) -> Result<Held<'_>, Failure> {
    timeout(patience, read(body, cap, memory)).await.map_err(|_| late())?
}

fn late() -> ApiError {
    ApiError::new(ErrorCode::InvalidBody, "the body did not arrive in time")
}

fn too_large(cap: usize) -> ApiError {
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the body may have at most {cap} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::frame::Frame;
    use crate::stream::body::EventBody;

    /// A body that sends one chunk and then stalls.
    fn stopping() -> Body {
        Body::new(EventBody::new(Default::default(), |out| async move {
            out.send(Frame::new(b"half")).await;
            std::future::pending().await
        }))
    }

    #[tokio::test]
    async fn a_body_that_stalls_is_refused_after_the_time_limit() {
        let mut body = stopping();
        let mut next = async || next_within(Duration::from_millis(20), &mut body).await;
        assert_eq!(next().await.unwrap().unwrap(), "half");
        let Err(Failure::Api(error)) = next().await else { panic!("it is waited for") };
        assert_eq!(error.code, ErrorCode::InvalidBody);
        let memory = HeldBytes::up_to(100);
        let Err(Failure::Api(error)) = read_within(Duration::from_millis(20), stopping(), 100, &memory).await else {
            panic!("it is waited for")
        };
        assert_eq!((error.code, memory.now(), memory.maximum()), (ErrorCode::InvalidBody, 0, 4));
    }

    #[tokio::test]
    async fn a_body_without_room_in_memory_is_refused() {
        let memory = HeldBytes::up_to(10);
        let first = read(Body::from("12345678"), 100, &memory).await.unwrap();
        let Err(Failure::Api(error)) = read(Body::from("abc"), 100, &memory).await else { panic!("it fits") };
        assert_eq!((error.code, error.retry_after), (ErrorCode::ServiceUnavailable, Some(RETRY_AFTER_SECONDS)));
        drop(first);
        assert_eq!(read(Body::from("abc"), 100, &memory).await.unwrap().bytes, "abc");
    }
}
