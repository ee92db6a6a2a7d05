//! Rate-limit classes. Each class has a separate budget per caller.

use serde::{Deserialize, Serialize};

/// The budget to which a request is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimitClass {
    /// The caller's general budget, for all routes without a class of their own.
    Public,
    /// `/v1/graph/*`, except checks.
    GraphRead,
    /// `POST /v1/graph/check`.
    GraphCheck,
    /// Creating, changing and deleting basket webhooks.
    BasketWebhooks,
    /// `/v1/status` only.
    Status,
    /// `/v1/health` only.
    Health,
    /// Not rate limited: readiness, for load balancers; the documentation; and messages to the MCP server, whose tool calls are charged by the
    /// requests that they make.
    Unmetered,
}

impl RateLimitClass {
    /// Whether responses count in the error rate of the status feed. Status, health and unmetered requests do not count.
    pub const fn is_traffic(self) -> bool {
        !matches!(self, RateLimitClass::Status | RateLimitClass::Health | RateLimitClass::Unmetered)
    }

    pub const ALL: [RateLimitClass; 7] = [
        RateLimitClass::Public,
        RateLimitClass::GraphRead,
        RateLimitClass::GraphCheck,
        RateLimitClass::BasketWebhooks,
        RateLimitClass::Status,
        RateLimitClass::Health,
        RateLimitClass::Unmetered,
    ];

    /// The class's name in stored counters.
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

    /// Parses a name that [`as_str`](Self::as_str) returns.
    pub fn parse(text: &str) -> Option<Self> {
        RateLimitClass::ALL.into_iter().find(|class| class.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_parsed_from_its_name() {
        for class in RateLimitClass::ALL {
            assert_eq!(RateLimitClass::parse(class.as_str()), Some(class));
            assert_eq!(serde_json::to_string(&class).unwrap().trim_matches('"'), class.as_str());
        }
    }
}
