//! `score_provenance`: everything that a vault's score was computed from, so that clients can recompute it.

mod evidence;
mod inputs;

pub use evidence::{
    AccountOverride, CallMethod, ChainCall, ChainEvidence, MAX_CALL_GAS, MAX_OVERRIDDEN_ACCOUNTS, MAX_OVERRIDDEN_WORDS,
    MAX_OVERRIDING_CODE,
};
pub use inputs::*;

use super::number::{Decimal, MilliPoints, SumUnits};
use super::vault::{Cap, Flag, RequiredInput, VaultInput, VaultOutcome, Vectors};
use super::{METHODOLOGY_VERSION, tables};
use crate::rules::dwell::Dwell;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

/// A vector of the vault score and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightedVector {
    /// The vector, 0 to 10, rounded to two decimals; null where it cannot be computed.
    pub score: Option<MilliPoints>,
    /// The weight as a fraction; the four weights sum to 1.
    #[cfg_attr(feature = "schema", schemars(with = "Decimal"))]
    #[serde(serialize_with = "fraction")]
    pub weight: i64,
}

/// The four vectors of a vault's score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RiskVectors {
    /// The assets that the vault holds or lends against.
    pub asset: WeightedVector,
    /// The protocol that the vault runs on.
    pub platform: WeightedVector,
    /// Who can change the vault, how fast, and how depositors exit.
    pub control: WeightedVector,
    /// The vault's age, incidents and stability.
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

/// The provenance of a vault's score.
///
/// Source: methodology, "What is published on the vault detail".
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoreProvenance {
    /// Version of the methodology that computed the score.
    pub methodology_version: &'static str,
    /// Id of the score run that computed the score.
    pub score_run_id: String,
    /// The score computed by the run, 0 to 10; null if the vault is unscored. The published `total_score` differs during a dwell, or after a
    /// move that is too small to publish.
    pub raw_score: Option<MilliPoints>,
    /// The exact weighted sum of the vectors, in points; null if the vault is unscored.
    pub weighted_sum: Option<SumUnits>,
    /// The pending tier change; null if no change is pending.
    pub dwell: Option<Dwell>,
    /// Every cap that applied, binding or not, in table order.
    pub caps: Vec<Cap>,
    /// Informational flags, which do not affect the score.
    pub flags: Vec<Flag>,
    /// Every input of the score.
    pub inputs: Inputs,
}

/// How the vault's score was computed: the rules that applied, every input, and the required inputs that were missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ScoreProvenance"))]
pub struct PublishedProvenance<'a> {
    /// The provenance.
    #[serde(flatten)]
    pub provenance: ScoreProvenance,
    /// Required inputs that are unknown; the vault is unscored if there are any.
    pub missing: &'a [RequiredInput],
}

impl ScoreProvenance {
    /// The provenance of one vault in one run. `observations` holds the source and time of each input.
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
