//! Real-world assets: the product of each deployment, and the total of each day, stored in revisions.
//!
//! | file | does |
//! |---|---|
//! | `identity` | signed mappings to products |
//! | `totals` | recomputes the days that a batch may have changed, and stores the changed ones |
//!
//! # Invariants
//!
//! - A reviewer's signed statement is rebuilt from the rows and checked at ingest, at every mapping and whenever it is served.
//! - A published total never changes; a recomputed day that differs gets a new revision, and a missing value is never zero. A day before
//!   the newest stored total is restated only because of an observation that covers it (`origin/tests/it/assets/rwa_totals.rs`).

pub mod identity;
pub mod totals;
