//! Curators: the list row, the detail and their events. The API specification leaves the shape of `chainDistribution[]` open.

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
    /// Description of the curator in one sentence; null if there is none.
    pub one_liner: Option<String>,
    /// URL of the logo; null if unknown.
    pub logo_url: Option<String>,
    /// URL of the website; null if unknown.
    pub website: Option<String>,
    /// Number of active vaults.
    pub vault_count: u64,
    /// Supplied value of the active vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_total: f64,
    /// Mean of `apr_net` over the active vaults that report it, weighted by TVL, as a fraction; null if no vault with a value reports it.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub avg_apr: Option<f64>,
    /// Instant at which this service first listed the curator.
    pub created_at: Timestamp,
}

/// `data` of `GET /v1/curators/{id}`.
// `V` is the vault row, or its encoded bytes where the host splices them in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CuratorPage<V = VaultRow> {
    /// The curator's list row.
    pub curator: CuratorRow,
    /// The requested page of the curator's active vaults, largest first.
    pub vaults: Vec<V>,
    /// Number of the curator's active vaults on all pages.
    pub vault_total: u64,
    /// The curator's active vaults by chain, largest value first.
    pub chain_distribution: Vec<ChainShare>,
    /// The newest events that affect the curator's vaults, at most 5.
    pub events: Vec<EventRow>,
    /// Number of all events that affect the curator's vaults.
    pub events_total: u64,
}

/// A curator's active vaults on one chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainShare {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Number of the curator's active vaults on the chain.
    pub vault_count: u64,
    /// Supplied value of the curator's active vaults on the chain, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// `tvl_usd` divided by the curator's total, 0 to 1; null if the total is 0.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub share: Option<f64>,
}

/// `data` of `GET /v1/curators/{id}/events`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CuratorEvents {
    /// The requested slice of the events, newest first.
    pub events: Vec<EventRow>,
    /// Number of all events that affect the curator's vaults.
    pub total: u64,
}
