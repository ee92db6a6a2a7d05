//! The success envelopes.

use super::page::PageMeta;
use serde::Serialize;

/// `{"data": …}`: every answer that is not a paged list.
#[derive(Debug, Clone, Serialize)]
pub struct Data<T> {
    /// The resource or resources.
    pub data: T,
}

/// `{"data": [...], "meta": {page, limit, total, totalPages}}`: a numbered page of a list.
#[derive(Debug, Clone, Serialize)]
pub struct Paged<T> {
    /// The rows of this page.
    pub data: T,
    /// Where this page stands in the whole list.
    pub meta: PageMeta,
}
