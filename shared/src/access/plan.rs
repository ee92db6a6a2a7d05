//! What an organisation pays for, and the record of one of its keys.
//!
//! Source: interface, "Plan contents" and "Authentication", 2, 3 and 6; contracts, "Choices".

use core::fmt;
use serde::{Deserialize, Serialize};

/// A plan. Each one includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// Scores, registry, events, exports.
    Data,
    /// And look-through, checks, signed decisions, webhooks.
    Decisioning,
    /// And what was arranged.
    Embedded,
}

impl Plan {
    /// Every plan.
    pub const ALL: [Plan; 3] = [Plan::Data, Plan::Decisioning, Plan::Embedded];

    /// The plan's word, on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Data => "data",
            Plan::Decisioning => "decisioning",
            Plan::Embedded => "embedded",
        }
    }

    /// Reads a plan's word.
    pub fn parse(text: &str) -> Option<Self> {
        Plan::ALL.into_iter().find(|plan| plan.as_str() == text)
    }

    /// Requests per minute of a key without a contract of its own.
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

/// What the hosts know of a key, or of an index token: enough to judge every request that presents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The key's number.
    pub id: i64,
    /// The organisation that holds it; 0 for a token's, which has no number.
    pub org_id: i64,
    /// Its plan. Of a token it means nothing: which of the two a record is of, its text says, and so does its digest.
    pub plan: Plan,
    /// Requests per minute: contracted, or the plan's default.
    pub rpm: u32,
    /// Whether its holder serves several clients with it.
    pub shared: bool,
    /// False once revoked; nothing brings it back.
    pub active: bool,
    /// Grows with every change of the key; an older record never replaces a newer one.
    pub version: i64,
}

impl KeyRecord {
    /// The record of an index token, which changes once in its life: when it is revoked.
    pub const fn of_index_token(id: i64, active: bool) -> Self {
        let version = if active { 1 } else { 2 };
        KeyRecord { id, org_id: 0, plan: Plan::Data, rpm: INDEX_TOKEN_RPM, shared: false, active, version }
    }

    /// Whether `self` may stand where `known` stands: a revocation is final and always counts, and other older news is no news.
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
    fn nothing_older_and_nothing_at_all_revives_a_revoked_key() {
        let key = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 300, shared: false, active: true, version: 5 };
        let revoked = KeyRecord { active: false, version: 6, ..key };
        assert!(revoked.supersedes(&key));
        assert!(!key.supersedes(&revoked) && !KeyRecord { version: 7, ..key }.supersedes(&revoked));
        assert!(!key.supersedes(&key));
        let of_a_restored_database = KeyRecord { version: 4, ..revoked };
        assert!(of_a_restored_database.supersedes(&key), "a revocation counts whatever its number");
    }
}
