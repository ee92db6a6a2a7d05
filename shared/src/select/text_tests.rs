//! Substring search, beside a search of every text.

use super::*;
use crate::pace::{Pace, at_once};
use crate::select::Renumbering;
use crate::select::corpus_change::{self, ChangedTexts};
use alloc::vec;
use core::ops::Range;
use proptest::prelude::*;

fn search(corpus: &Corpus, needle: &str) -> Vec<u32> {
    let mut hits = Vec::new();
    corpus.search(needle, |first, entries| {
        hits.extend((0..64).filter(|entry| entries >> entry & 1 == 1).map(|entry| first + entry));
    });
    hits
}

fn build(entries: &[Vec<&str>]) -> Corpus {
    Corpus::build(entries.iter().map(|parts| parts.iter().copied()))
}

/// The corpus after a change to these entries.
fn after(corpus: &Corpus, renumbering: &Renumbering, now: &[Vec<&str>]) -> Corpus {
    let mut texts = ChangedTexts::default();
    renumbering.changed_rows().for_each(|row| texts.add(now[row as usize].iter().copied()));
    at_once(corpus_change::after(corpus, renumbering, &texts, &Pace::unbroken())).0
}

fn found(entries: &[Vec<&str>], needle: &str) -> Vec<u32> {
    search(&build(entries), needle)
}

/// The entries with the needle, by a plain search of each text.
fn expected(entries: &[Vec<String>], needle: &str) -> Vec<u32> {
    let needle = fold(needle);
    let matches = |parts: &[String]| !needle.is_empty() && parts.iter().any(|part| fold(part).contains(&needle));
    (0u32..).zip(entries).filter(|(_, parts)| matches(parts)).map(|(entry, _)| entry).collect()
}

fn borrowed(entries: &[Vec<String>]) -> Vec<Vec<&str>> {
    entries.iter().map(|parts| parts.iter().map(String::as_str).collect()).collect()
}

#[test]
fn case_does_not_matter_in_any_script() {
    let entries = [vec!["Steakhouse USDC"], vec!["ΟΔΟΣ", "x"], vec!["Straße"], vec!["İzmir"]];
    assert_eq!(found(&entries, "steakHOUSE us"), [0]);
    assert_eq!(found(&entries, "οδοσ"), [1]);
    assert_eq!(found(&entries, "STRAß"), [2]);
    assert_eq!(found(&entries, "İZ"), [3]);
}

#[test]
fn a_needle_matches_within_one_text_only() {
    let entries = [vec!["ab", "cd"], vec![], vec!["", "abab"], vec!["cdab"]];
    assert_eq!(found(&entries, "ab"), [0, 2, 3]);
    assert!(found(&entries, "bc").is_empty());
    assert!(found(&entries, "").is_empty());
}

#[test]
fn entries_that_did_not_change_stay_in_shared_segments() {
    let texts: Vec<String> = (0..1_000).map(|row| alloc::format!("vault {row}")).collect();
    let corpus = Corpus::build(texts.iter().map(|text| [text.as_str()]));
    let rows = (0..1_001).map(|row| (if row == 500 { None } else { Some(row - u32::from(row > 500)) }, false));
    let renumbering = Renumbering::new(1_000, rows);
    let now = texts[..500].iter().map(String::as_str).chain(["another"]).chain(texts[500..].iter().map(String::as_str));
    let now: Vec<Vec<&str>> = now.map(|text| vec![text]).collect();
    let after = after(&corpus, &renumbering, &now);
    let shared = |one: &Arc<Segment>| corpus.segments.iter().any(|(_, other)| Arc::ptr_eq(one, other));
    let rebuilt: Vec<usize> =
        after.segments.iter().filter(|(_, segment)| !shared(segment)).map(|(_, s)| s.ends.len()).collect();
    assert_eq!(rebuilt, [33, 32]);
    assert_eq!(search(&after, "ANOTHER"), [500]);
    assert_eq!(search(&after, "vault 999"), [1_000]);
}

fn entries(count: Range<usize>) -> impl Strategy<Value = Vec<Vec<String>>> {
    let text = prop_oneof![4 => "[aAbBcΣσß\0]{0,12}", 1 => "[aAbBcΣσ]{100,140}"];
    proptest::collection::vec(proptest::collection::vec(text, 0..3), count)
}

proptest! {
    #[test]
    fn a_search_finds_the_same_entries_as_searching_every_text(
        entries in entries(0..150), needle in "[aAbBcΣσßx\0]{0,10}", part in any::<prop::sample::Index>(), length in 1usize..12,
    ) {
        let corpus = build(&borrowed(&entries));
        prop_assert_eq!(search(&corpus, &needle), expected(&entries, &needle));
        // A needle that certainly occurs.
        let all: String = entries.iter().flatten().flat_map(|text| text.chars()).collect();
        let count = all.chars().count();
        if count > 0 {
            let needle: String = all.chars().skip(part.index(count)).take(length).collect();
            prop_assert_eq!(search(&corpus, &needle), expected(&entries, &needle));
        }
    }

    #[test]
    fn a_changed_corpus_finds_what_a_new_one_does(
        before in entries(0..200),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..3, "[aAbBcΣσ]{0,9}"), 0..40),
        needles in proptest::collection::vec("[aAbBcΣσß]{1,4}", 1..6),
    ) {
        let mut corpus = build(&borrowed(&before));
        let mut now = before;
        for edits in edits.chunks(4) {
            let old_rows = now.len();
            let mut rows: Vec<(Option<u32>, bool)> = (0..old_rows as u32).map(|row| (Some(row), false)).collect();
            for (at, kind, text) in edits {
                let at = at.index(rows.len() + 1);
                match kind {
                    0 => {
                        rows.insert(at, (None, false));
                        now.insert(at, vec![text.clone()]);
                    }
                    1 if at < rows.len() => {
                        rows.remove(at);
                        now.remove(at);
                    }
                    _ if at < rows.len() => {
                        rows[at].1 = true;
                        now[at] = vec![text.clone(), text.clone()];
                    }
                    _ => {}
                }
            }
            let renumbering = Renumbering::new(old_rows, rows.into_iter());
            corpus = after(&corpus, &renumbering, &borrowed(&now));
            for needle in &needles {
                prop_assert_eq!(search(&corpus, needle), expected(&now, needle));
            }
            prop_assert!(corpus.segments.len() <= 2 * now.len().div_ceil(64) + 1);
        }
    }
}
