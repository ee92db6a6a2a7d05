//! Index levels: the daily value of a basket of vaults, chained over the basket's versions.
//!
//! A version is bought at its weights on the day it is linked and held until the next version is linked. With prices per share,
//!
//! ```text
//! level(day) = level(link) · Σ weight · price(day) / price(link)
//! ```
//!
//! On the day on which a version is linked, the level is still computed from the previous version, so a rebalance does not move the level.
//! A day with a missing price is a gap; it does not affect the days around it. A version that cannot be linked on its first day is linked
//! on the first later day on which all its vaults, and all vaults of the version held, were read.
//!
//! All values are integers: a price in 10⁻¹⁸, a ratio in 10⁻¹², a level in 10⁻⁶, each rounded half to even once. A chain continues from
//! the rounded, published level, so that a client with the prices and weights computes the same digits.

use crate::scoring::decimal::wide_from_float;
use crate::scoring::named_enum;
use crate::scoring::number::{Decimal, Ppm, rhe};
use crate::wire::time::Day;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

/// Version of the index rules.
pub const METHODOLOGY: &str = "index-1.0.0";
/// Decimal places of a price.
pub const PRICE_DECIMALS: u32 = 18;
/// Decimal places of a ratio of two prices.
pub const RATIO_DECIMALS: u32 = 12;
/// Decimal places of a level.
pub const LEVEL_DECIMALS: u32 = 6;

/// The ratio 1 in units of 10⁻¹².
const RATIO_ONE: u128 = 10_u128.pow(RATIO_DECIMALS);
/// The sum of a version's weights, in parts per million.
const WHOLE: u128 = 1_000_000;

/// A level in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u64);

impl Level {
    /// The level on the base date: 1000.
    pub const BASE: Level = Level(1_000_000_000);
    /// Largest level, 10⁹, in millionths. A double may lose digits of a larger level in JSON, so a larger level is out of range.
    const MAX: u128 = 1_000_000_000_000_000;

    /// The level in millionths.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Decimal { units: i64::try_from(self.0).unwrap_or(i64::MAX), scale: LEVEL_DECIMALS }.serialize(serializer)
    }
}

/// The redemption price of one vault share, in 10⁻¹⁸ of the vault's asset; above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Price(u128);

impl Price {
    /// Plausibility bound: 100 million units of the vault's asset per share.
    const MAX: u128 = 10_u128.pow(8 + PRICE_DECIMALS);

    /// A price of `units` · 10⁻¹⁸; `None` for 0 and above the plausibility bound.
    pub const fn new(units: u128) -> Option<Self> {
        if units > 0 && units <= Self::MAX { Some(Price(units)) } else { None }
    }

    /// Converts a reading through its shortest decimal text; `None` if the result is not a valid price ([`Price::new`]).
    pub fn read(value: f64) -> Option<Self> {
        u128::try_from(wide_from_float(value, PRICE_DECIMALS).ok()?).ok().and_then(Price::new)
    }
}

/// The last price read of each vault, by UTC day.
pub type ClosingPrices = BTreeMap<Day, BTreeMap<String, Price>>;

/// A basket version: the inputs of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexVersion {
    /// The day on which the version comes into force.
    pub effective_on: Day,
    /// Vault ids with their weights.
    pub holdings: Vec<(String, Ppm)>,
    /// Whether a constituent is on a withheld chain; levels that depend on this version are then withheld too.
    pub is_withheld: bool,
}

named_enum! {
    /// Why a day has no level.
    #[cfg_attr(feature = "schema", schemars(rename = "LevelGap"))]
    pub enum Gap {
        /// A vault of the version held, or of the version to be linked, was not read on that day.
        Unread = "unread",
        /// The chain of one of the vaults is withheld.
        Withheld = "withheld",
        /// The level is outside the range that can be published, because prices moved too far.
        OutOfRange = "out_of_range",
    }
}

/// A day of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexDay {
    /// The UTC day.
    pub day: Day,
    /// Index of the version held at the end of the day; none before the first link.
    pub held: Option<usize>,
    /// The level at the end of the day.
    pub level: Result<Level, Gap>,
}

/// The day and level at which a version was linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Index of the version.
    pub version: usize,
    /// The version is bought at the end of this day.
    pub day: Day,
    /// The level at the end of that day.
    pub level: Level,
}

