//! `GET /v1/status`: how the parts of the service do.
//!
//! Source: interface, "Health and status records" and "Platform component rules". Rows may be added; the names here keep their
//! meaning. The rules are in [`crate::rules::platform`].

use alloc::{borrow::Cow, vec::Vec};
use serde::Serialize;

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

named_enum! {
    /// How a part does; a later one is worse.
    pub enum ComponentStatus {
        /// As it should.
        Operational = "operational",
        /// It answers, and not as it should; or how it does could not be read.
        Degraded = "degraded",
        /// It does not answer.
        Down = "down",
    }
}

named_enum! {
    /// The parts.
    pub enum ComponentName {
        /// The service itself: its process, its database, its first read model.
        Api = "api",
        /// The way to it from outside.
        Reachability = "reachability",
        /// How many of its answers are its own faults.
        Errors = "errors",
        /// The event stream.
        EventsStream = "events_stream",
        /// Webhook deliveries.
        Webhooks = "webhooks",
        /// How old the newest reading of any vault is.
        DataFreshness = "data_freshness",
        /// Whether scores are current, the last good ones, or withheld.
        FailSafe = "fail_safe",
        /// Whether the database takes writes.
        Writes = "writes",
    }
}

/// The status feed. It has no `data` envelope: the members stand at the top.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusFeed {
    /// The worst of api, reachability and errors.
    pub status: ComponentStatus,
    /// The worst of all components.
    pub rollup: ComponentStatus,
    /// When this was put together.
    pub last_checked_at: Timestamp,
    /// The share of time in which `status` was not down.
    pub uptime: Uptime,
    /// Components of the service, each with its status.
    pub components: Vec<Component>,
    /// What two of them are judged by.
    pub signals: StatusSignals,
}

/// Percent of the minutes of a window, with three decimals, rounded down: 100 means all. A minute in which nobody took a
/// sample was a minute down. A window is left out until samples reach back to its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Uptime {
    /// The last 24 hours.
    #[serde(rename = "24h", skip_serializing_if = "Option::is_none")]
    pub day: Option<f64>,
    /// The last 30 days.
    #[serde(rename = "30d", skip_serializing_if = "Option::is_none")]
    pub month: Option<f64>,
}

/// One part of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Component {
    /// Name of the component.
    pub name: ComponentName,
    /// How it does.
    pub status: ComponentStatus,
    /// Why, where there is something to say.
    pub detail: Option<Cow<'static, str>>,
    /// When that was found.
    pub checked_at: Timestamp,
}

/// Figures behind `errors` and `reachability`; null is one that nobody knows now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusSignals {
    /// Answers of the last 15 minutes that were faults of ours (5xx), as a fraction of `requests_15m`; null where there were none.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub error_rate_15m: Option<f64>,
    /// Answers of the origin in the last 15 minutes: without those that the edge gave by itself, out of its copies or because the
    /// origin did not answer, without scores withheld on purpose, and without this feed, health and readiness.
    pub requests_15m: Option<u64>,
    /// Samples from outside that failed one after the other, up to the newest; null where none was taken within 15 minutes.
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
