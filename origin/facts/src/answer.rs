//! Answers to the questionnaire about assets, protocols and vaults, and signatures on sets of answers.

use super::At;
use super::fact::observations;
use super::{SignerSet, Signing};
use rds_shared::scoring::asset::Dimension;
use rds_shared::scoring::provenance::ChainEvidence;
use rds_shared::scoring::rubric::{
    Answer, Audit, ProtocolAnswer as EvaluatedAnswer, ProtocolInput, ProtocolValue, SourceKind, SourcedAnswer,
};
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;
use rds_shared::scoring::vault::{Exit, Signers, Source, Strategy, Timelock};
use rds_shared::wire::time::{Day, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Display;

fn current_version() -> String {
    RUBRIC_VERSION.to_owned()
}

observations! {
    /// What one source shows about one question on an asset.
    ///
    /// The content is the key, so different answers to one question are separate rows. A later observation of the same answer replaces
    /// the title, the kind and the note, and withdraws or restores the answer.
    AssetAnswer in "asset_answer" by [asset_id, dimension, question, answer, as_of, source_url] {
        /// Slug of the asset.
        asset_id: String,
        /// Dimension of the asset that the question is about.
        dimension: Dimension,
        /// Id of a question of the dimension.
        question: String,
        /// Id of one of the question's answers.
        answer: String,
        /// When the source showed the answer; midnight UTC if the source states only a day.
        as_of: At,
        /// Title of the source.
        source_title: String,
        /// Link to the source.
        source_url: String,
        /// Kind of source.
        source_kind: SourceKind,
        /// The place that was searched, if the answer is that a search found nothing.
        note: Option<String>,
        /// True if the answer does not hold any more.
        #[serde(default)]
        withdrawn: bool,
        /// Version of the questionnaire that was answered; the current one if absent.
        #[serde(default = "current_version")]
        rubric_version: String,
        /// Where the service read the answer on a chain; absent for an answer that a reviewer gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<ChainEvidence>,
    }

    /// What one source shows about one input of a protocol, or of one vault.
    ///
    /// The content is the key, so different values from different sources are separate rows. A later observation of the same answer replaces
    /// the title, the kind and the note, and withdraws or restores the answer.
    ProtocolAnswer in "protocol_answer" by [subject, input, value, as_of, source_url] {
        /// Id of a protocol, or of a vault if the answer concerns that vault alone.
        subject: String,
        /// Input that the question is about.
        input: ProtocolInput,
        /// In the form that the question about the input states.
        value: Value,
        /// When the source showed the value; midnight UTC if the source states only a day.
        as_of: At,
        /// Title of the source.
        source_title: String,
        /// Link to the source.
        source_url: String,
        /// Kind of source.
        source_kind: SourceKind,
        /// What the source says, or the place that was searched.
        note: Option<String>,
        /// True if the answer does not hold any more.
        #[serde(default)]
        withdrawn: bool,
        /// Version of the questionnaire that was answered; the current one if absent.
        #[serde(default = "current_version")]
        rubric_version: String,
    }

    // `rds_shared::rules::attestation` builds the signed text.
    /// A reviewer's signature on the set of answers about one asset.
    AnswerAttestation in "answer_attestation" by [asset_id, reviewer_id, answers_hash] {
        /// Slug of the asset.
        asset_id: String,
        /// Slug of the reviewer.
        reviewer_id: String,
        /// Name of the reviewer's key.
        key_id: String,
        /// Content hash of the set, 64 lower-case hex digits.
        answers_hash: String,
        /// When the reviewer signed.
        signed_at: At,
        /// Ed25519 signature, 64 bytes in hex.
        signature: String,
    }
}

impl AssetAnswer {
    /// The address of a contract as the source of what was read of it: an account id of CAIP-10.
    pub fn contract_source(chain_id: impl Display, contract: impl Display) -> String {
        format!("eip155:{chain_id}:{contract}")
    }

    /// Whether a reviewer gave the answer. Reviewers sign only such answers: whoever doubts an answer that was read repeats the calls.
    pub fn is_given(&self) -> bool {
        self.evidence.is_none()
    }

    /// The answer in the form that the questionnaire evaluates. A withdrawn answer counts as withdrawn from its last observation on.
    pub fn sourced(&self) -> SourcedAnswer<'_> {
        SourcedAnswer {
            dimension: self.dimension,
            answer: Answer {
                question: &self.question,
                answer: &self.answer,
                observed_at: self.as_of.0,
                source_kind: self.source_kind,
                withdrawn_at: self.withdrawn.then_some(self.observed_at.0),
            },
            source_title: &self.source_title,
            source_url: &self.source_url,
            note: self.note.as_deref().unwrap_or(""),
        }
    }
}

