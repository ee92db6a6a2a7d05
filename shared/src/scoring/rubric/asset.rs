//! The inputs of an asset's score from its review and its answers.

use super::{Answer, DimensionOutcome, Refresh, SupplyLimit, asset_refresh, evaluate, supply_limit};
use crate::model::evidence::AssetBasis;
use crate::scoring::asset::{self, AssetCategory, AssetInput, Dimension, Dimensions};
use crate::scoring::{MilliPoints, Ppm, ScoreRange, named_enum, tables};
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

named_enum! {
    /// Where the value of an asset's dimension comes from.
    pub enum DimensionBasis {
        /// It follows from answers.
        Answers = "answers",
        /// A reviewer entered a number, and the review's status `reviewed` is signed.
        SignedReview = "signed_review",
        /// A reviewer entered a number, without a signed status `reviewed`. Answers replace it.
        Review = "review",
        /// There is no value.
        None = "none",
    }
}

/// The numbers that a reviewer entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnteredNumbers {
    pub dimensions: Dimensions,
    /// Whether the review has the status `reviewed` and a valid signature.
    pub is_signed: bool,
}

/// One weighted dimension of an asset with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimensionEvidence<'a> {
    pub dimension: Dimension,
    /// Weight in the asset's category, in percent.
    pub weight: u8,
    pub basis: DimensionBasis,
    /// The value that counts; `None` counts 2.50.
    pub value: Option<MilliPoints>,
    /// What the answers say, also where the value is an entered number.
    pub outcome: DimensionOutcome<'a>,
}

impl DimensionEvidence<'_> {
    /// The range of the value: from answers that range over all answers to the open questions, otherwise the value alone.
    fn range(&self) -> (MilliPoints, MilliPoints) {
        match (self.basis, self.value) {
            (DimensionBasis::SignedReview | DimensionBasis::Review, Some(value)) => (value, value),
            _ => {
                // A withheld value counts 2.50, which may be outside the range of the value as computed.
                let counts = self.value.unwrap_or(tables::MISSING_EVIDENCE);
                let (lowest, highest) = (self.outcome.lowest.into(), self.outcome.highest.into());
                (counts.min(lowest), counts.max(highest))
            }
        }
    }

    /// Percent of the dimension's weight with evidence.
    fn coverage(&self) -> i64 {
        match self.basis {
            DimensionBasis::SignedReview | DimensionBasis::Review => 100,
            DimensionBasis::Answers | DimensionBasis::None => self.outcome.weight_known.into(),
        }
    }
}

/// The evidence of all weighted dimensions of an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetEvidence<'a> {
    /// In the order of the category's weights.
    pub dimensions: Vec<DimensionEvidence<'a>>,
    /// The limit that follows from who can raise the supply; `None` without answers, and for a supply that nobody can raise.
    pub supply_limit: Option<SupplyLimit>,
    /// The age of the answers; `None` if no weighted dimension has any.
    pub refresh: Option<Refresh>,
}

impl<'a> AssetEvidence<'a> {
    /// Combines entered numbers with the answers about an asset of the category at `now`.
    ///
    /// A number of a signed review counts. Otherwise the value follows from the answers, and an unsigned number counts only where the
    /// answers give no value.
    pub fn new(
        category: AssetCategory,
        entered: &EnteredNumbers,
        answers: &[(Dimension, Answer<'a>)],
        now: Timestamp,
    ) -> Self {
        let dimensions: Vec<_> = tables::weights(category)
            .iter()
            .map(|(dimension, weight)| {
                let outcome = evaluate(*dimension, &about(answers, *dimension), now);
                let (basis, value) = value(&outcome, entered.dimensions.get(*dimension), entered.is_signed);
                DimensionEvidence { dimension: *dimension, weight: *weight, basis, value, outcome }
            })
            .collect();
        let limit = || supply_limit(category, &about(answers, Dimension::BridgeMechanism), now);
        let outcomes: Vec<_> = dimensions.iter().map(|it| it.outcome.clone()).collect();
        AssetEvidence {
            supply_limit: if answers.is_empty() { None } else { limit() },
            refresh: asset_refresh(category, &outcomes, now),
            dimensions,
        }
    }

    /// The values that count.
    pub fn values(&self) -> Dimensions {
        self.dimensions.iter().filter_map(|it| Some((it.dimension, it.value?))).collect()
    }

    /// Where the values come from.
    pub fn basis(&self) -> AssetBasis {
        use DimensionBasis::{Answers, Review, SignedReview};
        match [Answers, SignedReview, Review].map(|basis| self.has(basis)) {
            [false, false, false] => AssetBasis::None,
            [true, false, false] => AssetBasis::Answers,
            [false, true, false] => AssetBasis::SignedReview,
            [false, false, true] => AssetBasis::Review,
            _ => AssetBasis::Mixed,
        }
    }

    /// Where the value of each weighted dimension comes from.
    pub fn bases(&self) -> Vec<(Dimension, DimensionBasis)> {
        self.dimensions.iter().map(|it| (it.dimension, it.basis)).collect()
    }

    /// Whether a value of the score was entered as a number.
    pub fn rests_on_numbers(&self) -> bool {
        self.has(DimensionBasis::SignedReview) || self.has(DimensionBasis::Review)
    }

    /// Whether a value of the score follows from answers.
    pub fn rests_on_answers(&self) -> bool {
        self.has(DimensionBasis::Answers)
    }

    fn has(&self, basis: DimensionBasis) -> bool {
        self.dimensions.iter().any(|it| it.basis == basis)
    }

    /// The greatest score that the supply limit permits. Open questions do not limit an asset whose values a signed review states.
    pub fn supply_ceiling(&self) -> Option<MilliPoints> {
        let limit = self.supply_limit.as_ref()?;
        let ceiling = if self.has(DimensionBasis::SignedReview) { limit.highest } else { limit.ceiling };
        Some(MilliPoints::from(ceiling)).filter(|ceiling| *ceiling < MilliPoints::MAX)
    }

    /// The range of the score of `input`, which was made from this evidence.
    pub fn range(&self, input: &AssetInput) -> ScoreRange {
        let limit = self.supply_limit.as_ref();
        let extreme = |bound: &dyn Fn(&DimensionEvidence<'_>) -> MilliPoints, ceiling: Option<MilliPoints>| {
            let dimensions = self.dimensions.iter().map(|it| (it.dimension, bound(it))).collect();
            asset::evaluate(&AssetInput { dimensions, supply_ceiling: ceiling, ..input.clone() }).score
        };
        let lowest = extreme(&|it| it.range().0, limit.map(|limit| limit.lowest.into()));
        let highest = extreme(&|it| it.range().1, limit.map(|limit| limit.highest.into()));
        let covered: i64 = self.dimensions.iter().map(|it| i64::from(it.weight) * it.coverage()).sum();
        ScoreRange {
            lowest: lowest.unwrap_or(MilliPoints::ZERO),
            highest: highest.unwrap_or(MilliPoints::MAX),
            coverage: Ppm(covered * 100),
        }
    }
}

fn about<'a>(answers: &[(Dimension, Answer<'a>)], dimension: Dimension) -> Vec<Answer<'a>> {
    answers.iter().filter(|(of, _)| *of == dimension).map(|(_, answer)| *answer).collect()
}

