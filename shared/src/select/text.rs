//! Case-insensitive substring search over many short texts at once.
//!
//! Entries are held in segments of up to 64. For each pair of bytes, a segment tells by one bit per entry which entries may contain the pair.
//! A search reads only the entries that may contain every pair of the needle.

use alloc::{string::String, sync::Arc, vec::Vec};
use memchr::memmem::Finder;

/// Separates texts. This byte never occurs in UTF-8, so a needle cannot match across two texts.
const SEPARATOR: u8 = 0xff;
/// Most entries of one segment: one bit of a word each.
pub(super) const ENTRIES: usize = u64::BITS as usize;
/// Number of ASCII bytes; the only bytes that are needles by themselves.
const SINGLES: usize = 128;
/// Pairs of bytes share this many words of a segment.
const PAIRS_BITS: u32 = 9;
/// From this length on, an entry is searched by an algorithm that skips bytes but takes time to start.
const LONG: usize = 128;

/// Lower-cases each character by itself. Unlike in `str::to_lowercase`, the result does not depend on neighbouring characters, so a
/// substring folds as it does in the whole text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Appends the folded `texts` of one entry to `bytes`.
pub(super) fn append<'a>(texts: impl IntoIterator<Item = &'a str>, bytes: &mut Vec<u8>) {
    for text in texts {
        if text.is_ascii() {
            bytes.extend(text.bytes().map(|byte| byte.to_ascii_lowercase()));
        } else {
            bytes.extend_from_slice(fold(text).as_bytes());
        }
        bytes.push(SEPARATOR);
    }
}

/// The word of a segment that tells which entries contain one of the pairs of bytes that share the word.
fn pair_word(first: u8, second: u8) -> usize {
    let pair = u32::from(first) << 8 | u32::from(second);
    SINGLES + (pair.wrapping_mul(0x9e37_79b1) >> (u32::BITS - PAIRS_BITS)) as usize
}

/// Up to [`ENTRIES`] consecutive entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    /// The folded texts, each followed by [`SEPARATOR`].
    bytes: Vec<u8>,
    /// Where each entry ends.
    ends: Vec<u32>,
    /// For each ASCII byte, then for each group of pairs of bytes, the entries that contain it, one bit per entry.
    words: Vec<u64>,
}

impl Segment {
    pub(super) fn push(&mut self, entry: &[u8]) {
        self.bytes.extend_from_slice(entry);
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Fills `words` and frees spare capacity.
    fn finish(mut self) -> Self {
        let mut words = alloc::vec![0u64; SINGLES + (1 << PAIRS_BITS)];
        for entry in 0..self.ends.len() {
            let bit = 1 << entry;
            let mut last = SEPARATOR;
            for &byte in self.entry(entry) {
                if let Some(word) = words.get_mut(usize::from(byte)).filter(|_| byte.is_ascii()) {
                    *word |= bit;
                }
                if last != SEPARATOR
                    && let Some(word) = words.get_mut(pair_word(last, byte))
                {
                    *word |= bit;
                }
                last = byte;
            }
        }
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        Segment { words, ..self }
    }

    fn entry(&self, entry: usize) -> &[u8] {
        let end = |entry: usize| self.ends.get(entry).map(|end| *end as usize);
        let start = entry.checked_sub(1).and_then(end).unwrap_or(0);
        end(entry).and_then(|end| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// The entries that contain the needle, one bit per entry.
    fn search(&self, needle: &Needle<'_>) -> u64 {
        let mut found = u64::MAX;
        for &word in &needle.words {
            found &= self.words.get(word).copied().unwrap_or(0);
            if found == 0 {
                return 0;
            }
        }
        if needle.exact {
            return found;
        }
        let mut left = found;
        while left != 0 {
            let entry = left.trailing_zeros();
            left &= left - 1;
            if !needle.is_in(self.entry(entry as usize)) {
                found &= !(1 << entry);
            }
        }
        found
    }

    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>() + self.words.capacity() * size_of::<u64>()
    }
}

/// A folded needle, prepared for the search in many segments.
struct Needle<'a> {
    /// The words that have the bits of all entries with the needle.
    words: Vec<usize>,
    /// Whether the words have no other bits.
    exact: bool,
    /// The first eight bytes as a number, and its bits that count if there are fewer bytes.
    head: u64,
    mask: u64,
    /// The bytes after the first eight.
    rest: &'a [u8],
    finder: Finder<'a>,
}

impl<'a> Needle<'a> {
    /// Of at least one byte.
    fn new(needle: &'a [u8]) -> Self {
        let (head, rest) = needle.split_at_checked(size_of::<u64>()).unwrap_or((needle, &[]));
        let words = match needle {
            [single] => alloc::vec![usize::from(*single)],
            _ => needle.iter().zip(needle.iter().skip(1)).map(|(first, second)| pair_word(*first, *second)).collect(),
        };
        Needle {
            words,
            exact: needle.len() == 1,
            head: head.iter().fold(0, |head, byte| head << 8 | u64::from(*byte)),
            mask: u64::MAX >> (u64::BITS - 8 * head.len() as u32).min(u64::BITS - 1),
            rest,
            finder: Finder::new(needle),
        }
    }

