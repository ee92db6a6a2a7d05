//! Inverted index of a column with few distinct values: maps each value to its rows.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::bitmap::Bitmap;
use super::text::{Corpus, fold};

/// The rows that contain one value: a bitmap, or a list if that is smaller.
#[derive(Debug, Clone)]
enum Members {
    Dense(Bitmap),
    Sparse(Vec<u32>),
}

impl Members {
    fn new(members: Vec<u32>, rows: usize) -> Self {
        // A list takes 32 bits per member, a bitmap one bit per row.
        if members.len() < rows / 32 {
            return Members::Sparse(members);
        }
        let mut bitmap = Bitmap::none(rows);
        members.iter().for_each(|&row| bitmap.insert(row));
        Members::Dense(bitmap)
    }

    fn add_to(&self, found: &mut Bitmap) {
        match self {
            Members::Dense(bitmap) => found.add(bitmap),
            Members::Sparse(rows) => rows.iter().for_each(|&row| found.insert(row)),
        }
    }
}

/// A column of words. Words that differ only in case are one group.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    /// Maps a folded word or alias to the index of its group in `members`.
    names: BTreeMap<String, u32>,
    members: Vec<Members>,
    /// The words as a corpus, if the column is searched; entry numbers are indexes in `members`.
    corpus: Option<Corpus>,
}

impl Groups {
    /// Groups `rows` rows by their word; a row without a word is in no group.
    pub(super) fn build<'a>(rows: usize, words: impl Iterator<Item = Option<&'a str>>, searched: bool) -> Self {
        let (mut seen, mut names) = (BTreeMap::<&str, u32>::new(), BTreeMap::new());
        let mut members: Vec<Vec<u32>> = Vec::new();
        for (row, word) in (0u32..).zip(words.take(rows)) {
            let Some(word) = word else { continue };
            let group = *seen.entry(word).or_insert_with(|| {
                *names.entry(fold(word)).or_insert_with(|| {
                    members.push(Vec::new());
                    (members.len() - 1) as u32
                })
            });
            if let Some(rows) = members.get_mut(group as usize) {
                rows.push(row);
            }
        }
        let corpus = searched.then(|| {
            let mut by_group: Vec<(u32, &str)> = names.iter().map(|(word, &group)| (group, word.as_str())).collect();
            by_group.sort_unstable();
            Corpus::build(by_group.into_iter().map(|(_, word)| [word]))
        });
        Groups { names, members: members.into_iter().map(|members| Members::new(members, rows)).collect(), corpus }
    }

    /// Adds `alias` as another name of the group of `word`; does nothing if there is no such group.
    pub(super) fn alias(&mut self, alias: &str, word: &str) {
        if let Some(&group) = self.names.get(&fold(word)) {
            self.names.entry(fold(alias)).or_insert(group);
        }
    }

    /// Adds the rows of `word` to `found`; adds nothing for an unknown word.
    pub(super) fn add_rows_of(&self, word: &str, found: &mut Bitmap) {
        if let Some(members) = self.names.get(&fold(word)).and_then(|&group| self.members.get(group as usize)) {
            members.add_to(found);
        }
    }

    /// Adds the rows whose word contains `needle` to `found`; none if the column is not searched.
    pub(super) fn add_rows_containing(&self, needle: &str, found: &mut Bitmap) {
        if let Some(corpus) = &self.corpus {
            corpus.search(needle, |group| {
                if let Some(members) = self.members.get(group as usize) {
                    members.add_to(found);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(groups: &Groups, rows: usize, word: &str) -> Vec<u32> {
        let mut found = Bitmap::none(rows);
        groups.add_rows_of(word, &mut found);
        found.iter().collect()
    }

    #[test]
    fn words_group_without_regard_to_case_and_are_found_by_their_aliases() {
        let words = [Some("Base"), None, Some("ethereum"), Some("BASE")];
        let mut groups = Groups::build(4, words.into_iter(), true);
        groups.alias("8453", "base");
        groups.alias("1", "nowhere");
        assert_eq!(rows(&groups, 4, "base"), [0, 3]);
        assert_eq!(rows(&groups, 4, "8453"), [0, 3]);
        assert!(rows(&groups, 4, "1").is_empty());
        let mut found = Bitmap::none(4);
        groups.add_rows_containing("THER", &mut found);
        assert_eq!(found.iter().collect::<Vec<u32>>(), [2]);
    }

    #[test]
    fn a_rare_word_is_stored_as_a_list_and_a_common_one_as_a_bitmap() {
        let groups =
            Groups::build(1_000, (0..1_000).map(|row| Some(if row == 500 { "rare" } else { "common" })), false);
        assert!(matches!(groups.members.as_slice(), [Members::Dense(_), Members::Sparse(_)]));
        assert_eq!(rows(&groups, 1_000, "rare"), [500]);
        assert_eq!(rows(&groups, 1_000, "common").len(), 999);
    }
}
