//! Answers from the replica's rows: current ones without the origin, stale ones while the origin fails.

use super::held::{Held, Model, lifetime};
use crate::cache::policy::Lifetime;
use crate::cache::{Condition, Entry};
use crate::cache_or_origin::{EDGE, Failure, attempt};
use crate::origin_link::signed_call::ReadHeaders;
use crate::pipeline::{OriginRequest, RequestContext};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content, Served};
use crate::tag_versions::withheld;
use core::time::Duration;
use rds_shared::read_model::request::Request;
use rds_shared::read_model::response::{Body, Response};
use rds_shared::read_model::{self, ReadModel};
use rds_shared::replica::Families;
use rds_shared::route::TagVersions;
use rds_shared::route::unknown::unknown_values;
use rds_shared::wire::headers::XCache;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use std::rc::Rc;

/// The replica's name in `Cache-Status`.
const REPLICA: &str = "rds-replica";
/// Poll interval while a question is out: doubled each time, up to the maximum.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(8);

/// A response of the read model as an answer's parts.
struct Made {
    headers: ReadHeaders,
    /// `None` if the copy is still what the rows give.
    body: Option<Rc<[u8]>>,
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// The answer made from current rows, if this isolate has them or gets them in time. A cached `copy` that is equal to it is confirmed.
    pub(crate) async fn current_answer(&self, asked: &OriginRequest, copy: Option<&Rc<Entry>>) -> Option<Answer> {
        if !read_model::serves(asked.route.id) || !self.host.has_replica() {
            return None;
        }
        let families = read_model::families_of(asked.route.id, &asked.query);
        self.isolate.replica.borrow_mut().usage.note(families, self.host.now());
        let (held, model) = self.current_rows(asked, families).await?;
        if self.is_closed(asked.route) {
            return None;
        }
        let now = self.host.now();
        let tags = held.stamp.tags.only(asked.route.tags);
        Some(match self.made(asked, model.get(), copy.map(Rc::as_ref), tags, now) {
            Err(error) => Answer::Error(error),
            Ok(made) => self.answered(asked, &held, copy, made, now),
        })
    }

    fn answered(
        &self,
        asked: &OriginRequest,
        held: &Held,
        copy: Option<&Rc<Entry>>,
        Made { headers, body }: Made,
        now: Timestamp,
    ) -> Answer {
        // The age of an answer counts from when it was made from current rows; its freshness ends when that of the rows does.
        let old = u32::try_from(held.age(now)).unwrap_or(u32::MAX);
        let Lifetime { fresh, stale_if_error } = lifetime(asked.route);
        let lifetime = Lifetime { fresh: fresh.saturating_sub(old), stale_if_error };
        let tags = held.stamp.tags.only(asked.route.tags).with(withheld::TAG, held.stamp.tags.of(withheld::TAG));
        let (entry, served) = match (body, copy) {
            (None, Some(copy)) => {
                let entry = copy.confirmed(headers, Some(lifetime), tags, now);
                let cache_status = format!("{REPLICA}; hit, {EDGE}; fwd=stale; fwd-status=304; stored");
                let age = Some(entry.age(now));
                (entry, Served { x_cache: XCache::Hit, age, cache_status, is_outdated: false })
            }
            (body, _) => {
                let body = body.unwrap_or_else(|| Rc::from([]));
                let entry = Entry::of_replica(headers, body, lifetime, tags, now);
                let cache_status = format!("{REPLICA}; hit, {EDGE}; fwd=miss; stored");
                (entry, Served { x_cache: XCache::Miss, age: None, cache_status, is_outdated: false })
            }
        };
        let content = Content { status: 200, headers: entry.headers.clone(), body: entry.body(now), served };
        self.isolate.memory.borrow_mut().insert(&asked.key, Rc::new(entry));
        Answer::Content(content)
    }

