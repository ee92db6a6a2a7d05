//! Active vaults: the list, the scores in bulk, and the vaults of the protocol whose rewards are listed.

use super::listed::Listed;
use super::request::RowRequest;
use super::response::Response;
use super::rows;
use crate::model::EncodedRow;
use crate::model::vault::{RewardedVault, VaultRow};
use crate::model::vault_score::VaultScoreRow;
use crate::replica::Row;
use crate::route::{self, routes};
use crate::select::Selection;
use crate::select::vault_filters::{VaultFilter, VaultSort};
use crate::select::vaults::{VaultColumns, VaultIndex};
use crate::wire::error::ApiError;
use crate::wire::page::PageRequest;
use crate::wire::record::Reader;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The protocol with a separate list of vaults and their rewards.
pub const REWARDED_PROTOCOL: &str = "royco";

/// One vault: its row, and the list rows in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedVault {
    row: Row,
    /// The row of the list.
    pub listed: EncodedRow,
    /// The row of the bulk export of scores.
    pub scores: EncodedRow,
    /// The vault with its rewards; only for vaults of [`REWARDED_PROTOCOL`].
    pub rewarded: Option<EncodedRow>,
}

impl EncodedVault {
    /// Encodes a vault.
    pub fn encode(
        columns: &VaultColumns<'_>,
        listed: &VaultRow,
        scores: &VaultScoreRow,
        rewarded: Option<&RewardedVault>,
    ) -> Result<Self, serde_json::Error> {
        let mut content = Vec::new();
        let synced = columns.last_synced_at;
        columns.write(&mut content);
        EncodedRow::encode(listed, synced)?.write_record(&mut content);
        EncodedRow::encode(scores, synced)?.write_record(&mut content);
        content.push(u8::from(rewarded.is_some()));
        if let Some(rewarded) = rewarded {
            EncodedRow::encode(rewarded, synced)?.write_record(&mut content);
        }
        let row = rows::row(listed.id.as_str().as_bytes(), &content)?;
        Self::of(&row).ok_or_else(|| rows::fault("an encoded vault cannot be read back"))
    }

    /// The vault that a row contains.
    pub fn of(row: &Row) -> Option<Self> {
        let mut reader = rows::reader(row);
        let columns = VaultColumns::read(&mut reader)?;
        Self::read(row, &columns, reader)
    }

    /// Reads what follows the columns.
    fn read(row: &Row, columns: &VaultColumns<'_>, mut reader: Reader<'_>) -> Option<Self> {
        let mut encoded = || EncodedRow::read_record(&mut reader, columns.last_synced_at);
        let (listed, scores) = (encoded()?, encoded()?);
        let rewarded =
            if reader.flag()? { Some(EncodedRow::read_record(&mut reader, columns.last_synced_at)?) } else { None };
        reader.is_at_end().then(|| EncodedVault { row: row.clone(), listed, scores, rewarded })
    }

    /// The vault's row in the family of vaults. Its key is the vault's id.
    pub fn row(&self) -> &Row {
        &self.row
    }
}

/// The vault of `earlier` that is the same row in memory, if there is one. Removes it and the vaults before it from the front of `earlier`.
fn take(earlier: &mut &[Arc<EncodedVault>], row: &Row) -> Option<Arc<EncodedVault>> {
    while let Some((first, rest)) = earlier.split_first() {
        if first.row.is_same(row) {
            *earlier = rest;
            return Some(Arc::clone(first));
        }
        if first.row.key() >= row.key() {
            return None;
        }
        *earlier = rest;
    }
    None
}

/// The active vaults, in ascending order of ids.
#[derive(Debug, Clone)]
pub struct Vaults(Listed<Arc<EncodedVault>, VaultIndex>);

impl Vaults {
    /// Reads rows; vaults of `previous` that are the same rows in memory are not decoded again.
    pub(super) fn read(rows: &[Row], previous: Option<&Vaults>) -> Option<Self> {
        let mut earlier = previous.map_or(&[][..], |vaults| vaults.0.rows());
        let read = |row, mut reader| {
            let columns = VaultColumns::read(&mut reader)?;
            let vault = match take(&mut earlier, row) {
                Some(vault) => vault,
                None => Arc::new(EncodedVault::read(row, &columns, reader)?),
            };
            Some((columns, vault))
        };
        Listed::read(rows, read, VaultIndex::build).map(Vaults)
    }

    /// Row numbers of a page of the vaults that match `filter`, in the order of `sort`.
    pub fn select(&self, filter: &VaultFilter<'_>, sort: VaultSort, page: PageRequest) -> Selection {
        self.0.index().select(filter, sort, page)
    }

    /// The list rows of a selection.
    pub fn listed(&self, selection: &Selection) -> Vec<&EncodedRow> {
        self.0.selected(selection).map(|vault| &vault.listed).collect()
    }

    /// `GET /v1/vaults`.
    pub(super) fn list(&self, version: i64, request: RowRequest<'_, routes::VaultList>) -> Result<Response, ApiError> {
        self.page(version, request, |vault| &vault.listed)
    }

    /// `GET /v1/vaults/scores`.
    pub(super) fn scores(
        &self,
        version: i64,
        request: RowRequest<'_, routes::VaultScores>,
    ) -> Result<Response, ApiError> {
        self.page(version, request, |vault| &vault.scores)
    }

    fn page<R: route::Row>(
        &self,
        version: i64,
        request: RowRequest<'_, R>,
        row_of: impl Fn(&EncodedVault) -> &EncodedRow,
    ) -> Result<Response, ApiError> {
        let page = request.page()?;
        let query = request.query();
        let selection = self.select(&VaultFilter::from_query(query), VaultSort::from_query(query), page);
        let rows: Vec<&EncodedRow> = self.0.selected(&selection).map(|vault| row_of(vault)).collect();
        Ok(request.respond_page(version, &rows, page, selection.total))
    }

    /// `GET /v1/royco`: the active vaults of one protocol, each with its rewards, largest TVL first; an empty list if the protocol is not
    /// tracked.
    pub(super) fn rewarded(&self, version: i64, request: RowRequest<'_, routes::Royco>) -> Result<Response, ApiError> {
        let page = request.page()?;
        let wanted: [String; 1] = [REWARDED_PROTOCOL.to_owned()];
        let filter = VaultFilter { protocols: &wanted, ..VaultFilter::default() };
        let selection = self.select(&filter, VaultSort::default(), page);
        let rows: Vec<&EncodedRow> = self.0.selected(&selection).filter_map(|vault| vault.rewarded.as_ref()).collect();
        Ok(request.respond_page(version, &rows, page, selection.total))
    }
}
