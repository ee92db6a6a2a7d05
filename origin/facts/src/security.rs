//! The security registry, which lists attacks as sources report them, and the casebooks: published collections of attacks with their
//! losses.

use super::At;
use super::fact::observations;
use super::{Reference, Usd, event_id};
use rds_shared::model::loss::LossBasis;
use rds_shared::model::status::Severity;
use serde::{Deserialize, Serialize};

observations! {
    /// An attack as a source reports it. It is a draft at first; a later observation changes its content, not its state.
    SecurityReport in "security_event" by [id] {
        /// Computed with [`security_event_id`]; not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        id: i64,
        /// The source's own id of the attack.
        source_id: String,
        /// Null if the source names no chain.
        chain_id: Option<i64>,
        /// The affected tracked protocol, if the source knows it.
        protocol_id: Option<String>,
        /// Title in one sentence.
        title: String,
        /// Description as text.
        description: Option<String>,
        /// Accounts and contracts of the attacker.
        #[serde(default)]
        attackers: Vec<String>,
        /// Attacked contracts; a tracked contract at one of these addresses links the row to its vaults or protocol.
        #[serde(default)]
        victims: Vec<String>,
        /// Number of other parties that confirm the report.
        #[serde(default)]
        confirmations: u32,
        /// Number of other parties that dispute the report.
        #[serde(default)]
        disconfirmations: u32,
        /// Loss; null if doubtful.
        loss_usd: Option<Usd>,
        /// Severity of the attack.
        severity: Severity,
        /// The attack transaction, or the first of several.
        tx_hash: Option<String>,
        /// Link to the report at its source.
        native_url: Option<String>,
        /// Links to other reports about the attack.
        #[serde(default)]
        links: Vec<Reference>,
        /// When the attack happened.
        attacked_at: At,
    }

    /// A case of a casebook. `source` is the casebook's id, by which the loss board is filtered.
    LossCase in "loss_case" by [case_id] {
        /// Slug, unique over all casebooks.
        case_id: String,
        /// The casebook's own id of the case.
        source_id: String,
        /// Title in one sentence.
        title: String,
        /// Loss; null if no loss in dollars is stated or the statement is doubtful.
        loss_usd: Option<Usd>,
        /// Funds that were returned to the victims.
        returned_usd: Option<Usd>,
        /// The loss in the casebook's own words.
        loss_text: Option<String>,
        /// How reliable `loss_usd` is.
        loss_basis: LossBasis,
        /// A caveat about the loss figure, for readers.
        note: Option<String>,
        /// The casebook's own severity label, served unchanged.
        severity: Option<String>,
        /// Kind of loss, for example `exploit`.
        classification: Option<String>,
        /// Attack technique.
        technique: Option<String>,
        /// Weakness that made the attack possible.
        mechanism: Option<String>,
        /// The affected chains, the main one first.
        #[serde(default)]
        chain_ids: Vec<i64>,
        /// The affected tracked protocol.
        protocol_id: Option<String>,
        /// The affected protocol or party, as the casebook names it.
        protocol_name: Option<String>,
        /// When the attack happened.
        attacked_at: At,
        /// Hashes of the attack's transactions.
        #[serde(default)]
        tx_hashes: Vec<String>,
        /// Reports about the case.
        #[serde(default)]
        links: Vec<Reference>,
        /// False once the casebook no longer lists the case.
        #[serde(default = "super::yes")]
        is_active: bool,
        /// Set if the loss figure belongs to another case or party.
        contamination: Option<Contamination>,
        /// `source` of the registry row of the same attack; set together with `security_source_id`.
        security_source: Option<String>,
        /// `source_id` of the registry row of the same attack.
        security_source_id: Option<String>,
    }
}

/// Evidence that the loss figure of a case belongs to another case or party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Contamination {
    /// The case or party to which the figure belongs, as text.
    pub reason: String,
    /// Who verified it; without a verifier the case stays on the loss board.
    pub verified_by: Option<String>,
}

/// The id of a registry row, derived from source and source id so that it does not depend on the order of writers.
pub fn security_event_id(source: &str, source_id: &str) -> i64 {
    event_id(&format!("security|{source}|{source_id}"))
}
