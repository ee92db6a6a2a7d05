//! Reference baskets: constituents, weights, rebalance triggers, and content-addressed versions.
//!
//! | module | content |
//! |---|---|
//! | [`definition`] | a basket's rules as data: eligibility, pivot, caps, minimum |
//! | [`eligibility`] | which candidates may be in the basket, and why the others may not |
//! | [`weights`] | capped weights in proportion to excess score, in parts per million |
//! | [`rebalance_triggers`] | the calendar and the events that trigger a rebalance |
//! | [`version`] | an immutable version, its content hash, and the changes from the previous version |
//! | [`analytics`] | how a version's weights are spread |
//! | [`rebalance`] | the steps of a rebalance; a stale constituent or infeasible weights halt it |
//!
//! Source: methodology, "Baskets".

pub mod analytics;
pub mod definition;
pub mod eligibility;
pub mod rebalance;
pub mod rebalance_triggers;
pub mod version;
pub mod weights;
