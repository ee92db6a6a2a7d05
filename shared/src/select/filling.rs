//! Fills an index with rows, block by block and with pauses, either all rows of a list or those that changed.

use alloc::{boxed::Box, collections::BTreeMap, sync::Arc, vec::Vec};

use super::bitmap::{self, Bitmap};
use super::corpus_change::{self, ChangedTexts};
use super::groups::Groups;
use super::order::{Key, Order};
use super::text::{Corpus, Unfinished, fold};
use super::vocabulary::{Numbers, Recent};
use super::{FlagColumn, Index, Renumbering, SortColumn, SortedColumn, WordColumn, Words, names};
use crate::pace::Pace;

/// About what a row takes in a pass over a column of words or flags, and a word in a vocabulary.
const ROW_NANOS: usize = 20;
const WORD_NANOS: usize = 400;

/// An index that is being filled. After [`block`](Self::block), every column is added in the same order, with the values of the block's rows.
#[derive(Debug)]
pub struct Filling {
    /// The index before a change, and which rows changed; only these are given.
    change: Option<(Index, Renumbering)>,
    words: Vec<WordValues>,
    flags: Vec<Vec<bool>>,
    orders: Vec<SortValues>,
    texts: Texts,
    /// Rows before this block, and rows of this block.
    first: usize,
    block: usize,
    /// Numbers of columns that were added in this block.
    added: Added,
}

#[derive(Debug, Default)]
struct Added {
    words: usize,
    flags: usize,
    orders: usize,
}

#[derive(Debug)]
struct WordValues {
    searched: bool,
    numbers: Numbers,
    groups: Vec<Option<u32>>,
    /// Folded names that select the rows of a word, with the folded word.
    aliases: BTreeMap<Box<str>, Box<str>>,
}

#[derive(Debug)]
enum SortValues {
    Keys {
        keys: Vec<Key>,
        ranged: bool,
    },
    /// The first of each row's texts.
    Names,
}

#[derive(Debug)]
enum Texts {
    All(Unfinished),
    Changed(ChangedTexts),
}

impl Filling {
    /// An index without columns, of all rows of a list in ascending order of ids, at most `u32::MAX`.
    pub fn new() -> Self {
        Self::of(None, Texts::All(Unfinished::default()))
    }

    /// An index of a changed list. The same columns are added in the same order as to `previous`, with the values of the rows that `renumbering`
    /// reports as new or changed, in their order. It gives the same answers as a new index does. `None` if `renumbering` does not relate to the
    /// rows of `previous`.
    ///
    /// A row that `renumbering` does not report must have the values it had in every column.
    pub fn after(previous: &Index, renumbering: &Renumbering) -> Option<Self> {
        let change = (previous.clone(), renumbering.clone());
        (renumbering.old_rows() == previous.rows)
            .then(|| Self::of(Some(change), Texts::Changed(ChangedTexts::default())))
    }

    fn of(change: Option<(Index, Renumbering)>, texts: Texts) -> Self {
        let (words, flags, orders) = (Vec::new(), Vec::new(), Vec::new());
        Filling { change, words, flags, orders, texts, first: 0, block: 0, added: Added::default() }
    }

    /// Begins a block of so many rows.
    pub fn block(&mut self, rows: usize) {
        self.first += self.block;
        self.block = rows;
        self.added = Added::default();
    }

    /// Number of rows that were given before this block.
    pub fn rows_before(&self) -> usize {
        self.first
    }

