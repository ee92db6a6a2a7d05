//! Micro-cache of list pages: identical requests within one second share one response.
//!
//! A page depends only on the catalog, the path and query, the content class, and the clock in whole seconds. The same bytes
//! therefore answer the same request until the catalog changes, for a second at most. A page is cached when it is requested a second
//! time; requests that are not repeated use no memory.

use crate::http::exchange::answer::Answer;
use crate::http::exchange::signing::HashedBody;
use axum::http::HeaderValue;
use rds_shared::wire::{Timestamp, etag};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of cached pages: one in each slot.
const SLOTS: usize = 256;
/// Maximum bytes of all cached pages together.
const MAX_BYTES: usize = 32 << 20;
/// Maximum size of a cached page, in bytes. The limit is high, because long pages gain most from the cache: building and hashing
/// them costs far more than a look-up.
const MAX_PAGE_BYTES: usize = 1 << 20;
/// How long a page is served from the cache, in microseconds.
const MAX_AGE_MICROS: i64 = 1_000_000;

/// Everything that a page depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKey<'a> {
    /// Path and query.
    pub target: &'a str,
    /// The caller's content class.
    pub class: &'static str,
    /// The catalog's generation, read before the catalog is used.
    pub generation: u64,
    /// The domain time.
    pub now: Timestamp,
}

/// A page with its validators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub etag: String,
    /// The data version that the page was made from.
    pub version: i64,
    /// Filter values that are in no registry, as the text of the response header.
    pub unknown_values: Option<String>,
    pub body: HashedBody,
}

/// The cached pages.
pub struct MicroCache {
    slots: Vec<Mutex<Slot>>,
    /// Bytes of the cached pages.
    held: AtomicUsize,
    hashes: RandomState,
}

/// The latest request whose hash selects this slot, and the cached page.
#[derive(Debug, Default)]
struct Slot {
    asked: Option<(u64, Timestamp)>,
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    target: Box<str>,
    class: &'static str,
    generation: u64,
    at: Timestamp,
    page: Page,
}

impl Default for MicroCache {
    fn default() -> Self {
        MicroCache {
            slots: (0..SLOTS).map(|_| Mutex::default()).collect(),
            held: AtomicUsize::new(0),
            hashes: RandomState::new(),
        }
    }
}

impl std::fmt::Debug for MicroCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MicroCache")
    }
}

impl MicroCache {
    /// The page that answers `question`, if it was made within the last second.
    pub fn get(&self, question: &CacheKey<'_>) -> Option<Page> {
        let (_, slot) = self.slot(question)?;
        slot.kept.as_ref().filter(|kept| kept.answers(question)).map(|kept| kept.page.clone())
    }

    /// Caches the page that answers `question` if the same page was requested within the last second.
    pub fn offer(&self, question: &CacheKey<'_>, page: impl FnOnce() -> Option<Page>) {
        let Some((hash, mut slot)) = self.slot(question) else { return };
        let is_repeated = slot.asked.is_some_and(|(last, at)| last == hash && is_recent(at, question.now));
        slot.asked = Some((hash, question.now));
        let page = if is_repeated { page().filter(|page| page.body.bytes().len() <= MAX_PAGE_BYTES) } else { None };
        if let Some(page) = page {
            let CacheKey { target, class, generation, now } = *question;
            self.release(slot.kept.take());
            let has_room = self.reserve(page.body.bytes().len());
            if has_room {
                slot.kept = Some(Kept { target: target.into(), class, generation, at: now, page });
            }
            drop(slot);
            if !has_room {
                self.drop_expired(now);
            }
        }
    }

    /// Adds `bytes` to the total if they fit.
    fn reserve(&self, bytes: usize) -> bool {
        let has_room = self.held.fetch_add(bytes, Relaxed).saturating_add(bytes) <= MAX_BYTES;
        if !has_room {
            self.held.fetch_sub(bytes, Relaxed);
        }
        has_room
    }

    fn release(&self, kept: Option<Kept>) {
        if let Some(kept) = kept {
            self.held.fetch_sub(kept.page.body.bytes().len(), Relaxed);
        }
    }

    /// Makes room by dropping expired pages.
    fn drop_expired(&self, now: Timestamp) {
        for slot in &self.slots {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if slot.kept.as_ref().is_some_and(|kept| !is_recent(kept.at, now)) {
                self.release(slot.kept.take());
            }
        }
    }

