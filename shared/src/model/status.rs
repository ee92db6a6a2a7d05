//! The statuses that vault rows carry, with their exact words.
//!
//! Source: interface, "Vault (list row)" and "Platform and data statuses".

use crate::scoring::named_enum;

named_enum! {
    /// Whether the chain accepts a deposit.
    pub enum DepositStatus {
        /// The chain confirmed capacity.
        Open = "open",
        /// The chain confirmed zero capacity.
        Closed = "closed",
        /// Not read, not wired for the protocol, or the read failed.
        Unknown = "unknown",
    }
}

impl DepositStatus {
    /// The compatibility field `is_depositable`: null when nothing was established.
    pub const fn is_depositable(self) -> Option<bool> {
        match self {
            DepositStatus::Open => Some(true),
            DepositStatus::Closed => Some(false),
            DepositStatus::Unknown => None,
        }
    }
}

named_enum! {
    /// The withdrawal side's coarse mirror of [`DepositStatus`].
    pub enum WithdrawStatus {
        /// Live, and its gates were read in the latest cycle.
        Open = "open",
        /// Withdrawals are stopped.
        Closed = "closed",
        /// Not established.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether the vault's market lends; it takes precedence over a published rate.
    pub enum BorrowStatus {
        /// Borrowing is possible.
        Open = "open",
        /// The reserve is not borrowable.
        Disabled = "disabled",
        /// Borrowing is paused; a rate may still be published.
        Paused = "paused",
        /// The cap leaves no room; a rate may still be published.
        Capped = "capped",
        /// A gate could not be read.
        Unknown = "unknown",
        /// There is no borrower side.
        NotApplicable = "not_applicable",
    }
}

named_enum! {
    /// What is known of the campaigns that pay borrowers.
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
    /// The lending liquidity at one instant.
    pub enum LiquidityStatus {
        /// Some of the supply is not lent out.
        Available = "available",
        /// All of it is lent out.
        Exhausted = "exhausted",
        /// More is owed than was supplied: a distress signal, not proof of bad debt.
        Deficit = "deficit",
        /// TVL or utilization is unknown or does not apply.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether something that is looked up vault by vault was found: holders, markets, strategies.
    pub enum EvidenceStatus {
        /// There is an observation.
        Observed = "observed",
        /// Nobody has looked, or nothing could be read: every figure is null.
        Unavailable = "unavailable",
    }
}

named_enum! {
    /// How far the indexing of a vault's holders has come.
    pub enum CoverageStatus {
        /// Every holder is known.
        Complete = "complete",
        /// Some may be missing: concentration and top holders are provisional.
        Indexing = "indexing",
    }
}

named_enum! {
    /// Who is behind a holder's address.
    pub enum HolderCategory {
        /// A contract or treasury that the vault's own protocol manages. Every other category is external.
        ProtocolManaged = "protocol_managed",
        /// Another vault.
        Vault = "vault",
        /// A contract of somebody else.
        Contract = "contract",
        /// An externally owned account.
        Account = "account",
        /// Not established.
        Unknown = "unknown",
    }
}

named_enum! {
    /// How a holder's category was established.
    pub enum HolderMethod {
        /// The address stands in a registry of vaults or contracts.
        Registry = "registry",
        /// A reviewer named it.
        Review = "review",
        /// The code at the address was looked at.
        Bytecode = "bytecode",
    }
}

named_enum! {
    /// What a protocol's vaults do with deposits, as far as one of three routes can show it.
    pub enum Breakdown {
        /// They spread them over lending markets: `/markets`.
        Markets = "markets",
        /// They lend them to several strategies: `/strategies`.
        Strategies = "strategies",
        /// They run one strategy each: `/strategy`.
        Strategy = "strategy",
    }
}

named_enum! {
    /// What a strategy earns with.
    pub enum YieldKind {
        /// Lending.
        Interest = "interest",
        /// Liquidity for traders.
        TradingFees = "trading_fees",
        /// Tokens of a campaign, usually sold.
        Rewards = "rewards",
        /// Validation.
        Staking = "staking",
        /// Anything else.
        Other = "other",
        /// The source does not say.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Whether `tvl_usd` was read.
    pub enum TvlStatus {
        /// Read from the source.
        Observed = "observed",
        /// The read failed; `tvl_usd` is served as 0.
        Unavailable = "unavailable",
    }
}

named_enum! {
    /// Whether the published score comes from the methodology.
    pub enum ScoreStatus {
        /// The vault has a score.
        Scored = "scored",
        /// A required input is missing: score and tier are null.
        Unscored = "unscored",
    }
}

named_enum! {
    /// What is known of a protocol's audits.
    pub enum AuditStatus {
        /// At least one audit covers the deployed version.
        Audited = "audited",
        /// The search found none.
        Unaudited = "unaudited",
        /// Nobody looked, or the source does not say.
        Unknown = "unknown",
    }
}

named_enum! {
    /// The side of a market that a campaign pays.
    pub enum RewardSide {
        /// Depositors.
        Supply = "supply",
        /// Borrowers.
        Borrow = "borrow",
    }
}

named_enum! {
    /// What kind of campaign a reward row is evidence of.
    pub enum RewardType {
        /// Tokens paid on one side of one market: the only kind that lowers a borrower's cost.
        TokenIncentive = "token_incentive",
        /// Points without a price; listed with `apr` 0.
        Points = "points",
        /// A share of trading fees, earned by depositors.
        TradingFee = "trading_fee",
        /// A campaign on the net rate of a whole position; kept as evidence only.
        Strategy = "strategy",
    }
}

named_enum! {
    /// How much an event matters.
    pub enum Severity {
        /// Funds are at risk or lost.
        Critical = "Critical",
        /// Something to look at.
        Warning = "Warning",
        /// For the record.
        Info = "Info",
    }
}

named_enum! {
    /// The size class of an incident.
    pub enum IncidentSeverity {
        /// Contained.
        Minor = "minor",
        /// Counted by the methodology's caps.
        Major = "major",
    }
}

named_enum! {
    /// Whether an incident has been dealt with.
    pub enum RemediationStatus {
        /// Closed.
        Resolved = "resolved",
        /// Still open.
        Unresolved = "unresolved",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString};

    #[test]
    fn every_word_reads_back_as_itself() {
        for status in BorrowStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            assert_eq!(serde_json::to_string(status).unwrap(), format!("\"{status}\""));
        }
        assert!("Open".parse::<BorrowStatus>().is_err());
        assert_eq!(Severity::Critical.to_string(), "Critical");
    }

    #[test]
    fn an_unknown_gate_is_neither_depositable_nor_not() {
        assert_eq!(DepositStatus::Unknown.is_depositable(), None);
        assert_eq!(DepositStatus::Closed.is_depositable(), Some(false));
        assert_eq!(DepositStatus::Open.is_depositable(), Some(true));
    }
}
