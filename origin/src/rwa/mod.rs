//! Real-world assets: which product a deployment is, and the total of each day, kept in revisions.
//!
//! | file | does |
//! |---|---|
//! | `identity` | signed mappings to products |
//! | `totals` | works out the days that a batch may have changed, and records those that read differently |
//!
//! # Invariants
//!
//! - A reviewer's signed statement is rebuilt from the rows and checked at ingest, at every mapping and whenever it is served.
//! - A published figure never changes; a day's total that reads differently gets a new revision, and missing is never zero. Only a figure restates a day,
//!   and only days it covers (`tests/it/rwa_totals.rs`).

pub mod identity;
pub mod totals;
