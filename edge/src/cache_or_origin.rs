//! Selects the source of a response: a fresh cached response, the origin, or a stale cached response while the origin fails.

use crate::cache::{Condition, Entry, policy};
use crate::origin_link::signed_call::{OriginAnswer, ReadHeaders};
use crate::pipeline::{OriginRequest, RequestContext};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content, Served};
use crate::tag_versions::withheld;
use rds_shared::route::{Route, RouteId, TagVersions};
use rds_shared::wire::headers::{self, XCache};
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use std::rc::Rc;

/// The edge's name in `Cache-Status`.
pub(crate) const EDGE: &str = "rds-edge";

/// A request that got no usable answer from the origin.
pub(crate) enum Failure {
    /// The breaker is open; the origin was not called.
    HeldOff { retry_after: u32 },
    /// The origin did not answer in time.
    Timeout,
    /// The origin could not be reached, or something else answered in its place.
    Unreachable,
    /// The origin answered with an error of its own.
    Unable(OriginAnswer),
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// The response of a cached route.
    pub(crate) async fn kept(&self, asked: &OriginRequest) -> Answer {
        self.hold_lease().await;
        if self.is_closed(asked.route) {
            return self.closed(asked).await;
        }
        let now = self.host.now();
        let is_fresh = |copy: &&Rc<Entry>| copy.condition(now, &self.known(asked.route)) == Condition::Fresh;
        let mut copy = self.remembered(asked, now);
        if let Some(copy) = copy.as_ref().filter(is_fresh) {
            return hit(copy, now);
        }
        if let Some(answer) = self.current_answer(asked, copy.as_ref()).await {
            return answer;
        }
        // While the breaker is open and a stale response is available, another isolate's cached response would be no newer.
        let has_stale = copy.is_some() || self.has_stale_rows(asked);
        if !has_stale || !self.isolate.breaker.borrow().is_open(self.host.now()) {
            copy = self.newer(asked, copy).await;
            if let Some(copy) = copy.as_ref().filter(|copy| is_fresh(copy) && !self.is_closed(asked.route)) {
                return hit(copy, now);
            }
        }
        let known = self.isolate.tag_lease.borrow().known();
        match self.ask(asked, copy.as_deref(), &known.only(asked.route.tags)).await {
            Ok(answer) => match (self.keep(asked, answer, copy, &known), self.is_closed(asked.route)) {
                // Fail-closed mode became known during the call.
                (Answer::Content(Content { status: ..400, .. }), true) => Answer::Error(ErrorCode::FailClosed.into()),
                (answer, _) => answer,
            },
            Err(failure) if asked.route.id == RouteId::Status => self.status_unavailable(&failure),
            Err(failure) if asked.route.scores && failure.is_fail_closed() => {
                self.forget(asked);
                self.failed(failure, XCache::Miss)
            }
            Err(_) if self.is_closed(asked.route) => Answer::Error(ErrorCode::FailClosed.into()),
            Err(failure) => self.stale_if_error(asked, copy, failure),
        }
    }

    /// The stale response, if one may be served, for a failed request. Uses the tag versions known now, because other requests may have
    /// recorded newer ones during the call.
    fn stale_if_error(&self, asked: &OriginRequest, copy: Option<Rc<Entry>>, failure: Failure) -> Answer {
        let known = self.known(asked.route);
        let copy = copy.filter(|copy| !asked.route.cache.withdrawable || copy.covers(&known));
        if let Some(answer) = self.stale_from_replica(asked, copy.as_deref(), &failure) {
            return answer;
        }
        match copy.filter(|copy| !self.may_show_withheld(copy, &known)) {
            Some(copy) => stale(&copy, &failure, self.host.now(), &known),
            None => self.failed(failure, XCache::Miss),
        }
    }

