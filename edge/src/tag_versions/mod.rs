//! Tag versions: one version for each tag, kept by one Durable Object and leased to every isolate.
//!
//! The origin reports each change to the Durable Object, which acknowledges it once every earlier lease has expired. A cached response carries
//! the versions that the origin made it from. A cached response with older versions than the lease is revalidated before it is served.
//!
//! | file | content |
//! |---|---|
//! | `lease` | which versions an isolate treats as current, for how long, and when it renews |
//! | `register` | the Durable Object's versions and their storage; versions only grow |
//! | `withheld` | the chains whose data is not served, which the origin names with the versions |
//! | `answer_totals` | counts of responses that isolates gave without the origin, to be sent to the origin |
//! | `object` | the Durable Object that holds `register` and `answer_totals` |
//!
//! # Invariants
//!
//! - A tag version never decreases: not in the database, the Durable Object or an isolate.
//! - The origin gets its acknowledgement when the change is stored by the Durable Object and every earlier lease has expired, so no later request sees an older
//!   state (`edge/tests/tags.test.mjs`).
//! - The Durable Object counts responses that the edge gave without the origin, and reports them to the origin as totals per minute. Each
//!   report of an isolate has a sequence number and is counted once (`origin/tests/it/service/status_edge.rs`).

pub mod answer_totals;
pub mod lease;
pub mod object;
pub mod register;
pub mod withheld;

pub use lease::Lease;
pub use withheld::Withheld;

use self::answer_totals::AnsweredReport;
use rds_shared::route::TagVersions;
use serde::{Deserialize, Serialize};

/// Name of the single Durable Object.
pub const OBJECT_NAME: &str = "tags";

/// Message to the Durable Object. Newer versions in it are stored before the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagMessage {
    /// Versions known to the sender.
    pub seen: TagVersions,
    /// Counts of the sender's own responses since its last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<AnsweredReport>,
    /// The withheld chains, as the origin has just named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

impl TagMessage {
    /// A message with versions only.
    pub fn seen(seen: TagVersions) -> Self {
        TagMessage { seen, answered: None, withheld: None }
    }
}

/// Reply of the Durable Object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TagReply {
    /// All versions that the Durable Object has stored.
    pub versions: TagVersions,
    /// The newest list of withheld chains that it has stored.
    #[serde(default)]
    pub withheld: Withheld,
}
