//! The loss board: one row per case with the dossier behind its figure, and totals over all cases. The API specification leaves the types of the fields
//! after `chainSlug` open.

use super::event::Link;
use super::ids::ChainId;
use super::money::Cents;
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::time::Timestamp;
use alloc::{string::String, vec::Vec};
use serde::Serialize;

/// The `chainId` of a case that names no chain.
pub const UNMAPPED_ID: ChainId = ChainId(0);
/// The `chainSlug` of a case that names no chain.
pub const UNMAPPED_SLUG: &str = "unmapped";

named_enum! {
    /// How reliable the amount of a loss is.
    pub enum LossBasis {
        /// The source states the amount in US dollars or in a stablecoin.
        Stated = "stated",
        /// The source states a figure without a currency; US dollars are assumed.
        UnitAssumed = "unit_assumed",
        /// The source also names tokens that the figure does not include: the loss is at least the figure.
        Partial = "partial",
        /// No other evidence supports the source's figure; the figure is not served as a loss.
        Doubtful = "doubtful",
        /// The source states no amount in US dollars.
        NotStated = "not_stated",
    }
}

/// One case with a loss. A null field is not available.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LossRow {
    /// Id of the case: a slug, unique over all casebooks.
    pub id: String,
    /// Title, one line of plain text.
    pub title: String,
    /// Loss in USD, above 0.
    pub loss_amount_usd: Cents,
    /// Instant of the attack.
    pub attacked_at: Timestamp,
    /// Severity of the case: the casebook's own label, unchanged. If the casebook gives none, the severity of the published registry row; if there is
    /// no such row either, a band of the loss: `low` below 1 million USD, `medium` from 1 million, `high` from 10 million, `critical` from 50 million.
    pub severity: String,
    /// Number of the first affected chain; 0 if the case names none.
    pub chain_id: ChainId,
    /// Slug of the first affected chain; `unmapped` if the case names none.
    pub chain_slug: String,
    /// Kind of loss in the source's words, such as `exploit` or `rug_pull`; null if unknown.
    pub classification: Option<String>,
    /// Technique of the attack, in the source's words; null if unknown.
    pub technique: Option<String>,
    /// Weakness that made the attack possible; null if unknown.
    pub mechanism: Option<String>,
    /// All affected chains, the main one first.
    pub chains: Vec<LossChain>,
    /// Returned funds in USD; null if unknown.
    pub returned_funds_usd: Option<Cents>,
    /// The protocol or party that made the loss; null if unknown.
    pub protocol: Option<LossProtocol>,
    /// Whether the case concerns a tracked vault, asset, market or protocol.
    pub affects_tracked_universe: bool,
    /// Id of the published row of the security registry about the same attack; null if there is none.
    pub security_event_id: Option<u64>,
    /// The evidence for the row and its sources.
    pub incident_dossier: Dossier,
}

/// A chain that a case affects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LossChain {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Slug of the chain, as paths use it.
    pub chain_slug: String,
}

/// The protocol or party that made a loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LossProtocol {
    /// Id of the protocol; null if it is not tracked.
    pub id: Option<String>,
    /// Name, for display.
    pub name: String,
    /// URL of the logo; null if unknown.
    pub logo_url: Option<String>,
    /// URL of the website; null if unknown.
    pub website_url: Option<String>,
}

/// The evidence for a row and its sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Dossier {
    /// Transactions, addresses and reports.
    pub evidence: DossierEvidence,
    /// The source of the figures, and how the loss was read from it.
    pub provenance: DossierProvenance,
    /// Which kinds of evidence there are.
    pub coverage: DossierCoverage,
}

/// Transactions, addresses and reports of a case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DossierEvidence {
    /// Hashes of the attack's transactions.
    pub transactions: Vec<String>,
    /// Addresses of the attacker's accounts and contracts, from the published registry row; empty without one.
    pub attackers: Vec<String>,
    /// Addresses of the attacked contracts, from the published registry row; empty without one.
    pub victims: Vec<String>,
    /// Links to reports about the case.
    pub links: Vec<Link>,
}

/// The source of the figures of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DossierProvenance {
    /// Id of the casebook.
    pub source: String,
    /// The casebook's own id of the case.
    pub source_id: String,
    /// Instant at which the casebook was read.
    pub retrieved_at: Timestamp,
    /// The loss in the casebook's own words; null if it states none.
    pub loss_text: Option<String>,
    /// How reliable the amount of the loss is.
    pub loss_basis: LossBasis,
    /// Note that a reader of the figure needs; null if there is none.
    pub note: Option<String>,
}

/// Which kinds of evidence there are for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DossierCoverage {
    /// Whether at least one transaction is known.
    pub has_transactions: bool,
    /// Whether there is at least one link to a report.
    pub has_references: bool,
    /// Whether at least one address of an attacker or victim is known.
    pub has_addresses: bool,
    /// Whether the security registry has a published row about the same attack.
    pub has_registry_row: bool,
}

/// Totals over all cases that the board lists, whatever a page shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Ids of the casebooks, in alphabetical order, separated by commas; null without a case.
    pub source: Option<String>,
    /// Number of cases.
    pub total: u64,
    /// Sum of the losses of all cases.
    pub total_loss: Cents,
    /// Instant at which a casebook was last read; null without a case.
    pub refreshed_at: Option<Timestamp>,
    /// Number of cases with a transaction, a link or an address.
    pub evidence_covered: u64,
    /// Number of cases with a transaction.
    pub transaction_covered: u64,
    /// Instant at which a case with evidence was last read; null if there is none.
    pub evidence_refreshed_at: Option<Timestamp>,
}

/// `meta` of the loss board: the page, the cases that match the filters, and the totals over all cases.
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
    /// Number of cases that match the filters.
    pub total: u64,
    /// Exact sum of the losses of the matching cases, in USD.
    pub total_loss_usd: Cents,
    /// Ids of the casebooks that the board covers, in alphabetical order, separated by commas; null if there are none.
    pub coverage_source: Option<&'a str>,
    /// Number of all cases on the board.
    pub coverage_total: u64,
    /// Exact sum of the losses of all cases on the board, in USD.
    pub coverage_total_loss_usd: Cents,
    /// Instant at which a casebook was last read; null if there are no cases.
    pub coverage_refreshed_at: Option<Timestamp>,
    /// Number of all cases that have a transaction, a link or an address.
    pub evidence_covered_incidents: u64,
    /// Number of all cases that have a transaction.
    pub transaction_covered_incidents: u64,
    /// Instant at which a case with evidence was last read; null if there is none.
    pub evidence_refreshed_at: Option<Timestamp>,
}

impl Coverage {
    /// The totals over `rows`.
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

    /// The meta of `page` of `total` matching cases, whose losses sum to `total_loss`.
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
