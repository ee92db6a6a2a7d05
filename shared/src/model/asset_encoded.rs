//! An asset row's JSON, encoded once, with holes for what depends on the hour and on who asks.
//!
//! The catalog encodes a row when it changes. Serving it copies the bytes between the holes and fills those: ages and status
//! from the clock, the dimensions by the caller's class, the quality by the request.

use alloc::{boxed::Box, vec::Vec};
use core::ops::Range;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::asset::{RESTRICTED_IN_ROWS, Renewal, age_hours};
use crate::scoring::asset::Dimensions;
use crate::wire::time::Timestamp;

/// How a list is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The instant of the answer.
    pub now: Timestamp,
    /// Whether the caller has a key.
    pub is_keyed: bool,
    /// Whether rows tell their quality.
    pub with_quality: bool,
    /// The dimensions of a caller without a key: all of them null.
    withheld: Vec<u8>,
    /// What such a caller is told to be missing.
    restricted: Vec<u8>,
}

impl View {
    /// A list as of `now`.
    pub fn new(now: Timestamp, is_keyed: bool, with_quality: bool) -> Self {
        // Names and nulls: serialising them cannot fail.
        let withheld = serde_json::to_vec(&Dimensions::default()).unwrap_or_default();
        let restricted = serde_json::to_vec(&RESTRICTED_IN_ROWS).unwrap_or_default();
        View { now, is_keyed, with_quality, withheld, restricted }
    }
}

/// What a hole is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    Dimensions,
    Age,
    Status,
    Quality,
    RestrictedFields,
    AumAge,
}

impl Hole {
    /// In the order in which they stand in a row.
    const ALL: [Hole; 6] =
        [Hole::Dimensions, Hole::Age, Hole::Status, Hole::Quality, Hole::RestrictedFields, Hole::AumAge];

    /// The keys that lead to the value which is left open. A quote inside a JSON string is always escaped, so no text can
    /// spell one.
    const fn path(self) -> &'static [&'static [u8]] {
        match self {
            Hole::Dimensions => &[b"\"dimensions\":"],
            Hole::Age => &[b"\"freshness\":", b"\"age_hours\":"],
            Hole::Status => &[b"\"status\":"],
            Hole::Quality => &[b"\"quality\":"],
            Hole::RestrictedFields => &[b"\"restricted_fields\":"],
            Hole::AumAge => &[b"\"age_hours\":"],
        }
    }

    /// Where the value stands in `bytes`, looked for behind `from`; none when the row has no such field.
    fn find(self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        let mut start = from;
        for key in self.path() {
            start += memchr::memmem::find(bytes.get(start..)?, key)? + key.len();
        }
        Some(start..start + Self::value_len(bytes.get(start..)?))
    }

    /// Bytes of the value that stands there: flat objects and arrays whose texts hold no bracket, else up to a comma.
    fn value_len(value: &[u8]) -> usize {
        let ends_at = |end: u8| value.iter().position(|byte| *byte == end).map_or(0, |place| place + 1);
        match value.first() {
            Some(b'{') => ends_at(b'}'),
            Some(b'[') => ends_at(b']'),
            _ => value.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(0),
        }
    }

    /// Whether its value moves without a change of the row.
    const fn is_volatile(self) -> bool {
        matches!(self, Hole::Age | Hole::Status | Hole::RestrictedFields | Hole::AumAge)
    }
}

/// One row of an asset list, ready to be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedAsset {
    /// The whole row as a caller with a key sees it, quality included: one piece of memory, read from front to back.
    bytes: Box<[u8]>,
    /// Where the value of each of [`Hole::ALL`] stands in them.
    holes: [Option<Range<usize>>; Hole::ALL.len()],
    renewal: Renewal,
    aum_of: Option<Timestamp>,
    version: u64,
}

impl EncodedAsset {
    /// Encodes `row`: an asset or RWA row as a caller with a key sees it, quality included. Ages count from `renewal`, which
    /// the row's freshness is of, and, in RWA rows, from `aum_of`.
    pub fn encode<T: Serialize>(
        row: &T,
        renewal: Renewal,
        aum_of: Option<Timestamp>,
    ) -> Result<Self, serde_json::Error> {
        let bytes = serde_json::to_vec(row)?.into_boxed_slice();
        let (mut digest, mut copied) = (Sha256::new(), 0);
        let holes = Hole::ALL.map(|hole| {
            let found = hole.find(&bytes, copied)?;
            digest.update(bytes.get(copied..found.start)?);
            if !hole.is_volatile() {
                digest.update(bytes.get(found.clone())?);
            }
            copied = found.end;
            Some(found)
        });
        digest.update(bytes.get(copied..).unwrap_or_default());
        let version = digest.finalize().iter().take(8).fold(0, |version, &byte| version << 8 | u64::from(byte));
        Ok(EncodedAsset { bytes, holes, renewal, aum_of, version })
    }

    /// Identifies what is served at `now`, ages apart: evidence that has gone stale is another answer, evidence that is an hour
    /// older is not.
    pub fn version(&self, now: Timestamp) -> u64 {
        self.version.wrapping_add(self.renewal.status(now).map_or(0, |status| status as u64 + 1))
    }

    /// An upper bound of the bytes one [`write`](Self::write) appends.
    pub fn max_len(&self) -> usize {
        const FILLED: usize = 640;
        self.bytes.len() + FILLED
    }

    /// Appends the row as `view` reads it.
    pub fn write(&self, view: &View, out: &mut Vec<u8>) {
        let mut copied = 0;
        for (hole, place) in Hole::ALL.into_iter().zip(&self.holes) {
            let Some(place) = place else { continue };
            // What stands there already is copied with its surroundings.
            let stands = match hole {
                Hole::Dimensions | Hole::RestrictedFields => view.is_keyed,
                Hole::Quality => view.with_quality,
                Hole::Age | Hole::Status | Hole::AumAge => false,
            };
            if stands {
                continue;
            }
            out.extend_from_slice(self.bytes.get(copied..place.start).unwrap_or_default());
            match hole {
                Hole::Dimensions => out.extend_from_slice(&view.withheld),
                Hole::RestrictedFields => out.extend_from_slice(&view.restricted),
                Hole::Quality => out.extend_from_slice(b"null"),
                Hole::Age => write_age(self.renewal.at, view.now, out),
                Hole::AumAge => write_age(self.aum_of, view.now, out),
                Hole::Status => match self.renewal.status(view.now) {
                    Some(status) => {
                        out.push(b'"');
                        out.extend_from_slice(status.as_str().as_bytes());
                        out.push(b'"');
                    }
                    None => out.extend_from_slice(b"null"),
                },
            }
            copied = place.end;
        }
        out.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
    }
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
