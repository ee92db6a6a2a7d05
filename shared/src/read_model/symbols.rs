//! Symbols of deposit assets.

use super::ReadModel;
use super::request::RowRequest;
use super::response::Response;
use super::rows;
use crate::model::EncodedRow;
use crate::model::symbol::AssetSymbol;
use crate::replica::Row;
use crate::route::routes;
use crate::wire::record::Reader;
use alloc::vec::Vec;

/// The row of a symbol. The symbols of the most vaults come first.
pub fn row(symbol: &AssetSymbol) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    EncodedRow::encode(symbol, None)?.write_record(&mut content);
    let key = [(!symbol.vault_count).to_be_bytes().as_slice(), symbol.asset_symbol.as_bytes()].concat();
    rows::row(&key, &content)
}

pub(super) fn read(_: &Row, mut reader: Reader<'_>) -> Option<EncodedRow> {
    EncodedRow::read_record(&mut reader, None).filter(|_| reader.is_at_end())
}

/// `GET /v1/assets`: every symbol of an active vault's deposit asset.
pub(super) fn list(model: &ReadModel, request: RowRequest<'_, routes::AssetSymbols>) -> Response {
    let rows: Vec<&EncodedRow> = model.symbols.iter().collect();
    request.respond_list(model.version, request.part(&rows))
}
