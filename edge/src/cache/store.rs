//! The data centre's copies, in the Cache API.
//!
//! Keys are URLs made here, never request objects: the Cache API would evaluate the conditions and ranges that a caller's
//! headers carry. Every failure of the store counts as "nothing there": the origin has the truth.

use super::Entry;
use worker::{Cache, Headers, Response, ResponseBody, Result};

/// The URL under which a copy is kept.
pub fn url(host: &str, key: &str) -> String {
    format!("https://{host}/.copies/{key}")
}

/// The copy under `url`.
pub async fn load(url: String) -> Option<Entry> {
    let mut stored = Cache::default().get(url, false).await.ok()??;
    let body = stored.bytes().await.ok()?;
    Entry::from_stored(|name| stored.headers().get(name).ok().flatten(), body)
}

/// Writes a copy under `url`.
pub async fn store(url: String, entry: &Entry) -> Result<()> {
    let (pairs, body) = entry.to_stored();
    let headers = Headers::new();
    for (name, value) in &pairs {
        headers.set(name, value)?;
    }
    let response = Response::from_body(ResponseBody::Body(body.to_vec()))?.with_headers(headers);
    Cache::default().put(url, response).await
}

/// Removes the copy under `url`.
pub async fn forget(url: String) -> Result<()> {
    Cache::default().delete(url, false).await.map(drop)
}
