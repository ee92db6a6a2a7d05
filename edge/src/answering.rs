//! Where an answer comes from: a fresh copy, the origin, or the last good copy when the origin cannot be read.

use crate::cache::{Condition, Entry, policy};
use crate::origin::{OriginAnswer, Passed};
use crate::pipeline::{Asked, Walk};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content, Served};
use rds_shared::route::{Route, RouteId, TagVersions};
use rds_shared::wire::headers::{self, XCache};
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use std::rc::Rc;

/// The edge's name in `Cache-Status`.
const EDGE: &str = "rds-edge";

/// A read that gave no answer of the origin's.
pub(crate) enum Failure {
    /// The breaker is open; the origin was not asked.
    HeldOff { retry_after: u32 },
    /// It was asked and said nothing in time.
    Timeout,
    /// It could not be reached, or something else answered in its place.
    Unreachable,
    /// It answered that it cannot answer.
    Unable(OriginAnswer),
}

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// The answer on a route whose answers are kept.
    pub(crate) async fn kept(&self, asked: &Asked) -> Answer {
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
        // With a stand-in at hand and the origin known to be away, another isolate's copy would be no better.
        if copy.is_none() || !self.isolate.breaker.borrow().is_open(now) {
            copy = self.newer(asked, copy).await;
            if let Some(copy) = copy.as_ref().filter(|copy| is_fresh(copy) && !self.is_closed(asked.route)) {
                return hit(copy, now);
            }
        }
        match self.ask(asked, copy.as_deref(), &self.known(asked.route)).await {
            Ok(answer) => match (self.keep(asked, answer, copy), self.is_closed(asked.route)) {
                // It was on its way when the closure was heard of.
                (Answer::Content(Content { status: ..400, .. }), true) => Answer::Error(ErrorCode::FailClosed.into()),
                (answer, _) => answer,
            },
            Err(failure) if asked.route.id == RouteId::Status => self.untold(&failure),
            Err(failure) if asked.route.scores && failure.is_fail_closed() => {
                self.forget(asked);
                self.failed(failure, XCache::Miss)
            }
            Err(_) if self.is_closed(asked.route) => Answer::Error(ErrorCode::FailClosed.into()),
            Err(failure) => self.stand_in(asked, copy, failure),
        }
    }

    /// What stands in for a read that failed, by what this isolate knows by now: other requests hear while this one waits.
    fn stand_in(&self, asked: &Asked, copy: Option<Rc<Entry>>, failure: Failure) -> Answer {
        let known = self.known(asked.route);
        match copy.filter(|copy| !asked.route.cache.withdrawable || copy.covers(&known)) {
            Some(copy) => stale(&copy, &failure, self.host.now(), &known),
            None => self.failed(failure, XCache::Miss),
        }
    }

    /// The versions of the facts behind `route` that this isolate knows of.
    fn known(&self, route: &Route) -> TagVersions {
        self.isolate.epochs.borrow().known().only(route.tags)
    }

    /// The answer on a route that is asked of the origin every time.
    pub(crate) async fn passed_through(&self, asked: &Asked) -> Answer {
        match self.ask(asked, None, &TagVersions::default()).await {
            Ok(answer) => hand_on(answer, XCache::Bypass),
            Err(failure) => self.failed(failure, XCache::Bypass),
        }
    }

    /// A stream of the origin's, or its word why there is none.
    pub(crate) async fn streamed(&self, asked: &Asked) -> Answer {
        if self.inbound.method() == "HEAD" {
            // It would open a stream for nobody.
            return Answer::Stream(Passed::read(stream_header));
        }
        match self.ask(asked, None, &TagVersions::default()).await {
            Ok(answer) if answer.is_stream() => Answer::Stream(Passed::from(&answer)),
            Ok(answer) if answer.status < 400 => self.failed(Failure::Unreachable, XCache::Bypass),
            Ok(answer) => hand_on(answer, XCache::Bypass),
            Err(failure) => self.failed(failure, XCache::Bypass),
        }
    }

    /// The isolate's copy, unless it is past all use.
    fn remembered(&self, asked: &Asked, now: Timestamp) -> Option<Rc<Entry>> {
        let mut memory = self.isolate.memory.borrow_mut();
        let copy = memory.get(&asked.key)?;
        if copy.is_expired(now) {
            memory.remove(&asked.key);
            return None;
        }
        Some(copy)
    }

    /// The data centre's copy if the origin vouched for it later than for `ours`, else `ours`.
    async fn newer(&self, asked: &Asked, ours: Option<Rc<Entry>>) -> Option<Rc<Entry>> {
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

    /// Serves what the origin said, and keeps it or lets go of what was kept.
    pub(crate) fn keep(&self, asked: &Asked, answer: OriginAnswer, copy: Option<Rc<Entry>>) -> Answer {
        let now = self.host.now();
        let lifetime = policy::lifetime(asked.route, &answer);
        // The origin's word and not what we knew when we asked: the answer may be of before a change that was made meanwhile.
        let tags = self.hear(asked.route, &answer);
        match (lifetime, copy) {
            (_, Some(copy)) if answer.status == 304 => {
                let fresher = Passed::from(&answer);
                let renewed = policy::consent(asked.route, &answer);
                let confirmed = Rc::new(copy.confirmed(fresher, renewed, tags, now));
                self.remember(asked, &confirmed);
                let how = format!("{EDGE}; fwd=stale; fwd-status=304; stored");
                Answer::Content(copied(&confirmed, now, XCache::Hit, how))
            }
            (Some(lifetime), _) => {
                let entry = Rc::new(Entry::new(Passed::from(&answer), answer.body, lifetime, tags, now));
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

    fn remember(&self, asked: &Asked, entry: &Rc<Entry>) {
        self.isolate.memory.borrow_mut().insert(&asked.key, Rc::clone(entry));
        self.host.store(&asked.key, entry);
    }

    fn forget(&self, asked: &Asked) {
        self.isolate.memory.borrow_mut().remove(&asked.key);
        self.host.forget(&asked.key);
    }

    /// What is left to say when the origin cannot be read and nothing stands in for it.
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

/// The headers that a stream has, without the stream.
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

/// The last good copy, where changes up to `known` are known. Source: interface, "Common behaviors", 1.
fn stale(copy: &Entry, failure: &Failure, now: Timestamp, known: &TagVersions) -> Answer {
    let ttl = copy.lifetime.ttl(copy.age(now));
    let how = match failure {
        Failure::HeldOff { .. } => "hit".to_owned(),
        Failure::Timeout | Failure::Unreachable => "fwd=stale".to_owned(),
        Failure::Unable(answer) => format!("fwd=stale; fwd-status={}", answer.status),
    };
    let mut content =
        copied(copy, now, XCache::StaleError, format!("{EDGE}; {how}; ttl={ttl}; detail=\"stale-if-error\""));
    content.served.is_outdated = !copy.covers(known);
    Answer::Content(content)
}

fn copied(copy: &Entry, now: Timestamp, x_cache: XCache, cache_status: String) -> Content {
    Content {
        status: 200,
        headers: copy.headers.clone(),
        body: copy.body(now),
        served: Served { x_cache, age: Some(copy.age(now)), cache_status, is_outdated: false },
    }
}

/// The origin's words as they came, kept by nobody.
fn hand_on(answer: OriginAnswer, x_cache: XCache) -> Answer {
    let how = if x_cache == XCache::Bypass { "bypass" } else { "miss" };
    let cache_status = format!("{EDGE}; fwd={how}; fwd-status={}", answer.status);
    let served = Served { x_cache, age: None, cache_status, is_outdated: false };
    let headers = Passed::from(&answer);
    Answer::Content(Content { status: answer.status, headers, body: answer.body.into(), served })
}
