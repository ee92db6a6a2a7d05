//! An asset row's JSON, encoded once, with slots for the values that depend on the time and on the caller.
//!
//! The catalog encodes a row when it changes. Serving the row copies the bytes between the slots and fills the slots: ages and status
//! depend on the clock, dimensions on whether the caller has a key, quality on the request.

use alloc::vec::Vec;
use core::ops::Range;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::asset::{Renewal, age_hours};
use super::asset_restricted::RESTRICTED_IN_ROWS;
use crate::scoring::asset::Dimensions;
use crate::wire::SharedBytes;
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;

/// What the served form of a row depends on: the time of the response, the caller's key, and whether quality is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Time of the response.
    pub now: Timestamp,
    /// Whether the caller has a key.
    pub is_keyed: bool,
    /// Whether rows include their quality.
    pub with_quality: bool,
    /// JSON of the dimensions for a caller without a key: all null.
    withheld: Vec<u8>,
    /// JSON of `restricted_fields` for a caller without a key.
    restricted: Vec<u8>,
}

impl View {
    /// The view of a list at `now`.
    pub fn new(now: Timestamp, is_keyed: bool, with_quality: bool) -> Self {
        // Serialising names and nulls cannot fail.
        let withheld = serde_json::to_vec(&Dimensions::default()).unwrap_or_default();
        let restricted = serde_json::to_vec(&RESTRICTED_IN_ROWS).unwrap_or_default();
        View { now, is_keyed, with_quality, withheld, restricted }
    }
}

/// A value in a row that depends on the time or on the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Dimensions,
    Age,
    Status,
    Quality,
    RestrictedFields,
    AumAge,
}

impl Slot {
    /// In the order in which they occur in a row.
    const ALL: [Slot; 6] =
        [Slot::Dimensions, Slot::Age, Slot::Status, Slot::Quality, Slot::RestrictedFields, Slot::AumAge];

    /// The keys that lead to the value, in order. A quote inside a JSON string is escaped, so a string cannot contain a key.
    const fn path(self) -> &'static [&'static [u8]] {
        match self {
            Slot::Dimensions => &[b"\"dimensions\":"],
            Slot::Age => &[b"\"freshness\":", b"\"age_hours\":"],
            Slot::Status => &[b"\"status\":"],
            Slot::Quality => &[b"\"quality\":"],
            Slot::RestrictedFields => &[b"\"restricted_fields\":"],
            Slot::AumAge => &[b"\"age_hours\":"],
        }
    }

    /// The range of the value in `bytes`, searched from `from` on; `None` if the row has no such field.
    fn find(self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        let mut start = from;
        for key in self.path() {
            start += memchr::memmem::find(bytes.get(start..)?, key)? + key.len();
        }
        Some(start..start + Self::value_len(bytes.get(start..)?))
    }

    /// Length of the value at the start of `value`. An object or array must be flat, and its strings must not contain brackets; any
    /// other value ends at the next comma or brace.
    fn value_len(value: &[u8]) -> usize {
        let ends_at = |end: u8| value.iter().position(|byte| *byte == end).map_or(0, |last| last + 1);
        match value.first() {
            Some(b'{') => ends_at(b'}'),
            Some(b'[') => ends_at(b']'),
            _ => value.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(0),
        }
    }

    /// Whether the value can change without a change of the row.
    const fn is_volatile(self) -> bool {
        matches!(self, Slot::Age | Slot::Status | Slot::RestrictedFields | Slot::AumAge)
    }
}

/// One encoded row of an asset list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedAsset {
    /// The whole row for a caller with a key, quality included.
    bytes: SharedBytes,
    /// The range of each of [`Slot::ALL`] in `bytes`.
    slots: [Option<Range<usize>>; Slot::ALL.len()],
    renewal: Renewal,
    aum_of: Option<Timestamp>,
    version: u64,
}

impl EncodedAsset {
    /// Encodes `row`, an asset or RWA row for a caller with a key, quality included. The age of the evidence counts from `renewal`; the
    /// age of an RWA row's AUM figure counts from `aum_of`.
    pub fn encode<T: Serialize>(
        row: &T,
        renewal: Renewal,
        aum_of: Option<Timestamp>,
    ) -> Result<Self, serde_json::Error> {
        let bytes = SharedBytes::from(serde_json::to_vec(row)?);
        let slots = slots_of(&bytes);
        let (mut digest, mut copied) = (Sha256::new(), 0);
        for (slot, found) in Slot::ALL.into_iter().zip(&slots) {
            let Some(found) = found else { continue };
            digest.update(bytes.get(copied..found.start).unwrap_or_default());
            if !slot.is_volatile() {
                digest.update(bytes.get(found.clone()).unwrap_or_default());
            }
            copied = found.end;
        }
        digest.update(bytes.get(copied..).unwrap_or_default());
        let version = digest.finalize().iter().take(8).fold(0, |version, &byte| version << 8 | u64::from(byte));
        Ok(EncodedAsset { bytes, slots, renewal, aum_of, version })
    }

