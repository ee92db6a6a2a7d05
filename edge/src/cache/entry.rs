//! A cached response as plain data, and its form in the Cache API.

use super::age_fields::AgeFields;
use super::policy::{Condition, Lifetime};
use crate::origin_link::signed_call::ReadHeaders;
use rds_shared::route::TagVersions;
use rds_shared::wire::{Timestamp, headers};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Metadata headers of a stored response; they never leave the edge.
const MADE_AT: &str = "x-e-made-at";
const CONFIRMED_AT: &str = "x-e-confirmed-at";
const FRESH: &str = "x-e-fresh";
const STALE_IF_ERROR: &str = "x-e-stale-if-error";
const TAGS: &str = "x-e-tags";
/// Prefix for the response's own headers, so that the Cache API does not interpret them.
const PASSED_PREFIX: &str = "x-e-h-";

/// A cached response, with everything needed to serve it again.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Headers sent to the caller.
    pub headers: ReadHeaders,
    pub lifetime: Lifetime,
    /// The tag versions that the origin made the response from, or last confirmed it with.
    pub tags: TagVersions,
    body: Rc<[u8]>,
    /// Found when the body is first rendered anew.
    age_fields: OnceCell<AgeFields>,
    /// When the body was made.
    made_at: Timestamp,
    /// When the origin last confirmed the response, as far as this edge knows.
    confirmed_at: Timestamp,
    /// The last rendered body, and the seconds since `made_at` that it was rendered for.
    aged: RefCell<Option<(u64, Rc<[u8]>)>>,
}

impl Entry {
    /// A response that the origin gave at `now`, made from the tag versions `tags`.
    pub fn new(headers: ReadHeaders, body: Vec<u8>, lifetime: Lifetime, tags: TagVersions, now: Timestamp) -> Self {
        Entry {
            headers,
            lifetime,
            tags,
            age_fields: AgeFields::find(&body).into(),
            body: body.into(),
            made_at: now,
            confirmed_at: now,
            aged: RefCell::default(),
        }
    }

    /// A response that this isolate made at `now` from rows that include every known change. Most such responses are never served again, so the
    /// ages in the body are not searched yet.
    pub fn of_replica(
        headers: ReadHeaders,
        body: Rc<[u8]>,
        lifetime: Lifetime,
        tags: TagVersions,
        now: Timestamp,
    ) -> Self {
        let (age_fields, aged) = (OnceCell::new(), RefCell::default());
        Entry { headers, lifetime, tags, age_fields, body, made_at: now, confirmed_at: now, aged }
    }

    /// The entry after a 304 at `now`: new metadata, the same body (RFC 9111, section 4.3.4).
    pub fn confirmed(
        &self,
        fresher: ReadHeaders,
        lifetime: Option<Lifetime>,
        tags: TagVersions,
        now: Timestamp,
    ) -> Self {
        Entry {
            headers: self.headers.updated(fresher),
            lifetime: lifetime.unwrap_or(self.lifetime),
            tags,
            confirmed_at: now,
            ..self.clone()
        }
    }

    /// Whole seconds since the origin last confirmed the response (RFC 9111, section 4.2.3).
    pub fn age(&self, now: Timestamp) -> u64 {
        u64::try_from(now.seconds_since(self.confirmed_at)).unwrap_or(0)
    }

    /// The condition at `now`, given the known tag versions. An entry that lacks a known change is stale: it must be revalidated, and may
    /// be served if the revalidation fails.
    pub fn condition(&self, now: Timestamp, known: &TagVersions) -> Condition {
        match self.lifetime.condition(self.age(now)) {
            Condition::Fresh if !self.tags.covers(known) => Condition::Stale,
            condition => condition,
        }
    }

    /// Whether the response includes every change up to `known`.
    pub fn covers(&self, known: &TagVersions) -> bool {
        self.tags.covers(known)
    }

