//! The words of a column, and the groups of rows that have one word.

use alloc::{boxed::Box, collections::BTreeMap, sync::Arc, vec::Vec};

use super::text::{Corpus, fold};

/// The folded words of a column.
#[derive(Debug, Clone, Default)]
pub(super) struct Vocabulary {
    pub(super) words: Vec<Box<str>>,
    /// The groups in ascending order of their words.
    sorted: Vec<u32>,
    /// The words as a corpus, if the column is searched; entry numbers are groups.
    pub(super) corpus: Option<Corpus>,
}

impl Vocabulary {
    pub(super) fn new(words: Vec<Box<str>>, searched: bool) -> Self {
        let mut by_word: Vec<(&str, u32)> = words.iter().map(|word| &**word).zip(0u32..).collect();
        by_word.sort_unstable();
        let sorted = by_word.into_iter().map(|(_, group)| group).collect();
        let corpus = searched.then(|| Corpus::build(words.iter().map(|word| [&**word])));
        Vocabulary { words, sorted, corpus }
    }

    /// The group of a folded word.
    pub(super) fn find(&self, folded: &str) -> Option<u32> {
        let word = |group: u32| self.words.get(group as usize).map_or("", |word| &**word);
        let at = self.sorted.binary_search_by(|&group| word(group).cmp(folded)).ok()?;
        self.sorted.get(at).copied()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let words: usize = self.words.iter().map(|word| word.len()).sum();
        let vectors = self.words.capacity() * size_of::<Box<str>>() + self.sorted.capacity() * size_of::<u32>();
        words + vectors + self.corpus.as_ref().map_or(0, Corpus::heap_bytes)
    }
}

/// Numbers words in the order of their first appearance, after the groups of a vocabulary.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    known: Arc<Vocabulary>,
    /// The folded words that are not in `known`, each with its group.
    added: BTreeMap<Box<str>, u32>,
    /// The group of each word as it is written.
    seen: BTreeMap<Box<str>, u32>,
}

/// Words looked up before, each in a slot that its bytes determine, because most rows repeat a word.
pub(super) struct Recent<'a>(Vec<Option<(&'a str, u32)>>);

impl Recent<'_> {
    const SLOTS: usize = 1 << 8;

    pub(super) fn new() -> Self {
        Recent(alloc::vec![None; Self::SLOTS])
    }
}

impl Numbers {
    /// Numbers that continue those of `known`.
    pub(super) fn after(known: &Arc<Vocabulary>) -> Self {
        Numbers { known: Arc::clone(known), ..Numbers::default() }
    }

    /// The group of `word`.
    pub(super) fn of<'a>(&mut self, word: &'a str, recent: &mut Recent<'a>) -> u32 {
        let hash = word.bytes().fold(0u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let slot = (hash >> 8) as usize % Recent::SLOTS;
        if let Some(Some((recent, group))) = recent.0.get(slot)
            && *recent == word
        {
            return *group;
        }
        let group = match self.seen.get(word) {
            Some(group) => *group,
            None => {
                let group = self.group_of(fold(word).into_boxed_str());
                self.seen.insert(word.into(), group);
                group
            }
        };
        if let Some(recent) = recent.0.get_mut(slot) {
            *recent = Some((word, group));
        }
        group
    }

    fn group_of(&mut self, folded: Box<str>) -> u32 {
        self.known.find(&folded).unwrap_or_else(|| {
            let next = (self.known.words.len() + self.added.len()) as u32;
            *self.added.entry(folded).or_insert(next)
        })
    }

    /// Number of words that are not in the vocabulary.
    pub(super) fn added(&self) -> usize {
        self.added.len()
    }

    /// The folded words that are not in the vocabulary, in the order of their groups.
    pub(super) fn into_added(self) -> Vec<Box<str>> {
        let mut added: Vec<(Box<str>, u32)> = self.added.into_iter().collect();
        added.sort_unstable_by_key(|(_, group)| *group);
        added.into_iter().map(|(word, _)| word).collect()
    }
}
