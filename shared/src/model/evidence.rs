//! The evidence behind scores: answers with their sources, and the ranges of scores.

use alloc::{string::String, vec::Vec};
use serde::{Serialize, Serializer};

use super::content_hash::ContentHash;
use crate::scoring::asset::Dimension;
use crate::scoring::provenance::ChainEvidence;
use crate::scoring::rubric::{PartState, ProtocolInput, ProtocolValue, SourceKind};
use crate::scoring::vault::ExposureRule;
use crate::scoring::{MilliPoints, Ppm, ScoreBasis, ScoreRange, named_enum};
use crate::wire::time::Timestamp;

/// What a vault's score rests on, and how far evidence could still move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoreEvidence {
    /// What the score rests on.
    pub score_basis: ScoreBasis,
    /// Part of the score's weight whose inputs are known, as a fraction from 0 to 1.
    pub score_coverage: Ppm,
    /// Lowest score that is possible given what is unknown, 0 to 10; null before the first score run.
    pub lowest_score: Option<MilliPoints>,
    /// Highest score that is possible given what is unknown, 0 to 10; null before the first score run.
    pub highest_score: Option<MilliPoints>,
}

impl ScoreEvidence {
    /// The evidence of a vault before its first score run.
    pub const NONE: Self = ScoreEvidence {
        score_basis: ScoreBasis::Missing,
        score_coverage: Ppm(0),
        lowest_score: None,
        highest_score: None,
    };

    /// A basis with its range.
    pub const fn new(score_basis: ScoreBasis, range: ScoreRange) -> Self {
        ScoreEvidence {
            score_basis,
            score_coverage: range.coverage,
            lowest_score: Some(range.lowest),
            highest_score: Some(range.highest),
        }
    }
}

named_enum! {
    /// Where the values of an asset's dimensions come from.
    pub enum AssetBasis {
        /// All values follow from answers.
        Answers = "answers",
        /// All values are numbers of a signed review.
        SignedReview = "signed_review",
        /// All values are numbers of a review that is not signed or not of status `reviewed`.
        Review = "review",
        /// The values come from more than one of these.
        Mixed = "mixed",
        /// No dimension has a value.
        None = "none",
    }
}

/// What an asset's score rests on, and how far evidence could still move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetScoreEvidence {
    /// Where the values of the dimensions come from.
    pub score_basis: AssetBasis,
    /// Part of the weight of the dimensions for which there is evidence, as a fraction from 0 to 1.
    pub score_coverage: Ppm,
    /// Lowest score that is possible given what is unknown, 0 to 10; null before the first score run.
    pub lowest_score: Option<MilliPoints>,
    /// Highest score that is possible if all questions were answered, 0 to 10, under the present review status, age, chain and dependencies;
    /// null before the first score run.
    pub highest_score: Option<MilliPoints>,
}

impl AssetScoreEvidence {
    /// The evidence of an asset before its first score run.
    pub const NONE: Self = AssetScoreEvidence {
        score_basis: AssetBasis::None,
        score_coverage: Ppm(0),
        lowest_score: None,
        highest_score: None,
    };
}

/// The answers about one asset. They need no key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetAnswers {
    /// Version of the questionnaire, whose questions and points are in `/v1/methodology`.
    pub rubric_version: &'static str,
    /// SHA-256 of the canonical set of the answers that reviewers gave, which a second reviewer signs. Answers that were read on a chain, those
    /// with `evidence`, are not part of the set.
    pub answers_hash: ContentHash,
    /// Reviewers who signed exactly this set; the signatures verify.
    pub attested_by: Vec<String>,
    /// Every answer, also those that do not count now, in the order of the questionnaire, newest first. Of an answer that is read on a chain
    /// again and again, only the newest reading.
    pub answers: Vec<GivenAnswer>,
}

/// One answer to a question about an asset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GivenAnswer {
    /// The dimension asked about.
    pub dimension: Dimension,
    /// Id of the question in the dimension.
    pub question: String,
    /// Id of the answer.
    pub answer: String,
    /// What the answer is worth, 0 to 10; null if the questionnaire in force does not permit it.
    pub points: Option<MilliPoints>,
    /// Whether this answer decides its question now.
    pub counts: bool,
    /// What is known about the question now: `contradicted` if answers of one day differ, so that the weakest of them counts.
    pub question_state: PartState,
    /// The source, its date, and who read it.
    #[serde(flatten)]
    pub citation: Citation,
    /// The calls that the answer follows from, at one block; present only for an answer that the service read on a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<ChainEvidence>,
}

