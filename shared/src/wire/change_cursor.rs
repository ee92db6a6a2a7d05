//! Cursors of the change feed `GET /v1/vaults/changes`.
//!
//! A cursor is opaque to clients. It contains a checksum, so that the service can refuse made-up cursors, and a [`ChangeClock`], so that
//! the service can refuse a cursor of the other feed.

use super::Timestamp;
use super::base64url;
use alloc::string::String;
use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// The kind of change that a feed reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeClock {
    /// A newer reading, ordered by `last_synced_at`.
    Sync,
    /// A change of the published score or tier, ordered by `score_updated_at`.
    Score,
}

impl ChangeClock {
    /// The values of the parameter `changed`.
    pub const WORDS: &'static [&'static str] = &["sync", "score"];

    /// Reads one of [`WORDS`](Self::WORDS).
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "sync" => Some(ChangeClock::Sync),
            "score" => Some(ChangeClock::Score),
            _ => None,
        }
    }

    const fn tag(self) -> u8 {
        match self {
            ChangeClock::Sync => b's',
            ChangeClock::Score => b'c',
        }
    }
}

/// A position in a feed: every change up to it was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeCursor {
    pub clock: ChangeClock,
    /// The data version in which the last delivered change became visible.
    pub version: i64,
    /// The last delivered row's `last_synced_at` or `score_updated_at`, depending on `clock`, to the microsecond.
    pub instant: Timestamp,
    /// The last delivered row's id; empty before the first delivery.
    pub id: String,
    /// The changes to leave out; set if the parameter `since` of the reader's first request was a time.
    pub floor: Option<Floor>,
}

/// Leaves out the changes before `instant` that were already visible at data version `version`.
///
/// A change that becomes visible later is delivered, however old its own time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// The data version at which the reader started.
    pub version: i64,
    /// The time that the reader gave as `since`, inclusive.
    pub instant: Timestamp,
}

/// Why a text is refused as a cursor of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorError {
    /// The text is not a cursor of this service.
    Unknown,
    /// The cursor belongs to the feed of the other clock.
    OtherClock,
}

/// Version of the encoding, in the low seven bits of the first byte. The high bit is set if the cursor contains a floor.
const FORMAT: u8 = 1;
const CHECKSUM_BYTES: usize = 6;
const INTEGER_BYTES: usize = 8;

impl ChangeCursor {
    /// The cursor as text: letters, digits, `-` and `_`.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(2 + 4 * INTEGER_BYTES + self.id.len() + CHECKSUM_BYTES);
        bytes.extend([FORMAT | u8::from(self.floor.is_some()) << 7, self.clock.tag()]);
        bytes.extend(self.version.to_be_bytes());
        bytes.extend(self.instant.as_micros().to_be_bytes());
        if let Some(floor) = self.floor {
            bytes.extend(floor.version.to_be_bytes());
            bytes.extend(floor.instant.as_micros().to_be_bytes());
        }
        bytes.extend(self.id.as_bytes());
        let checksum = checksum(&bytes);
        bytes.extend(checksum);
        base64url::encode(&bytes)
    }

    /// Reads a cursor of the feed of `clock`.
    pub fn decode(text: &str, clock: ChangeClock) -> Result<Self, CursorError> {
        let cursor = Self::read(text).ok_or(CursorError::Unknown)?;
        if cursor.clock == clock { Ok(cursor) } else { Err(CursorError::OtherClock) }
    }

    fn read(text: &str) -> Option<Self> {
        let bytes = base64url::decode(text)?;
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
        if sum != checksum(content) {
            return None;
        }
        let (head, mut rest) = content.split_first_chunk::<2>()?;
        let [format, tag] = *head;
        let clock = [ChangeClock::Sync, ChangeClock::Score].into_iter().find(|clock| clock.tag() == tag)?;
        let version = integer(&mut rest)?;
        let instant = Timestamp::from_micros(integer(&mut rest)?);
        let floor = match format {
            FORMAT => None,
            _ if format == FORMAT | 1 << 7 => {
                let version = integer(&mut rest)?;
                Some(Floor { version, instant: Timestamp::from_micros(integer(&mut rest)?) })
            }
            _ => return None,
        };
        let id = String::from(core::str::from_utf8(rest).ok()?);
        Some(ChangeCursor { clock, version, instant, id, floor })
    }
}

fn integer(rest: &mut &[u8]) -> Option<i64> {
    let (bytes, behind) = rest.split_first_chunk::<INTEGER_BYTES>()?;
    *rest = behind;
    Some(i64::from_be_bytes(*bytes))
}

/// The checksum needs no secret, because a client that forges a cursor harms only itself.
fn checksum(content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = Sha256::new().chain_update(b"change cursor").chain_update(content).finalize();
    let mut sum = [0; CHECKSUM_BYTES];
    sum.iter_mut().zip(digest).for_each(|(slot, byte)| *slot = byte);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn cursor() -> ChangeCursor {
        ChangeCursor {
            clock: ChangeClock::Sync,
            version: 7,
            instant: Timestamp::from_micros(1_795_219_200_123_456),
            id: "harbor-1-0x00000000000000000000000000000000000000a1".to_string(),
            floor: Some(Floor { version: 9, instant: Timestamp::from_seconds(1_795_000_000) }),
        }
    }

    #[test]
    fn a_cursor_of_the_other_clock_and_an_invalid_one_are_different_errors() {
        let text = cursor().encode();
        assert_eq!(ChangeCursor::decode(&text, ChangeClock::Score), Err(CursorError::OtherClock));
        assert_eq!(ChangeCursor::decode(&text, ChangeClock::Sync), Ok(cursor()));
        for bad in ["", "AQ", "not-a-cursor", &text[1..], &text[..text.len() - 1], &(text.clone() + "A")] {
            assert_eq!(ChangeCursor::decode(bad, ChangeClock::Sync), Err(CursorError::Unknown), "{bad}");
        }
    }

    #[test]
    fn a_cursor_with_any_letter_changed_is_refused() {
        let text = cursor().encode();
        for place in 0..text.len() {
            let mut letters = text.clone().into_bytes();
            letters[place] = if letters[place] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(letters).unwrap();
            assert!(ChangeCursor::decode(&changed, ChangeClock::Sync).is_err(), "{changed}");
        }
    }

    proptest! {
        #[test]
        fn a_cursor_reads_back_as_written(
            score: bool, version: i64, micros in -62_135_596_800_000_000_i64..253_402_207_200_000_000, id in ".{0,80}",
            floor in proptest::option::of((any::<i64>(), -62_135_596_800_000_000_i64..253_402_207_200_000_000)),
        ) {
            let clock = if score { ChangeClock::Score } else { ChangeClock::Sync };
            let floor = floor.map(|(version, micros)| Floor { version, instant: Timestamp::from_micros(micros) });
            let cursor = ChangeCursor { clock, version, instant: Timestamp::from_micros(micros), id, floor };
            prop_assert_eq!(ChangeCursor::decode(&cursor.encode(), clock), Ok(cursor));
        }

        #[test]
        fn no_text_breaks_the_reader(text in ".{0,200}") {
            let _ = ChangeCursor::decode(&text, ChangeClock::Sync);
        }
    }
}
