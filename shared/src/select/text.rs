//! Case-insensitive substring search over many short texts at once.

use alloc::{string::String, vec::Vec};
use memchr::memmem::Finder;

/// Stands between entries. Never part of UTF-8, so that no needle can match across two entries.
const BETWEEN: u8 = 0xff;
/// Bytes of the corpus behind one entry of the position table.
const BLOCK: usize = 64;

/// `text` in lower case, character by character: equal for a text alone and for the same text inside a longer one.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Many texts, folded and laid end to end, so that one scan searches all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Corpus {
    bytes: Vec<u8>,
    /// Where each entry ends.
    ends: Vec<usize>,
    /// For every block of the bytes, the first entry that ends behind the block's start.
    blocks: Vec<u32>,
}

impl Corpus {
    /// A corpus whose entries are made of `parts` each. A needle is found within a part, never across two.
    pub(super) fn build<'a, P: IntoIterator<Item = &'a str>>(entries: impl Iterator<Item = P>) -> Self {
        let mut corpus = Corpus::default();
        for (entry, parts) in entries.enumerate() {
            for part in parts {
                corpus.bytes.extend_from_slice(fold(part).as_bytes());
                corpus.bytes.push(BETWEEN);
            }
            let filled = corpus.bytes.len().div_ceil(BLOCK);
            corpus.blocks.resize(filled.max(corpus.blocks.len()), entry as u32);
            corpus.ends.push(corpus.bytes.len());
        }
        corpus
    }

    /// Calls `found` with the number of every entry that contains `needle`, ascending. An empty needle is in none.
    pub(super) fn search(&self, needle: &str, mut found: impl FnMut(u32)) {
        let needle = fold(needle);
        if needle.is_empty() {
            return;
        }
        let finder = Finder::new(needle.as_bytes());
        let mut from = 0;
        while let Some(at) = self.bytes.get(from..).and_then(|rest| finder.find(rest)) {
            let Some((entry, end)) = self.entry_at(from + at) else { return };
            found(entry);
            from = end;
        }
    }

    /// The entry that covers byte `at`, and where it ends.
    fn entry_at(&self, at: usize) -> Option<(u32, usize)> {
        let first = *self.blocks.get(at / BLOCK)?;
        let (offset, end) = self.ends.get(first as usize..)?.iter().enumerate().find(|(_, end)| **end > at)?;
        Some((first + offset as u32, *end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn found(entries: &[Vec<&str>], needle: &str) -> Vec<u32> {
        let mut hits = Vec::new();
        Corpus::build(entries.iter().map(|parts| parts.iter().copied())).search(needle, |entry| hits.push(entry));
        hits
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
    fn a_needle_lies_within_one_part_of_one_entry() {
        let entries = [vec!["ab", "cd"], vec![], vec!["", "abab"], vec!["cdab"]];
        assert_eq!(found(&entries, "ab"), [0, 2, 3]);
        assert!(found(&entries, "bc").is_empty());
        assert!(found(&entries, "").is_empty());
    }

    proptest! {
        #[test]
        fn one_scan_finds_what_looking_at_every_text_finds(
            entries in proptest::collection::vec(proptest::collection::vec("[aAbBΣσ]{0,90}", 0..3), 0..40),
            needle in "[aAbBΣσ]{1,3}",
        ) {
            let borrowed: Vec<Vec<&str>> =
                entries.iter().map(|parts| parts.iter().map(String::as_str).collect()).collect();
            let holds = |parts: &[String]| parts.iter().any(|part| fold(part).contains(&fold(&needle)));
            let expected: Vec<u32> =
                (0u32..).zip(&entries).filter(|(_, parts)| holds(parts)).map(|(entry, _)| entry).collect();
            prop_assert_eq!(found(&borrowed, &needle), expected);
        }
    }
}
