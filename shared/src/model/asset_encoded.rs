//! An asset row's JSON, encoded once, with holes for what depends on the hour and on who asks.
//!
//! The catalog encodes a row when it changes. Serving it copies the bytes between the holes and fills those: the two ages
//! from the clock, the dimensions by the caller's class, the quality by the request.

use alloc::{boxed::Box, string::ToString, vec::Vec};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::asset::{RESTRICTED_IN_ROWS, Renewal, age_hours};
use crate::scoring::asset::Dimensions;
use crate::wire::time::Timestamp;

/// How a list is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The instant of the answer.
    pub now: Timestamp,
    /// Whether the caller has a key.
    pub is_keyed: bool,
    /// Whether rows tell their quality.
    pub with_quality: bool,
}

/// What a hole is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    Dimensions,
    Freshness,
    Quality,
    RestrictedFields,
    AumAge,
}

impl Hole {
    /// In the order in which they stand in a row.
    const ALL: [Hole; 5] = [Hole::Dimensions, Hole::Freshness, Hole::Quality, Hole::RestrictedFields, Hole::AumAge];

    /// The key whose value is left open. A quote inside a JSON string is always escaped, so no text can spell it.
    const fn key(self) -> &'static [u8] {
        match self {
            Hole::Dimensions => b"\"dimensions\":",
            Hole::Freshness => b"\"freshness\":",
            Hole::Quality => b"\"quality\":",
            Hole::RestrictedFields => b"\"restricted_fields\":",
            Hole::AumAge => b"\"age_hours\":",
        }
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
}

/// One row of an asset list, ready to be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedAsset {
    /// The bytes up to each hole with the hole behind them, and the bytes behind the last.
    pieces: Vec<(Box<[u8]>, Hole)>,
    tail: Box<[u8]>,
    dimensions: Box<[u8]>,
    quality: Box<[u8]>,
    renewal: Renewal,
    aum_of: Option<Timestamp>,
    version: u64,
}

impl EncodedAsset {
    /// Encodes `row`: an asset or RWA row as a caller with a key sees it, quality included. Ages count from `renewal` and,
    /// in RWA rows, from `aum_of`.
    pub fn encode<T: Serialize>(
        row: &T,
        renewal: Renewal,
        aum_of: Option<Timestamp>,
    ) -> Result<Self, serde_json::Error> {
        let bytes = serde_json::to_vec(row)?;
        let mut rest: &[u8] = &bytes;
        let mut pieces: Vec<(Box<[u8]>, Hole)> = Vec::new();
        let (mut dimensions, mut quality): (Box<[u8]>, Box<[u8]>) = (Box::default(), Box::default());
        for hole in Hole::ALL {
            let Some(place) = memchr::memmem::find(rest, hole.key()) else { continue };
            let Some((head, value)) = rest.split_at_checked(place + hole.key().len()) else { continue };
            let Some((value, tail)) = value.split_at_checked(Hole::value_len(value)) else { continue };
            match hole {
                Hole::Dimensions => dimensions = value.into(),
                Hole::Quality => quality = value.into(),
                Hole::Freshness | Hole::RestrictedFields | Hole::AumAge => {}
            }
            pieces.push((head.into(), hole));
            rest = tail;
        }
        let mut digest = Sha256::new();
        pieces.iter().for_each(|(bytes, _)| digest.update(bytes));
        for part in [rest, &dimensions, &quality] {
            digest.update(part);
        }
        let version = digest.finalize().iter().take(8).fold(0, |version, &byte| version << 8 | u64::from(byte));
        Ok(EncodedAsset { pieces, tail: rest.into(), dimensions, quality, renewal, aum_of, version })
    }

    /// Identifies the content; ages apart.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// An upper bound of the bytes one [`write`](Self::write) appends.
    pub fn max_len(&self) -> usize {
        const FILLED: usize = 640;
        self.pieces.iter().map(|(bytes, _)| bytes.len()).sum::<usize>()
            + self.tail.len()
            + self.dimensions.len()
            + self.quality.len()
            + FILLED
    }

    /// Appends the row as `view` reads it.
    pub fn write(&self, view: View, out: &mut Vec<u8>) {
        for (bytes, hole) in &self.pieces {
            out.extend_from_slice(bytes);
            match hole {
                Hole::Dimensions if view.is_keyed => out.extend_from_slice(&self.dimensions),
                Hole::Dimensions => json(&Dimensions::default(), out),
                Hole::Freshness => json(&self.renewal.freshness(view.now), out),
                Hole::Quality if view.with_quality => out.extend_from_slice(&self.quality),
                Hole::Quality => out.extend_from_slice(b"null"),
                Hole::RestrictedFields if view.is_keyed => out.extend_from_slice(b"[]"),
                Hole::RestrictedFields => json(&RESTRICTED_IN_ROWS, out),
                Hole::AumAge => match self.aum_of {
                    Some(at) => out.extend_from_slice(age_hours(at, view.now).to_string().as_bytes()),
                    None => out.extend_from_slice(b"null"),
                },
            }
        }
        out.extend_from_slice(&self.tail);
    }
}

/// Appends a value whose serialisation cannot fail: structs of numbers, names and instants.
fn json<T: Serialize>(value: &T, out: &mut Vec<u8>) {
    if let Ok(bytes) = serde_json::to_vec(value) {
        out.extend_from_slice(&bytes);
    }
}

#[cfg(test)]
#[path = "asset_encoded_tests.rs"]
mod tests;
