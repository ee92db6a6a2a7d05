//! Promotion gates: what a record must have before anybody is shown it.
//!
//! A gate asks whether there is enough to go by, never what came out: a backtest that speaks against the scores passes the
//! same gate as one that speaks for them. What does not pass stays a draft, and the report on discrimination says so.
//!
//! A prediction's gate stands before it is written: only where somebody reads the price, so that it can be seen what becomes of
//! the vault, is there one. Afterwards nothing is picked out: a prediction that was missed stays as one that came true.

use super::discrimination::Discrimination;
use crate::scoring::named_enum;
use alloc::vec::Vec;

/// The fewest samples of a backtest.
pub const MIN_SAMPLES: u64 = 100;
/// The fewest samples that lost, and that did not.
pub const MIN_OF_EACH: u64 = 10;
/// The fewest vaults.
pub const MIN_VAULTS: u64 = 20;
/// The fewest vaults that lost, and the fewest groups of them: ten falls of one price, or ten vaults of one incident, are one case.
pub const MIN_LOSS_GROUPS: u64 = 10;

named_enum! {
    /// What a record lacks.
    pub enum Unmet {
        TooFewSamples = "too_few_samples",
        TooFewLosses = "too_few_losses",
        /// Too few vaults lost, or all of them with each other.
        TooFewLossGroups = "too_few_loss_groups",
        TooFewWithoutLoss = "too_few_without_loss",
        TooFewVaults = "too_few_vaults",
        /// Everything has one value: there is nothing to tell apart.
        OneValueOnly = "one_value_only",
        /// There was nothing to check it against.
        NothingChecked = "nothing_checked",
        /// What it says does not hold everywhere.
        Violated = "violated",
        /// The backtest that it leans on is no public one, or does not show it.
        NotShown = "not_shown",
    }
}

/// What a backtest lacks; empty is promoted.
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

/// What a claim about rows lacks: something to check, and no exception.
pub fn claim(checked: u64, violations: u64) -> Vec<Unmet> {
    lacking([(checked == 0, Unmet::NothingChecked), (violations > 0, Unmet::Violated)])
}

/// What a figure or a report about rows lacks.
pub fn figure(counted: u64) -> Vec<Unmet> {
    lacking([(counted == 0, Unmet::NothingChecked)])
}

fn lacking<const N: usize>(conditions: [(bool, Unmet); N]) -> Vec<Unmet> {
    conditions.into_iter().filter(|(lacks, _)| *lacks).map(|(_, unmet)| unmet).collect()
}

#[cfg(test)]
mod tests {
    use super::super::discrimination::Sample;
    use super::*;
    use crate::scoring::MilliPoints;
    use alloc::format;
    use alloc::string::String;

    /// So many vaults of one sample each, of which the first `losses` lost; values as `value` says.
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
    fn each_lack_is_named() {
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
    fn ten_falls_of_one_price_or_ten_vaults_of_one_incident_are_one_case() {
        let enough = found(200, 20, |number| number as i64);
        for few in
            [Discrimination { loss_vaults: 9, ..enough.clone() }, Discrimination { loss_groups: 9, ..enough.clone() }]
        {
            assert_eq!(backtest(&few), [Unmet::TooFewLossGroups]);
        }
        assert_eq!(backtest(&enough), []);
    }

    #[test]
    fn a_result_against_the_scores_passes_as_one_for_them_does() {
        let [for_them, against] = [1, -1].map(|sign| found(200, 20, move |number| 5000 + sign * number as i64));
        assert_eq!((backtest(&for_them), backtest(&against)), (Vec::new(), Vec::new()));
        assert_ne!(for_them.verdict(), against.verdict());
    }
}
