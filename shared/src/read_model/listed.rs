//! The rows of one list, with the index that selects them.

use crate::select::Selection;
use crate::wire::record::{self, Reader};
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

impl<R, I: Clone> Listed<R, I> {
    /// Appends the number of rows, and each row as `write` does.
    pub(super) fn write_rows(&self, out: &mut Vec<u8>, write: impl Fn(&R, &mut Vec<u8>)) {
        record::put_u64(self.rows.len() as u64, out);
        self.rows.iter().for_each(|row| write(row, out));
    }

    /// The index of this list with the rows that `read` reads. `None` if the number of rows is not that of this list.
    pub(super) fn with_rows(
        &self,
        reader: &mut Reader<'_>,
        mut read: impl FnMut(&mut Reader<'_>) -> Option<R>,
    ) -> Option<Self> {
        if reader.u64()? != self.rows.len() as u64 {
            return None;
        }
        Some(self.replaced((0..self.rows.len()).map(|_| read(reader)).collect::<Option<_>>()?))
    }

    /// The index of this list with other rows of the same number.
    pub(super) fn replaced(&self, rows: Vec<R>) -> Self {
        Listed { rows, index: self.index.clone() }
    }
}
