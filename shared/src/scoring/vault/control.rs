//! The control vector: who can change a vault, how fast, and whether a depositor can leave first.

use super::ControlInput;
use crate::scoring::number::{MilliPoints, cents};
use crate::scoring::tables;

/// The control vector. An unknown input counts the conservative points that [`tables`] set for it.
pub(super) fn score(input: &ControlInput) -> MilliPoints {
    let parts = [
        tables::timelock_points(input.timelock),
        tables::signers_points(input.signers),
        tables::exit_points(input.exit),
        tables::source_points(input.source),
    ];
    let weighted = tables::CONTROL_WEIGHTS.iter().zip(parts).map(|(weight, part)| weight * part.wide());
    cents(weighted.sum(), 100)
}
