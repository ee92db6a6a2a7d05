//! Simulates the world that the edge runs in: hundreds of edges 20 to 250 milliseconds apart, Durable Objects and the origin, in one process
//! with a simulated clock and network. Everything that decides is the edge's own code, through its ports; this crate only carries messages,
//! keeps disks, and lets things go wrong: partitions, lost messages, evictions, restarts, moves, clocks that are wrong and are set.
//!
//! | file | content |
//! |---|---|
//! | `runtime`, `random`, `journal` | simulated time and tasks, the seeded generator, the log |
//! | `network`, `clock`, `ether` | delays and partitions, wrong clocks, what machines share |
//! | `objects` | Durable Objects: the edge's state machines on simulated disks |
//! | `edge` | an edge's isolate, and the host that implements the edge's ports |
//! | `scenario`, `load`, `disturbances` | what happens |
//! | `ledger`, `report` | what callers got, what must never happen, and the figures |
//! | `facts`, `readers` | the origin's facts and their changes, and what readers got |
//!
//! # Invariants
//!
//! - The same scenario gives the same log, to the byte (`world/tests/same_seed.rs`): no real clock, no other randomness, no hash map.
//! - The checks can fail: `world/tests/planted.rs` asserts for each fault in `ether::Planted` that they find it.

pub mod clock;
pub mod disturbances;
pub mod edge;
pub mod ether;
pub mod facts;
pub mod journal;
pub mod ledger;
pub mod load;
#[path = "../../edge/tests/pipeline/market.rs"]
pub mod market;
pub mod network;
pub mod objects;
pub mod random;
pub mod readers;
pub mod report;
// The simulated disks of `objects` hold these rows.
#[path = "../../edge/tests/guard/rows.rs"]
pub mod rows;
pub mod runtime;
pub mod scenario;
pub mod world;
