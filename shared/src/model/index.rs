//! Indices as the API serves them: one for each basket of vaults.
//!
//! Source: interface, "Authentication", 7, which names the routes; their shapes are ours, and the rules are
//! [`crate::rules::indices`].

use crate::rules::indices::{Gap, LEVEL_DECIMALS, Level, METHODOLOGY, PRICE_DECIMALS, RATIO_DECIMALS};
use crate::wire::time::{Day, Micros};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// An index in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexRow {
    /// The basket's slug.
    pub id: String,
    /// The basket's name.
    pub name: String,
    /// The rules that levels are made by.
    pub methodology_version: &'static str,
    /// The basket's version in force.
    pub version_id: String,
    /// The day of the base level: the first on which all of the first version was read; null before that.
    pub base_date: Option<Day>,
    /// The level of that day.
    pub base_level: Level,
    /// The newest day that has a level; null while none has.
    pub latest: Option<LatestLevel>,
}

impl IndexRow {
    /// An index of a basket with this version in force.
    pub fn new(id: String, name: String, version_id: String) -> Self {
        let (methodology_version, base_level) = (METHODOLOGY, Level::BASE);
        IndexRow { id, name, methodology_version, version_id, base_date: None, base_level, latest: None }
    }
}

/// The newest level of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatestLevel {
    /// The UTC day.
    pub date: Day,
    /// The level at its end.
    pub level: Level,
    /// False while the day has not ended: a later reading of it replaces this one.
    pub is_final: bool,
}

/// An index with how it was chained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexDetail {
    /// The index, as listed.
    #[serde(flatten)]
    pub index: IndexRow,
    /// How a level is made.
    pub method: IndexMethod,
    /// Every version of the basket, oldest first, and where it was linked.
    pub links: Vec<IndexLink>,
}

/// How a level is made, for whoever makes it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexMethod {
    /// How the level is computed.
    pub level: &'static str,
    /// Which reading is a day's price.
    pub price: &'static str,
    /// What a day is of which a price is missing.
    pub gaps: &'static str,
    /// Decimal places of a price.
    pub price_decimals: u32,
    /// Decimal places of a price over another.
    pub ratio_decimals: u32,
    /// Decimal places of a level.
    pub level_decimals: u32,
    /// How all of them are rounded.
    pub rounding: &'static str,
}

impl IndexMethod {
    /// The method.
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

/// A version of the basket in its index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexLink {
    /// Id of the basket version, such as `prime-vaults-v2`.
    pub version_id: String,
    /// From when it is in force.
    pub effective_from: Micros,
    /// The day at whose end it was linked; null when it has not been, or never was because another one followed before.
    pub linked_on: Option<Day>,
    /// The level then.
    pub level: Option<Level>,
}

/// A day of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexLevel {
    /// The UTC day.
    pub date: Day,
    /// The level at its end; null where there is a gap.
    pub level: Option<Level>,
    /// The version held at its end; null before the base date.
    pub version_id: Option<String>,
    /// Why there is no level.
    pub gap: Option<Gap>,
    /// False while the day has not ended.
    pub is_final: bool,
}
