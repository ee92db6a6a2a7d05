//! The caller, as the edge found out; the origin takes nobody else's word for it.

use super::plan::Plan;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Who is behind a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Principal {
    /// Nobody in particular.
    Anonymous,
    /// A page of the service's own, by its `Origin`.
    FirstParty {
        /// The origin, as configured.
        origin: String,
    },
    /// The holder of a live key.
    Key {
        /// The key's number.
        id: i64,
        /// The organisation that holds it.
        org_id: i64,
        /// Its plan.
        plan: Plan,
    },
    /// The holder of a live index token.
    IndexToken {
        /// The token's number.
        id: i64,
    },
}

impl Principal {
    /// The class whose answers may share a cached copy.
    pub const fn content_class(&self) -> &'static str {
        match self {
            Principal::Anonymous | Principal::FirstParty { .. } => "public",
            Principal::Key { .. } => "keyed",
            Principal::IndexToken { .. } => "index",
        }
    }

    /// Whether the limits on anonymous paging apply. Source: interface, "Keyless metering".
    pub const fn is_keyless(&self) -> bool {
        match self {
            Principal::Anonymous | Principal::FirstParty { .. } => true,
            Principal::Key { .. } | Principal::IndexToken { .. } => false,
        }
    }

    /// The JSON that the assertion covers.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the JSON that an assertion covered.
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
    fn an_unknown_kind_is_nobody() {
        assert_eq!(Principal::from_json("{\"kind\":\"root\"}"), None);
        assert_eq!(Principal::from_json(""), None);
    }
}
