//! `GET /v1/status`: the status of the service's components.
//!
//! Components may be added; existing names keep their meaning. The rules are in [`crate::rules::component_status`].

use alloc::{borrow::Cow, vec::Vec};
use serde::Serialize;

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

named_enum! {
    /// Status of a component. The values are listed from best to worst.
    pub enum ComponentStatus {
        /// The component works as intended.
        Operational = "operational",
        /// The component works with restrictions or errors, or its status could not be read.
        Degraded = "degraded",
        /// The component does not work.
        Down = "down",
    }
}

named_enum! {
    /// A component of the service.
    pub enum ComponentName {
        /// The service itself: its process, its database and the data it serves from memory.
        Api = "api",
        /// Whether the service can be reached from outside.
        Reachability = "reachability",
        /// The share of responses that are server errors.
        Errors = "errors",
        /// The event stream.
        EventsStream = "events_stream",
        /// Webhook deliveries.
        Webhooks = "webhooks",
        /// The age of the newest reading of any vault.
        DataFreshness = "data_freshness",
        /// Whether scores are current, frozen at the last good values, or withheld.
        FailSafe = "fail_safe",
        /// Whether the database accepts writes.
        Writes = "writes",
        /// Whether the chains that the service reads by itself are read in time, and none of them is halted.
        Chains = "chains",
    }
}

/// The status feed. It has no `data` envelope; its fields are at the top level.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusFeed {
    /// The worst status of the components `api`, `reachability` and `errors`.
    pub status: ComponentStatus,
    /// The worst status of all components.
    pub rollup: ComponentStatus,
    /// Instant at which the feed was computed.
    pub last_checked_at: Timestamp,
    /// Percentage of time in which `status` was not `down`.
    pub uptime: Uptime,
    /// Components of the service, each with its status.
    pub components: Vec<Component>,
    /// The figures behind the components `errors` and `reachability`.
    pub signals: StatusSignals,
}

/// Percentage of the minutes of a window in which the service was not down, 0 to 100 with three decimals, rounded down. A minute without a
/// sample counts as down. A window is omitted until samples reach back to its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Uptime {
    /// Percentage over the last 24 hours; omitted until samples reach back that far.
    #[serde(rename = "24h", skip_serializing_if = "Option::is_none")]
    pub day: Option<f64>,
    /// Percentage over the last 30 days; omitted until samples reach back that far.
    #[serde(rename = "30d", skip_serializing_if = "Option::is_none")]
    pub month: Option<f64>,
}

/// One component of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Component {
    /// Name of the component.
    pub name: ComponentName,
    /// Status of the component.
    pub status: ComponentStatus,
    /// Reason for the status; null if there is nothing to report.
    pub detail: Option<Cow<'static, str>>,
    /// Instant at which the status was determined.
    pub checked_at: Timestamp,
}

/// The figures behind the components `errors` and `reachability`; a figure that is currently unknown is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusSignals {
    /// Share of `requests_15m` that were server errors (5xx), as a fraction; null if there were no requests.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub error_rate_15m: Option<f64>,
    /// Number of responses in the last 15 minutes, whether the origin or the edge alone produced them. Not counted are responses of the
    /// status, health and readiness routes, and refusals in the mode `fail_closed`.
    pub requests_15m: Option<u64>,
    /// Number of samples from outside that failed in a row, ending with the newest sample; null if no sample was taken within 15 minutes.
    pub external_down_samples: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_has_the_names_of_the_interface_and_no_window_without_history() {
        let at = Timestamp::from_seconds(0);
        let feed = StatusFeed {
            status: ComponentStatus::Operational,
            rollup: ComponentStatus::Degraded,
            last_checked_at: at,
            uptime: Uptime { day: Some(99.93), month: None },
            components: alloc::vec![Component {
                name: ComponentName::DataFreshness,
                status: ComponentStatus::Degraded,
                detail: Some("late".into()),
                checked_at: at,
            }],
            signals: StatusSignals::default(),
        };
        let expected = serde_json::json!({
            "status": "operational", "rollup": "degraded", "last_checked_at": "1970-01-01T00:00:00.000Z",
            "uptime": {"24h": 99.93},
            "components": [{
                "name": "data_freshness", "status": "degraded", "detail": "late", "checked_at": "1970-01-01T00:00:00.000Z",
            }],
            "signals": {"error_rate_15m": null, "requests_15m": null, "external_down_samples": null},
        });
        assert_eq!(serde_json::to_value(feed).unwrap(), expected);
    }
}
