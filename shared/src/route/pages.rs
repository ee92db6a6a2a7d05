//! How a query asks for rows of a list, on routes where callers without a key reach only the first rows.

use super::query::Query;
use crate::wire::page::PageRequest;

/// Which parameters of a route say what rows are wanted. `None` in the route table: the answer is no list, or one that everybody may read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Numbered pages.
    Numbered {
        /// The parameter that holds the page's number.
        number: &'static str,
        /// The parameter that holds the rows per page.
        size: &'static str,
        /// Pages beyond this one are empty.
        last: u64,
    },
    /// Rows to skip, and rows to return.
    Offset {
        /// The parameter that holds the rows to skip.
        offset: &'static str,
        /// The parameter that holds the rows to return.
        size: &'static str,
    },
}

impl Pages {
    /// Numbered pages by `page` and `limit`.
    pub const fn numbered() -> Self {
        Self::named("page", "limit")
    }

    /// Numbered pages by parameters of other names.
    pub const fn named(number: &'static str, size: &'static str) -> Self {
        Pages::Numbered { number, size, last: u64::MAX }
    }

    /// The same, with empty pages beyond `last`.
    pub const fn up_to(self, last: u64) -> Self {
        match self {
            Pages::Numbered { number, size, .. } => Pages::Numbered { number, size, last },
            Pages::Offset { .. } => self,
        }
    }

    /// The rows that a query reaches: how many precede them, and how many they are. `None` beyond the last page.
    pub fn rows(self, query: &Query) -> Option<(u64, u64)> {
        match self {
            Pages::Numbered { number, size, last } => {
                let page = query.page_of(number, size);
                (page.number <= last).then_some((page.offset(), page.size))
            }
            Pages::Offset { offset, size } => Some((query.int(offset).unsigned_abs(), query.int(size).unsigned_abs())),
        }
    }

    /// The numbered page that a query asks for; `None` beyond the last page, and for an offset.
    pub fn page(self, query: &Query) -> Option<PageRequest> {
        match self {
            Pages::Numbered { number, size, last } => {
                Some(query.page_of(number, size)).filter(|page| page.number <= last)
            }
            Pages::Offset { .. } => None,
        }
    }
}
