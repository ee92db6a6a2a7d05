//! Deposit assets by symbol: how many vaults take one, and its days.
//!
//! Source: interface, "Assets" (`GET /v1/assets` and the symbol history).

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::rules::symbol_history::DayTotal;
use crate::scoring::named_enum;
use crate::wire::time::Day;

/// A symbol in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetSymbol {
    /// The symbol. Spellings that differ in case only are one symbol, shown in the most frequent of them.
    pub asset_symbol: String,
    /// Active vaults that take it.
    pub vault_count: u64,
}

named_enum! {
    /// How a day is known.
    pub enum DaySource {
        /// Added up when the day had ended, over the vaults that were eligible then, each of which was read that day; and kept.
        Observed = "observed",
        /// Added up from stored readings, over the vaults that are eligible now. A vault that was not read that day counts with its last
        /// value of the seven days before, and with no rate.
        Derived = "derived",
    }
}

/// One day of a symbol.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolDay {
    /// The UTC day.
    pub date: Day,
    /// How it is known.
    pub source: DaySource,
    /// Investable value in USD: of active vaults that are not closed to deposits.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Net rate weighted by value; null when no vault reported one.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub apr_net: Option<f64>,
}

impl SymbolDay {
    /// A day with what its vaults add up to.
    pub fn new(date: Day, source: DaySource, total: DayTotal) -> Self {
        SymbolDay { date, source, tvl_usd: total.tvl_usd, apr_net: total.apr_net }
    }
}

/// `meta` of a symbol's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolHistoryMeta {
    /// The symbol in upper case: what was matched.
    pub symbol: String,
    /// The range as asked for.
    pub range: &'static str,
    /// Days in the answer; fewer than the range has where days are missing.
    pub points: u64,
}

/// The answer of `GET /v1/assets/{symbol}/history`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolHistory {
    /// Points, oldest first.
    pub data: Vec<SymbolDay>,
    /// What was asked and how much there is.
    pub meta: SymbolHistoryMeta,
}

/// Days of a `range` of the route, the current one included.
pub fn days_of(range: &str) -> i64 {
    match range {
        "7d" => 7,
        "90d" => 90,
        "1y" => 365,
        _ => 30,
    }
}
