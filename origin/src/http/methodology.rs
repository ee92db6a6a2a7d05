//! `GET /v1/methodology`: the rules in force, rendered from the constants that scoring uses.

use super::answer::{Answer, Failure};
use super::call::Call;
use super::encoded;
use crate::app::App;
use rds_shared::scoring::methodology::Methodology;

/// The document. It depends on no facts, so it is served even if there are none.
pub fn methodology(app: &App, call: &Call) -> Result<Answer, Failure> {
    let version = app.catalog.current().map_or(0, |catalog| catalog.version);
    encoded::settled(call, version, &Methodology::current())
}
