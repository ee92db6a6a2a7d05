//! Lending markets.

use super::listed::Listed;
use super::request::RowRequest;
use super::response::Response;
use crate::model::EncodedRow;
use crate::route::routes;
use crate::select::markets::MarketIndex;
use crate::wire::error::ApiError;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The served markets, in byte order of ids.
pub type Markets = Listed<Arc<EncodedRow>, MarketIndex>;

/// `GET /v1/markets`.
pub(super) fn list(
    markets: &Markets,
    version: i64,
    request: RowRequest<'_, routes::MarketList>,
) -> Result<Response, ApiError> {
    let page = request.page()?;
    let selection = markets.index().select(request.query(), page);
    let rows: Vec<&EncodedRow> = markets.selected(&selection).map(AsRef::as_ref).collect();
    Ok(request.respond_page(version, &rows, page, selection.total))
}
