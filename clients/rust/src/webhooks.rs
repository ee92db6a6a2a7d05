//! Webhook deliveries: whether they are the service's, recent and unaltered.

use crate::generated::deliveries::DeliveryData;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use serde_json::Value;
use sha2::Sha256;
use std::fmt;
use std::time::{Duration, SystemTime};

/// Why a delivery is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebhookError {
    /// The delivery lacks this header.
    MissingHeader(&'static str),
    /// This header does not have the form of a signature.
    MalformedHeader(&'static str),
    /// It was signed longer ago than is tolerated.
    TooOld(Duration),
    /// It was signed further in the future than is tolerated.
    TooNew(Duration),
    /// No signature matches a secret.
    NoMatch,
    /// The body is signed, but is not an event.
    MalformedBody,
}

impl fmt::Display for WebhookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WebhookError::MissingHeader(name) => write!(f, "the header {name} is missing"),
            WebhookError::MalformedHeader(name) => write!(f, "the header {name} does not have the form of a signature"),
            WebhookError::TooOld(age) => write!(f, "the delivery was signed {} s ago", age.as_secs()),
            WebhookError::TooNew(time) => write!(f, "the delivery was signed {} s in the future", time.as_secs()),
            WebhookError::NoMatch => f.write_str("no signature of the delivery matches a secret"),
            WebhookError::MalformedBody => f.write_str("the body is signed, but is not an event"),
        }
    }
}

impl std::error::Error for WebhookError {}

/// Which headers are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `X-Service-Signature`
    Service,
    /// The headers of Standard Webhooks.
    Standard,
}

/// A verified delivery.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WebhookEvent {
    /// The same in every attempt: deduplicate on it.
    pub event_id: String,
    /// The type on the wire.
    pub event_type: String,
    /// When it happened.
    pub occurred_at: String,
    /// The content, by type.
    pub data: DeliveryData,
    /// The whole body.
    pub json: Value,
}

/// Verifies deliveries with the secrets that may be in use.
///
/// ```
/// use risk_data_client::{DeliveryData, Webhooks, http::HeaderMap};
/// let webhooks = Webhooks::new(["whsec_new", "whsec_old"]);
/// let receive = |headers: &HeaderMap, body: &[u8]| match webhooks.verify(headers, body) {
///     Ok(event) => {
///         if let DeliveryData::RatingChanged(change) = event.data {
///             println!("{}", change.title);
///         }
///         204
///     }
///     Err(refusal) => {
///         eprintln!("{refusal}");
///         400
///     }
/// };
/// assert_eq!(receive(&HeaderMap::new(), b"{}"), 400);
/// ```
#[derive(Clone)]
pub struct Webhooks {
    secrets: Vec<String>,
    tolerance: Duration,
    scheme: Option<Scheme>,
    now: Option<SystemTime>,
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").field("tolerance", &self.tolerance).finish_non_exhaustive()
    }
}

/// A signature header in parts.
struct Signed {
    seconds: u64,
    prefix: String,
    signatures: Vec<Vec<u8>>,
}

