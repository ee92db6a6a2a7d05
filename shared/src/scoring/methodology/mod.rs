//! The rules as the document that `/v1/methodology` serves, so that clients can recompute a published score.
//!
//! This module defines no numbers. Every value is read from the table that the evaluator uses: [`tables`](super::tables),
//! [`decay`](super::decay), [`rules::tiers`](crate::rules::tiers) and [`rules::dwell`](crate::rules::dwell). Points are decimals (4.9);
//! shares, rates and weights are fractions; dollars and days are whole numbers.

mod asset;
mod baskets;
mod caps;
mod checks;
mod publication;
mod rubric;
mod steps;
mod vault;

pub use asset::AssetRules;
pub use baskets::BasketRules;
pub use caps::CapRule;
pub use checks::{CheckRules, HighConfidenceRules};
pub use publication::{PublicationRules, RunRules};
pub use rubric::{AnswerRule, DimensionQuestions, InputQuestion, QuestionRule, RubricRules};
pub use vault::VaultRules;

use super::decay;
use super::number::{Decimal, MilliPoints};
use crate::rules::tiers::Tier;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Serialize, Serializer};

/// Version of the rules. Every score and every point of a score's history states it.
pub const METHODOLOGY_VERSION: &str = "rds-1.1.0";

/// Everything a score depends on besides its inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Methodology {
    /// Version of these rules, as stated by every score computed under them.
    pub methodology_version: &'static str,
    /// How numbers are represented and rounded.
    pub numbers: NumberRules,
    /// The tiers, best first.
    pub tiers: Vec<TierRule>,
    /// The questionnaire: how answers give an asset's dimensions and a protocol's inputs their values.
    pub rubric: RubricRules,
    /// The rules of the asset score.
    pub asset: AssetRules,
    /// The rules of the vault score.
    pub vault: VaultRules,
    /// When a computed score becomes the published score.
    pub publication: PublicationRules,
    /// When a whole score run is held back.
    pub run: RunRules,
    /// The rules common to all baskets; each basket's own rules are served with the basket.
    pub baskets: BasketRules,
    /// How a portfolio's exposures are checked against its limits.
    pub check: CheckRules,
    /// Which vaults are listed with high confidence.
    pub high_confidence: HighConfidenceRules,
    /// Known weaknesses of these rules, one per entry.
    pub known_weaknesses: &'static [&'static str],
}

impl Methodology {
    /// The rules in force.
    pub fn current() -> Self {
        Methodology {
            methodology_version: METHODOLOGY_VERSION,
            numbers: NumberRules::current(),
            tiers: Tier::ALL.iter().rev().map(|tier| TierRule { tier: *tier, from: tier.floor() }).collect(),
            rubric: RubricRules::current(),
            asset: AssetRules::current(),
            vault: VaultRules::current(),
            publication: PublicationRules::current(),
            run: RunRules::current(),
            baskets: BasketRules::current(),
            check: CheckRules::current(),
            high_confidence: HighConfidenceRules::current(),
            known_weaknesses: steps::KNOWN_WEAKNESSES,
        }
    }
}

/// How numbers are represented and rounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NumberRules {
    /// The rules, one per entry.
    pub steps: &'static [&'static str],
    /// The tables of the three exponential decays.
    pub decay: DecayRules,
}

/// The exponential decays, as multiples of 2^-63. Values are decimal strings, because they do not fit a JSON number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecayRules {
    /// The representation of 1, which is 2^63.
    pub one: String,
    /// Beyond this age in days every decay is 0.
    pub last_day: u32,
    /// e^(−d/365) at d = 2^k days, k from 0.
    pub maturity: Vec<String>,
    /// e^(−d/180) at d = 2^k days, k from 0.
    pub seasoning: Vec<String>,
    /// 2^(−d/365) at d = 2^k days, k from 0.
    pub incident: Vec<String>,
}

impl NumberRules {
    fn current() -> Self {
        let texts = |table: &decay::Decay| table.powers().iter().map(ToString::to_string).collect();
        NumberRules {
            steps: steps::NUMBERS,
            decay: DecayRules {
                one: decay::ONE.to_string(),
                last_day: decay::LAST_DAY,
                maturity: texts(&decay::MATURITY),
                seasoning: texts(&decay::SEASONING),
                incident: texts(&decay::INCIDENT),
            },
        }
    }
}

/// A tier and its lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TierRule {
    /// Tier that begins at `from`.
    pub tier: Tier,
    /// The lowest score of the tier.
    pub from: MilliPoints,
}

/// A table keyed by name; serialises as an object in the table's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByName<V>(pub Vec<(&'static str, V)>);

