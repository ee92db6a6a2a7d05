//! What is derived from scores and exposures: a portfolio's verdict, and the curated list of vaults.

use super::{steps, tenths};
use crate::graph::check::NEAR_FROM_TENTHS;
use crate::graph::facts::Trust;
use crate::rules::yields::{HIGH_CONFIDENCE_APR, HIGH_CONFIDENCE_SCORE};
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use serde::Serialize;

/// What a portfolio's exposures come to against its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRules {
    /// What to do.
    pub steps: &'static [&'static str],
    /// The least confidence of a verified mapping on which alone a portfolio is rejected.
    pub sure_from_confidence: Ppm,
    /// The part of its limit from which an exposure is near it.
    pub near_from_share: Decimal,
}

impl CheckRules {
    pub(super) fn current() -> Self {
        CheckRules {
            steps: steps::CHECK,
            sure_from_confidence: Trust::SURE_FROM,
            near_from_share: tenths(NEAR_FROM_TENTHS),
        }
    }
}

/// Which vaults are listed with high confidence: bounds that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HighConfidenceRules {
    /// The least score, 0 to 10.
    pub total_score_from: MilliPoints,
    /// The least net APR, as a fraction.
    pub apr_net_from: f64,
    /// The greatest net APR, as a fraction.
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
