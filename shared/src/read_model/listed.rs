//! The rows of one list, with the index that selects them.

use crate::select::Selection;
use alloc::vec::Vec;

/// Encoded rows and their index. The row numbers of the index are positions in the rows.
#[derive(Debug, Clone)]
pub struct Listed<R, I> {
    rows: Vec<R>,
    index: I,
}

impl<R, I: Default> Default for Listed<R, I> {
    /// A list without rows.
    fn default() -> Self {
        Listed { rows: Vec::new(), index: I::default() }
    }
}

impl<R, I> Listed<R, I> {
    /// `rows` in the order in which `index` was built from them.
    pub fn new(rows: Vec<R>, index: I) -> Self {
        Listed { rows, index }
    }

    pub fn index(&self) -> &I {
        &self.index
    }

    /// All rows, in the order of their numbers.
    pub fn rows(&self) -> &[R] {
        &self.rows
    }

    /// The row with this number.
    pub fn row(&self, number: u32) -> Option<&R> {
        self.rows.get(number as usize)
    }

    /// The rows of a selection that the index made.
    pub fn selected(&self, selection: &Selection) -> impl Iterator<Item = &R> {
        selection.rows.iter().filter_map(|number| self.row(*number))
    }
}
