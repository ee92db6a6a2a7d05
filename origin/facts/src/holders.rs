//! Holders of a vault's shares. An ingest line lists every balance; the stored row keeps the concentration figures and the largest
//! holders. Each balance is also stored as a position of its holder.

use super::At;
use super::Position;
use super::fact::{Fact, Kind};
use rds_shared::model::holders::TopHolder;
use rds_shared::model::ids::Address;
use rds_shared::model::status::{CoverageStatus, HolderCategory, HolderMethod};
use rds_shared::rules::holders::{Balance, coverage, figures, fraction, parse_balance, share};
use rds_shared::scoring::Ppm;
use serde::{Deserialize, Serialize};

/// Number of largest holders that a row keeps with address and balance.
pub const TOP_HOLDERS: usize = 20;

fn unknown() -> HolderCategory {
    HolderCategory::Unknown
}

/// One observation of a vault's holders: all known ones, in any order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HolderSnapshot {
    /// Placeholder: the line's `kind` is read before the struct is parsed.
    #[serde(default)]
    pub kind: Kind,
    /// The instant of the balances.
    pub observed_at: At,
    /// Name of the source.
    pub source: String,
    /// Id of the vault; a known vault.
    pub vault_id: String,
    /// The share token, if it is a different contract than the vault.
    pub token_address: Option<String>,
    /// The block up to which transfers were read.
    pub indexed_to_block: Option<i64>,
    /// Whether transfers were read from the token's first block on.
    pub backfill_complete: bool,
    /// Supply in the token's smallest unit. If known, coverage is complete only when the balances sum to it.
    pub total_supply_raw: Option<String>,
    /// Every holder with a balance above 0.
    pub holders: Vec<Holder>,
}

/// One holder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// Unique within a snapshot.
    pub address: String,
    /// Balance in the token's smallest unit, as decimal digits; above 0.
    pub balance_raw: String,
    /// Display name.
    pub label: Option<String>,
    /// Kind of holder.
    #[serde(default = "unknown")]
    pub category: HolderCategory,
    /// How the category was determined.
    pub method: Option<HolderMethod>,
}

/// A row of `holder_snapshot`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HolderRow {
    pub vault_id: String,
    pub observed_at: At,
    pub token_address: Option<String>,
    pub holder_count: u64,
    pub external_holder_count: u64,
    pub top1: Option<i64>,
    pub top5: Option<i64>,
    pub top10: Option<i64>,
    pub hhi: Option<i64>,
    pub external_top1: Option<i64>,
    pub external_top5: Option<i64>,
    pub external_top10: Option<i64>,
    pub external_hhi: Option<i64>,
    pub protocol_managed: Option<i64>,
    pub top_holders: Vec<StoredHolder>,
    pub indexed_to_block: Option<i64>,
    pub backfill_complete: bool,
    pub coverage_status: CoverageStatus,
    pub source: String,
}

/// One of the largest holders, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredHolder {
    pub address: String,
    pub balance_raw: String,
    /// Part of the sum of all balances, in parts per million.
    pub share: i64,
    pub label: Option<String>,
    /// Kind of holder.
    pub category: HolderCategory,
    pub method: Option<HolderMethod>,
}

impl TryFrom<StoredHolder> for TopHolder {
    type Error = String;

    fn try_from(holder: StoredHolder) -> Result<Self, String> {
        let address = Address::parse_any(&holder.address).map(|(_, address)| address);
        Ok(TopHolder {
            address: address.ok_or_else(|| format!("not an address: {:?}", holder.address))?,
            balance_raw: holder.balance_raw,
            pct: Ppm(holder.share),
            label: holder.label,
            category: holder.category,
            method: holder.method,
        })
    }
}

