//! yield_vaults.jsonl.gz: a compounder's vaults, active and ended, with their strategies. Their holdings were not read.

use super::adapter::{Adapter, Contract, Known, Observed};
use super::evidence::{OwnProtocolAnswers, ProtocolEvidence};
use super::exposures::Exposures;
use super::vaults::{unread, vault_id};
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Protocol, Vault, VaultStrategy, YieldSource};
use rds_shared::model::status::{Breakdown, YieldKind};
use rds_shared::scoring::vault::{AssetMode, Exit, Source, Strategy};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};

/// 2026-08-20: the file is the compounder's own configuration of that day.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_787_184_000);
/// The protocol of all rows; no other file contains it.
const PROTOCOL: &str = "beefy";
const SOURCE: &str = "beefy-v2";
/// Flags by which the compounder states that a change of a vault takes effect at once, and that a contract's source is not published.
const NOT_TIMELOCKED: &str = "not_timelocked";
const NOT_VERIFIED: &str = "not_verified";
/// What a vault does with a deposit, by its kind: two kinds sell rewards and reinvest the proceeds, and a reward pool holds the shares of
/// another vault. The file does not describe what other kinds do.
const STRATEGIES: [(&str, Strategy); 3] =
    [("standard", Strategy::AutoCompound), ("cowcentrated", Strategy::AutoCompound), ("gov", Strategy::VaultOfVaults)];

pub struct YieldVaults {
    /// Vaults whose exposures are derived from `vault_exposures.jsonl.gz`.
    pub exposed: HashSet<Contract>,
}

/// A vault of the compounder.
#[derive(Deserialize)]
pub struct Row {
    chain_id: i64,
    address: String,
    vault_id: String,
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    status: String,
    platform_id: String,
    strategy_type: String,
    deposit_token_symbol: String,
    deposit_token_address: Option<String>,
    deposit_token_decimals: u32,
    created_at: Timestamp,
    retire_reason: Option<String>,
    risk_flags: Vec<String>,
    source: String,
}

impl Adapter for YieldVaults {
    const FILE: &'static str = "yield_vaults.jsonl.gz";
    const NEEDED_BY: &'static [&'static str] = &[Exposures::FILE, ProtocolEvidence::FILE, OwnProtocolAnswers::FILE];
    type Row = Row;

    /// The vaults that are listed here alone.
    fn learn(&self, row: &Row, known: &mut Known) {
        let contract = (row.chain_id, row.address.clone());
        if known.has_figures_on(row.chain_id) && !known.vaults.contains_key(&contract) {
            known.compounders.extend(vault_id(PROTOCOL, row.chain_id, &row.address).map(|id| (contract, id)));
        }
    }

    fn preface(&self, known: &mut Known) -> Vec<Observation> {
        known.protocols.insert(PROTOCOL.to_owned());
        vec![Observation::Protocol(Protocol {
            kind: Kind,
            observed_at: At(AS_OF),
            source: SOURCE.to_owned(),
            id: PROTOCOL.to_owned(),
            name: "Beefy".to_owned(),
            logo_url: None,
            website_url: None,
            app_url: None,
            documentation_url: None,
            github_url: None,
            twitter_url: None,
            launched_at: None,
            version: None,
            version_deployed_at: None,
            audits: None,
            newest_audit_at: None,
            auditors: Vec::new(),
            audit_report_url: None,
            bounty_usd: None,
            tvl_usd: None,
            strategy: None,
            dependencies: None,
            money_market: false,
            deposit_probe_wired: false,
            breakdown: Some(Breakdown::Strategy),
            evidence: BTreeMap::new(),
        })]
    }

    fn observe(&self, row: Row, known: &Known) -> Observed {
        if known.vaults.contains_key(&(row.chain_id, row.address.clone())) {
            return Observed::Skipped("listed under its own protocol already");
        }
        if !known.has_figures_on(row.chain_id) {
            return Observed::Skipped("no vault with figures is listed on its chain");
        }
        // An invalid address is passed on, so that ingest reports the fault.
        let id = vault_id(PROTOCOL, row.chain_id, &row.address).unwrap_or_else(|| row.address.clone());
        let is_exposed = self.exposed.contains(&(row.chain_id, row.address.clone()));
        let exposure = (!is_exposed).then(|| Observation::Exposure(unread(AS_OF, &row.source, id.clone())));
        let observed =
            [Observation::Strategy(Box::new(strategy(&row, id))), Observation::Vault(Box::new(vault(row, known)))];
        Observed::As(observed.into_iter().chain(exposure).collect())
    }
}

