//! Mappings: a bridge, signer set, oracle vendor or operator cluster, and its subjects: the vaults, protocols, assets, markets and feeds
//! that depend on it. A failure of the bridge, signers, vendor or operators affects all subjects at once.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId};
use crate::scoring::{Ppm, named_enum};

named_enum! {
    /// Type of a mapping.
    pub enum MappingType {
        /// A bridge or custody route.
        Bridge = "bridge",
        /// A multisig, timelock or executor that administers contracts.
        SignerSet = "signer_set",
        /// An operator of price feeds.
        OracleVendor = "oracle_vendor",
        /// A group of operators that are likely to fail together.
        OperatorCluster = "operator_cluster",
    }
}

named_enum! {
    /// Kind of subject that a mapping applies to.
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
    /// Kind of contract behind a signer set.
    pub enum SignerForm {
        /// A wallet that needs the signatures of several keys, for example three of five.
        Multisig = "multisig",
        /// A contract that executes a change only after a delay.
        Timelock = "timelock",
        /// A timelock for payloads that a governance vote approved.
        PayloadsController = "payloads_controller",
        /// A contract that executes decisions made elsewhere, for example by a vote.
        Executor = "executor",
    }
}

/// A signer set that administers a market.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarketSignerSet {
    /// Id of the mapping.
    pub id: String,
    /// Name, for display; null if unknown.
    pub name: Option<String>,
    /// Kind of contract behind the signer set.
    pub form: SignerForm,
    /// Number of the contract's chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Address of the signer set's contract.
    pub address: Address,
    /// Number of keys that must sign; null if it was not read or the contract has no keys.
    pub threshold: Option<u32>,
    /// Number of keys in the set; null if they were not read or the contract has no keys.
    pub owner_count: Option<u32>,
    /// Delay before a change takes effect, in seconds; null if unknown.
    pub delay_seconds: Option<u64>,
    /// Roles of the signer set, as the source names them.
    pub roles: Vec<String>,
    /// True if a source confirms that the signer set administers the market; false if the mapping is provisional.
    pub verified: bool,
    /// Confidence in the mapping, as a fraction from 0 to 1.
    pub confidence: Ppm,
    /// How the market was matched to the signer set; null if the mapping names the market directly.
    pub reason: Option<String>,
    /// Name of the source of the mapping.
    pub source: String,
}
