//! `GET /v1/methodology`: the rules in force, rendered from the constants that scoring uses.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::encoded;
use rds_shared::scoring::methodology::Methodology;

/// The published methodology. It depends on no facts, so it is also served before the first catalog is loaded.
pub fn methodology(live: &LiveCatalog, call: &Call) -> Result<Answer, Failure> {
    let version = live.current().map_or(0, |catalog| catalog.version);
    encoded::data_with_body_etag(call, version, &Methodology::current())
}
