//! The steps of a proxied request: a fresh cached response, the origin, or a stale cached response.

use crate::cache::directives::Directives;
use crate::cache::entry::Headers;
use crate::cache::fields::Fields;
use crate::cache::range::{self, Part};
use crate::cache::shared::Exchange;
use crate::cache::variants::{Selection, Variant, Variants};
use crate::cache::{Condition, Entry, Memory, conditional, http_date, invalidation, policy};
use rds_shared::route::TagVersions;
use rds_shared::wire::Timestamp;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// A request with its end-to-end fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
}

/// A complete answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
}

/// What the proxy needs from its host.
pub(crate) trait Upstream: Clone + 'static {
    /// Host and port of the origin.
    fn host(&self) -> String;
    fn now(&self) -> Timestamp;
    /// The origin's answer, if any.
    fn ask(&self, asked: &Question) -> impl Future<Output = Option<Reply>>;
    /// Runs work after the answer was sent.
    fn later(&self, work: impl Future<Output = ()> + 'static);
}

/// The cached responses and the upstream.
#[derive(Debug, Clone)]
pub(crate) struct Proxy<U> {
    pub(crate) copies: Rc<RefCell<Memory<Variants>>>,
    pub(crate) upstream: U,
}

impl<U: Upstream> Proxy<U> {
    pub(crate) async fn answer(&self, asked: &Question) -> Reply {
        if !matches!(asked.method.as_str(), "GET" | "HEAD") {
            return self.passed_through(asked).await;
        }
        let now = self.upstream.now();
        let found = self.variants(&asked.target).find(&asked.fields);
        let judged = found.map(|copy| (conditional::condition(&asked.fields, &copy.entry, now), copy));
        match judged {
            Some((Condition::Fresh, copy)) => self.served(&copy, asked, "hit"),
            Some((Condition::Lagging, copy)) => {
                self.refresh_later(asked, &copy);
                self.served(&copy, asked, "hit; detail=\"stale-while-revalidate\"")
            }
            _ if is_only_if_cached(asked) => failure(504),
            Some((Condition::Stale | Condition::Spent, copy)) if asked.method == "HEAD" => {
                self.described(asked, &copy).await
            }
            Some((condition @ (Condition::Stale | Condition::Spent), copy)) => {
                self.renewed(asked, &copy, condition).await
            }
            Some((Condition::Expired, _)) | None => self.fetched(asked).await,
        }
    }

    /// Answers a method that is never served from the cache, and invalidates what it may have changed.
    async fn passed_through(&self, asked: &Question) -> Reply {
        let Some(said) = self.upstream.ask(asked).await else { return failure(502) };
        if !invalidation::is_safe(&asked.method) {
            for target in invalidation::outdated(&self.upstream.host(), &asked.target, said.status, &said.fields) {
                self.copies.borrow_mut().remove(&target);
            }
        }
        handed_on(said)
    }

    /// The origin's answer to the caller's own conditions; cached if allowed.
    async fn fetched(&self, asked: &Question) -> Reply {
        let asked_at = self.upstream.now();
        let Some(said) = self.upstream.ask(asked).await else { return failure(502) };
        self.keep(asked, &said, asked_at);
        handed_on(said)
    }

    /// The cached response if the origin confirms it, else the origin's new answer.
    async fn renewed(&self, asked: &Question, copy: &Variant, condition: Condition) -> Reply {
        let asked_at = self.upstream.now();
        let mut plain = asked.clone();
        plain.fields = conditional::confirming(asked.fields.clone(), &copy.entry.headers);
        let said = self.upstream.ask(&plain).await;
        match said {
            Some(said) if said.status == 304 => {
                if !conditional::confirms(&said.fields, &copy.entry.headers) {
                    // The 304 is about another version, so only a full response helps.
                    self.forget(asked);
                    return self.fetched(asked).await;
                }
                let copy = self.confirm(asked, copy, said.fields, asked_at);
                self.served(&copy, asked, "fwd=stale; fwd-status=304")
            }
            None | Some(Reply { status: 500 | 502..=504, .. }) if condition == Condition::Stale => {
                self.served(copy, asked, "fwd=stale; detail=\"stale-if-error\"")
            }
            None => failure(502),
            Some(said) => {
                self.keep(asked, &said, asked_at);
                let fields = said.fields.clone().end_to_end();
                if conditional::is_unchanged(&asked.fields, said.status, &fields, self.upstream.now()) {
                    return unchanged(fields);
                }
                handed_on(said)
            }
        }
    }

