//! The nine limits and their dimensions.

use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::scoring::decimal::{Truncated, truncate_json};
use crate::scoring::{Ppm, named_enum};
use alloc::collections::BTreeMap;
use core::fmt;

named_enum! {
    /// The property that exposures are grouped by; ordered by name.
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
        /// The operator or vendor of oracle feeds.
        OracleVendor = "oracleVendor",
        /// The vault's protocol.
        Protocol = "protocol",
        /// An administrative signer set, multisig, timelock or executor.
        SignerSet = "signerSet",
    }
}

impl Dimension {
    /// The field of `limits` for this dimension.
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

    /// The dimension of a field of `limits`.
    pub fn of_limit_field(field: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dimension| dimension.limit_field() == field)
    }
}

/// The limits of one check: at most one per dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits(BTreeMap<Dimension, Ppm>);

/// Why a member of `limits` is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// Not the name of a limit.
    UnknownField,
    /// Not in (0, 1].
    OutOfRange,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitError::UnknownField => "is not a known limit",
            LimitError::OutOfRange => "must be above 0 and at most 1",
        })
    }
}

impl core::error::Error for LimitError {}

impl Limits {
    /// Adds one member of the request's `limits`: the text of a JSON number in (0, 1]. Its digits are rounded down to parts per
    /// million, the form that is compared and signed.
    ///
    /// Source: methodology, "Check verdict".
    pub fn set(&mut self, field: &str, number: &str) -> Result<(), LimitError> {
        let dimension = Dimension::of_limit_field(field).ok_or(LimitError::UnknownField)?;
        let Truncated { units, is_short } = truncate_json(number, 6).map_err(|_| LimitError::OutOfRange)?;
        let is_positive = !number.starts_with('-') && (units > 0 || is_short);
        let is_above_one = units > Ppm::ONE.0 || (units == Ppm::ONE.0 && is_short);
        if !is_positive || is_above_one {
            return Err(LimitError::OutOfRange);
        }
        self.0.insert(dimension, Ppm(units));
        Ok(())
    }

    /// The limit of a dimension; parts per million in 0..=1 000 000.
    pub fn get(&self, dimension: Dimension) -> Option<Ppm> {
        self.0.get(&dimension).copied()
    }

    /// The dimensions that have a limit.
    pub fn dimensions(&self) -> impl Iterator<Item = Dimension> {
        self.0.keys().copied()
    }

    /// Limits given in parts per million; `None` when one is outside 0 to 1 000 000.
    pub fn from_ppm(limits: impl IntoIterator<Item = (Dimension, Ppm)>) -> Option<Self> {
        let limits: BTreeMap<_, _> = limits.into_iter().collect();
        limits.values().all(|limit| (0..=Ppm::ONE.0).contains(&limit.0)).then_some(Limits(limits))
    }
}

/// `{field: parts per million}` of the limits that are set.
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
    fn a_limit_is_rounded_down_exactly_and_written_under_its_field() {
        for (number, ppm) in [
            ("0.2999999", 299_999),
            ("0.29999999999999999999", 299_999),
            ("0.3", 300_000),
            ("3E-1", 300_000),
            ("0.3333333333333333", 333_333),
            ("0.0000001", 0),
            ("1e-400", 0),
            ("1", 1_000_000),
            ("1.000000000000000000000", 1_000_000),
        ] {
            let mut limits = Limits::default();
            limits.set("maxSharePerAsset", number).unwrap();
            assert_eq!(limits.canonical().to_string(), alloc::format!(r#"{{"maxSharePerAsset":{ppm}}}"#), "{number}");
        }
    }

    #[test]
    fn only_the_nine_fields_and_fractions_above_zero_are_accepted() {
        let mut limits = Limits::default();
        for number in
            ["0", "0e-400", "-0.1", "-1e-400", "-0", "1.000001", "1.00000000000000001", "1e400", "NaN", "inf", ""]
        {
            assert_eq!(limits.set("maxSharePerChain", number), Err(LimitError::OutOfRange), "{number}");
        }
        for field in ["maxShare", "asset", "maxshareperasset", ""] {
            assert_eq!(limits.set(field, "0.5"), Err(LimitError::UnknownField), "{field:?}");
        }
        assert_eq!(limits, Limits::default());
        for dimension in Dimension::ALL {
            assert_eq!(limits.set(dimension.limit_field(), "0.5"), Ok(()));
        }
        assert_eq!(Dimension::ALL.len(), 9);
        assert!(Dimension::ALL.is_sorted_by_key(|dimension| dimension.as_str()));
    }
}
