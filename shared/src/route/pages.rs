//! The paging parameters of routes on which callers without a key reach only the first rows.

use super::query::Query;
use crate::wire::page::PageRequest;

/// The paging parameters of a route, by their position among its query parameters. The route table has `None` for a route that returns no
/// list, or a list that every caller may read to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Numbered pages.
    Numbered {
        /// Position of the parameter with the page number.
        number: usize,
        /// Position of the parameter with the number of rows per page.
        size: usize,
        /// The last page; later pages are empty.
        last: u64,
    },
    /// A number of rows to skip and a number of rows to return.
    Offset {
        /// Position of the parameter with the number of rows to skip.
        offset: usize,
        /// Position of the parameter with the number of rows to return.
        size: usize,
    },
}

impl Pages {
    /// The rows that a query selects, as the number of rows to skip and the number of rows to return. `None` beyond the last page.
    pub fn rows(self, query: &Query) -> Option<(u64, u64)> {
        match self {
            Pages::Numbered { .. } => self.page(query).map(|page| (page.offset(), page.size)),
            Pages::Offset { offset, size } => Some((query.count(offset), query.count(size))),
        }
    }

    /// The numbered page that a query selects; `None` beyond the last page, and if the route uses an offset.
    pub fn page(self, query: &Query) -> Option<PageRequest> {
        self.any_page(query).filter(|page| page.number <= self.last())
    }

    /// Like [`Pages::page`], but not limited to the last page.
    pub(super) fn any_page(self, query: &Query) -> Option<PageRequest> {
        match self {
            Pages::Numbered { number, size, .. } => Some(PageRequest::new(query.count(number), query.count(size))),
            Pages::Offset { .. } => None,
        }
    }

    /// The positions of both parameters.
    pub(super) const fn places(self) -> [usize; 2] {
        match self {
            Pages::Numbered { number, size, .. } => [number, size],
            Pages::Offset { offset, size } => [offset, size],
        }
    }

    const fn last(self) -> u64 {
        match self {
            Pages::Numbered { last, .. } => last,
            Pages::Offset { .. } => u64::MAX,
        }
    }
}
