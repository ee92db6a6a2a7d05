//! The control vector: who can change a vault, how fast, and whether a depositor can leave first.

use super::{ControlInput, Signers, Timelock};
use crate::scoring::number::{MilliPoints, cents};
use crate::scoring::tables;

/// The control vector. An unknown input counts the conservative points that [`tables`] set for it.
pub(super) fn score(input: &ControlInput) -> MilliPoints {
    let parts = [
        timelock(input.timelock),
        signers(input.signers),
        tables::exit_points(input.exit),
        tables::source_points(input.source),
    ];
    let weighted = tables::CONTROL_WEIGHTS.iter().zip(parts).map(|(weight, part)| weight * part.wide());
    cents(weighted.sum(), 100)
}

fn timelock(timelock: Timelock) -> MilliPoints {
    match timelock {
        Timelock::Immutable => tables::TIMELOCK_IMMUTABLE,
        Timelock::Seconds(seconds) => tables::at_least(seconds, &tables::TIMELOCK, tables::TIMELOCK_NONE),
        Timelock::Unknown => tables::TIMELOCK_UNKNOWN,
    }
}

fn signers(signers: Signers) -> MilliPoints {
    match signers {
        Signers::Immutable | Signers::Dao => tables::SIGNERS_NOBODY_OR_VOTE,
        Signers::Eoa => tables::SIGNERS_SINGLE,
        Signers::Multisig { threshold, owners } => {
            let mut steps = tables::MULTISIG.iter();
            let reached = steps.find(|((least, of), _)| threshold >= *least && owners >= *of);
            reached.map_or(tables::SIGNERS_SINGLE, |(_, points)| *points)
        }
        Signers::Unknown => tables::SIGNERS_UNKNOWN,
    }
}
