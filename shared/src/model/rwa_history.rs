//! The canonical value of real-world assets, day by day.
//!
//! Source: interface, "RWA", `GET /v1/rwa/stats/history`, which says what a point reports and leaves its fields open.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::ChainId;
use super::rwa::{Cents, Coverage, Day, SourceShare};
use crate::scoring::number::Decimal;
use crate::wire::time::Micros;

/// A point of `GET /v1/rwa/stats/history`: the newest revision of one day.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumPoint {
    /// Day of the figures (UTC).
    pub snapshot_date: Day,
    /// Value of the included products; null when there is none.
    pub value_usd: Option<Cents>,
    /// Products with a figure.
    pub included_products: u64,
    /// Products, and deployments without one, that have none.
    pub excluded_products: u64,
    /// Products without a figure on that day, counted by reason.
    pub exclusions: Vec<ReasonCount>,
    /// Included out of both.
    pub product_coverage: Coverage,
    /// The part of the value whose chain is known, to four decimals, rounded down; null without a value.
    pub chain_coverage: Option<Decimal>,
    /// Value that `breakdown` does not account for; null without a value.
    pub unallocated_value_usd: Option<Cents>,
    /// By chain or category, as asked for; largest first.
    pub breakdown: Vec<AumPart>,
    /// By source; largest first.
    pub source_mix: Vec<SourceShare>,
    /// Counted from 1; a day is revised when a late figure of it, or of the days carried into it, arrives.
    pub revision: u32,
    /// When that revision was made.
    pub recorded_at: Micros,
    /// What to know of it, with the number of products it concerns.
    pub caveats: Vec<CaveatCount>,
}

/// A reason with how many it concerns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReasonCount {
    /// Reason of the exclusion.
    pub reason: String,
    /// Number of rows excluded for the reason.
    pub count: u64,
}

/// A caveat with how many products it concerns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaveatCount {
    /// Caveat that is counted.
    pub caveat: String,
    /// Number of products with the caveat.
    pub products: u64,
}

/// One chain's or category's part: the other field of the two is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumPart {
    /// Number of the chain; `/v1/chains` lists them, null if unknown.
    pub chain_id: Option<ChainId>,
    /// Category of the assets; null if unknown.
    pub category: Option<String>,
    /// Products with value here.
    pub products: u64,
    /// That value.
    pub value_usd: Cents,
}

/// `meta` of the history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumHistoryMeta {
    /// As asked for.
    pub range: &'static str,
    /// As asked for.
    pub breakdown: &'static str,
    /// Days in the answer; days without a total are missing.
    pub points: u64,
}

/// The history.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AumHistory {
    /// Points, oldest first.
    pub data: Vec<AumPoint>,
    /// What was asked for.
    pub meta: AumHistoryMeta,
}
