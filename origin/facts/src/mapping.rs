//! Mappings: bridges, signer sets, oracle vendors and operator clusters, each with the subjects mapped to it.

use super::Share;
use super::fact::observations;
use rds_shared::model::mapping::{MappingType, SignerForm, SubjectType};
use serde::{Deserialize, Serialize};

observations! {
    /// One bridge, signer set, oracle vendor or operator cluster. A later observation replaces it as a whole, including its subjects.
    Mapping in "mapping" by [mapping_type, mapping_id] {
        /// What is mapped.
        mapping_type: MappingType,
        /// Unique within the type.
        mapping_id: String,
        /// Display name.
        name: Option<String>,
        /// False once the bridge, signer set, vendor or cluster no longer exists.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Whether a source confirms the mapping; if false, the mapping is provisional.
        verified: bool,
        /// Confidence of the mapping, as a fraction.
        confidence: Share,
        /// The signers; only for a mapping of type `signer_set`.
        signers: Option<Signers>,
        /// The bridge; only for a mapping of type `bridge`.
        bridge: Option<Bridge>,
        /// Names of the operators; only for a mapping of type `operator_cluster`.
        #[serde(default)]
        operators: Vec<String>,
        /// The vaults, protocols, assets, markets or feeds that are mapped to the bridge, signer set, vendor or cluster.
        #[serde(default)]
        applies_to: Vec<Subject>,
    }
}

/// A vault, protocol, asset, market or feed to which a mapping applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Kind of subject.
    #[serde(rename = "type")]
    pub subject_type: SubjectType,
    /// Id of the subject; for a market or a feed `{chain_id}:{address}`.
    pub id: String,
    /// Overrides `verified` of the mapping for this subject.
    pub verified: Option<bool>,
    /// Overrides `confidence` of the mapping for this subject, as a fraction.
    pub confidence: Option<Share>,
    /// How the mapping was established.
    pub reason: Option<String>,
}

/// The signers of a set. A field that was not read is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Signers {
    /// Kind of contract.
    pub form: SignerForm,
    /// Id of the chain; a known chain.
    pub chain_id: i64,
    /// Contract of the signer set itself.
    pub address: String,
    /// Number of keys that must sign.
    pub threshold: Option<u32>,
    /// Addresses of the keys.
    pub owners: Option<Vec<String>>,
    /// Time between the decision on a change and its execution.
    pub delay_seconds: Option<i64>,
    /// Address that can replace the contract's code.
    pub proxy_admin: Option<String>,
    /// Roles of the set, as the source names them.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Who may call the contract's functions.
    #[serde(default)]
    pub permissions: Vec<Permission>,
}

/// Functions that certain addresses may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// Name of the permission in the contract.
    pub modifier: String,
    /// Names of the functions.
    pub functions: Vec<String>,
    /// Addresses with this permission.
    pub holders: Vec<String>,
}

/// A bridge system, or one token of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    /// Slug of the bridge system.
    pub system: String,
    /// Symbol of the bridged token.
    pub symbol: Option<String>,
    /// Contracts of the bridge, one per chain.
    pub ends: Vec<BridgeEnd>,
}

/// The contract of a bridge on one chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BridgeEnd {
    /// The source's name of the chain.
    pub chain: String,
    /// The chain's id, if the registry has one.
    pub chain_id: Option<i64>,
    /// Family of the chain, as the source names it, for example `evm`.
    pub protocol: Option<String>,
    /// The bridge's contract, in the chain's own address format.
    pub address: String,
    /// Symbol of the token on this chain.
    pub symbol: Option<String>,
    /// Decimals of the token on this chain.
    pub decimals: Option<u32>,
    /// What the contract does with the token, as the source names it.
    pub standard: Option<String>,
    /// The token that the contract locks, or mints and burns.
    pub collateral: Option<String>,
}
