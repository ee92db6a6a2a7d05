//! Messages of the origin to the edge: changes of keys and of facts, signed as the edge signs its own requests, and repeated until
//! acknowledged.
//!
//! | module | content |
//! |---|---|
//! | this one | sending of one message |
//! | [`outbox`] | queued changes of keys: which process sends them and when; how a command waits for them |
//! | [`tokens`] | revoked index tokens: sent, and waited for, by the command that revokes them |
//! | [`tags`] | changed facts: one message carries any number of them |
//!
//! # Invariants
//!
//! - The process that notifies the edge holds a lease by the database's clock, so a wrong clock of its machine delays no message
//!   (`tests/it/http/tag_messages.rs`).

pub mod outbox;
pub mod tags;
pub mod tokens;

use crate::config::LinkConfig;
use crate::outbound::{Client, OutboundError};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use rds_engine::clock::Clock;
use rds_engine::entropy;
use rds_shared::access::link::{KEY_UPDATE_PATH, KeyUpdate, ORIGIN, TAG_INVALIDATION_PATH, TagInvalidation};
use rds_shared::access::{Assertion, AssertionKey, SignedRequest};
use rds_shared::route::TagVersions;
use rds_shared::wire::headers;
use serde::Serialize;
use std::time::Duration;
use tokio::sync::Notify;

/// Time limit for an acknowledgement. The edge delays it by one second, because its isolates may use older records for that long.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a change was not acknowledged. Its text is for operators.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There was no response.
    #[error("the edge cannot be reached: {0}")]
    Outbound(#[from] OutboundError),
    /// The edge does not accept our signature: it has none of our keys.
    #[error("the edge does not know the signature (404): its ASSERTION_KEY and RDS_EDGE_ASSERTION_KEYS share no key")]
    NotBelieved,
    /// The edge answered with an unexpected status.
    #[error("the edge answered {0}")]
    Answered(StatusCode),
    /// The message could not be encoded.
    #[error("the message could not be encoded: {0}")]
    Unwritable(String),
}

/// A client for messages to the edge.
#[derive(Debug)]
pub struct EdgeLink {
    client: Client,
    key_update_url: Uri,
    tag_update_url: Uri,
    ready: Uri,
    keys: Vec<AssertionKey>,
    clock: Clock,
    within: Duration,
    key_queued: Notify,
    facts_changed: Notify,
}

impl EdgeLink {
    /// A client for the edge of `config`. Fails if its address, with a message's path, is not a valid URL.
    pub fn new(config: &LinkConfig, clock: Clock) -> anyhow::Result<Self> {
        Ok(EdgeLink {
            client: Client::new()?,
            key_update_url: format!("{}{KEY_UPDATE_PATH}", config.url).parse()?,
            tag_update_url: format!("{}{TAG_INVALIDATION_PATH}", config.url).parse()?,
            ready: format!("{}/ready", config.url).parse()?,
            keys: config.keys.clone(),
            clock,
            within: ACKNOWLEDGE_TIMEOUT,
            key_queued: Notify::new(),
            facts_changed: Notify::new(),
        })
    }

    /// The same client with another time limit for an acknowledgement.
    pub fn within(self, within: Duration) -> Self {
        EdgeLink { within, ..self }
    }

    /// Signals that facts have changed, so that sending their tag versions need not wait for the next poll.
    pub fn facts_changed(&self) {
        self.facts_changed.notify_one();
    }

    /// Maximum time for sending one change: each of our keys may be tried once.
    fn longest(&self) -> Duration {
        self.within * u32::try_from(self.keys.len()).unwrap_or(1)
    }

    /// Signals that a change of a key was queued, so that sending it need not wait for the next poll.
    pub fn key_queued(&self) {
        self.key_queued.notify_one();
    }

    /// Sends a change of a key. Returns when no isolate of the edge can use an older record any more.
    pub async fn send_key_update(&self, update: &KeyUpdate) -> Result<(), LinkError> {
        self.post(&self.key_update_url, update).await.map(drop)
    }

    /// Sends changed tag versions, and waits until no isolate of the edge serves an older cached response as current. Returns all tag
    /// versions that the edge knows; an edge of an earlier release returns none.
    pub async fn send_tags(&self, update: &TagInvalidation) -> Result<TagVersions, LinkError> {
        let response = self.post(&self.tag_update_url, update).await?;
        let known = response.get(headers::TAGS).and_then(|value| value.to_str().ok());
        Ok(TagVersions::parse(known.unwrap_or_default()))
    }

    /// Every tag version that the edge knows, if it answers within `patience`.
    pub async fn known_tags(&self, patience: Duration) -> Option<TagVersions> {
        let question = TagInvalidation { versions: TagVersions::default(), withheld: None };
        tokio::time::timeout(patience, self.send_tags(&question)).await.ok()?.ok()
    }

    /// Requests the readiness of this service through the edge, like any caller.
    pub async fn is_reachable_through_edge(&self) -> Result<(), LinkError> {
        match self.client.get(&self.ready, self.within).await? {
            StatusCode::OK => Ok(()),
            other => Err(LinkError::Answered(other)),
        }
    }

    /// Sends a message. While keys are being replaced, the edge may know only one of ours, so all are tried, in order.
    async fn post(&self, to: &Uri, update: &impl Serialize) -> Result<HeaderMap, LinkError> {
        let body = serde_json::to_vec(update).map_err(|error| LinkError::Unwritable(error.to_string()))?;
        for key in &self.keys {
            let headers = self.signed(to, key, &body)?;
            let response = self.client.post(to, headers, body.clone(), self.within).await?;
            match response.status {
                StatusCode::NO_CONTENT => return Ok(response.headers),
                StatusCode::NOT_FOUND => {}
                other => return Err(LinkError::Answered(other)),
            }
        }
        Err(LinkError::NotBelieved)
    }

    fn signed(&self, to: &Uri, key: &AssertionKey, body: &[u8]) -> Result<HeaderMap, LinkError> {
        let target = to.path_and_query().map_or("/", |target| target.as_str());
        let covered = SignedRequest { method: "POST", target, body, principal: ORIGIN };
        let seconds = self.clock.wall().as_seconds();
        let assertion = Assertion::sign(key, &covered, seconds, entropy::random_bytes());
        let value = HeaderValue::try_from(assertion.to_header())
            .map_err(|_| LinkError::Unwritable("the signature is not a valid header value".to_owned()))?;
        Ok(HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static(headers::JSON)),
            (HeaderName::from_static(headers::ASSERTION), value),
            (HeaderName::from_static(headers::PRINCIPAL), HeaderValue::from_static(ORIGIN)),
        ]))
    }
}
