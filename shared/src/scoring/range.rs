//! The range within which a score could lie, given what is not known about its subject.

use super::{MilliPoints, Ppm, named_enum};

/// The lowest and the highest score that further evidence could give, and how much of the evidence is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreRange {
    /// The score if everything unknown turned out as bad as possible.
    pub lowest: MilliPoints,
    /// The score if everything unknown turned out as good as possible.
    pub highest: MilliPoints,
    /// Part of the score's weight for which there is evidence, as a fraction from 0 to 1.
    pub coverage: Ppm,
}

impl ScoreRange {
    /// The range of a subject of which nothing is known.
    pub const UNKNOWN: Self = ScoreRange { lowest: MilliPoints::ZERO, highest: MilliPoints::MAX, coverage: Ppm(0) };

    /// The range of a score that no further evidence can change.
    pub const fn exact(score: MilliPoints) -> Self {
        ScoreRange { lowest: score, highest: score, coverage: Ppm::ONE }
    }
}

named_enum! {
    /// What a vault's score rests on.
    pub enum ScoreBasis {
        /// Every input is known.
        Complete = "complete",
        /// The exposures are known; some other input is unknown and counts conservatively.
        Partial = "partial",
        /// The members of the exposures are known, but not their shares: the score assumes that everything is in the weakest member.
        Bound = "bound",
        /// The exposures are unknown and count 3.00, which says nothing about the vault.
        Assumed = "assumed",
        /// A required input is unknown, so there is no score.
        Missing = "missing",
    }
}
