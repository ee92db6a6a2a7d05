//! Cursors of the journal, and the start position of a stream.
//!
//! A cursor is the sequence number of the last operation that a client has. Operations are numbered without holes, in the order in
//! which they became visible. After a restore of older data the numbering jumps ahead to numbers that no other timeline of the
//! database has used ([`super::timeline`]). A number is therefore never issued twice, and cursors of a lost timeline can be recognised.

use super::gap::{Gap, GapReason};
use crate::wire::time::Timestamp;
use core::fmt;
use serde::{Serialize, Serializer};

/// Prefix of a cursor's text.
const PREFIX: &str = "v2:";
/// Maximum length of a cursor's text in bytes, for every version of the contract.
const MAX_TEXT: usize = 64;

/// A position in the journal, written `v2:<decimal>`: the sequence number of the last delivered operation, or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor(u64);

impl Cursor {
    /// The position of the operation with this sequence number.
    pub const fn new(number: u64) -> Self {
        Cursor(number)
    }

    /// The sequence number of the operation at this position.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position of the previous operation; 0 stays 0.
    const fn before(self) -> Self {
        Cursor(self.0.saturating_sub(1))
    }

    /// Parses exactly what [`Display`](fmt::Display) writes: no sign, no leading zero, no space, at most 2^64 − 1.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        if !canonical || !is_decimal(digits) {
            return None;
        }
        digits.parse().ok().map(Cursor)
    }
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The resume position that a connecting client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// The client sent no position: it receives new operations only.
    Nothing,
    /// A cursor of this contract, issued or not.
    After(Cursor),
    /// A number or a timestamp without version prefix: a cursor of the former contract.
    Legacy,
    /// A text that was never a cursor in any contract.
    Invalid,
}

impl Resume {
    /// Reads the `Last-Event-ID` header and the `since` parameter; the header takes precedence.
    ///
    /// An empty header counts as absent, because an event source sends it before its first event. An empty `since` is an invalid
    /// cursor and is reported as a gap.
    pub fn read(last_event_id: Option<&[u8]>, since: Option<&str>) -> Self {
        match (last_event_id.filter(|id| !id.is_empty()), since) {
            (Some(id), _) => core::str::from_utf8(id).map_or(Resume::Invalid, Resume::classify),
            (None, Some(since)) => Resume::classify(since),
            (None, None) => Resume::Nothing,
        }
    }

    fn classify(text: &str) -> Self {
        if text.len() > MAX_TEXT {
            Resume::Invalid
        } else if let Some(cursor) = Cursor::parse(text) {
            Resume::After(cursor)
        } else if is_decimal(text) || Timestamp::parse(text).is_some() {
            Resume::Legacy
        } else {
            Resume::Invalid
        }
    }
}

/// A jump of the numbering after a restore. Numbers in between belong to a lost timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Jump {
    /// The restored head: the last number that both timelines share.
    pub from: Cursor,
    /// The head after the jump; the next operation's number is one higher.
    pub to: Cursor,
}

impl Jump {
    /// Whether `cursor` is strictly between `from` and `to`, where only the lost timeline issued numbers.
    pub fn lost(&self, cursor: Cursor) -> bool {
        self.from < cursor && cursor < self.to
    }
}

/// Whether the current timeline, with these jumps and this `tail`, issued `cursor`. Any other cursor was invented or belongs to a timeline
/// that a restore undid; such a cursor is never resumed.
pub fn is_of_current_timeline(jumps: &[Jump], tail: Cursor, cursor: Cursor) -> bool {
    cursor <= tail && !jumps.iter().any(|jump| jump.lost(cursor))
}

/// The journal's retained range at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<'a> {
    /// The oldest operation younger than [`REPLAY_WINDOW_SECONDS`](super::stream_limits::REPLAY_WINDOW_SECONDS); one above `tail` when
    /// there is none.
    pub floor: Cursor,
    /// The newest operation; 0 in a new journal.
    pub tail: Cursor,
    /// All jumps of the numbering.
    pub jumps: &'a [Jump],
}

