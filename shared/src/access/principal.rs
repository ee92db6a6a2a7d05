//! The authenticated caller, as established by the edge; the origin accepts it only from the edge.

use super::plan::Plan;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Principal {
    /// A caller without credentials.
    Anonymous,
    /// A page of the service itself, recognised by its `Origin` header.
    FirstParty {
        /// The origin, as configured.
        origin: String,
    },
    /// The holder of a valid API key.
    Key {
        id: i64,
        /// The organisation that owns the key.
        org_id: i64,
        /// The organisation's plan.
        plan: Plan,
    },
    /// The holder of a valid index token.
    IndexToken { id: i64 },
}

impl Principal {
    /// The content class: callers of one class may share cached responses.
    pub const fn content_class(&self) -> &'static str {
        match self {
            Principal::Anonymous | Principal::FirstParty { .. } => "public",
            Principal::Key { .. } => "keyed",
            Principal::IndexToken { .. } => "index",
        }
    }

    /// Whether the limits on anonymous paging apply.
    pub const fn is_keyless(&self) -> bool {
        match self {
            Principal::Anonymous | Principal::FirstParty { .. } => true,
            Principal::Key { .. } | Principal::IndexToken { .. } => false,
        }
    }

    /// The JSON that the edge assertion covers.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the JSON of an edge assertion; `None` if it is not a known principal.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_reads_back_as_written() {
        let key = Principal::Key { id: 7, org_id: 3, plan: Plan::Decisioning };
        let token = Principal::IndexToken { id: 4 };
        for principal in
            [Principal::Anonymous, Principal::FirstParty { origin: "https://app.example".into() }, key, token]
        {
            assert_eq!(Principal::from_json(&principal.to_json()), Some(principal));
        }
    }

    #[test]
    fn an_unknown_kind_of_principal_is_rejected() {
        assert_eq!(Principal::from_json("{\"kind\":\"root\"}"), None);
        assert_eq!(Principal::from_json(""), None);
    }
}