    /// Adds a column of words, one per row; [`Condition::Contains`](super::Condition::Contains) searches it if `searched`.
    pub fn add_words<'a>(&mut self, words: impl Iterator<Item = Option<&'a str>>, searched: bool) -> WordColumn {
        let place = self.added.words;
        self.added.words += 1;
        if place == self.words.len() {
            let known = self.change.as_ref().and_then(|(previous, _)| previous.words.get(place));
            let numbers = known.map_or_else(Numbers::default, |known| Numbers::after(known.groups.vocabulary()));
            self.words.push(WordValues { searched, numbers, groups: Vec::new(), aliases: BTreeMap::new() });
        }
        if let Some(column) = self.words.get_mut(place) {
            let mut recent = Recent::new();
            let groups = words.take(self.block).map(|word| word.map(|word| column.numbers.of(word, &mut recent)));
            column.groups.extend(groups);
            column.groups.resize(self.first + self.block, None);
        }
        WordColumn(place)
    }

    /// Makes `alias` select the rows of `word` as well. An alias stands for one word; of two, the first one counts.
    pub fn alias(&mut self, column: WordColumn, alias: &str, word: &str) {
        if let Some(column) = self.words.get_mut(column.0) {
            let alias = fold(alias).into_boxed_str();
            column.aliases.entry(alias).or_insert_with(|| fold(word).into_boxed_str());
        }
    }

    /// Adds a boolean column, one value per row.
    pub fn add_flags(&mut self, flags: impl Iterator<Item = bool>) -> FlagColumn {
        let place = self.added.flags;
        self.added.flags += 1;
        if place == self.flags.len() {
            self.flags.push(Vec::new());
        }
        if let Some(column) = self.flags.get_mut(place) {
            column.extend(flags.take(self.block));
            column.resize(self.first + self.block, false);
        }
        FlagColumn(place)
    }

    /// Adds a column of numbers, one per row. Without `ranged`, [`Condition::Between`](super::Condition::Between) on the column matches no row.
    pub fn add_numbers(&mut self, numbers: impl Iterator<Item = Option<f64>>, ranged: bool) -> SortColumn {
        self.add_keys(numbers.map(Key::of_number), ranged)
    }

    /// Adds a sortable column of integers, one per row: instants, counts. The two least and the greatest `i64` sort as their neighbours do.
    pub fn add_integers(&mut self, integers: impl Iterator<Item = Option<i64>>) -> SortColumn {
        self.add_keys(integers.map(Key::of_integer), false)
    }

    fn add_keys(&mut self, values: impl Iterator<Item = Key>, ranged: bool) -> SortColumn {
        let column = self.add_order(|| SortValues::Keys { keys: Vec::new(), ranged });
        if let Some(SortValues::Keys { keys, .. }) = self.orders.get_mut(column.0) {
            keys.extend(values.take(self.block));
            keys.resize(self.first + self.block, Key::NONE);
        }
        column
    }

    /// Adds a column by which rows are sorted by the first of their texts, without regard to case.
    pub fn add_names(&mut self) -> SortColumn {
        self.add_order(|| SortValues::Names)
    }

    fn add_order(&mut self, new: impl FnOnce() -> SortValues) -> SortColumn {
        let place = self.added.orders;
        self.added.orders += 1;
        if place == self.orders.len() {
            self.orders.push(new());
        }
        SortColumn(place)
    }

    /// Sets the texts of each row that [`Condition::Contains`](super::Condition::Contains) searches.
    pub fn set_texts<'a, P: IntoIterator<Item = &'a str>>(&mut self, texts: impl Iterator<Item = P>) {
        let texts = texts.take(self.block);
        match &mut self.texts {
            Texts::All(all) => texts.for_each(|texts| all.add(texts)),
            Texts::Changed(changed) => texts.for_each(|texts| changed.add(texts)),
        }
    }

    /// The index with all columns.
    pub async fn finish(self, pace: &Pace<'_>) -> Index {
        let given = self.first + self.block;
        let Filling { change, words, flags, orders, texts, .. } = self;
        let (rows, previous) = match &change {
            Some((previous, renumbering)) => (renumbering.rows(), Some((previous, renumbering))),
            None => (given, None),
        };
        let (corpus, changed_texts) = match (texts, previous) {
            (Texts::Changed(texts), Some((previous, renumbering))) => {
                corpus_change::after(&previous.corpus, renumbering, &texts, pace).await
            }
            (Texts::All(all), _) => (all.finish(), Vec::new()),
            (Texts::Changed(_), None) => (Corpus::default(), Vec::new()),
        };
        let mut index = Index { rows, ..Index::default() };
        for (place, values) in orders.into_iter().enumerate() {
            let before = previous.and_then(|(index, change)| Some((&index.orders.get(place)?.order, change)));
            let (order, ranged) = match (values, before) {
                (SortValues::Keys { keys, ranged }, Some((before, change))) => {
                    (Order::after(before, change, &keys, pace).await, ranged)
                }
                (SortValues::Keys { keys, ranged }, None) => (Arc::new(Order::build(keys, pace).await), ranged),
                (SortValues::Names, Some((before, change))) => {
                    (names::after(before, change, &corpus, &changed_texts, pace).await, false)
                }
                (SortValues::Names, None) => (Arc::new(names::build(&corpus, pace).await), false),
            };
            index.orders.push(SortedColumn { order, ranged });
        }
        for (place, values) in words.into_iter().enumerate() {
            let before = previous.and_then(|(index, change)| Some((index.words.get(place)?, change)));
            index.words.push(values.finish(rows, before, pace).await);
        }
        for (place, flags) in flags.into_iter().enumerate() {
            pace.step(rows * ROW_NANOS).await;
            let before = previous.and_then(|(index, change)| Some((index.flags.get(place)?, change)));
            index.flags.push(match before {
                Some((before, change)) => bitmap::after(before, change, &flags),
                None => {
                    let mut set = Bitmap::none(rows);
                    (0u32..).zip(flags).filter(|(_, flag)| *flag).for_each(|(row, _)| set.insert(row));
                    Arc::new(set)
                }
            });
        }
        index.corpus = corpus;
        index
    }
}

impl Default for Filling {
    fn default() -> Self {
        Self::new()
    }
}

impl WordValues {
    async fn finish(self, rows: usize, before: Option<(&Words, &Renumbering)>, pace: &Pace<'_>) -> Words {
        let words = before.map_or(0, |(before, _)| before.groups.vocabulary().words.len());
        pace.step(rows * ROW_NANOS + (words + self.numbers.added()) * WORD_NANOS).await;
        let groups = match before {
            Some((before, change)) => Groups::after(&before.groups, change, &self.groups, self.numbers),
            None => Arc::new(Groups::build(&self.groups, self.numbers, self.searched)),
        };
        let mut aliases = before.map_or_else(BTreeMap::new, |(before, _)| before.aliased());
        aliases.extend(self.aliases);
        let group = |(alias, word): (Box<str>, Box<str>)| Some((alias, groups.vocabulary().find(&word)?));
        let aliases = aliases.into_iter().filter_map(group).collect();
        Words { groups, aliases }
    }
}

impl Words {
    /// The aliases with the words that they stand for.
    fn aliased(&self) -> BTreeMap<Box<str>, Box<str>> {
        let words = &self.groups.vocabulary().words;
        let word = |group: u32| words.get(group as usize).cloned();
        self.aliases.iter().filter_map(|(alias, group)| Some((alias.clone(), word(*group)?))).collect()
    }
}
