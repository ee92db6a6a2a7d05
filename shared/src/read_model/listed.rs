//! The rows of one list, with the index that selects them.

use super::encoding::reader;
use crate::pace::Pace;
use crate::replica::Row;
use crate::select::{Filling, Indexed, Selection};
use crate::wire::record::Reader;
use alloc::vec::Vec;

/// Rows that are read in one step, and about what a row takes.
pub(super) const BLOCK: usize = 1 << 8;
pub(super) const ROW_NANOS: usize = 2_500;

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

impl<R, I: Indexed> Listed<R, I> {
    /// Reads the columns and the list row of each row, and indexes the columns. `None` if `read` returns `None` for a row.
    pub(super) async fn read(
        rows: &[Row],
        pace: &Pace<'_>,
        read: impl for<'r> Fn(&'r Row, Reader<'r>) -> Option<(I::Columns<'r>, R)>,
    ) -> Option<Self> {
        let (mut index, mut filling) = (I::default(), Filling::new());
        // An empty list has the same columns.
        index.add(&mut filling, &[]);
        let mut listed = Vec::with_capacity(rows.len());
        for block in rows.chunks(BLOCK) {
            pace.step(block.len() * ROW_NANOS).await;
            let mut columns = Vec::with_capacity(block.len());
            for row in block {
                let (of_row, encoded) = read(row, reader(row))?;
                columns.push(of_row);
                listed.push(encoded);
            }
            filling.block(block.len());
            index.add(&mut filling, &columns);
        }
        index.complete(filling.finish(pace).await);
        Some(Listed { rows: listed, index })
    }
}

/// What `read` reads of each row.
pub(super) async fn read_rows<'a, T>(
    rows: &'a [Row],
    pace: &Pace<'_>,
    mut read: impl FnMut(&'a Row, Reader<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut all = Vec::with_capacity(rows.len());
    for block in rows.chunks(BLOCK) {
        pace.step(block.len() * ROW_NANOS).await;
        for row in block {
            all.push(read(row, reader(row))?);
        }
    }
    Some(all)
}
