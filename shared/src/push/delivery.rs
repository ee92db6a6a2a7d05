//! A webhook delivery on the wire: the envelope, and the headers of each attempt.

use super::event_type::EventType;
use super::schedule::Attempt;
use super::signature::SigningSecrets;
use crate::wire::headers;
use crate::wire::hex;
use crate::wire::time::{Micros, Timestamp};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use serde::{Serialize, Serializer};

/// Value of the `User-Agent` header.
pub const USER_AGENT: &str = "service-webhooks/1.0";

/// An event's id, the same in every attempt, replay and subscription. Receivers deduplicate by it.
///
/// The id is a header value and a part of the dot-separated text that Standard Webhooks signs. It therefore contains neither dots nor
/// spaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventId(String);

impl EventId {
    /// Maximum length of an id, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Makes an id from random bytes. A counter would repeat ids after a restore of older data.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        EventId(format!("evt_{}", hex(&bytes)))
    }

    /// Makes an id from a digest of the event's content, so that an event has the same id again after a restore of older data.
    pub fn from_digest(digest: [u8; 32]) -> Self {
        EventId(format!("evt_{}", hex(digest.first_chunk::<16>().unwrap_or(&[0; 16]))))
    }

    /// Parses a stored id: ASCII letters, digits, `_` and `-`.
    pub fn parse(text: &str) -> Option<Self> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let well_formed = (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(good);
        well_formed.then(|| EventId(String::from(text)))
    }

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

/// Body of a delivery. It is encoded once for all subscriptions; these bytes are signed and sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Envelope<'a, T> {
    /// Id of the event, the same in every attempt, replay and subscription; deduplicate by it.
    pub event_id: &'a EventId,
    /// Type of the event; determines the schema of `data`.
    pub event_type: EventType,
    /// Time of the event, with six fractional digits.
    pub occurred_at: Micros,
    /// The affected row, exactly as the public API returns it.
    pub data: T,
}

impl<T: Serialize> Envelope<'_, T> {
    /// The body as JSON text. Fails only if `data` has no JSON form, for example a map whose keys are not strings.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// `data` of `webhook.test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestData {
    /// Id of the tested subscription.
    pub subscription_id: i64,
}

/// Headers of one attempt at `now`: this service's own headers, then the Standard Webhooks headers with the same event id.
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
    fn each_event_type_goes_to_one_kind_of_subscription_and_tests_to_both() {
        for event_type in EventType::ALL {
            let generic = EventType::GENERIC.contains(event_type);
            let basket = EventType::BASKET.contains(event_type);
            assert_eq!(generic ^ basket, *event_type != EventType::WebhookTest, "{event_type}");
        }
    }
}
