//! The security registry: attacks as sources report them. A row is served once it is published.

use super::event::Link;
use super::ids::ChainId;
use super::money::Cents;
use super::status::Severity;
use crate::scoring::named_enum;
use crate::wire::page::PageRequest;
use crate::wire::time::Timestamp;
use alloc::{string::String, vec::Vec};
use serde::Serialize;

named_enum! {
    /// State of a registry row. Only published rows are served.
    pub enum RegistryState {
        /// As received; an editor or the auto-publish pass may publish it.
        Draft = "draft",
        /// Served in the list.
        Published = "published",
        /// An editor rejected the draft.
        Dismissed = "dismissed",
        /// Withdrawn after publication, because its content is no longer considered reliable.
        Retracted = "retracted",
        /// Removed, whether or not it was published before.
        Removed = "removed",
        /// Removed permanently; no command can publish it again.
        Purged = "purged",
    }
}

impl RegistryState {
    /// Whether a row may change from this state to `next`. Keeping its state is allowed.
    pub fn may_become(self, next: RegistryState) -> bool {
        use RegistryState::*;
        match (self, next) {
            (from, to) if from == to => true,
            (Purged, _) | (_, Draft) => false,
            (_, Published | Removed | Purged) => true,
            (from, Dismissed) => from == Draft,
            (from, Retracted) => from == Published,
        }
    }
}

named_enum! {
    /// Who published a row.
    pub enum PublishedBy {
        /// An editor.
        Admin = "admin",
        /// The auto-publish pass.
        Auto = "auto",
    }
}

/// One published attack.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SecurityEvent {
    /// Numeric id of the row.
    pub id: u64,
    /// Name of the source that reported the attack.
    pub source: String,
    /// The source's own id of the attack.
    pub source_id: String,
    /// Number of the chain; null if the source names none.
    pub chain_id: Option<ChainId>,
    /// Name of the chain in paths; null if unknown.
    pub chain_slug: Option<String>,
    /// Title, one line of plain text.
    pub title: String,
    /// What happened, as plain text; null if unknown.
    pub description: Option<String>,
    /// Addresses of the attacker's accounts and contracts.
    pub attackers: Vec<String>,
    /// Addresses of the contracts that were attacked.
    pub victims: Vec<String>,
    /// `confirmations` minus `disconfirmations`.
    pub net_score: i64,
    /// Number of other parties that confirm the report.
    pub confirmations: u64,
    /// Number of other parties that dispute the report.
    pub disconfirmations: u64,
    /// Loss in USD; null if no source states an amount in dollars, or if the stated amount is doubtful.
    pub loss_amount_usd: Option<Cents>,
    /// Severity of the attack.
    pub severity: Severity,
    /// Hash of the attack's transaction, or of the first of several; null if unknown.
    pub tx_hash: Option<String>,
    /// URL of the report at its source; null if unknown.
    pub native_url: Option<String>,
    /// Links to other reports about the attack.
    pub links: Vec<Link>,
    /// Whether the attack concerns a tracked vault, asset, market or protocol.
    pub affects_tracked_universe: bool,
    /// Instant of the attack.
    pub attacked_at: Timestamp,
    /// Id of the event in the event feed that reports the attack; null if there is none.
    pub promoted_event_id: Option<String>,
    /// Who published the row in this registry.
    #[serde(rename = "published_by")]
    pub published_by: PublishedBy,
}

/// `meta` of a paged list that does not report the total number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MoreMeta {
    /// The page, counted from 1.
    pub page: u64,
    /// Rows per page, after clamping.
    pub limit: u64,
    /// Whether another page follows.
    pub has_more: bool,
}

impl MoreMeta {
    /// The meta of `page` over a list of `total` rows.
    pub fn new(page: PageRequest, total: usize) -> Self {
        MoreMeta { page: page.number, limit: page.size, has_more: page.end() < total as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purged_row_stays_purged_and_no_row_becomes_a_draft_again() {
        use RegistryState::*;
        for state in RegistryState::ALL {
            assert!(state.may_become(*state));
            assert_eq!(Purged.may_become(*state), *state == Purged);
            assert_eq!(state.may_become(Draft), *state == Draft);
            assert_eq!(state.may_become(Retracted), matches!(state, Published | Retracted));
            assert_eq!(state.may_become(Dismissed), matches!(state, Draft | Dismissed));
        }
        assert!(Retracted.may_become(Published) && Removed.may_become(Published) && Dismissed.may_become(Published));
    }
}
