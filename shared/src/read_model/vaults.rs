//! Active vaults: the list, the scores in bulk, and the vaults of the protocol whose rewards are listed.

use super::listed::Listed;
use super::request::RowRequest;
use super::response::Response;
use crate::model::EncodedRow;
use crate::route::{Row, routes};
use crate::select::Selection;
use crate::select::vault_filters::{VaultFilter, VaultSort};
use crate::select::vaults::VaultIndex;
use crate::wire::error::ApiError;
use crate::wire::page::PageRequest;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The protocol with a separate list of vaults and their rewards.
pub const REWARDED_PROTOCOL: &str = "royco";

/// The rows of one vault in the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedVault {
    /// The row of the list.
    pub listed: EncodedRow,
    /// The row of the bulk export of scores.
    pub scores: EncodedRow,
    /// The vault with its rewards; only for vaults of [`REWARDED_PROTOCOL`].
    pub rewarded: Option<EncodedRow>,
}

/// The active vaults, in ascending order of ids.
#[derive(Debug, Clone, Default)]
pub struct Vaults(pub(super) Listed<Arc<EncodedVault>, VaultIndex>);

impl Vaults {
    /// `rows` in the order in which `index` was built from them.
    pub fn new(rows: Vec<Arc<EncodedVault>>, index: VaultIndex) -> Self {
        Vaults(Listed::new(rows, index))
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

    fn page<R: Row>(
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
