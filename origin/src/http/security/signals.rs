//! `GET /v1/signals` and `/{id}`.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::{encoded, namespaces};
use rds_shared::model::ids::VaultKey;
use rds_shared::model::signal::SignalMeta;
use rds_shared::route::{params, routes};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, WithMeta};
use rds_store::Db;
use rds_store::security::signals::{self, SignalFilter};

/// Default period of the list, in seconds: 30 days.
const LOOKBACK: i64 = 30 * 86_400;

/// Signals, newest first.
pub async fn list(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::SignalList>) -> Result<Answer, Failure> {
    let page = call.page()?;
    let filter = SignalFilter {
        since: call.get(params::SignalsSince).unwrap_or_else(|| call.now.plus_seconds(-LOOKBACK)).into(),
        severities: call.get(params::SignalSeverity).iter().map(|word| (*word).to_owned()).collect(),
        entity: call.get(params::Entity).map(str::to_lowercase),
        categories: call.get(params::SignalCategory).to_vec(),
        vault: call.get(params::VaultKey).map(|text| vault_key(live, text)).transpose()?,
    };
    let (rows, total) = signals::list(db, &filter, page).await?;
    let page = WithMeta { data: &rows, meta: SignalMeta::new(page, total) };
    encoded::json_with_body_etag(&call, live.get()?.version, &page)
}

/// One signal in full.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let unknown = || ApiError::not_found("signal");
    let id = call.found.param(0).parse().map_err(|_| unknown())?;
    let signal = signals::detail(db, id).await?.ok_or_else(unknown)?;
    encoded::data_with_body_etag(call, live.get()?.version, &signal)
}

fn vault_key(live: &LiveCatalog, text: &str) -> Result<VaultKey, ApiError> {
    let fault = || vec![Detail::new(In::Query, "vault", "must be <chain id>:<address>")];
    let key = VaultKey::parse(text).ok_or_else(|| ApiError::invalid(ErrorCode::InvalidParameter, fault()))?;
    namespaces::check_key(live, &key).map_err(|reason| namespaces::refused("vault", reason))?;
    Ok(key)
}
