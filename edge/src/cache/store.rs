//! The data centre's cached responses, in the Cache API.
//!
//! Keys are URLs built here, never request objects, because the Cache API would evaluate the conditions and ranges in a caller's
//! headers. Every failure of the Cache API counts as a miss: the origin is authoritative.

use super::Entry;
use worker::{Cache, Headers, Response, ResponseBody, Result};

/// The URL of a cached response.
pub fn url(host: &str, key: &str) -> String {
    format!("https://{host}/.copies/{key}")
}

/// The response cached under `url`.
pub async fn load(url: String) -> Option<Entry> {
    let mut stored = Cache::default().get(url, false).await.ok()??;
    let body = stored.bytes().await.ok()?;
    Entry::from_stored(|name| stored.headers().get(name).ok().flatten(), body)
}

/// Stores a response under `url`.
pub async fn store(url: String, entry: &Entry) -> Result<()> {
    let (pairs, body) = entry.to_stored();
    let headers = Headers::new();
    for (name, value) in &pairs {
        headers.set(name, value)?;
    }
    let response = Response::from_body(ResponseBody::Body(body.to_vec()))?.with_headers(headers);
    Cache::default().put(url, response).await
}

/// Removes the response under `url`.
pub async fn forget(url: String) -> Result<()> {
    Cache::default().delete(url, false).await.map(drop)
}

/// The URL of a part of the replica's state for documents of `format`.
pub fn replica_url(host: &str, format: u16, part: u32) -> String {
    format!("https://{host}/.replica/{format}/{part}")
}

/// The bytes kept under `url`.
pub async fn load_bytes(url: String) -> Option<Vec<u8>> {
    Cache::default().get(url, false).await.ok()??.bytes().await.ok()
}

/// Keeps bytes under `url` for `seconds`.
pub async fn store_bytes(url: String, bytes: Vec<u8>, seconds: u32) -> Result<()> {
    let headers = Headers::new();
    headers.set("cache-control", &format!("public, max-age={seconds}"))?;
    headers.set("content-type", "application/octet-stream")?;
    let response = Response::from_body(ResponseBody::Body(bytes))?.with_headers(headers);
    Cache::default().put(url, response).await
}
