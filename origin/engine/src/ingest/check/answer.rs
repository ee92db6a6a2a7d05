//! Checks of answers to the questionnaire: only permitted answers, each with a source that can be opened.

use super::fields::Check;
use crate::attestation;
use rds_facts::{AnswerAttestation, AssetAnswer, ProtocolAnswer};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::scoring::provenance::{ChainCall, ChainEvidence};
use rds_shared::scoring::rubric::SourceKind;
use rds_shared::scoring::tables::rubric::{RUBRIC_VERSION, protocol_question, questionnaire};
use rds_store::At;

/// Maximum bytes of a source's address, which is part of the primary key; Postgres limits a key's size.
const MAX_SOURCE_URL: usize = 1_000;

impl Check {
    pub(super) fn asset_answer(&mut self, one: &AssetAnswer) {
        self.header(one.observed_at, &one.source);
        self.slug("asset_id", &one.asset_id);
        self.citation(&one.source_title, &one.source_url, one.note.as_ref(), one.as_of, one.observed_at);
        match &one.evidence {
            Some(evidence) => self.read_answer(one, evidence),
            None => self.url("source_url", Some(&one.source_url)),
        }
        self.permitted(one);
    }

    /// The source of an answer that was read is the contract that the calls begin at.
    fn read_answer(&mut self, one: &AssetAnswer, evidence: &ChainEvidence) {
        self.evidence_of_chain(evidence);
        if one.source_kind != SourceKind::Chain {
            self.wrong("source_kind", "must be chain for an answer with evidence");
        }
        let is_source =
            |call: &ChainCall| AssetAnswer::contract_source(evidence.chain_id, &call.contract) == one.source_url;
        if !evidence.calls.iter().any(is_source) {
            self.wrong("source_url", "must be eip155:{chain_id}:{contract} of one of the calls");
        }
    }

    pub(super) fn protocol_answer(&mut self, one: &ProtocolAnswer) {
        self.header(one.observed_at, &one.source);
        self.text("subject", &one.subject);
        self.citation(&one.source_title, &one.source_url, one.note.as_ref(), one.as_of, one.observed_at);
        self.url("source_url", Some(&one.source_url));
        if self.is_current(&one.rubric_version) {
            self.accepted(protocol_question(one.input).evidence, one.source_kind);
        }
        if let Err(reason) = one.typed() {
            self.wrong("value", reason);
        }
    }

    pub(super) fn answer_attestation(&mut self, signed: &AnswerAttestation) {
        self.header(signed.observed_at, &signed.source);
        self.slug("asset_id", &signed.asset_id);
        self.slug("reviewer_id", &signed.reviewer_id);
        self.slug("key_id", &signed.key_id);
        if ContentHash::parse(&signed.answers_hash).is_none_or(|hash| hash.to_hex() != signed.answers_hash) {
            self.wrong("answers_hash", "must be 64 lower-case hex digits");
        }
        if signed.signed_at > signed.observed_at {
            self.wrong("signed_at", "must not be after observed_at");
        }
        if attestation::bytes::<64>(&signed.signature).is_none() {
            self.wrong("signature", "must be 128 lower-case hex digits");
        }
    }

    fn citation(&mut self, title: &str, url: &str, note: Option<&String>, as_of: At, observed_at: At) {
        self.text("source_title", title);
        if url.len() > MAX_SOURCE_URL {
            self.wrong("source_url", format!("must have at most {MAX_SOURCE_URL} bytes"));
        }
        self.optional_text("note", note);
        if as_of > observed_at {
            self.wrong("as_of", "must not be after observed_at");
        }
    }

    /// Whether the answer is to the questionnaire in force.
    fn is_current(&mut self, version: &str) -> bool {
        let is_current = version == RUBRIC_VERSION;
        if !is_current {
            let reason = format!("{version:?} is not a known version; the current one is {RUBRIC_VERSION}");
            self.wrong("rubric_version", reason);
        }
        is_current
    }

    fn accepted(&mut self, evidence: &[SourceKind], kind: SourceKind) {
        if !evidence.contains(&kind) {
            let accepted: Vec<_> = evidence.iter().map(|kind| kind.as_str()).collect();
            self.wrong("source_kind", format!("must be one of {} for this question", accepted.join(", ")));
        }
    }

    /// Checks version, question, kind of source and answer against the questionnaire.
    fn permitted(&mut self, one: &AssetAnswer) {
        if !self.is_current(&one.rubric_version) {
            return;
        }
        let asked = questionnaire(one.dimension);
        let Some(question) = asked.question(&one.question) else {
            let known: Vec<_> = asked.questions.iter().map(|question| question.id).collect();
            let reason = format!(
                "{:?} is not a question of {}; its questions are {}",
                one.question,
                one.dimension,
                known.join(", ")
            );
            return self.wrong("question", reason);
        };
        self.accepted(question.evidence, one.source_kind);
        match question.answer(&one.answer) {
            None => {
                let permitted: Vec<_> = question.answers.iter().map(|answer| answer.id).collect();
                let reason = format!(
                    "{:?} is not an answer to {}; its answers are {}",
                    one.answer,
                    question.id,
                    permitted.join(", ")
                );
                self.wrong("answer", reason);
            }
            Some(answer) if answer.needs_search && one.note.is_none() => {
                self.wrong(
                    "note",
                    "must name the place that was searched, because the answer says that nothing was found",
                );
            }
            Some(_) => {}
        }
    }
}
