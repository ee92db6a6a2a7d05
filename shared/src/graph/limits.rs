//! The nine limits, and what each groups a portfolio's exposure by.

use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::scoring::decimal::truncate_float;
use crate::scoring::{Ppm, named_enum};
use alloc::collections::BTreeMap;
use core::fmt;

named_enum! {
    /// What an exposure is grouped by; ordered by name.
    ///
    /// Source: interface, "Decisioning" (supported limit fields).
    #[cfg_attr(feature = "schema", schemars(rename = "ExposureDimension"))]
    pub enum Dimension {
        /// The underlying collateral asset.
        Asset = "asset",
        /// A bridge or custody route.
        Bridge = "bridge",
        /// The vault's chain.
        Chain = "chain",
        /// A cluster of operators whose failures are correlated.
        Cluster = "cluster",
        /// The vault's curator.
        Curator = "curator",
        /// One oracle feed.
        Oracle = "oracle",
        /// The operator or vendor that feeds share.
        OracleVendor = "oracleVendor",
        /// The protocol.
        Protocol = "protocol",
        /// An administrative signer set, multisig, timelock or executor.
        SignerSet = "signerSet",
    }
}

impl Dimension {
    /// The field of `limits` that bounds it.
    pub const fn limit_field(self) -> &'static str {
        match self {
            Dimension::Asset => "maxSharePerAsset",
            Dimension::Bridge => "maxSharePerBridge",
            Dimension::Chain => "maxSharePerChain",
            Dimension::Cluster => "maxSharePerCluster",
            Dimension::Curator => "maxSharePerCurator",
            Dimension::Oracle => "maxSharePerOracle",
            Dimension::OracleVendor => "maxSharePerOracleVendor",
            Dimension::Protocol => "maxSharePerProtocol",
            Dimension::SignerSet => "maxSharePerSignerSet",
        }
    }

    /// The dimension that a field of `limits` bounds.
    pub fn of_limit_field(field: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dimension| dimension.limit_field() == field)
    }
}

/// The limits of one check: at most one a dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits(BTreeMap<Dimension, Ppm>);

/// Why a member of `limits` is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// No limit has this name.
    UnknownField,
    /// Not in (0, 1].
    OutOfRange,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitError::UnknownField => "is not a limit",
            LimitError::OutOfRange => "must be above 0 and at most 1",
        })
    }
}

impl core::error::Error for LimitError {}

impl Limits {
    /// Adds one member of the request's `limits`: a fraction in (0, 1], rounded down to parts per million.
    pub fn set(&mut self, field: &str, fraction: f64) -> Result<(), LimitError> {
        let dimension = Dimension::of_limit_field(field).ok_or(LimitError::UnknownField)?;
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(LimitError::OutOfRange);
        }
        let limit = truncate_float(fraction, 6).map_err(|_| LimitError::OutOfRange)?;
        self.0.insert(dimension, Ppm(limit));
        Ok(())
    }

    /// The limit of a dimension; parts per million in 0..=1 000 000.
    pub fn get(&self, dimension: Dimension) -> Option<Ppm> {
        self.0.get(&dimension).copied()
    }

    /// The dimensions that are limited.
    pub fn dimensions(&self) -> impl Iterator<Item = Dimension> {
        self.0.keys().copied()
    }

    /// Limits that are in parts per million already; null when one is outside 0 to 1 000 000.
    pub fn from_ppm(limits: impl IntoIterator<Item = (Dimension, Ppm)>) -> Option<Self> {
        let limits: BTreeMap<_, _> = limits.into_iter().collect();
        limits.values().all(|limit| (0..=Ppm::ONE.0).contains(&limit.0)).then_some(Limits(limits))
    }
}

/// `{field: parts per million}`, of the limits that were given.
impl Canonicalize for Limits {
    fn canonical(&self) -> Canonical {
        Canonical::object(self.0.iter().map(|(dimension, limit)| (dimension.limit_field(), limit.0.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_limit_is_rounded_down_and_signed_by_its_field() {
        let mut limits = Limits::default();
        for (field, fraction) in [("maxSharePerAsset", 0.299_999_9), ("maxSharePerOracleVendor", 1.0)] {
            limits.set(field, fraction).unwrap();
        }
        assert_eq!(limits.canonical().to_string(), r#"{"maxSharePerAsset":299999,"maxSharePerOracleVendor":1000000}"#);
    }

    #[test]
    fn only_the_nine_fields_and_only_fractions_are_limits() {
        let mut limits = Limits::default();
        for fraction in [0.0, -0.1, 1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(limits.set("maxSharePerChain", fraction), Err(LimitError::OutOfRange), "{fraction}");
        }
        for field in ["maxShare", "asset", "maxshareperasset", ""] {
            assert_eq!(limits.set(field, 0.5), Err(LimitError::UnknownField), "{field:?}");
        }
        assert_eq!(limits, Limits::default());
        for dimension in Dimension::ALL {
            assert_eq!(limits.set(dimension.limit_field(), 0.5), Ok(()));
        }
        assert_eq!(Dimension::ALL.len(), 9);
        assert!(Dimension::ALL.is_sorted_by_key(|dimension| dimension.as_str()));
    }
}
