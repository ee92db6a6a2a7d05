//! Baskets: the versions in force, one version, and the histories of versions, changes and methodologies.
//!
//! A version's ETag is its content hash; a rebalance that reproduces the version does not change the response. A response may also show
//! data that the hash does not cover: a withheld constituent, a deprecation, or a new name of the basket. The ETag then also covers the
//! body, so that older cached responses do not match. The URL of a version may be cached for a year: only a withheld constituent can change
//! its response.

pub mod indices;
pub mod reference_rates;

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded;
use rds_shared::access::paging;
use rds_shared::model::basket::{BasketChangeRow, BasketDetail, BasketRow, Shown, ShownChanges, SupportStatus};
use rds_shared::route::{params, routes};
use rds_shared::rules::baskets::analytics::Analytics;
use rds_shared::rules::baskets::version::ChangeSet;
use rds_shared::wire::error::Successor;
use rds_shared::wire::etag::EtagBuilder;
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::{ApiError, Data, PageMeta, Paged};
use rds_store::Db;
use rds_store::baskets::{self as table, Members, StoredVersion};

/// Maximum versions per page for a caller without a key.
const MAX_ROWS_WITHOUT_KEY: u64 = 100;

/// `GET /v1/baskets`: all baskets that have a version.
pub async fn list(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::BasketList>) -> Result<Answer, Failure> {
    let rows: Vec<BasketRow> = table::current(db).await?.iter().map(StoredVersion::basket).collect();
    encoded::data_with_body_etag(&call, live.get()?.version, &call.part(&rows))
}

/// `GET /v1/baskets/{id}`: the version in force now, or at an instant.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::BasketById>) -> Result<Answer, Failure> {
    let at = call.get(params::BasketAt);
    let found = table::in_force(&db.pool, call.found.param(0), at).await?.ok_or_else(unknown)?;
    supported(&found)?;
    shown(live, db, &call, if at.is_some() { found.under_its_name() } else { found }).await
}

/// `GET /v1/baskets/{id}/version/{versionId}`: 410 if the version is retired.
pub async fn version(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let unknown = || ApiError::not_found("basket version");
    let found = table::version(&db.pool, call.found.param(1)).await?.ok_or_else(unknown)?;
    if found.row.basket_id != call.found.param(0) {
        return Err(unknown().into());
    }
    supported(&found)?;
    shown(live, db, call, found.as_made()).await
}

/// Refuses a retired version with 410 and its successor, on every route.
fn supported(found: &StoredVersion) -> Result<(), ApiError> {
    found.retired_for().map_or(Ok(()), |successor| {
        Err(ApiError::version_retired(Successor::of_basket(&found.row.basket_id, successor.to_owned())))
    })
}

/// `GET /v1/baskets/{id}/versions`: newest first.
pub async fn versions(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::BasketVersions>,
) -> Result<Answer, Failure> {
    let size = u64::from(call.get(params::PageSize));
    let size = if call.principal.is_keyless() { size.min(MAX_ROWS_WITHOUT_KEY) } else { size };
    let page = paging::admit(&call.principal, PageRequest::new(call.get(params::Page).into(), size))?;
    let (rows, total) = table::versions(db, call.found.param(0), page).await?;
    if total == 0 {
        return Err(unknown().into());
    }
    encoded::json_with_body_etag(&call, live.get()?.version, &Paged { data: rows, meta: PageMeta::new(page, total) })
}

/// `GET /v1/baskets/{id}/changes`: what each of the newest versions changed, newest first.
pub async fn changes(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::BasketChanges>,
) -> Result<Answer, Failure> {
    let limit = u64::from(call.get(params::Limit));
    // One more than is shown: the oldest shown version is compared with its predecessor.
    let page = PageRequest::new(1, limit.saturating_add(1));
    let (rows, total) = table::versions(db, call.found.param(0), page).await?;
    if total == 0 {
        return Err(unknown().into());
    }
    let ids: Vec<&str> = rows.iter().map(|row| row.version.version_id.as_str()).collect();
    let members = table::members(&db.pool, &ids).await?;
    let nobody = Members::default();
    let of = |version_id: Option<&str>| version_id.and_then(|id| members.get(id)).unwrap_or(&nobody);
    let changed = rows.iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).map(|listed| {
        let row = &listed.version;
        let (before, after) = (of(row.prior_version_id.as_deref()), of(Some(&row.version_id)));
        let changes = ChangeSet::between(&before.constituents, &after.constituents);
        let is_withheld = |id: &str| before.withheld.contains(id) || after.withheld.contains(id);
        BasketChangeRow {
            version_id: row.version_id.clone(),
            prior_version_id: row.prior_version_id.clone(),
            effective_from: row.effective_from,
            trigger_reason: row.trigger_reason,
            changes: ShownChanges::new(&changes, is_withheld),
        }
    });
    let changed: Vec<BasketChangeRow> = changed.collect();
    encoded::json_with_body_etag(&call, live.get()?.version, &Data { data: changed })
}

/// `GET /v1/baskets/{id}/methodology/versions`: newest first.
pub async fn methodologies(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::BasketMethodologyVersions>,
) -> Result<Answer, Failure> {
    let rows = table::methodologies(db, call.found.param(0), call.now).await?.ok_or_else(unknown)?;
    encoded::data_with_body_etag(&call, live.get()?.version, &call.part(&rows))
}

fn unknown() -> ApiError {
    ApiError::not_found("basket")
}

/// The answer with a version, its constituents and their analytics.
async fn shown(live: &LiveCatalog, db: &Db, call: &Call, stored: StoredVersion) -> Result<Answer, Failure> {
    let id = stored.row.version_id.as_str();
    let Members { constituents, withheld } = table::members(&db.pool, &[id]).await?.remove(id).unwrap_or_default();
    let is_plain = withheld.is_empty() && stored.support.status() == SupportStatus::Current && stored.is_as_made();
    let basket = stored.basket();
    let StoredVersion { row, support, successor, methodology, .. } = stored;
    let data = BasketDetail {
        trigger_reason: row.trigger_reason,
        prior_version_id: row.prior_version_id,
        methodology_version: row.methodology_version,
        signed: row.signed,
        created_at: row.created_at,
        methodology,
        constituents: Shown::all(&constituents, |id| withheld.contains(id)),
        analytics: Analytics::of(&constituents),
        support_status: support.status(),
        deprecated_at: support.deprecated_at,
        retired_at: support.retired_at,
        successor_version_id: successor,
        basket,
    };
    let body = serde_json::to_vec(&Data { data })?;
    let mut etag = format!("\"{}\"", row.content_hash);
    if !is_plain {
        let mut said = EtagBuilder::new();
        said.add(&body);
        etag = format!("\"{}.{}\"", row.content_hash, said.strong().trim_matches('"'));
    }
    Ok(call.answer_named(etag, live.get()?.version, body))
}
