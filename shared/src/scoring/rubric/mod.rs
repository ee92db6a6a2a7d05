//! Computes the value of an asset's dimension from answers, so that reviewers never enter a number.
//!
//! [`tables::rubric`](crate::scoring::tables::rubric) holds the questions, the permitted answers and their points; [`evaluate`]
//! combines the answers of one dimension at one instant; [`supply_limit`] limits the score of an asset whose supply one key or one
//! message can raise; [`AnswerSet`] is what a second reviewer signs. The functions are pure, use integers only and accept a past instant.
//!
//! # Rules
//!
//! R1 to R10 are the rule numbers of the questionnaire's draft.
//!
//! - **R1** The value is Σ weight · points / 100 over all questions, rounded half to even to two decimals.
//! - **R2** A question without evidence counts 2.50.
//! - **R3** If questions with more than 40 of the 100 weight have no evidence, there is no value, unless the computed value is below 2.50.
//! - **R4** The lowest ceiling of the answers limits the rounded value.
//! - **R5** If only one venue showed a price, the price of the deepest other venue is used for the answer.
//! - **R6** Reviewers give the weakest answer that the source supports. The answers of the newest day count; of several answers, the
//!   weakest counts. The note of a "nothing found" answer must name the place of the search ([`AnswerOption::needs_search`]).
//! - **R7** One fact answers one question.
//! - **R8** Every answer has source title, address, kind and date, and ages by the cadence of its question. The answers are sorted
//!   freshest first; the refresh date is the date of the answer at which half of the answered weight is reached.
//! - **R9** A question without meaning for the asset has an explicit answer; weights never change.
//! - **R10** A dispute is another answer with its own source; all other answers stay.
//!
//! # Changes to the draft
//!
//! **R3, when a value is missing.** The draft withheld a value unless it was below 2.50 with 10.00 for every unknown question. A withheld
//! value counts 2.50, so a dimension at 1.80 rose to 2.50 when one more answer aged or was withdrawn, and a dimension with a stopped
//! redemption (ceiling 0.00) counted 2.50 when two questions were left unanswered. Now the value *as computed*, after ceilings, decides:
//! below 2.50 it is published, even if most questions are unknown. Missing evidence therefore never raises the points of a dimension. A
//! ceiling of 2.50 or more needs no exception, because a withheld value counts 2.50 and cannot exceed the ceiling.
//!
//! **R4, order.** The draft did not say whether a ceiling limits the exact sum or the rounded value. Ceilings have two decimals, so both
//! orders give the same result; the ceiling is applied to the rounded value.
//!
//! **R2 and R8, what an aged answer counts.** The draft said that answers age, but not what an aged answer counts. Up to four cadences,
//! the age at which methodology 2.6 calls evidence expired, an answer counts in full, and the asset's staleness overlays show its age. An
//! older answer has aged: it counts its points or 4.90, whichever is less, like the score of an asset with expired evidence, and its ceiling
//! stays. It is still evidence, so the dimension keeps its value; a dimension in which every answer has aged is at most 4.90. Ageing
//! therefore never raises a value. Only a newer answer replaces an aged one.
//!
//! **Withdrawal.** A withdrawn answer does not count while another one remains, so that a mistake or a contradiction can be resolved. If
//! none remains, the question is unknown. A withdrawn answer that is worth less than 2.50 then keeps its points and its ceiling, because
//! methodology 2.3 does not allow a value below 2.50 to be replaced by no value. Only an answer with a source can raise a value.
//!
//! **R6, equal age.** Sources state days, not instants, so "equal" means the same UTC day. All answers of the day are kept, the weakest
//! counts, and the part is `contradicted`. A better source with an older date does not take precedence (R10). A reviewer who trusts an
//! older source reads the source again and gives a new answer with the new date. Answers of one day age together, from the date of the
//! latest one, so that the value does not rise when the weaker answer ages first.
//!
//! **R8, "oldest date".** Dates of questions with different cadences cannot be compared: a price of ten days ago is staler than terms of
//! last year. The order is therefore by age in cadences. The result contains a date and a cadence. When the asset's freshness is
//! computed, that cadence replaces the default of 7 or 31 days. Aged and withdrawn answers stay in the answered weight; otherwise the
//! evidence would seem fresher as soon as its oldest part expired.
//!
//! **R7, one fact one question.** The draft assigned losses to security only, but three other questions asked for losses too, and both
//! `upgrade` and `delay` asked for the delay. Now a loss belongs to the question about its cause (own code or keys, custody, bridge,
//! operators); `upgrade` asks whether a delay is enforced, and `delay` how long it is. A depeg counts in addition to the loss, because
//! both happened.
//!
//! **Bounds.** The draft had no bounds. [`DimensionOutcome::lowest`] and [`DimensionOutcome::highest`] cover every possible answer to the
//! questions without evidence, with its ceiling, and the case that a question stays open. The bounds 0 and 10 would be too wide: some
//! questions have no answer worth 0, and one question has no answer worth 10. If the worst answer of a question is worth more than 2.50,
//! the lower bound counts 2.50, because the question may stay open.
//!
//! **Mint control and verifiers.** The draft weighed them in `bridge_mechanism` alone, which two categories have. A synthetic dollar that
//! one key could mint and a restaking token behind a bridge with one verifier would have been Core before their losses. Now
//! `mint_control` and the new question `verifier` are asked of every category whose supply can be raised, and limit the asset's score:
//! 4.00 for one key or one verifier, like the flag `eoa_mint_authority`; 7.90 for a multisig of at most three signatures, for a multisig
//! that can appoint another minter at once, or for two verifiers. An unknown answer also limits the score to 7.90: the asset cannot be
//! Prime, but a missing answer does not indicate a risk. The weights in `bridge_mechanism` are 30, 20, 15, 15, 20.
//!
//! **Kinds of source.** For control questions the draft allowed only a reading of the chain, and where it allowed a document it did not
//! allow a repository; under these rules 506 of its own 899 answers were void. A repository is now allowed wherever a document is (it is
//! a text with a revision), and both are allowed for control questions, because published reviews quote readings of the chain. A reading
//! of the chain does not outrank a document; it replaces a document only if its date is newer.
//!
//! **Answers that the service reads.** The service reads the powers over a token from its contracts and gives only answers that the reading
//! proves. They are ordinary answers of the kind `chain`, so the newest day decides between them and a document. A reading gives no answer
//! where a document's answer says the same thing with more knowledge, and none that is better only because a power was not found. A reviewer
//! does not sign them: whoever doubts them repeats the calls.
//!
//! **Points.** In the draft an obligor without a rating counted 5.00 and one with a low rating 4.00, so giving up a low rating raised the
//! points. Now both count 4.00.

