//! Weights: in proportion to the score above the pivot, within every cap, then rounded to parts per million.
//!
//! The computation is exact: weights are fractions until the last step, and the order of the candidates does not matter.

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

/// A vault or an asset that meets the eligibility rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EligibleName {
    /// Id of a vault or an asset.
    pub id: String,
    /// The group to which the issuer cap applies.
    pub issuer: String,
    /// The published score.
    pub score: MilliPoints,
}

/// A vault or an asset in the basket, with its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constituent {
    pub id: String,
    /// The group to which the issuer cap applies.
    pub issuer: String,
    /// The published score the weight was computed from.
    pub score: MilliPoints,
    /// Fraction of the basket; the weights of all constituents sum to exactly one.
    pub weight: Ppm,
}

/// Score and weight appear twice: as decimal numbers, and as the integers that the content hash covers.
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

/// Why no weights satisfy the rules. The version in force stays and an event is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Infeasible {
    /// The number of candidates that can have a weight is below the basket's minimum.
    TooFewNames {
        /// Number of candidates with a score above the pivot, without the candidates that the floor dropped.
        names: usize,
        /// Minimum number of constituents.
        minimum: usize,
    },
    /// The maximum weights of all candidates sum to less than 1.
    CapsTooTight {
        /// The sum of the maximum weights.
        attainable: Ppm,
    },
    /// The same id was given twice.
    RepeatedName { id: String },
}

impl fmt::Display for Infeasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Infeasible::TooFewNames { names, minimum } => {
                write!(f, "{names} names can be weighted, the basket needs {minimum}")
            }
            Infeasible::CapsTooTight { attainable } => {
                write!(f, "the caps limit the sum of weights to {attainable}, it must be 1")
            }
            Infeasible::RepeatedName { id } => write!(f, "candidate {id} was given twice"),
        }
    }
}

impl core::error::Error for Infeasible {}

/// The weights of `names`, sorted by id. Candidates at or below the pivot, and candidates that the floor drops, are left out.
///
/// Source: methodology, "Weights".
pub fn compute_weights(names: &[EligibleName], weighting: &Weighting) -> Result<Vec<Constituent>, Infeasible> {
    let mut weighted = above_pivot(names, weighting.pivot)?;
    loop {
        check_feasible(&weighted, weighting)?;
        distribute(&mut weighted, weighting.caps);
        round(&mut weighted, weighting.caps);
        let Some(place) = lightest_under_floor(&weighted, weighting.caps) else {
            return Ok(weighted.iter().map(Weighted::constituent).collect());
        };
        weighted.remove(place);
    }
}

/// A candidate that has not been dropped, with the weight of the current round.
struct Weighted<'a> {
    name: &'a EligibleName,
    /// Score above the pivot, in milli-points; never 0.
    excess: u128,
    /// Whether its weight is fixed at the single-name cap.
    full: bool,
    /// The exact weight in parts per million: `share / of`.
    share: u128,
    of: u128,
    /// The weight in whole parts per million.
    units: u128,
}

impl<'a> Weighted<'a> {
    fn issuer(&self) -> &'a str {
        &self.name.issuer
    }

    const fn remainder(&self) -> u128 {
        self.share % self.of
    }

    fn constituent(&self) -> Constituent {
        let EligibleName { id, issuer, score } = self.name.clone();
        Constituent { id, issuer, score, weight: Ppm(i64::try_from(self.units).unwrap_or(i64::MAX)) }
    }
}

/// The candidates above the pivot, sorted by id.
fn above_pivot(names: &[EligibleName], pivot: MilliPoints) -> Result<Vec<Weighted<'_>>, Infeasible> {
    let mut ids = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !ids.insert(&name.id)) {
        return Err(Infeasible::RepeatedName { id: twice.id.clone() });
    }
    let above = names.iter().filter(|name| name.score > pivot);
    let mut weighted: Vec<_> = above
        .map(|name| Weighted { name, excess: name.score.wide() - pivot.wide(), full: false, share: 0, of: 1, units: 0 })
        .collect();
    weighted.sort_unstable_by(|a, b| a.name.id.cmp(&b.name.id));
    Ok(weighted)
}

