//! `GET /v1/stats`: what the platform covers.

use crate::app::App;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::encoded;

/// The one record.
pub fn stats(app: &App, call: &Call) -> Result<Answer, Failure> {
    let catalog = app.catalog.get()?;
    Ok(encoded::one(call, catalog.version, &catalog.stats))
}