    /// Whether a cached response may contain data of a chain that was withheld after it was made. Only the origin can answer without it then.
    fn may_show_withheld(&self, copy: &Entry, known: &TagVersions) -> bool {
        let lease = self.isolate.tag_lease.borrow();
        let withheld = lease.withheld();
        !withheld.chains.is_empty() && copy.tags.of(withheld::TAG) < withheld.since() && !copy.covers(known)
    }

    /// The tag versions of `route` that this isolate knows.
    pub(crate) fn known(&self, route: &Route) -> TagVersions {
        self.isolate.tag_lease.borrow().known().only(route.tags)
    }

    /// The response of an uncached route: always from the origin.
    pub(crate) async fn passed_through(&self, asked: &OriginRequest) -> Answer {
        match self.ask(asked, None, &TagVersions::default()).await {
            Ok(answer) => hand_on(answer, XCache::Bypass),
            Err(failure) => self.failed(failure, XCache::Bypass),
        }
    }

    /// Opens a stream at the origin, or returns the origin's refusal.
    pub(crate) async fn streamed(&self, asked: &OriginRequest) -> Answer {
        if self.inbound.method() == "HEAD" {
            // The origin is not called: it would open a stream that nobody reads.
            return Answer::Stream(ReadHeaders::read(stream_header));
        }
        match self.ask(asked, None, &TagVersions::default()).await {
            Ok(answer) if answer.is_stream() => Answer::Stream(ReadHeaders::from(&answer)),
            Ok(answer) if answer.status < 400 => self.failed(Failure::Unreachable, XCache::Bypass),
            Ok(answer) => hand_on(answer, XCache::Bypass),
            Err(failure) => self.failed(failure, XCache::Bypass),
        }
    }

    /// This isolate's cached response, unless it has expired entirely.
    fn remembered(&self, asked: &OriginRequest, now: Timestamp) -> Option<Rc<Entry>> {
        let mut memory = self.isolate.memory.borrow_mut();
        let copy = memory.get(&asked.key)?;
        if copy.is_expired(now) {
            memory.remove(&asked.key);
            return None;
        }
        Some(copy)
    }

    /// The data centre's cached response if the origin confirmed it later than `ours`, else `ours`.
    async fn newer(&self, asked: &OriginRequest, ours: Option<Rc<Entry>>) -> Option<Rc<Entry>> {
        let now = self.host.now();
        let found = self.host.load(&asked.key).await.filter(|found| !found.is_expired(now));
        match (found, ours) {
            (Some(found), Some(ours)) if !found.is_newer_than(&ours) => Some(ours),
            (Some(found), _) => {
                let found = Rc::new(found);
                self.isolate.memory.borrow_mut().insert(&asked.key, Rc::clone(&found));
                Some(found)
            }
            (None, ours) => ours,
        }
    }

    /// Serves the origin's answer, and stores it or removes the cached response. `known` are the tag versions known before the call.
    pub(crate) fn keep(
        &self,
        asked: &OriginRequest,
        answer: OriginAnswer,
        copy: Option<Rc<Entry>>,
        known: &TagVersions,
    ) -> Answer {
        let now = self.host.now();
        let lifetime = policy::lifetime(asked.route, &answer);
        // Store the versions that the origin stated: the answer may predate a change that this isolate recorded during the call.
        let mut tags = self.record_tag_versions(asked.route, &answer);
        // An answer with every change known before the call also has the withholdings known then, by which a response of any route is judged.
        if tags.covers(&known.only(asked.route.tags)) {
            tags.raise(withheld::TAG, known.of(withheld::TAG));
        }
        match (lifetime, copy) {
            (_, Some(copy)) if answer.status == 304 => {
                let fresher = ReadHeaders::from(&answer);
                let renewed = policy::consent(asked.route, &answer);
                let confirmed = Rc::new(copy.confirmed(fresher, renewed, tags, now));
                self.remember(asked, &confirmed);
                let how = format!("{EDGE}; fwd=stale; fwd-status=304; stored");
                Answer::Content(copied(&confirmed, now, XCache::Hit, how))
            }
            (Some(lifetime), _) => {
                let entry = Rc::new(Entry::new(ReadHeaders::from(&answer), answer.body, lifetime, tags, now));
                self.remember(asked, &entry);
                Answer::Content(Content {
                    status: answer.status,
                    headers: entry.headers.clone(),
                    body: entry.body(now),
                    served: Served {
                        x_cache: XCache::Miss,
                        age: None,
                        cache_status: format!("{EDGE}; fwd=miss; fwd-status={}; stored", answer.status),
                        is_outdated: false,
                    },
                })
            }
            (None, copy) => {
                if copy.is_some() {
                    self.forget(asked);
                }
                hand_on(answer, XCache::Miss)
            }
        }
    }

