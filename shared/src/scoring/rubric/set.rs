//! The set of answers about one subject that a second reviewer signs, and the review status that follows from the signatures.

use super::Answer;
use crate::model::content_hash::ContentHash;
use crate::scoring::asset::{Dimension, ReviewStatus};
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::scoring::tables::rubric::RUBRIC_VERSION;
use crate::wire::time::{Micros, Timestamp};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Purpose that the hashed text states, so that a hash of another kind of text cannot be used in its place.
const PURPOSE: &str = "rds.asset_answers";
/// Version of the canonical text's layout.
const LAYOUT: i64 = 1;

/// An answer with its source, so that a reader can check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcedAnswer<'a> {
    /// The dimension to which the question belongs.
    pub dimension: Dimension,
    /// Question, answer, date, kind of source, and time of the withdrawal.
    pub answer: Answer<'a>,
    /// Title of the source.
    pub source_title: &'a str,
    /// Address of the source.
    pub source_url: &'a str,
    /// The reviewer's note, or empty. If a search found nothing, the note names the place that was searched.
    pub note: &'a str,
}

impl Canonicalize for SourcedAnswer<'_> {
    fn canonical(&self) -> Canonical {
        let instant = |at: Timestamp| Canonical::from(Micros(at).to_string().as_str());
        Canonical::object([
            ("answer", self.answer.answer.into()),
            ("dimension", self.dimension.as_str().into()),
            ("note", self.note.into()),
            ("observed_at", instant(self.answer.observed_at)),
            ("question", self.answer.question.into()),
            ("source_kind", self.answer.source_kind.as_str().into()),
            ("source_title", self.source_title.into()),
            ("source_url", self.source_url.into()),
            ("withdrawn_at", self.answer.withdrawn_at.map_or(Canonical::Null, instant)),
        ])
    }
}

/// All answers about one subject under the present questionnaire. Order and repetition do not matter.
///
/// The canonical text (RFC 8785: sorted keys, integers and strings only) contains the questionnaire's version, because another version
/// may give the same answers other points. The text does not depend on the current time, so a signature stays valid when answers age.
#[derive(Clone, Copy, Debug)]
pub struct AnswerSet<'a> {
    /// Id of the asset.
    pub subject: &'a str,
    /// The answers, also the withdrawn ones.
    pub answers: &'a [SourcedAnswer<'a>],
}

impl Canonicalize for AnswerSet<'_> {
    fn canonical(&self) -> Canonical {
        // Sorting by canonical text makes the result independent of the given order and makes duplicates adjacent.
        let mut answers: Vec<(String, Canonical)> =
            self.answers.iter().map(|it| (it.canonical().to_string(), it.canonical())).collect();
        answers.sort_by(|a, b| a.0.cmp(&b.0));
        answers.dedup_by(|a, b| a.0 == b.0);
        Canonical::object([
            ("answers", Canonical::list(answers.into_iter().map(|(_, answer)| answer))),
            ("purpose", PURPOSE.into()),
            ("rubric_version", RUBRIC_VERSION.into()),
            ("subject", self.subject.into()),
            ("v", LAYOUT.into()),
        ])
    }
}

impl AnswerSet<'_> {
    /// The SHA-256 of the canonical text, which an attestation covers.
    pub fn content_hash(&self) -> ContentHash {
        ContentHash::of(&self.canonical())
    }
}

/// A reviewer's valid signature on a set of answers. The code that creates this value must have verified the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attested<'a> {
    /// The reviewer who signed.
    pub reviewer_id: &'a str,
    /// Content hash of the set that was signed.
    pub answers: ContentHash,
}

