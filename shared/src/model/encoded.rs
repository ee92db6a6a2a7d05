//! A row's JSON, encoded once, with a slot for `freshness_seconds`, the only field that changes with time.
//!
//! The catalog encodes a row when it changes. Serving the row copies the bytes and writes the current value into the slot.

use alloc::vec::Vec;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::vault::freshness_seconds;
use crate::wire::SharedBytes;
use crate::wire::page::write_u64;
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;

/// The key of the slot. A quote inside a JSON string is escaped, so a string of the row cannot contain it.
const SLOT_KEY: &[u8] = b"\"freshness_seconds\":";
/// Digits of the largest `u64`.
const DECIMAL_DIGITS: usize = 20;

/// One encoded row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRow {
    pub(super) bytes: SharedBytes,
    pub(super) slot: Option<usize>,
    pub(super) last_synced_at: Option<Timestamp>,
    pub(super) version: u64,
}

impl EncodedRow {
    /// Encodes `row`, whose freshness counts from `last_synced_at`. A row without `freshness_seconds` has no slot.
    ///
    /// The row's own `freshness_seconds` is ignored. Fails only if `row` cannot be JSON, such as a map whose keys are not strings.
    pub fn encode<T: Serialize>(row: &T, last_synced_at: Option<Timestamp>) -> Result<Self, serde_json::Error> {
        let mut bytes = serde_json::to_vec(row)?;
        let slot = slot_of(&bytes);
        if let Some(start) = slot {
            let value = bytes.iter().skip(start).position(|byte| matches!(byte, b',' | b'}')).unwrap_or(0);
            bytes.drain(start..start + value);
        }
        let digest = Sha256::digest(&bytes);
        let version = digest.iter().take(8).fold(0, |version, &byte| version << 8 | u64::from(byte));
        Ok(EncodedRow { bytes: bytes.into(), slot, last_synced_at, version })
    }

    /// Appends the row as a record, without the instant that its freshness counts from.
    pub fn write_record(&self, out: &mut Vec<u8>) {
        record::put_u64(self.version, out);
        record::put_variable(self.slot.map_or(0, |slot| slot as u64), out);
        record::put_bytes(&self.bytes, out);
    }

    /// Reads a row that [`write_record`](Self::write_record) wrote. It holds the bytes that are read, if they are shared.
    pub fn read_record(reader: &mut Reader<'_>, last_synced_at: Option<Timestamp>) -> Option<Self> {
        let (version, slot, bytes) = (reader.u64()?, usize::try_from(reader.variable()?).ok()?, reader.part()?);
        // The slot follows its key, so it is not at the start.
        let slot = (slot > 0).then_some(slot);
        slot.is_none_or(|slot| slot <= bytes.len()).then_some(EncodedRow { bytes, slot, last_synced_at, version })
    }

    /// Identifies the content without `freshness_seconds`: the first eight bytes, big-endian, of the SHA-256 of the bytes around the
    /// slot.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Time of the sync that freshness counts from.
    pub fn last_synced_at(&self) -> Option<Timestamp> {
        self.last_synced_at
    }

    /// An upper bound of the bytes that one [`write`](Self::write) appends.
    pub fn max_len(&self) -> usize {
        self.bytes.len() + DECIMAL_DIGITS
    }

    /// Appends the row as of `now`.
    pub fn write(&self, now: Timestamp, out: &mut Vec<u8>) {
        let Some((head, tail)) = self.slot.and_then(|slot| self.bytes.split_at_checked(slot)) else {
            out.extend_from_slice(&self.bytes);
            return;
        };
        out.extend_from_slice(head);
        match freshness_seconds(self.last_synced_at, now) {
            Some(seconds) => write_u64(seconds, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(tail);
    }

    /// Appends `rows` as a JSON array, as of `now`.
    pub fn write_array<'a>(rows: impl IntoIterator<Item = &'a EncodedRow>, now: Timestamp, out: &mut Vec<u8>) {
        out.push(b'[');
        for (position, row) in rows.into_iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            row.write(now, out);
        }
        out.push(b']');
    }
}

/// Position of the slot in a row's bytes.
fn slot_of(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, SLOT_KEY).map(|key| key + SLOT_KEY.len())
}

#[cfg(test)]
mod tests {
    use super::super::vault::tests::row;
    use super::*;
    use alloc::string::{String, ToString};
    use proptest::prelude::*;

    const ID: &str = "demo-31337-0x00000000000000000000000000000000000000aa";

    #[test]
    fn the_same_content_has_the_same_version_whenever_it_is_served() {
        let mut fresh = row(ID);
        let version = EncodedRow::encode(&fresh, None).unwrap().version();
        fresh.freshness_seconds = Some(12);
        assert_eq!(EncodedRow::encode(&fresh, None).unwrap().version(), version);
        fresh.tvl_usd += 1.0;
        assert_ne!(EncodedRow::encode(&fresh, None).unwrap().version(), version);
    }

    #[test]
    fn a_row_without_freshness_is_copied_whole() {
        let mut out = Vec::new();
        let rows = ["a", "b"].map(|text| EncodedRow::encode(&text, None).unwrap());
        EncodedRow::write_array(&rows, Timestamp::from_seconds(0), &mut out);
        assert_eq!(out, b"[\"a\",\"b\"]");
    }

    proptest! {
        #[test]
        fn served_bytes_equal_the_row_serialised_at_that_instant(
            name in ".{0,40}", hostile in any::<bool>(),
            synced in proptest::option::of(-1_000_000i64..4_000_000_000), now in 0i64..4_000_000_000,
            tvl in any::<f64>(),
        ) {
            let mut vault = row(ID);
            vault.name = if hostile { "\"freshness_seconds\":7,".to_string() } else { name };
            vault.last_synced_at = synced.map(Timestamp::from_seconds);
            vault.tvl_usd = tvl;
            let now = Timestamp::from_seconds(now);
            let encoded = EncodedRow::encode(&vault, vault.last_synced_at).unwrap();
            let mut out = Vec::new();
            encoded.write(now, &mut out);
            prop_assert!(out.len() <= encoded.max_len());
            let mut record = Vec::new();
            encoded.write_record(&mut record);
            let synced = vault.last_synced_at;
            prop_assert_eq!(EncodedRow::read_record(&mut Reader::new(&record), synced), Some(encoded));
            prop_assert_eq!(EncodedRow::read_record(&mut Reader::new(&record[..record.len() - 1]), synced), None);
            vault.freshness_seconds = freshness_seconds(vault.last_synced_at, now);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&vault).unwrap());
        }
    }
}
