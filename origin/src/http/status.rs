//! `GET /v1/status`: how the parts of the service do. Whatever is broken, it answers 200 and says so.
//!
//! Source: interface, "Identity, health and status" and "Platform component rules".

use super::answer::{Answer, Failure};
use super::call::Call;
use crate::app::App;
use crate::status;

/// The feed. The edge keeps it for a minute, or until the fail-safe mode changes.
pub async fn status(app: &App, call: &Call) -> Result<Answer, Failure> {
    let body = serde_json::to_vec(&status::feed(app, call.now).await)?;
    let mut etag = call.etag();
    etag.add(&body);
    let version = app.catalog.current().map_or(0, |catalog| catalog.version);
    Ok(call.answer(etag, version, || body))
}
