//! The security registry and the casebook: attacks as sources report them, and what they cost.

use super::At;
use super::fact::observations;
use super::{Reference, Usd, event_id};
use rds_shared::model::loss::LossBasis;
use rds_shared::model::status::Severity;
use serde::{Deserialize, Serialize};

observations! {
    /// An attack as a source reports it. It comes in as a draft; a later observation changes what it says, not its state.
    SecurityReport in "security_event" by [id] {
        /// [`security_event_id`]; made here, never read.
        #[serde(default, skip_deserializing)]
        id: i64,
        /// The source's own name of it.
        source_id: String,
        /// The chain; null where the source names none.
        chain_id: Option<i64>,
        /// The tracked protocol concerned, where the source knows it.
        protocol_id: Option<String>,
        /// One line.
        title: String,
        /// The story.
        description: Option<String>,
        /// Accounts and contracts of the attacker.
        #[serde(default)]
        attackers: Vec<String>,
        /// Contracts attacked: where a tracked contract stands at one of them, the row touches it.
        #[serde(default)]
        victims: Vec<String>,
        /// How many others confirm the report.
        #[serde(default)]
        confirmations: u32,
        /// How many dispute it.
        #[serde(default)]
        disconfirmations: u32,
        /// What was lost; null when it is in doubt.
        loss_usd: Option<Usd>,
        /// How much it matters.
        severity: Severity,
        /// The attack, or the first transaction of it.
        tx_hash: Option<String>,
        /// The report at its source.
        native_url: Option<String>,
        /// Where else it is told.
        #[serde(default)]
        links: Vec<Reference>,
        /// When it happened.
        attacked_at: At,
    }

    /// A case of a casebook. The source names the casebook: it is the id that the loss board is filtered by.
    LossCase in "loss_case" by [case_id] {
        /// Slug, unique over all casebooks.
        case_id: String,
        /// The case's name in its book.
        source_id: String,
        /// One line.
        title: String,
        /// What was lost; null where nobody states it in dollars, and where the statement is in doubt.
        loss_usd: Option<Usd>,
        /// What came back.
        returned_usd: Option<Usd>,
        /// The loss as the book words it.
        loss_text: Option<String>,
        /// How firmly the figure stands.
        loss_basis: LossBasis,
        /// What a reader of the figure has to know.
        note: Option<String>,
        /// The book's own label, shown as it is written.
        severity: Option<String>,
        /// What kind of loss.
        classification: Option<String>,
        /// How it was done.
        technique: Option<String>,
        /// What made it possible.
        mechanism: Option<String>,
        /// The chains concerned, the main one first.
        #[serde(default)]
        chain_ids: Vec<i64>,
        /// Whose loss it was, where that is a tracked protocol.
        protocol_id: Option<String>,
        /// Whose loss it was, in the book's words.
        protocol_name: Option<String>,
        /// When it happened.
        attacked_at: At,
        /// Its transactions.
        #[serde(default)]
        tx_hashes: Vec<String>,
        /// Where it is told.
        #[serde(default)]
        links: Vec<Reference>,
        /// False once the book no longer lists it.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Whether the figure belongs to something else.
        contamination: Option<Contamination>,
        /// The registry row of the same attack: who reported it. Together with `security_source_id`.
        security_source: Option<String>,
        /// And its name there.
        security_source_id: Option<String>,
    }
}

/// A figure that belongs to something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contamination {
    /// What it belongs to.
    pub reason: String,
    /// Who checked that; until somebody has, the case stays on the board.
    pub verified_by: Option<String>,
}

/// The number of a registry row: made from its names, so that the order of two writers leaves no trace.
pub fn security_event_id(source: &str, source_id: &str) -> i64 {
    event_id(&format!("security|{source}|{source_id}"))
}
