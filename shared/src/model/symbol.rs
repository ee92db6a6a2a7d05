//! Deposit assets by symbol: the number of vaults, and the totals of each day.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::rules::symbol_history::DayTotal;
use crate::scoring::named_enum;
use crate::wire::time::Day;

/// A symbol in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetSymbol {
    /// The symbol in its most frequent spelling; spellings that differ only in case are one symbol.
    pub asset_symbol: String,
    /// Number of active vaults with this deposit asset.
    pub vault_count: u64,
}

named_enum! {
    /// How a day's totals were determined.
    pub enum DaySource {
        /// Computed and stored after the end of the day, over the vaults that were eligible on that day. Every one of these vaults was read
        /// on that day.
        Observed = "observed",
        /// Computed from stored readings, over the vaults that are eligible now. A vault that was not read on that day counts with its last
        /// value from the seven days before, and without a rate.
        Derived = "derived",
    }
}

/// The totals of a symbol on one day.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolDay {
    /// The UTC day.
    pub date: Day,
    /// How the totals were determined.
    pub source: DaySource,
    /// Total value in USD of the active vaults that are not closed to deposits.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Mean net annual rate weighted by value, as a fraction; null if no vault reported a rate.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr_net: Option<f64>,
}

impl SymbolDay {
    /// A day with the totals of its vaults.
    pub fn new(date: Day, source: DaySource, total: DayTotal) -> Self {
        SymbolDay { date, source, tvl_usd: total.tvl_usd, apr_net: total.apr_net }
    }
}

/// `meta` of a symbol's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolHistoryMeta {
    /// The requested symbol, in upper case.
    pub symbol: String,
    /// The requested range: `7d`, `30d`, `90d` or `1y`.
    pub range: &'static str,
    /// Number of days in the answer; days without readings are left out.
    pub points: u64,
}

/// The answer of `GET /v1/assets/{symbol}/history`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolHistory {
    /// Days, oldest first.
    pub data: Vec<SymbolDay>,
    /// The requested symbol and range, and the number of points.
    pub meta: SymbolHistoryMeta,
}

/// Number of days in a `range` of the route, including the current day.
pub fn days_of(range: &str) -> i64 {
    match range {
        "7d" => 7,
        "90d" => 90,
        "1y" => 365,
        _ => 30,
    }
}
