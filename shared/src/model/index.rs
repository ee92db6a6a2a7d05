//! Indices as the API serves them: one for each basket of vaults.
//!
//! The API specification leaves the shapes of the routes open; the rules are in [`crate::rules::indices`].

use crate::rules::indices::{Gap, LEVEL_DECIMALS, Level, METHODOLOGY, PRICE_DECIMALS, RATIO_DECIMALS};
use crate::wire::time::{Day, Micros};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// An index in the list. It has the id and the name of its basket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexRow {
    /// Id of the index and of its basket.
    pub id: String,
    /// Name of the basket, for display.
    pub name: String,
    /// Version of the rules by which levels are computed.
    pub methodology_version: &'static str,
    /// Id of the basket's current version.
    pub version_id: String,
    /// UTC day of the base level: the first day on which every vault of the version in force has a price; null before that.
    pub base_date: Option<Day>,
    /// Level on `base_date`, always 1000.
    pub base_level: Level,
    /// The newest day that has a level; null if no day has one.
    pub latest: Option<LatestLevel>,
}

impl IndexRow {
    /// The index of a basket whose current version is `version_id`, without any level.
    pub fn new(id: String, name: String, version_id: String) -> Self {
        let (methodology_version, base_level) = (METHODOLOGY, Level::BASE);
        IndexRow { id, name, methodology_version, version_id, base_date: None, base_level, latest: None }
    }
}

/// The newest level of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatestLevel {
    /// UTC day of the level.
    pub date: Day,
    /// Level at the end of the day.
    pub level: Level,
    /// False while the day has not ended; later readings of the day replace the level.
    pub is_final: bool,
}

/// An index with the basket versions that it is chained over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexDetail {
    /// The fields of the list row.
    #[serde(flatten)]
    pub index: IndexRow,
    /// How levels are computed.
    pub method: IndexMethod,
    /// All versions of the basket, oldest first, with the day on which each was linked.
    pub links: Vec<IndexLink>,
}

/// How levels are computed, so that a client can recompute them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexMethod {
    /// Formula of a level.
    pub level: &'static str,
    /// Which reading is a vault's price of the day.
    pub price: &'static str,
    /// How a day with a missing price is treated.
    pub gaps: &'static str,
    /// Decimal places to which a price is rounded.
    pub price_decimals: u32,
    /// Decimal places to which the ratio of two prices is rounded.
    pub ratio_decimals: u32,
    /// Decimal places to which a level is rounded.
    pub level_decimals: u32,
    /// Rounding mode of prices, ratios and levels.
    pub rounding: &'static str,
}

impl IndexMethod {
    /// The method in force.
    pub const PUBLISHED: Self = IndexMethod {
        level: "level(link) * sum(weight * price(day) / price(link)) over the version held; a version is linked at the end of the first \
                day from its effective_from on that has a price of each of its vaults and of each vault of the version held before it",
        price: "price per share of the vault's last reading on the UTC day",
        gaps: "a day on which a price is missing has no level; nothing is carried over or interpolated",
        price_decimals: PRICE_DECIMALS,
        ratio_decimals: RATIO_DECIMALS,
        level_decimals: LEVEL_DECIMALS,
        rounding: "half_even",
    };
}

/// A version of the basket and its link in the index's chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexLink {
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// Instant from which the version is in force, inclusive.
    pub effective_from: Micros,
    /// UTC day at whose end the version was linked; null if it is not linked yet, or was never linked because the next version came first.
    pub linked_on: Option<Day>,
    /// Level at the end of `linked_on`; null if there is no such day.
    pub level: Option<Level>,
}

/// One day of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexLevel {
    /// The UTC day.
    pub date: Day,
    /// Level at the end of the day; null if `gap` is set.
    pub level: Option<Level>,
    /// Id of the basket version held at the end of the day; null before the base date.
    pub version_id: Option<String>,
    /// Why the day has no level; null if it has one.
    pub gap: Option<Gap>,
    /// False while the day has not ended; later readings of the day replace the level.
    pub is_final: bool,
}
