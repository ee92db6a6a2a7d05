//! The state in the data centre's cache, with which a new isolate begins.
//!
//! It is kept in parts, so that neither who stores it nor who loads it needs memory for all of it at once. Part 0 is the [`Head`]; each other one
//! has the segments of one answer of the Durable Object. Parts of different states may lie side by side: segments are named by their content, and
//! what is missing is asked of the Durable Object.

use super::choice::Sizes;
use rds_shared::access::link::{put_part, read_parts};
use rds_shared::replica::{FAMILIES, Family, SegmentName};
use rds_shared::wire::Timestamp;

/// The number of the head.
pub const HEAD: u32 = 0;
const NAME_BYTES: usize = 32;

/// What is kept of a state besides its segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// When the origin confirmed the state.
    pub confirmed_at: Timestamp,
    /// Estimated bytes in memory of each family.
    pub sizes: Sizes,
    /// Number of parts with segments; their numbers begin with 1.
    pub parts: u32,
    /// The bytes of the update.
    pub update: Vec<u8>,
}

impl Head {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.confirmed_at.as_millis().to_le_bytes().to_vec();
        out.extend_from_slice(&self.parts.to_le_bytes());
        for family in Family::ALL {
            out.extend_from_slice(&u64::try_from(self.sizes.of(family)).unwrap_or(u64::MAX).to_le_bytes());
        }
        out.extend_from_slice(&self.update);
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (instant, rest) = bytes.split_first_chunk::<8>()?;
        let (parts, rest) = rest.split_first_chunk::<4>()?;
        let (given, update) = rest.split_at_checked(FAMILIES.checked_mul(8)?)?;
        let mut sizes = Sizes::default();
        for (family, size) in Family::ALL.into_iter().zip(given.as_chunks::<8>().0) {
            sizes.set(family, usize::try_from(u64::from_le_bytes(*size)).unwrap_or(usize::MAX));
        }
        let confirmed_at = Timestamp::from_millis(i64::from_le_bytes(*instant));
        Some(Head { confirmed_at, sizes, parts: u32::from_le_bytes(*parts), update: update.to_vec() })
    }
}

/// A part with these segments.
pub fn encode_segments<'a>(segments: impl Iterator<Item = (&'a SegmentName, &'a [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in segments {
        out.extend_from_slice(name.bytes());
        put_part(bytes, &mut out);
    }
    out
}

/// The segments in a part; `None` if it is no such part.
pub fn decode_segments(bytes: &[u8]) -> Option<Vec<(SegmentName, &[u8])>> {
    let (mut rest, mut segments) = (bytes, Vec::new());
    while let Some((name, others)) = rest.split_first_chunk::<NAME_BYTES>() {
        let length = others.first_chunk::<4>().map(|length| u32::from_le_bytes(*length))?;
        let end = usize::try_from(length).ok()?.checked_add(4)?;
        let (part, others) = others.split_at_checked(end)?;
        segments.push((SegmentName::from_bytes(*name), read_parts(part)?.first().copied()?));
        rest = others;
    }
    rest.is_empty().then_some(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_head_is_read_back() {
        let mut sizes = Sizes::default();
        sizes.set(Family::Vaults, 7);
        sizes.set(Family::Singles, 9);
        let head = Head { confirmed_at: Timestamp::from_millis(-5), sizes, parts: 3, update: b"update".to_vec() };
        let bytes = head.encode();
        assert_eq!(Head::decode(&bytes), Some(head));
        assert_eq!(Head::decode(&bytes[..8 + 4 + FAMILIES * 8 - 1]), None);
    }

    proptest! {
        #[test]
        fn segments_are_read_back_and_no_bytes_break_the_reading(
            segments in prop::collection::vec((any::<[u8; 32]>(), prop::collection::vec(any::<u8>(), 0..9)), 0..5),
            cut in any::<prop::sample::Index>(), bytes in prop::collection::vec(0u8..40, 0..90),
        ) {
            let named: Vec<(SegmentName, Vec<u8>)> =
                segments.into_iter().map(|(name, bytes)| (SegmentName::from_bytes(name), bytes)).collect();
            let part = encode_segments(named.iter().map(|(name, bytes)| (name, bytes.as_slice())));
            let read = decode_segments(&part).unwrap();
            prop_assert!(read.iter().map(|(name, bytes)| (*name, bytes.to_vec())).eq(named.iter().cloned()));
            let cut = cut.index(part.len() + 1);
            prop_assert!(cut == part.len() || decode_segments(&part[..cut]).is_none_or(|read| read.len() < named.len()));
            decode_segments(&bytes);
            Head::decode(&bytes);
        }
    }
}
