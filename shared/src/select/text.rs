//! Case-insensitive substring search over many short texts at once.

use alloc::{string::String, vec::Vec};
use memchr::memmem::Finder;

/// Separates texts. This byte never occurs in UTF-8, so a needle cannot match across two texts.
const SEPARATOR: u8 = 0xff;
/// Bytes of the corpus per entry of the position table.
const BLOCK: usize = 64;

/// Lower-cases each character by itself. Unlike in `str::to_lowercase`, the result does not depend on neighbouring characters, so a
/// substring folds as it does in the whole text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Many case-folded texts, concatenated so that one scan searches all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Corpus {
    bytes: Vec<u8>,
    /// Where each entry ends.
    ends: Vec<usize>,
    /// For every block of `bytes`, the first entry that ends after the block's start.
    blocks: Vec<u32>,
}

impl Corpus {
    /// Builds a corpus whose entries consist of several texts each. A needle matches within one text, never across two.
    pub(super) fn build<'a, P: IntoIterator<Item = &'a str>>(entries: impl Iterator<Item = P>) -> Self {
        let mut corpus = Corpus::default();
        for (entry, parts) in entries.enumerate() {
            for part in parts {
                corpus.bytes.extend_from_slice(fold(part).as_bytes());
                corpus.bytes.push(SEPARATOR);
            }
            let filled = corpus.bytes.len().div_ceil(BLOCK);
            corpus.blocks.resize(filled.max(corpus.blocks.len()), entry as u32);
            corpus.ends.push(corpus.bytes.len());
        }
        corpus
    }

    /// Calls `found` with the number of every entry that contains `needle`, ascending. An empty needle matches none.
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

    /// The entry that contains byte `at`, and the byte after its end.
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
    fn a_needle_matches_within_one_text_only() {
        let entries = [vec!["ab", "cd"], vec![], vec!["", "abab"], vec!["cdab"]];
        assert_eq!(found(&entries, "ab"), [0, 2, 3]);
        assert!(found(&entries, "bc").is_empty());
        assert!(found(&entries, "").is_empty());
    }

    proptest! {
        #[test]
        fn one_scan_finds_the_same_entries_as_searching_every_text(
            entries in proptest::collection::vec(proptest::collection::vec("[aAbBΣσ]{0,90}", 0..3), 0..40),
            needle in "[aAbBΣσ]{1,3}",
        ) {
            let borrowed: Vec<Vec<&str>> =
                entries.iter().map(|parts| parts.iter().map(String::as_str).collect()).collect();
            let matches = |parts: &[String]| parts.iter().any(|part| fold(part).contains(&fold(&needle)));
            let expected: Vec<u32> =
                (0u32..).zip(&entries).filter(|(_, parts)| matches(parts)).map(|(entry, _)| entry).collect();
            prop_assert_eq!(found(&borrowed, &needle), expected);
        }
    }
}
