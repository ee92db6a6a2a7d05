//! Binary records: how encoded rows travel between hosts. Numbers are little-endian, texts are preceded by their length.

use super::time::Timestamp;
use alloc::vec::Vec;

/// Appends a number.
pub fn put_u64(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends bytes, preceded by their length.
pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_u64(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends whether there is an instant, and the instant.
pub fn put_instant(instant: Option<Timestamp>, out: &mut Vec<u8>) {
    out.push(u8::from(instant.is_some()));
    if let Some(instant) = instant {
        out.extend_from_slice(&instant.as_micros().to_le_bytes());
    }
}

/// Reads records. Every method returns `None` if the bytes end too early or are no such value.
#[derive(Debug, Clone)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    /// Whether everything was read.
    pub const fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.u64()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.bytes()?).ok()
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    /// An instant or its absence, which is `Some(None)`.
    pub fn instant(&mut self) -> Option<Option<Timestamp>> {
        Some(if self.flag()? { Some(Timestamp::from_micros(self.i64()?)) } else { None })
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }
}
