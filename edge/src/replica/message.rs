//! Messages between isolates, the replica's Durable Object and the origin.
//!
//! Workers and Durable Objects are not updated at the same time. A release with other documents calls Durable Objects of other names
//! ([`object_name`]), so the two never read each other's.

use rds_shared::replica::{FORMAT, SegmentName, StateId};
use rds_shared::route::TagVersions;
use rds_shared::wire::record::{self, Reader};
use serde::{Deserialize, Serialize};

/// Maximum number of segments in one answer of the Durable Object; their names fill a header of 8 KB.
pub const MAX_SEGMENTS: usize = 128;

/// The name of a Durable Object of the replica: `f<format>-<number>`.
pub fn object_name(number: u32) -> String {
    format!("f{FORMAT}-{number}")
}

/// Message to the Durable Object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ReplicaMessage {
    /// What leads to the current state → [`ReplicaReply`] with the bytes of an update as body.
    Ask(ReplicaAsk),
    /// At most [`MAX_SEGMENTS`] segments → [`ReplicaReply`] with a body that [`read_parts`] reads.
    Segments(SegmentsAsk),
}

/// Reply of the Durable Object. A response without it says that the Durable Object has nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaReply {
    /// Milliseconds since the origin confirmed the state. Clocks of different machines differ, so no instant is sent.
    pub age: u64,
}

/// The request for what leads to the current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaAsk {
    /// The format of the documents that the sender reads.
    pub format: u16,
    /// The sender's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub have: Option<StateId>,
    /// The tag versions that the answer must include.
    pub covering: TagVersions,
    /// Whether the answer must be a manifest, whatever the sender has.
    #[serde(default)]
    pub whole: bool,
}

/// The request for segments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentsAsk {
    /// The format of the documents that the sender reads.
    pub format: u16,
    pub names: Vec<SegmentName>,
}

/// Several byte strings as one body.
pub fn write_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    parts.into_iter().for_each(|part| record::put_bytes(part, &mut out));
    out
}

/// Reads what [`write_parts`] wrote; `None` if the bytes end too early.
pub fn read_parts(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut reader, mut parts) = (Reader::new(bytes), Vec::new());
    while !reader.is_at_end() {
        parts.push(reader.bytes()?);
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_read_back_and_no_bytes_break_the_reading(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..5),
            any in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let bytes = write_parts(parts.iter().map(Vec::as_slice));
            prop_assert_eq!(read_parts(&bytes).unwrap(), parts);
            let _ = read_parts(&any);
        }
    }

    #[test]
    fn a_message_of_a_later_release_is_read() {
        let later = r#"{"do":"ask","format":7,"covering":"vaults=3","later":1}"#;
        let ask = ReplicaAsk { format: 7, have: None, covering: TagVersions::parse("vaults=3"), whole: false };
        assert_eq!(serde_json::from_str::<ReplicaMessage>(later).unwrap(), ReplicaMessage::Ask(ask));
    }
}
