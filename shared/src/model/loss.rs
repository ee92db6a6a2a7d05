//! The loss board: one row per case, with the dossier behind its figure, and what the whole corpus covers.
//!
//! Source: interface, "Loss-board row". The fields behind `chainSlug` are declared there without their types; these are ours.

use super::event::Link;
use super::ids::ChainId;
use super::money::Cents;
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::time::Timestamp;
use alloc::{string::String, vec::Vec};
use serde::Serialize;

/// The chain number of a case whose chain nobody names.
pub const UNMAPPED_ID: ChainId = ChainId(0);
/// The chain slug of such a case.
pub const UNMAPPED_SLUG: &str = "unmapped";

named_enum! {
    /// How firmly a loss in dollars stands.
    pub enum LossBasis {
        /// The source states dollars, or a stablecoin.
        Stated = "stated",
        /// The source states a bare figure; that it means dollars is assumed.
        UnitAssumed = "unit_assumed",
        /// The source also names tokens that are not in the figure: the loss is at least this.
        Partial = "partial",
        /// The source states a figure that nothing else supports: it is not served as a loss.
        Doubtful = "doubtful",
        /// The source states none in dollars.
        NotStated = "not_stated",
    }
}

/// One case with a loss. Null is "not available".
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LossRow {
    /// Id of the case.
    pub id: String,
    /// Title, one line of plain text.
    pub title: String,
    /// What was lost, above 0.
    pub loss_amount_usd: Cents,
    /// When it happened.
    pub attacked_at: Timestamp,
    /// The casebook's label as it was written; else the published registry row's severity, else the band of the loss: low below
    /// 1 million USD, medium from 1 million, high from 10 million, critical from 50 million.
    pub severity: String,
    /// The first chain concerned; 0 where none is named.
    pub chain_id: ChainId,
    /// The first chain, in paths; `unmapped` where none is named.
    pub chain_slug: String,
    /// What kind of loss, in the source's words, such as `exploit` or `rug_pull`.
    pub classification: Option<String>,
    /// How it was done, in the source's words.
    pub technique: Option<String>,
    /// What made it possible.
    pub mechanism: Option<String>,
    /// Every chain concerned.
    pub chains: Vec<LossChain>,
    /// What came back.
    pub returned_funds_usd: Option<Cents>,
    /// Whose loss it was.
    pub protocol: Option<LossProtocol>,
    /// Whether it concerns a tracked vault, asset, market or protocol.
    pub affects_tracked_universe: bool,
    /// The published registry row of the same attack.
    pub security_event_id: Option<u64>,
    /// What stands behind the row.
    pub incident_dossier: Dossier,
}

/// A chain of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LossChain {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// The chain, in paths.
    pub chain_slug: String,
}

/// Who lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LossProtocol {
    /// The protocol's id here; null when it is not tracked.
    pub id: Option<String>,
    /// Name, for display.
    pub name: String,
    /// URL of the logo; null if unknown.
    pub logo_url: Option<String>,
    /// URL of the website; null if unknown.
    pub website_url: Option<String>,
}

/// What stands behind a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Dossier {
    /// What can be looked up on chain and elsewhere.
    pub evidence: DossierEvidence,
    /// Who says so, and how the figure was read.
    pub provenance: DossierProvenance,
    /// Which kinds of evidence there are.
    pub coverage: DossierCoverage,
}

/// What can be looked up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DossierEvidence {
    /// Hashes of the attack's transactions.
    pub transactions: Vec<String>,
    /// Accounts and contracts of the attacker, of the published registry row.
    pub attackers: Vec<String>,
    /// Contracts attacked, of the published registry row.
    pub victims: Vec<String>,
    /// Where it is told.
    pub links: Vec<Link>,
}

