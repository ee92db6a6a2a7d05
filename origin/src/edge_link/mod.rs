//! The origin's word to the edge: changes of keys and of facts, signed as the edge signs its own requests, repeated until
//! acknowledged.
//!
//! | module | knows |
//! |---|---|
//! | this one | how one change is told |
//! | [`outbox`] | which keys are to be told, by whom and when; how a command waits until they are |
//! | [`tokens`] | the same of an index token, which only ever is revoked |
//! | [`tags`] | the same of changed facts, which need one message however many they are |
//!
//! # Invariants
//!
//! - The process that notifies the edge holds a lease by the database's clock, so a machine with a wrong clock delays nobody (`tests/it/tags_told.rs`).

pub mod outbox;
pub mod tags;
pub mod tokens;

use crate::clock::Clock;
use crate::config::LinkConfig;
use crate::entropy;
use crate::outbound::{Client, OutboundError};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use rds_shared::access::link::{KEY_NEWS, KeyNews, ORIGIN, TAG_NEWS, TagNews};
use rds_shared::access::{Assertion, AssertionKey, SignedRequest};
use rds_shared::route::TagVersions;
use rds_shared::wire::headers;
use serde::Serialize;
use std::time::Duration;
use tokio::sync::Notify;

/// How long the edge may take to acknowledge: it waits out what its isolates remember, a second, before it does.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(5);

/// Why a change was not acknowledged. Its text is for operators.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There was no answer.
    #[error("the edge cannot be reached: {0}")]
    Outbound(#[from] OutboundError),
    /// The edge does not take our word: no key of ours is one of its own.
    #[error("the edge does not know the signature (404): its ASSERTION_KEY and RDS_EDGE_ASSERTION_KEYS share no key")]
    NotBelieved,
    /// It answered, and could not do it.
    #[error("the edge answered {0}")]
    Answered(StatusCode),
    /// The message could not be written.
    #[error("the message could not be written: {0}")]
    Unwritable(String),
}

/// The way to the edge.
#[derive(Debug)]
pub struct EdgeLink {
    client: Client,
    key_news: Uri,
    tag_news: Uri,
    ready: Uri,
    keys: Vec<AssertionKey>,
    clock: Clock,
    within: Duration,
    queued: Notify,
    touched: Notify,
}

impl EdgeLink {
    /// The way to the edge of `config`. Fails when its address, with the message's path, is no URL.
    pub fn new(config: &LinkConfig, clock: Clock) -> anyhow::Result<Self> {
        Ok(EdgeLink {
            client: Client::new()?,
            key_news: format!("{}{KEY_NEWS}", config.url).parse()?,
            tag_news: format!("{}{TAG_NEWS}", config.url).parse()?,
            ready: format!("{}/ready", config.url).parse()?,
            keys: config.keys.clone(),
            clock,
            within: ACKNOWLEDGED_WITHIN,
            queued: Notify::new(),
            touched: Notify::new(),
        })
    }

    /// The same with another patience.
    pub fn within(self, within: Duration) -> Self {
        EdgeLink { within, ..self }
    }

    /// Says that facts have changed, to the same end.
    pub fn touched(&self) {
        self.touched.notify_one();
    }

    /// The longest that telling one change may take: every key of ours may be tried once.
    fn longest(&self) -> Duration {
        self.within * u32::try_from(self.keys.len()).unwrap_or(1)
    }

    /// Says that a change of a key was queued, so that telling it need not wait for its turn.
    pub fn queued(&self) {
        self.queued.notify_one();
    }

    /// Tells a change of a key. Returns when no isolate of the edge can act on an older record any more.
    pub async fn tell(&self, news: &KeyNews) -> Result<(), LinkError> {
        self.post(&self.key_news, news).await.map(drop)
    }

    /// Tells that facts have changed. Returns when no isolate of the edge serves an older copy as current, with every version that the
    /// edge knows; an edge of an earlier release says none.
    pub async fn tell_tags(&self, news: &TagNews) -> Result<TagVersions, LinkError> {
        let said = self.post(&self.tag_news, news).await?;
        let known = said.get(headers::TAGS).and_then(|value| value.to_str().ok());
        Ok(TagVersions::parse(known.unwrap_or_default()))
    }

    /// Every version that the edge knows, if it says so in `patience`.
    pub async fn known_tags(&self, patience: Duration) -> Option<TagVersions> {
        tokio::time::timeout(patience, self.tell_tags(&TagNews { versions: TagVersions::default() })).await.ok()?.ok()
    }

    /// Asks the edge, as any caller would, whether this service is ready.
    pub async fn reaches_us(&self) -> Result<(), LinkError> {
        match self.client.get(&self.ready, self.within).await? {
            StatusCode::OK => Ok(()),
            other => Err(LinkError::Answered(other)),
        }
    }

    /// While keys are being replaced the edge may know only one of ours: all are tried, the first first.
    async fn post(&self, to: &Uri, news: &impl Serialize) -> Result<HeaderMap, LinkError> {
        let body = serde_json::to_vec(news).map_err(|error| LinkError::Unwritable(error.to_string()))?;
        for key in &self.keys {
            let headers = self.signed(to, key, &body)?;
            let said = self.client.post(to, headers, body.clone(), self.within).await?;
            match said.status {
                StatusCode::NO_CONTENT => return Ok(said.headers),
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
            .map_err(|_| LinkError::Unwritable("the signature is no header value".to_owned()))?;
        Ok(HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static(headers::JSON)),
            (HeaderName::from_static(headers::ASSERTION), value),
            (HeaderName::from_static(headers::PRINCIPAL), HeaderValue::from_static(ORIGIN)),
        ]))
    }
}
