//! `score_provenance`: what a vault's score was made of, so that anyone can make it again.

mod inputs;

pub use inputs::*;

use super::number::{Decimal, MilliPoints, SumUnits};
use super::vault::{Cap, Flag, RequiredInput, VaultInput, VaultOutcome, Vectors};
use super::{METHODOLOGY_VERSION, tables};
use crate::rules::dwell::Dwell;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

/// One vector and how much it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightedVector {
    /// Two decimals; null where it cannot be computed.
    pub score: Option<MilliPoints>,
    /// As a fraction; the four sum to 1.
    #[cfg_attr(feature = "schema", schemars(with = "Decimal"))]
    #[serde(serialize_with = "fraction")]
    pub weight: i64,
}

/// The four vectors behind a vault's score.
///
/// Source: interface, "Vault detail", `risk_vectors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RiskVectors {
    /// What the vault holds or lends against.
    pub asset: WeightedVector,
    /// The protocol it runs on.
    pub platform: WeightedVector,
    /// Who can change it, and how fast.
    pub control: WeightedVector,
    /// What has happened to it.
    pub history: WeightedVector,
}

impl From<Vectors> for RiskVectors {
    fn from(vectors: Vectors) -> Self {
        let [asset, platform, control, history] = tables::VECTOR_WEIGHTS;
        let weighted = |score, weight| WeightedVector { score, weight };
        RiskVectors {
            asset: weighted(vectors.asset, asset),
            platform: weighted(vectors.platform, platform),
            control: weighted(Some(vectors.control), control),
            history: weighted(Some(vectors.history), history),
        }
    }
}

/// The published provenance of a vault's score.
///
/// Source: methodology, "What is published on the vault detail"; interface, "Vault detail", score provenance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoreProvenance {
    /// The rules that made it.
    pub methodology_version: &'static str,
    /// The run that made it.
    pub score_run_id: String,
    /// What the run arrived at; `total_score` is what is published of it.
    pub raw_score: Option<MilliPoints>,
    /// The vectors' weighted sum, unrounded.
    pub weighted_sum: Option<SumUnits>,
    /// A tier that is on its way.
    pub dwell: Option<Dwell>,
    /// Every cap that applied, binding or not, in table order.
    pub caps: Vec<Cap>,
    /// Informational.
    pub flags: Vec<Flag>,
    /// Everything the score depends on.
    pub inputs: Inputs,
}

/// Why the vault has its score: the rules that applied, every input, and which required inputs were missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ScoreProvenance"))]
pub struct PublishedProvenance<'a> {
    /// The provenance.
    #[serde(flatten)]
    pub provenance: ScoreProvenance,
    /// Required inputs for want of which the vault is unscored.
    pub missing: &'a [RequiredInput],
}

impl ScoreProvenance {
    /// The provenance of one vault in one run. `observations` says where each input came from, and when.
    pub fn new(
        score_run_id: &str,
        input: &VaultInput,
        outcome: &VaultOutcome,
        dwell: Option<Dwell>,
        observations: &Observations,
    ) -> Self {
        ScoreProvenance {
            methodology_version: METHODOLOGY_VERSION,
            score_run_id: score_run_id.into(),
            raw_score: outcome.score,
            weighted_sum: outcome.weighted_sum,
            dwell,
            caps: outcome.caps.clone(),
            flags: outcome.flags.clone(),
            inputs: Inputs::new(input, observations),
        }
    }
}

fn fraction<S: Serializer>(percent: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    Decimal { units: *percent, scale: 2 }.serialize(serializer)
}