/// Maximum bytes of a text in a value. The value is part of the primary key, and Postgres limits a key's size.
const MAX_TEXT: usize = 200;
/// Maximum number of protocols in a list of dependencies.
const MAX_DEPENDENCIES: usize = 8;
/// Maximum number of owners of a quorum.
const MAX_OWNERS: u32 = 10_000;

/// Whether a text in a value says something, can be stored, and fits into the key.
fn is_short(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\0') && text.len() <= MAX_TEXT
}

/// An audit in an answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedAudit {
    firm: String,
    date: String,
    scope: String,
}

impl ProtocolAnswer {
    /// The value by the type of its input; the error says which form the input needs.
    pub fn typed(&self) -> Result<ProtocolValue, String> {
        let form = || format!("must be {}", question_form(self.input));
        fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
            T::deserialize(value).ok()
        }
        let named = |value: &Value| value.as_str().map(str::to_owned);
        // A source cannot show what lies after its own date.
        let by_then = |date: &Day| *date <= Day::of(self.as_of.0);
        let value = match self.input {
            ProtocolInput::VersionFirstSeen => {
                self.value.as_str().and_then(day).filter(by_then).map(ProtocolValue::VersionFirstSeen)
            }
            ProtocolInput::Audit => read::<StatedAudit>(&self.value).and_then(|stated| {
                let audit = Audit { firm: stated.firm, date: day(&stated.date).filter(by_then)?, scope: stated.scope };
                (is_short(&audit.firm) && is_short(&audit.scope)).then_some(ProtocolValue::Audit(audit))
            }),
            ProtocolInput::BountyUsd => self.value.as_u64().map(ProtocolValue::BountyUsd),
            ProtocolInput::ProtocolTvlUsd => self.value.as_u64().map(ProtocolValue::ProtocolTvlUsd),
            ProtocolInput::Strategy => read::<Strategy>(&self.value).map(ProtocolValue::Strategy),
            ProtocolInput::Dependencies => self
                .value
                .as_array()
                .filter(|ids| ids.len() <= MAX_DEPENDENCIES)
                .and_then(|ids| ids.iter().map(named).collect::<Option<Vec<_>>>())
                .filter(|ids| {
                    ids.iter().all(|id| is_short(id)) && ids.iter().collect::<BTreeSet<_>>().len() == ids.len()
                })
                .map(ProtocolValue::Dependencies),
            ProtocolInput::Timelock => match self.value.as_str() {
                Some("immutable") => Some(ProtocolValue::Timelock(Timelock::Immutable)),
                _ => self.value.as_u64().map(|seconds| ProtocolValue::Timelock(Timelock::Seconds(seconds))),
            },
            ProtocolInput::Signers => {
                let is_possible = |signing: &Signing| match signing {
                    Signing::Keys(SignerSet { threshold, owners }) => {
                        *threshold > 0 && threshold <= owners && *owners <= MAX_OWNERS
                    }
                    _ => true,
                };
                read::<Signing>(&self.value)
                    .filter(is_possible)
                    .map(|signing| ProtocolValue::Signers(Signers::from(signing)))
            }
            ProtocolInput::Exit => {
                read::<Exit>(&self.value).filter(|exit| *exit != Exit::Unknown).map(ProtocolValue::Exit)
            }
            ProtocolInput::Source => {
                read::<Source>(&self.value).filter(|source| *source != Source::Unknown).map(ProtocolValue::Source)
            }
        };
        value.ok_or_else(form)
    }

    /// The answer in the form that the questionnaire evaluates; `None` if the stored value does not have its input's form. A withdrawn
    /// answer counts as withdrawn from its last observation on.
    pub fn evaluated(&self) -> Option<EvaluatedAnswer> {
        Some(EvaluatedAnswer {
            value: self.typed().ok()?,
            observed_at: self.as_of.0,
            withdrawn_at: self.withdrawn.then_some(self.observed_at.0),
        })
    }
}

fn question_form(input: ProtocolInput) -> &'static str {
    rds_shared::scoring::tables::rubric::protocol_question(input).value
}

/// A day written as YYYY-MM-DD.
fn day(text: &str) -> Option<Day> {
    let start = Timestamp::parse(&format!("{text}T00:00:00Z"))?;
    (text.len() == 10).then(|| Day::of(start))
}
