//! The security registry: attacks as sources report them, once somebody has published them.
//!
//! Source: interface, "Security event (registry row)" and "Event and security-event publication".

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
    /// Where a registry row stands. Only a published one is served.
    pub enum RegistryState {
        /// As it came in; an editor or the auto-publish pass may publish it.
        Draft = "draft",
        /// In the feed.
        Published = "published",
        /// An editor looked at the draft and does not want it.
        Dismissed = "dismissed",
        /// Was public, and is no longer vouched for.
        Retracted = "retracted",
        /// Taken out, public or not.
        Removed = "removed",
        /// Taken out for good: no verb brings it back.
        Purged = "purged",
    }
}

impl RegistryState {
    /// Whether a row in this state may come to stand in `next`. Staying where it is counts as allowed.
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
    /// Numeric id.
    pub id: u64,
    /// Who reported it.
    pub source: String,
    /// Its name there.
    pub source_id: String,
    /// The chain; null where the source names none.
    pub chain_id: Option<ChainId>,
    /// The chain, in paths.
    pub chain_slug: Option<String>,
    /// Title, one line of plain text.
    pub title: String,
    /// What happened, as plain text; null if unknown.
    pub description: Option<String>,
    /// Accounts and contracts of the attacker.
    pub attackers: Vec<String>,
    /// Addresses of the contracts that were attacked.
    pub victims: Vec<String>,
    /// Confirmations less disconfirmations.
    pub net_score: i64,
    /// How many others confirm the report.
    pub confirmations: u64,
    /// How many dispute it.
    pub disconfirmations: u64,
    /// What was lost; null where nobody states it in dollars or the statement is in doubt.
    pub loss_amount_usd: Option<Cents>,
    /// How much it matters.
    pub severity: Severity,
    /// The attack, or the first transaction of it.
    pub tx_hash: Option<String>,
    /// The report at its source.
    pub native_url: Option<String>,
    /// Where else it is told.
    pub links: Vec<Link>,
    /// Whether it concerns a tracked vault, asset, market or protocol.
    pub affects_tracked_universe: bool,
    /// When it happened.
    pub attacked_at: Timestamp,
    /// The event of the feed that tells of it.
    pub promoted_event_id: Option<String>,
    /// Who published it here.
    #[serde(rename = "published_by")]
    pub published_by: PublishedBy,
}

/// `meta` of a list whose total is not told.
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
    fn what_is_purged_stays_purged_and_nothing_becomes_a_draft_again() {
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
