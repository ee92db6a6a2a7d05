//! `GET /v1/status`: the state of the service's components. It answers 200 whatever is broken.

use crate::app::App;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::status;

/// The component states. The edge caches the response for a minute, or until the fail-safe mode changes.
pub async fn status(app: &App, call: &Call) -> Result<Answer, Failure> {
    let body = serde_json::to_vec(&status::feed(app, call.now).await)?;
    let mut etag = call.etag();
    etag.add(&body);
    let version = app.catalog.current().map_or(0, |catalog| catalog.version);
    Ok(call.answer(etag, version, || body))
}
