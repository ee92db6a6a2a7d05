//! Lending markets as facts of a snapshot: what is owed, what stands against it, and the vaults of the reserves.

use crate::model::ids::VaultKey;
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::wire::time::{Micros, Timestamp};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Deserialize;

/// A lending market as it was last read. Amounts in cents, rates in parts per million.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LendingMarket {
    /// `{chain_id}:{address}`: its name on any machine. The id in `/v1/markets` goes by who came first.
    pub contract: String,
    /// Its name.
    pub name: String,
    /// Its protocol.
    pub protocol_id: String,
    /// Its chain.
    pub chain_id: u64,
    /// `protocol_api` or `onchain_rpc`: how it was found.
    pub source: String,
    /// When the oldest part of it was read.
    pub read_from: Timestamp,
    /// When the newest part of it was read.
    pub read_to: Timestamp,
    /// What is borrowed, as far as it was read; null when no reading says.
    pub debt_cents: Option<i64>,
    /// Whether that is all of it: every reserve was read.
    pub is_debt_whole: bool,
    /// What stands against it; null when it could not be valued whole.
    pub collateral: Option<Collateral>,
    /// The vaults of its reserves.
    pub vaults: Vec<LendingVault>,
}

/// What may stand against debt, valued whole: all that is supplied, with a reading and a feed for every part of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Collateral {
    /// What it is worth.
    pub value_cents: i64,
    /// The highest liquidation threshold that any of it has; null where that of a part of it was not read.
    pub threshold_ppm: Option<i64>,
    /// The lowest bonus that a liquidator gets; null likewise.
    pub bonus_ppm: Option<i64>,
}

/// A vault that stands at a reserve.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LendingVault {
    /// The vault.
    pub vault_key: VaultKey,
    /// What is supplied through it; null when that was not read.
    pub supplied_cents: Option<i64>,
    /// Bad debt that it reports; null when it reports none.
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
