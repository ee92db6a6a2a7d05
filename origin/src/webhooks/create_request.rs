//! The request that creates a subscription, parsed from body and headers; all faults are reported at once.

use axum::http::HeaderValue;
use rds_shared::push::event_type::EventType;
use rds_shared::route::bounds::{IDEMPOTENCY_KEY_BYTES, VERSION_ID_CHARS, WEBHOOK_DESCRIPTION_CHARS};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use rds_store::webhooks::ToBasket;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The allowed values of `families`.
const FAMILIES: &[&str] = &{
    let [a, b, c, d] = EventType::GENERIC;
    [a.as_str(), b.as_str(), c.as_str(), d.as_str()]
};

/// A parsed request for a new subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateSubscription {
    /// The URL of deliveries; not checked yet.
    pub url: String,
    /// The event types, each once, in canonical order.
    pub families: Vec<EventType>,
    /// The owner's description.
    pub description: Option<String>,
    /// For a subscription to a basket, which has no families: the basket, and the pinned version if there is one. Whether they exist is not
    /// checked yet.
    pub basket: Option<ToBasket>,
}

impl CreateSubscription {
    /// Reads the body of a request for a generic subscription. The URL is not checked here, but by the egress filter.
    pub fn read(body: &[u8]) -> Result<Self, ApiError> {
        let mut fields = object(body, "the body must be a JSON object with url and families")?;
        let mut faults = Vec::new();
        let url = url(fields.remove("url")).map_err(|fault| faults.push(fault)).ok();
        let families = families(fields.remove("families"), &mut faults);
        let description = description(fields.remove("description")).map_err(|fault| faults.push(fault)).ok();
        faults.extend(unknown(&fields));
        match (url, description) {
            (Some(url), Some(description)) if faults.is_empty() => {
                Ok(CreateSubscription { url, families, description, basket: None })
            }
            _ => Err(ApiError::invalid(ErrorCode::InvalidBody, faults)),
        }
    }

    /// Reads the body of a request for a subscription to a basket.
    pub fn read_for_basket(basket_id: &str, body: &[u8]) -> Result<Self, ApiError> {
        let mut fields = object(body, "the body must be a JSON object with url")?;
        let mut faults = Vec::new();
        let url = url(fields.remove("url")).map_err(|fault| faults.push(fault)).ok();
        let pinned = pinned(fields.remove("pinned_version_id")).map_err(|fault| faults.push(fault)).ok();
        faults.extend(unknown(&fields));
        match (url, pinned) {
            (Some(url), Some(pinned_version_id)) if faults.is_empty() => {
                let basket = Some(ToBasket { basket_id: basket_id.to_owned(), pinned_version_id });
                Ok(CreateSubscription { url, families: Vec::new(), description: None, basket })
            }
            _ => Err(ApiError::invalid(ErrorCode::InvalidBody, faults)),
        }
    }