    /// Whether the response can no longer be used at `now`, not even if the origin fails.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.lifetime.condition(self.age(now)) == Condition::Expired
    }

    /// When the origin last confirmed the response.
    pub fn confirmed_at(&self) -> Timestamp {
        self.confirmed_at
    }

    /// Whether the origin confirmed this response later than `other`.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.confirmed_at > other.confirmed_at
    }

    /// The body with its ages brought up to date for `now`.
    pub fn body(&self, now: Timestamp) -> Rc<[u8]> {
        let seconds = u64::try_from(now.seconds_since(self.made_at)).unwrap_or(0);
        if seconds == 0 {
            return Rc::clone(&self.body);
        }
        let age_fields = self.age_fields.get_or_init(|| AgeFields::find(&self.body));
        if age_fields.is_empty() {
            return Rc::clone(&self.body);
        }
        let mut aged = self.aged.borrow_mut();
        match &*aged {
            Some((at, body)) if *at == seconds => Rc::clone(body),
            _ => {
                let body: Rc<[u8]> = age_fields.aged(&self.body, seconds).into();
                *aged = Some((seconds, Rc::clone(&body)));
                body
            }
        }
    }

    /// Approximate bytes in memory: the body, its rendered form, and an allowance for the few short headers.
    pub fn weight(&self) -> usize {
        const BOOKKEEPING: usize = 512;
        let bodies = if self.age_fields.get().is_some_and(AgeFields::is_empty) { 1 } else { 2 };
        self.body.len().saturating_mul(bodies).saturating_add(BOOKKEEPING)
    }

    /// Headers and body of the response stored in the Cache API.
    ///
    /// The Cache API honours only `Cache-Control`, has no stale-if-error, and would evaluate conditions itself. Therefore `Cache-Control` only
    /// states how long to retain the response, and metadata headers hold all other data.
    pub fn to_stored(&self) -> (Vec<(String, String)>, Rc<[u8]>) {
        let owned = |name: &str, value: String| (name.to_owned(), value);
        let mut out = vec![
            owned("cache-control", format!("public, max-age={}", self.lifetime.retention())),
            owned("content-type", headers::JSON.to_owned()),
            owned(MADE_AT, self.made_at.as_millis().to_string()),
            owned(CONFIRMED_AT, self.confirmed_at.as_millis().to_string()),
            owned(FRESH, self.lifetime.fresh.to_string()),
            owned(STALE_IF_ERROR, self.lifetime.stale_if_error.to_string()),
            owned(TAGS, self.tags.to_text()),
        ];
        out.extend(self.headers.iter().map(|(name, value)| (format!("{PASSED_PREFIX}{name}"), value.to_owned())));
        (out, Rc::clone(&self.body))
    }

    /// Reads a response stored by [`Self::to_stored`]; `None` if a metadata header is missing or malformed.
    pub fn from_stored(header: impl Fn(&str) -> Option<String>, body: Vec<u8>) -> Option<Self> {
        let instant = |name| header(name)?.parse().ok().map(Timestamp::from_millis);
        let seconds = |name| header(name)?.parse::<u32>().ok();
        Some(Entry {
            made_at: instant(MADE_AT)?,
            lifetime: Lifetime { fresh: seconds(FRESH)?, stale_if_error: seconds(STALE_IF_ERROR)? },
            headers: ReadHeaders::read(|name| header(&format!("{PASSED_PREFIX}{name}"))),
            tags: TagVersions::parse(&header(TAGS)?),
            ..Entry::new(
                ReadHeaders::default(),
                body,
                Lifetime::default(),
                TagVersions::default(),
                instant(CONFIRMED_AT)?,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::Tag;
    use rds_shared::wire::headers::DATA_VERSION;

    const LIFETIME: Lifetime = Lifetime { fresh: 15, stale_if_error: 60 };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_795_219_200 + seconds)
    }

    fn passed(version: &str) -> ReadHeaders {
        ReadHeaders::read(|name| match name {
            "etag" => Some("W/\"abc\"".to_owned()),
            DATA_VERSION => Some(version.to_owned()),
            _ => None,
        })
    }

    fn tags(events: i64) -> TagVersions {
        [(Tag::Events, events)].into_iter().collect()
    }

    fn entry() -> Entry {
        Entry::new(passed("7"), br#"{"data":[{"freshness_seconds":30}]}"#.to_vec(), LIFETIME, tags(7), at(0))
    }

    fn text(entry: &Entry, seconds: i64) -> String {
        String::from_utf8(entry.body(at(seconds)).to_vec()).unwrap()
    }

    #[test]
    fn ages_in_the_body_grow_with_the_clock_and_are_rendered_once_a_second() {
        let entry = entry();
        assert_eq!(text(&entry, 0), r#"{"data":[{"freshness_seconds":30}]}"#);
        assert_eq!(text(&entry, 7), r#"{"data":[{"freshness_seconds":37}]}"#);
        assert!(Rc::ptr_eq(&entry.body(at(7)), &entry.body(at(7))));
        assert_eq!(text(&entry, 8), r#"{"data":[{"freshness_seconds":38}]}"#);
    }

    #[test]
    fn a_304_renews_the_metadata_but_not_the_body() {
        let confirmed = entry().confirmed(passed("8"), None, tags(8), at(20));
        assert_eq!((confirmed.age(at(21)), confirmed.condition(at(21), &tags(8))), (1, Condition::Fresh));
        assert_eq!(confirmed.headers.get(DATA_VERSION), Some("8"));
        assert_eq!(text(&confirmed, 21), r#"{"data":[{"freshness_seconds":51}]}"#);
        assert!(confirmed.is_newer_than(&entry()));
    }

    #[test]
    fn a_response_that_lacks_a_change_is_stale_until_it_expires() {
        let conditions =
            [(7, 0), (8, 0), (6, 0), (8, 74), (8, 75)].map(|(known, age)| entry().condition(at(age), &tags(known)));
        let [same, newer, older, late, over] = conditions;
        assert_eq!([same, older], [Condition::Fresh; 2]);
        assert_eq!([newer, late, over], [Condition::Stale, Condition::Stale, Condition::Expired]);
    }

    #[test]
    fn a_clock_that_steps_back_never_makes_an_age_negative() {
        assert_eq!(entry().age(at(-5)), 0);
        assert_eq!(text(&entry(), -5), r#"{"data":[{"freshness_seconds":30}]}"#);
    }

    #[test]
    fn a_stored_response_reads_back_unchanged() {
        let confirmed = entry().confirmed(passed("8"), None, tags(8), at(20));
        let (stored, body) = confirmed.to_stored();
        assert!(stored.contains(&("cache-control".to_owned(), "public, max-age=75".to_owned())));
        assert!(!stored.iter().any(|(name, _)| name == "etag"), "the Cache API would evaluate conditions itself");
        let find = |name: &str| stored.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let read = Entry::from_stored(find, body.to_vec()).unwrap();
        assert_eq!((read.lifetime, &read.headers, read.age(at(30))), (LIFETIME, &confirmed.headers, 10));
        assert_eq!(read.tags, tags(8));
        assert_eq!(text(&read, 30), text(&confirmed, 30));
        assert!(Entry::from_stored(|name| find(name).filter(|_| name != MADE_AT), body.to_vec()).is_none());
    }
}
