//! Reference rates of deposit assets as the API serves them. The rules are in [`crate::rules::reference_rates`].

use crate::model::ids::{ChainId, VaultId};
use crate::model::money::Cents;
use crate::rules::reference_rates::{LeftOut, METHODOLOGY, Rate, Reference};
use crate::scoring::{MilliPoints, Ppm};
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// The reference rate of a deposit asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferenceRate {
    /// Symbol in upper case; spellings that differ only in case are one symbol.
    pub asset_symbol: String,
    /// Version of the rules by which the rate is computed.
    pub methodology_version: &'static str,
    /// Mean net annual rate of the vaults that count toward the rate, weighted by value, as a fraction rounded half to even to eight
    /// decimals; null if no vault counts.
    pub rate: Option<Rate>,
    /// Total value of the vaults that count, in USD.
    pub tvl_usd: Cents,
    /// Number of vaults that count.
    pub vaults: usize,
    /// The largest vault's share of `tvl_usd`, as a fraction; near 1 the rate is essentially that vault's; null if no vault counts.
    pub largest_share: Option<Ppm>,
    /// Number of active vaults of the asset that do not count.
    pub left_out: usize,
    /// Instant of the oldest reading of a vault that counts; null if no vault counts.
    pub oldest_reading_at: Option<Timestamp>,
    /// Instant of the newest reading of a vault that counts; null if no vault counts.
    pub newest_reading_at: Option<Timestamp>,
}

impl ReferenceRate {
    /// The rate of a symbol. `readings` are the instants at which the vaults that count were read.
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

/// The reference rate of an asset, with the vaults it is computed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferenceRateDetail {
    /// The rate, as in the list.
    #[serde(flatten)]
    pub rate: ReferenceRate,
    /// Vaults that count, largest value first.
    pub constituents: Vec<RateConstituent>,
    /// Active vaults of the asset that do not count, ordered by id, each with the reason.
    pub excluded: Vec<ExcludedVault>,
}

/// A vault that counts toward a reference rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateConstituent {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Id of the protocol; `/v1/protocols` lists them.
    pub protocol_id: String,
    /// Published score of the vault, 0 to 10; null if it is unscored.
    pub total_score: Option<MilliPoints>,
    /// Value of the vault, in USD.
    pub tvl_usd: Cents,
    /// Net annual rate of the vault, as a fraction.
    pub apr_net: Rate,
    /// The vault's share of the total value, as a fraction; shares are rounded one by one and may not add up to exactly 1.
    pub share: Ppm,
    /// Instant at which the vault's value and rate were read.
    pub read_at: Option<Timestamp>,
}

/// An active vault that does not count toward a reference rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExcludedVault {
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Why the vault does not count.
    pub reason: LeftOut,
}
