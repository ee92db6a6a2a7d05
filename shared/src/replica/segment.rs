//! Segments: consecutive rows of one family, compressed, named by what they contain.
//!
//! Where a segment ends depends on the keys of rows alone, apart from its greatest size. So a changed row changes its own segment, and an
//! inserted one does too; all others keep their names.

use super::inflate::inflate;
use super::row::{HASH_NANOS, Row};
use super::state::NotHex;
use crate::pace::{Pace, at_once};
use crate::wire::hex::{hex, unhex_array};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use miniz_oxide::deflate::compress_to_vec;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One row in so many is the last of its segment.
const MEAN_ROWS: u64 = 64;
/// Most bytes of rows in a segment, unless it is a single row. Rows shrink to a fifth at least, so that a segment takes at most some 32 KiB.
const MAX_BYTES: usize = 160 << 10;
/// Most bytes that a segment may unpack to: more than any row has.
const MAX_UNPACKED_BYTES: usize = 4 << 20;
/// Compression level of zlib: the usual compromise of size and time.
const LEVEL: u8 = 6;
/// Bytes of the length that precedes each row.
const LENGTH_BYTES: usize = 4;

/// SHA-256 of a segment's bytes as they travel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SegmentName([u8; 32]);

/// A segment as it travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub name: SegmentName,
    /// Raw deflate of the rows, each preceded by its length (four bytes, little-endian).
    pub bytes: Arc<[u8]>,
}

/// Why bytes are not the segment with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentFault {
    /// The bytes have another name.
    OtherName,
    /// The bytes have the name and are no rows: a fault of the sender.
    Malformed,
}

/// Cuts rows into the parts that become segments.
pub fn cut(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    let mut rest = rows;
    core::iter::from_fn(move || {
        let mut bytes = 0;
        let mut length = 0;
        for row in rest {
            bytes += row.bytes().len() + LENGTH_BYTES;
            if length > 0 && bytes > MAX_BYTES {
                break;
            }
            length += 1;
            if is_last(row.key()) {
                break;
            }
        }
        let (part, others) = rest.split_at_checked(length)?;
        rest = others;
        (!part.is_empty()).then_some(part)
    })
}

/// Whether a segment ends after the row with this key: by FNV-1a of the key, whose bits are mixed once more, because neighbouring keys differ
/// in their last bytes only.
fn is_last(key: &[u8]) -> bool {
    let hash = key
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed >> 33).is_multiple_of(MEAN_ROWS)
}

impl Segment {
    /// Packs rows.
    pub fn encode(rows: &[Row]) -> Self {
        let mut raw = Vec::with_capacity(rows.iter().map(|row| row.stored_len() + LENGTH_BYTES).sum());
        for row in rows {
            let bytes = row.bytes();
            // A row has less than 4 GiB.
            raw.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
            raw.extend_from_slice(&bytes);
        }
        let bytes: Arc<[u8]> = compress_to_vec(&raw, LEVEL).into();
        Segment { name: SegmentName::of(&bytes), bytes }
    }

    /// The rows of the segment `name`, given its bytes.
    pub fn decode(name: &SegmentName, bytes: &[u8]) -> Result<Vec<Row>, SegmentFault> {
        at_once(Self::read(name, bytes, &Pace::unbroken()))
    }

    /// Like [`decode`](Self::decode), with pauses.
    pub async fn read(name: &SegmentName, bytes: &[u8], pace: &Pace<'_>) -> Result<Vec<Row>, SegmentFault> {
        pace.step(bytes.len() * HASH_NANOS).await;
        if SegmentName::of(bytes) != *name {
            return Err(SegmentFault::OtherName);
        }
        unpack(bytes, pace).await.ok_or(SegmentFault::Malformed)
    }
}

