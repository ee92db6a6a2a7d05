//! The platform's fail-safe mode, encoded in the version of its tag.
//!
//! The mode therefore spreads with tag versions: every origin process, edge isolate and response that carries the version also carries the
//! mode. Versions only grow, so an older mode never replaces a newer one.

use super::tag::{Tag, TagVersions};
use crate::model::health::FailSafeMode;

/// The remainder of a version divided by this number is the code of the mode.
const MODE_MODULUS: i64 = 4;

/// The lowest version that is at least `at_least` and encodes `mode`.
pub const fn version(mode: FailSafeMode, at_least: i64) -> i64 {
    let code = match mode {
        FailSafeMode::Normal => 0,
        FailSafeMode::Degraded => 1,
        FailSafeMode::FailClosed => 2,
    };
    let ahead = code - at_least.rem_euclid(MODE_MODULUS);
    at_least.saturating_add(ahead.rem_euclid(MODE_MODULUS))
}

impl TagVersions {
    /// The fail-safe mode; `None` if no version of [`Tag::FailSafe`] is known.
    pub fn fail_safe(&self) -> Option<FailSafeMode> {
        match self.of(Tag::FailSafe) {
            0 => None,
            version => match version.rem_euclid(MODE_MODULUS) {
                1 => Some(FailSafeMode::Degraded),
                2 => Some(FailSafeMode::FailClosed),
                _ => Some(FailSafeMode::Normal),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_a_version_the_mode_is_unknown() {
        assert_eq!(TagVersions::default().fail_safe(), None);
        assert_eq!(TagVersions::parse("vaults=7").fail_safe(), None);
    }

    proptest! {
        #[test]
        fn a_version_encodes_its_mode_and_is_the_lowest_that_does(at_least in 1i64..1 << 50, mode in 0usize..3) {
            let mode = FailSafeMode::ALL[mode];
            let encoded = version(mode, at_least);
            prop_assert!((0..MODE_MODULUS).contains(&(encoded - at_least)));
            let known: TagVersions = [(Tag::FailSafe, encoded)].into_iter().collect();
            prop_assert_eq!(known.fail_safe(), Some(mode));
        }

        #[test]
        fn the_later_of_two_modes_wins_in_either_order_of_arrival(first in 0usize..3, second in 0usize..3, at in 1i64..1 << 50) {
            let (first, second) = (FailSafeMode::ALL[first], FailSafeMode::ALL[second]);
            let before = version(first, at);
            let after = version(second, before + 1);
            for received in [[before, after], [after, before]] {
                let known: TagVersions = received.into_iter().map(|version| (Tag::FailSafe, version)).collect();
                prop_assert_eq!(known.fail_safe(), Some(second));
            }
        }
    }
}
