//! The rows of one list, with the index that selects them.

use super::rows::reader;
use crate::replica::Row;
use crate::select::Selection;
use crate::wire::record::Reader;
use alloc::vec::Vec;

/// Encoded rows and their index. The row numbers of the index are positions in the rows.
#[derive(Debug, Clone)]
pub struct Listed<R, I> {
    rows: Vec<R>,
    index: I,
}

impl<R, I> Listed<R, I> {
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

impl<R, I> Listed<R, I> {
    /// Reads the columns and the list row of each row, and indexes the columns. `None` if `read` returns `None` for a row.
    pub(super) fn read<'a, C>(
        rows: &'a [Row],
        mut read: impl FnMut(&'a Row, Reader<'a>) -> Option<(C, R)>,
        build: impl FnOnce(&[C]) -> I,
    ) -> Option<Self> {
        let (mut columns, mut listed) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for row in rows {
            let (of_row, encoded) = read(row, reader(row))?;
            columns.push(of_row);
            listed.push(encoded);
        }
        Some(Listed { rows: listed, index: build(&columns) })
    }
}

/// What `read` reads of each row.
pub(super) fn read_rows<'a, T>(
    rows: &'a [Row],
    mut read: impl FnMut(&'a Row, Reader<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    rows.iter().map(|row| read(row, reader(row))).collect()
}
