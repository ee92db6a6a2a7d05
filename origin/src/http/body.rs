//! Request bodies, read up to a cap.

use super::answer::Failure;
use axum::body::{Body, Bytes, HttpBody};
use rds_shared::wire::{ApiError, ErrorCode};
use std::future::poll_fn;
use std::pin::Pin;

/// The next piece of `body`; `None` at its end.
pub async fn next_chunk(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
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
