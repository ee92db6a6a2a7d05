//! Checks of incidents and events.

use super::fields::Check;
use super::rule::{Rule, VAULT_ID};
use rds_facts::{EventRecord, EventScope, IncidentLink, Reference, contract, event_id};
use rds_store::At;
use serde_json::Value;
use std::collections::BTreeSet;

/// Event types that the service itself produces or matches. Sources may write them in any case; this spelling is stored.
const OWN_TYPES: [&str; 7] = [
    "Incident",
    "BadDebt",
    "DepositabilityChange",
    "AllocationChange",
    "ControlChange",
    "RatingChange",
    "SecurityEvent",
];
/// Maximum bytes of an event type.
const MAX_TYPE: usize = 64;
/// Maximum vaults of one event.
const MAX_VAULTS: usize = 1_000;
/// Maximum bytes of an event's `data`, as JSON.
const MAX_DATA: usize = 16_384;

/// An incident's link names one subject.
const EITHER: &str = "must be present exactly when protocol_id is not";

impl Check {
    pub(super) fn incident(&mut self, incident: &mut IncidentLink) {
        self.header(incident.observed_at, &incident.source);
        self.slug("event_key", &incident.event_key);
        self.must("vault_id", incident.vault_id.is_some() != incident.protocol_id.is_some(), EITHER);
        self.rule("vault_id", || Rule::Form(&VAULT_ID));
        if let Some(vault_id) = &mut incident.vault_id {
            self.vault_id("vault_id", vault_id);
        }
        self.optional_slug("protocol_id", incident.protocol_id.as_ref());
        self.labels(&mut incident.event_type, &incident.title, incident.description.as_ref());
        self.timing(incident.occurred_at, incident.observed_at, incident.block_number);
        self.amount("loss_usd", incident.loss_usd);
        self.amount("returned_usd", incident.returned_usd);
        self.optional_text("tx_hash", incident.tx_hash.as_ref());
        self.references(&incident.links);
    }

    /// Checks an event and fills in the derived fields: id, scope and the market's contract.
    pub(super) fn event(&mut self, event: &mut EventRecord) {
        self.header(event.observed_at, &event.source);
        self.slug("event_key", &event.event_key);
        event.id = event_id(&event.event_key);
        self.labels(&mut event.event_type, &event.title, event.description.as_ref());
        self.timing(event.occurred_at, event.observed_at, event.block_number);
        self.amount("loss_usd", event.loss_usd);
        self.amount("returned_usd", event.returned_usd);
        self.optional_text("tx_hash", event.tx_hash.as_ref());
        self.references(&event.links);
        self.entries("vault_ids", event.vault_ids.len(), 0..=MAX_VAULTS);
        let mut named = BTreeSet::new();
        for (place, vault_id) in event.vault_ids.iter_mut().enumerate() {
            let field = format!("vault_ids[{place}]");
            self.vault_id(&field, vault_id);
            self.must(&field, named.insert(vault_id.clone()), "must not occur twice");
        }
        for (field, slug) in
            [("group_key", &event.group_key), ("protocol_id", &event.protocol_id), ("curator_id", &event.curator_id)]
        {
            self.optional_slug(field, slug.as_ref());
        }
        event.scope = if event.vault_ids.is_empty() { EventScope::Protocol } else { EventScope::Vault };
        if let (Some(address), Some(chain_id)) = (&mut event.market_address, event.chain_id) {
            self.address("market_address", address);
            event.market = Some(contract(chain_id, address));
        }
        let is_placed = event.market_address.is_none() || event.chain_id.is_some();
        self.must("chain_id", is_placed, "is required with market_address");
        let bytes = serde_json::to_vec(&event.data).map_or(0, |json| json.len());
        self.must("data", bytes <= MAX_DATA, format_args!("must have at most {MAX_DATA} bytes as JSON"));
        let has_nul = |(name, value): (&String, &Value)| name.contains('\0') || value.to_string().contains("\\u0000");
        self.must("data", !event.data.iter().any(has_nul), "must not contain a NUL character");
    }

    fn labels(&mut self, event_type: &mut String, title: &str, description: Option<&String>) {
        self.text("event_type", event_type);
        self.max_bytes("event_type", event_type, MAX_TYPE);
        if let Some(known) = OWN_TYPES.iter().find(|known| known.eq_ignore_ascii_case(event_type)) {
            *event_type = (*known).to_owned();
        }
        self.text("title", title);
        self.optional_text("description", description);
    }

    fn timing(&mut self, occurred_at: At, observed_at: At, block_number: Option<i64>) {
        self.not_later("occurred_at", occurred_at, observed_at);
        self.count("block_number", block_number);
    }

    pub(super) fn references(&mut self, links: &[Reference]) {
        for (place, link) in links.iter().enumerate() {
            self.text(&format!("links[{place}].label"), &link.label);
            self.url(&format!("links[{place}].url"), Some(&link.url));
        }
    }
}