impl Webhooks {
    /// The signing secret (`whsec_…`), or all that may be in use during a rotation.
    pub fn new<S: Into<String>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let secrets = secrets.into_iter().map(Into::into).collect();
        Webhooks { secrets, tolerance: Duration::from_secs(300), scheme: None, now: None }
    }

    /// How far the signature may be away from now. Default: 5 minutes.
    #[must_use]
    pub fn tolerance(self, tolerance: Duration) -> Self {
        Webhooks { tolerance, ..self }
    }

    /// Only this scheme. Default: the first whose header is there.
    #[must_use]
    pub fn scheme(self, scheme: Scheme) -> Self {
        Webhooks { scheme: Some(scheme), ..self }
    }

    /// The time now, for tests.
    #[must_use]
    pub fn now(self, now: SystemTime) -> Self {
        Webhooks { now: Some(now), ..self }
    }

    /// Verifies a delivery in constant time and returns its event. `body` are the bytes as received, before anything parsed them.
    ///
    /// # Errors
    /// If the delivery must not be trusted.
    pub fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<WebhookEvent, WebhookError> {
        let default = if headers.contains_key("x-service-signature") { Scheme::Service } else { Scheme::Standard };
        let scheme = self.scheme.unwrap_or(default);
        let signed = match scheme {
            Scheme::Service => service(headers)?,
            Scheme::Standard => standard(headers)?,
        };
        if !self.any_matches(scheme, &signed, body) {
            return Err(WebhookError::NoMatch);
        }
        // After the signature, so that nobody without the secret learns the receiver's clock.
        let now = self.now.unwrap_or_else(SystemTime::now);
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let signed_at = Duration::from_secs(signed.seconds);
        if now.saturating_sub(signed_at) > self.tolerance {
            return Err(WebhookError::TooOld(now.saturating_sub(signed_at)));
        }
        if signed_at.saturating_sub(now) > self.tolerance {
            return Err(WebhookError::TooNew(signed_at.saturating_sub(now)));
        }
        event(body).ok_or(WebhookError::MalformedBody)
    }

    /// Tries every secret with every signature; the time does not depend on which of them matches.
    fn any_matches(&self, scheme: Scheme, signed: &Signed, body: &[u8]) -> bool {
        let mut matches = false;
        for secret in &self.secrets {
            let key = match scheme {
                Scheme::Service => secret.as_bytes().to_vec(),
                Scheme::Standard => base64(secret.strip_prefix("whsec_").unwrap_or(secret)),
            };
            let mac = if key.is_empty() { None } else { Hmac::<Sha256>::new_from_slice(&key).ok() };
            let Some(mac) = mac.map(|it| it.chain_update(signed.prefix.as_bytes()).chain_update(body)) else {
                continue;
            };
            for signature in &signed.signatures {
                // Not `||`: every signature is compared.
                matches |= mac.clone().verify_slice(signature).is_ok();
            }
        }
        matches
    }
}

/// `t=<seconds>,v1=<hex>,v1=<hex>`
fn service(headers: &HeaderMap) -> Result<Signed, WebhookError> {
    const NAME: &str = "X-Service-Signature";
    let text = present(headers, NAME)?;
    let parts: Vec<(&str, &str)> = text.split(',').filter_map(|it| it.trim().split_once('=')).collect();
    let values = |name: &'static str| parts.iter().filter(move |(it, _)| *it == name).map(|(_, value)| *value);
    let times: Vec<&str> = values("t").collect();
    let signatures: Vec<Vec<u8>> = values("v1").map(hex).collect();
    match times.as_slice() {
        [seconds] if !signatures.is_empty() => Ok(Signed {
            seconds: number(seconds).ok_or(WebhookError::MalformedHeader(NAME))?,
            prefix: format!("{seconds}."),
            signatures,
        }),
        _ => Err(WebhookError::MalformedHeader(NAME)),
    }
}

/// Standard Webhooks: `webhook-id`, `webhook-timestamp`, and `v1,<base64>` separated by spaces.
fn standard(headers: &HeaderMap) -> Result<Signed, WebhookError> {
    let (id, seconds) = (present(headers, "webhook-id")?, present(headers, "webhook-timestamp")?);
    let text = present(headers, "webhook-signature")?;
    let parts = text.split(' ').filter_map(|it| it.split_once(','));
    let signatures: Vec<Vec<u8>> = parts.filter(|(version, _)| *version == "v1").map(|(_, it)| base64(it)).collect();
    if signatures.is_empty() {
        return Err(WebhookError::MalformedHeader("webhook-signature"));
    }
    let prefix = format!("{id}.{seconds}.");
    Ok(Signed {
        seconds: number(&seconds).ok_or(WebhookError::MalformedHeader("webhook-timestamp"))?,
        prefix,
        signatures,
    })
}

/// A header's value; several of one name are joined as lists are.
fn present(headers: &HeaderMap, name: &'static str) -> Result<String, WebhookError> {
    let all: Vec<&str> = headers.get_all(name).iter().filter_map(|it| it.to_str().ok()).collect();
    if all.is_empty() { Err(WebhookError::MissingHeader(name)) } else { Ok(all.join(", ")) }
}

fn number(text: &str) -> Option<u64> {
    let is_number = (1..=15).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Nothing if the text is malformed: it then matches nothing.
fn hex(text: &str) -> Vec<u8> {
    let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pair = |it: &[u8]| match it {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect::<Option<Vec<u8>>>().unwrap_or_default()
}

/// Nothing if the text is malformed: it then matches nothing.
fn base64(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap_or_default()
}

fn event(body: &[u8]) -> Option<WebhookEvent> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let event_type = json.get("event_type")?.as_str()?.to_owned();
    let data = DeliveryData::read(&event_type, json.get("data").cloned().unwrap_or_default());
    Some(WebhookEvent { event_id: text("event_id"), occurred_at: text("occurred_at"), event_type, data, json })
}
