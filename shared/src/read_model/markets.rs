//! Lending markets.

use super::encoding;
use super::listed::Listed;
use super::request::RowRequest;
use super::response::Response;
use crate::model::EncodedRow;
use crate::model::market::Market;
use crate::pace::Pace;
use crate::replica::Row;
use crate::route::routes;
use crate::select::markets::{MarketColumns, MarketIndex};
use crate::wire::error::ApiError;
use crate::wire::record::Reader;
use alloc::string::String;
use alloc::vec::Vec;

/// The served markets, in byte order of ids.
pub type Markets = Listed<EncodedRow, MarketIndex>;

/// The row of a market on the chain with this slug.
pub fn row(market: &Market, chain_slug: &str) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    MarketColumns::of(market, chain_slug).write(&mut content);
    EncodedRow::encode(market, None)?.write_record(&mut content);
    encoding::row(market.id.as_bytes(), &content)
}

/// The list row in a row that [`row`] made.
pub fn encoded(row: &Row) -> Option<EncodedRow> {
    read_row(row, encoding::reader(row)).map(|(_, encoded)| encoded)
}

pub(super) async fn read(rows: &[Row], pace: &Pace<'_>) -> Option<Markets> {
    Markets::read(rows, pace, read_row).await
}

fn read_row<'a>(_: &'a Row, mut reader: Reader<'a>) -> Option<(MarketColumns<'a>, EncodedRow)> {
    let columns = MarketColumns::read(&mut reader)?;
    let encoded = EncodedRow::read_record(&mut reader, None)?;
    reader.is_at_end().then_some((columns, encoded))
}

/// `GET /v1/markets`.
pub(super) fn list(
    markets: &Markets,
    (version, hidden): (i64, &[String]),
    request: RowRequest<'_, routes::MarketList>,
) -> Result<Response, ApiError> {
    let page = request.page()?;
    let selection = markets.index().select(request.query(), page, hidden);
    let rows: Vec<&EncodedRow> = markets.selected(&selection).collect();
    Ok(request.respond_page(version, &rows, page, selection.total))
}
