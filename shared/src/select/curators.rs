//! Columns and order of the curator list.

use alloc::vec::Vec;

use super::{Filling, Index, Indexed, Selection, Sort, SortColumn};
use crate::model::curator::CuratorRow;
use crate::route::{RowQuery, params, routes};
use crate::wire::page::PageRequest;
use crate::wire::record::{self, Reader};

/// What the orders of the curator list need of a curator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CuratorColumns<'a> {
    pub name: &'a str,
    pub vault_count: u64,
    pub tvl_total: f64,
    pub avg_apr: Option<f64>,
}

impl<'a> CuratorColumns<'a> {
    /// The columns of a list row.
    pub fn of(row: &'a CuratorRow) -> Self {
        let CuratorRow { name, vault_count, tvl_total, avg_apr, .. } = row;
        CuratorColumns { name, vault_count: *vault_count, tvl_total: *tvl_total, avg_apr: *avg_apr }
    }

    /// Appends the columns as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        record::put_bytes(self.name.as_bytes(), out);
        record::put_variable(self.vault_count, out);
        record::put_numbers([Some(self.tvl_total), self.avg_apr], out);
    }

    /// Reads columns that [`write`](Self::write) wrote.
    pub fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let (name, vault_count, [tvl_total, avg_apr]) = (reader.text()?, reader.variable()?, reader.numbers()?);
        Some(CuratorColumns { name, vault_count, tvl_total: tvl_total?, avg_apr })
    }
}

/// Index of the curators. Row numbers are positions in the list.
#[derive(Debug, Clone, Default)]
pub struct CuratorIndex {
    index: Index,
    tvl_total: SortColumn,
    vault_count: SortColumn,
    avg_apr: SortColumn,
    name: SortColumn,
}

impl Indexed for CuratorIndex {
    type Columns<'a> = CuratorColumns<'a>;

    /// Curators are in ascending order of ids.
    fn add(&mut self, index: &mut Filling, curators: &[CuratorColumns<'_>]) {
        let rows = || curators.iter();
        index.set_texts(rows().map(|curator| [curator.name]));
        self.tvl_total = index.add_numbers(rows().map(|curator| Some(curator.tvl_total)), false);
        self.vault_count = index.add_integers(rows().map(|curator| i64::try_from(curator.vault_count).ok()));
        self.avg_apr = index.add_numbers(rows().map(|curator| curator.avg_apr), false);
        self.name = index.add_names();
    }

    fn complete(&mut self, index: Index) {
        self.index = index;
    }
}

impl CuratorIndex {
    /// The page that a request selects (`sortBy`, `sortOrder`).
    pub fn select(&self, query: RowQuery<'_, routes::CuratorList>, page: PageRequest) -> Selection {
        let by = match query.get(params::CuratorSort) {
            "vault_count" => self.vault_count,
            "avg_apr" => self.avg_apr,
            "name" => self.name,
            _ => self.tvl_total,
        };
        let sort = Sort { by, descending: query.get(params::SortOrder) != "asc" };
        self.index.select(&[], sort, page)
    }
}
