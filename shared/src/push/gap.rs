//! What a client cannot be given, and how it goes on.
//!
//! Source: interface, "Event stream", 6 (the table of reasons and recoveries).

use super::cursor::Cursor;
use crate::scoring::named_enum;
use serde::Serialize;

named_enum! {
    /// Why a range is incomplete.
    #[cfg_attr(feature = "schema", schemars(rename = "StreamGapReason"))]
    pub enum GapReason {
        /// The client read too slowly. It reconnects from the last cursor it was given.
        QueueOverflow = "queue_overflow",
        /// More operations than one connection replays. It reconnects with the gap's cursor.
        ReplayTruncated = "replay_truncated",
        /// A cursor of the former contract. It refetches state; the window is replayed.
        CursorLegacy = "cursor_legacy",
        /// A cursor that is not, or no longer, issued. It refetches state and takes the gap's cursor.
        CursorUnknown = "cursor_unknown",
        /// No cursor at all. It refetches state and takes the gap's cursor.
        CursorInvalid = "cursor_invalid",
        /// A position below the window. It refetches older state; the window is replayed.
        CursorExpired = "cursor_expired",
        /// The journal could not be read. It reconnects from its last cursor, later.
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
    /// Why.
    pub reason: GapReason,
    /// The last position the client is complete up to; null when its cursor says nothing about that.
    pub from: Option<Cursor>,
    /// The last position of the range; null when it is not known.
    pub to: Option<Cursor>,
    /// Where this stream goes on, or where the next connection resumes.
    pub cursor: Cursor,
}

impl Gap {
    /// The client has everything up to `delivered`; what follows, up to `tail`, found its queue full.
    pub const fn queue_overflow(delivered: Cursor, tail: Cursor) -> Self {
        Gap { reason: GapReason::QueueOverflow, from: Some(delivered), to: Some(tail), cursor: delivered }
    }

    /// The replay stopped at `checkpoint`, below `tail`, because it had given all that one connection gives.
    pub const fn replay_truncated(checkpoint: Cursor, tail: Cursor) -> Self {
        Gap { reason: GapReason::ReplayTruncated, from: Some(checkpoint), to: Some(tail), cursor: checkpoint }
    }

    /// The journal could not be read behind `last`, the client's own cursor or the last one delivered.
    pub const fn replay_failed(last: Cursor) -> Self {
        Gap { reason: GapReason::ReplayFailed, from: Some(last), to: None, cursor: last }
    }
}