/// The file has neither the platform's kind of yield nor rates.
fn strategy(row: &Row, vault_id: String) -> VaultStrategy {
    VaultStrategy {
        kind: Kind,
        observed_at: At(AS_OF),
        source: row.source.clone(),
        vault_id,
        strategy_id: row.vault_id.clone(),
        address: None,
        name: row.name.clone(),
        strategy_type: Some(row.strategy_type.clone()),
        description: row.retire_reason.as_ref().map(|reason| format!("Ended: {reason}.")),
        is_active: row.status == "active",
        share: None,
        target_share: None,
        apr: None,
        apy: None,
        performance_fee: None,
        last_report_at: None,
        yield_sources: vec![YieldSource {
            name: row.platform_id.clone(),
            kind: YieldKind::Unknown,
            protocol_id: None,
            apr: None,
        }],
        risk_flags: row.risk_flags.clone(),
        source_url: None,
    }
}

/// The curator stays null, because the file's names of curators match no registry.
fn vault(row: Row, known: &Known) -> Vault {
    let mut evidence = BTreeMap::new();
    let mut derived = |field: &str, from: &str| evidence.insert(field.to_owned(), format!("{}: {from}", row.source));
    derived("first_seen_at", "listing date (lower bound of the age)");
    let strategy = STRATEGIES.into_iter().find(|(kind, _)| row.kind.as_deref() == Some(*kind));
    if let Some((kind, _)) = strategy {
        derived("strategy", &format!("type {kind}"));
    }
    let is_flagged = |flag: &str| row.risk_flags.iter().any(|it| it == flag);
    let (is_not_timelocked, is_not_verified) = (is_flagged(NOT_TIMELOCKED), is_flagged(NOT_VERIFIED));
    if is_not_timelocked {
        derived("timelock_seconds", &format!("risk flag {NOT_TIMELOCKED}"));
    }
    if is_not_verified {
        derived("source_code", &format!("risk flag {NOT_VERIFIED}"));
    }
    let deployment = row.deposit_token_address.clone().map(|address| (row.chain_id, address));
    Vault {
        kind: Kind,
        observed_at: At(AS_OF),
        id: String::new(),
        protocol_id: PROTOCOL.to_owned(),
        chain_id: row.chain_id,
        address: row.address,
        name: row.name,
        symbol: None,
        asset_symbol: Some(row.deposit_token_symbol),
        is_stablecoin: deployment.is_some_and(|deployment| known.stablecoins.contains(&deployment)),
        asset_address: row.deposit_token_address,
        asset_decimals: Some(row.deposit_token_decimals),
        curator_id: None,
        strategy: strategy.map(|(_, strategy)| strategy),
        asset_mode: AssetMode::Holdings,
        deployed_at: None,
        first_seen_at: Some(At(row.created_at)),
        is_immutable: None,
        timelock_seconds: is_not_timelocked.then_some(0),
        signers: None,
        exit: Exit::Unknown,
        source_code: if is_not_verified { Source::None } else { Source::Unknown },
        is_active: row.status == "active",
        is_shutdown: false,
        is_lsd: false,
        single_exposure: false,
        no_il: false,
        management_fee: None,
        performance_fee: None,
        tags: row.kind.into_iter().chain([row.strategy_type]).collect(),
        flags: row.risk_flags,
        source: row.source,
        evidence,
    }
}