    /// Answers HEAD from the origin, and updates or invalidates the cached response (RFC 9111, section 4.3.5).
    async fn described(&self, asked: &Question, copy: &Variant) -> Reply {
        let asked_at = self.upstream.now();
        let Some(said) = self.upstream.ask(asked).await else { return failure(502) };
        match said.status {
            200 if conditional::describes(&said.fields, &copy.entry.headers) => {
                self.confirm(asked, copy, said.fields.clone(), asked_at);
            }
            304 => {}
            _ => self.forget(asked),
        }
        handed_on(said)
    }

    /// Refreshes a cached response in the background; only the first of concurrent requests does.
    fn refresh_later(&self, asked: &Question, copy: &Rc<Variant>) {
        let (proxy, copy) = (self.clone(), Rc::clone(copy));
        let asked = Question { method: "GET".to_owned(), ..asked.clone() };
        // Until then, or if it fails, the response may only be served stale on errors or after revalidation.
        let mut held = Variant::clone(&copy);
        held.entry.lifetime.stale_while_revalidate = 0;
        let variants = self.variants(&asked.target).with(&asked.fields, held);
        self.copies.borrow_mut().insert(&asked.target, Rc::new(variants));
        self.upstream.later(async move {
            proxy.renewed(&asked, &copy, Condition::Stale).await;
        });
    }

    /// The cached response with the headers of a 304, stored if that is still allowed.
    fn confirm(&self, asked: &Question, copy: &Variant, said: Fields, asked_at: Timestamp) -> Rc<Variant> {
        let now = self.upstream.now();
        let said = dated(said, now);
        let merged = copy.entry.headers.updated(said.clone());
        let exchange = Exchange {
            method: "GET",
            request: &asked.fields,
            status: copy.status,
            response: &merged,
            asked_at,
            answered_at: now,
        };
        let (lifetime, age) = (exchange.lifetime(), exchange.age());
        let selection = Selection::of(&merged.get("vary").unwrap_or_default(), &asked.fields);
        let entry = copy.entry.confirmed(said.without("age"), lifetime, TagVersions::default(), now).of_age(age);
        let confirmed = Variant {
            status: copy.status,
            selection: selection.clone().unwrap_or_else(|| copy.selection.clone()),
            entry,
        };
        match lifetime.and(selection) {
            Some(_) => self.insert(asked, confirmed.clone()),
            None => self.forget(asked),
        }
        Rc::new(confirmed)
    }

    /// Stores an answer in place of the earlier one, or removes the earlier one.
    fn keep(&self, asked: &Question, said: &Reply, asked_at: Timestamp) {
        let answered_at = self.upstream.now();
        let (method, request) = (asked.method.as_str(), &asked.fields);
        let exchange = Exchange { method, request, status: said.status, response: &said.fields, asked_at, answered_at };
        let selection = Selection::of(&said.fields.get("vary").unwrap_or_default(), request);
        let whole = said.body.len() <= policy::MAX_BODY;
        match exchange.lifetime().filter(|_| whole).zip(selection) {
            Some((lifetime, selection)) => {
                let fields = dated(said.fields.clone().end_to_end(), answered_at).without("age");
                let entry = Entry::verbatim(fields, said.body.clone(), lifetime, answered_at).of_age(exchange.age());
                self.insert(asked, Variant { status: said.status, selection, entry });
            }
            // A partial answer, or a 304 to the caller's own condition, does not invalidate the cached response.
            None if method == "GET" && !matches!(said.status, 206 | 304) => self.forget(asked),
            None => {}
        }
    }

