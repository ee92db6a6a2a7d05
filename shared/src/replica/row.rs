//! Rows as they travel and lie in memory: one piece of shared bytes each.

use super::family::{FAMILIES, Family};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use sha2::{Digest, Sha256};

/// Bytes of the length that precedes a row's key.
const LENGTH_BYTES: usize = 2;

/// One row of a family: a key, which gives the row its place, and the content. Clones share the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Row(Arc<[u8]>);

impl Row {
    /// A row with this key and content. `None` if the key is longer than 65,535 bytes.
    pub fn new(key: &[u8], content: &[u8]) -> Option<Self> {
        let length = u16::try_from(key.len()).ok()?.to_le_bytes();
        Some(Row([length.as_slice(), key, content].concat().into()))
    }

    /// Reads a row's bytes; `None` if they end within the key.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        key_end(bytes).filter(|end| *end <= bytes.len()).map(|_| Row(bytes.into()))
    }

    /// All bytes: the key's length (two bytes, little-endian), the key, the content.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.0
    }

    /// Rows of a family are in ascending byte order of their keys.
    pub fn key(&self) -> &[u8] {
        self.0.get(LENGTH_BYTES..self.content_start()).unwrap_or_default()
    }

    pub fn content(&self) -> &[u8] {
        self.0.get(self.content_start()..).unwrap_or_default()
    }

    /// Where the content begins in [`bytes`](Self::bytes).
    pub fn content_start(&self) -> usize {
        key_end(&self.0).unwrap_or(self.0.len())
    }

    /// Whether both are the same row in memory. Different rows may still be equal.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// SHA-256 of the family's number and the row's bytes.
    pub fn digest(&self, family: Family) -> [u8; 32] {
        Sha256::new().chain_update([family.code()]).chain_update(&self.0).finalize().into()
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({:?}, {} bytes)", self.key(), self.0.len())
    }
}

/// Where the key ends, if there are bytes of its length.
fn key_end(bytes: &[u8]) -> Option<usize> {
    let (length, _) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    Some(usize::from(u16::from_le_bytes(*length)) + LENGTH_BYTES)
}

/// The rows of every family, each in strictly ascending order of keys. Clones share the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows([Arc<Vec<Row>>; FAMILIES]);

impl Default for Rows {
    /// No rows.
    fn default() -> Self {
        Rows(core::array::from_fn(|_| Arc::default()))
    }
}

impl Rows {
    /// The rows of a family.
    pub fn of(&self, family: Family) -> &Arc<Vec<Row>> {
        // Every family has a place.
        match self.0.get(family as usize) {
            Some(rows) => rows,
            None => {
                let [first, ..] = &self.0;
                first
            }
        }
    }

    /// Replaces the rows of a family. `None`, and nothing is replaced, if `rows` are not in strictly ascending order of keys.
    pub fn set(&mut self, family: Family, rows: Arc<Vec<Row>>) -> Option<()> {
        let sorted = rows.is_sorted_by(|a, b| a.key() < b.key());
        let place = self.0.get_mut(family as usize).filter(|_| sorted)?;
        *place = rows;
        Some(())
    }

    /// Whether a family's rows are the same list in memory in both.
    pub fn shares(&self, other: &Self, family: Family) -> bool {
        Arc::ptr_eq(self.of(family), other.of(family))
    }

    /// The row with this key.
    pub fn find(&self, family: Family, key: &[u8]) -> Option<&Row> {
        let rows = self.of(family);
        rows.binary_search_by(|row| row.key().cmp(key)).ok().and_then(|place| rows.get(place))
    }

    /// Number of rows of all families.
    pub fn len(&self) -> usize {
        self.0.iter().map(|rows| rows.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_is_read_back_and_no_bytes_break_the_reading(
            key in prop::collection::vec(any::<u8>(), 0..20),
            content in prop::collection::vec(any::<u8>(), 0..40),
            any in prop::collection::vec(any::<u8>(), 0..8),
        ) {
            let row = Row::new(&key, &content).unwrap();
            let read = Row::from_bytes(row.bytes()).unwrap();
            prop_assert_eq!((read.key(), read.content()), (key.as_slice(), content.as_slice()));
            if let Some(read) = Row::from_bytes(&any) {
                prop_assert_eq!(read.key().len() + read.content().len() + 2, any.len());
            }
        }
    }

    #[test]
    fn the_digest_depends_on_the_family_and_on_where_the_key_ends() {
        let row = Row::new(b"a", b"bc").unwrap();
        let moved = Row::new(b"ab", b"c").unwrap();
        assert_ne!(row.digest(Family::Vaults), moved.digest(Family::Vaults));
        assert_ne!(row.digest(Family::Vaults), row.digest(Family::Markets));
        assert!(Row::new(&[0; 70_000], b"").is_none());
    }

    #[test]
    fn only_rows_in_order_of_their_keys_are_taken() {
        let row = |key: &str| Row::new(key.as_bytes(), b"").unwrap();
        let mut rows = Rows::default();
        assert!(rows.set(Family::Feeds, Arc::new(vec![row("b"), row("a")])).is_none() && rows.is_empty());
        assert!(rows.set(Family::Feeds, Arc::new(vec![row("a"), row("a")])).is_none());
        assert!(rows.set(Family::Feeds, Arc::new(vec![row("a"), row("b")])).is_some());
        assert_eq!((rows.len(), rows.find(Family::Feeds, b"b").map(Row::key)), (2, Some(b"b".as_slice())));
    }
}
