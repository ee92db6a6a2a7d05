//! Filter, sort and page: the engine behind every list.
//!
//! An [`Index`] is built once from a list's columns and never changes; the index of a changed list starts from that of the list before
//! ([`Index::after`]) and shares the columns that did not change. A query intersects one bitmap per filter and counts
//! the set bits for the total. It reads the page from row numbers that are presorted for each sortable column, so the cost
//! of a page hardly depends on the length of the list.
//!
//! | file | content |
//! |---|---|
//! | `bitmap` | sets of rows |
//! | `renumbering` | which rows of a changed list are new, changed, or were another row before |
//! | `groups`, `members` | columns with few distinct words; the rows with one word |
//! | `order`, `names`, `sorted` | sortable columns of numbers, of texts; the rows in sorted order |
//! | `text` | substring search |
//! | `page` | selecting one page of a sorted list |
//! | [`changes`] | the order of the change feed, and positions in it |
//! | [`markets`], [`feeds`] | the columns, filters and order of the market and feed lists |
//! | [`curators`] | the columns and order of the curator list |
//! | [`security`], [`losses`] | the columns, filters and order of the security registry and the loss board |
//! | [`vaults`] | the columns of the vault lists |
//! | [`assets`] | the columns, filters and facets of the asset lists |
//! | [`vault_filters`] | the filters and sort fields of the vault lists |
//!
//! Rules of every list: a list of words is an "or", several filters are an "and"; rows without a value come last in
//! both directions; ties are in row order. The caller numbers its rows in ascending id order, so pages neither overlap
//! nor skip a row.

pub mod assets;
mod bitmap;
pub mod changes;
pub mod curators;
pub mod feeds;
mod groups;
pub mod losses;
pub mod markets;
mod members;
mod names;
mod order;
mod page;
mod renumbering;
pub mod security;
mod sorted;
mod text;
pub mod vault_filters;
pub mod vaults;

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use self::bitmap::Bitmap;
use self::groups::Groups;
use self::order::{Key, Order};
pub use self::renumbering::Renumbering;
use self::text::{Corpus, arc_bytes, fold};
use crate::wire::page::PageRequest;

/// A column of words of one [`Index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordColumn(usize);

/// A boolean column of one [`Index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagColumn(usize);

/// A sortable column of one [`Index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortColumn(usize);

/// One condition on rows. Conditions of a query are combined with "and".
#[derive(Debug, Clone, PartialEq)]
pub enum Condition<'a> {
    /// The row's word is one of the listed words, ignoring letter case. An unknown word matches no row.
    AnyOf(WordColumn, Vec<&'a str>),
    /// The flag has this value.
    Is(FlagColumn, bool),
    /// The value lies within the bounds, both inclusive; a row without a value does not match.
    Between(SortColumn, Option<f64>, Option<f64>),
    /// A searched column or the row's own text contains this text, ignoring letter case. The empty text matches every row.
    Contains(&'a str),
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub by: SortColumn,
    pub descending: bool,
}

/// The result of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Row numbers of the requested page, in order; empty beyond the last page.
    pub rows: Vec<u32>,
    /// Number of matching rows on all pages.
    pub total: usize,
}

/// The indexed columns of one list.
#[derive(Debug, Clone, Default)]
pub struct Index {
    rows: usize,
    words: Vec<Words>,
    flags: Vec<Arc<Bitmap>>,
    orders: Vec<SortedColumn>,
    corpus: Corpus,
    /// Until the first columns are complete: the index that they start from.
    previous: Option<Box<Previous>>,
}

/// A column of words.
#[derive(Debug, Clone)]
struct Words {
    groups: Arc<Groups>,
    /// Folded names that select a group in addition to its word, ascending.
    aliases: Vec<(Box<str>, u32)>,
}

/// A sortable column.
#[derive(Debug, Clone)]
struct SortedColumn {
    order: Arc<Order>,
    /// Whether it is a column of numbers that [`Condition::Between`] may use.
    ranged: bool,
}

/// The columns of the index before a change that are still to be replaced, the next one last.
#[derive(Debug, Clone)]
struct Previous {
    renumbering: Renumbering,
    words: Vec<Arc<Groups>>,
    flags: Vec<Arc<Bitmap>>,
    orders: Vec<Arc<Order>>,
    corpus: Corpus,
}

impl Index {
    /// An index without columns over `rows` rows, at most `u32::MAX`, numbered from 0 in ascending id order.
    pub fn new(rows: usize) -> Self {
        Index { rows, ..Index::default() }
    }