/// Who says so.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DossierProvenance {
    /// Name of the casebook that the figures come from.
    pub source: String,
    /// The case's name there.
    pub source_id: String,
    /// When the casebook was read.
    pub retrieved_at: Timestamp,
    /// The loss as the casebook words it.
    pub loss_text: Option<String>,
    /// How firmly the figure stands.
    pub loss_basis: LossBasis,
    /// What a reader of the figure has to know.
    pub note: Option<String>,
}

/// Which kinds of evidence there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DossierCoverage {
    /// At least one transaction.
    pub has_transactions: bool,
    /// At least one place where it is told.
    pub has_references: bool,
    /// At least one address of an attacker or victim.
    pub has_addresses: bool,
    /// A published registry row.
    pub has_registry_row: bool,
}

/// What the corpus holds, whatever a page shows of it: every case that the board lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// The casebooks' ids, separated by commas; null without a case.
    pub source: Option<String>,
    /// Cases.
    pub total: u64,
    /// What they lost together.
    pub total_loss: Cents,
    /// When a casebook was last read.
    pub refreshed_at: Option<Timestamp>,
    /// Cases with a transaction, a link, or an address.
    pub evidence_covered: u64,
    /// Cases with a transaction.
    pub transaction_covered: u64,
    /// When a case with evidence was last read.
    pub evidence_refreshed_at: Option<Timestamp>,
}

/// `meta` of the loss board: the page, what the filters match, and what the whole corpus covers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LossMeta<'a> {
    /// The page, counted from 1.
    pub page: u64,
    /// Rows per page, after clamping.
    pub limit: u64,
    /// Whether another page follows.
    pub has_more: bool,
    /// Cases that match.
    pub total: u64,
    /// What those lost together: the exact sum of their rows.
    pub total_loss_usd: Cents,
    /// Names of the casebooks that the board covers; null if there are none.
    pub coverage_source: Option<&'a str>,
    /// Cases in all.
    pub coverage_total: u64,
    /// What all of them lost.
    pub coverage_total_loss_usd: Cents,
    /// When a casebook was last read.
    pub coverage_refreshed_at: Option<Timestamp>,
    /// Cases with any evidence.
    pub evidence_covered_incidents: u64,
    /// Cases with a transaction.
    pub transaction_covered_incidents: u64,
    /// When a case with evidence was last read.
    pub evidence_refreshed_at: Option<Timestamp>,
}

impl Coverage {
    /// What `rows` cover.
    pub fn of(rows: &[LossRow]) -> Self {
        let mut coverage = Coverage { total: rows.len() as u64, ..Coverage::default() };
        coverage.total_loss = rows.iter().map(|row| row.loss_amount_usd).sum();
        let mut sources: Vec<&str> = rows.iter().map(|row| row.incident_dossier.provenance.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        coverage.source = (!sources.is_empty()).then(|| sources.join(","));
        for Dossier { provenance, coverage: found, .. } in rows.iter().map(|row| &row.incident_dossier) {
            let at = Some(provenance.retrieved_at);
            coverage.refreshed_at = coverage.refreshed_at.max(at);
            if found.has_transactions || found.has_references || found.has_addresses {
                coverage.evidence_covered += 1;
                coverage.evidence_refreshed_at = coverage.evidence_refreshed_at.max(at);
            }
            coverage.transaction_covered += u64::from(found.has_transactions);
        }
        coverage
    }

    /// The meta of `page` over `total` matching cases that lost `total_loss`.
    pub fn meta(&self, page: PageRequest, total: usize, total_loss: Cents) -> LossMeta<'_> {
        LossMeta {
            page: page.number,
            limit: page.size,
            has_more: page.end() < total as u64,
            total: total as u64,
            total_loss_usd: total_loss,
            coverage_source: self.source.as_deref(),
            coverage_total: self.total,
            coverage_total_loss_usd: self.total_loss,
            coverage_refreshed_at: self.refreshed_at,
            evidence_covered_incidents: self.evidence_covered,
            transaction_covered_incidents: self.transaction_covered,
            evidence_refreshed_at: self.evidence_refreshed_at,
        }
    }
}
