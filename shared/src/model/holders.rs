//! Holders of a vault's shares: the newest snapshot and its history.
//!
//! Every `_pct` and `hhi` is a decimal fraction from 0 to 1: 0.25 is a quarter, and an `hhi` of 1 is a single holder. External figures are fractions of
//! the combined balance of the external holders.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use super::ids::{Address, ChainId, VaultId};
use super::status::{CoverageStatus, EvidenceStatus, HolderCategory, HolderMethod};
use crate::rules::holders::Concentration;
use crate::scoring::Ppm;
use crate::wire::time::Timestamp;

/// `data` of `GET /v1/vault/{network}/{address}/holders`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderSnapshot {
    /// `unavailable` if the vault's holders were never indexed; every figure is then null.
    pub status: EvidenceStatus,
    /// Id of the vault, `<protocol_id>-<chain_id>-<address>`.
    pub vault_id: VaultId,
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Address of the share token whose holders are counted.
    pub token_address: Address,
    /// Number of holders with a balance; null if unknown.
    pub holder_count: Option<u64>,
    /// Number of holders with a balance that the vault's protocol does not manage; null if unknown.
    pub external_holder_count: Option<u64>,
    /// Share of the largest holder, as a fraction of all balances; null if unknown.
    pub top1_pct: Option<Ppm>,
    /// Share of the five largest holders together, as a fraction of all balances; null if unknown.
    pub top5_pct: Option<Ppm>,
    /// Share of the ten largest holders together, as a fraction of all balances; null if unknown.
    pub top10_pct: Option<Ppm>,
    /// Herfindahl–Hirschman index of all holders, 0 to 1; 1 means a single holder; null if unknown.
    pub hhi: Option<Ppm>,
    /// Share of the largest external holder, as a fraction of the external balances; null if unknown.
    pub external_top1_pct: Option<Ppm>,
    /// Share of the five largest external holders together, as a fraction of the external balances; null if unknown.
    pub external_top5_pct: Option<Ppm>,
    /// Share of the ten largest external holders together, as a fraction of the external balances; null if unknown.
    pub external_top10_pct: Option<Ppm>,
    /// Herfindahl–Hirschman index of the external holders, 0 to 1; 1 means a single holder; null if unknown.
    pub external_hhi: Option<Ppm>,
    /// Share of the holders that the vault's protocol manages, as a fraction of all balances; null if unknown.
    pub protocol_managed_pct: Option<Ppm>,
    /// The largest holders, at most 20, largest first.
    pub top_holders: Vec<TopHolder>,
    /// Number of the block up to which transfers were read; null if unknown.
    pub indexed_to_block: Option<u64>,
    /// Whether transfers were read from the token's first block on.
    pub backfill_complete: bool,
    /// Whether all holders are known; while it is `indexing`, concentration and top holders are provisional.
    pub coverage_status: CoverageStatus,
    /// Instant that the balances refer to; null if there is no snapshot.
    pub computed_at: Option<Timestamp>,
}

/// One of the largest holders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopHolder {
    /// Address of the holder.
    pub address: Address,
    /// Balance in the token's smallest unit, as decimal digits; the integer may have any size.
    pub balance_raw: String,
    /// Share of the holder, as a fraction of all balances.
    pub pct: Ppm,
    /// Name of the holder, for display; null if unknown.
    pub label: Option<String>,
    /// Category of the holder's address.
    pub category: HolderCategory,
    /// How the category was established; null if unknown.
    pub method: Option<HolderMethod>,
}

