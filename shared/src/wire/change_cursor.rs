//! Where a reader of the change feed stands: the cursor it is given and passes back.
//!
//! Source: interface, "GET /v1/vaults/changes". To its reader a cursor is opaque. It carries a checksum, so that what was
//! not issued here is told apart, and the clock it was issued for, so that it is not taken by the other one.

use super::Timestamp;
use super::base64url;
use alloc::string::String;
use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// Which change of a vault a feed follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeClock {
    /// `last_synced_at`: a newer reading.
    Sync,
    /// `score_updated_at`: another published score or tier.
    Score,
}

impl ChangeClock {
    /// The words of the parameter `changed`.
    pub const WORDS: &'static [&'static str] = &["sync", "score"];

    /// Reads a word of [`WORDS`](Self::WORDS).
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

/// A place in a feed: everything up to it was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The feed's clock.
    pub clock: ChangeClock,
    /// The data version in which the last delivered change became visible.
    pub version: i64,
    /// The last row's instant on the clock, to the microsecond.
    pub instant: Timestamp,
    /// The last row's id; empty when nothing was delivered yet.
    pub id: String,
    /// What an instant given as `since` left out.
    pub floor: Option<Floor>,
}

/// What an instant given instead of a place leaves out: changes of before `instant` that were visible at `version`.
///
/// Whatever becomes visible later is delivered, however old it says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// The data version at which the reader began.
    pub version: i64,
    /// The instant it asked for, inclusive.
    pub instant: Timestamp,
}

/// Why a text is no cursor of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorError {
    /// It was not issued here.
    Unknown,
    /// It belongs to the feed of the other clock.
    OtherClock,
}

/// The format's number; another one is another format.
const FORMAT: u8 = 1;
/// Bytes of the checksum.
const CHECKSUM: usize = 6;
const INTEGER: usize = 8;

impl ChangeCursor {
    /// The text for the reader: letters, digits, `-` and `_`.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(2 + 4 * INTEGER + self.id.len() + CHECKSUM);
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
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
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
    let (bytes, behind) = rest.split_first_chunk::<INTEGER>()?;
    *rest = behind;
    Some(i64::from_be_bytes(*bytes))
}

/// Not a secret: a reader that makes up a cursor harms only itself.
fn checksum(content: &[u8]) -> [u8; CHECKSUM] {
    let digest = Sha256::new().chain_update(b"change cursor").chain_update(content).finalize();
    let mut sum = [0; CHECKSUM];
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
    fn a_cursor_of_the_other_clock_is_told_from_one_that_was_never_issued() {
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
