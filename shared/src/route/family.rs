//! Families of routes: which of a caller's budgets a request is charged to. Source: interface, "Rate limits".

use serde::{Deserialize, Serialize};

/// Which budget a request is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimitClass {
    /// The caller's general allowance.
    Public,
    /// `/v1/graph/*`, but for checks.
    GraphRead,
    /// `POST /v1/graph/check`.
    GraphCheck,
    /// Changes to basket webhooks.
    BasketWebhooks,
    /// `/v1/status`: its own.
    Status,
    /// `/v1/health`: its own.
    Health,
    /// Not metered: readiness, for load balancers.
    Unmetered,
}

impl RateLimitClass {
    /// Whether answers say something of how the service does for its callers: probes ask just that, and are not counted in it.
    pub const fn is_traffic(self) -> bool {
        !matches!(self, RateLimitClass::Status | RateLimitClass::Health | RateLimitClass::Unmetered)
    }

    /// Every family.
    pub const ALL: [RateLimitClass; 7] = [
        RateLimitClass::Public,
        RateLimitClass::GraphRead,
        RateLimitClass::GraphCheck,
        RateLimitClass::BasketWebhooks,
        RateLimitClass::Status,
        RateLimitClass::Health,
        RateLimitClass::Unmetered,
    ];

    /// Its name in stored counters.
    pub const fn as_str(self) -> &'static str {
        match self {
            RateLimitClass::Public => "public",
            RateLimitClass::GraphRead => "graph_read",
            RateLimitClass::GraphCheck => "graph_check",
            RateLimitClass::BasketWebhooks => "basket_webhooks",
            RateLimitClass::Status => "status",
            RateLimitClass::Health => "health",
            RateLimitClass::Unmetered => "unmetered",
        }
    }

    /// Reads a family's name.
    pub fn parse(text: &str) -> Option<Self> {
        RateLimitClass::ALL.into_iter().find(|family| family.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_known_by_its_name() {
        for family in RateLimitClass::ALL {
            assert_eq!(RateLimitClass::parse(family.as_str()), Some(family));
            assert_eq!(serde_json::to_string(&family).unwrap().trim_matches('"'), family.as_str());
        }
    }
}
