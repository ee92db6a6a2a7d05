//! `GET /ready` at the edge: the origin's readiness, plus whether this isolate reaches the Durable Objects.
//!
//! While the Durable Objects of rate limits or tag versions do not answer, this isolate uses its fallback limiter and its cached responses,
//! and the field `cache` is `open`. An `open` field never makes the service unready.

use crate::pipeline::{OriginRequest, RequestContext};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content};
use crate::tag_versions::lease::State;
use rds_shared::model::health::CacheBreaker;
use rds_shared::wire::{ApiError, ErrorCode};
use serde_json::{Map, Value};

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// The origin's answer with the edge's value in the field `cache`.
    pub(crate) async fn ready(&self, asked: &OriginRequest) -> Answer {
        self.hold_lease().await;
        let cache = self.stores();
        match self.probed(asked).await {
            Answer::Content(content) => match with_cache_field(&content.body, cache) {
                Some(body) => Answer::Content(Content { body: body.into(), ..content }),
                None => Answer::Content(content),
            },
            other => other,
        }
    }

    /// The origin's answer about its health; a timeout becomes 503.
    pub(crate) async fn probed(&self, asked: &OriginRequest) -> Answer {
        match self.passed_through(asked).await {
            Answer::Error(ApiError { code: ErrorCode::DeadlineExceeded, .. }) => {
                Answer::Error(ErrorCode::ServiceUnavailable.into())
            }
            other => other,
        }
    }

    /// `closed` if the Durable Objects answer, as far as this isolate knows.
    fn stores(&self) -> CacheBreaker {
        let now = self.host.now();
        let has_lease = self.isolate.tag_lease.borrow().state(now) == State::Held;
        let uses_fallback = self.isolate.guards.fallback.borrow().is_used(now.as_seconds());
        if has_lease && !uses_fallback { CacheBreaker::Closed } else { CacheBreaker::Open }
    }
}

/// Sets the field `cache` in the record; `None` if `body` has no such field.
fn with_cache_field(body: &[u8], cache: CacheBreaker) -> Option<Vec<u8>> {
    let mut record: Map<String, Value> = serde_json::from_slice(body).ok()?;
    *record.get_mut("cache")? = cache.as_str().into();
    serde_json::to_vec(&record).ok()
}
