//! Lending markets as facts of a snapshot: debt, collateral, and the vaults of the reserves.

use crate::model::ids::VaultKey;
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::wire::time::{Micros, Timestamp};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Deserialize;

/// A lending market as last read. Amounts are in US cents, ratios in parts per million.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LendingMarket {
    /// `{chain_id}:{address}`, the same on any machine. The id in `/v1/markets` depends on insertion order and is not used here.
    pub contract: String,
    pub name: String,
    pub protocol_id: String,
    pub chain_id: u64,
    /// How the market was found: `protocol_api` or `onchain_rpc`.
    pub source: String,
    /// Time of its oldest reading.
    pub read_from: Timestamp,
    /// Time of its newest reading.
    pub read_to: Timestamp,
    /// Total debt of the reserves that were read; `None` when no reserve was read.
    pub debt_cents: Option<i64>,
    /// Whether every reserve was read, so that `debt_cents` is complete.
    pub is_debt_whole: bool,
    /// The collateral; `None` unless all of it could be valued.
    pub collateral: Option<Collateral>,
    pub vaults: Vec<LendingVault>,
}

/// Everything supplied to the market, fully valued: each part has a reading and a price feed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Collateral {
    pub value_cents: i64,
    /// The highest liquidation threshold of its parts; `None` when one of them was not read.
    pub threshold_ppm: Option<i64>,
    /// The lowest liquidation bonus of its parts; `None` when one of them was not read.
    pub bonus_ppm: Option<i64>,
}

/// A vault that supplies a reserve.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LendingVault {
    pub vault_key: VaultKey,
    /// Amount supplied through the vault; `None` when not read.
    pub supplied_cents: Option<i64>,
    /// Bad debt reported by the vault; `None` when it reports none.
    pub bad_debt_cents: Option<i64>,
}

impl Canonicalize for LendingMarket {
    fn canonical(&self) -> Canonical {
        let instant = |instant: Timestamp| Canonical::Text(Micros(instant).to_string());
        let collateral = self.collateral.as_ref().map(|collateral| {
            Canonical::object([
                ("valueCents", collateral.value_cents.into()),
                ("thresholdPpm", collateral.threshold_ppm.into()),
                ("bonusPpm", collateral.bonus_ppm.into()),
            ])
        });
        let vault = |vault: &LendingVault| {
            Canonical::object([
                ("vaultKey", Canonical::Text(vault.vault_key.to_string())),
                ("suppliedCents", vault.supplied_cents.into()),
                ("badDebtCents", vault.bad_debt_cents.into()),
            ])
        };
        Canonical::object([
            ("contract", self.contract.as_str().into()),
            ("name", self.name.as_str().into()),
            ("protocolId", self.protocol_id.as_str().into()),
            ("chainId", self.chain_id.into()),
            ("source", self.source.as_str().into()),
            ("readFrom", instant(self.read_from)),
            ("readTo", instant(self.read_to)),
            ("debtCents", self.debt_cents.into()),
            ("isDebtWhole", self.is_debt_whole.into()),
            ("collateral", collateral.unwrap_or(Canonical::Null)),
            ("vaults", Canonical::list(self.vaults.iter().map(vault))),
        ])
    }
}
