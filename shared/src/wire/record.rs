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

    pub fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::asset_encoded::View;
    use crate::model::oracle::EncodedFeed;
    use crate::model::{EncodedAsset, EncodedRow};
    use proptest::prelude::*;

    #[test]
    fn values_read_back_as_written_and_only_whole() {
        let instant = Timestamp::from_seconds(-5);
        let mut out = Vec::new();
        put_u64(u64::MAX, &mut out);
        put_bytes("é".as_bytes(), &mut out);
        put_instant(Some(instant), &mut out);
        put_instant(None, &mut out);
        let mut reader = Reader::new(&out);
        assert_eq!((reader.u64(), reader.text()), (Some(u64::MAX), Some("é")));
        assert_eq!((reader.instant(), reader.instant()), (Some(Some(instant)), Some(None)));
        assert!(reader.is_at_end() && reader.flag().is_none());
        assert_eq!(Reader::new(&[2]).flag(), None);
        assert_eq!(Reader::new(&[9, 0, 0, 0, 0, 0, 0, 0, b'a']).bytes(), None, "the length exceeds the bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reading_or_serving_of_a_row(
            head in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..40),
            content in "(\"(freshness_seconds|dimensions|freshness|age_hours|status)\":[\\[{,}]?|.){0,9}",
        ) {
            let mut bytes = head;
            put_bytes(content.as_bytes(), &mut bytes);
            let (now, mut out) = (Timestamp::from_seconds(9), Vec::new());
            // Any suffix is tried, so that the content is also reached with a head that can be read.
            for start in 0..bytes.len() {
                let reader = || Reader::new(bytes.get(start..).unwrap_or_default());
                if let Some(row) = EncodedRow::read_record(&mut reader()) {
                    row.write(now, &mut out);
                }
                if let Some(feed) = EncodedFeed::read_record(&mut reader()) {
                    feed.write(now, &mut out);
                }
                if let Some(asset) = EncodedAsset::read_record(&mut reader()) {
                    asset.write(&View::new(now, false, false), &mut out);
                }
            }
        }
    }
}
