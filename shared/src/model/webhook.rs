//! Webhook subscriptions and their deliveries, as their owner sees them. The interface specification does not define the fields of a
//! delivery.

use crate::push::breaker::DisabledReason;
use crate::push::delivery::EventId;
use crate::push::event_type::EventType;
use crate::push::schedule::{DeliveryStatus, Failure};
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A subscription to event types.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookSubscription {
    /// Numeric id of the subscription.
    pub id: i64,
    /// URL that deliveries are sent to, in canonical form.
    pub url: String,
    /// Event types that are delivered.
    pub families: Vec<EventType>,
    /// The owner's description; null if there is none.
    pub description: Option<String>,
    /// `active`; `paused` while the circuit breaker holds deliveries back; or `disabled` until it is enabled again.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["active", "paused", "disabled"])))]
    pub status: &'static str,
    /// Why the subscription is disabled; null if it is not.
    pub disabled_reason: Option<DisabledReason>,
    /// Number of failed attempts since the last successful delivery.
    pub failure_count: u32,
    /// Instant at which the pause ends by itself; null if the subscription is not paused.
    pub paused_until: Option<Timestamp>,
    /// Id of the API key that deliveries are made for: the key that created the subscription, or, once that key was revoked, the key that
    /// enabled the subscription again.
    pub api_key_id: i64,
    /// Instant at which the subscription was created.
    pub created_at: Timestamp,
    /// Instant at which the subscription last changed.
    pub updated_at: Timestamp,
    /// Signing secret; present only in the answer that creates the subscription, and omitted elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A subscription to a basket: to its rebalances or, if pinned, to the deprecation and retirement of one version.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketWebhook {
    /// Numeric id of the subscription.
    pub id: i64,
    /// Id of the basket.
    pub basket_id: String,
    /// URL that deliveries are sent to, in canonical form.
    pub url: String,
    /// Id of the version whose deprecation and retirement are delivered; null if rebalances are delivered instead.
    pub pinned_version_id: Option<String>,
    /// `active`; `paused` while the circuit breaker holds deliveries back; or `disabled` until it is enabled again.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["active", "paused", "disabled"])))]
    pub status: &'static str,
    /// Why the subscription is disabled; null if it is not.
    pub disabled_reason: Option<DisabledReason>,
    /// Instant at which the pause ends by itself; null if the subscription is not paused.
    pub paused_until: Option<Timestamp>,
    /// Instant at which the subscription was created.
    pub created_at: Timestamp,
    /// Signing secret; present only in the answer that creates the subscription, and omitted elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookDeleted {
    /// Numeric id of the deleted subscription.
    pub id: i64,
    /// Always `true`.
    pub deleted: bool,
}

/// The result of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookReplayed {
    /// Number of deliveries that were enqueued again.
    pub enqueued: u64,
}

/// One event for one subscription. Of the receiver's response only the status is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookDelivery {
    /// Numeric id of the delivery.
    pub id: i64,
    /// Id of the event, the same in every attempt, by which receivers deduplicate.
    pub event_id: EventId,
    /// Type of the event.
    pub event_type: EventType,
    /// `pending`, `delivered` or `failed_terminal`.
    pub status: DeliveryStatus,
    /// Number of an attempt, 1 to 6: of the next attempt while the delivery is pending, otherwise of the last attempt.
    pub attempt: u8,
    /// Instant at which the next attempt is due; a pause of the subscription delays it; null once the outcome is final.
    pub next_attempt_at: Option<Timestamp>,
    /// Instant at which the latest attempt ended; null before the first.
    pub last_attempt_at: Option<Timestamp>,
    /// HTTP status of the response to the latest attempt; null if there was none.
    pub response_status: Option<u16>,
    /// Why the latest attempt failed; null if it did not fail.
    pub error: Option<Failure>,
    /// Duration of the latest attempt in milliseconds; null before the first.
    pub duration_ms: Option<u32>,
    /// Instant at which the delivery was enqueued.
    pub created_at: Timestamp,
    /// Instant at which the outcome became final; null while the delivery is pending.
    pub finished_at: Option<Timestamp>,
    /// The request of the delivery, so that the owner can repeat it by hand.
    pub request: WebhookRequest,
}

/// A delivery's request as it would be sent now; its signatures are valid for five minutes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookRequest {
    /// HTTP method, always `POST`.
    pub method: &'static str,
    /// URL of the subscription.
    pub url: String,
    /// Headers of the request, by name.
    pub headers: SentHeaders,
    /// The whole request, including its body, as a `curl` command line for a POSIX shell.
    pub curl: String,
}

/// Headers, serialised as a JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentHeaders(pub Vec<(&'static str, String)>);

impl Serialize for SentHeaders {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl WebhookRequest {
    /// The request with `headers` and `body` to `url`.
    pub fn new(url: String, headers: Vec<(&'static str, String)>, body: &str) -> Self {
        let mut curl = String::from("curl -sS -X POST ");
        quote(&url, &mut curl);
        for (name, value) in &headers {
            curl.push_str(" -H ");
            quote(&alloc::format!("{name}: {value}"), &mut curl);
        }
        curl.push_str(" --data-binary ");
        quote(body, &mut curl);
        WebhookRequest { method: "POST", url, headers: SentHeaders(headers), curl }
    }
}

/// Appends `text` as one word of a POSIX shell: in single quotes, with each single quote in it escaped.
fn quote(text: &str, out: &mut String) {
    out.push('\'');
    out.push_str(&text.replace('\'', "'\\''"));
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn no_body_or_url_can_break_out_of_its_quotes_in_the_curl_command() {
        let body = "{\"title\":\"it's; $(rm -rf /) `x` \\\\ \"}";
        let request = WebhookRequest::new("https://a.example/?q='x'".into(), vec![("a", "b".into())], body);
        assert_eq!(
            request.curl,
            "curl -sS -X POST 'https://a.example/?q='\\''x'\\''' -H 'a: b' --data-binary \
             '{\"title\":\"it'\\''s; $(rm -rf /) `x` \\\\ \"}'"
        );
        assert_eq!(serde_json::to_value(&request.headers).unwrap(), serde_json::json!({ "a": "b" }));
    }
}
