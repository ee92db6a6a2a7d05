//! `GET /v1/vaults/with-critical-incidents`.

use crate::app::App;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use crate::store::events;
use rds_shared::route::{params, routes};
use rds_shared::wire::Data;

/// Maximum rows for a caller without a key.
const KEYLESS_ROWS: u32 = 50;

/// Vaults with a critical incident in the last 365 days, largest value first.
pub async fn list(app: &App, call: RouteCall<'_, routes::VaultsWithCriticalIncidents>) -> Result<Answer, Failure> {
    let catalog = app.catalog.get()?;
    let asked = call.get(params::Limit);
    let limit = if call.principal.is_keyless() { asked.min(KEYLESS_ROWS) } else { asked };
    let flagged_only = call.get(params::AffectsProtocolScore).unwrap_or(false);
    let vaults = events::critical_vaults(&app.db, call.now, flagged_only, limit).await?;
    encoded::exact(&call, catalog.version, &Data { data: vaults })
}
