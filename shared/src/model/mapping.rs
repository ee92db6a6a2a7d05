//! What vaults, protocols, assets, markets and feeds have in common: a bridge, a set of signers, an oracle's vendor, a cluster
//! of operators. If it fails, everything that is mapped to it is hit at once.
//!
//! Source: interface, "Graph structures" (references with `verified` and `confidence`) and the limits that group by them.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId};
use crate::scoring::{Ppm, named_enum};

named_enum! {
    /// What is mapped to.
    pub enum MappingType {
        /// A bridge or custody route.
        Bridge = "bridge",
        /// A multisig, timelock or executor that administers.
        SignerSet = "signer_set",
        /// Who runs oracle feeds.
        OracleVendor = "oracle_vendor",
        /// Operators that fail together.
        OperatorCluster = "operator_cluster",
    }
}

named_enum! {
    /// What is mapped.
    pub enum SubjectType {
        /// A vault, by its id.
        Vault = "vault",
        /// A protocol, by its slug.
        Protocol = "protocol",
        /// An asset, by its slug.
        Asset = "asset",
        /// A lending market, by `{chain_id}:{address}`.
        Market = "market",
        /// A feed, by `{chain_id}:{address}`.
        Feed = "feed",
    }
}

named_enum! {
    /// What a set of signers is on chain.
    pub enum SignerForm {
        /// So many of so many keys.
        Multisig = "multisig",
        /// A contract that delays what it was told.
        Timelock = "timelock",
        /// The same for payloads that a vote approved.
        PayloadsController = "payloads_controller",
        /// A contract that carries out what was decided elsewhere.
        Executor = "executor",
    }
}

/// Who administers a market. An additive part of its detail.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketSignerSet {
    /// The mapping's id.
    pub id: String,
    /// Name, for display; null if unknown.
    pub name: Option<String>,
    /// What it is on chain.
    pub form: SignerForm,
    /// Where it stands.
    pub chain_id: ChainId,
    /// Address of the contract.
    pub address: Address,
    /// Keys that must sign; null where that was not read, and for what has no keys.
    pub threshold: Option<u32>,
    /// Keys there are; null likewise.
    pub owner_count: Option<u32>,
    /// How long a change waits; null where that is not known.
    pub delay_seconds: Option<u64>,
    /// What it may do, in its source's words.
    pub roles: Vec<String>,
    /// Whether a source says so; a provisional mapping is false.
    pub verified: bool,
    /// How sure the mapping is, from 0 to 1.
    pub confidence: Ppm,
    /// How the market was found to belong to it; null where the mapping names it outright.
    pub reason: Option<String>,
    /// Whose word it is.
    pub source: String,
}
