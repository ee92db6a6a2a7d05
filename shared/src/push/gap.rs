//! Gaps of the event stream: ranges that cannot be delivered, and how a client recovers.

use super::cursor::Cursor;
use crate::scoring::named_enum;
use serde::Serialize;

named_enum! {
    /// Why a range of operations is incomplete, and how the client recovers.
    #[cfg_attr(feature = "schema", schemars(rename = "StreamGapReason"))]
    pub enum GapReason {
        /// The client read too slowly. It reconnects with its last received cursor.
        QueueOverflow = "queue_overflow",
        /// There are more operations than one connection replays. The client reconnects with the gap's cursor.
        ReplayTruncated = "replay_truncated",
        /// The cursor belongs to the former contract. The client refetches its state; the stream continues with the replay window.
        CursorLegacy = "cursor_legacy",
        /// The cursor was never issued, or was undone by a restore. The client refetches its state and continues from the gap's cursor.
        CursorUnknown = "cursor_unknown",
        /// The text is not a cursor. The client refetches its state and continues from the gap's cursor.
        CursorInvalid = "cursor_invalid",
        /// The cursor is older than the replay window. The client refetches the state before it; the stream continues with the window.
        CursorExpired = "cursor_expired",
        /// The journal could not be read. The client reconnects later with its last cursor.
        ReplayFailed = "replay_failed",
    }
}

impl GapReason {
    /// Whether the connection ends after the gap.
    pub const fn closes(self) -> bool {
        match self {
            GapReason::QueueOverflow | GapReason::ReplayTruncated | GapReason::ReplayFailed => true,
            GapReason::CursorLegacy
            | GapReason::CursorUnknown
            | GapReason::CursorInvalid
            | GapReason::CursorExpired => false,
        }
    }
}

/// An incomplete range: the body of a `gap` frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "StreamGap"))]
pub struct Gap {
    /// Why the range is incomplete.
    pub reason: GapReason,
    /// The position up to which the client has received every operation; null if the client's cursor does not state one.
    pub from: Option<Cursor>,
    /// The last position of the range; null when unknown.
    pub to: Option<Cursor>,
    /// The position from which this stream continues, or from which the next connection resumes.
    pub cursor: Cursor,
}

impl Gap {
    /// The client's queue was full: it has everything up to `delivered` and misses operations up to `tail`.
    pub const fn queue_overflow(delivered: Cursor, tail: Cursor) -> Self {
        Gap { reason: GapReason::QueueOverflow, from: Some(delivered), to: Some(tail), cursor: delivered }
    }

    /// The replay reached its limit at `checkpoint`, below `tail`.
    pub const fn replay_truncated(checkpoint: Cursor, tail: Cursor) -> Self {
        Gap { reason: GapReason::ReplayTruncated, from: Some(checkpoint), to: Some(tail), cursor: checkpoint }
    }

    /// The journal could not be read after `last`, which is the client's own cursor or the last one delivered.
    pub const fn replay_failed(last: Cursor) -> Self {
        Gap { reason: GapReason::ReplayFailed, from: Some(last), to: None, cursor: last }
    }
}
