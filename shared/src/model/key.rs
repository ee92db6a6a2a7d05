//! The identity, limits and usage of the calling key.

use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

use crate::access::Plan;
use crate::wire::time::{Day, Timestamp};

/// `data` of `GET /v1/me`: the key that the request was made with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Me {
    /// Identity of the key.
    pub key: KeyIdentity,
    /// Rate limits of the key.
    pub limits: KeyLimits,
    /// Requests that were made with the key.
    pub usage: KeyUsage,
}

/// Identity of a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyIdentity {
    /// Numeric id of the key.
    pub id: i64,
    /// First characters of the key.
    pub prefix: String,
    /// Name of the organisation that holds the key.
    pub partner_name: String,
    /// Plan of the key.
    pub tier: Plan,
    /// Instant at which the key was created.
    pub created_at: Timestamp,
    /// Instant of the latest counted request with the key; null before the first.
    pub last_used_at: Option<Timestamp>,
    /// Numeric id of the organisation.
    pub org_id: i64,
}

/// Rate limits of a key, per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyLimits {
    /// Requests per minute: the contracted limit, or the plan's default.
    pub requests_per_minute: u32,
    /// Whether the holder uses the key for several clients.
    pub shared_key: bool,
    /// Requests per minute of one client of a shared key; null unless `shared_key` is true.
    pub subclient_requests_per_minute: Option<u32>,
}

/// Counted requests of a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyUsage {
    /// Current UTC day, which `endpoints` refers to.
    pub day: Day,
    /// Age of the counts in seconds; requests of this most recent period may not be counted yet.
    pub as_of_lag_seconds: u64,
    /// Requests served since the key was created.
    pub total_count: u64,
    /// Requests answered with 429 since the key was created; `total_count` does not include them.
    pub throttled_count: u64,
    /// Requests served in the current UTC day per endpoint, busiest first.
    pub endpoints: Vec<EndpointUsage>,
}

/// Requests served by one endpoint in one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndpointUsage {
    /// Method and path template of the route, such as `GET /v1/vaults/{id}`.
    pub endpoint: String,
    /// Number of requests served.
    pub count: u64,
    /// Instant of the latest request.
    pub last_seen: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_a_value_are_null_and_not_left_out() {
        let key = KeyIdentity {
            id: 7,
            prefix: "pk_live_0123".into(),
            partner_name: "Acme".into(),
            tier: Plan::Data,
            created_at: Timestamp::from_seconds(0),
            last_used_at: None,
            org_id: 3,
        };
        let limits = KeyLimits { requests_per_minute: 300, shared_key: false, subclient_requests_per_minute: None };
        let usage = KeyUsage {
            day: Day::from_number(20_778),
            as_of_lag_seconds: 0,
            total_count: 0,
            throttled_count: 0,
            endpoints: Vec::new(),
        };
        let json = serde_json::to_value(Me { key, limits, usage }).unwrap();
        assert!(json["key"]["last_used_at"].is_null() && json["limits"]["subclient_requests_per_minute"].is_null());
        assert_eq!((&json["key"]["tier"], &json["usage"]["day"]), (&"data".into(), &"2026-11-21".into()));
    }
}
