//! Value types that are read in the units people write and stored in the units of the methodology.

use rds_shared::model::money::{Cents, DecimalUsd};
use rds_shared::scoring::decimal::{from_float, parse_decimal};
use rds_shared::scoring::number::Decimal;
use rds_shared::scoring::vault::Signers;
use rds_shared::scoring::{MilliPoints, Ppm};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A score from 0 to 10 with at most two decimals. Stored in milli-points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Points(pub MilliPoints);

impl Points {
    /// The largest score.
    pub const MAX: u32 = 10;
    /// Maximum number of decimals.
    pub const DECIMALS: u32 = 2;
}

impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        // `to_string` gives the shortest decimal text that parses to the float, so it restores the decimals of the ingest line.
        let hundredths = parse_decimal(&number.to_string(), Points::DECIMALS).map_err(D::Error::custom)?;
        let milli = hundredths.checked_mul(10).and_then(|milli| i32::try_from(milli).ok()).and_then(MilliPoints::new);
        milli.map(Points).ok_or_else(|| D::Error::custom(format_args!("must be between 0 and {}", Points::MAX)))
    }
}

impl Serialize for Points {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.0.get())
    }
}

/// A fraction from 0 to 1, stored in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(pub u32);

impl Share {
    /// The largest fraction.
    pub const MAX: u32 = 1;
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ppm = from_float(f64::deserialize(deserializer)?, 6).map_err(D::Error::custom)?;
        let ppm = u32::try_from(ppm).ok().filter(|ppm| *ppm <= Share::MAX * 1_000_000);
        ppm.map(Share).ok_or_else(|| D::Error::custom(format_args!("must be between 0 and {}", Share::MAX)))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Ppm(self.0.into()).serialize(serializer)
    }
}

/// A percentage from 0 to 100 with at most four decimals, stored in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(pub u32);

impl Percent {
    /// The largest percentage.
    pub const MAX: u32 = 100;
    /// Maximum number of decimals.
    pub const DECIMALS: u32 = 4;

    /// Serialises as parts per million, the unit of the columns.
    pub fn as_ppm<S: Serializer>(percent: &Percent, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(percent.0)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ppm =
            parse_decimal(&f64::deserialize(deserializer)?.to_string(), Percent::DECIMALS).map_err(D::Error::custom)?;
        let ppm = u32::try_from(ppm).ok().filter(|ppm| *ppm <= Percent::MAX * 10_000);
        ppm.map(Percent).ok_or_else(|| D::Error::custom(format_args!("must be between 0 and {}", Percent::MAX)))
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Decimal { units: self.0.into(), scale: 4 }.serialize(serializer)
    }
}

/// Who must sign a change: a keyword, or a threshold and a number of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Signing {
    Word(SigningKeyword),
    Keys(SignerSet),
}

/// Who must sign, if it is not a multisig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SigningKeyword {
    /// Changes are impossible.
    Immutable,
    /// An on-chain vote.
    Dao,
    /// One externally owned key.
    Eoa,
}

/// A multisig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignerSet {
    /// Number of keys that must sign, at least 1.
    pub threshold: u32,
    /// Number of keys, at least the threshold.
    pub owners: u32,
}

impl From<Signing> for Signers {
    fn from(signing: Signing) -> Self {
        match signing {
            Signing::Word(SigningKeyword::Immutable) => Signers::Immutable,
            Signing::Word(SigningKeyword::Dao) => Signers::Dao,
            Signing::Word(SigningKeyword::Eoa) => Signers::Eoa,
            Signing::Keys(SignerSet { threshold, owners }) => Signers::Multisig { threshold, owners },
        }
    }
}

/// An amount in US dollars. Read as a JSON number and rounded half to even to the cent; written as exact decimal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usd(pub Cents);

impl Usd {
    /// The largest amount: one trillion.
    pub const MAX: i64 = 1_000_000_000_000;
}

/// [`Usd::MAX`] in cents.
const MAX_CENTS: i64 = Usd::MAX * 100;

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cents = from_float(f64::deserialize(deserializer)?, 2).map_err(D::Error::custom)?;
        match cents {
            0..=MAX_CENTS => Ok(Usd(Cents(cents))),
            _ => Err(D::Error::custom(format_args!("must be between 0 and {}", Usd::MAX))),
        }
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DecimalUsd(self.0).serialize(serializer)
    }
}
