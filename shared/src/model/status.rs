//! The statuses and other fixed vocabularies of the API's rows, with the exact text of each value.

use crate::scoring::named_enum;

named_enum! {
    /// Whether the vault accepts deposits.
    pub enum DepositStatus {
        /// The chain confirmed deposit capacity.
        Open = "open",
        /// The chain confirmed that there is no deposit capacity.
        Closed = "closed",
        /// The status was not read, cannot be read for this protocol, or could not be read this time.
        Unknown = "unknown",
    }
}

impl DepositStatus {
    /// Value of the compatibility field `is_depositable`: null if the status is unknown.
    pub const fn is_depositable(self) -> Option<bool> {
        match self {
            DepositStatus::Open => Some(true),
            DepositStatus::Closed => Some(false),
            DepositStatus::Unknown => None,
        }
    }
}

named_enum! {
    /// Whether withdrawals are possible; less detailed than the deposit status.
    pub enum WithdrawStatus {
        /// Withdrawals are possible; all conditions that can stop withdrawals were read in the latest cycle.
        Open = "open",
        /// Withdrawals are stopped.
        Closed = "closed",
        /// The status could not be established.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether the vault's market lends. The status takes precedence over a published rate.
    pub enum BorrowStatus {
        /// Borrowing is possible.
        Open = "open",
        /// The reserve is not borrowable.
        Disabled = "disabled",
        /// Borrowing is paused; a rate may still be published.
        Paused = "paused",
        /// The cap on borrowing is reached; a rate may still be published.
        Capped = "capped",
        /// A condition that decides whether borrowing is possible could not be read.
        Unknown = "unknown",
        /// There is no borrower side.
        NotApplicable = "not_applicable",
    }
}

named_enum! {
    /// Status of the campaigns that pay borrowers.
    pub enum BorrowIncentiveStatus {
        /// At least one campaign is active.
        Observed = "observed",
        /// The source answered and no campaign is active.
        None = "none",
        /// The current state could not be established.
        Unavailable = "unavailable",
        /// There is no borrower side.
        NotApplicable = "not_applicable",
    }
}

named_enum! {
    /// Liquidity of a lending vault at one instant.
    pub enum LiquidityStatus {
        /// Part of the supply is not lent out.
        Available = "available",
        /// Nothing is available: the whole supply is lent out, or there is no supply.
        Exhausted = "exhausted",
        /// More is owed than was supplied: a distress signal, not proof of bad debt.
        Deficit = "deficit",
        /// TVL or utilization is unknown or does not apply.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether a vault's holders, markets or strategies were observed.
    pub enum EvidenceStatus {
        /// There is an observation.
        Observed = "observed",
        /// There is no observation; every figure is null.
        Unavailable = "unavailable",
    }
}

named_enum! {
    /// How completely a vault's holders are indexed.
    pub enum CoverageStatus {
        /// All holders are known.
        Complete = "complete",
        /// Holders may be missing; concentration and top holders are provisional.
        Indexing = "indexing",
    }
}

named_enum! {
    /// Category of a holder's address.
    pub enum HolderCategory {
        /// A contract or treasury that the vault's own protocol manages. All other categories are external.
        ProtocolManaged = "protocol_managed",
        /// Another vault.
        Vault = "vault",
        /// A contract of another party.
        Contract = "contract",
        /// An externally owned account.
        Account = "account",
        /// The category could not be established.
        Unknown = "unknown",
    }
}

named_enum! {
    /// How a holder's category was established.
    pub enum HolderMethod {
        /// The address is in a registry of vaults or contracts.
        Registry = "registry",
        /// A reviewer established the category.
        Review = "review",
        /// The code at the address was inspected.
        Bytecode = "bytecode",
    }
}

named_enum! {
    /// How a protocol's vaults use deposits, and which route shows it.
    pub enum Breakdown {
        /// Each vault spreads deposits over lending markets; see `/markets`.
        Markets = "markets",
        /// Each vault lends deposits to several strategies; see `/strategies`.
        Strategies = "strategies",
        /// Each vault runs one strategy; see `/strategy`.
        Strategy = "strategy",
    }
}

named_enum! {
    /// Kind of yield that a strategy earns.
    pub enum YieldKind {
        /// Interest from lending.
        Interest = "interest",
        /// Fees for providing liquidity to traders.
        TradingFees = "trading_fees",
        /// Tokens of a campaign, which are usually sold.
        Rewards = "rewards",
        /// Rewards for validating a network.
        Staking = "staking",
        /// Yield of another kind.
        Other = "other",
        /// The source does not state the kind.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether `tvl_usd` was read.
    pub enum TvlStatus {
        /// The value was read from the source.
        Observed = "observed",
        /// The value was not read or has no price; `tvl_usd` is served as 0.
        Unavailable = "unavailable",
    }
}

named_enum! {
    /// Whether the vault has a published score.
    pub enum ScoreStatus {
        /// The vault has a score.
        Scored = "scored",
        /// A required input is missing: score and tier are null.
        Unscored = "unscored",
    }
}

named_enum! {
    /// Whether audits of a protocol's deployed version are known.
    pub enum AuditStatus {
        /// At least one audit covers the deployed version.
        Audited = "audited",
        /// A search found no audit of the deployed version.
        Unaudited = "unaudited",
        /// Nobody searched for audits, or the source does not state the result.
        Unknown = "unknown",
    }
}

named_enum! {
    /// The side of a market that a campaign pays.
    pub enum RewardSide {
        /// The campaign pays depositors.
        Supply = "supply",
        /// The campaign pays borrowers.
        Borrow = "borrow",
    }
}

named_enum! {
    /// Kind of campaign.
    pub enum RewardType {
        /// Tokens paid to one side of one market; the only kind that lowers a borrower's cost.
        TokenIncentive = "token_incentive",
        /// Points without a price; listed with `apr` 0.
        Points = "points",
        /// A share of trading fees, earned by depositors.
        TradingFee = "trading_fee",
        /// A campaign that pays on the net rate of a whole position; listed as evidence only.
        Strategy = "strategy",
    }
}

named_enum! {
    /// Severity of an event.
    pub enum Severity {
        /// Funds are at risk or lost.
        Critical = "Critical",
        /// The event needs attention.
        Warning = "Warning",
        /// For information only.
        Info = "Info",
    }
}

named_enum! {
    /// Size class of an incident.
    pub enum IncidentSeverity {
        /// The incident was contained.
        Minor = "minor",
        /// The incident counts for the methodology's caps.
        Major = "major",
    }
}

named_enum! {
    /// Whether an incident is resolved.
    pub enum RemediationStatus {
        /// The incident is resolved.
        Resolved = "resolved",
        /// The incident is still open.
        Unresolved = "unresolved",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString};

    #[test]
    fn every_status_parses_back_from_its_text() {
        for status in BorrowStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            assert_eq!(serde_json::to_string(status).unwrap(), format!("\"{status}\""));
        }
        assert!("Open".parse::<BorrowStatus>().is_err());
        assert_eq!(Severity::Critical.to_string(), "Critical");
    }

    #[test]
    fn an_unknown_deposit_status_is_neither_depositable_nor_closed() {
        assert_eq!(DepositStatus::Unknown.is_depositable(), None);
        assert_eq!(DepositStatus::Closed.is_depositable(), Some(false));
        assert_eq!(DepositStatus::Open.is_depositable(), Some(true));
    }
}
