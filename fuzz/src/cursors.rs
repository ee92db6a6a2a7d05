//! Property of the parsers of the cursors that clients send back, for the stream and for the change feed.

use rds_shared::push::Cursor;
use rds_shared::push::cursor::Resume;
use rds_shared::wire::{ChangeClock, ChangeCursor};

/// A parsed cursor prints as the input, so each position has one spelling.
pub fn holds(data: &[u8]) {
    let resume = Resume::read(Some(data), None);
    let Ok(text) = std::str::from_utf8(data) else {
        assert_eq!(resume, Resume::Invalid);
        return;
    };
    if let Resume::After(cursor) = resume {
        assert_eq!(cursor.to_string(), text);
    }
    assert_eq!(Cursor::parse(text).is_some(), matches!(resume, Resume::After(_)), "{text}");
    for clock in [ChangeClock::Sync, ChangeClock::Score] {
        if let Ok(cursor) = ChangeCursor::decode(text, clock) {
            assert_eq!(cursor.encode(), text);
        }
    }
}
