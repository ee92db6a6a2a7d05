//! `GET /v1/reviewers`: who signs reviews, and with which keys.

use super::answer::{Answer, Failure};
use super::call::Call;
use super::encoded;
use crate::app::App;

/// Every reviewer, by id.
pub fn list(app: &App, call: &Call) -> Result<Answer, Failure> {
    let catalog = app.catalog.get()?;
    let rows: Vec<_> = catalog.assets.reviewers.iter().map(|reviewer| reviewer.at(call.now)).collect();
    Ok(encoded::list(call, catalog.version, call.part(&rows)))
}
