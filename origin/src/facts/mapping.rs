//! Bridges, sets of signers, oracle vendors and clusters of operators, with everything that is mapped to each.

use super::Share;
use super::fact::observations;
use rds_shared::model::mapping::{MappingType, SignerForm, SubjectType};
use serde::{Deserialize, Serialize};

observations! {
    /// One bridge, set of signers, vendor or cluster. A later observation replaces it whole, with all that is mapped to it.
    Mapping in "mapping" by [mapping_type, mapping_id] {
        /// What it is.
        mapping_type: MappingType,
        /// Its id, unique within the type.
        mapping_id: String,
        /// For display.
        name: Option<String>,
        /// False once it is gone.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Whether a source says what is mapped to it; false is provisional.
        verified: bool,
        /// How sure that is, as a fraction.
        confidence: Share,
        /// Of a set of signers: who signs.
        signers: Option<Signers>,
        /// Of a bridge: its ends.
        bridge: Option<Bridge>,
        /// Of a cluster: its operators, by name.
        #[serde(default)]
        operators: Vec<String>,
        /// Everything that is mapped to it.
        #[serde(default)]
        applies_to: Vec<Subject>,
    }
}

/// One thing that is mapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// What it is.
    #[serde(rename = "type")]
    pub subject_type: SubjectType,
    /// Its id; of a market and a feed `{chain_id}:{address}`.
    pub id: String,
    /// Where this one is less or more certain than the mapping as a whole.
    pub verified: Option<bool>,
    /// The same, as a fraction.
    pub confidence: Option<Share>,
    /// How it was found to belong here.
    pub reason: Option<String>,
}

/// Who signs. What was not read is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signers {
    /// What it is on chain.
    pub form: SignerForm,
    /// Where it stands.
    pub chain_id: i64,
    /// Its contract.
    pub address: String,
    /// Keys that must sign.
    pub threshold: Option<u32>,
    /// The keys.
    pub owners: Option<Vec<String>>,
    /// How long a change waits.
    pub delay_seconds: Option<i64>,
    /// Who can replace the contract's code.
    pub proxy_admin: Option<String>,
    /// What it may do, in the source's words.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Who may make it do something.
    #[serde(default)]
    pub permissions: Vec<Permission>,
}

/// Functions that certain addresses may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// The contract's own word for the permission.
    pub modifier: String,
    /// The functions.
    pub functions: Vec<String>,
    /// Who has it.
    pub holders: Vec<String>,
}

/// A bridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    /// The system it belongs to: a slug.
    pub system: String,
    /// What it moves.
    pub symbol: Option<String>,
    /// Where it stands.
    pub ends: Vec<BridgeEnd>,
}

/// One end of a bridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeEnd {
    /// The chain's name in the source.
    pub chain: String,
    /// The chain, where it is one that the registry numbers.
    pub chain_id: Option<i64>,
    /// The source's word for the chain's family.
    pub protocol: Option<String>,
    /// The bridge's contract there, as its chain writes it.
    pub address: String,
    /// The token's symbol there.
    pub symbol: Option<String>,
    /// Its decimals.
    pub decimals: Option<u32>,
    /// What the contract does with the token, in the source's word.
    pub standard: Option<String>,
    /// The token that it locks, or mints and burns.
    pub collateral: Option<String>,
}
