//! The platform's fail-safe mode inside the version of its tag.
//!
//! So it travels wherever versions do: every process of the origin, every isolate and every answer knows the mode as soon as it
//! knows the version, and as versions only grow, nobody goes back to an older mode.

use super::tag::{Tag, TagVersions};
use crate::model::health::FailSafeMode;

/// Versions go in steps of so many; what is left over is the mode.
const STEP: i64 = 4;

/// The lowest version that is at least `at_least` and spells `mode`.
pub const fn version(mode: FailSafeMode, at_least: i64) -> i64 {
    let code = match mode {
        FailSafeMode::Normal => 0,
        FailSafeMode::Degraded => 1,
        FailSafeMode::FailClosed => 2,
    };
    let ahead = code - at_least.rem_euclid(STEP);
    at_least.saturating_add(ahead.rem_euclid(STEP))
}

impl TagVersions {
    /// The mode, as far as it is known.
    pub fn fail_safe(&self) -> Option<FailSafeMode> {
        match self.of(Tag::FailSafe) {
            0 => None,
            version => match version.rem_euclid(STEP) {
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
    fn nothing_is_known_before_a_version_is() {
        assert_eq!(TagVersions::default().fail_safe(), None);
        assert_eq!(TagVersions::parse("vaults=7").fail_safe(), None);
    }

    proptest! {
        #[test]
        fn a_version_spells_its_mode_and_lies_no_further_on_than_it_must(at_least in 1i64..1 << 50, mode in 0usize..3) {
            let mode = FailSafeMode::ALL[mode];
            let spelled = version(mode, at_least);
            prop_assert!((0..STEP).contains(&(spelled - at_least)));
            let known: TagVersions = [(Tag::FailSafe, spelled)].into_iter().collect();
            prop_assert_eq!(known.fail_safe(), Some(mode));
        }

        #[test]
        fn whoever_hears_of_two_modes_goes_by_the_later_one(first in 0usize..3, second in 0usize..3, at in 1i64..1 << 50) {
            let (first, second) = (FailSafeMode::ALL[first], FailSafeMode::ALL[second]);
            let before = version(first, at);
            let after = version(second, before + 1);
            for heard in [[before, after], [after, before]] {
                let known: TagVersions = heard.into_iter().map(|version| (Tag::FailSafe, version)).collect();
                prop_assert_eq!(known.fail_safe(), Some(second));
            }
        }
    }
}
