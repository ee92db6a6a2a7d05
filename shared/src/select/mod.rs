//! Filter, sort and page: the engine behind every list.
//!
//! An [`Index`] is built once from a list's columns and never changes. A query intersects one bitmap per filter and counts
//! the set bits for the total. It reads the page from row numbers that are presorted for each sortable column, so the cost
//! of a page hardly depends on the length of the list.
//!
//! | file | content |
//! |---|---|
//! | `bitmap` | sets of rows |
//! | `groups` | columns with few distinct words |
//! | `order` | sortable columns, and ranges of their values |
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
mod order;
mod page;
pub mod security;
mod text;
pub mod vault_filters;
pub mod vaults;

use alloc::vec::Vec;

use self::bitmap::Bitmap;
use self::groups::Groups;
use self::order::{Order, Ranges, key_of};
use self::text::{Corpus, fold};
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
    words: Vec<Groups>,
    flags: Vec<Bitmap>,
    orders: Vec<(Order, Option<Ranges>)>,
    corpus: Corpus,
}

impl Index {
    /// An index without columns over `rows` rows, at most `u32::MAX`, numbered from 0 in ascending id order.
    pub fn new(rows: usize) -> Self {
        Index { rows, ..Index::default() }
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a column of words, one per row; [`Condition::Contains`] searches it if `searched`.
    pub fn add_words<'a>(&mut self, words: impl Iterator<Item = Option<&'a str>>, searched: bool) -> WordColumn {
        self.words.push(Groups::build(self.rows, words, searched));
        WordColumn(self.words.len() - 1)
    }

    /// Makes `alias` select the rows of `word` as well.
    pub fn alias(&mut self, column: WordColumn, alias: &str, word: &str) {
        if let Some(groups) = self.words.get_mut(column.0) {
            groups.alias(alias, word);
        }
    }

    /// Adds a boolean column, one value per row.
    pub fn add_flags(&mut self, flags: impl Iterator<Item = bool>) -> FlagColumn {
        let mut set = Bitmap::none(self.rows);
        (0u32..).zip(flags.take(self.rows)).filter(|(_, flag)| *flag).for_each(|(row, _)| set.insert(row));
        self.flags.push(set);
        FlagColumn(self.flags.len() - 1)
    }

    /// Adds a column of numbers, one per row. Without `ranged`, [`Condition::Between`] on the column matches no row.
    pub fn add_numbers(&mut self, numbers: impl Iterator<Item = Option<f64>>, ranged: bool) -> SortColumn {
        let mut keys: Vec<Option<i64>> = numbers.take(self.rows).map(|number| number.and_then(key_of)).collect();
        keys.resize(self.rows, None);
        let order = Order::build(&keys);
        let ranges = ranged.then(|| Ranges::build(&order, &keys));
        self.add_order(order, ranges)
    }

    /// Adds a sortable column of integers, one per row: instants, counts.
    pub fn add_integers(&mut self, integers: impl Iterator<Item = Option<i64>>) -> SortColumn {
        let mut keys: Vec<Option<i64>> = integers.take(self.rows).collect();
        keys.resize(self.rows, None);
        self.add_order(Order::build(&keys), None)
    }

    /// Adds a column of texts, one per row, sorted without regard to case.
    pub fn add_names<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> SortColumn {
        let mut keys: Vec<_> = names.take(self.rows).map(|name| Some(fold(name))).collect();
        keys.resize(self.rows, None);
        self.add_order(Order::build(&keys), None)
    }

    fn add_order(&mut self, order: Order, ranges: Option<Ranges>) -> SortColumn {
        self.orders.push((order, ranges));
        SortColumn(self.orders.len() - 1)
    }

    /// Sets the texts of each row that [`Condition::Contains`] searches.
    pub fn set_texts<'a, P: IntoIterator<Item = &'a str>>(&mut self, texts: impl Iterator<Item = P>) {
        self.corpus = Corpus::build(texts.take(self.rows));
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
            Some((order, _)) if offset < total => {
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
                if let Some(groups) = self.words.get(column.0) {
                    words.iter().for_each(|word| groups.add_rows_of(word, &mut found));
                }
            }
            Condition::Is(column, wanted) => {
                if let Some(set) = self.flags.get(column.0) {
                    return if *wanted { set.clone() } else { set.complement() };
                }
            }
            Condition::Between(column, min, max) => {
                if let Some((order, Some(ranges))) = self.orders.get(column.0) {
                    return ranges.set(order, *min, *max);
                }
            }
            Condition::Contains(needle) => {
                self.words.iter().for_each(|groups| groups.add_rows_containing(needle, &mut found));
                self.corpus.search(needle, |row| found.insert(row));
            }
        }
        found
    }
}