/// A row of `GET /v1/vault/{network}/{address}/holders/history`: one snapshot of the holders.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderHistoryRow {
    /// Instant that the balances refer to.
    pub computed_at: Timestamp,
    /// Number of holders with a balance.
    pub holder_count: u64,
    /// Number of holders with a balance that the vault's protocol does not manage.
    pub external_holder_count: u64,
    /// Share of the largest holder, as a fraction of all balances; null if unknown.
    pub top1_pct: Option<Ppm>,
    /// Share of the five largest holders together, as a fraction of all balances; null if unknown.
    pub top5_pct: Option<Ppm>,
    /// Share of the ten largest holders together, as a fraction of all balances; null if unknown.
    pub top10_pct: Option<Ppm>,
    /// Herfindahl–Hirschman index of all holders, 0 to 1; 1 means a single holder; null if unknown.
    pub hhi: Option<Ppm>,
    /// Share of the holders that the vault's protocol manages, as a fraction of all balances; null if unknown.
    pub protocol_managed_pct: Option<Ppm>,
    /// The largest holders, at most 20, largest first.
    pub top_holders: Vec<TopHolder>,
    /// Number of the block up to which transfers were read; null if unknown.
    pub indexed_to_block: Option<u64>,
    /// Whether transfers were read from the token's first block on.
    pub backfill_complete: bool,
    /// Whether all holders are known; while it is `indexing`, concentration and top holders are provisional.
    pub coverage_status: CoverageStatus,
}

/// A stored snapshot, from which the rows of both routes are built.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "as in `HolderSnapshot`")]
pub struct HolderFacts {
    pub token_address: Option<Address>,
    pub holder_count: u64,
    pub external_holder_count: u64,
    /// Concentration among all holders.
    pub all: Option<Concentration>,
    /// Concentration among external holders.
    pub external: Option<Concentration>,
    pub protocol_managed: Option<Ppm>,
    pub top_holders: Vec<TopHolder>,
    pub indexed_to_block: Option<u64>,
    pub backfill_complete: bool,
    pub coverage_status: CoverageStatus,
    pub computed_at: Timestamp,
}

impl HolderFacts {
    /// The snapshot as `completeOnly=true` shows it: without the provisional figures while holders are still indexed.
    pub fn complete_only(self) -> Self {
        match self.coverage_status {
            CoverageStatus::Complete => self,
            CoverageStatus::Indexing => {
                HolderFacts { all: None, external: None, protocol_managed: None, top_holders: Vec::new(), ..self }
            }
        }
    }

    /// The row of the history.
    pub fn history_row(self) -> HolderHistoryRow {
        HolderHistoryRow {
            computed_at: self.computed_at,
            holder_count: self.holder_count,
            external_holder_count: self.external_holder_count,
            top1_pct: self.all.map(|all| all.top1),
            top5_pct: self.all.map(|all| all.top5),
            top10_pct: self.all.map(|all| all.top10),
            hhi: self.all.map(|all| all.hhi),
            protocol_managed_pct: self.protocol_managed,
            top_holders: self.top_holders,
            indexed_to_block: self.indexed_to_block,
            backfill_complete: self.backfill_complete,
            coverage_status: self.coverage_status,
        }
    }
}

impl HolderSnapshot {
    /// The snapshot of a vault; `unavailable` if there are no facts. The share token is `vault` unless the facts name another.
    pub fn new(vault_id: VaultId, chain_id: ChainId, vault: Address, facts: Option<HolderFacts>) -> Self {
        let status = if facts.is_some() { EvidenceStatus::Observed } else { EvidenceStatus::Unavailable };
        let (all, external) = (facts.as_ref().and_then(|it| it.all), facts.as_ref().and_then(|it| it.external));
        let known = facts.as_ref();
        HolderSnapshot {
            status,
            vault_id,
            chain_id,
            token_address: known.and_then(|it| it.token_address.clone()).unwrap_or(vault),
            holder_count: known.map(|it| it.holder_count),
            external_holder_count: known.map(|it| it.external_holder_count),
            top1_pct: all.map(|all| all.top1),
            top5_pct: all.map(|all| all.top5),
            top10_pct: all.map(|all| all.top10),
            hhi: all.map(|all| all.hhi),
            external_top1_pct: external.map(|external| external.top1),
            external_top5_pct: external.map(|external| external.top5),
            external_top10_pct: external.map(|external| external.top10),
            external_hhi: external.map(|external| external.hhi),
            protocol_managed_pct: known.and_then(|it| it.protocol_managed),
            indexed_to_block: known.and_then(|it| it.indexed_to_block),
            backfill_complete: known.is_some_and(|it| it.backfill_complete),
            coverage_status: known.map_or(CoverageStatus::Indexing, |it| it.coverage_status),
            computed_at: known.map(|it| it.computed_at),
            top_holders: facts.map(|it| it.top_holders).unwrap_or_default(),
        }
    }
}
