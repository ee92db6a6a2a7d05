//! Curators: the list row, the detail and their events.
//!
//! Source: interface, "Curator and protocol". The shape of `chainDistribution[]` is ours.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::event::EventRow;
use super::ids::ChainId;
use super::vault::VaultRow;
use crate::wire::time::Timestamp;

/// A curator in the list, and `curator` of the detail.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CuratorRow {
    /// Id of the curator.
    pub id: String,
    /// Name, for display.
    pub name: String,
    /// Who they are, in a sentence.
    pub one_liner: Option<String>,
    /// URL of the logo; null if unknown.
    pub logo_url: Option<String>,
    /// URL of the website; null if unknown.
    pub website: Option<String>,
    /// Number of active vaults.
    pub vault_count: u64,
    /// Their supplied value in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_total: f64,
    /// Mean net rate of the vaults that report one, weighted by TVL; null when none does.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub avg_apr: Option<f64>,
    /// When this service first listed the curator.
    pub created_at: Timestamp,
}

/// `data` of `GET /v1/curators/{id}`.
// `V` is the vault row, or its encoded bytes where the host splices them in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CuratorPage<V = VaultRow> {
    /// Who it is.
    pub curator: CuratorRow,
    /// The asked page of its vaults, largest first.
    pub vaults: Vec<V>,
    /// How many vaults there are on all pages.
    pub vault_total: u64,
    /// Where its vaults are, largest value first.
    pub chain_distribution: Vec<ChainShare>,
    /// The newest events of its vaults.
    pub events: Vec<EventRow>,
    /// How many events there are in all.
    pub events_total: u64,
}

/// A curator's presence on one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainShare {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Chain, for display.
    pub chain_name: String,
    /// Active vaults there.
    pub vault_count: u64,
    /// Their supplied value.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// That value over the curator's total, 0 to 1; null when the total is 0.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub share: Option<f64>,
}

/// `data` of `GET /v1/curators/{id}/events`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CuratorEvents {
    /// The asked slice, newest first.
    pub events: Vec<EventRow>,
    /// How many there are in all.
    pub total: u64,
}
