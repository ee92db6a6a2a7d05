//! Tiers: the three bands of published scores.

use crate::scoring::{MilliPoints, named_enum};

named_enum! {
    /// A risk tier, ordered from the riskiest band to the safest. A null score has a null tier.
    ///
    /// Source: methodology, "Tiers".
    pub enum Tier {
        Edge = "Edge",
        Core = "Core",
        Prime = "Prime",
    }
}

/// The boundary between Edge and Core: 5.00.
pub const CORE_FLOOR: MilliPoints = MilliPoints::saturating(5000);
/// The boundary between Core and Prime: 8.00.
pub const PRIME_FLOOR: MilliPoints = MilliPoints::saturating(8000);
/// The smallest move of a score that is published: 0.05.
pub const SCORE_STEP: i32 = 50;

impl Tier {
    /// The lowest score of the tier.
    pub const fn floor(self) -> MilliPoints {
        match self {
            Tier::Prime => PRIME_FLOOR,
            Tier::Core => CORE_FLOOR,
            Tier::Edge => MilliPoints::ZERO,
        }
    }

    /// The highest score published while a promotion from the tier is pending: one [`SCORE_STEP`] below the floor of the next tier.
    pub const fn ceiling(self) -> MilliPoints {
        match self {
            Tier::Prime => MilliPoints::MAX,
            Tier::Core => PRIME_FLOOR.offset(-SCORE_STEP),
            Tier::Edge => CORE_FLOOR.offset(-SCORE_STEP),
        }
    }
}

/// The tier of a two-decimal score: Prime from 8.00, Core from 5.00, Edge below.
pub const fn tier_of(score: MilliPoints) -> Tier {
    if score.get() >= PRIME_FLOOR.get() {
        Tier::Prime
    } else if score.get() >= CORE_FLOOR.get() {
        Tier::Core
    } else {
        Tier::Edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_on_a_boundary_belongs_to_the_tier_above() {
        let tiers = [4990, 5000, 7990, 8000].map(|milli| tier_of(MilliPoints::saturating(milli)));
        assert_eq!(tiers, [Tier::Edge, Tier::Core, Tier::Core, Tier::Prime]);
    }

    #[test]
    fn a_clamped_score_lies_in_the_tier_it_is_clamped_to() {
        for tier in Tier::ALL {
            assert_eq!((tier_of(tier.floor()), tier_of(tier.ceiling())), (*tier, *tier));
        }
    }
}