/// A source that can be opened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Citation {
    /// When the source showed the answer; midnight UTC if it states only a day.
    pub as_of: Timestamp,
    /// Title of the source.
    pub source_title: String,
    /// Address of the source; of a contract that the service read, its account id of CAIP-10 (`eip155:{chain_id}:{address}`).
    pub source_url: String,
    /// Kind of source.
    pub source_kind: SourceKind,
    /// What the source says, or the place that was searched without result; null without a note.
    pub note: Option<String>,
    /// When the answer was withdrawn; null if it was not.
    pub withdrawn_at: Option<Timestamp>,
    /// The reviewer or feed that gave the answer.
    pub given_by: String,
}

/// The evidence behind a vault's inputs that is not in `score_provenance`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VaultEvidence {
    /// How the exposures were derived; null if they were read, are unknown, or are too old to count.
    pub exposures: Option<ExposureBasis>,
    /// The answers about the vault and its protocol, by input, newest first. An answer about the vault counts before one about its protocol.
    pub answers: Vec<InputAnswer>,
}

/// How exposures were derived from facts about the vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExposureBasis {
    /// The rule; `/v1/methodology` states it.
    pub rule: ExposureRule,
    /// Title of the source of the facts.
    pub source_title: String,
    /// Address of the source of the facts.
    pub source_url: String,
    /// Kind of source.
    pub source_kind: SourceKind,
    /// When the source showed the facts.
    pub as_of: Timestamp,
}

/// One answer about a protocol or a vault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputAnswer {
    /// Id of the protocol or the vault that the answer is about.
    pub subject: String,
    /// The input that the answer gives a value to.
    pub input: ProtocolInput,
    /// The value, in the form that `/v1/methodology` states for the input.
    #[cfg_attr(feature = "schema", schemars(with = "Answered"))]
    pub value: ProtocolValue,
    /// Whether the subject's value of the input follows from this answer now. A vault's own value replaces its protocol's.
    pub counts: bool,
    /// What is known about the input now from the answers about the subject: `contradicted` if answers of one day differ.
    pub question_state: PartState,
    /// The source, its date, and who read it.
    #[serde(flatten)]
    pub citation: Citation,
}

/// The forms of a value: text, a number, a list of protocols, a quorum or an audit.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged, rename = "AnsweredValue")]
#[allow(dead_code, reason = "only its schema is used")]
enum Answered {
    /// A date, or a term of a vocabulary.
    Text(String),
    /// Whole USD or seconds.
    Number(u64),
    /// Ids of protocols.
    Protocols(Vec<String>),
    /// A quorum.
    Quorum(AnsweredQuorum),
    /// A report.
    Audit(AnsweredAudit),
}

/// A quorum of signers.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct AnsweredQuorum {
    /// Signatures needed.
    threshold: u32,
    /// Number of owners.
    owners: u32,
}

/// A report by an independent firm.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct AnsweredAudit {
    /// The firm.
    firm: String,
    /// Date of the report, YYYY-MM-DD.
    date: String,
    /// What was examined, with its version.
    scope: String,
}

impl Serialize for ProtocolValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        match self {
            ProtocolValue::VersionFirstSeen(day) => serializer.collect_str(day),
            ProtocolValue::Audit(audit) => {
                let mut report = serializer.serialize_map(Some(3))?;
                report.serialize_entry("firm", &audit.firm)?;
                report.serialize_entry("date", &alloc::format!("{}", audit.date))?;
                report.serialize_entry("scope", &audit.scope)?;
                report.end()
            }
            ProtocolValue::BountyUsd(usd) | ProtocolValue::ProtocolTvlUsd(usd) => serializer.serialize_u64(*usd),
            ProtocolValue::Strategy(strategy) => strategy.serialize(serializer),
            ProtocolValue::Dependencies(names) => names.serialize(serializer),
            ProtocolValue::Timelock(timelock) => timelock.serialize(serializer),
            ProtocolValue::Signers(signers) => signers.serialize(serializer),
            ProtocolValue::Exit(exit) => exit.serialize(serializer),
            ProtocolValue::Source(source) => source.serialize(serializer),
        }
    }
}

/// Number of answers on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceCounts {
    /// Number of answers about assets that are not withdrawn.
    pub asset_answers: u64,
    /// Number of assets with at least one such answer.
    pub answered_assets: u64,
    /// Number of answers about protocols and vaults that are not withdrawn.
    pub protocol_answers: u64,
    /// Number of protocols and vaults with at least one such answer.
    pub answered_protocols: u64,
}
