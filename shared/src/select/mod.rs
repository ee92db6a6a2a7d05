//! Filter, sort and page: the engine behind every list.
//!
//! An [`Index`] is filled once from a list's columns ([`Filling`]) and never changes; the index of a changed list is made from that of the list
//! before and of the rows that changed, and shares the columns that did not change. A query intersects one bitmap per filter and counts
//! the set bits for the total. It reads the page from row numbers that are presorted for each sortable column, so the cost
//! of a page hardly depends on the length of the list.
//!
//! | file | content |
//! |---|---|
//! | `bitmap` | sets of rows |
//! | `renumbering` | which rows of a changed list are new, changed, or were another row before |
//! | `filling` | the columns of an index, block by block |
//! | `groups`, `vocabulary`, `members` | columns with few distinct words; the words; the rows with one word |
//! | `order`, `names`, `sorted`, `sorting` | sortable columns of numbers, of texts; the rows in sorted order; how they are sorted |
//! | `text`, `corpus_change` | substring search; the texts of a changed list |
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
mod corpus_change;
pub mod curators;
pub mod feeds;
mod filling;
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
mod sorting;
mod text;
pub mod vault_filters;
pub mod vaults;
mod vocabulary;

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};

use self::bitmap::Bitmap;
pub use self::filling::Filling;
use self::groups::Groups;
use self::order::Order;
pub use self::renumbering::Renumbering;
use self::text::{Corpus, arc_bytes, fold};
use crate::pace::{Pace, at_once};
use crate::wire::page::PageRequest;

/// A column of words of one [`Index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WordColumn(usize);

/// A boolean column of one [`Index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlagColumn(usize);

/// A sortable column of one [`Index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SortColumn(usize);

/// One condition on rows. Conditions of a query are combined with "and".
#[derive(Debug, Clone, PartialEq)]
pub enum Condition<'a> {
    /// The row's word is one of the listed words, ignoring letter case. An unknown word matches no row.
    AnyOf(WordColumn, Vec<&'a str>),
    /// The row's word is none of the listed words. A row without a word matches.
    NoneOf(WordColumn, Vec<&'a str>),
    /// The flag has this value.
    Is(FlagColumn, bool),
    /// The value lies within the bounds, both inclusive; a row without a value does not match.
    Between(SortColumn, Option<f64>, Option<f64>),
    /// A searched column or the row's own text contains this text, ignoring letter case. The empty text matches every row.
    Contains(&'a str),
}

impl<'a> Condition<'a> {
    /// Hides the rows of chains, given by their numbers, which are aliases of words of `column`.
    fn hiding(column: WordColumn, chains: &'a [String]) -> Option<Self> {
        let chains: Vec<&str> = chains.iter().map(String::as_str).collect();
        (!chains.is_empty()).then_some(Condition::NoneOf(column, chains))
    }
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

/// The indexed columns of one list, made by a [`Filling`].
#[derive(Debug, Clone, Default)]
pub struct Index {
    rows: usize,
    words: Vec<Words>,
    flags: Vec<Arc<Bitmap>>,
    orders: Vec<SortedColumn>,
    corpus: Corpus,
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

/// The index of one kind of list: its columns, and what else it needs of the rows.
pub trait Indexed: Default {
    /// What it needs of a row.
    type Columns<'a>;

    /// Adds the columns of a block of rows.
    fn add(&mut self, filling: &mut Filling, rows: &[Self::Columns<'_>]);

    /// Takes the index that was filled.
    fn complete(&mut self, index: Index);

    /// The index of a list that is not long.
    fn build(rows: &[Self::Columns<'_>]) -> Self {
        let (mut index, mut filling) = (Self::default(), Filling::new());
        filling.block(rows.len());
        index.add(&mut filling, rows);
        index.complete(at_once(filling.finish(&Pace::unbroken())));
        index
    }
}

impl Index {
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
            Condition::NoneOf(column, words) => {
                if let Some(column) = self.words.get(column.0) {
                    words.iter().for_each(|word| column.add_rows_of(word, &mut found));
                }
                return found.complement();
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

impl Words {
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
