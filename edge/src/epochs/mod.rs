//! How far the facts have changed: a version for each tag, kept by one Durable Object and leased to every isolate.
//!
//! The origin tells the object of a change, and hears that it holds once no lease from before can be in use. A copy carries
//! the versions that the origin made it from; one that is behind the lease is confirmed before it is served.
//!
//! | file | knows |
//! |---|---|
//! | `lease` | what one isolate may take for current, for how long, and when it asks again |
//! | `register` | the object's versions over its disk: they only grow |
//! | `answers` | what all isolates answered by themselves, on its way to the origin |
//! | `object` | the runtime around both |
//!
//! # Invariants
//!
//! - A tag version never decreases: not in the database, the Durable Object or an isolate.
//! - The origin gets its acknowledgement when the change is on the object's disk and every lease from before has expired, so no later request sees an older
//!   state (`edge/tests/tags.test.mjs`).
//! - What the edge answered without the origin is counted here and reported to the origin as totals of each minute; each report has a number and is counted
//!   once (`tests/it/status_edge.rs`).

pub mod answers;
pub mod lease;
pub mod object;
pub mod register;

pub use lease::Lease;

use crate::answered::AnsweredReport;
use rds_shared::route::TagVersions;
use serde::{Deserialize, Serialize};

/// To the object: what the sender knows. Whatever is news to the object is on its disk before it replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochMessage {
    /// Versions seen in the origin's answers, or told by it.
    pub seen: TagVersions,
    /// What the sender answered by itself since its last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<AnsweredReport>,
}

/// From the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochReply {
    /// Every version it knows.
    pub versions: TagVersions,
}
