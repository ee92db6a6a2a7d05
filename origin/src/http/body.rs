//! Request bodies, read up to a cap and within the bytes that their kind may hold in memory.

use super::answer::Failure;
use super::held_bytes::{HeldBytes, Share};
use axum::body::{Body, Bytes, HttpBody};
use rds_shared::wire::{ApiError, ErrorCode};
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// How long a body's next piece may be on its way.
const PATIENCE: Duration = Duration::from_secs(30);
/// Seconds after which a body may find room that found none.
const ROOM_SOON: u32 = 1;

/// A body that is in memory; it counts there while this is held.
#[derive(Debug)]
pub struct Held<'a> {
    /// The body.
    pub bytes: Bytes,
    _share: Share<'a>,
}

/// The next piece of `body`; `None` at its end. One that does not come in time is a fault of the caller's.
pub async fn next_chunk(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    next_within(PATIENCE, body).await
}

async fn next_within(patience: Duration, body: &mut Body) -> Result<Option<Bytes>, Failure> {
    while let Some(frame) =
        timeout(patience, poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))).await.map_err(|_| late())?
    {
        let frame = frame.map_err(|_| ApiError::new(ErrorCode::InvalidBody, "the body broke off"))?;
        // Anything else is trailers, which no route reads.
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// The whole of `body`. More than `cap` bytes, announced or sent, is 413, and no more than that is ever held. Where `memory` has no room
/// for it, it is 503.
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
            return Err(ApiError::from(ErrorCode::ServiceUnavailable).retry_after(ROOM_SOON).into());
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Held { bytes: Bytes::from(whole), _share: share })
}

/// The same, which must be there whole within `patience`.
pub async fn read_within(patience: Duration, body: Body, cap: usize, memory: &HeldBytes) -> Result<Held<'_>, Failure> {
    timeout(patience, read(body, cap, memory)).await.map_err(|_| late())?
}

fn late() -> ApiError {
    ApiError::new(ErrorCode::InvalidBody, "the body did not come in time")
}

fn too_large(cap: usize) -> ApiError {
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the body may have at most {cap} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::body::EventBody;

    /// A body that stops after its first piece.
    fn stopping() -> Body {
        Body::new(EventBody::new(|out| async move {
            out.send(Bytes::from_static(b"half")).await;
            std::future::pending().await
        }))
    }

    #[tokio::test]
    async fn a_body_that_stops_on_its_way_is_not_waited_for() {
        let mut body = stopping();
        let mut next = async || next_within(Duration::from_millis(20), &mut body).await;
        assert_eq!(next().await.unwrap().unwrap(), "half");
        let Err(Failure::Api(error)) = next().await else { panic!("it is waited for") };
        assert_eq!(error.code, ErrorCode::InvalidBody);
        let memory = HeldBytes::up_to(100);
        let Err(Failure::Api(error)) = read_within(Duration::from_millis(20), stopping(), 100, &memory).await else {
            panic!("it is waited for")
        };
        assert_eq!((error.code, memory.now(), memory.most()), (ErrorCode::InvalidBody, 0, 4));
    }

    #[tokio::test]
    async fn a_body_that_finds_no_room_in_memory_is_given_up() {
        let memory = HeldBytes::up_to(10);
        let first = read(Body::from("12345678"), 100, &memory).await.unwrap();
        let Err(Failure::Api(error)) = read(Body::from("abc"), 100, &memory).await else { panic!("it fits") };
        assert_eq!((error.code, error.retry_after), (ErrorCode::ServiceUnavailable, Some(ROOM_SOON)));
        drop(first);
        assert_eq!(read(Body::from("abc"), 100, &memory).await.unwrap().bytes, "abc");
    }
}
