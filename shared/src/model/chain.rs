//! `GET /v1/chains`: the chains that vaults live on.
//!
//! The interface names the route and leaves its row open; this is what a client needs to pick a filter and link out.

use alloc::string::String;
use serde::Serialize;

use super::ids::{ChainId, Namespace};
use crate::wire::time::Timestamp;

/// One chain with its active vaults.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainRow {
    /// EIP-155 id, or the registry's number where there is none.
    pub chain_id: ChainId,
    /// The word that paths and filters take.
    pub slug: String,
    /// Name, for display.
    pub name: String,
    /// How its addresses are written.
    pub namespace: Namespace,
    /// Symbol of the native coin.
    pub native_symbol: Option<String>,
    /// Block explorer, without a trailing slash.
    pub explorer_url: Option<String>,
    /// Number of active vaults.
    pub vault_count: u64,
    /// How many of them are scored.
    pub scored_vault_count: u64,
    /// Protocols with an active vault here.
    pub protocol_count: u64,
    /// Their supplied value.
    #[serde(serialize_with = "crate::model::money::usd")]
    pub tvl_usd: f64,
    /// The newest sync of any of them.
    pub last_synced_at: Option<Timestamp>,
}
