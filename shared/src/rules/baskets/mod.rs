//! Reference baskets: who is in, with what weight, when that is asked again, and how a version is named by its content.
//!
//! | module | knows |
//! |---|---|
//! | [`definition`] | a basket's rules as data: eligibility, pivot, caps, minimum |
//! | [`eligibility`] | which candidates may be in, and why the others may not |
//! | [`weights`] | the one set of weights that obeys the caps, in parts per million |
//! | [`refresh`] | the calendar and the events that ask for a rebalance |
//! | [`version`] | an immutable version, its content hash, and what changed since the one before |
//! | [`analytics`] | how a version's weights are spread |
//! | [`rebalance`] | all of it in order; a version that cannot be built honestly is not built |
//!
//! Source: methodology, "Baskets"; interface, "Basket".

pub mod analytics;
pub mod definition;
pub mod eligibility;
pub mod rebalance;
pub mod refresh;
pub mod version;
pub mod weights;
