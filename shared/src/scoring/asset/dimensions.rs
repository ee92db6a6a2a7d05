//! The sixteen questions asked of an asset.

use super::AssetCategory;
use crate::scoring::{MilliPoints, named_enum, tables};
use serde::{Serialize, Serializer};

named_enum! {
    /// One question asked of an asset, answered from 0 to 10.
    ///
    /// Source: interface, "Enriched asset", `dimensions`.
    pub enum Dimension {
        PegStability = "peg_stability",
        IssuerCustody = "issuer_custody",
        Redeemability = "redeemability",
        ReserveTransparency = "reserve_transparency",
        GovernanceControls = "governance_controls",
        ProtocolSecurity = "protocol_security",
        OperatorQuality = "operator_quality",
        BridgeMechanism = "bridge_mechanism",
        DependencyDepth = "dependency_depth",
        Liquidity = "liquidity",
        Volatility = "volatility",
        CreditQuality = "credit_quality",
        DefaultRate = "default_rate",
        RecoveryRate = "recovery_rate",
        SubadvisorConcentration = "subadvisor_concentration",
        RedemptionTerms = "redemption_terms",
    }
}

/// The answers, each a value or null. Serialises as an object of all sixteen keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimensions([Option<MilliPoints>; 16]);

impl Dimensions {
    /// The answer to one question.
    pub fn get(&self, dimension: Dimension) -> Option<MilliPoints> {
        self.0.get(dimension as usize).copied().flatten()
    }

    /// Replaces one answer.
    pub fn set(&mut self, dimension: Dimension, value: Option<MilliPoints>) {
        if let Some(slot) = self.0.get_mut(dimension as usize) {
            *slot = value;
        }
    }

    /// The answers to what is asked of `category`: all others are null, as they do not apply to it.
    pub fn asked_of(&self, category: AssetCategory) -> Dimensions {
        let asked = tables::weights(category).iter();
        asked.filter_map(|(dimension, _)| Some((*dimension, self.get(*dimension)?))).collect()
    }

    /// All sixteen, in the interface's order.
    pub fn iter(&self) -> impl Iterator<Item = (Dimension, Option<MilliPoints>)> {
        Dimension::ALL.iter().map(|dimension| (*dimension, self.get(*dimension)))
    }
}

impl FromIterator<(Dimension, MilliPoints)> for Dimensions {
    fn from_iter<I: IntoIterator<Item = (Dimension, MilliPoints)>>(values: I) -> Self {
        let mut dimensions = Dimensions::default();
        for (dimension, value) in values {
            dimensions.set(dimension, Some(value));
        }
        dimensions
    }
}

impl Serialize for Dimensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
