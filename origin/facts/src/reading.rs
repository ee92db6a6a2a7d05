//! What the service reads from chains itself.

use crate::fact::{KeyPart, observations};
use rds_shared::scoring::provenance::ChainCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

observations! {
    /// One field of a vault, read at one block of its chain. `observed_at` is the block's time.
    ChainReading in "chain_reading" by [vault_id, field, observed_at] {
        /// Id of the vault; a known vault.
        vault_id: String,
        /// The field that was read.
        field: ReadField,
        /// In the field's own unit. Null if the field was read before, and is not understood any more.
        value: Value,
        /// Must be the vault's chain.
        chain_id: i64,
        /// Number of the block.
        block_number: i64,
        /// `0x` and 64 hex digits.
        block_hash: String,
        /// The calls at the block that led to the value.
        calls: Vec<ChainCall>,
        /// Number of independent operators that gave the same answers.
        agreed: u32,
        /// Number of operators that were asked.
        asked: u32,
    }

    /// A chain was read up to this block. `observed_at` is the block's time.
    ChainSync in "chain_sync" by [chain_id] {
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// Number of the block.
        block_number: i64,
        /// `0x` and 64 hex digits.
        block_hash: String,
        /// Up to this block, events of new vaults were looked for; absent if they never were.
        #[serde(default)]
        searched_to: Option<i64>,
        /// Factories whose events were looked for up to the same block: `0x` and 40 hex digits each.
        #[serde(default)]
        factories: Vec<String>,
        /// Why the chain is not read any more, and not served; absent while it is read.
        #[serde(default)]
        halted: Option<String>,
    }

    /// A final block was replaced: what was read from a block on is taken back. It takes effect once, so that what is read later stays.
    ChainRetraction in "chain_retraction" by [chain_id, from_block, block_hash] {
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// The first block that is taken back.
        from_block: i64,
        /// A block that was replaced: `0x` and 64 hex digits.
        block_hash: String,
        /// Why it is taken back.
        reason: String,
    }

    /// A contract that looks like a vault, found by its events. `observed_at` is the time of the block at which it was looked at.
    ChainCandidate in "chain_candidate" by [chain_id, address] {
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// The vault's contract.
        address: String,
        /// The vault's own name.
        name: Option<String>,
        /// Symbol of the share token.
        symbol: Option<String>,
        /// Contract of the deposit asset.
        asset_address: String,
        /// Symbol of the deposit asset.
        asset_symbol: Option<String>,
        /// Decimals of the deposit asset.
        asset_decimals: u32,
        /// The block of the event by which it was found.
        block_number: i64,
    }
}

/// A column that can be read on a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadField {
    /// When the contract was made. The evidence names the first block at which the contract has code; its parent has none.
    DeployedAt,
    IsImmutable,
    TimelockSeconds,
    Signers,
    IsShutdown,
    Exit,
    TvlUsd,
    TvlNative,
    PricePerShare,
    DepositStatus,
    WithdrawStatus,
    DepositCapacityUsd,
    Utilization,
    BaseApr,
    BorrowApr,
    ActiveLoansUsd,
    BorrowStatus,
    BadDebtUsd,
    NeedsRiskReview,
}

/// The table that has the column of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadTable {
    Vault,
    VaultState,
}

impl ReadField {
    pub const ALL: [ReadField; 19] = [
        ReadField::DeployedAt,
        ReadField::IsImmutable,
        ReadField::TimelockSeconds,
        ReadField::Signers,
        ReadField::IsShutdown,
        ReadField::Exit,
        ReadField::TvlUsd,
        ReadField::TvlNative,
        ReadField::PricePerShare,
        ReadField::DepositStatus,
        ReadField::WithdrawStatus,
        ReadField::DepositCapacityUsd,
        ReadField::Utilization,
        ReadField::BaseApr,
        ReadField::BorrowApr,
        ReadField::ActiveLoansUsd,
        ReadField::BorrowStatus,
        ReadField::BadDebtUsd,
        ReadField::NeedsRiskReview,
    ];

    /// The name of the column.
    pub fn as_str(self) -> &'static str {
        match self {
            ReadField::DeployedAt => "deployed_at",
            ReadField::IsImmutable => "is_immutable",
            ReadField::TimelockSeconds => "timelock_seconds",
            ReadField::Signers => "signers",
            ReadField::IsShutdown => "is_shutdown",
            ReadField::Exit => "exit",
            ReadField::TvlUsd => "tvl_usd",
            ReadField::TvlNative => "tvl_native",
            ReadField::PricePerShare => "price_per_share",
            ReadField::DepositStatus => "deposit_status",
            ReadField::WithdrawStatus => "withdraw_status",
            ReadField::DepositCapacityUsd => "deposit_capacity_usd",
            ReadField::Utilization => "utilization",
            ReadField::BaseApr => "base_apr",
            ReadField::BorrowApr => "borrow_apr",
            ReadField::ActiveLoansUsd => "active_loans_usd",
            ReadField::BorrowStatus => "borrow_status",
            ReadField::BadDebtUsd => "bad_debt_usd",
            ReadField::NeedsRiskReview => "needs_risk_review",
        }
    }

    pub fn table(self) -> ReadTable {
        match self {
            ReadField::DeployedAt
            | ReadField::IsImmutable
            | ReadField::TimelockSeconds
            | ReadField::Signers
            | ReadField::IsShutdown
            | ReadField::Exit => ReadTable::Vault,
            _ => ReadTable::VaultState,
        }
    }

    /// Whether the column says who controls the vault.
    pub fn is_of_control(self) -> bool {
        matches!(self, ReadField::IsImmutable | ReadField::TimelockSeconds | ReadField::Signers)
    }

    /// Whether the column may be null, so that a value that is not understood any more can be told.
    pub fn is_nullable(self) -> bool {
        !matches!(
            self,
            ReadField::IsShutdown
                | ReadField::Exit
                | ReadField::DepositStatus
                | ReadField::WithdrawStatus
                | ReadField::BorrowStatus
                | ReadField::NeedsRiskReview
        )
    }
}

impl KeyPart for ReadField {
    fn part(&self) -> String {
        self.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_written_as_its_column_is_named() {
        for field in ReadField::ALL {
            assert_eq!(serde_json::to_value(field).unwrap(), field.as_str());
        }
    }
}
