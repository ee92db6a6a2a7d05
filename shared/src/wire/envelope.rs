//! Envelopes of successful answers.

use super::page::PageMeta;
use serde::Serialize;

/// `{"data": …}`: an answer without `meta`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Data<T> {
    /// The content of the response.
    pub data: T,
}

/// `{"data": [...], "meta": {page, limit, total, totalPages}}`: a numbered page of a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Paged<T> {
    /// The rows of this page.
    pub data: T,
    /// Position of this page in the whole list.
    pub meta: PageMeta,
}

/// `{"data": …, "meta": …}` with a `meta` specific to the route.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct WithMeta<T, M> {
    /// The content of the response.
    pub data: T,
    /// Information about the response as a whole.
    pub meta: M,
}
