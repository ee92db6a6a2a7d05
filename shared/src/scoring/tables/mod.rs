//! Every number of the methodology, as data; `/v1/methodology` is rendered from here.
//!
//! No other module of [`scoring`](crate::scoring) defines a weight, cap, threshold or cadence, except the exponentials in
//! [`decay`](super::decay). Tiers and their floors are in [`rules::tiers`](crate::rules::tiers), dwell times in
//! [`rules::dwell`](crate::rules::dwell).

pub mod asset;
pub mod rubric;
pub mod sanity_checks;
pub mod vault;

pub use asset::*;
pub use vault::*;

use super::MilliPoints;

/// A constant in milli-points.
const fn mp(milli: i64) -> MilliPoints {
    MilliPoints::saturating(milli)
}

/// The value of the first step whose bound is at most `reached`; `below` if no step is reached. `steps` have descending bounds.
pub(crate) fn at_least<N: PartialOrd + Copy, V: Copy>(reached: N, steps: &[(N, V)], below: V) -> V {
    steps.iter().find(|(bound, _)| reached >= *bound).map_or(below, |(_, value)| *value)
}
