//! Frames of the event stream. Each frame is encoded once and shared by all its receivers.
//!
//! A frame is a few `field: value` lines and an empty line (WHATWG HTML, "Server-sent events"). Each has exactly one `data` line of
//! JSON. Only operations and checkpoints have an `id` line, because only they move a client's cursor.

use super::cursor::{Cursor, Start};
use super::gap::Gap;
use super::stream_limits::{REPLAY_LIMIT, REPLAY_WINDOW_SECONDS};
use crate::scoring::named_enum;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Display, Write};
use serde::Serialize;

/// Version of the stream contract, sent in `ready`.
const VERSION: u8 = 2;

/// A comment line that keeps the connection open; event source clients ignore it.
pub const HEARTBEAT: &[u8] = b": heartbeat\n\n";
/// Reconnection delay in milliseconds for clients of a server that is shutting down.
pub const DRAINING_MILLIS: u32 = 1_000;
/// Announces that this server is shutting down. The client reconnects after `retry` milliseconds and reaches another server.
pub const DRAINING: &[u8] = b"event: draining\nretry: 1000\ndata: {\"retry\":1000}\n\n";

named_enum! {
    /// The operation on an event; its text is also the name of the frame.
    pub enum Operation {
        /// The event became public.
        Published = "published",
        /// The event was promoted into the feed.
        Promoted = "promoted",
        /// The event was retracted or demoted.
        Retracted = "retracted",
    }
}

/// The body of the `ready` frame.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamReady<'a> {
    /// Id of the vault whose operations are delivered; null if the operations of all vaults are delivered.
    #[serde(rename = "vaultId")]
    pub vault_id: Option<&'a str>,
    /// Version of the stream contract: 2.
    pub version: u8,
    /// Where the stream starts, and the limits of a replay.
    pub replay: StreamReplay,
}

/// Start and limits of a stream's replay.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamReplay {
    /// The stream delivers operations after this position.
    pub cursor: Cursor,
    /// Age in seconds of the oldest operation that can be replayed: 86400.
    pub window_seconds: i64,
    /// Maximum number of operations that one connection replays: 1000.
    pub max_rows: u32,
}

/// A connection's first frames: `ready`, and, for a cursor that cannot be resumed, the gap and the checkpoint that replaces the
/// cursor. `vault_id` is the stream's filter.
pub fn opening(vault_id: Option<&str>, start: &Start) -> Vec<u8> {
    let mut frames = ready(vault_id, start.after);
    if let Some(gap) = &start.gap {
        frames.extend(self::gap(gap));
        frames.extend(checkpoint(gap.cursor));
    }
    frames
}

/// The first frame of a connection: states the stream's filter and its start position.
pub fn ready(vault_id: Option<&str>, cursor: Cursor) -> Vec<u8> {
    let replay = StreamReplay { cursor, window_seconds: REPLAY_WINDOW_SECONDS, max_rows: REPLAY_LIMIT };
    frame(None, "ready", &json(&StreamReady { vault_id, version: VERSION, replay }))
}

/// An operation. `row` is the JSON of the event row as captured with the operation.
pub fn operation(operation: Operation, cursor: Cursor, row: &str) -> Vec<u8> {
    frame(Some(cursor), operation.as_str(), row)
}

/// A `cursor` frame: moves the client's cursor past operations that its filter hides.
pub fn checkpoint(cursor: Cursor) -> Vec<u8> {
    frame(Some(cursor), "cursor", "{}")
}

/// A `gap` frame. It has no `id` line, so the client's cursor does not move.
pub fn gap(gap: &Gap) -> Vec<u8> {
    frame(None, "gap", &json(gap))
}

fn json(value: &impl Serialize) -> String {
    // Only strings and numbers are serialised, so this cannot fail.
    serde_json::to_string(value).unwrap_or_else(|_| String::from("{}"))
}

