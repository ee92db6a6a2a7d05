//! `GET /v1/vaults/with-critical-incidents`.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use rds_shared::route::{params, routes};
use rds_shared::wire::Data;
use rds_store::Db;
use rds_store::events::critical;

/// Maximum rows for a caller without a key.
const MAX_ROWS_WITHOUT_KEY: u32 = 50;

/// Vaults with a critical incident in the last 365 days, largest TVL first.
pub async fn list(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::VaultsWithCriticalIncidents>,
) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let asked = call.get(params::Limit);
    let limit = if call.principal.is_keyless() { asked.min(MAX_ROWS_WITHOUT_KEY) } else { asked };
    let flagged_only = call.get(params::AffectsProtocolScore).unwrap_or(false);
    let vaults = critical::vaults(db, call.now, flagged_only, limit).await?;
    encoded::json_with_body_etag(&call, catalog.version, &Data { data: vaults })
}
