//! Research: tests of the service's own scores, as pure functions over rows.
//!
//! | module | content |
//! |---|---|
//! | [`windows`] | the start instants of a backtest's windows, which do not overlap |
//! | [`outcome`] | what counts as a loss, and how many readings a window needs for the outcome "no loss" |
//! | [`discrimination`] | whether lower values preceded losses, with a confidence interval |
//! | [`gates`] | what evidence a record needs before it is published, regardless of its result |

pub mod discrimination;
pub mod gates;
pub mod outcome;
pub mod windows;

pub use discrimination::{Discrimination, Sample, Verdict};
pub use outcome::Horizon;
