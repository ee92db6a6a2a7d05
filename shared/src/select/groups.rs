//! Inverted index of a column with few distinct values: maps each value to its rows.

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use super::bitmap::Bitmap;
use super::members::Members;
use super::renumbering::Renumbering;
use super::text::{arc_bytes, fold};
use super::vocabulary::{Numbers, Vocabulary};

/// A column of words. Words that differ only in case are one group; a group is named by the index of its word.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    vocabulary: Arc<Vocabulary>,
    /// The rows of each group; no group is empty.
    members: Vec<Arc<Members>>,
    /// The rows without a word.
    wordless: Arc<Members>,
}

impl Groups {
    /// Groups rows by the numbers of their words, which `numbers` gave; a row without a word is in no group.
    pub(super) fn build(groups: &[Option<u32>], numbers: Numbers, searched: bool) -> Self {
        let rows = groups.len();
        let (mut members, mut wordless) = (Vec::<Vec<u32>>::new(), Vec::new());
        for (row, group) in (0u32..).zip(groups) {
            let Some(group) = group.map(|group| group as usize) else {
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

    /// The groups after a change of the list, where `groups` are those of the changed rows. `numbers` continued the vocabulary of `previous`.
    pub(super) fn after(
        previous: &Arc<Groups>,
        renumbering: &Renumbering,
        groups: &[Option<u32>],
        numbers: Numbers,
    ) -> Arc<Groups> {
        let searched = previous.vocabulary.corpus.is_some();
        // The old numbers of rows that leave their group; the groups that rows enter, `None` for rows that have no word now.
        let mut leaving = Bitmap::none(renumbering.old_rows());
        let mut entering: Vec<(Option<u32>, u32)> = Vec::new();
        for (row, group) in renumbering.changed().iter().zip(groups.iter().copied()) {
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

    pub(super) fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
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
    use crate::select::vocabulary::Recent;

    fn numbered<'a>(mut numbers: Numbers, words: &[Option<&'a str>]) -> (Vec<Option<u32>>, Numbers) {
        let mut recent = Recent::new();
        let groups = words.iter().map(|word| word.map(|word: &'a str| numbers.of(word, &mut recent))).collect();
        (groups, numbers)
    }

    fn build(words: &[Option<&str>]) -> Groups {
        let (groups, numbers) = numbered(Numbers::default(), words);
        Groups::build(&groups, numbers, true)
    }

    fn after(before: &Arc<Groups>, renumbering: &Renumbering, words: &[Option<&str>]) -> Arc<Groups> {
        let (groups, numbers) = numbered(Numbers::after(before.vocabulary()), words);
        Groups::after(before, renumbering, &groups, numbers)
    }

    fn rows(groups: &Groups, rows: usize, word: &str) -> Vec<u32> {
        let mut found = Bitmap::none(rows);
        groups.find(word).into_iter().for_each(|group| groups.add_rows(group, &mut found));
        found.iter().collect()
    }

    #[test]
    fn words_group_without_regard_to_case() {
        let words = [Some("Base"), None, Some("ethereum"), Some("BASE")];
        let groups = build(&words);
        assert_eq!(rows(&groups, 4, "base"), [0, 3]);
        assert!(rows(&groups, 4, "nowhere").is_empty());
        let mut found = Bitmap::none(4);
        groups.add_rows_containing("THER", &mut found);
        assert_eq!(found.iter().collect::<Vec<u32>>(), [2]);
    }

    #[test]
    fn a_word_of_no_row_any_more_is_forgotten_and_a_column_that_did_not_change_is_shared() {
        let before = Arc::new(build(&[Some("a"), Some("B"), None]));
        let same = Renumbering::new(3, (0..3).map(|row| (Some(row), true)));
        let unchanged = after(&before, &same, &[Some("A"), Some("b"), None]);
        assert!(Arc::ptr_eq(&before, &unchanged));
        let after = after(&before, &same, &[Some("b"), Some("b"), Some("c")]);
        assert_eq!(after.find("a"), None);
        assert_eq!(rows(&after, 3, "b"), [0, 1]);
        assert_eq!(rows(&after, 3, "c"), [2]);
        assert_eq!(after.vocabulary.words.len(), 2);
    }
}
