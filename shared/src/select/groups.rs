//! Inverted index of a column with few distinct values: maps each value to its rows.

use alloc::{boxed::Box, collections::BTreeMap, sync::Arc, vec::Vec};

use super::bitmap::Bitmap;
use super::members::Members;
use super::renumbering::Renumbering;
use super::text::{Corpus, arc_bytes, fold};

/// A column of words. Words that differ only in case are one group; a group is named by the index of its word.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    vocabulary: Arc<Vocabulary>,
    /// The rows of each group; no group is empty.
    members: Vec<Arc<Members>>,
    /// The rows without a word.
    wordless: Arc<Members>,
}

/// The folded words of a column.
#[derive(Debug, Clone, Default)]
struct Vocabulary {
    words: Vec<Box<str>>,
    /// The groups in ascending order of their words.
    sorted: Vec<u32>,
    /// The words as a corpus, if the column is searched; entry numbers are groups.
    corpus: Option<Corpus>,
}

impl Vocabulary {
    fn new(words: Vec<Box<str>>, searched: bool) -> Self {
        let mut by_word: Vec<(&str, u32)> = words.iter().map(|word| &**word).zip(0u32..).collect();
        by_word.sort_unstable();
        let sorted = by_word.into_iter().map(|(_, group)| group).collect();
        let corpus = searched.then(|| Corpus::build(words.iter().map(|word| [&**word])));
        Vocabulary { words, sorted, corpus }
    }

    /// The group of a folded word.
    fn find(&self, folded: &str) -> Option<u32> {
        let word = |group: u32| self.words.get(group as usize).map_or("", |word| &**word);
        let at = self.sorted.binary_search_by(|&group| word(group).cmp(folded)).ok()?;
        self.sorted.get(at).copied()
    }

    fn heap_bytes(&self) -> usize {
        let words: usize = self.words.iter().map(|word| word.len()).sum();
        let vectors = self.words.capacity() * size_of::<Box<str>>() + self.sorted.capacity() * size_of::<u32>();
        words + vectors + self.corpus.as_ref().map_or(0, Corpus::heap_bytes)
    }
}

/// Numbers words in the order of their first appearance, after the groups of a vocabulary.
struct Numbers<'a, 'v> {
    known: &'v Vocabulary,
    /// The folded words that are not in `known`, each with its group.
    added: BTreeMap<Box<str>, u32>,
    /// The group of each word as it is written.
    seen: BTreeMap<&'a str, u32>,
    /// Words looked up before, each in a slot that its bytes determine, because most rows repeat a word.
    recent: Vec<Option<(&'a str, u32)>>,
}

impl<'a, 'v> Numbers<'a, 'v> {
    const RECENT: usize = 1 << 10;

    fn after(known: &'v Vocabulary) -> Self {
        Numbers { known, added: BTreeMap::new(), seen: BTreeMap::new(), recent: alloc::vec![None; Self::RECENT] }
    }

    /// The group of `word`.
    fn of(&mut self, word: &'a str) -> u32 {
        let hash = word.bytes().fold(0u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let slot = (hash >> 8) as usize % Self::RECENT;
        if let Some(Some((recent, group))) = self.recent.get(slot)
            && *recent == word
        {
            return *group;
        }
        let (known, added) = (self.known, &mut self.added);
        let group = *self.seen.entry(word).or_insert_with(|| {
            let folded = fold(word);
            known.find(&folded).unwrap_or_else(|| {
                let next = (known.words.len() + added.len()) as u32;
                *added.entry(folded.into_boxed_str()).or_insert(next)
            })
        });
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = Some((word, group));
        }
        group
    }

    /// The folded words that are not in the vocabulary, in the order of their groups.
    fn into_added(self) -> Vec<Box<str>> {
        let mut added: Vec<(Box<str>, u32)> = self.added.into_iter().collect();
        added.sort_unstable_by_key(|(_, group)| *group);
        added.into_iter().map(|(word, _)| word).collect()
    }
}

impl Groups {
    /// Groups `rows` rows by their word; a row without a word is in no group.
    pub(super) fn build<'a>(rows: usize, words: impl Iterator<Item = Option<&'a str>>, searched: bool) -> Self {
        let nothing = Vocabulary::default();
        let mut numbers = Numbers::after(&nothing);
        let (mut members, mut wordless) = (Vec::<Vec<u32>>::new(), Vec::new());
        for (row, word) in (0u32..).zip(words.chain(core::iter::repeat(None)).take(rows)) {
            let Some(group) = word.map(|word| numbers.of(word) as usize) else {
                wordless.push(row);
                continue;
            };
            if group >= members.len() {
                members.resize(group + 1, Vec::new());
            }
            if let Some(rows) = members.get_mut(group) {
                rows.push(row);
            }
        }
        Groups {
            vocabulary: Arc::new(Vocabulary::new(numbers.into_added(), searched)),
            members: members.into_iter().map(|members| Arc::new(Members::new(members, rows))).collect(),
            wordless: Arc::new(Members::new(wordless, rows)),
        }
    }