/// Where a stream starts, and whether it first reports a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The stream delivers operations after this position.
    pub after: Cursor,
    /// The gap to report first, if operations that the client misses cannot be delivered.
    pub gap: Option<Gap>,
}

impl Window<'_> {
    /// The position just below the window: a replay from here delivers everything retained.
    pub fn checkpoint(&self) -> Cursor {
        self.floor.before().min(self.tail)
    }

    /// Start of a client's stream: at the tail, after its cursor, or at the window's floor with a gap.
    pub fn start(&self, resume: Resume) -> Start {
        let (reason, from) = match resume {
            Resume::Nothing => return Start { after: self.tail, gap: None },
            Resume::Legacy => (GapReason::CursorLegacy, None),
            Resume::Invalid => (GapReason::CursorInvalid, None),
            Resume::After(cursor) => {
                if !is_of_current_timeline(self.jumps, self.tail, cursor) {
                    (GapReason::CursorUnknown, None)
                } else if cursor < self.checkpoint() {
                    (GapReason::CursorExpired, Some(cursor))
                } else {
                    return Start { after: cursor, gap: None };
                }
            }
        };
        let after = self.checkpoint();
        Start { after, gap: Some(Gap { reason, from, to: Some(after), cursor: after }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;
    use std::format;

    const WINDOW: Window<'static> = Window { floor: Cursor(101), tail: Cursor(500), jumps: &[] };

    fn reason(window: Window<'_>, text: &str) -> Option<GapReason> {
        window.start(Resume::read(Some(text.as_bytes()), None)).gap.map(|gap| gap.reason)
    }

    #[test]
    fn every_retained_cursor_resumes_without_a_gap() {
        for number in 100..=500 {
            let start = WINDOW.start(Resume::After(Cursor(number)));
            assert_eq!(start, Start { after: Cursor(number), gap: None });
        }
    }

    #[test]
    fn a_cursor_that_cannot_be_resumed_is_classified_and_replayed_from_the_floor() {
        for (text, expected) in [
            ("v2:0", GapReason::CursorExpired),
            ("v2:99", GapReason::CursorExpired),
            ("v2:501", GapReason::CursorUnknown),
            ("v2:9223372036854775808", GapReason::CursorUnknown),
            ("v2:18446744073709551615", GapReason::CursorUnknown),
            ("0", GapReason::CursorLegacy),
            ("1795219200", GapReason::CursorLegacy),
            ("18446744073709551616", GapReason::CursorLegacy),
            ("2026-11-21T00:00:00.000Z", GapReason::CursorLegacy),
            ("2026-11-21T02:00:00+02:00", GapReason::CursorLegacy),
            ("v2:18446744073709551616", GapReason::CursorInvalid),
            ("v2:", GapReason::CursorInvalid),
            ("v2:-1", GapReason::CursorInvalid),
            ("v2:+1", GapReason::CursorInvalid),
            ("v2: 1", GapReason::CursorInvalid),
            ("v2:0x10", GapReason::CursorInvalid),
            ("v2:0101", GapReason::CursorInvalid),
            ("v2:1.0", GapReason::CursorInvalid),
            ("v2:1e2", GapReason::CursorInvalid),
            ("v2:١٠١", GapReason::CursorInvalid),
            ("v2:101\0", GapReason::CursorInvalid),
            ("V2:101", GapReason::CursorInvalid),
            ("v1:101", GapReason::CursorInvalid),
            ("v3:101", GapReason::CursorInvalid),
            ("-1", GapReason::CursorInvalid),
            (" ", GapReason::CursorInvalid),
            ("yesterday", GapReason::CursorInvalid),
            ("null", GapReason::CursorInvalid),
        ] {
            let start = WINDOW.start(Resume::read(None, Some(text)));
            let gap = start.gap.unwrap();
            assert_eq!((gap.reason, start.after, gap.cursor), (expected, Cursor(100), Cursor(100)), "{text:?}");
            assert_eq!(reason(WINDOW, text), Some(expected), "{text:?} as a header");
        }
        let endless = "1".repeat(1 << 20);
        assert_eq!(reason(WINDOW, &endless), Some(GapReason::CursorInvalid));
        assert_eq!(Resume::read(Some(b"v2:\xff"), None), Resume::Invalid);
    }

    #[test]
    fn the_gap_of_an_expired_cursor_names_the_missing_range() {
        let gap = WINDOW.start(Resume::After(Cursor(7))).gap.unwrap();
        assert_eq!((gap.from, gap.to), (Some(Cursor(7)), Some(Cursor(100))));
    }

    #[test]
    fn without_a_cursor_the_stream_begins_at_the_tail() {
        assert_eq!(WINDOW.start(Resume::read(None, None)), Start { after: Cursor(500), gap: None });
    }

    #[test]
    fn the_header_takes_precedence_unless_it_is_empty() {
        assert_eq!(Resume::read(Some(b"v2:7"), Some("v2:9")), Resume::After(Cursor(7)));
        assert_eq!(Resume::read(Some(b"nonsense"), Some("v2:9")), Resume::Invalid);
        assert_eq!(Resume::read(Some(b""), Some("v2:9")), Resume::After(Cursor(9)));
        assert_eq!(Resume::read(Some(b""), None), Resume::Nothing);
        assert_eq!(Resume::read(None, Some("")), Resume::Invalid);
    }

    #[test]
    fn a_journal_without_retained_operations_still_knows_its_tail() {
        let new = Window { floor: Cursor(1), tail: Cursor(0), jumps: &[] };
        assert_eq!(reason(new, "v2:0"), None);
        assert_eq!(reason(new, "v2:1"), Some(GapReason::CursorUnknown));
        let quiet = Window { floor: Cursor(501), tail: Cursor(500), jumps: &[] };
        assert_eq!(reason(quiet, "v2:500"), None);
        assert_eq!(reason(quiet, "v2:499"), Some(GapReason::CursorExpired));
        assert_eq!(quiet.checkpoint(), Cursor(500));
        let torn = Window { floor: Cursor(510), ..quiet };
        assert_eq!(torn.checkpoint(), Cursor(500), "a floor read later than the tail is capped at the tail");
    }

    #[test]
    fn a_cursor_of_a_timeline_that_a_restore_undid_is_unknown() {
        let jumps = [Jump { from: Cursor(300), to: Cursor(1 << 40) }];
        let window = Window { floor: Cursor(101), tail: Cursor((1 << 40) + 5), jumps: &jumps };
        assert_eq!(reason(window, "v2:300"), None, "both timelines share it");
        assert_eq!(reason(window, "v2:301"), Some(GapReason::CursorUnknown));
        assert_eq!(reason(window, "v2:1099511627775"), Some(GapReason::CursorUnknown));
        assert_eq!(reason(window, "v2:1099511627776"), None, "the tail right after the jump");
        assert_eq!(reason(window, "v2:99"), Some(GapReason::CursorExpired));
    }

    proptest! {
        #[test]
        fn a_cursor_parses_only_in_its_canonical_spelling(number: u64) {
            let text = Cursor(number).to_string();
            prop_assert_eq!(Cursor::parse(&text), Some(Cursor(number)));
            for other in [format!("v2:0{number}"), format!("{text} "), format!(" {text}"), format!("v2:+{number}")] {
                prop_assert_eq!(Cursor::parse(&other), None);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(id: std::vec::Vec<u8>, since in "\\PC{0,80}") {
            let _ = WINDOW.start(Resume::read(Some(&id), Some(&since)));
        }

        /// Every operation that a client misses is either delivered or announced by a gap.
        #[test]
        fn missed_operations_are_delivered_or_announced_by_a_gap(floor in 1..1000u64, kept in 0..1000u64, number in 0..2100u64) {
            let window = Window { floor: Cursor(floor), tail: Cursor(floor + kept - 1), jumps: &[] };
            let start = window.start(Resume::After(Cursor(number)));
            match start.gap {
                None => prop_assert!(start.after == Cursor(number) && number + 1 >= floor && Cursor(number) <= window.tail),
                Some(gap) => {
                    prop_assert_eq!(start.after.get() + 1, floor);
                    prop_assert!(number + 1 < floor || Cursor(number) > window.tail);
                    prop_assert!(!gap.reason.closes());
                }
            }
        }
    }
}