    fn remember(&self, asked: &OriginRequest, entry: &Rc<Entry>) {
        self.isolate.memory.borrow_mut().insert(&asked.key, Rc::clone(entry));
        self.host.store(&asked.key, entry);
    }

    fn forget(&self, asked: &OriginRequest) {
        self.isolate.memory.borrow_mut().remove(&asked.key);
        self.host.forget(&asked.key);
    }

    /// The error response for a failed request without a stale response.
    fn failed(&self, failure: Failure, x_cache: XCache) -> Answer {
        let error: ApiError = match failure {
            Failure::Unable(answer) => return hand_on(answer, x_cache),
            Failure::Timeout => ErrorCode::DeadlineExceeded.into(),
            Failure::Unreachable => ErrorCode::ServiceUnavailable.into(),
            Failure::HeldOff { retry_after } => ApiError::from(ErrorCode::ServiceUnavailable).retry_after(retry_after),
        };
        Answer::Error(error)
    }
}

/// The headers of a stream, for HEAD.
fn stream_header(name: &str) -> Option<String> {
    match name {
        "content-type" => Some(headers::EVENT_STREAM.to_owned()),
        "cache-control" => Some(headers::NO_STORE_NO_TRANSFORM.to_owned()),
        _ => None,
    }
}

fn hit(copy: &Entry, now: Timestamp) -> Answer {
    let how = format!("{EDGE}; hit; ttl={}", copy.lifetime.ttl(copy.age(now)));
    Answer::Content(copied(copy, now, XCache::Hit, how))
}

/// The stale-if-error response (RFC 5861). It is marked as outdated if it lacks changes in `known`.
fn stale(copy: &Entry, failure: &Failure, now: Timestamp, known: &TagVersions) -> Answer {
    let ttl = copy.lifetime.ttl(copy.age(now));
    let how = attempt(failure);
    let mut content =
        copied(copy, now, XCache::StaleError, format!("{EDGE}; {how}; ttl={ttl}; detail=\"stale-if-error\""));
    content.served.is_outdated = !copy.covers(known);
    Answer::Content(content)
}

/// What was tried before a stale response, for `Cache-Status`.
pub(crate) fn attempt(failure: &Failure) -> String {
    match failure {
        Failure::HeldOff { .. } => "hit".to_owned(),
        Failure::Timeout | Failure::Unreachable => "fwd=stale".to_owned(),
        Failure::Unable(answer) => format!("fwd=stale; fwd-status={}", answer.status),
    }
}

fn copied(copy: &Entry, now: Timestamp, x_cache: XCache, cache_status: String) -> Content {
    Content {
        status: 200,
        headers: copy.headers.clone(),
        body: copy.body(now),
        served: Served { x_cache, age: Some(copy.age(now)), cache_status, is_outdated: false },
    }
}

/// Passes the origin's answer on without caching it.
fn hand_on(answer: OriginAnswer, x_cache: XCache) -> Answer {
    let how = if x_cache == XCache::Bypass { "bypass" } else { "miss" };
    let cache_status = format!("{EDGE}; fwd={how}; fwd-status={}", answer.status);
    let served = Served { x_cache, age: None, cache_status, is_outdated: false };
    let headers = ReadHeaders::from(&answer);
    Answer::Content(Content { status: answer.status, headers, body: answer.body.into(), served })
}
