//! Checks of answers to the questionnaire: only permitted answers, each with a source that can be opened.

use super::fields::Check;
use super::rule::{CITED, HASH, Rule, SIGNATURE, URL};
use rds_facts::{AnswerAttestation, AssetAnswer, ProtocolAnswer};
use rds_shared::scoring::provenance::{ChainCall, ChainEvidence};
use rds_shared::scoring::rubric::SourceKind;
use rds_shared::scoring::tables::rubric::{RUBRIC_VERSION, protocol_question, questionnaire};
use rds_store::At;

/// Maximum bytes of a source's address, which is part of the primary key; Postgres limits a key's size.
const MAX_SOURCE_URL: usize = 1_000;

/// What a note is for.
const SEARCHED: &str = "must name the place that was searched if the answer says that nothing was found";

impl Check {
    pub(super) fn asset_answer(&mut self, one: &AssetAnswer) {
        self.header(one.observed_at, &one.source);
        self.slug("asset_id", &one.asset_id);
        self.citation(&one.source_title, &one.source_url, one.note.as_ref(), one.as_of, one.observed_at);
        if let Some(evidence) = &one.evidence {
            self.read_answer(one, evidence);
        }
        self.rule("source_url", || Rule::Form(&CITED));
        let is_cited = one.evidence.is_some() || URL.holds(&one.source_url);
        self.must("source_url", is_cited, "must be a URL for an answer without evidence");
        self.permitted(one);
    }

    /// The source of an answer that was read is the contract that the calls begin at.
    fn read_answer(&mut self, one: &AssetAnswer, evidence: &ChainEvidence) {
        self.evidence_of_chain(evidence);
        let is_chain = one.source_kind == SourceKind::Chain;
        self.must("source_kind", is_chain, "must be chain for an answer with evidence");
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
        self.rule("value", || Rule::Must("must have the form that the question about the input asks for".to_owned()));
        if let Err(reason) = one.typed() {
            self.wrong("value", reason);
        }
    }

    pub(super) fn answer_attestation(&mut self, signed: &AnswerAttestation) {
        self.header(signed.observed_at, &signed.source);
        self.slug("asset_id", &signed.asset_id);
        self.slug("reviewer_id", &signed.reviewer_id);
        self.slug("key_id", &signed.key_id);
        self.form("answers_hash", &HASH, &signed.answers_hash);
        self.not_later("signed_at", signed.signed_at, signed.observed_at);
        self.form("signature", &SIGNATURE, &signed.signature);
    }

    fn citation(&mut self, title: &str, url: &str, note: Option<&String>, as_of: At, observed_at: At) {
        self.text("source_title", title);
        self.max_bytes("source_url", url, MAX_SOURCE_URL);
        self.optional_text("note", note);
        self.not_later("as_of", as_of, observed_at);
    }

    /// Whether the answer is to the questionnaire in force.
    fn is_current(&mut self, version: &str) -> bool {
        self.rule("rubric_version", || Rule::OneOf(vec![RUBRIC_VERSION]));
        let is_current = version == RUBRIC_VERSION;
        if !is_current {
            let reason = format!("{version:?} is not a known version; the current one is {RUBRIC_VERSION}");
            self.wrong("rubric_version", reason);
        }
        is_current
    }

    fn accepted(&mut self, evidence: &[SourceKind], kind: SourceKind) {
        self.rule("source_kind", || Rule::Must("must be a kind that the question accepts".to_owned()));
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
        self.rule("question", || Rule::Must("must be a question of the dimension".to_owned()));
        self.rule("answer", || Rule::Must("must be an answer to the question".to_owned()));
        self.rule("note", || Rule::Must(SEARCHED.to_owned()));
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
                self.wrong("note", SEARCHED);
            }
            Some(_) => {}
        }
    }
}
