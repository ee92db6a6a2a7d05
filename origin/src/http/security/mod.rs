//! `GET /v1/security-events` and `/losses`: the published registry and the loss board.

pub mod signals;

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use rds_shared::model::EncodedRow;
use rds_shared::model::security::MoreMeta;
use rds_shared::model::status::Severity;
use rds_shared::route::{Row, params, routes};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::{ApiError, ErrorCode};
use serde::Serialize;

/// Maximum bytes of the envelope around the rows, including the loss board's meta.
const ENVELOPE_BYTES: usize = 640;

/// The registry, or with `hasLoss=true` the loss board.
pub fn events(live: &LiveCatalog, call: RouteCall<'_, routes::SecurityEventList>) -> Result<Answer, Failure> {
    if call.get(params::HasLoss).is_some() {
        return losses(live, call);
    }
    check(call)?;
    let admitted = call.page()?;
    let catalog = live.get()?;
    let (rows, total) = catalog.security.events(call.query());
    page(&call, catalog.version, served(&rows, admitted), &MoreMeta::new(admitted, total))
}

pub fn losses<R: Row>(live: &LiveCatalog, call: RouteCall<'_, R>) -> Result<Answer, Failure> {
    let admitted = call.page()?;
    let catalog = live.get()?;
    let (rows, total, lost) = catalog.security.losses(call.query());
    page(&call, catalog.version, served(&rows, admitted), &catalog.security.coverage.meta(admitted, total, lost))
}

fn served<'r>(rows: &'r [&'r EncodedRow], page: PageRequest) -> &'r [&'r EncodedRow] {
    rows.get(..usize::try_from(page.rows()).unwrap_or(usize::MAX)).unwrap_or(rows)
}

/// Checks the parameters of the registry list. The route also accepts values that only the loss board has; they are refused here.
fn check(call: RouteCall<'_, routes::SecurityEventList>) -> Result<(), ApiError> {
    let refused = |name, allowed: &'static [&'static str]| {
        let reason = format!("must be one of {}", allowed.join(", "));
        Detail { allowed: Some(allowed), ..Detail::new(In::Query, name, reason.as_str()) }
    };
    let mut faults = Vec::new();
    let known = |word: &str| Severity::ALL.iter().any(|severity| severity.as_str().eq_ignore_ascii_case(word));
    let severity = call.get(params::LossSeverity);
    if severity.is_nothing() || severity.only().is_some_and(|word| !known(word)) {
        faults.push(refused("severity", &["Info", "Warning", "Critical"]));
    }
    if call.get(params::AffectsTrackedUniverse).is_nothing() {
        faults.push(refused("affectsTrackedUniverse", &["true", "false"]));
    }
    if call.get(params::PublishedBy).is_nothing() {
        faults.push(refused("published_by", &["admin", "auto"]));
    }
    if faults.is_empty() { Ok(()) } else { Err(ApiError::invalid(ErrorCode::InvalidParameter, faults)) }
}

fn page(call: &Call, version: i64, rows: &[&EncodedRow], meta: &impl Serialize) -> Result<Answer, Failure> {
    let meta = serde_json::to_vec(meta)?;
    let mut etag = call.etag();
    etag.add(&meta);
    rows.iter().for_each(|row| {
        etag.add_u64(row.version());
    });
    Ok(call.answer(etag, version, || {
        let size = ENVELOPE_BYTES + rows.iter().map(|row| row.max_len() + 1).sum::<usize>();
        let mut body = Vec::with_capacity(size);
        body.extend_from_slice(b"{\"data\":");
        EncodedRow::write_array(rows.iter().copied(), call.now, &mut body);
        body.extend_from_slice(b",\"meta\":");
        body.extend_from_slice(&meta);
        body.push(b'}');
        body
    }))
}
