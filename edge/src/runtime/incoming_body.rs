//! A caller's body, read to its end, to a bound, or until it is too late.

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

/// How long the next piece of a body may be on its way.
const PIECE: Duration = Duration::from_secs(10);
/// How long all of it may take.
const WHOLE: Duration = Duration::from_secs(30);

/// Reads `stream`, no further than `max_bytes`.
pub async fn read(stream: &ReadableStream, max_bytes: usize) -> Result<Vec<u8>, BodyFault> {
    let reader: ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let mut deadline = pin!(Delay::from(WHOLE));
    let mut body = Vec::new();
    let fault = loop {
        let mut piece = pin!(JsFuture::from(reader.read()));
        let mut patience = pin!(Delay::from(PIECE));
        let came = poll_fn(|context| match piece.as_mut().poll(context) {
            Poll::Ready(piece) => Poll::Ready(Some(piece)),
            Poll::Pending => {
                let is_late = patience.as_mut().poll(context).is_ready() || deadline.as_mut().poll(context).is_ready();
                if is_late { Poll::Ready(None) } else { Poll::Pending }
            }
        });
        let Some(piece) = came.await else { break BodyFault::Late };
        let piece = piece.map_err(|_| BodyFault::Broken)?;
        let bytes = Reflect::get(&piece, &"value".into()).map_err(|_| BodyFault::Broken)?;
        let Some(bytes) = bytes.dyn_ref::<Uint8Array>() else { return Ok(body) };
        let length = usize::try_from(bytes.length()).unwrap_or(usize::MAX);
        if body.len().saturating_add(length) > max_bytes {
            break BodyFault::TooLarge;
        }
        body.extend_from_slice(&bytes.to_vec());
    };
    // What else comes is not waited for.
    let _ = reader.cancel();
    Err(fault)
}
