//! The sixteen dimensions of an asset's review.

use super::AssetCategory;
use crate::scoring::{MilliPoints, named_enum, tables};
use serde::{Serialize, Serializer};

named_enum! {
    /// A dimension of an asset's risk, scored from 0 (worst) to 10 (best).
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

/// The value of each dimension, if it has one. Serialises as an object with all sixteen keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimensions([Option<MilliPoints>; 16]);

impl Dimensions {
    pub fn get(&self, dimension: Dimension) -> Option<MilliPoints> {
        self.0.get(dimension as usize).copied().flatten()
    }

    pub fn set(&mut self, dimension: Dimension, value: Option<MilliPoints>) {
        if let Some(slot) = self.0.get_mut(dimension as usize) {
            *slot = value;
        }
    }

    /// A copy that keeps only the dimensions to which `category` gives a weight.
    pub fn applicable_to(&self, category: AssetCategory) -> Dimensions {
        let weighted = tables::weights(category).iter();
        weighted.filter_map(|(dimension, _)| Some((*dimension, self.get(*dimension)?))).collect()
    }

    /// All sixteen dimensions with their values, in the order of [`Dimension::ALL`].
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
