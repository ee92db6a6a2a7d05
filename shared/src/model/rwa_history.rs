//! The canonical total of real-world assets, day by day. The API specification states what a point reports and leaves its fields open.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::ChainId;
use super::rwa::{Cents, Coverage, Day, SourceShare};
use crate::scoring::number::Decimal;
use crate::wire::time::Micros;

/// The canonical total of one day, in its newest revision: a point of `GET /v1/rwa/stats/history`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumPoint {
    /// UTC day of the figures.
    pub snapshot_date: Day,
    /// Value of the included products in USD; null if no product is included.
    pub value_usd: Option<Cents>,
    /// Number of products with a figure.
    pub included_products: u64,
    /// Number of products without a figure, and of deployments that are not mapped to a product.
    pub excluded_products: u64,
    /// The excluded products and deployments, counted by reason.
    pub exclusions: Vec<ReasonCount>,
    /// `included_products` out of `included_products` and `excluded_products` together.
    pub product_coverage: Coverage,
    /// Part of the value that is assigned to a chain, as a fraction rounded down to four decimals; null without a value.
    pub chain_coverage: Option<Decimal>,
    /// Value that `breakdown` does not assign to a chain, in USD; 0 in a breakdown by category; null without a value.
    pub unallocated_value_usd: Option<Cents>,
    /// The value by chain or by category, as requested; largest first.
    pub breakdown: Vec<AumPart>,
    /// The value by source, largest first.
    pub source_mix: Vec<SourceShare>,
    /// Revision of the day, counted from 1; a late figure of the day, or of an earlier day that is carried into it, makes a new revision.
    pub revision: u32,
    /// Instant at which the revision was made.
    pub recorded_at: Micros,
    /// Limitations of the day's figures, each with the number of products it concerns.
    pub caveats: Vec<CaveatCount>,
}

/// A reason for exclusion, with its count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReasonCount {
    /// Reason of the exclusion.
    pub reason: String,
    /// Number of products and deployments excluded for the reason.
    pub count: u64,
}

/// A caveat, with the number of products it concerns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaveatCount {
    /// Caveat that is counted.
    pub caveat: String,
    /// Number of products with the caveat.
    pub products: u64,
}

/// The part of a total on one chain or in one category; exactly one of `chain_id` and `category` is not null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumPart {
    /// Number of the chain, as listed by `/v1/chains`; null in a breakdown by category.
    pub chain_id: Option<ChainId>,
    /// Category of the assets; null in a breakdown by chain.
    pub category: Option<String>,
    /// Number of products with value in this part.
    pub products: u64,
    /// Value of this part, in USD.
    pub value_usd: Cents,
}

/// `meta` of `GET /v1/rwa/stats/history`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumHistoryMeta {
    /// The requested range: `7d`, `30d`, `90d` or `1y`.
    pub range: &'static str,
    /// The requested breakdown: `chain` or `category`.
    pub breakdown: &'static str,
    /// Number of days in the answer; days without a total are left out.
    pub points: u64,
}

/// The history of the canonical total.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumHistory {
    /// Points, oldest first.
    pub data: Vec<AumPoint>,
    /// The requested range and breakdown, and the number of points.
    pub meta: AumHistoryMeta,
}
