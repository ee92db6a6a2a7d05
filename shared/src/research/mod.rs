//! Research: how the service's own scores are put to the test, as pure functions over rows.
//!
//! | module | knows |
//! |---|---|
//! | [`windows`] | the instants that a backtest looks from, none of which can see into another's window |
//! | [`outcome`] | what counts as a loss, and when a window was watched well enough to say that there was none |
//! | [`discrimination`] | whether lower values preceded losses, and how firmly that stands |
//! | [`gates`] | what a record must have before anybody is shown it; never what it finds |

pub mod discrimination;
pub mod gates;
pub mod outcome;
pub mod windows;

pub use discrimination::{Discrimination, Sample, Verdict};
pub use outcome::Horizon;
