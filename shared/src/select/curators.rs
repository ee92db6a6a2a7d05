//! Columns and order of the curator list.

use super::{Index, Selection, Sort, SortColumn};
use crate::model::curator::CuratorRow;
use crate::route::{RowQuery, params, routes};
use crate::wire::page::PageRequest;

/// Index of the curators. Row numbers are positions in the rows passed to [`CuratorIndex::build`].
#[derive(Debug, Clone)]
pub struct CuratorIndex {
    index: Index,
    tvl_total: SortColumn,
    vault_count: SortColumn,
    avg_apr: SortColumn,
    name: SortColumn,
}

impl Default for CuratorIndex {
    /// The index of no curators.
    fn default() -> Self {
        Self::build(&[])
    }
}

impl CuratorIndex {
    /// Indexes rows, which must be in ascending order of ids.
    pub fn build(curators: &[&CuratorRow]) -> Self {
        let mut index = Index::new(curators.len());
        let rows = || curators.iter();
        CuratorIndex {
            tvl_total: index.add_numbers(rows().map(|row| Some(row.tvl_total)), false),
            vault_count: index.add_integers(rows().map(|row| i64::try_from(row.vault_count).ok())),
            avg_apr: index.add_numbers(rows().map(|row| row.avg_apr), false),
            name: index.add_names(rows().map(|row| row.name.as_str())),
            index,
        }
    }

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
