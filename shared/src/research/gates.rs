//! Promotion gates: the evidence a record needs before it is published.
//!
//! A gate checks whether there is enough evidence, never the result: a backtest that contradicts the scores passes the same gate as one
//! that supports them. A record that does not pass stays a draft; the discrimination report lists the requirements that a backtest does
//! not meet.
//!
//! Predictions are gated before they are recorded: a prediction is recorded only for a vault whose price is read, so that its outcome
//! can be observed. A recorded prediction is never removed, whatever its outcome.

use super::discrimination::Discrimination;
use crate::scoring::named_enum;
use alloc::vec::Vec;

/// Minimum number of samples of a backtest.
pub const MIN_SAMPLES: u64 = 100;
/// Minimum number of samples with a loss, and of samples without one.
pub const MIN_OF_EACH: u64 = 10;
/// Minimum number of distinct vaults among the samples.
pub const MIN_VAULTS: u64 = 20;
/// Minimum number of vaults with a loss, and of groups with a loss, because several losses of one vault or of one incident are not
/// independent.
pub const MIN_LOSS_GROUPS: u64 = 10;

named_enum! {
    /// A requirement for publication that a record does not meet.
    pub enum Unmet {
        /// Fewer than 100 samples.
        TooFewSamples = "too_few_samples",
        /// Fewer than 10 samples with a loss.
        TooFewLosses = "too_few_losses",
        /// Fewer than 10 vaults, or fewer than 10 independent groups of vaults, had a loss.
        TooFewLossGroups = "too_few_loss_groups",
        /// Fewer than 10 samples without a loss.
        TooFewWithoutLoss = "too_few_without_loss",
        /// Fewer than 20 vaults.
        TooFewVaults = "too_few_vaults",
        /// All samples have the same value, so values cannot discriminate.
        OneValueOnly = "one_value_only",
        /// There were no rows to check.
        NothingChecked = "nothing_checked",
        /// At least one row contradicts the claim.
        Violated = "violated",
        /// The backtest that the record refers to is not public, or does not show what the record claims.
        NotShown = "not_shown",
    }
}

/// The requirements that a backtest does not meet; it is published if there are none.
pub fn backtest(found: &Discrimination) -> Vec<Unmet> {
    let kept = found.samples.saturating_sub(found.losses);
    lacking([
        (found.samples < MIN_SAMPLES, Unmet::TooFewSamples),
        (found.losses < MIN_OF_EACH, Unmet::TooFewLosses),
        (found.loss_groups.min(found.loss_vaults) < MIN_LOSS_GROUPS, Unmet::TooFewLossGroups),
        (kept < MIN_OF_EACH, Unmet::TooFewWithoutLoss),
        (found.vaults < MIN_VAULTS, Unmet::TooFewVaults),
        (found.distinct_values < 2, Unmet::OneValueOnly),
    ])
}

/// The requirements that a claim about rows does not meet. A claim needs at least one checked row, and every row must satisfy it.
pub fn claim(checked: u64, violations: u64) -> Vec<Unmet> {
    lacking([(checked == 0, Unmet::NothingChecked), (violations > 0, Unmet::Violated)])
}

/// The requirements that a figure or a report about rows does not meet.
pub fn figure(counted: u64) -> Vec<Unmet> {
    lacking([(counted == 0, Unmet::NothingChecked)])
}

fn lacking<const N: usize>(conditions: [(bool, Unmet); N]) -> Vec<Unmet> {
    conditions.into_iter().filter(|(is_unmet, _)| *is_unmet).map(|(_, unmet)| unmet).collect()
}

#[cfg(test)]
mod tests {
    use super::super::discrimination::Sample;
    use super::*;
    use crate::scoring::MilliPoints;
    use alloc::format;
    use alloc::string::String;

    /// `vaults` vaults with one sample each, of which the first `losses` have a loss; `value` maps a vault's number to its value.
    fn found(vaults: usize, losses: usize, value: impl Fn(usize) -> i64) -> Discrimination {
        let names: Vec<String> = (0..vaults).map(|number| format!("v{number}")).collect();
        let samples: Vec<Sample<'_>> = names
            .iter()
            .enumerate()
            .map(|(number, name)| Sample {
                vault_id: name,
                group: name,
                value: MilliPoints::saturating(value(number)),
                lost: number < losses,
            })
            .collect();
        Discrimination::of(&samples)
    }

    #[test]
    fn every_unmet_requirement_is_named() {
        assert_eq!(backtest(&found(100, 10, |number| number as i64)), []);
        assert_eq!(
            backtest(&found(99, 9, |_| 4000)),
            [Unmet::TooFewSamples, Unmet::TooFewLosses, Unmet::TooFewLossGroups, Unmet::OneValueOnly]
        );
        assert_eq!(backtest(&found(100, 91, |number| number as i64)), [Unmet::TooFewWithoutLoss]);
        assert_eq!(backtest(&found(0, 0, |_| 0)).len(), 6);
        assert_eq!(
            (claim(3, 0), claim(3, 1), claim(0, 0)),
            (Vec::new(), [Unmet::Violated].into(), [Unmet::NothingChecked].into())
        );
    }

    #[test]
    fn ten_losses_of_one_vault_or_of_one_incident_are_one_case() {
        let enough = found(200, 20, |number| number as i64);
        for few in
            [Discrimination { loss_vaults: 9, ..enough.clone() }, Discrimination { loss_groups: 9, ..enough.clone() }]
        {
            assert_eq!(backtest(&few), [Unmet::TooFewLossGroups]);
        }
        assert_eq!(backtest(&enough), []);
    }

    #[test]
    fn the_gate_treats_results_that_confirm_or_contradict_the_scores_alike() {
        let [for_them, against] = [1, -1].map(|sign| found(200, 20, move |number| 5000 + sign * number as i64));
        assert_eq!((backtest(&for_them), backtest(&against)), (Vec::new(), Vec::new()));
        assert_ne!(for_them.verdict(), against.verdict());
    }
}
