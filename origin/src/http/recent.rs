//! Pages of the last second: what many ask for at once is put together once.
//!
//! A page out of the catalog follows from the catalog, from what is asked, from what callers of a class may see, and from the clock in
//! whole seconds. So the same bytes answer the same question until the catalog is another one, and for a second at most. Only what
//! was asked twice is kept: a question that nobody repeats costs a look and no memory.

use super::answer::Answer;
use super::signing::Whole;
use axum::http::HeaderValue;
use rds_shared::wire::{Timestamp, etag};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages that are kept, at most: one in each place.
const PLACES: usize = 256;
/// The most bytes that all kept pages have together.
const MAX_BYTES: usize = 32 << 20;
/// The longest page that is kept, in bytes. Copying and hashing a long page costs far more than looking it up.
const LONGEST: usize = 1 << 20;
/// For how long, in microseconds.
const KEPT_FOR: i64 = 1_000_000;

/// What a page follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question<'a> {
    /// Path and query.
    pub target: &'a str,
    /// The class of content that the caller may see.
    pub class: &'static str,
    /// Which catalog it is, read before it was taken.
    pub generation: u64,
    /// The domain's time.
    pub now: Timestamp,
}

/// A page and what it is recognised by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its ETag.
    pub etag: String,
    /// The data version.
    pub version: i64,
    /// Names in the question's filters that no registry has.
    pub unknown_values: Option<String>,
    /// Its bytes.
    pub body: Whole,
}

/// The pages that are kept.
pub struct Recent {
    places: Vec<Mutex<Place>>,
    /// Bytes of the pages that are kept.
    held: AtomicUsize,
    hashes: RandomState,
}

/// What was asked last of all that falls here.
#[derive(Debug, Default)]
struct Place {
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

impl Default for Recent {
    fn default() -> Self {
        Recent {
            places: (0..PLACES).map(|_| Mutex::default()).collect(),
            held: AtomicUsize::new(0),
            hashes: RandomState::new(),
        }
    }
}

impl std::fmt::Debug for Recent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recent")
    }
}

impl Recent {
    /// The page that answers `question`, if it was made within the last second.
    pub fn get(&self, question: &Question<'_>) -> Option<Page> {
        let (_, place) = self.place(question)?;
        place.kept.as_ref().filter(|kept| kept.answers(question)).map(|kept| kept.page.clone())
    }

    /// Keeps the page that answers `question` where the same was asked just before.
    pub fn offer(&self, question: &Question<'_>, page: impl FnOnce() -> Option<Page>) {
        let Some((hash, mut place)) = self.place(question) else { return };
        let is_repeated = place.asked.is_some_and(|(last, at)| last == hash && is_recent(at, question.now));
        place.asked = Some((hash, question.now));
        let page = if is_repeated { page().filter(|page| page.body.bytes().len() <= LONGEST) } else { None };
        if let Some(page) = page {
            let Question { target, class, generation, now } = *question;
            self.release(place.kept.take());
            let has_room = self.reserve(page.body.bytes().len());
            if has_room {
                place.kept = Some(Kept { target: target.into(), class, generation, at: now, page });
            }
            drop(place);
            if !has_room {
                self.drop_expired(now);
            }
        }
    }

    /// Counts `bytes` as held, if there is room for them.
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

    /// Makes room by dropping pages that answer nothing any more.
    fn drop_expired(&self, now: Timestamp) {
        for place in &self.places {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            if place.kept.as_ref().is_some_and(|kept| !is_recent(kept.at, now)) {
                self.release(place.kept.take());
            }
        }
    }

