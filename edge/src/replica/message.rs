//! Messages between isolates, the replica's Durable Object and the origin.
//!
//! Workers and Durable Objects are not updated at the same time. A release with other documents calls Durable Objects of other names
//! ([`object_name`]), so the two never read each other's.

use rds_shared::access::link::{ReplicaAsk, SegmentsAsk};
use rds_shared::replica::{FORMAT, Families};
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
    Ask(IsolateAsk),
    /// At most [`MAX_SEGMENTS`] segments → [`ReplicaReply`] with a body that [`rds_shared::access::link::read_parts`] reads.
    Segments(SegmentsAsk),
}

/// An isolate's question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolateAsk {
    #[serde(flatten)]
    pub ask: ReplicaAsk,
    /// Who asks; for the operator's metrics.
    #[serde(default)]
    pub holder: Holder,
}

/// An isolate that holds rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Random name of the isolate; empty before the first question.
    pub isolate: String,
    /// The families for which its memory has no room.
    pub left_out: Families,
}

/// Reply of the Durable Object. A response without it says that the Durable Object has nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaReply {
    /// Milliseconds since the origin confirmed the state. Clocks of different machines differ, so no instant is sent.
    pub age: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::TagVersions;

    #[test]
    fn a_message_of_a_later_release_is_read() {
        let later = r#"{"do":"ask","format":7,"covering":"vaults=3","later":1}"#;
        let covering = TagVersions::parse("vaults=3");
        let ask = ReplicaAsk { format: 7, have: None, covering, whole: false, holders: None };
        let asked = |holder: Holder| ReplicaMessage::Ask(IsolateAsk { ask: ask.clone(), holder });
        assert_eq!(serde_json::from_str::<ReplicaMessage>(later).unwrap(), asked(Holder::default()));
        let with_holder =
            asked(Holder { isolate: "a".to_owned(), left_out: Families::of(&[rds_shared::replica::Family::Feeds]) });
        let text = serde_json::to_string(&with_holder).unwrap();
        assert_eq!(serde_json::from_str::<ReplicaMessage>(&text).unwrap(), with_holder);
    }
}
