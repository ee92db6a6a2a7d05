//! The rules of results derived from scores and exposures: a portfolio's verdict, and the list of high-confidence vaults.

use super::{steps, tenths};
use crate::graph::check::NEAR_FROM_TENTHS;
use crate::graph::facts::Trust;
use crate::rules::high_confidence::{HIGH_CONFIDENCE_APR, HIGH_CONFIDENCE_SCORE};
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use serde::Serialize;

/// How a portfolio's exposures are checked against its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRules {
    /// The check, one step per entry.
    pub steps: &'static [&'static str],
    /// Minimum confidence, as a fraction, from which a verified mapping counts as sure; only sure exposures reject a portfolio.
    pub sure_from_confidence: Ppm,
    /// Fraction of its limit from which an exposure is near the limit.
    pub near_from_share: Decimal,
}

impl CheckRules {
    pub(super) fn current() -> Self {
        CheckRules {
            steps: steps::CHECK,
            sure_from_confidence: Trust::MIN_CERTAIN_CONFIDENCE,
            near_from_share: tenths(NEAR_FROM_TENTHS),
        }
    }
}

/// Which vaults are listed with high confidence. All bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HighConfidenceRules {
    /// Minimum score, 0 to 10.
    pub total_score_from: MilliPoints,
    /// Minimum net APR, as a fraction.
    pub apr_net_from: f64,
    /// Maximum net APR, as a fraction.
    pub apr_net_to: f64,
}

impl HighConfidenceRules {
    pub(super) fn current() -> Self {
        HighConfidenceRules {
            total_score_from: HIGH_CONFIDENCE_SCORE,
            apr_net_from: *HIGH_CONFIDENCE_APR.start(),
            apr_net_to: *HIGH_CONFIDENCE_APR.end(),
        }
    }
}