    /// The groups after a change of the list, where `words` are the words of all rows now.
    pub(super) fn after<'a>(
        previous: &Arc<Groups>,
        renumbering: &Renumbering,
        words: impl Iterator<Item = Option<&'a str>>,
        searched: bool,
    ) -> Arc<Groups> {
        if searched != previous.vocabulary.corpus.is_some() {
            return Arc::new(Groups::build(renumbering.rows(), words, searched));
        }
        let mut numbers = Numbers::after(&previous.vocabulary);
        // The old numbers of rows that leave their group; the groups that rows enter, `None` for rows that have no word now.
        let mut leaving = Bitmap::none(renumbering.old_rows());
        let mut entering: Vec<(Option<u32>, u32)> = Vec::new();
        for (row, word) in renumbering.changed_values(words) {
            let group = word.flatten().map(|word| numbers.of(word));
            if !row.old.is_some_and(|old| previous.of(group).is_some_and(|members| members.contains(old))) {
                row.old.into_iter().for_each(|old| leaving.insert(old));
                entering.push((group, row.row));
            }
        }
        if entering.is_empty() && renumbering.keeps_numbers() {
            return Arc::clone(previous);
        }
        entering.sort_unstable();
        let added = numbers.into_added();
        let new_numbers = if renumbering.keeps_numbers() { Vec::new() } else { renumbering.new_numbers() };
        let mut entering = entering.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut after = |group: Option<u32>, before: &Arc<Members>| {
            let rows = entering.next_if(|rows| rows.first().is_some_and(|(entered, _)| *entered == group));
            before.after(renumbering, &new_numbers, &leaving, rows.unwrap_or_default().iter().map(|(_, row)| *row))
        };
        // In the order of `entering`, in which `None` is first.
        let wordless = after(None, &previous.wordless);
        let nobody = Arc::new(Members::new(Vec::new(), renumbering.old_rows()));
        let before = previous.members.iter().chain(added.iter().map(|_| &nobody));
        let mut members: Vec<Arc<Members>> = (0u32..).zip(before).map(|(group, old)| after(Some(group), old)).collect();
        if added.is_empty() && !members.iter().any(|members| members.is_empty()) {
            return Arc::new(Groups { vocabulary: Arc::clone(&previous.vocabulary), members, wordless });
        }
        let mut words: Vec<Box<str>> = previous.vocabulary.words.iter().cloned().chain(added).collect();
        let mut stays = members.iter().map(|members| !members.is_empty());
        words.retain(|_| stays.next().unwrap_or(false));
        members.retain(|members| !members.is_empty());
        Arc::new(Groups { vocabulary: Arc::new(Vocabulary::new(words, searched)), members, wordless })
    }

    /// The rows of a group; with `None`, those without a word.
    fn of(&self, group: Option<u32>) -> Option<&Arc<Members>> {
        group.map_or(Some(&self.wordless), |group| self.members.get(group as usize))
    }

    /// The group of a word; `None` for an unknown word.
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        self.vocabulary.find(&fold(word))
    }

    /// Adds the rows of `group` to `found`.
    pub(super) fn add_rows(&self, group: u32, found: &mut Bitmap) {
        if let Some(members) = self.members.get(group as usize) {
            members.add_to(found);
        }
    }

    /// Adds the rows whose word contains `needle` to `found`; none if the column is not searched.
    pub(super) fn add_rows_containing(&self, needle: &str, found: &mut Bitmap) {
        if let Some(corpus) = &self.vocabulary.corpus {
            corpus.search(needle, |first, groups| {
                (0..u64::BITS)
                    .filter(|group| groups >> group & 1 == 1)
                    .for_each(|group| self.add_rows(first + group, found));
            });
        }
    }

    /// Bytes on the heap, those that are shared with another index included.
    pub(super) fn heap_bytes(&self) -> usize {
        let members = self.members.iter().chain([&self.wordless]);
        let members: usize = members.map(|members| arc_bytes(members) + members.heap_bytes()).sum();
        let vector = self.members.capacity() * size_of::<Arc<Members>>();
        members + vector + arc_bytes(&self.vocabulary) + self.vocabulary.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(groups: &Groups, rows: usize, word: &str) -> Vec<u32> {
        let mut found = Bitmap::none(rows);
        groups.find(word).into_iter().for_each(|group| groups.add_rows(group, &mut found));
        found.iter().collect()
    }

    #[test]
    fn words_group_without_regard_to_case() {
        let words = [Some("Base"), None, Some("ethereum"), Some("BASE")];
        let groups = Groups::build(4, words.into_iter(), true);
        assert_eq!(rows(&groups, 4, "base"), [0, 3]);
        assert!(rows(&groups, 4, "nowhere").is_empty());
        let mut found = Bitmap::none(4);
        groups.add_rows_containing("THER", &mut found);
        assert_eq!(found.iter().collect::<Vec<u32>>(), [2]);
    }

    #[test]
    fn a_word_of_no_row_any_more_is_forgotten_and_a_column_that_did_not_change_is_shared() {
        let before = Arc::new(Groups::build(3, [Some("a"), Some("B"), None].into_iter(), true));
        let same = Renumbering::new(3, (0..3).map(|row| (Some(row), true)));
        let unchanged = Groups::after(&before, &same, [Some("A"), Some("b"), None].into_iter(), true);
        assert!(Arc::ptr_eq(&before, &unchanged));
        let after = Groups::after(&before, &same, [Some("b"), Some("b"), Some("c")].into_iter(), true);
        assert_eq!(after.find("a"), None);
        assert_eq!(rows(&after, 3, "b"), [0, 1]);
        assert_eq!(rows(&after, 3, "c"), [2]);
        assert_eq!(after.vocabulary.words.len(), 2);
    }
}
