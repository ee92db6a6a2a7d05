//! `GET /ready` at the edge: the origin's word on itself, and this isolate's own on the stores that it leans on.
//!
//! Those are the objects that count and that keep the versions of tags. While one of them gives no answer, counters and copies of
//! this isolate stand in for it, all of them bounded: the field `cache` is `open` then. It is never a reason not to be ready.
//!
//! Source: interface, "Health and status records".

use crate::epochs::lease::State;
use crate::pipeline::{Asked, Walk};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content};
use rds_shared::model::health::CacheBreaker;
use rds_shared::wire::{ApiError, ErrorCode};
use serde_json::{Map, Value};

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// The origin's answer with the edge's field in it.
    pub(crate) async fn ready(&self, asked: &Asked) -> Answer {
        self.hold_lease().await;
        let cache = self.stores();
        match self.probed(asked).await {
            Answer::Content(content) => match told(&content.body, cache) {
                Some(body) => Answer::Content(Content { body: body.into(), ..content }),
                None => Answer::Content(content),
            },
            other => other,
        }
    }

    /// The origin's word on how it does: 503 where it gives none in time. Source: interface, "Identity, health and status".
    pub(crate) async fn probed(&self, asked: &Asked) -> Answer {
        match self.passed_through(asked).await {
            Answer::Error(ApiError { code: ErrorCode::DeadlineExceeded, .. }) => {
                Answer::Error(ErrorCode::ServiceUnavailable.into())
            }
            other => other,
        }
    }

    /// Whether the stores answer, as far as this isolate knows.
    fn stores(&self) -> CacheBreaker {
        let now = self.host.now();
        let has_lease = self.isolate.epochs.borrow().state(now) == State::Held;
        let counts_here = self.isolate.guards.stand_in.borrow().is_used(now.as_seconds());
        if has_lease && !counts_here { CacheBreaker::Closed } else { CacheBreaker::Open }
    }
}

/// The record with `cache` in it; none where `body` is no such record.
fn told(body: &[u8], cache: CacheBreaker) -> Option<Vec<u8>> {
    let mut record: Map<String, Value> = serde_json::from_slice(body).ok()?;
    *record.get_mut("cache")? = cache.as_str().into();
    serde_json::to_vec(&record).ok()
}
