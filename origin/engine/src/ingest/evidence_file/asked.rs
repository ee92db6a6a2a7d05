//! What an answer is about.

use rds_facts::AssetAnswer;
use rds_shared::model::ids::VaultId;
use rds_shared::scoring::asset::Dimension;
use rds_shared::scoring::rubric::ProtocolInput;
use serde::Serialize;
use std::fmt;

/// A question about one subject, in the field names of the registry's rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Asked {
    Asset { asset: String, dimension: Dimension, question: String },
    Protocol { protocol: String, input: ProtocolInput },
    Vault { vault: String, input: ProtocolInput },
}

impl Asked {
    pub(super) fn of_asset(one: &AssetAnswer) -> Self {
        Asked::Asset { asset: one.asset_id.clone(), dimension: one.dimension, question: one.question.clone() }
    }

    /// A question about a protocol, or about a vault if `subject` is the id of one.
    pub(super) fn of_subject(subject: &str, input: ProtocolInput) -> Self {
        let subject = subject.to_owned();
        match VaultId::parse(&subject) {
            Some(_) => Asked::Vault { vault: subject, input },
            None => Asked::Protocol { protocol: subject, input },
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Asked::Asset { asset, dimension, question } => write!(f, "{asset} {dimension}.{question}"),
            Asked::Protocol { protocol: subject, input } | Asked::Vault { vault: subject, input } => {
                write!(f, "{subject} {input}")
            }
        }
    }
}