impl<V: Serialize> Serialize for ByName<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<V> ByName<V> {
    /// Pairs names with values given in the same order.
    fn zip(names: &[&'static str], values: impl IntoIterator<Item = V>) -> Self {
        ByName(names.iter().copied().zip(values).collect())
    }
}

/// `weight` percent as a fraction.
fn percent(weight: impl Into<i128>) -> Decimal {
    Decimal { units: i64::try_from(weight.into()).unwrap_or_default(), scale: 2 }
}

/// `bp` basis points as a fraction.
fn basis_points(bp: u32) -> Decimal {
    Decimal { units: bp.into(), scale: 4 }
}

/// 1 / `parts`, rounded down to six decimals.
fn one_in(parts: u128) -> Decimal {
    Decimal { units: 1_000_000_i64.checked_div(i64::try_from(parts).unwrap_or(i64::MAX)).unwrap_or_default(), scale: 6 }
}

/// `parts` / 10 as a fraction.
fn tenths(parts: u128) -> Decimal {
    Decimal { units: i64::try_from(parts).unwrap_or_default(), scale: 1 }
}

/// Absolute value of the milli-points that a rule adds or subtracts; the name of the published field states the direction.
fn points(milli: i32) -> MilliPoints {
    MilliPoints::saturating(milli.unsigned_abs().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::tables;
    use crate::scoring::vault::CapId;

    fn published() -> serde_json::Value {
        serde_json::to_value(Methodology::current()).unwrap()
    }

    #[test]
    fn every_published_table_of_weights_sums_to_one() {
        let document = published();
        let sum = |weights: &serde_json::Value| -> f64 {
            weights.as_object().unwrap().values().filter_map(|it| it.as_f64()).sum()
        };
        for path in ["/vault/weights", "/vault/platform/weights", "/vault/control/weights", "/vault/history/weights"] {
            assert!((sum(document.pointer(path).unwrap()) - 1.0).abs() < 1e-9, "{path}");
        }
        let categories = document["asset"]["categories"].as_object().unwrap();
        assert_eq!(categories.len(), 16);
        for (name, category) in categories {
            let total = sum(&category["weights"]);
            assert!((total - f64::from(u8::from(name != "unreviewed"))).abs() < 1e-9, "{name}: {total}");
        }
    }

    #[test]
    fn every_cap_is_published_once_and_in_table_order() {
        let ids: Vec<String> = caps::rules().iter().map(|rule| rule.id.to_string()).collect();
        assert_eq!(ids, CapId::ALL.iter().map(ToString::to_string).collect::<Vec<_>>());
    }

    #[test]
    fn every_computation_lists_its_steps_and_the_known_weaknesses_are_named() {
        let document = published();
        for path in ["/numbers", "/asset", "/vault", "/publication", "/baskets", "/check"] {
            assert!(document.pointer(path).unwrap()["steps"].as_array().unwrap().len() >= 3, "{path}");
        }
        let weaknesses = document["known_weaknesses"].to_string();
        for part in
            ["judgement", "worst_from_share", "unknown:", "asset_drag", "published incidents", "price per share"]
        {
            assert!(weaknesses.contains(part), "{part}");
        }
    }

    #[test]
    fn fractions_and_points_are_published_in_their_documented_units() {
        let document = published();
        for (path, value) in [
            ("/vault/asset_vector/worst_from_share", 0.05),
            ("/vault/asset_vector/lltv_haircuts/2/up_to", 0.915),
            ("/vault/platform/dependency/factors/Core", 0.92),
            ("/vault/history/drawdown/takes_all_at", 0.025),
            ("/asset/max_missing_weight", 0.4),
            ("/publication/score_step", 0.05),
            ("/baskets/prime_pivot", 7.0),
            ("/baskets/mixed_pivot", 5.0),
            ("/baskets/score_down", 0.3),
            ("/baskets/score_up", 1.0),
            ("/check/sure_from_confidence", 0.8),
            ("/check/near_from_share", 0.9),
            ("/high_confidence/total_score_from", 7.5),
            ("/high_confidence/apr_net_from", 0.03),
            ("/high_confidence/apr_net_to", 0.1),
        ] {
            assert_eq!(document.pointer(path).and_then(serde_json::Value::as_f64), Some(value), "{path}");
        }
        assert_eq!(document["numbers"]["decay"]["one"], "9223372036854775808");
        assert!(document["baskets"]["calendar"].as_str().unwrap().starts_with("16:00 UTC"));
        assert_eq!(tables::STALENESS_FACTOR, (97, 100));
    }
}