/// Encodes one frame. Line breaks in `data` are replaced by spaces, so that a body cannot start a line of its own. The JSON keeps its
/// meaning: strings contain no raw line breaks, so each line break is white space between tokens.
fn frame(id: Option<Cursor>, event: &str, data: &str) -> Vec<u8> {
    let mut out = String::with_capacity(data.len() + event.len() + 48);
    if let Some(cursor) = id {
        field(&mut out, "id", cursor);
    }
    field(&mut out, "event", event);
    out.push_str("data: ");
    out.extend(data.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
    out.push_str("\n\n");
    out.into_bytes()
}

fn field(out: &mut String, name: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name}: {value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::cursor::{Resume, Window};
    use crate::push::gap::GapReason;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_cursor_that_cannot_be_resumed_gets_ready_gap_and_a_new_checkpoint() {
        let window = Window { floor: Cursor::new(11), tail: Cursor::new(20), jumps: &[] };
        let opened = text(opening(Some("v"), &window.start(Resume::Legacy)));
        let events: Vec<_> = opened.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(events, ["ready", "gap", "cursor"]);
        assert!(opened.ends_with("id: v2:10\nevent: cursor\ndata: {}\n\n"), "{opened}");
        let continued = text(opening(None, &window.start(Resume::Nothing)));
        assert!(!continued.contains("gap") && continued.contains("\"cursor\":\"v2:20\""), "{continued}");
    }

    #[test]
    fn only_operations_and_checkpoints_move_a_clients_cursor() {
        let cursor = Cursor::new(7);
        for moving in [operation(Operation::Promoted, cursor, "{}"), checkpoint(cursor)] {
            assert!(moving.starts_with(b"id: v2:7\n"));
        }
        let overflow = Gap::queue_overflow(cursor, cursor);
        for still in [ready(None, cursor), gap(&overflow), DRAINING.to_vec(), HEARTBEAT.to_vec()] {
            assert!(!text(still).lines().any(|line| line.starts_with("id")));
        }
    }

    #[test]
    fn the_draining_frame_names_the_reconnection_delay() {
        let data = format!("{{\"retry\":{DRAINING_MILLIS}}}");
        assert_eq!(text(DRAINING.to_vec()), format!("event: draining\nretry: {DRAINING_MILLIS}\ndata: {data}\n\n"));
    }

    #[test]
    fn every_gap_reason_is_written_into_its_frame() {
        for reason in GapReason::ALL {
            let frame = text(gap(&Gap { reason: *reason, from: None, to: None, cursor: Cursor::new(1) }));
            let data = format!("{{\"reason\":\"{reason}\",\"from\":null,\"to\":null,\"cursor\":\"v2:1\"}}");
            assert_eq!(frame, format!("event: gap\ndata: {data}\n\n"));
        }
    }

    #[test]
    fn a_pretty_printed_body_stays_the_same_json_on_one_line() {
        let frame = text(operation(Operation::Published, Cursor::new(1), "{\r\n  \"a\": 1\r}"));
        assert_eq!(frame, "id: v2:1\nevent: published\ndata: {    \"a\": 1 }\n\n");
    }

    proptest! {
        /// A row or filter cannot end a frame, start a field, or forge an id.
        #[test]
        fn no_text_escapes_its_data_line(body in "[\\x00-\\x7f\u{85}\u{2028}]{0,60}", title in "[\\x00-\\x7f\u{2028}]{0,60}") {
            let row = serde_json::to_string(&title).unwrap();
            for frame in [
                operation(Operation::Retracted, Cursor::new(3), &body),
                operation(Operation::Retracted, Cursor::new(3), &row),
                ready(Some(&title), Cursor::new(3)),
            ] {
                let frame = text(frame);
                prop_assert!(!frame.contains('\r') && frame.ends_with("\n\n"));
                let lines: Vec<_> = frame.split('\n').collect();
                let ids = usize::from(frame.starts_with("id: v2:3\n"));
                prop_assert_eq!(lines.len(), 4 + ids);
                prop_assert!(lines[ids].starts_with("event: ") && lines[ids + 1].starts_with("data: "));
            }
            let frame = text(operation(Operation::Retracted, Cursor::new(3), &row));
            let data = frame.split_once("data: ").unwrap().1.trim_end_matches('\n');
            prop_assert_eq!(serde_json::from_str::<String>(data).unwrap(), title, "the content is intact");
        }
    }
}