    /// An index without columns over the rows of a changed list. The same columns have to be added in the same order as to `previous`, with the
    /// values of all rows; each then costs little if few rows changed, and gives the same answers as a new index does.
    ///
    /// A row that `renumbering` does not report as changed must have the values it had in every column: they are not read again.
    pub fn after(previous: &Index, renumbering: &Renumbering) -> Self {
        let mut index = Index::new(renumbering.rows());
        if renumbering.old_rows() == previous.rows {
            index.previous = Some(Box::new(Previous {
                renumbering: renumbering.clone(),
                words: previous.words.iter().rev().map(|words| Arc::clone(&words.groups)).collect(),
                flags: previous.flags.iter().rev().map(Arc::clone).collect(),
                orders: previous.orders.iter().rev().map(|column| Arc::clone(&column.order)).collect(),
                corpus: previous.corpus.clone(),
            }));
        }
        index
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes that the index takes on the heap. Parts that it shares with another index count in both.
    pub fn heap_bytes(&self) -> usize {
        let words: usize = self.words.iter().map(Words::heap_bytes).sum();
        let flags: usize = self.flags.iter().map(|set| arc_bytes(set) + set.heap_bytes()).sum();
        let orders = self.orders.iter().map(|column| &column.order);
        let orders: usize = orders.map(|order| arc_bytes(order) + order.heap_bytes()).sum();
        let vectors = self.words.capacity() * size_of::<Words>()
            + self.flags.capacity() * size_of::<Arc<Bitmap>>()
            + self.orders.capacity() * size_of::<SortedColumn>();
        words + flags + orders + vectors + self.corpus.heap_bytes()
    }

    /// Adds a column of words, one per row; [`Condition::Contains`] searches it if `searched`.
    pub fn add_words<'a>(&mut self, words: impl Iterator<Item = Option<&'a str>>, searched: bool) -> WordColumn {
        let groups = match self.previous_column(|previous| previous.words.pop()) {
            Some((previous, renumbering)) => Groups::after(&previous, &renumbering, words, searched),
            None => Arc::new(Groups::build(self.rows, words, searched)),
        };
        self.words.push(Words { groups, aliases: Vec::new() });
        WordColumn(self.words.len() - 1)
    }

    /// Makes `alias` select the rows of `word` as well.
    pub fn alias(&mut self, column: WordColumn, alias: &str, word: &str) {
        if let Some(words) = self.words.get_mut(column.0) {
            words.alias(alias, word);
        }
    }

    /// Adds a boolean column, one value per row.
    pub fn add_flags(&mut self, flags: impl Iterator<Item = bool>) -> FlagColumn {
        let set = match self.previous_column(|previous| previous.flags.pop()) {
            Some((previous, renumbering)) => bitmap::after(&previous, &renumbering, flags),
            None => {
                let mut set = Bitmap::none(self.rows);
                (0u32..).zip(flags.take(self.rows)).filter(|(_, flag)| *flag).for_each(|(row, _)| set.insert(row));
                Arc::new(set)
            }
        };
        self.flags.push(set);
        FlagColumn(self.flags.len() - 1)
    }

    /// Adds a column of numbers, one per row. Without `ranged`, [`Condition::Between`] on the column matches no row.
    pub fn add_numbers(&mut self, numbers: impl Iterator<Item = Option<f64>>, ranged: bool) -> SortColumn {
        self.add_keys(numbers.map(Key::of_number), ranged)
    }

    /// Adds a sortable column of integers, one per row: instants, counts. The two least and the greatest `i64` sort as their neighbours do.
    pub fn add_integers(&mut self, integers: impl Iterator<Item = Option<i64>>) -> SortColumn {
        self.add_keys(integers.map(Key::of_integer), false)
    }

    fn add_keys(&mut self, keys: impl Iterator<Item = Key>, ranged: bool) -> SortColumn {
        let order = match self.previous_column(|previous| previous.orders.pop()) {
            Some((previous, renumbering)) => Order::after(&previous, &renumbering, keys),
            None => {
                let mut all = Vec::with_capacity(self.rows);
                all.extend(keys.take(self.rows));
                all.resize(self.rows, Key::NONE);
                Arc::new(Order::build(all))
            }
        };
        self.add_order(order, ranged)
    }

    /// Adds a column of texts, one per row, sorted without regard to case.
    pub fn add_names<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> SortColumn {
        let order = match self.previous_column(|previous| previous.orders.pop()) {
            Some((previous, renumbering)) => names::after(&previous, &renumbering, names),
            None => Arc::new(names::build(self.rows, names)),
        };
        self.add_order(order, false)
    }

    fn add_order(&mut self, order: Arc<Order>, ranged: bool) -> SortColumn {
        self.orders.push(SortedColumn { order, ranged });
        SortColumn(self.orders.len() - 1)
    }