impl HolderSnapshot {
    /// Each holder's position in the vault. `share` is the part of the token's supply, or of the sum of balances if the supply is unknown
    /// and all transfers were read; otherwise `None`.
    pub fn positions(&self) -> Vec<Position> {
        let balance = |holder: &Holder| parse_balance(&holder.balance_raw).unwrap_or_default();
        let balances: Vec<_> = self.holders.iter().map(balance).collect();
        let supply = match self.total_supply_raw.as_deref().and_then(parse_balance) {
            None if self.backfill_complete => Some(balances.iter().sum()),
            supply => supply,
        };
        let shares = balances.iter().map(|balance| fraction(balance, supply.as_ref()?));
        let held = |(holder, share): (&Holder, Option<f64>)| Position {
            kind: Kind,
            observed_at: self.observed_at,
            source: self.source.clone(),
            holder: holder.address.clone(),
            vault_id: self.vault_id.clone(),
            balance_raw: holder.balance_raw.clone(),
            share,
        };
        self.holders.iter().zip(shares).map(held).collect()
    }

    /// The row of the snapshot.
    pub fn row(&self) -> HolderRow {
        let parsed = |holder: &Holder| {
            // Ingest refuses a line with an invalid balance before this point.
            let raw = parse_balance(&holder.balance_raw).unwrap_or_default();
            Balance { raw, managed: holder.category == HolderCategory::ProtocolManaged }
        };
        let balances: Vec<Balance> = self.holders.iter().map(parsed).collect();
        let found = figures(&balances);
        let supply = self.total_supply_raw.as_deref().and_then(parse_balance);
        let total = balances.iter().map(|balance| &balance.raw).sum();
        let mut ranked: Vec<(&Balance, &Holder)> = balances.iter().zip(&self.holders).collect();
        ranked.sort_unstable_by(|(a, x), (b, y)| b.raw.cmp(&a.raw).then_with(|| x.address.cmp(&y.address)));
        let stored = |(balance, holder): &(&Balance, &Holder)| StoredHolder {
            address: holder.address.clone(),
            balance_raw: holder.balance_raw.clone(),
            share: share(&balance.raw, &total).unwrap_or_default().0,
            label: holder.label.clone(),
            category: holder.category,
            method: holder.method,
        };
        HolderRow {
            vault_id: self.vault_id.clone(),
            observed_at: self.observed_at,
            token_address: self.token_address.clone(),
            holder_count: found.holders,
            external_holder_count: found.external_holders,
            top1: found.all.map(|all| all.top1.0),
            top5: found.all.map(|all| all.top5.0),
            top10: found.all.map(|all| all.top10.0),
            hhi: found.all.map(|all| all.hhi.0),
            external_top1: found.external.map(|external| external.top1.0),
            external_top5: found.external.map(|external| external.top5.0),
            external_top10: found.external.map(|external| external.top10.0),
            external_hhi: found.external.map(|external| external.hhi.0),
            protocol_managed: found.protocol_managed.map(|share| share.0),
            top_holders: ranked.iter().take(TOP_HOLDERS).map(stored).collect(),
            indexed_to_block: self.indexed_to_block,
            backfill_complete: self.backfill_complete,
            coverage_status: coverage(self.backfill_complete, supply.as_ref(), &balances),
            source: self.source.clone(),
        }
    }
}

impl Fact for HolderRow {
    const TABLE: &'static str = "holder_snapshot";
    const KEY: &'static [&'static str] = &["vault_id", "observed_at"];
    const COLUMNS: &'static [&'static str] = &[
        "vault_id",
        "observed_at",
        "token_address",
        "holder_count",
        "external_holder_count",
        "top1",
        "top5",
        "top10",
        "hhi",
        "external_top1",
        "external_top5",
        "external_top10",
        "external_hhi",
        "protocol_managed",
        "top_holders",
        "indexed_to_block",
        "backfill_complete",
        "coverage_status",
        "source",
    ];

    fn observed_at(&self) -> At {
        self.observed_at
    }

    fn key(&self) -> String {
        format!("{}|{}", self.vault_id, self.observed_at.0.as_micros())
    }
}
