//! Enriched assets, real-world assets, their facets, and reviewers.
//!
//! Fields that need a key are emptied in lists by [`View`]. The content class is part of every ETag, so that an ETag obtained with a key
//! confirms nothing to a caller without one.

use super::envelope;
use super::listed::Listed;
use super::request::{Request, RowRequest};
use super::response::{PreencodedBody, Response};
use crate::model::asset_encoded::View;
use crate::model::{EncodedAsset, EncodedRow};
use crate::route::{params, routes};
use crate::select::assets::{AssetFilter, AssetIndex};
use crate::wire::error::ApiError;
use crate::wire::page::{PageMeta, PageRequest};
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// The rows of one asset list, in ascending order of ids.
pub type AssetRows = Listed<EncodedAsset, AssetIndex>;

/// Assets and reviewers.
#[derive(Debug, Clone, Default)]
pub struct Assets {
    pub enriched: AssetRows,
    pub rwa: AssetRows,
    /// The facets of all assets.
    pub facets: PreencodedBody,
    /// The facets of real-world assets.
    pub rwa_facets: PreencodedBody,
    /// In ascending order of ids.
    pub reviewers: Vec<EncodedReviewer>,
}

/// A reviewer, encoded twice: with an active key and without one.
#[derive(Debug, Clone)]
pub struct EncodedReviewer {
    /// From when, and until when exclusively, each key may sign.
    pub key_periods: Vec<(Timestamp, Option<Timestamp>)>,
    pub active: EncodedRow,
    pub inactive: EncodedRow,
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
        let page = request.page()?;
        let with_quality = request.get(params::IncludeQuality) == Some(true);
        Ok(rows(&request, version, &self.enriched, &AssetFilter::of_assets(request.query()), page, with_quality))
    }

    /// `GET /v1/rwa`.
    pub(super) fn rwa(&self, version: i64, request: RowRequest<'_, routes::RwaList>) -> Result<Response, ApiError> {
        let page = request.page()?;
        Ok(rows(&request, version, &self.rwa, &AssetFilter::of_rwa(request.query()), page, false))
    }

    /// `GET /v1/reviewers`: every reviewer, by id.
    pub(super) fn reviewers(&self, version: i64, request: RowRequest<'_, routes::ReviewerList>) -> Response {
        let rows: Vec<&EncodedRow> = self.reviewers.iter().map(|reviewer| reviewer.at(request.now)).collect();
        request.respond_list(version, request.part(&rows))
    }
}

/// A page of rows with the fields that the caller may see.
fn rows(
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
