//! The questionnaire: the questions that determine the value of an asset's dimension, and the points of each answer.
//!
//! An asset is asked the questions of the dimensions that [`weights`](super::weights) lists for its category. The rules that combine the
//! answers are in [`scoring::rubric`](crate::scoring::rubric), with the reasons for them.

mod backing;
mod control;
mod credit;
mod exit;
mod operation;
mod price;
mod protocol;

pub use protocol::{PROTOCOL_QUESTIONS, protocol_question};

use crate::scoring::asset::{AssetCategory, AttestationCadence, Dimension};
use crate::scoring::rubric::SourceKind::{self, Chain, Dataset, Document, Repository};
use crate::scoring::rubric::{AnswerOption, Hundredths, Question, Questionnaire};

/// Version of the questions, answers and points. An ingested answer of another version is refused.
pub const RUBRIC_VERSION: &str = "1.0.0";
/// Points of a question without evidence: 2.50, like a dimension without evidence.
pub const UNKNOWN_POINTS: Hundredths = Hundredths::saturating(250);
/// A dimension has no value when questions of more than this weight (in percent) are without evidence, unless the value computed from
/// all questions is below [`UNKNOWN_POINTS`].
pub const MAX_UNKNOWN_WEIGHT: u8 = 40;
/// An answer older than this many cadences of its question has aged and counts at most [`AGED_POINTS`]. Freshness is `expired` from the same
/// age on.
pub const EXPIRES_AFTER_CADENCES: i64 = 4;
/// Points of an aged answer are at most 4.90, like the score of an asset with expired evidence.
pub const AGED_POINTS: Hundredths = Hundredths::saturating(490);
/// Upper bound of an asset's score while it is unknown who can raise the supply: 7.90, below Prime, like the cap of a provisional review.
pub const UNKNOWN_SUPPLY_CEILING: Hundredths = Hundredths::saturating(790);

/// All questionnaires, in the order of [`Dimension::ALL`].
pub const QUESTIONNAIRES: [&Questionnaire; 16] = [
    &price::PEG_STABILITY,
    &backing::ISSUER_CUSTODY,
    &exit::REDEEMABILITY,
    &backing::RESERVE_TRANSPARENCY,
    &control::GOVERNANCE_CONTROLS,
    &operation::PROTOCOL_SECURITY,
    &operation::OPERATOR_QUALITY,
    &control::BRIDGE_MECHANISM,
    &control::DEPENDENCY_DEPTH,
    &price::LIQUIDITY,
    &price::VOLATILITY,
    &credit::CREDIT_QUALITY,
    &credit::DEFAULT_RATE,
    &credit::RECOVERY_RATE,
    &credit::SUBADVISOR_CONCENTRATION,
    &exit::REDEMPTION_TERMS,
];

/// The questions of a dimension.
pub const fn questionnaire(dimension: Dimension) -> &'static Questionnaire {
    match dimension {
        Dimension::PegStability => &price::PEG_STABILITY,
        Dimension::IssuerCustody => &backing::ISSUER_CUSTODY,
        Dimension::Redeemability => &exit::REDEEMABILITY,
        Dimension::ReserveTransparency => &backing::RESERVE_TRANSPARENCY,
        Dimension::GovernanceControls => &control::GOVERNANCE_CONTROLS,
        Dimension::ProtocolSecurity => &operation::PROTOCOL_SECURITY,
        Dimension::OperatorQuality => &operation::OPERATOR_QUALITY,
        Dimension::BridgeMechanism => &control::BRIDGE_MECHANISM,
        Dimension::DependencyDepth => &control::DEPENDENCY_DEPTH,
        Dimension::Liquidity => &price::LIQUIDITY,
        Dimension::Volatility => &price::VOLATILITY,
        Dimension::CreditQuality => &credit::CREDIT_QUALITY,
        Dimension::DefaultRate => &credit::DEFAULT_RATE,
        Dimension::RecoveryRate => &credit::RECOVERY_RATE,
        Dimension::SubadvisorConcentration => &credit::SUBADVISOR_CONCENTRATION,
        Dimension::RedemptionTerms => &exit::REDEMPTION_TERMS,
    }
}

/// Whether a key or a cross-chain message can raise the supply of assets of this category.
///
/// True of every scored category except `native`, because only a chain's consensus issues native units. For a token of another category
/// with a fixed supply, the answers state that there is no mint.
pub const fn supply_can_be_raised(category: AssetCategory) -> bool {
    !matches!(category, AssetCategory::Native | AssetCategory::Unreviewed)
}

const TEXT: &[SourceKind] = &[Document, Repository];
const TEXT_DATA: &[SourceKind] = &[Document, Repository, Dataset];
const TEXT_CHAIN: &[SourceKind] = &[Document, Repository, Chain];
const DATA_CHAIN: &[SourceKind] = &[Dataset, Chain];
const EVERY: &[SourceKind] = SourceKind::ALL;

/// A permitted answer worth `points` hundredths.
const fn is(id: &'static str, points: u16, text: &'static str) -> AnswerOption {
    AnswerOption::new(id, points, text)
}

/// A question without weight, text and reading instructions; the caller sets them by struct update.
const fn question(
    id: &'static str,
    evidence: &'static [SourceKind],
    cadence: AttestationCadence,
    answers: &'static [AnswerOption],
) -> Question {
    Question { id, weight: 0, text: "", evidence, cadence, how_to_read: "", limits_supply: false, answers }
}

#[cfg(test)]
mod tests;
