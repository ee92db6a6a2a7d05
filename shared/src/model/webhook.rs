//! Webhook subscriptions and their deliveries, as their owner sees them.
//!
//! Source: interface, "Webhook subscription" and "Webhooks"; the shape of the deliveries' rows is ours.

use crate::push::breaker::DisabledReason;
use crate::push::schedule::{DeliveryStatus, Failure};
use crate::push::webhook::{EventId, EventType};
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A subscription to families of events.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookSubscription {
    /// Numeric id.
    pub id: i64,
    /// Where deliveries go, in its canonical spelling.
    pub url: String,
    /// The event types it asked for.
    pub families: Vec<EventType>,
    /// Its owner's words for it.
    pub description: Option<String>,
    /// `active`, `paused` or `disabled`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["active", "paused", "disabled"])))]
    pub status: &'static str,
    /// Why it is disabled.
    pub disabled_reason: Option<DisabledReason>,
    /// Failed attempts since the last delivered event.
    pub failure_count: u32,
    /// When a pause ends by itself.
    pub paused_until: Option<Timestamp>,
    /// The key that deliveries are made for: the creating one, until another enabled it again.
    pub api_key_id: i64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
    /// The signing secret: in the creation's answer only, and left out everywhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A subscription to a basket: to its rebalances or, pinned, to what becomes of one version.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasketWebhook {
    /// Numeric id.
    pub id: i64,
    /// Id of the basket.
    pub basket_id: String,
    /// Where deliveries go, in its canonical spelling.
    pub url: String,
    /// The version whose deprecation and retirement it is told of; null when it is told of rebalances instead.
    pub pinned_version_id: Option<String>,
    /// `active`, `paused` or `disabled`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["active", "paused", "disabled"])))]
    pub status: &'static str,
    /// Why it is disabled.
    pub disabled_reason: Option<DisabledReason>,
    /// When a pause ends by itself.
    pub paused_until: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The signing secret: in the creation's answer only, and left out everywhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// What a deletion says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookDeleted {
    /// The subscription's number.
    pub id: i64,
    /// Always `true`.
    pub deleted: bool,
}

/// What a replay says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookReplayed {
    /// Deliveries that were enqueued again.
    pub enqueued: u64,
}

/// One event on its way to one subscription. Nothing of an answer is shown but its status.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookDelivery {
    /// Numeric id.
    pub id: i64,
    /// What receivers deduplicate on.
    pub event_id: EventId,
    /// What it tells.
    pub event_type: EventType,
    /// `pending`, `delivered` or `failed_terminal`.
    pub status: DeliveryStatus,
    /// The attempt that is due while it is pending, else the last one made; 1 to 6.
    pub attempt: u8,
    /// When the next attempt is due; null once the outcome is final. A pause of the subscription makes it later.
    pub next_attempt_at: Option<Timestamp>,
    /// When the latest attempt ended; null before the first.
    pub last_attempt_at: Option<Timestamp>,
    /// The status that the latest attempt was answered with; null when there was no answer.
    pub response_status: Option<u16>,
    /// Why the latest attempt failed; null when it did not.
    pub error: Option<Failure>,
    /// Milliseconds that the latest attempt took.
    pub duration_ms: Option<u32>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When its outcome became final.
    pub finished_at: Option<Timestamp>,
    /// The request, to be repeated by hand.
    pub request: WebhookRequest,
}

/// A delivery's request as it would be sent now: its signatures hold for five minutes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookRequest {
    /// HTTP method, always `POST`.
    pub method: &'static str,
    /// The subscription's URL.
    pub url: String,
    /// Headers of the request, by name.
    pub headers: SentHeaders,
    /// The whole request, its body included, as a command line for a POSIX shell.
    pub curl: String,
}

/// Headers, as a JSON object.
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
    /// The request of `headers` and `body` to `url`.
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

/// A word of a POSIX shell: between single quotes everything stands for itself, but for the quote.
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
    fn nothing_in_a_body_or_url_ends_its_word_in_the_command_line() {
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
