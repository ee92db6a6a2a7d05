//! Rows as they travel and lie in memory: one piece of shared bytes each, whose content may be packed in memory.

use super::dictionary::Dictionary;
use super::families::Families;
use super::family::{FAMILIES, Family};
use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use sha2::{Digest, Sha256};

/// About what it takes to hash a byte.
pub const HASH_NANOS: usize = 8;
/// Bytes of the length that precedes a row's key.
const LENGTH_BYTES: usize = 2;

/// One row of a family: a key, which gives the row its place, and the content. Clones share the bytes.
#[derive(Clone)]
pub struct Row {
    /// The key's length, the key, and the content, which may be packed.
    stored: Arc<[u8]>,
    /// What the content is packed with.
    dictionary: Option<Arc<Dictionary>>,
}

impl Row {
    /// A row with this key and content. `None` if the key is longer than 65,535 bytes.
    pub fn new(key: &[u8], content: &[u8]) -> Option<Self> {
        let length = u16::try_from(key.len()).ok()?.to_le_bytes();
        Some(Row { stored: [length.as_slice(), key, content].concat().into(), dictionary: None })
    }

    /// Reads a row's bytes; `None` if they end within the key.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        key_end(bytes).filter(|end| *end <= bytes.len()).map(|_| Row { stored: bytes.into(), dictionary: None })
    }

    /// All bytes as they travel: the key's length (two bytes, little-endian), the key, the content.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.dictionary {
            None => Cow::Borrowed(&self.stored),
            Some(dictionary) => {
                let (key, packed) = self.stored.split_at_checked(self.content_start()).unwrap_or_default();
                let mut bytes = key.to_vec();
                // What was packed can be unpacked.
                let _ = dictionary.unpack(packed, &mut bytes);
                Cow::Owned(bytes)
            }
        }
    }

    /// The bytes of a row that is not packed.
    pub fn shared_bytes(&self) -> Option<&Arc<[u8]>> {
        self.dictionary.is_none().then_some(&self.stored)
    }

    /// Rows of a family are in ascending byte order of their keys.
    pub fn key(&self) -> &[u8] {
        self.stored.get(LENGTH_BYTES..self.content_start()).unwrap_or_default()
    }

    pub fn content(&self) -> Cow<'_, [u8]> {
        match self.bytes() {
            Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(self.content_start()..).unwrap_or_default()),
            Cow::Owned(mut bytes) => Cow::Owned(bytes.split_off(self.content_start().min(bytes.len()))),
        }
    }

    /// Where the content begins in [`bytes`](Self::bytes).
    pub fn content_start(&self) -> usize {
        key_end(&self.stored).unwrap_or(self.stored.len())
    }

    /// The row with its content packed; the row itself if that would not be smaller.
    pub fn packed(&self, dictionary: &Arc<Dictionary>) -> Self {
        let plain = self.unpacked();
        let (key, content) = plain.stored.split_at_checked(plain.content_start()).unwrap_or_default();
        match dictionary.pack(content) {
            Some(packed) if packed.len() < content.len() => {
                Row { stored: [key, &packed].concat().into(), dictionary: Some(Arc::clone(dictionary)) }
            }
            _ => plain,
        }
    }

    /// The row with its content as it travels.
    pub fn unpacked(&self) -> Self {
        match self.bytes() {
            Cow::Borrowed(_) => self.clone(),
            Cow::Owned(bytes) => Row { stored: bytes.into(), dictionary: None },
        }
    }

    /// What the content is packed with.
    pub fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.dictionary.as_ref()
    }

    /// Bytes in memory, packed or not.
    pub fn stored_len(&self) -> usize {
        self.stored.len()
    }

    /// Whether both are the same row in memory. Different rows may still be equal.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.stored, &other.stored)
    }

    /// SHA-256 of the family's number and the row's bytes.
    pub fn digest(&self, family: Family) -> [u8; 32] {
        Sha256::new().chain_update([family.code()]).chain_update(self.bytes()).finalize().into()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.bytes() == other.bytes()
    }
}

impl Eq for Row {}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({:?}, {} bytes)", self.key(), self.stored.len())
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

    /// The rows of these families, without those of the others.
    pub fn only(&self, families: Families) -> Self {
        let mut rows = Rows::default();
        rows.take_from(self, families);
        rows
    }

    /// Replaces the rows of these families by those of `other`.
    pub fn take_from(&mut self, other: &Self, families: Families) {
        for family in families.iter() {
            if let (Some(place), Some(rows)) = (self.0.get_mut(family as usize), other.0.get(family as usize)) {
                *place = Arc::clone(rows);
            }
        }
    }

    /// Replaces the rows of a family by rows that are in strictly ascending order of keys.
    pub(super) fn put_sorted(&mut self, family: Family, rows: Vec<Row>) {
        if let Some(place) = self.0.get_mut(family as usize) {
            *place = Arc::new(rows);
        }
    }

    /// Takes out the rows of a family; none are left.
    pub(super) fn take(&mut self, family: Family) -> Arc<Vec<Row>> {
        self.0.get_mut(family as usize).map_or_else(Arc::default, core::mem::take)
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
    use crate::pace::{Pace, at_once};
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
            let read = Row::from_bytes(&row.bytes()).unwrap();
            prop_assert_eq!((read.key(), &*read.content()), (key.as_slice(), content.as_slice()));
            let sample = [row.content(), Cow::Borrowed(b"abc".as_slice())];
            let dictionary = Arc::new(at_once(Dictionary::of(&sample, &Pace::unbroken())));
            let packed = row.packed(&dictionary);
            prop_assert_eq!((packed.key(), &packed, packed.bytes()), (row.key(), &row, row.bytes()));
            prop_assert_eq!((packed.content(), packed.digest(Family::Feeds)), (row.content(), row.digest(Family::Feeds)));
            prop_assert!(packed.stored_len() <= row.stored_len());
            prop_assert!(packed.dictionary().is_some() == packed.shared_bytes().is_none());
            let unpacked = packed.unpacked();
            prop_assert_eq!(unpacked.shared_bytes(), row.shared_bytes());
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