mod answer;
mod asset;
mod outcome;
mod protocol;
mod protocol_part;
mod question;
mod refresh;
mod set;
mod supply;

pub use answer::{Answer, Ignored, IgnoredReason};
pub use asset::{AssetEvidence, DimensionBasis, DimensionEvidence, EnteredNumbers};
pub use outcome::{AppliedCeiling, DimensionOutcome, NoValue, Part, PartState};
pub use protocol::{
    Audit, Audits, Dated, ProtocolAnswer, ProtocolFacts, ProtocolInput, ProtocolQuestion, ProtocolValue,
};
pub use protocol_part::ProtocolPart;
pub use question::{AnswerOption, Hundredths, Question, Questionnaire, SourceKind};
pub use refresh::{Refresh, asset_refresh};
pub use set::{AnswerSet, Attested, SourcedAnswer, status};
pub use supply::{LimitPart, SupplyLimit, supply_limit};

use super::asset::Dimension;
use super::number::rhe;
use super::tables::rubric as tables;
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// The value of one dimension at `now`, from the answers about it.
///
/// `answers` may be in any order. Invalid answers are listed in [`DimensionOutcome::ignored`] with the reason.
/// An answer or withdrawal dated after `now` does not count, so a past instant gives the value as it was known then.
pub fn evaluate<'a>(dimension: Dimension, answers: &[Answer<'a>], now: Timestamp) -> DimensionOutcome<'a> {
    let questionnaire = tables::questionnaire(dimension);
    let (heard, ignored) = answer::sort_out(questionnaire, answers, now);
    let parts: Vec<Part> =
        questionnaire.questions.iter().map(|question| answer::settle(question, &heard, now)).collect();
    let weight_known = parts.iter().filter(|part| part.state.has_evidence()).map(|part| part.question.weight).sum();
    let weight_unknown = 100_u8.saturating_sub(weight_known);
    let uncapped = value(parts.iter().map(|part| (part, part.points, None)));
    let computed = value(parts.iter().map(|part| (part, part.points, part.ceiling)));
    let ceiling = parts.iter().filter_map(Part::applied_ceiling).min_by_key(|ceiling| ceiling.at);
    let is_withheld = weight_unknown > tables::MAX_UNKNOWN_WEIGHT && computed >= tables::UNKNOWN_POINTS;
    let why = if weight_known == 0 { NoValue::NothingKnown } else { NoValue::TooLittleKnown };
    DimensionOutcome {
        dimension,
        value: if is_withheld { Err(why) } else { Ok(computed) },
        computed,
        weight_known,
        weight_unknown,
        ceiling: ceiling.filter(|ceiling| ceiling.at < uncapped),
        lowest: value(parts.iter().map(|part| (part, part.lowest_points(), part.lowest_ceiling()))),
        highest: value(parts.iter().map(|part| (part, part.highest_points(), part.highest_ceiling()))),
        refresh: refresh::half_of(parts.iter().filter_map(|part| part.age(1)), now),
        parts,
        ignored,
    }
}

/// R1 and R4: the weighted sum, rounded half to even to hundredths, limited by the lowest ceiling.
fn value<'a>(parts: impl Iterator<Item = (&'a Part, Hundredths, Option<Hundredths>)>) -> Hundredths {
    let (mut sum, mut limit) = (0_u128, Hundredths::MAX);
    for (part, points, ceiling) in parts {
        sum += u128::from(part.question.weight) * u128::from(points.get());
        limit = limit.min(ceiling.unwrap_or(Hundredths::MAX));
    }
    Hundredths::saturating(rhe(sum, 100)).min(limit)
}
