//! `GET /v1/chains`: the chains that have active vaults. The API specification leaves the row's shape open.

use alloc::string::String;
use serde::Serialize;

use super::ids::{ChainId, Namespace};
use crate::wire::time::Timestamp;

/// A chain with totals of its active vaults.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainRow {
    /// EIP-155 id of the chain, or a number from the registry if it has none.
    pub chain_id: ChainId,
    /// Slug of the chain, as paths and filters use it.
    pub slug: String,
    /// Name, for display.
    pub name: String,
    /// Format of the chain's addresses.
    pub namespace: Namespace,
    /// Symbol of the native coin; null if unknown.
    pub native_symbol: Option<String>,
    /// URL of a block explorer, without a trailing slash; null if unknown.
    pub explorer_url: Option<String>,
    /// Number of active vaults.
    pub vault_count: u64,
    /// Number of active vaults that have a published score.
    pub scored_vault_count: u64,
    /// Number of protocols that have an active vault on the chain.
    pub protocol_count: u64,
    /// Supplied value of the active vaults, in USD.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// Instant of the newest sync of any of the active vaults; null before the first.
    pub last_synced_at: Option<Timestamp>,
}
