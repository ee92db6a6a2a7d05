//! `GET /v1/stats`: counts and total values of the covered vaults, chains and protocols.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use crate::http::exchange::encoded;

/// The single statistics record.
pub fn stats(live: &LiveCatalog, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    Ok(encoded::one(call, catalog.version, &catalog.stats))
}
