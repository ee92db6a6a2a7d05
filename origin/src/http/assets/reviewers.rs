//! `GET /v1/reviewers`: who signs reviews, and with which keys.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use rds_shared::route::routes;

/// Every reviewer, by id.
pub fn list(live: &LiveCatalog, call: RouteCall<'_, routes::ReviewerList>) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let rows: Vec<_> = catalog.assets.reviewers.iter().map(|reviewer| reviewer.at(call.now)).collect();
    Ok(encoded::list(&call, catalog.version, call.part(&rows)))
}
