//! Sending a request: its tries, its answer or error.

use crate::answer::{self, Answer, AnswerInfo, RateLimit};
use crate::client::{Client, Inner};
use crate::error::{ApiError, Error};
use crate::etags::Kept;
use crate::generated::errors::ErrorCode;
use crate::retry::{delay, is_temporary, retry_after};
use crate::transport::Body;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderMap, Method, Uri};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// What a try needs.
pub(crate) struct Prepared {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub may_repeat: bool,
    pub max_retries: u32,
    pub timeout: Duration,
    pub etag_key: Option<String>,
}

/// Sends a request, with retries, and reads its JSON.
pub(crate) async fn json<T: DeserializeOwned>(client: &Client, prepared: Prepared) -> Result<Answer<T>, Error> {
    read(client, prepared, |text| serde_json::from_str(text)).await
}

/// Sends a request, with retries, and reads its body with a function.
pub(crate) async fn read<T>(
    client: &Client,
    mut prepared: Prepared,
    decode: impl Fn(&str) -> serde_json::Result<T>,
) -> Result<Answer<T>, Error> {
    let inner = &client.inner;
    let mut tries = 1;
    loop {
        let error = match attempt(inner, &mut prepared, tries, &decode).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let Some(time) = wait(inner, &prepared, &error, tries) else { return Err(error) };
        inner.clock.sleep(time).await;
        tries += 1;
    }
}

/// A random `Idempotency-Key`: a UUID of version 4.
pub(crate) fn random_key() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Argument(format!("no random idempotency key: {error}")))?;
    let [.., seventh, _, ninth, _, _, _, _, _, _, _] = &mut bytes;
    *seventh = (*seventh & 0x0f) | 0x40;
    *ninth = (*ninth & 0x3f) | 0x80;
    let mut key = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        let hyphen = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
        _ = write!(key, "{hyphen}{byte:02x}");
    }
    Ok(key)
}

async fn attempt<T>(
    inner: &Inner,
    prepared: &mut Prepared,
    tries: u32,
    decode: &impl Fn(&str) -> serde_json::Result<T>,
) -> Result<Answer<T>, Error> {
    let lock = || inner.etags.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = prepared.etag_key.as_ref().and_then(|key| lock().get(key));
    if let Some(kept) = &kept {
        prepared.headers.insert(IF_NONE_MATCH, kept.tag.clone());
    }
    let mut request = http::Request::new(prepared.body.clone());
    *request.method_mut() = prepared.method.clone();
    *request.uri_mut() = prepared.uri.clone();
    *request.headers_mut() = prepared.headers.clone();
    let received = tokio::time::timeout(prepared.timeout, receive(inner, request)).await;
    let (status, headers, text) = received.map_err(|_| Error::Timeout(prepared.timeout))??;
    let confirmed = kept.filter(|_| status == 304);
    if confirmed.is_none() && !(200..300).contains(&status) {
        return Err(api_error(inner, status, headers, &text));
    }
    let is_kept = confirmed.is_some();
    let text = match confirmed {
        Some(kept) => kept.text,
        None => text.into(),
    };
    let content = decode(&text).map_err(|error| Error::Decoding(error.to_string()))?;
    if let (false, Some(key), Some(tag)) = (is_kept, &prepared.etag_key, headers.get(ETAG)) {
        lock().set(key.clone(), Kept { tag: tag.clone(), text: Arc::clone(&text) });
    }
    Ok(Answer::new(content, AnswerInfo::read(status, headers, is_kept, tries), text))
}

/// Sends the request once and receives the whole answer.
async fn receive(inner: &Inner, request: http::Request<Bytes>) -> Result<(u16, HeaderMap, String), Error> {
    let answer = inner.transport.send(request).await.map_err(Error::connection)?;
    let (parts, body) = answer.into_parts();
    if let Some(limit) = RateLimit::read(&parts.headers) {
        *inner.rate_limit.lock().unwrap_or_else(PoisonError::into_inner) = Some(limit);
    }
    Ok((parts.status.as_u16(), parts.headers, whole(body).await?))
}

/// The whole body as text. Bytes that are no text are replaced, as a JSON parser then says.
pub(crate) async fn whole(body: Body) -> Result<String, Error> {
    let bytes = body.try_fold(Vec::new(), |mut all, piece| async move {
        all.extend_from_slice(&piece);
        Ok(all)
    });
    let bytes = bytes.await.map_err(Error::connection)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The time until the next try; `None` if there is none.
fn wait(inner: &Inner, prepared: &Prepared, error: &Error, tries: u32) -> Option<Duration> {
    if tries > prepared.max_retries {
        return None;
    }
    let asked = match error {
        Error::Api(error) => {
            // A request that was refused for its number was not carried out, so it may be sent again whatever it does.
            let may_repeat = prepared.may_repeat || error.status == 429;
            let asked = error.retry_after;
            if !may_repeat || !is_temporary(error.status) || asked.unwrap_or_default() > inner.max_retry_after {
                return None;
            }
            asked
        }
        Error::Connection(_) | Error::Timeout(_) if prepared.may_repeat => None,
        _ => return None,
    };
    Some(delay(tries, asked, inner.clock.as_ref()))
}

/// The error that an answer is. A body that is something else, such as a proxy's page, says nothing.
pub(crate) fn api_error(inner: &Inner, status: u16, headers: HeaderMap, text: &str) -> Error {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let error = body.get("error").unwrap_or(&Value::Null);
    let member = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let details: Vec<_> = error
        .get("details")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|it| serde_json::from_value(it.clone()).ok())
        .collect();
    Error::Api(Box::new(ApiError {
        status,
        code: ErrorCode::from(member("code").unwrap_or_else(|| format!("HTTP_{status}"))),
        message: member("message").unwrap_or_else(|| format!("the answer has status {status}")),
        request_id: member("request_id").or_else(|| answer::text(&headers, "x-request-id")),
        detail_count: error.get("detail_count").and_then(Value::as_u64).unwrap_or(details.len() as u64),
        details,
        retry_after: retry_after(&headers, inner.clock.now()),
        legacy_code: member("legacy_code"),
        successor: member("successor"),
        headers,
    }))
}
