//! Reference rates of deposit assets as the API serves them.
//!
//! Source: interface, "Authentication", 7, which names the routes; their shapes are ours, and the rules are
//! [`crate::rules::reference_rates`].

use crate::model::ids::{ChainId, VaultId};
use crate::model::money::Cents;
use crate::rules::reference_rates::{LeftOut, METHODOLOGY, Rate, Reference};
use crate::scoring::{MilliPoints, Ppm};
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// The rate of an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferenceRate {
    /// The symbol in upper case: spellings that differ in case only are one.
    pub asset_symbol: String,
    /// The rules it is made by.
    pub methodology_version: &'static str,
    /// Net rate as a fraction, weighted by value, rounded half to even at eight places; null where no vault counts.
    pub rate: Option<Rate>,
    /// What the vaults that count hold together, in USD.
    pub tvl_usd: Cents,
    /// How many vaults count.
    pub vaults: usize,
    /// The part of the largest of them, as a fraction: near one the rate is that vault's.
    pub largest_share: Option<Ppm>,
    /// How many active vaults of the asset do not count.
    pub left_out: usize,
    /// When the oldest reading was made that counts.
    pub oldest_reading_at: Option<Timestamp>,
    /// When the newest was.
    pub newest_reading_at: Option<Timestamp>,
}

impl ReferenceRate {
    /// What the vaults of a symbol add up to.
    pub fn new(
        asset_symbol: String,
        found: Reference,
        left_out: usize,
        readings: impl Iterator<Item = Timestamp> + Clone,
    ) -> Self {
        ReferenceRate {
            asset_symbol,
            methodology_version: METHODOLOGY,
            rate: found.rate,
            tvl_usd: found.tvl,
            vaults: found.vaults,
            largest_share: found.largest_share,
            left_out,
            oldest_reading_at: readings.clone().min(),
            newest_reading_at: readings.max(),
        }
    }
}

/// The rate of an asset with every vault that it is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferenceRateDetail {
    /// The rate, as listed.
    #[serde(flatten)]
    pub rate: ReferenceRate,
    /// Who counts, the largest first.
    pub constituents: Vec<RateConstituent>,
    /// Who does not, by id, and why.
    pub excluded: Vec<ExcludedVault>,
}

/// A vault that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateConstituent {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Its published score.
    pub total_score: Option<MilliPoints>,
    /// Its value.
    pub tvl_usd: Cents,
    /// Its net rate.
    pub apr_net: Rate,
    /// Its part of the whole, as a fraction.
    pub share: Ppm,
    /// When it was read.
    pub read_at: Option<Timestamp>,
}

/// A vault that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExcludedVault {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Reason of the exclusion.
    pub reason: LeftOut,
}
