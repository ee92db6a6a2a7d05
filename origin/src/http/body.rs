//! Request bodies, read up to a cap.

use super::answer::Failure;
use axum::body::{Body, Bytes, HttpBody};
use rds_shared::wire::{ApiError, ErrorCode};
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// How long a body's next piece may be on its way.
const PATIENCE: Duration = Duration::from_secs(30);

/// The next piece of `body`; `None` at its end. One that does not come in time is a fault of the caller's.
pub async fn next_chunk(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    next_within(PATIENCE, body).await
}

async fn next_within(patience: Duration, body: &mut Body) -> Result<Option<Bytes>, Failure> {
    let late = |_| ApiError::new(ErrorCode::InvalidBody, "the body did not come in time");
    while let Some(frame) = timeout(patience, poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))).await.map_err(late)? {
        let frame = frame.map_err(|_| ApiError::new(ErrorCode::InvalidBody, "the body broke off"))?;
        // Anything else is trailers, which no route reads.
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// The whole of `body`. More than `cap` bytes, announced or sent, is 413, and no more than that is ever held.
pub async fn read(mut body: Body, cap: usize) -> Result<Bytes, Failure> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > cap as u64 {
        return Err(too_large(cap).into());
    }
    let mut whole = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await? {
        if whole.len() + chunk.len() > cap {
            return Err(too_large(cap).into());
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Bytes::from(whole))
}

fn too_large(cap: usize) -> ApiError {
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the body may have at most {cap} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::body::EventBody;

    #[tokio::test]
    async fn a_body_that_stops_on_its_way_is_not_waited_for() {
        let mut body = Body::new(EventBody::new(|out| async move {
            out.send(Bytes::from_static(b"half")).await;
            std::future::pending().await
        }));
        let mut next = async || next_within(Duration::from_millis(20), &mut body).await;
        assert_eq!(next().await.unwrap().unwrap(), "half");
        let Err(Failure::Api(error)) = next().await else { panic!("it is waited for") };
        assert_eq!(error.code, ErrorCode::InvalidBody);
    }
}