fn value(
    outcome: &DimensionOutcome<'_>,
    entered: Option<MilliPoints>,
    is_signed: bool,
) -> (DimensionBasis, Option<MilliPoints>) {
    match (entered, outcome.milli_points()) {
        (Some(number), _) if is_signed => (DimensionBasis::SignedReview, Some(number)),
        (_, Some(value)) => (DimensionBasis::Answers, Some(value)),
        (Some(number), None) => (DimensionBasis::Review, Some(number)),
        (None, None) => (DimensionBasis::None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::rubric::SourceKind;
    use AssetCategory::FiatBackedStablecoin;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_500_000);

    fn answer(dimension: Dimension, question: &'static str, answer: &'static str) -> (Dimension, Answer<'static>) {
        let source_kind = SourceKind::Document;
        (dimension, Answer { question, answer, observed_at: NOW, source_kind, withdrawn_at: None })
    }

    fn redeemable() -> Vec<(Dimension, Answer<'static>)> {
        [("who", "any_onchain"), ("settlement", "same_tx"), ("price", "par"), ("limits", "none")]
            .map(|(question, given)| answer(Dimension::Redeemability, question, given))
            .to_vec()
    }

    fn numbers(is_signed: bool) -> EnteredNumbers {
        let dimensions = [(Dimension::Redeemability, MilliPoints::saturating(4000))].into_iter().collect();
        EnteredNumbers { dimensions, is_signed }
    }

    fn of(entered: &EnteredNumbers, answers: &[(Dimension, Answer<'static>)]) -> (DimensionBasis, Option<i32>) {
        let evidence = AssetEvidence::new(FiatBackedStablecoin, entered, answers, NOW);
        let found = evidence.dimensions.iter().find(|it| it.dimension == Dimension::Redeemability).unwrap();
        (found.basis, found.value.map(MilliPoints::get))
    }

    #[test]
    fn answers_replace_an_unsigned_number_and_a_signed_number_stays() {
        let none = EnteredNumbers::default();
        assert_eq!(of(&none, &redeemable()), (DimensionBasis::Answers, Some(10_000)));
        assert_eq!(of(&numbers(false), &redeemable()), (DimensionBasis::Answers, Some(10_000)));
        assert_eq!(of(&numbers(true), &redeemable()), (DimensionBasis::SignedReview, Some(4000)));
        // One answer of four is too little for a value.
        assert_eq!(of(&numbers(false), &redeemable()[3..]), (DimensionBasis::Review, Some(4000)));
        assert_eq!(of(&none, &[]), (DimensionBasis::None, None));
    }

    #[test]
    fn the_range_is_wide_without_evidence_and_closes_with_it() {
        let input = |evidence: &AssetEvidence<'_>| AssetInput {
            supply_ceiling: evidence.supply_ceiling(),
            ..AssetInput::new(FiatBackedStablecoin, evidence.values())
        };
        let none = AssetEvidence::new(FiatBackedStablecoin, &EnteredNumbers::default(), &[], NOW);
        let range = none.range(&input(&none));
        assert_eq!(range.coverage, Ppm(0));
        assert!(range.lowest < MilliPoints::saturating(1_000) && range.highest > MilliPoints::saturating(9_500));
        let answers = redeemable();
        let some = AssetEvidence::new(FiatBackedStablecoin, &EnteredNumbers::default(), &answers, NOW);
        let closer = some.range(&input(&some));
        assert_eq!(closer.coverage, Ppm(200_000));
        assert!(closer.lowest > range.lowest && closer.highest <= range.highest);
        // Nobody knows who can mint.
        assert_eq!(some.supply_ceiling(), Some(MilliPoints::saturating(7_900)));
    }
}
