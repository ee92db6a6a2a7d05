//! `GET /v1/stats`: what the platform covers.

use super::answer::{Answer, Failure};
use super::call::Call;
use super::encoded;
use crate::app::App;

/// The one record.
pub fn stats(app: &App, call: &Call) -> Result<Answer, Failure> {
    let catalog = app.catalog.get()?;
    Ok(encoded::one(call, catalog.version, &catalog.stats))
}