    fn is_in(&self, entry: &[u8]) -> bool {
        if entry.len() >= LONG {
            return self.finder.find(entry).is_some();
        }
        // The last eight bytes. The first bytes are preceded by bytes that no needle contains.
        let mut window = u64::MAX;
        for (at, byte) in entry.iter().enumerate() {
            window = window << 8 | u64::from(*byte);
            if window & self.mask == self.head && entry.get(at + 1..).is_some_and(|rest| rest.starts_with(self.rest)) {
                return true;
            }
        }
        false
    }
}

/// Many case-folded texts.
#[derive(Debug, Clone, Default)]
pub(super) struct Corpus {
    /// Segments in order, each with the number of its first entry.
    segments: Vec<(u32, Arc<Segment>)>,
    /// Number of entries.
    entries: u32,
}

impl Corpus {
    /// A corpus whose entries consist of several texts each. A needle matches within one text, never across two.
    pub(super) fn build<'a, P: IntoIterator<Item = &'a str>>(entries: impl Iterator<Item = P>) -> Self {
        let mut unfinished = Unfinished::default();
        entries.for_each(|texts| unfinished.add(texts));
        unfinished.finish()
    }

    /// Appends the entries of a segment.
    pub(super) fn push(&mut self, segment: Segment) {
        self.reuse(Arc::new(segment.finish()));
    }

    /// Appends the entries of a segment of another corpus.
    pub(super) fn reuse(&mut self, segment: Arc<Segment>) {
        let first = self.entries;
        self.entries += segment.ends.len() as u32;
        self.segments.push((first, segment));
    }

    /// The segments in order, each with the number of its first entry.
    pub(super) fn segments(&self) -> &[(u32, Arc<Segment>)] {
        &self.segments
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries as usize
    }

    /// The folded texts of an entry, each followed by [`SEPARATOR`].
    pub(super) fn entry(&self, entry: u32) -> Option<&[u8]> {
        let at = self.segments.partition_point(|(first, _)| *first <= entry).checked_sub(1)?;
        let (first, segment) = self.segments.get(at)?;
        let entry = (entry - first) as usize;
        (entry < segment.ends.len()).then(|| segment.entry(entry))
    }

    /// The first text of an entry, folded; empty without one.
    pub(super) fn first_text(&self, entry: u32) -> &[u8] {
        self.entry(entry).map_or(&[], first_text)
    }

    /// The first text of every entry, folded, in order.
    pub(super) fn first_texts(&self) -> impl Iterator<Item = &[u8]> {
        let entries = |segment: &'_ Segment| 0..segment.len();
        self.segments
            .iter()
            .flat_map(move |(_, segment)| entries(segment).map(|entry| first_text(segment.entry(entry))))
    }

    /// Calls `found` for every segment that has entries with `needle`, in order: with the number of the segment's first entry, and one bit per
    /// entry with the needle. An empty needle matches none.
    pub(super) fn search(&self, needle: &str, mut found: impl FnMut(u32, u64)) {
        let folded = fold(needle);
        if folded.is_empty() {
            return;
        }
        let needle = Needle::new(folded.as_bytes());
        for (first, segment) in &self.segments {
            let entries = segment.search(&needle);
            if entries != 0 {
                found(*first, entries);
            }
        }
    }

    /// Bytes on the heap, those that are shared with another corpus included.
    pub(super) fn heap_bytes(&self) -> usize {
        let shared: usize = self.segments.iter().map(|(_, segment)| arc_bytes(segment) + segment.heap_bytes()).sum();
        self.segments.capacity() * size_of::<(u32, Arc<Segment>)>() + shared
    }
}

/// Bytes of the allocation of an `Arc`: the value and two counts.
pub(super) fn arc_bytes<T>(_: &Arc<T>) -> usize {
    size_of::<T>() + 2 * size_of::<usize>()
}

/// A corpus to which entries are appended.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    corpus: Corpus,
    segment: Segment,
    /// Room for one entry.
    bytes: Vec<u8>,
}

impl Unfinished {
    pub(super) fn add<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        self.bytes.clear();
        append(texts, &mut self.bytes);
        self.segment.push(&self.bytes);
        if self.segment.len() == ENTRIES {
            self.corpus.push(core::mem::take(&mut self.segment));
        }
    }

    pub(super) fn finish(mut self) -> Corpus {
        if self.segment.len() > 0 {
            self.corpus.push(self.segment);
        }
        self.corpus
    }
}

/// The first text of an entry.
fn first_text(entry: &[u8]) -> &[u8] {
    let end = memchr::memchr(SEPARATOR, entry).unwrap_or(entry.len());
    entry.get(..end).unwrap_or_default()
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
