//! A key as it describes itself to its holder.
//!
//! Source: interface, "Key identity".

use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

use crate::access::Plan;
use crate::wire::time::{Day, Timestamp};

/// `data` of `GET /v1/me`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Me {
    /// Who it is.
    pub key: KeyIdentity,
    /// What it may do in a minute.
    pub limits: KeyLimits,
    /// What it has done.
    pub usage: KeyUsage,
}

/// Who a key is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyIdentity {
    /// Numeric id.
    pub id: i64,
    /// Its first characters.
    pub prefix: String,
    /// The organisation that holds it.
    pub partner_name: String,
    /// Plan of the key.
    pub tier: Plan,
    /// When it was minted.
    pub created_at: Timestamp,
    /// Its latest counted request; null before the first.
    pub last_used_at: Option<Timestamp>,
    /// The organisation's number.
    pub org_id: i64,
}

/// What a key may do in a window of a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyLimits {
    /// Requests: contracted, or the plan's default.
    pub requests_per_minute: u32,
    /// Whether its holder serves several clients with it.
    pub shared_key: bool,
    /// Requests of one such client; null unless the key is shared.
    pub subclient_requests_per_minute: Option<u32>,
}

/// What a key has done, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyUsage {
    /// The current UTC day.
    pub day: Day,
    /// Seconds up to which requests may still be missing from the counts.
    pub as_of_lag_seconds: u64,
    /// Requests served since the key was minted.
    pub total_count: u64,
    /// Requests answered 429 since the key was minted; not in `total_count`.
    pub throttled_count: u64,
    /// Requests served in the current UTC day, busiest endpoint first.
    pub endpoints: Vec<EndpointUsage>,
}

/// Requests served by one endpoint in a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndpointUsage {
    /// The route, as `GET /v1/vaults/{id}`.
    pub endpoint: String,
    /// Number of requests.
    pub count: u64,
    /// The latest of them.
    pub last_seen: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_yet_is_null_and_not_left_out() {
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