/// The links and daily levels of an index, from its basket's first version on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    /// One link per linked version, in order; the first link's day is the base date.
    pub links: Vec<Link>,
    /// Every day, including gaps.
    pub days: Vec<IndexDay>,
}

/// The version held: its link, and its vaults' prices on the link's day.
struct Holding<'a> {
    link: Link,
    bought: Vec<(&'a str, Ppm, Price)>,
}

impl<'a> Holding<'a> {
    fn buy(
        versions: &'a [IndexVersion],
        version: usize,
        prices: &ClosingPrices,
        day: Day,
        level: Level,
    ) -> Result<Self, Gap> {
        let wanted = versions.get(version).ok_or(Gap::Unread)?;
        if wanted.is_withheld {
            return Err(Gap::Withheld);
        }
        let read = prices.get(&day).ok_or(Gap::Unread)?;
        let one = |(id, weight): &'a (String, Ppm)| Ok((id.as_str(), *weight, *read.get(id).ok_or(Gap::Unread)?));
        let bought = wanted.holdings.iter().map(one).collect::<Result<_, _>>()?;
        Ok(Holding { link: Link { version, day, level }, bought })
    }

    fn level(&self, prices: &ClosingPrices, day: Day) -> Result<Level, Gap> {
        let read = prices.get(&day).ok_or(Gap::Unread)?;
        // `worth` has 18 decimal places: six from the weight, twelve from the ratio.
        let mut worth: u128 = 0;
        for (id, weight, Price(then)) in &self.bought {
            let Price(now) = read.get(*id).ok_or(Gap::Unread)?;
            // A price is at most 10²⁶ and the factor 10¹², so the product is at most 10³⁸ and fits u128.
            let ratio = rhe(now.checked_mul(RATIO_ONE).ok_or(Gap::OutOfRange)?, *then);
            let part = ratio.checked_mul(u128::from(weight.0.unsigned_abs())).ok_or(Gap::OutOfRange)?;
            worth = worth.checked_add(part).ok_or(Gap::OutOfRange)?;
        }
        let level = worth.checked_mul(u128::from(self.link.level.0)).ok_or(Gap::OutOfRange)?;
        match rhe(level, RATIO_ONE * WHOLE) {
            0 => Err(Gap::OutOfRange),
            level if level > Level::MAX => Err(Gap::OutOfRange),
            level => Ok(Level(u64::try_from(level).unwrap_or(u64::MAX))),
        }
    }
}

/// Chains an index over `versions`, given in the order in which they came into force, up to and including `through`.
pub fn chain(versions: &[IndexVersion], prices: &ClosingPrices, through: Day) -> Chain {
    let mut chain = Chain::default();
    let Some(first) = versions.first() else { return chain };
    let mut held: Option<Holding<'_>> = None;
    let mut in_force = 0;
    let mut day = first.effective_on;
    while day <= through {
        while versions.get(in_force + 1).is_some_and(|next| next.effective_on <= day) {
            in_force += 1;
        }
        let level = step(versions, &mut held, in_force, prices, day);
        if let Some(Holding { link, .. }) = &held
            && link.day == day
        {
            chain.links.push(*link);
        }
        chain.days.push(IndexDay { day, held: held.as_ref().map(|held| held.link.version), level });
        let next = day.plus(1);
        if next <= day {
            // `Day::plus` saturates at the last representable day.
            break;
        }
        day = next;
    }
    chain
}

/// The level of a day. The version in force replaces the version held once the vaults of both were read.
fn step<'a>(
    versions: &'a [IndexVersion],
    held: &mut Option<Holding<'a>>,
    in_force: usize,
    prices: &ClosingPrices,
    day: Day,
) -> Result<Level, Gap> {
    let level = match held {
        None => Level::BASE,
        Some(holding) if versions.get(holding.link.version).is_some_and(|it| it.is_withheld) => {
            return Err(Gap::Withheld);
        }
        Some(holding) => holding.level(prices, day)?,
    };
    if held.as_ref().is_none_or(|holding| holding.link.version != in_force) {
        *held = Some(Holding::buy(versions, in_force, prices, day, level)?);
    }
    Ok(level)
}

#[cfg(test)]
#[path = "indices_tests.rs"]
mod tests;