    /// Sets the texts of each row that [`Condition::Contains`] searches.
    pub fn set_texts<'a, P: IntoIterator<Item = &'a str>>(&mut self, texts: impl Iterator<Item = P>) {
        let texts = texts.take(self.rows);
        let corpus = |previous: &mut Previous| Some(core::mem::take(&mut previous.corpus));
        self.corpus = match self.previous_column(corpus) {
            Some((previous, renumbering)) if previous.len() == renumbering.old_rows() => {
                Corpus::after(&previous, &renumbering, texts)
            }
            _ => Corpus::build(texts),
        };
    }

    /// A column of the previous index, if there is one, which is forgotten when its last column is taken.
    fn previous_column<T>(&mut self, take: impl Fn(&mut Previous) -> Option<T>) -> Option<(T, Renumbering)> {
        let previous = self.previous.as_mut()?;
        let taken = take(previous).map(|column| (column, previous.renumbering.clone()));
        if previous.is_empty() {
            self.previous = None;
        }
        taken
    }

    /// The page of the rows that meet all `conditions`, sorted by `sort`. A condition on a column that this index lacks matches no row.
    pub fn select(&self, conditions: &[Condition<'_>], sort: Sort, page: PageRequest) -> Selection {
        self.page_of(self.matches(conditions), sort, page)
    }

    /// Like [`select`](Self::select), and calls `each` with every matching row of all pages, in row order, to compute totals.
    pub fn select_each(
        &self,
        conditions: &[Condition<'_>],
        sort: Sort,
        page: PageRequest,
        each: impl FnMut(u32),
    ) -> Selection {
        let matches = self.matches(conditions);
        match &matches {
            Some(matches) => matches.iter().for_each(each),
            None => (0..u32::try_from(self.rows).unwrap_or(u32::MAX)).for_each(each),
        }
        self.page_of(matches, sort, page)
    }

    fn page_of(&self, matches: Option<Bitmap>, sort: Sort, page: PageRequest) -> Selection {
        let total = matches.as_ref().map_or(self.rows, Bitmap::len);
        let offset = usize::try_from(page.offset()).unwrap_or(usize::MAX);
        let end = usize::try_from(page.end()).unwrap_or(usize::MAX).min(total);
        let rows = match self.orders.get(sort.by.0) {
            Some(SortedColumn { order, .. }) if offset < total => {
                page::page(order, sort.descending, matches.as_ref(), total, offset, end)
            }
            _ => Vec::new(),
        };
        Selection { rows, total }
    }

    /// Every row that meets all `conditions`; `None` means all rows.
    fn matches(&self, conditions: &[Condition<'_>]) -> Option<Bitmap> {
        let sets = conditions.iter().filter(|condition| !matches!(condition, Condition::Contains("")));
        sets.map(|condition| self.rows_that_meet(condition)).reduce(|mut all, one| {
            all.keep(&one);
            all
        })
    }

    fn rows_that_meet(&self, condition: &Condition<'_>) -> Bitmap {
        let mut found = Bitmap::none(self.rows);
        match condition {
            Condition::AnyOf(column, words) => {
                if let Some(column) = self.words.get(column.0) {
                    words.iter().for_each(|word| column.add_rows_of(word, &mut found));
                }
            }
            Condition::Is(column, wanted) => {
                if let Some(set) = self.flags.get(column.0) {
                    return if *wanted { Bitmap::clone(set) } else { set.complement() };
                }
            }
            Condition::Between(column, min, max) => {
                if let Some(SortedColumn { order, ranged: true }) = self.orders.get(column.0) {
                    return order.between(*min, *max);
                }
            }
            Condition::Contains(needle) => {
                self.words.iter().for_each(|words| words.groups.add_rows_containing(needle, &mut found));
                self.corpus.search(needle, |first, rows| found.add_bits(first as usize, rows));
            }
        }
        found
    }
}

impl Previous {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.flags.is_empty() && self.orders.is_empty() && self.corpus.len() == 0
    }
}

impl Words {
    fn alias(&mut self, alias: &str, word: &str) {
        let alias = fold(alias).into_boxed_str();
        if let Some(group) = self.groups.find(word)
            && let Err(place) = self.aliases.binary_search_by(|(other, _)| other.cmp(&alias))
        {
            self.aliases.insert(place, (alias, group));
        }
    }

    /// Adds the rows of a word or alias to `found`; nothing for an unknown word.
    fn add_rows_of(&self, word: &str, found: &mut Bitmap) {
        let folded = fold(word);
        let alias = || self.aliases.iter().find(|(alias, _)| **alias == *folded).map(|(_, group)| *group);
        if let Some(group) = self.groups.find(word).or_else(alias) {
            self.groups.add_rows(group, found);
        }
    }

    fn heap_bytes(&self) -> usize {
        let aliases: usize = self.aliases.iter().map(|(alias, _)| alias.len()).sum();
        let vector = self.aliases.capacity() * size_of::<(Box<str>, u32)>();
        aliases + vector + arc_bytes(&self.groups) + self.groups.heap_bytes()
    }
}
