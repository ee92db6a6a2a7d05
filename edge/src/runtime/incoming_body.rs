//! Reads a caller's body, with limits on its size and time.

use crate::ports::BodyFault;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use wasm_bindgen::JsCast;
use worker::Delay;
use worker::js_sys::{Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{ReadableStream, ReadableStreamDefaultReader};

/// Timeout for the next chunk of a body.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads `stream`, at most `max_bytes`.
pub async fn read(stream: &ReadableStream, max_bytes: usize) -> Result<Vec<u8>, BodyFault> {
    let reader: ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let mut deadline = pin!(Delay::from(BODY_TIMEOUT));
    let mut body = Vec::new();
    let fault = loop {
        let mut chunk = pin!(JsFuture::from(reader.read()));
        let mut patience = pin!(Delay::from(CHUNK_TIMEOUT));
        let came = poll_fn(|context| match chunk.as_mut().poll(context) {
            Poll::Ready(chunk) => Poll::Ready(Some(chunk)),
            Poll::Pending => {
                let is_late = patience.as_mut().poll(context).is_ready() || deadline.as_mut().poll(context).is_ready();
                if is_late { Poll::Ready(None) } else { Poll::Pending }
            }
        });
        let Some(chunk) = came.await else { break BodyFault::Late };
        let chunk = chunk.map_err(|_| BodyFault::Broken)?;
        let bytes = Reflect::get(&chunk, &"value".into()).map_err(|_| BodyFault::Broken)?;
        let Some(bytes) = bytes.dyn_ref::<Uint8Array>() else { return Ok(body) };
        let length = usize::try_from(bytes.length()).unwrap_or(usize::MAX);
        if body.len().saturating_add(length) > max_bytes {
            break BodyFault::TooLarge;
        }
        body.extend_from_slice(&bytes.to_vec());
    };
    // Cancel the unread part of the body, but do not wait for the end of the cancellation.
    let _ = reader.cancel();
    Err(fault)
}
