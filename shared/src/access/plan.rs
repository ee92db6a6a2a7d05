//! Plans of organisations, and the records of their keys.

use core::fmt;
use serde::{Deserialize, Serialize};

/// An organisation's plan. Each plan includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// Scores, the registry, events and exports.
    Data,
    /// All of `data`, and look-through, graph checks, signed decisions and webhooks.
    Decisioning,
    /// All of `decisioning`, and custom integrations, webhooks and limits as contracted.
    Embedded,
}

impl Plan {
    pub const ALL: [Plan; 3] = [Plan::Data, Plan::Decisioning, Plan::Embedded];

    /// The plan's name in JSON and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Data => "data",
            Plan::Decisioning => "decisioning",
            Plan::Embedded => "embedded",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Plan::ALL.into_iter().find(|plan| plan.as_str() == text)
    }

    /// Requests per minute of a key without a contracted limit.
    pub const fn default_rpm(self) -> u32 {
        match self {
            Plan::Data => 300,
            Plan::Decisioning => 600,
            Plan::Embedded => 1_200,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Requests per minute of an index token.
pub const INDEX_TOKEN_RPM: u32 = 300;

/// The state of a key or an index token that hosts need to authorise and meter its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyRecord {
    pub id: i64,
    /// The organisation that owns the key; 0 for an index token.
    pub org_id: i64,
    /// The organisation's plan; unused for an index token. The record does not say whether it belongs to a key or to a token: hosts know
    /// the kind from the credential's text or digest.
    pub plan: Plan,
    /// Requests per minute: the contracted limit, or the plan's default.
    pub rpm: u32,
    /// Whether the holder serves several clients with this key, each limited to a share of `rpm`.
    pub shared: bool,
    /// False once the key is revoked, which is final.
    pub active: bool,
    /// Increases with every change of the key, so that an older record does not replace a newer one.
    pub version: i64,
}

impl KeyRecord {
    /// The record of an index token. It has two versions, because a token changes only once: when it is revoked.
    pub const fn of_index_token(id: i64, active: bool) -> Self {
        let version = if active { 1 } else { 2 };
        KeyRecord { id, org_id: 0, plan: Plan::Data, rpm: INDEX_TOKEN_RPM, shared: false, active, version }
    }

    /// Whether `self` replaces `known`: a revocation replaces every active record, an active record never replaces a revocation, and
    /// otherwise the newer version wins.
    pub fn supersedes(&self, known: &KeyRecord) -> bool {
        match (known.active, self.active) {
            (true, true) => self.version > known.version,
            (true, false) => true,
            (false, active) => !active && self.version > known.version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plan_includes_the_ones_before_it() {
        assert!(Plan::Data < Plan::Decisioning && Plan::Decisioning < Plan::Embedded);
        for plan in Plan::ALL {
            assert_eq!(Plan::parse(plan.as_str()), Some(plan));
            assert_eq!(serde_json::to_string(&plan).unwrap().trim_matches('"'), plan.as_str());
        }
        assert_eq!(Plan::parse("gold"), None);
    }

    #[test]
    fn a_revoked_key_is_never_revived_and_a_revocation_counts_whatever_its_version() {
        let key = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 300, shared: false, active: true, version: 5 };
        let revoked = KeyRecord { active: false, version: 6, ..key };
        assert!(revoked.supersedes(&key));
        assert!(!key.supersedes(&revoked) && !KeyRecord { version: 7, ..key }.supersedes(&revoked));
        assert!(!key.supersedes(&key));
        let of_a_restored_database = KeyRecord { version: 4, ..revoked };
        assert!(of_a_restored_database.supersedes(&key), "a revocation counts whatever its version");
    }
}
