//! How a query asks for rows of a list, on routes where callers without a key reach only the first rows.

use super::query::Query;
use crate::wire::page::PageRequest;

/// Which parameters of a route say what rows are wanted, by their places in the row. `None` in the route table: the answer is no list, or one
/// that everybody may read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Numbered pages.
    Numbered {
        /// The parameter that holds the page's number.
        number: usize,
        /// The parameter that holds the rows per page.
        size: usize,
        /// Pages beyond this one are empty.
        last: u64,
    },
    /// Rows to skip, and rows to return.
    Offset {
        /// The parameter that holds the rows to skip.
        offset: usize,
        /// The parameter that holds the rows to return.
        size: usize,
    },
}

impl Pages {
    /// The rows that a query reaches: how many precede them, and how many they are. `None` beyond the last page.
    pub fn rows(self, query: &Query) -> Option<(u64, u64)> {
        match self {
            Pages::Numbered { .. } => self.page(query).map(|page| (page.offset(), page.size)),
            Pages::Offset { offset, size } => Some((query.count(offset), query.count(size))),
        }
    }

    /// The numbered page that a query asks for; `None` beyond the last page, and for an offset.
    pub fn page(self, query: &Query) -> Option<PageRequest> {
        self.any_page(query).filter(|page| page.number <= self.last())
    }

    /// The same without regard to the last page.
    pub(super) fn any_page(self, query: &Query) -> Option<PageRequest> {
        match self {
            Pages::Numbered { number, size, .. } => Some(PageRequest::new(query.count(number), query.count(size))),
            Pages::Offset { .. } => None,
        }
    }

    /// The places of the parameters in the row.
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