    fn place(&self, question: &Question<'_>) -> Option<(u64, MutexGuard<'_, Place>)> {
        let hash = self.hashes.hash_one((question.target, question.class));
        let place = self.places.get(hash as usize % PLACES)?;
        Some((hash, place.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Kept {
    fn answers(&self, question: &Question<'_>) -> bool {
        self.generation == question.generation
            && is_recent(self.at, question.now)
            && self.class == question.class
            && *self.target == *question.target
    }
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    (0..KEPT_FOR).contains(&now.as_micros().saturating_sub(at.as_micros()))
}

impl Page {
    /// The page as an answer: 304 where `if_none_match` names it.
    pub fn answer(self, if_none_match: Option<&HeaderValue>) -> Answer {
        let Page { etag, version, unknown_values, body } = self;
        let held = if_none_match.and_then(|header| header.to_str().ok());
        let answer = match held.is_some_and(|held| etag::if_none_match(held, &etag)) {
            true => Answer::not_modified(etag, version),
            false => Answer::whole(etag, version, body),
        };
        answer.naming(unknown_values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Question<'_> =
        Question { target: "/v1/vaults", class: "public", generation: 7, now: Timestamp::from_seconds(1_000) };

    fn page(text: &str) -> Page {
        Page { etag: format!("W/\"{text}\""), version: 1, unknown_values: None, body: text.to_owned().into() }
    }

    fn twice(recent: &Recent, question: &Question<'_>, text: &str) {
        recent.offer(question, || Some(page(text)));
        recent.offer(question, || Some(page(text)));
    }

    #[test]
    fn what_is_asked_again_is_answered_from_what_was_made_for_the_second_to_ask() {
        let recent = Recent::default();
        recent.offer(&FIRST, || panic!("nobody else may ask for it"));
        assert_eq!(recent.get(&FIRST), None);
        recent.offer(&FIRST, || Some(page("a")));
        assert_eq!(recent.get(&FIRST), Some(page("a")));
    }

    #[test]
    fn another_catalog_class_target_or_second_is_another_question() {
        let recent = Recent::default();
        twice(&recent, &FIRST, "a");
        let later = |micros| Timestamp::from_micros(FIRST.now.as_micros() + micros);
        for other in [
            Question { generation: 8, ..FIRST },
            Question { class: "keyed", ..FIRST },
            Question { target: "/v1/vaults?page=2", ..FIRST },
            Question { now: later(KEPT_FOR), ..FIRST },
            Question { now: later(-1), ..FIRST },
        ] {
            assert_eq!(recent.get(&other), None, "{other:?}");
        }
        assert_eq!(recent.get(&Question { now: later(KEPT_FOR - 1), ..FIRST }), Some(page("a")));
    }

    #[test]
    fn who_asks_now_and_then_leaves_nothing_behind() {
        let recent = Recent::default();
        for second in 0..5 {
            let question = Question { now: Timestamp::from_seconds(second * 2), ..FIRST };
            recent.offer(&question, || panic!("it was not asked for within a second"));
        }
    }

    #[test]
    fn all_pages_together_stay_within_their_bytes_and_expired_ones_make_room() {
        let recent = Recent::default();
        let text = "x".repeat(LONGEST);
        let targets: Vec<String> = (0..2 * PLACES).map(|number| format!("/v1/vaults?page={number}")).collect();
        let ask = |now| {
            for target in &targets {
                twice(&recent, &Question { target, now, ..FIRST }, &text);
            }
            targets.iter().filter(|target| recent.get(&Question { target, now, ..FIRST }).is_some()).count()
        };
        assert_eq!(ask(FIRST.now), MAX_BYTES / LONGEST);
        assert_eq!(recent.held.load(Relaxed), MAX_BYTES);
        let later = Timestamp::from_micros(FIRST.now.as_micros() + KEPT_FOR);
        assert!(ask(later) > MAX_BYTES / LONGEST / 2, "pages of the second before are in nobody's way");
    }

    #[test]
    fn a_long_page_is_not_kept() {
        let recent = Recent::default();
        twice(&recent, &FIRST, &"x".repeat(LONGEST + 1));
        assert_eq!(recent.get(&FIRST), None);
    }
}