    /// A digest of the request: equal requests have equal digests, however their JSON is written.
    pub fn digest(&self) -> [u8; 32] {
        let words: Vec<&str> = self.families.iter().map(|family| family.as_str()).collect();
        let parts = [self.url.as_str(), &words.join(","), self.description.as_deref().unwrap_or("\0")];
        let basket =
            self.basket.iter().flat_map(|it| [&*it.basket_id, it.pinned_version_id.as_deref().unwrap_or("\0")]);
        let mut digest = Sha256::new();
        for part in parts.into_iter().chain(basket) {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

fn object(body: &[u8], expected: &'static str) -> Result<Map<String, Value>, ApiError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::new(ErrorCode::InvalidBody, format!("the body is not JSON: {error}")))?;
    match body {
        Value::Object(fields) => Ok(fields),
        _ => Err(ApiError::new(ErrorCode::InvalidBody, expected)),
    }
}

fn fault(name: &'static str, reason: impl Into<String>) -> Detail {
    Detail::new(In::Body, name, reason)
}

fn url(value: Option<Value>) -> Result<String, Detail> {
    match value {
        Some(Value::String(text)) => Ok(text),
        None => Err(fault("url", "is required")),
        Some(_) => Err(fault("url", "must be a string")),
    }
}

fn pinned(value: Option<Value>) -> Result<Option<String>, Detail> {
    match value {
        None | Some(Value::Null) => Ok(None),
        // No version has such an id, and Postgres rejects text with a NUL character.
        Some(Value::String(text)) if text.chars().any(char::is_control) || text.chars().count() > VERSION_ID_CHARS => {
            Err(fault(
                "pinned_version_id",
                format!("must have at most {VERSION_ID_CHARS} characters and no control characters"),
            ))
        }
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(fault("pinned_version_id", "must be a string or null")),
    }
}

fn families(value: Option<Value>, faults: &mut Vec<Detail>) -> Vec<EventType> {
    let listed = |reason| Detail { allowed: Some(FAMILIES), ..fault("families", reason) };
    let items = match value {
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(_) => {
            faults.push(listed("must be an array of at least one event type"));
            return Vec::new();
        }
        None => {
            faults.push(listed("is required"));
            return Vec::new();
        }
    };
    let mut wanted = Vec::new();
    for (position, item) in items.iter().enumerate() {
        let found = item.as_str().and_then(|word| EventType::GENERIC.into_iter().find(|known| known.as_str() == word));
        match found {
            Some(family) => wanted.push(family),
            None => faults.push(Detail {
                allowed: Some(FAMILIES),
                ..Detail::new(
                    In::Body,
                    format!("families[{position}]"),
                    "must be an event type that can be subscribed to",
                )
            }),
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn description(value: Option<Value>) -> Result<Option<String>, Detail> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() > WEBHOOK_DESCRIPTION_CHARS => {
            let reason = format!("may have at most {WEBHOOK_DESCRIPTION_CHARS} characters");
            Err(Detail { maximum: Some(WEBHOOK_DESCRIPTION_CHARS as f64), ..fault("description", reason) })
        }
        Some(Value::String(text)) if text.chars().any(char::is_control) => {
            Err(fault("description", "must not contain control characters"))
        }
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(fault("description", "must be a string or null")),
    }
}

fn unknown(fields: &Map<String, Value>) -> impl Iterator<Item = Detail> {
    fields.keys().map(|name| Detail::new(In::Body, name.clone(), "is not a field of this body"))
}

/// Reads `Idempotency-Key`: 1 to [`IDEMPOTENCY_KEY_BYTES`] visible ASCII characters or spaces.
pub fn idempotency_key(header: Option<&HeaderValue>) -> Result<Option<String>, ApiError> {
    let Some(header) = header else { return Ok(None) };
    let text = header.to_str().unwrap_or_default().trim();
    if (1..=IDEMPOTENCY_KEY_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
    {
        return Ok(Some(text.to_owned()));
    }
    let reason = format!("must have 1 to {IDEMPOTENCY_KEY_BYTES} visible ASCII characters");
    Err(ApiError::parameter(Detail::new(In::Header, headers::IDEMPOTENCY_KEY, reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(body: &str) -> Vec<String> {
        let error = CreateSubscription::read(body.as_bytes()).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidBody);
        error.details.into_iter().map(|detail| detail.name.into_owned()).collect()
    }

    #[test]
    fn every_fault_of_a_body_is_named_at_once() {
        assert_eq!(names("{}"), ["url", "families"]);
        let body =
            r#"{"url": 7, "families": ["event.published", "webhook.test", 3], "description": {}, "secret": "x"}"#;
        assert_eq!(names(body), ["url", "families[1]", "families[2]", "description", "secret"]);
        for families in ["[]", "\"event.published\"", "null", "{}"] {
            assert_eq!(names(&format!(r#"{{"url": "https://a.example", "families": {families}}}"#)), ["families"]);
        }
        for other in ["", "[]", "null", "{", "\"x\""] {
            assert!(names(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_subscription_to_a_basket_needs_a_url_and_may_name_a_version() {
        let names = |body: &str| {
            let error = CreateSubscription::read_for_basket("prime", body.as_bytes()).unwrap_err();
            error.details.into_iter().map(|detail| detail.name.into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("{}"), ["url"]);
        let body = r#"{"url":"https://a.example","pinned_version_id":7,"families":["event.published"]}"#;
        assert_eq!(names(body), ["pinned_version_id", "families"]);
        assert_eq!(names("{\"url\":\"https://a.example\",\"pinned_version_id\":\"a\\u0000\"}"), ["pinned_version_id"]);
        assert!(names("[]").is_empty());
    }

    #[test]
    fn the_same_request_has_the_same_digest_however_it_is_written() {
        let read = |body: &str| CreateSubscription::read(body.as_bytes()).unwrap();
        let one =
            read(r#"{"url":"https://a.example","families":["rating.changed","event.published","rating.changed"]}"#);
        let two = read(
            r#"{ "description": null, "families": ["event.published", "rating.changed"], "url": "https://a.example" }"#,
        );
        assert_eq!((&one, one.digest()), (&two, two.digest()));
        assert_eq!(one.families, [EventType::EventPublished, EventType::RatingChanged]);
        let other = CreateSubscription { description: Some(String::new()), ..one.clone() };
        assert_ne!(other.digest(), one.digest());
        let of_basket = |body: &str| CreateSubscription::read_for_basket("prime", body.as_bytes()).unwrap();
        let follower = of_basket(r#"{"url":"https://a.example"}"#);
        assert_eq!(follower.digest(), of_basket(r#"{"pinned_version_id":null,"url":"https://a.example"}"#).digest());
        let pinned = of_basket(r#"{"url":"https://a.example","pinned_version_id":"prime-v1"}"#);
        assert_ne!(follower.digest(), pinned.digest());
        let shifted =
            CreateSubscription { url: "https://a.exampl".into(), description: Some("e".into()), ..one.clone() };
        assert_ne!(shifted.digest(), one.digest());
    }

    #[test]
    fn an_idempotency_key_is_a_short_visible_text() {
        let read = |text: &str| idempotency_key(Some(&HeaderValue::from_bytes(text.as_bytes()).unwrap()));
        assert_eq!(read(" a-1 ").unwrap().as_deref(), Some("a-1"));
        assert_eq!(idempotency_key(None).unwrap(), None);
        for bad in ["", " ", "é", &"x".repeat(256)] {
            assert_eq!(read(bad).unwrap_err().details[0].name, "idempotency-key", "{bad}");
        }
    }
}