    fn variants(&self, target: &str) -> Variants {
        self.copies.borrow_mut().get(target).map(|variants| Variants::clone(&variants)).unwrap_or_default()
    }

    fn insert(&self, asked: &Question, variant: Variant) {
        let variants = self.variants(&asked.target).with(&asked.fields, variant);
        self.copies.borrow_mut().insert(&asked.target, Rc::new(variants));
    }

    fn forget(&self, asked: &Question) {
        let left = self.variants(&asked.target).without(&asked.fields);
        let mut copies = self.copies.borrow_mut();
        match left.is_empty() {
            true => copies.remove(&asked.target),
            false => copies.insert(&asked.target, Rc::new(left)),
        }
    }

    /// An answer from the cache: whole, partial or 304.
    fn served(&self, copy: &Variant, asked: &Question, how: &str) -> Reply {
        let now = self.upstream.now();
        let age = copy.entry.age(now);
        let how = format!("rds-edge; {how}; ttl={}", copy.entry.lifetime.ttl(age));
        let fields = copy.entry.headers.clone().with("age", age.to_string()).with("cache-status", how);
        if conditional::is_unchanged(&asked.fields, copy.status, &fields, now) {
            return unchanged(fields);
        }
        let body = copy.entry.body(now);
        let wanted = asked.fields.get("range").filter(|_| asked.method == "GET" && copy.status == 200);
        // RFC 9110, section 13.1.5: the range applies only if `If-Range` matches strongly.
        let same =
            asked.fields.get("if-range").is_none_or(|tag| !tag.starts_with("W/") && fields.get("etag") == Some(tag));
        let total = body.len();
        match wanted.filter(|_| same).map_or(Part::Whole, |text| range::part(&text, total)) {
            Part::Whole => Reply { status: copy.status, fields, body: body.to_vec() },
            Part::Beyond => {
                let fields = fields.without("content-length").with("content-range", format!("bytes */{total}"));
                Reply { status: 416, fields, body: Vec::new() }
            }
            Part::Bytes(bytes) => {
                let place = format!("bytes {}-{}/{total}", bytes.start, bytes.end.saturating_sub(1));
                let part = body.get(bytes).unwrap_or_default().to_vec();
                let fields = fields.without("content-length").with("content-range", place);
                Reply { status: 206, fields, body: part }
            }
        }
    }
}

fn is_only_if_cached(asked: &Question) -> bool {
    asked.fields.get("cache-control").is_some_and(|text| Directives::of(&text).has("only-if-cached"))
}

/// The origin's answer without hop-by-hop fields.
fn handed_on(said: Reply) -> Reply {
    Reply { fields: said.fields.end_to_end(), ..said }
}

/// A 304 with the fields that describe the cached response but none that describe a body.
fn unchanged(fields: Fields) -> Reply {
    let describes_a_body = |name: &str| name.starts_with("content-") && name != "content-location";
    let lines = fields.iter().filter(|(name, _)| !describes_a_body(name));
    let fields = Fields::of(lines.map(|(name, value)| (name.to_owned(), value.to_owned())));
    Reply { status: 304, fields, body: Vec::new() }
}

/// A recipient adds a missing `Date` before it stores an answer (RFC 9110, section 6.6.1).
fn dated(fields: Fields, now: Timestamp) -> Fields {
    match fields.get("date") {
        Some(_) => fields,
        None => fields.with("date", http_date::write(now)),
    }
}

fn failure(status: u16) -> Reply {
    let fields = Fields::of([("cache-control".to_owned(), "no-store".to_owned())]);
    Reply { status, fields, body: Vec::new() }
}
