//! The chain overlay: lowers the score of an asset on a young or centralised chain.

use super::AssetFlag;
use crate::scoring::number::rhe;
use crate::scoring::{MilliPoints, Ppm, named_enum, tables};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

named_enum! {
    /// One of a chain profile's sub-scores, 0 to 10; 10 is best for all four.
    pub enum ChainSubScore {
        BridgeCentralization = "bridge_centralization",
        SequencerCentralization = "sequencer_centralization",
        ValidatorSetSizeScore = "validator_set_size_score",
        ChainAgeScore = "chain_age_score",
    }
}

/// The four sub-scores in the order of [`ChainSubScore::ALL`]; null where there is no evidence.
pub type ChainSubScores = [Option<MilliPoints>; 4];

/// The multiplier of a chain in parts per million: 850,000 if all sub-scores are 0, 1,000,000 if all are 10.
pub fn multiplier_ppm(profile: &ChainSubScores) -> u128 {
    let total: u128 = profile.iter().map(|value| value.unwrap_or(tables::MISSING_EVIDENCE).wide()).sum();
    let (gain, per) = tables::CHAIN_GAIN;
    tables::CHAIN_FLOOR_PPM + rhe(total * gain, per)
}

/// The flags for missing sub-scores of the profile.
pub(super) fn flags(profile: &ChainSubScores) -> Vec<AssetFlag> {
    if is_unprofiled(profile) {
        return alloc::vec![AssetFlag::ChainUnprofiled];
    }
    let named = ChainSubScore::ALL.iter().zip(profile);
    named.filter(|(_, value)| value.is_none()).map(|(name, _)| AssetFlag::MissingChainEvidence(*name)).collect()
}

fn is_unprofiled(profile: &ChainSubScores) -> bool {
    profile.iter().all(Option::is_none)
}

/// The chain overlay of an asset. Sub-scores range from 0 (worst) to 10 (best); null means that there is no evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainOverlay {
    /// Factor by which the running score is multiplied.
    pub multiplier: Ppm,
    /// Sub-score for the number of parties that can move the bridge's funds.
    pub bridge_centralization: Option<MilliPoints>,
    /// Sub-score for the number of parties that order transactions.
    pub sequencer_centralization: Option<MilliPoints>,
    /// Sub-score for the size of the validator set.
    pub validator_set_size_score: Option<MilliPoints>,
    /// Sub-score for the age of the chain.
    pub chain_age_score: Option<MilliPoints>,
    /// The reviewer's reason for the sub-scores; null if none is given.
    pub rationale: Option<String>,
}

/// The published overlay; `None` if the chain has no profile, or if all its sub-scores are 10.
pub fn chain_overlay(profile: &ChainSubScores, rationale: Option<&str>) -> Option<ChainOverlay> {
    let multiplier = multiplier_ppm(profile);
    if is_unprofiled(profile) || multiplier == 1_000_000 {
        return None;
    }
    let [bridge_centralization, sequencer_centralization, validator_set_size_score, chain_age_score] = *profile;
    Some(ChainOverlay {
        multiplier: Ppm(i64::try_from(multiplier).unwrap_or(i64::MAX)),
        bridge_centralization,
        sequencer_centralization,
        validator_set_size_score,
        chain_age_score,
        rationale: rationale.map(String::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEST: Option<MilliPoints> = Some(MilliPoints::MAX);

    #[test]
    fn a_settlement_layer_and_an_unprofiled_chain_publish_no_overlay() {
        assert_eq!(chain_overlay(&[BEST; 4], None), None);
        assert_eq!(chain_overlay(&[None; 4], None), None);
        assert_eq!(multiplier_ppm(&[None; 4]), 887_500);
        assert_eq!(multiplier_ppm(&[Some(MilliPoints::ZERO); 4]), 850_000);
    }

    #[test]
    fn a_partial_profile_is_published_with_nulls() {
        let overlay = chain_overlay(&[BEST, None, BEST, BEST], Some("one sequencer")).unwrap();
        let json = serde_json::to_string(&overlay).unwrap();
        assert_eq!(
            json,
            r#"{"multiplier":0.971875,"bridge_centralization":10,"sequencer_centralization":null,"validator_set_size_score":10,"chain_age_score":10,"rationale":"one sequencer"}"#
        );
    }
}
