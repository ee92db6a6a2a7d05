//! A webhook delivery as it travels: the envelope, and the headers of each attempt.
//!
//! Source: interface, "Webhooks" (envelope, event types, request headers).

use super::schedule::Attempt;
use super::signature::SigningSecrets;
use crate::scoring::named_enum;
use crate::wire::headers;
use crate::wire::hex;
use crate::wire::time::{Micros, Timestamp};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use serde::{Serialize, Serializer};

/// The sender's name.
pub const USER_AGENT: &str = "service-webhooks/1.0";

named_enum! {
    /// What a delivery tells.
    pub enum EventType {
        /// An event became public.
        EventPublished = "event.published",
        /// A public event was retracted or demoted.
        EventRetracted = "event.retracted",
        /// A vault's published score or tier moved.
        RatingChanged = "rating.changed",
        /// A security event entered the broad feed.
        SecurityEventPublished = "security_event.published",
        /// Asked for by the subscription's owner.
        WebhookTest = "webhook.test",
        /// A basket has a new version.
        BasketRebalanced = "basket.rebalanced",
        /// A basket's version will be retired.
        BasketVersionDeprecated = "basket.version.deprecated",
        /// A basket's version was retired.
        BasketVersionRetired = "basket.version.retired",
    }
}

impl EventType {
    /// The types that a generic subscription may list in `families`.
    pub const FAMILIES: [EventType; 4] = [
        EventType::EventPublished,
        EventType::EventRetracted,
        EventType::RatingChanged,
        EventType::SecurityEventPublished,
    ];

    /// The types that go to basket subscriptions.
    pub const BASKET: [EventType; 3] =
        [EventType::BasketRebalanced, EventType::BasketVersionDeprecated, EventType::BasketVersionRetired];
}

/// An event's id, the same in every attempt, every replay and every subscription: receivers deduplicate on it.
///
/// It is a header's value and, in Standard Webhooks, part of a text with dots between its parts; so it holds neither dots nor spaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventId(String);

impl EventId {
    /// The longest id, in bytes.
    pub const LONGEST: usize = 64;

    /// An id made of the host's random bytes. Random, not counted: a restore of older data gives no id twice.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        EventId(format!("evt_{}", hex(&bytes)))
    }

    /// The id of a thing that happened once, made of the digest of what is known of it: whoever tells it again, also after a
    /// restore of older data, tells it under the same id.
    pub fn from_digest(digest: [u8; 32]) -> Self {
        EventId(format!("evt_{}", hex(digest.first_chunk::<16>().unwrap_or(&[0; 16]))))
    }

    /// Reads an id as it was stored: ASCII letters, digits, `_` and `-`.
    pub fn parse(text: &str) -> Option<Self> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let well_formed = (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(good);
        well_formed.then(|| EventId(String::from(text)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A delivery's body. It is encoded once for all subscriptions, and those bytes are signed and sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Envelope<'a, T> {
    /// What receivers deduplicate on.
    pub event_id: &'a EventId,
    /// What it tells.
    pub event_type: EventType,
    /// When it happened; six fractional digits.
    pub occurred_at: Micros,
    /// The row exactly as the public API serves it.
    pub data: T,
}

impl<T: Serialize> Envelope<'_, T> {
    /// The body's bytes. Fails only when `data` cannot be JSON (a map with keys that are no strings).
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// `data` of `webhook.test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestData {
    /// The subscription that is tested.
    pub subscription_id: i64,
}

/// The headers of one attempt at `now`: ours, and beside them those of Standard Webhooks under the same id.
pub fn attempt_headers(
    secrets: &SigningSecrets,
    event_id: &EventId,
    attempt: Attempt,
    body: &[u8],
    now: Timestamp,
) -> [(&'static str, String); 8] {
    [
        (headers::CONTENT_TYPE, headers::JSON.to_string()),
        (headers::USER_AGENT, USER_AGENT.to_string()),
        (headers::SIGNATURE, secrets.sign(body, now)),
        (headers::EVENT_ID, event_id.to_string()),
        (headers::DELIVERY_ATTEMPT, attempt.to_string()),
        (headers::WEBHOOK_ID, event_id.to_string()),
        (headers::WEBHOOK_TIMESTAMP, now.as_seconds().to_string()),
        (headers::WEBHOOK_SIGNATURE, secrets.sign_standard(event_id.as_str(), body, now)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_fits_into_headers_and_signed_texts() {
        let id = EventId::from_random([0xa5; 16]);
        assert_eq!(id.as_str(), "evt_a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5");
        assert_eq!(EventId::parse(id.as_str()), Some(id));
        for bad in ["", "a.b", "a b", "a\n", "é", &"x".repeat(65)] {
            assert_eq!(EventId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn every_type_goes_to_one_kind_of_subscription_and_the_test_to_both() {
        for event_type in EventType::ALL {
            let generic = EventType::FAMILIES.contains(event_type);
            let basket = EventType::BASKET.contains(event_type);
            assert_eq!(generic ^ basket, *event_type != EventType::WebhookTest, "{event_type}");
        }
    }
}