    /// Appends the row as a record.
    pub fn write_record(&self, out: &mut Vec<u8>) {
        record::put_instant(self.renewal.at, out);
        record::put_instant(self.renewal.before, out);
        record::put_u64(self.renewal.cadence_seconds.cast_unsigned(), out);
        record::put_instant(self.aum_of, out);
        record::put_u64(self.version, out);
        for slot in &self.slots {
            // A value follows its key, so it is not at the start.
            record::put_variable(slot.as_ref().map_or(0, |slot| slot.start as u64), out);
            record::put_variable(slot.as_ref().map_or(0, |slot| slot.len() as u64), out);
        }
        record::put_bytes(&self.bytes, out);
    }

    /// Reads a row that [`write_record`](Self::write_record) wrote. It holds the bytes that are read, if they are shared.
    pub fn read_record(reader: &mut Reader<'_>) -> Option<Self> {
        let renewal = Renewal { at: reader.instant()?, before: reader.instant()?, cadence_seconds: reader.i64()? };
        let (aum_of, version) = (reader.instant()?, reader.u64()?);
        let (mut slots, mut end) = ([const { None }; Slot::ALL.len()], 0);
        for slot in &mut slots {
            let mut number = || usize::try_from(reader.variable()?).ok();
            let (start, len) = (number()?, number()?);
            if start > 0 {
                // The slots are in the order of the bytes.
                let range = (start >= end).then_some(start..start.checked_add(len)?)?;
                end = range.end;
                *slot = Some(range);
            }
        }
        let bytes = reader.part()?;
        (end <= bytes.len()).then_some(EncodedAsset { bytes, slots, renewal, aum_of, version })
    }

    /// Identifies the content served at `now`, for ETags. A change of the freshness status changes it; a change of an age does not.
    pub fn version(&self, now: Timestamp) -> u64 {
        self.version.wrapping_add(self.renewal.status(now).map_or(0, |status| status as u64 + 1))
    }

    /// An upper bound of the bytes one [`write`](Self::write) appends.
    pub fn max_len(&self) -> usize {
        const MAX_SLOT_BYTES: usize = 640;
        self.bytes.len() + MAX_SLOT_BYTES
    }

    /// Appends the row for `view`.
    pub fn write(&self, view: &View, out: &mut Vec<u8>) {
        let mut copied = 0;
        for (slot, range) in Slot::ALL.into_iter().zip(&self.slots) {
            let Some(range) = range else { continue };
            // A value that is already right is copied with the bytes around it.
            let is_right = match slot {
                Slot::Dimensions | Slot::RestrictedFields => view.is_keyed,
                Slot::Quality => view.with_quality,
                Slot::Age | Slot::Status | Slot::AumAge => false,
            };
            if is_right {
                continue;
            }
            out.extend_from_slice(self.bytes.get(copied..range.start).unwrap_or_default());
            match slot {
                Slot::Dimensions => out.extend_from_slice(&view.withheld),
                Slot::RestrictedFields => out.extend_from_slice(&view.restricted),
                Slot::Quality => out.extend_from_slice(b"null"),
                Slot::Age => write_age(self.renewal.at, view.now, out),
                Slot::AumAge => write_age(self.aum_of, view.now, out),
                Slot::Status => match self.renewal.status(view.now) {
                    Some(status) => {
                        out.push(b'"');
                        out.extend_from_slice(status.as_str().as_bytes());
                        out.push(b'"');
                    }
                    None => out.extend_from_slice(b"null"),
                },
            }
            copied = range.end;
        }
        out.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
    }
}

/// The range of each of [`Slot::ALL`] in a row's bytes.
fn slots_of(bytes: &[u8]) -> [Option<Range<usize>>; Slot::ALL.len()] {
    let mut from = 0;
    Slot::ALL.map(|slot| {
        let found = slot.find(bytes, from)?;
        from = found.end;
        Some(found)
    })
}

fn write_age(since: Option<Timestamp>, now: Timestamp, out: &mut Vec<u8>) {
    match since {
        Some(at) => age_hours(at, now).write(out),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
#[path = "asset_encoded_tests.rs"]
mod tests;