    /// Rows that include every known change, waiting for a question that is out if it may bring them.
    ///
    /// The question belongs to another request whose future must not be awaited, so each request polls with its own timer.
    async fn current_rows(&self, asked: &OriginRequest, families: Families) -> Option<(Rc<Held>, Model)> {
        let (mut interval, mut waited) = (MIN_POLL_INTERVAL, Duration::ZERO);
        loop {
            if self.isolate.replica.borrow().lacks(families) {
                return None;
            }
            if let Some(held) = self.held_in(asked, families, &[Condition::Fresh]) {
                return self.with_model(asked, held);
            }
            self.begin_refresh();
            if waited >= self.config.guard_timeout {
                self.isolate.replica.borrow_mut().timing.gave_up();
            }
            if !self.isolate.replica.borrow().timing.is_promising() {
                return None;
            }
            self.host.wait(interval).await;
            waited = waited.saturating_add(interval);
            interval = interval.saturating_mul(2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Asks for an update in the background, unless a question is out or one has failed just now.
    fn begin_refresh(&self) {
        let now = self.host.now();
        let begins = self.isolate.replica.borrow_mut().timing.begin(now);
        if begins {
            self.host.refresh_replica(now);
        }
    }

    /// The rows held, if they have these families and are in one of these conditions for the request's route.
    fn held_in(&self, asked: &OriginRequest, families: Families, wanted: &[Condition]) -> Option<Rc<Held>> {
        let held = self.isolate.replica.borrow().held_with(families).map(Rc::clone)?;
        wanted.contains(&held.condition(asked.route, self.host.now(), &self.known(asked.route))).then_some(held)
    }

    /// The rows with the model for the request's route, without chains that were withheld since.
    fn with_model(&self, asked: &OriginRequest, held: Rc<Held>) -> Option<(Rc<Held>, Model)> {
        let model = held.model(asked.route.id, self.isolate.tag_lease.borrow().withheld())?;
        Some((held, model))
    }

    /// Whether a stale answer can be made from rows if the origin fails.
    pub(crate) fn has_stale_rows(&self, asked: &OriginRequest) -> bool {
        self.stale_rows(asked).is_some()
    }

    fn stale_rows(&self, asked: &OriginRequest) -> Option<(Rc<Held>, Model)> {
        if !read_model::serves(asked.route.id) || !self.host.has_replica() {
            return None;
        }
        let families = read_model::families_of(asked.route.id, &asked.query);
        let held = self.held_in(asked, families, &[Condition::Fresh, Condition::Stale])?;
        let is_served = !asked.route.cache.withdrawable || held.stamp.tags.covers(&self.known(asked.route));
        self.with_model(asked, held).filter(|_| is_served)
    }

    /// The stale answer made from rows after a failed call to the origin. `None` if `copy` is newer, or if the rows give no answer.
    pub(crate) fn stale_from_replica(
        &self,
        asked: &OriginRequest,
        copy: Option<&Entry>,
        failure: &Failure,
    ) -> Option<Answer> {
        let (held, model) = self.stale_rows(asked)?;
        let (now, known) = (self.host.now(), self.known(asked.route));
        let shows_withheld = matches!(model, Model::Masked(_)) && copy.is_some_and(|copy| !copy.covers(&known));
        if copy.is_some_and(|copy| copy.confirmed_at() >= held.confirmed_at) && !shows_withheld {
            return None;
        }
        let tags = held.stamp.tags.only(asked.route.tags);
        let made = match self.made(asked, model.get(), None, tags, now) {
            Ok(made) => made,
            // The origin may know by now what these rows lack.
            Err(error) if error.code == ErrorCode::NotFound => return None,
            Err(error) => return Some(Answer::Error(error)),
        };
        let age = held.age(now);
        let ttl = lifetime(asked.route).ttl(age);
        let how = attempt(failure);
        Some(Answer::Content(Content {
            status: 200,
            headers: made.headers,
            body: made.body?,
            served: Served {
                x_cache: XCache::StaleError,
                age: Some(age),
                cache_status: format!("{REPLICA}; hit, {EDGE}; {how}; ttl={ttl}; detail=\"stale-if-error\""),
                is_outdated: !held.stamp.tags.covers(&known),
            },
        }))
    }

    /// What `model` answers to the request.
    fn made(
        &self,
        asked: &OriginRequest,
        model: &ReadModel,
        copy: Option<&Entry>,
        tags: TagVersions,
        now: Timestamp,
    ) -> Result<Made, ApiError> {
        let unknown = unknown_values(&asked.query, |registry, name| model.registries.knows(registry, name));
        let request = Request {
            found: &asked.found,
            query: &asked.query,
            unknown_values: unknown.as_deref(),
            principal: &asked.principal,
            if_none_match: copy.and_then(|copy| copy.headers.get("etag")),
            now,
        };
        read_model::check(&request)?;
        // Every route that gets here is one of the read model's.
        let response =
            read_model::answer(model, request).unwrap_or_else(|| Err(ErrorCode::ServiceUnavailable.into()))?;
        let mut fields = Vec::with_capacity(8);
        response.head(tags, unknown).write(Some(asked.route), |field, value| fields.push((field.name(), value)));
        let headers = ReadHeaders::read(|name| {
            fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone().into_owned())
        });
        Ok(Made { headers, body: bytes(response) })
    }
}

fn bytes(response: Response) -> Option<Rc<[u8]>> {
    Some(match response.body? {
        Body::Built(bytes) => bytes.into(),
        Body::Preencoded(body) => Rc::from(body.bytes()),
    })
}