async fn unpack(bytes: &[u8], pace: &Pace<'_>) -> Option<Vec<Row>> {
    let raw = inflate(bytes, MAX_UNPACKED_BYTES, pace).await?;
    pace.step(raw.len()).await;
    let (mut rest, mut rows) = (raw.as_slice(), Vec::new());
    while let Some((length, others)) = rest.split_first_chunk::<LENGTH_BYTES>() {
        let (row, others) = others.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        rows.push(Row::from_bytes(row)?);
        rest = others;
    }
    rest.is_empty().then_some(rows)
}

impl SegmentName {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        SegmentName(Sha256::digest(bytes).into())
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        SegmentName(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for SegmentName {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        unhex_array(text).map(SegmentName).ok_or(NotHex)
    }
}

impl From<SegmentName> for String {
    fn from(name: SegmentName) -> String {
        hex(&name.0)
    }
}

impl TryFrom<String> for SegmentName {
    type Error = NotHex;

    fn try_from(text: String) -> Result<Self, NotHex> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::vec;
    use proptest::prelude::*;

    fn rows(count: usize, bytes: usize) -> Vec<Row> {
        let content = |number: usize| format!("{{\"id\":{number},\"text\":\"{}\"}}", "x".repeat(bytes));
        (0..count)
            .map(|number| Row::new(format!("vault-{number:06}").as_bytes(), content(number).as_bytes()).unwrap())
            .collect()
    }

    fn names(rows: &[Row]) -> BTreeSet<SegmentName> {
        cut(rows).map(|part| Segment::encode(part).name).collect()
    }

    #[test]
    fn rows_are_cut_without_loss_and_unpacked_again() {
        let all = rows(1_000, 40);
        let parts: Vec<&[Row]> = cut(&all).collect();
        assert_eq!(parts.concat(), all);
        assert!((8..40).contains(&parts.len()), "{}", parts.len());
        for part in parts {
            let segment = Segment::encode(part);
            assert_eq!(Segment::decode(&segment.name, &segment.bytes).unwrap(), part);
        }
        assert_eq!(cut(&[]).count(), 0);
    }

    #[test]
    fn a_segment_is_bounded_and_a_large_row_has_one_for_itself() {
        let large = rows(3, MAX_BYTES);
        assert!(cut(&large).all(|part| part.len() == 1));
        let bytes = |part: &[Row]| part.iter().map(|row| row.bytes().len() + LENGTH_BYTES).sum::<usize>();
        assert!(cut(&rows(3_000, 5_000)).all(|part| bytes(part) <= MAX_BYTES));
    }

    #[test]
    fn a_changed_an_inserted_and_a_removed_row_change_few_segments() {
        let all = rows(2_000, 900);
        let before = names(&all);
        let mut changed = all.clone();
        changed[700] = Row::new(all[700].key(), b"{}").unwrap();
        let mut inserted = all.clone();
        inserted.insert(700, Row::new(b"vault-000699a", b"{}").unwrap());
        let mut removed = all.clone();
        removed.remove(700);
        for after in [changed, inserted, removed] {
            assert!(names(&after).difference(&before).count() <= 2);
        }
    }

    #[test]
    fn other_bytes_than_those_of_the_name_are_refused() {
        let segment = Segment::encode(&rows(3, 9));
        let mut bytes = segment.bytes.to_vec();
        bytes[4] ^= 1;
        assert_eq!(Segment::decode(&segment.name, &bytes), Err(SegmentFault::OtherName));
        let nonsense = vec![1, 2, 3];
        assert_eq!(Segment::decode(&SegmentName::of(&nonsense), &nonsense), Err(SegmentFault::Malformed));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_unpacking(bytes in prop::collection::vec(any::<u8>(), 0..80), raw in prop::collection::vec(any::<u8>(), 0..40)) {
            let unpack = |bytes: &[u8]| at_once(unpack(bytes, &Pace::unbroken()));
            let _ = unpack(&bytes);
            if let Some(rows) = unpack(&compress_to_vec(&raw, 1)) {
                let length: usize = rows.iter().map(|row| row.bytes().len() + LENGTH_BYTES).sum();
                prop_assert_eq!(length, raw.len());
            }
        }
    }
}
