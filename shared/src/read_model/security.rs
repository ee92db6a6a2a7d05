//! The published registry of security events, and the loss board.

use super::encoding;
use super::listed::Listed;
use super::request::RowRequest;
use super::response::Response;
use crate::model::EncodedRow;
use crate::model::loss::{Coverage, LossRow};
use crate::model::security::{MoreMeta, SecurityEvent};
use crate::model::status::Severity;
use crate::pace::Pace;
use crate::replica::Row;
use crate::route::{self, params, routes};
use crate::select::losses::{LossColumns, LossIndex};
use crate::select::security::{EventColumns, SecurityIndex};
use crate::wire::error::{ApiError, Detail, ErrorCode, In};
use crate::wire::page::PageRequest;
use crate::wire::record::Reader;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::Serialize;

/// Maximum bytes of the envelope around the rows, including the loss board's meta.
const ENVELOPE_BYTES: usize = 640;

/// The published rows of the registry and the cases of the loss board, both in ascending order of ids.
#[derive(Debug, Clone)]
pub struct Security {
    pub(super) events: Arc<Listed<EncodedRow, SecurityIndex>>,
    pub(super) losses: Arc<Listed<EncodedRow, LossIndex>>,
    /// Coverage of the whole board.
    pub(super) coverage: Coverage,
}

/// The row of a published event.
pub fn event_row(event: &SecurityEvent) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    EventColumns::of(event).write(&mut content);
    EncodedRow::encode(event, None)?.write_record(&mut content);
    encoding::row(&event.id.to_be_bytes(), &content)
}

/// The row of a case.
pub fn loss_row(case: &LossRow) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    LossColumns::of(case).write(&mut content);
    EncodedRow::encode(case, None)?.write_record(&mut content);
    encoding::row(case.id.as_bytes(), &content)
}

fn read_event<'a>(_: &'a Row, mut reader: Reader<'a>) -> Option<(EventColumns<'a>, EncodedRow)> {
    let (columns, encoded) = (EventColumns::read(&mut reader)?, EncodedRow::read_record(&mut reader, None)?);
    reader.is_at_end().then_some((columns, encoded))
}

fn read_loss<'a>(_: &'a Row, mut reader: Reader<'a>) -> Option<(LossColumns<'a>, EncodedRow)> {
    let (columns, encoded) = (LossColumns::read(&mut reader)?, EncodedRow::read_record(&mut reader, None)?);
    reader.is_at_end().then_some((columns, encoded))
}

pub(super) async fn read_events(rows: &[Row], pace: &Pace<'_>) -> Option<Listed<EncodedRow, SecurityIndex>> {
    Listed::<_, SecurityIndex>::read(rows, pace, read_event).await
}

pub(super) async fn read_losses(rows: &[Row], pace: &Pace<'_>) -> Option<Listed<EncodedRow, LossIndex>> {
    Listed::<_, LossIndex>::read(rows, pace, read_loss).await
}

impl Security {
    /// `GET /v1/security-events`: the registry, or with `hasLoss=true` the loss board.
    pub(super) fn events(
        &self,
        version: i64,
        request: RowRequest<'_, routes::SecurityEventList>,
    ) -> Result<Response, ApiError> {
        if request.get(params::HasLoss).is_some() {
            return self.losses(version, request);
        }
        check(request)?;
        let admitted = request.page()?;
        let found = self.events.index().select(request.query());
        let rows: Vec<&EncodedRow> = self.events.selected(&found).collect();
        page(request, version, served(&rows, admitted), &MoreMeta::new(admitted, found.total))
    }

    /// `GET /v1/losses`.
    pub(super) fn losses<R: route::Row>(&self, version: i64, request: RowRequest<'_, R>) -> Result<Response, ApiError> {
        let admitted = request.page()?;
        let (found, lost) = self.losses.index().select(request.query());
        let rows: Vec<&EncodedRow> = self.losses.selected(&found).collect();
        page(request, version, served(&rows, admitted), &self.coverage.meta(admitted, found.total, lost))
    }
}

fn served<'r>(rows: &'r [&'r EncodedRow], page: PageRequest) -> &'r [&'r EncodedRow] {
    rows.get(..usize::try_from(page.rows()).unwrap_or(usize::MAX)).unwrap_or(rows)
}

/// Checks the parameters of the registry list. The route also accepts values that only the loss board has; they are refused here.
pub(super) fn check(request: RowRequest<'_, routes::SecurityEventList>) -> Result<(), ApiError> {
    if request.get(params::HasLoss).is_some() {
        return Ok(());
    }
    let refused = |name, allowed: &'static [&'static str]| {
        let reason = format!("must be one of {}", allowed.join(", "));
        Detail { allowed: Some(allowed), ..Detail::new(In::Query, name, reason.as_str()) }
    };
    let mut faults = Vec::new();
    let known = |word: &str| Severity::ALL.iter().any(|severity| severity.as_str().eq_ignore_ascii_case(word));
    let severity = request.get(params::LossSeverity);
    if severity.is_nothing() || severity.only().is_some_and(|word| !known(word)) {
        faults.push(refused("severity", &["Info", "Warning", "Critical"]));
    }
    if request.get(params::AffectsTrackedUniverse).is_nothing() {
        faults.push(refused("affectsTrackedUniverse", &["true", "false"]));
    }
    if request.get(params::PublishedBy).is_nothing() {
        faults.push(refused("published_by", &["admin", "auto"]));
    }
    if faults.is_empty() { Ok(()) } else { Err(ApiError::invalid(ErrorCode::InvalidParameter, faults)) }
}

fn page<R: route::Row>(
    request: RowRequest<'_, R>,
    version: i64,
    rows: &[&EncodedRow],
    meta: &impl Serialize,
) -> Result<Response, ApiError> {
    // Numbers and texts can always be represented as JSON.
    let meta = serde_json::to_vec(meta).map_err(|_| ErrorCode::InternalError)?;
    let mut etag = request.etag();
    etag.add(&meta);
    rows.iter().for_each(|row| {
        etag.add_u64(row.version());
    });
    Ok(request.respond(etag, version, || {
        let size = ENVELOPE_BYTES + rows.iter().map(|row| row.max_len() + 1).sum::<usize>();
        let mut body = Vec::with_capacity(size);
        body.extend_from_slice(b"{\"data\":");
        EncodedRow::write_array(rows.iter().copied(), request.now, &mut body);
        body.extend_from_slice(b",\"meta\":");
        body.extend_from_slice(&meta);
        body.push(b'}');
        body
    }))
}