/// The status of a subject with this set of answers.
///
/// `reviewed` if a reviewer who gave none of the answers signed exactly this set, else `provisional`; `unreviewed` without
/// answers. `given_by` lists the reviewers who gave the answers. Any change of the set ends `reviewed` until it is signed again.
pub fn status(set: &AnswerSet<'_>, given_by: &[&str], attested: &[Attested<'_>]) -> ReviewStatus {
    if set.answers.is_empty() {
        return ReviewStatus::Unreviewed;
    }
    let hash = set.content_hash();
    let seconded = |it: &Attested<'_>| it.answers == hash && !given_by.contains(&it.reviewer_id);
    if attested.iter().any(seconded) { ReviewStatus::Reviewed } else { ReviewStatus::Provisional }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::rubric::SourceKind;
    use std::collections::BTreeSet;

    fn answer() -> SourcedAnswer<'static> {
        SourcedAnswer {
            dimension: Dimension::Redeemability,
            answer: Answer {
                question: "who",
                answer: "any_onchain",
                observed_at: Timestamp::from_seconds(0),
                source_kind: SourceKind::Chain,
                withdrawn_at: None,
            },
            source_title: "Contract",
            source_url: "https://example.org/a",
            note: "",
        }
    }

    fn hash(answers: &[SourcedAnswer<'_>]) -> ContentHash {
        AnswerSet { subject: "1:0x01", answers }.content_hash()
    }

    #[test]
    fn the_signed_text_is_fixed_byte_for_byte() {
        let text = AnswerSet { subject: "1:0x01", answers: &[answer()] }.canonical().to_string();
        assert_eq!(
            text,
            r#"{"answers":[{"answer":"any_onchain","dimension":"redeemability","note":"","observed_at":"1970-01-01T00:00:00.000000Z","question":"who","source_kind":"chain","source_title":"Contract","source_url":"https://example.org/a","withdrawn_at":null}],"purpose":"rds.asset_answers","rubric_version":"1.0.0","subject":"1:0x01","v":1}"#
        );
    }

    #[test]
    fn order_and_repetition_do_not_change_the_hash_and_every_other_change_does() {
        let (first, base) = (answer(), answer().answer);
        let second = SourcedAnswer { answer: Answer { question: "price", answer: "par", ..base }, ..first };
        let at = Timestamp::from_micros(1);
        let changed = [
            SourcedAnswer { dimension: Dimension::Liquidity, ..first },
            SourcedAnswer { source_title: "contract", ..first },
            SourcedAnswer { source_url: "https://example.org/b", ..first },
            SourcedAnswer { note: " ", ..first },
            SourcedAnswer { answer: Answer { question: "whom", ..base }, ..first },
            SourcedAnswer { answer: Answer { answer: "institutions", ..base }, ..first },
            SourcedAnswer { answer: Answer { observed_at: at, ..base }, ..first },
            SourcedAnswer { answer: Answer { source_kind: SourceKind::Document, ..base }, ..first },
            SourcedAnswer { answer: Answer { withdrawn_at: Some(at), ..base }, ..first },
        ];
        assert_eq!(hash(&[first, second]), hash(&[second, first, first]));
        let mut hashes: BTreeSet<_> = changed.iter().map(|it| hash(&[*it, second])).collect();
        hashes.extend([hash(&[first, second]), hash(&[first]), hash(&[second]), hash(&[])]);
        hashes.insert(AnswerSet { subject: "2:0x01", answers: &[first, second] }.content_hash());
        assert_eq!(hashes.len(), changed.len() + 5);
    }

    #[test]
    fn only_a_second_reviewers_signature_on_the_same_set_makes_it_reviewed() {
        let answers = [answer()];
        let set = AnswerSet { subject: "1:0x01", answers: &answers };
        let signed = |reviewer_id, answers| Attested { reviewer_id, answers };
        let (same, other) = (set.content_hash(), hash(&[]));
        let of = |attested: &[Attested<'_>]| status(&set, &["author", "helper"], attested).as_str();
        assert_eq!(of(&[]), "provisional");
        assert_eq!(of(&[signed("author", same), signed("helper", same)]), "provisional");
        assert_eq!(of(&[signed("second", other)]), "provisional");
        assert_eq!(of(&[signed("author", same), signed("second", same)]), "reviewed");
        let none = AnswerSet { subject: "1:0x01", answers: &[] };
        assert_eq!(status(&none, &[], &[signed("second", other)]).as_str(), "unreviewed");
    }
}
