//! Weights: the one distribution in proportion to excess score that obeys every cap, then parts per million.
//!
//! All of it is exact: a weight is a fraction until the last step, and the order of the names plays no part.

use super::definition::{Caps, Weighting};
use crate::scoring::{MilliPoints, Ppm};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The whole basket, in parts per million.
const WHOLE: u128 = 1_000_000;

/// A name that may be in the basket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its id: a vault's or an asset's.
    pub id: String,
    /// Who stands behind it: what the issuer cap groups by.
    pub issuer: String,
    /// The published score.
    pub score: MilliPoints,
}

/// A name that is in, with its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constituent {
    /// Its id.
    pub id: String,
    /// Who stands behind it.
    pub issuer: String,
    /// The published score it was weighed by.
    pub score: MilliPoints,
    /// Its part of the basket; all of them sum to one exactly.
    pub weight: Ppm,
}

/// The integers that the content hash covers, and the same two as numbers for a reader.
impl Serialize for Constituent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut constituent = serializer.serialize_struct("Constituent", 6)?;
        constituent.serialize_field("id", &self.id)?;
        constituent.serialize_field("issuer", &self.issuer)?;
        constituent.serialize_field("score", &self.score)?;
        constituent.serialize_field("score_mp", &self.score.get())?;
        constituent.serialize_field("weight", &self.weight)?;
        constituent.serialize_field("weight_ppm", &self.weight.0)?;
        constituent.end()
    }
}

/// Why no weights obey the rules: the old version stays and an event is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Infeasible {
    /// Fewer names above the pivot than the basket must have.
    TooFewNames {
        /// Names above the pivot that the floor left.
        names: usize,
        /// Names the basket must have.
        minimum: usize,
    },
    /// The caps let the names hold less than the whole.
    CapsTooTight {
        /// What they can hold together.
        attainable: Ppm,
    },
    /// One id was given twice; which of the two counts is not for the weights to say.
    RepeatedName {
        /// The id.
        id: String,
    },
}

impl fmt::Display for Infeasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Infeasible::TooFewNames { names, minimum } => {
                write!(f, "{names} names can be weighed, the basket needs {minimum}")
            }
            Infeasible::CapsTooTight { attainable } => write!(f, "the caps let the names hold {attainable} of one"),
            Infeasible::RepeatedName { id } => write!(f, "{id} was given twice"),
        }
    }
}

impl core::error::Error for Infeasible {}

/// The weights of `names`, sorted by id; names at or under the pivot, and those the floor drops, are not among them.
///
/// Source: methodology, "Weights".
pub fn weigh(names: &[Name], weighting: &Weighting) -> Result<Vec<Constituent>, Infeasible> {
    let mut standing = above_pivot(names, weighting.pivot)?;
    loop {
        check_feasible(&standing, weighting)?;
        distribute(&mut standing, weighting.caps);
        round(&mut standing, weighting.caps);
        let Some(place) = lightest_under_floor(&standing, weighting.caps) else {
            return Ok(standing.iter().map(Standing::constituent).collect());
        };
        standing.remove(place);
    }
}

/// A name still in the running.
struct Standing<'a> {
    name: &'a Name,
    /// Milli-points above the pivot; never 0.
    excess: u128,
    /// Whether it stands at the single-name cap.
    full: bool,
    /// The exact weight in parts per million: `share / of`.
    share: u128,
    of: u128,
    /// The weight in whole parts per million.
    units: u128,
}

impl<'a> Standing<'a> {
    fn issuer(&self) -> &'a str {
        &self.name.issuer
    }

    const fn remainder(&self) -> u128 {
        self.share % self.of
    }

    fn constituent(&self) -> Constituent {
        let Name { id, issuer, score } = self.name.clone();
        Constituent { id, issuer, score, weight: Ppm(i64::try_from(self.units).unwrap_or(i64::MAX)) }
    }
}

/// The names above the pivot, sorted by id.
fn above_pivot(names: &[Name], pivot: MilliPoints) -> Result<Vec<Standing<'_>>, Infeasible> {
    let mut ids = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !ids.insert(&name.id)) {
        return Err(Infeasible::RepeatedName { id: twice.id.clone() });
    }
    let above = names.iter().filter(|name| name.score > pivot);
    let mut standing: Vec<_> = above
        .map(|name| Standing { name, excess: name.score.wide() - pivot.wide(), full: false, share: 0, of: 1, units: 0 })
        .collect();
    standing.sort_unstable_by(|a, b| a.name.id.cmp(&b.name.id));
    Ok(standing)
}

