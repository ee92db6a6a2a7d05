//! Calls to the origin, for whole answers and for streams.

use super::ambient::Init;
use crate::config::Config;
use crate::origin_link::signed_call::{self, Call, OriginAnswer};
use crate::ports::{MAX_HOST_TIMEOUT, NoAnswer};
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use rds_shared::access::BodyDigest;
use rds_shared::wire::headers;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::Delay;
use worker::js_sys::{self, Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{AbortController, AbortSignal, ReadableStream, RequestInit, Response, WorkerGlobalScope};

/// Calls the origin with timeout `limit`. The caller must enforce a limit above [`MAX_HOST_TIMEOUT`] itself.
pub async fn call(config: &Config, call: &Call, limit: Duration) -> Result<OriginAnswer, NoAnswer> {
    let signal = (limit <= MAX_HOST_TIMEOUT)
        .then(|| AbortSignal::timeout_with_u32(u32::try_from(limit.as_millis()).unwrap_or(u32::MAX)));
    let asking = async {
        let response = fetch(&config.origin_url, call, signal.as_ref()).await?;
        whole(&response).await
    };
    asking.await.map_err(no_answer)
}

/// Opens a stream at the origin. The timeout covers its headers only, because a later abort would cut the stream off.
pub(super) async fn open(
    config: &Config,
    call: &Call,
    limit: Duration,
) -> Result<(OriginAnswer, Option<ReadableStream>), NoAnswer> {
    let abort = AbortController::new().map_err(no_answer)?;
    let signal = abort.signal();
    let mut asking = pin!(async {
        let response = fetch(&config.origin_url, call, Some(&signal)).await?;
        let answer = head(&response);
        match answer.is_stream() {
            true => Ok((answer, response.body())),
            false => Ok((whole(&response).await?, None)),
        }
    });
    let mut waiting = pin!(Delay::from(limit));
    let outcome = poll_fn(|cx| match asking.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending => waiting.as_mut().poll(cx).map(|()| None),
    });
    match outcome.await {
        Some(outcome) => outcome.map_err(no_answer),
        None => {
            abort.abort();
            Err(NoAnswer::Timeout)
        }
    }
}

fn no_answer(cause: JsValue) -> NoAnswer {
    let text = |name: &str| Reflect::get(&cause, &name.into()).ok().and_then(|value| value.as_string());
    match text("name").as_deref() {
        Some("TimeoutError") => NoAnswer::Timeout,
        _ => NoAnswer::Unreachable(text("message").unwrap_or_else(|| "unknown".to_owned())),
    }
}

async fn fetch(origin_url: &str, call: &Call, signal: Option<&AbortSignal>) -> Result<Response, JsValue> {
    let (method, redirect) = (Some(call.method.as_str()), Some("manual"));
    let init: RequestInit = Init { method, redirect, ..Init::with(&call.headers) }.to_js()?;
    init.set_signal(signal);
    if !call.body.is_empty() {
        init.set_body(&Uint8Array::from(call.body.as_slice()));
    }
    let global: WorkerGlobalScope = js_sys::global().unchecked_into();
    let url = format!("{origin_url}{}", call.target);
    JsFuture::from(global.fetch_with_str_and_init(&url, &init)).await?.dyn_into()
}

fn head(response: &Response) -> OriginAnswer {
    let given = response.headers();
    let read = |name: &str| given.get(name).ok().flatten();
    OriginAnswer {
        status: response.status(),
        headers: signed_call::READ.into_iter().filter_map(|name| read(name).map(|value| (name, value))).collect(),
        body: Vec::new(),
        signature: read(headers::ANSWER),
        digest: None,
    }
}

/// The whole answer. It is read to its end in every case, because an unread body would occupy one of the runtime's few connections.
async fn whole(response: &Response) -> Result<OriginAnswer, JsValue> {
    let buffer = JsFuture::from(response.array_buffer()?).await?;
    let body = Uint8Array::new(&buffer).to_vec();
    let digest = match body.len() {
        ..MAX_LOCAL_HASH => BodyDigest::of(&body),
        _ => digest(&buffer).await?,
    };
    Ok(OriginAnswer { body, digest: Some(digest), ..head(response) })
}

/// Bodies below this size, in bytes, are hashed in Wasm; above it, the runtime's hash is faster despite the call.
const MAX_LOCAL_HASH: usize = 512;

#[wasm_bindgen]
extern "C" {
    /// The runtime's hash function.
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = digest)]
    fn subtle_digest(algorithm: &str, data: &JsValue) -> Result<js_sys::Promise, JsValue>;
}

/// The SHA-256 of an `ArrayBuffer`.
pub(super) async fn digest(buffer: &JsValue) -> Result<BodyDigest, JsValue> {
    let digest = JsFuture::from(subtle_digest("SHA-256", buffer)?).await?;
    let bytes = <[u8; 32]>::try_from(Uint8Array::new(&digest).to_vec())
        .map_err(|_| JsValue::from("the runtime's SHA-256 digest is not 32 bytes long"))?;
    Ok(BodyDigest::from_bytes(bytes))
}
