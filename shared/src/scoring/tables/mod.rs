//! Every number of the methodology, as data: what `/v1/methodology` serves is rendered from here.
//!
//! Nothing elsewhere in [`scoring`](crate::scoring) holds a weight, cap, threshold or cadence of its own; tiers and their
//! floors are in [`rules::tiers`](crate::rules::tiers), dwell times in [`rules::dwell`](crate::rules::dwell), the
//! exponentials in [`decay`](super::decay).

pub mod asset;
pub mod run;
pub mod vault;

pub use asset::*;
pub use vault::*;

use super::MilliPoints;

/// A constant written in milli-points.
const fn mp(milli: i64) -> MilliPoints {
    MilliPoints::saturating(milli)
}

/// A descending ladder: the first step whose bound is reached gives the value.
///
/// The answer is `below` when no bound is reached.
pub(crate) fn at_least<N: PartialOrd + Copy, V: Copy>(reached: N, steps: &[(N, V)], below: V) -> V {
    steps.iter().find(|(bound, _)| reached >= *bound).map_or(below, |(_, value)| *value)
}