fn check_feasible(standing: &[Standing<'_>], weighting: &Weighting) -> Result<(), Infeasible> {
    let minimum = usize::try_from(weighting.min_constituents).unwrap_or(usize::MAX).max(1);
    if standing.len() < minimum {
        return Err(Infeasible::TooFewNames { names: standing.len(), minimum });
    }
    let (single_name, issuer) = (units(weighting.caps.single_name()), units(weighting.caps.issuer()));
    let mut held: BTreeMap<&str, u128> = BTreeMap::new();
    for name in standing {
        *held.entry(name.issuer()).or_default() += single_name;
    }
    let attainable: u128 = held.values().map(|held| issuer.min(*held)).sum();
    if attainable < WHOLE {
        return Err(Infeasible::CapsTooTight { attainable: Ppm(i64::try_from(attainable).unwrap_or(0)) });
    }
    Ok(())
}

/// Gives every name its exact weight: issuers above their cap are fixed at it, the others share what remains.
fn distribute(standing: &mut [Standing<'_>], caps: Caps) {
    let (single_name, issuer_cap) = (units(caps.single_name()), units(caps.issuer()));
    let mut capped: BTreeSet<&str> = BTreeSet::new();
    loop {
        let fixed = capped.iter().fold(0, |fixed, _| fixed + issuer_cap);
        let mut others: Vec<_> = standing.iter_mut().filter(|name| !capped.contains(name.issuer())).collect();
        let of = fill(&mut others, WHOLE.saturating_sub(fixed), single_name);
        let mut held: BTreeMap<&str, u128> = BTreeMap::new();
        for name in others {
            *held.entry(name.issuer()).or_default() += name.share;
        }
        let known = capped.len();
        capped.extend(held.into_iter().filter(|(_, held)| *held > issuer_cap * of).map(|(issuer, _)| issuer));
        if capped.len() == known {
            break;
        }
    }
    for issuer in capped {
        let mut names: Vec<_> = standing.iter_mut().filter(|name| name.issuer() == issuer).collect();
        fill(&mut names, issuer_cap, single_name);
    }
}

/// Shares `total` among the names in proportion to excess, none above `single_name`; answers the denominator they share.
fn fill(names: &mut [&mut Standing<'_>], total: u128, single_name: u128) -> u128 {
    names.iter_mut().for_each(|name| name.full = false);
    loop {
        let free = names.iter().filter(|name| !name.full);
        let excess: u128 = free.map(|name| name.excess).sum();
        let left = names.iter().filter(|name| name.full).fold(total, |left, _| left.saturating_sub(single_name));
        let mut more = false;
        for name in names.iter_mut().filter(|name| !name.full && left * name.excess > single_name * excess) {
            name.full = true;
            more = true;
        }
        if !more {
            // Nothing is free when every name stands at its cap; one is then as good a denominator as any.
            let of = excess.max(1);
            for name in names.iter_mut() {
                name.share = if name.full { single_name * of } else { left * name.excess };
                name.of = of;
            }
            return of;
        }
    }
}

/// To whole parts per million by largest remainder (ties: smaller id), lifting nothing above a cap.
fn round(standing: &mut [Standing<'_>], caps: Caps) {
    let (single_name, issuer_cap) = (units(caps.single_name()), units(caps.issuer()));
    let mut held: BTreeMap<&str, u128> = BTreeMap::new();
    let mut total = 0;
    for name in standing.iter_mut() {
        name.units = name.share / name.of;
        total += name.units;
        *held.entry(name.issuer()).or_default() += name.units;
    }
    let mut by_remainder: Vec<_> = standing.iter_mut().collect();
    by_remainder.sort_by(|a, b| larger_remainder(a, b).then_with(|| a.name.id.cmp(&b.name.id)));
    let mut given = true;
    while total < WHOLE && given {
        given = false;
        for name in &mut by_remainder {
            let Some(held) = held.get_mut(name.issuer()) else { continue };
            if total < WHOLE && name.units < single_name && *held < issuer_cap {
                name.units += 1;
                *held += 1;
                total += 1;
                given = true;
            }
        }
    }
}

fn larger_remainder(a: &Standing<'_>, b: &Standing<'_>) -> Ordering {
    (b.remainder() * a.of).cmp(&(a.remainder() * b.of))
}

/// The name to drop: the lightest under the floor; ties: the lower score, then the greater id.
fn lightest_under_floor(standing: &[Standing<'_>], caps: Caps) -> Option<usize> {
    let floor = units(caps.floor());
    let under = standing.iter().enumerate().rev().filter(|(_, name)| name.units < floor);
    under.min_by_key(|(_, name)| (name.units, name.excess)).map(|(place, _)| place)
}

/// A cap or floor as [`Caps`] holds it: never negative.
fn units(share: Ppm) -> u128 {
    share.0.unsigned_abs().into()
}