    fn slot(&self, question: &CacheKey<'_>) -> Option<(u64, MutexGuard<'_, Slot>)> {
        let hash = self.hashes.hash_one((question.target, question.class));
        let slot = self.slots.get(hash as usize % SLOTS)?;
        Some((hash, slot.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Kept {
    fn answers(&self, question: &CacheKey<'_>) -> bool {
        self.generation == question.generation
            && is_recent(self.at, question.now)
            && self.class == question.class
            && *self.target == *question.target
    }
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    (0..MAX_AGE_MICROS).contains(&now.as_micros().saturating_sub(at.as_micros()))
}

impl Page {
    /// The page as an answer; 304 if `if_none_match` contains its ETag.
    pub fn answer(self, if_none_match: Option<&HeaderValue>) -> Answer {
        let Page { etag, version, unknown_values, body } = self;
        let held = if_none_match.and_then(|header| header.to_str().ok());
        let answer = match held.is_some_and(|held| etag::if_none_match(held, &etag)) {
            true => Answer::not_modified(etag, version),
            false => Answer::whole(etag, version, body),
        };
        answer.with_unknown_values(unknown_values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: CacheKey<'_> =
        CacheKey { target: "/v1/vaults", class: "public", generation: 7, now: Timestamp::from_seconds(1_000) };

    fn page(text: &str) -> Page {
        Page { etag: format!("W/\"{text}\""), version: 1, unknown_values: None, body: text.to_owned().into() }
    }

    fn twice(recent: &MicroCache, question: &CacheKey<'_>, text: &str) {
        recent.offer(question, || Some(page(text)));
        recent.offer(question, || Some(page(text)));
    }

    #[test]
    fn the_second_request_caches_the_page_for_later_ones() {
        let recent = MicroCache::default();
        recent.offer(&FIRST, || panic!("a first request is not cached"));
        assert_eq!(recent.get(&FIRST), None);
        recent.offer(&FIRST, || Some(page("a")));
        assert_eq!(recent.get(&FIRST), Some(page("a")));
    }

    #[test]
    fn a_page_answers_no_other_catalog_class_target_or_second() {
        let recent = MicroCache::default();
        twice(&recent, &FIRST, "a");
        let later = |micros| Timestamp::from_micros(FIRST.now.as_micros() + micros);
        for other in [
            CacheKey { generation: 8, ..FIRST },
            CacheKey { class: "keyed", ..FIRST },
            CacheKey { target: "/v1/vaults?page=2", ..FIRST },
            CacheKey { now: later(MAX_AGE_MICROS), ..FIRST },
            CacheKey { now: later(-1), ..FIRST },
        ] {
            assert_eq!(recent.get(&other), None, "{other:?}");
        }
        assert_eq!(recent.get(&CacheKey { now: later(MAX_AGE_MICROS - 1), ..FIRST }), Some(page("a")));
    }

    #[test]
    fn requests_more_than_a_second_apart_are_not_cached() {
        let recent = MicroCache::default();
        for second in 0..5 {
            let question = CacheKey { now: Timestamp::from_seconds(second * 2), ..FIRST };
            recent.offer(&question, || panic!("it was not asked for within a second"));
        }
    }

    #[test]
    fn all_pages_together_stay_within_the_limit_and_expired_ones_make_room() {
        let recent = MicroCache::default();
        let text = "x".repeat(MAX_PAGE_BYTES);
        let targets: Vec<String> = (0..2 * SLOTS).map(|number| format!("/v1/vaults?page={number}")).collect();
        let ask = |now| {
            for target in &targets {
                twice(&recent, &CacheKey { target, now, ..FIRST }, &text);
            }
            targets.iter().filter(|target| recent.get(&CacheKey { target, now, ..FIRST }).is_some()).count()
        };
        assert_eq!(ask(FIRST.now), MAX_BYTES / MAX_PAGE_BYTES);
        assert_eq!(recent.held.load(Relaxed), MAX_BYTES);
        let later = Timestamp::from_micros(FIRST.now.as_micros() + MAX_AGE_MICROS);
        assert!(ask(later) > MAX_BYTES / MAX_PAGE_BYTES / 2, "expired pages make room");
    }

    #[test]
    fn a_page_above_the_size_limit_is_not_cached() {
        let recent = MicroCache::default();
        twice(&recent, &FIRST, &"x".repeat(MAX_PAGE_BYTES + 1));
        assert_eq!(recent.get(&FIRST), None);
    }
}
