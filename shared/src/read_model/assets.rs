//! Enriched assets, real-world assets, their facets, and reviewers.
//!
//! Fields that need a key are emptied in lists by [`View`]. The content class is part of every ETag, so that an ETag obtained with a key
//! confirms nothing to a caller without one.

use super::encoding;
use super::envelope;
use super::listed::{Listed, read_rows};
use super::request::{Request, RowRequest};
use super::response::{PreencodedBody, Response};
use crate::model::asset_encoded::View;
use crate::model::attestation::ReviewerRow;
use crate::model::{EncodedAsset, EncodedRow};
use crate::pace::Pace;
use crate::replica::Row;
use crate::route::{params, routes};
use crate::select::assets::{AssetColumns, AssetFilter, AssetIndex};
use crate::wire::error::ApiError;
use crate::wire::page::{PageMeta, PageRequest};
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The rows of one asset list, in ascending order of ids.
pub(super) type AssetRows = Listed<EncodedAsset, AssetIndex>;

/// Assets and reviewers.
#[derive(Debug, Clone)]
pub struct Assets {
    pub(super) enriched: Arc<AssetRows>,
    pub(super) rwa: Arc<AssetRows>,
    /// The facets of all assets.
    pub(super) facets: PreencodedBody,
    /// The facets of real-world assets.
    pub(super) rwa_facets: PreencodedBody,
    /// In ascending order of ids.
    pub(super) reviewers: Arc<Vec<EncodedReviewer>>,
}

/// A reviewer, encoded twice: with an active key and without one.
#[derive(Debug, Clone)]
pub(super) struct EncodedReviewer {
    key_periods: Vec<KeyPeriod>,
    active: EncodedRow,
    inactive: EncodedRow,
}

/// From when, and until when exclusively, a key may sign.
pub type KeyPeriod = (Timestamp, Option<Timestamp>);

/// The row of the asset with this id in the list of assets, or in that of real-world assets.
pub fn asset_row(id: u64, columns: &AssetColumns<'_>, encoded: &EncodedAsset) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    columns.write(&mut content);
    encoded.write_record(&mut content);
    encoding::row(&id.to_be_bytes(), &content)
}

/// The row of a reviewer: as it is listed while one of `key_periods` lasts, and as it is listed otherwise.
pub fn reviewer_row(
    active: &ReviewerRow,
    inactive: &ReviewerRow,
    key_periods: &[KeyPeriod],
) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    record::put_variable(key_periods.len() as u64, &mut content);
    for (from, until) in key_periods {
        record::put_u64(from.as_micros().cast_unsigned(), &mut content);
        record::put_instant(*until, &mut content);
    }
    EncodedRow::encode(active, None)?.write_record(&mut content);
    EncodedRow::encode(inactive, None)?.write_record(&mut content);
    encoding::row(active.reviewer_id.as_bytes(), &content)
}

fn read_asset<'a>(_: &'a Row, mut reader: Reader<'a>) -> Option<(AssetColumns<'a>, EncodedAsset)> {
    let (columns, encoded) = (AssetColumns::read(&mut reader)?, EncodedAsset::read_record(&mut reader)?);
    reader.is_at_end().then_some((columns, encoded))
}

fn read_reviewer(_: &Row, mut reader: Reader<'_>) -> Option<EncodedReviewer> {
    let number = reader.variable()?;
    let period = |reader: &mut Reader<'_>| Some((Timestamp::from_micros(reader.i64()?), reader.instant()?));
    let key_periods = (0..number).map(|_| period(&mut reader)).collect::<Option<_>>()?;
    let mut encoded = || EncodedRow::read_record(&mut reader, None);
    let (active, inactive) = (encoded()?, encoded()?);
    reader.is_at_end().then_some(EncodedReviewer { key_periods, active, inactive })
}

pub(super) async fn read_assets(rows: &[Row], pace: &Pace<'_>) -> Option<AssetRows> {
    AssetRows::read(rows, pace, read_asset).await
}

pub(super) async fn read_reviewers(rows: &[Row], pace: &Pace<'_>) -> Option<Vec<EncodedReviewer>> {
    read_rows(rows, pace, read_reviewer).await
}

impl EncodedReviewer {
    /// The row that applies at `now`.
    fn at(&self, now: Timestamp) -> &EncodedRow {
        let is_active =
            self.key_periods.iter().any(|(from, until)| *from <= now && until.is_none_or(|until| now < until));
        if is_active { &self.active } else { &self.inactive }
    }
}

impl Assets {
    /// `GET /v1/assets/enriched`.
    pub(super) fn enriched(
        &self,
        version: i64,
        request: RowRequest<'_, routes::AssetList>,
    ) -> Result<Response, ApiError> {
        let numbered = request.page()?;
        let with_quality = request.get(params::IncludeQuality) == Some(true);
        Ok(page(&request, version, &self.enriched, &AssetFilter::of_assets(request.query()), numbered, with_quality))
    }

    /// `GET /v1/rwa`.
    pub(super) fn rwa(&self, version: i64, request: RowRequest<'_, routes::RwaList>) -> Result<Response, ApiError> {
        let numbered = request.page()?;
        Ok(page(&request, version, &self.rwa, &AssetFilter::of_rwa(request.query()), numbered, false))
    }

    /// `GET /v1/reviewers`: every reviewer, by id.
    pub(super) fn reviewers(&self, version: i64, request: RowRequest<'_, routes::ReviewerList>) -> Response {
        let rows: Vec<&EncodedRow> = self.reviewers.iter().map(|reviewer| reviewer.at(request.now)).collect();
        request.respond_list(version, request.part(&rows))
    }
}

/// A page of rows with the fields that the caller may see.
fn page(
    request: &Request<'_>,
    version: i64,
    listed: &AssetRows,
    filter: &AssetFilter<'_>,
    page: PageRequest,
    with_quality: bool,
) -> Response {
    let selection = listed.index().select(filter, page);
    let rows: Vec<&EncodedAsset> = listed.selected(&selection).collect();
    let view = View::new(request.now, !request.principal.is_keyless(), with_quality);
    let total = selection.total as u64;
    let mut etag = request.etag();
    etag.add(request.principal.content_class().as_bytes()).add_u64(u64::from(with_quality));
    etag.add_u64(page.number).add_u64(page.size).add_u64(total);
    rows.iter().for_each(|row| {
        etag.add_u64(row.version(request.now));
    });
    request.respond(etag, version, || {
        envelope::page(&rows, |row| row.max_len(), PageMeta::new(page, total), |row, body| row.write(&view, body))
    })
}
