//! The replica: the rows of the public lists, from which each isolate answers 18 routes by itself.
//!
//! An isolate pulls the rows from a Durable Object, which pulls them from the origin. Both keep what they have whatever arrives: every
//! document is sealed by the origin or named by its content, and a change of state is applied only if the result has the name that the
//! origin gave it. An isolate answers as current under the same two conditions as with a cached response: the stamp of its rows
//! covers the tag versions of its lease, and the origin confirmed them within the route's fresh time. Otherwise it asks for an update once for
//! all waiting requests. While the origin fails it answers stale.
//!
//! Rows and cached responses share one budget of memory. What does not fit is left out by families, the least used first; the origin answers
//! their lists, and its metrics say how many isolates leave a family out.
//!
//! | file | content |
//! |---|---|
//! | `held` | the rows of an isolate, and the answers made from them |
//! | `documents` | sealed documents opened and applied |
//! | `segments` | segments that were fetched |
//! | `kept` | the state in the data centre's cache |
//! | `choice` | which families an isolate holds |
//! | `timing` | when an isolate asks for an update |
//! | `refresh` | how it asks, and takes the answer |
//! | `answer` | the step of the pipeline that answers from the rows |
//! | `message` | messages between isolates, Durable Object and origin |
//! | `store` | the Durable Object's state: which documents it keeps, and what it answers from them |
//! | `pull` | how the Durable Object pulls from the origin |
//! | `tables` | the Durable Object's storage |
//! | `object` | the Durable Object |
//! | `holders` | which isolates ask the Durable Object, and what they leave out |
//!
//! # Invariants
//!
//! - A stamp that lacks a change which an earlier stamp includes never replaces it (`edge/tests/pipeline/replica_documents.rs`,
//!   `edge/tests/replica/documents.test.mjs`).
//! - Two releases with different formats never read each other's rows (`edge/tests/replica/releases.test.mjs`).
//! - A request that begins after a change was acknowledged gets no older state marked as current (`edge/tests/pipeline/replica.rs`,
//!   `edge/tests/replica.test.mjs`, `edge/tests/replica/load.test.mjs`).
//! - No request waits for an attempt that follows a failed one, so that an absent Durable Object costs requests nothing
//!   (`edge/tests/pipeline/replica_refresh.rs`).
//! - No row of a chain that the lease names as withheld is in an answer (`edge/tests/pipeline/replica_withheld.rs`,
//!   `edge/tests/replica/outages.test.mjs`).
//! - A list whose family is left out is answered by the origin, never from other rows (`edge/tests/pipeline/replica_families.rs`).

mod answer;
pub mod choice;
pub mod documents;
pub mod held;
pub mod holders;
pub mod kept;
pub mod message;
pub mod object;
pub mod pull;
pub mod refresh;
pub mod segments;
pub mod store;
mod tables;
pub mod timing;

pub use held::{Held, IsolateReplica};