fn check_feasible(weighted: &[Weighted<'_>], weighting: &Weighting) -> Result<(), Infeasible> {
    let minimum = usize::try_from(weighting.min_constituents).unwrap_or(usize::MAX).max(1);
    if weighted.len() < minimum {
        return Err(Infeasible::TooFewNames { names: weighted.len(), minimum });
    }
    let (single_name, issuer) = (units(weighting.caps.single_name()), units(weighting.caps.issuer()));
    let mut held: BTreeMap<&str, u128> = BTreeMap::new();
    for name in weighted {
        *held.entry(name.issuer()).or_default() += single_name;
    }
    let attainable: u128 = held.values().map(|held| issuer.min(*held)).sum();
    if attainable < WHOLE {
        return Err(Infeasible::CapsTooTight { attainable: Ppm(i64::try_from(attainable).unwrap_or(0)) });
    }
    Ok(())
}

/// Computes every candidate's exact weight. The candidates of an issuer that exceeds the issuer cap share exactly the cap; the other
/// candidates share the remaining weight.
fn distribute(weighted: &mut [Weighted<'_>], caps: Caps) {
    let (single_name, issuer_cap) = (units(caps.single_name()), units(caps.issuer()));
    let mut capped: BTreeSet<&str> = BTreeSet::new();
    loop {
        let fixed = capped.iter().fold(0, |fixed, _| fixed + issuer_cap);
        let mut others: Vec<_> = weighted.iter_mut().filter(|name| !capped.contains(name.issuer())).collect();
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
        let mut names: Vec<_> = weighted.iter_mut().filter(|name| name.issuer() == issuer).collect();
        fill(&mut names, issuer_cap, single_name);
    }
}

/// Divides `total` among the candidates in proportion to excess, with at most `single_name` each; returns the common denominator.
fn fill(names: &mut [&mut Weighted<'_>], total: u128, single_name: u128) -> u128 {
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
            // If every candidate is at the cap, the remaining excess is 0 and any denominator works, so 1 is used.
            let of = excess.max(1);
            for name in names.iter_mut() {
                name.share = if name.full { single_name * of } else { left * name.excess };
                name.of = of;
            }
            return of;
        }
    }
}

/// Rounds to whole parts per million by the largest-remainder method (ties: smaller id), without exceeding a cap.
fn round(weighted: &mut [Weighted<'_>], caps: Caps) {
    let (single_name, issuer_cap) = (units(caps.single_name()), units(caps.issuer()));
    let mut held: BTreeMap<&str, u128> = BTreeMap::new();
    let mut total = 0;
    for name in weighted.iter_mut() {
        name.units = name.share / name.of;
        total += name.units;
        *held.entry(name.issuer()).or_default() += name.units;
    }
    let mut by_remainder: Vec<_> = weighted.iter_mut().collect();
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

fn larger_remainder(a: &Weighted<'_>, b: &Weighted<'_>) -> Ordering {
    (b.remainder() * a.of).cmp(&(a.remainder() * b.of))
}

/// The position of the candidate to drop: the candidate with the smallest weight below the floor. Ties: the lower score, then the greater
/// id.
fn lightest_under_floor(weighted: &[Weighted<'_>], caps: Caps) -> Option<usize> {
    let floor = units(caps.floor());
    let under = weighted.iter().enumerate().rev().filter(|(_, name)| name.units < floor);
    under.min_by_key(|(_, name)| (name.units, name.excess)).map(|(place, _)| place)
}

/// A cap or floor in parts per million. [`Caps`] contains no negative values, so the conversion keeps the value.
fn units(share: Ppm) -> u128 {
    share.0.unsigned_abs().into()
}
