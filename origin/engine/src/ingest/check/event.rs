//! Checks of incidents and events.

use super::fields::Check;
use rds_facts::{EventRecord, EventScope, IncidentLink, Reference, contract, event_id};
use rds_store::At;
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

impl Check {
    pub(super) fn incident(&mut self, incident: &mut IncidentLink) {
        self.header(incident.observed_at, &incident.source);
        self.slug("event_key", &incident.event_key);
        match (&mut incident.vault_id, &incident.protocol_id) {
            (Some(vault_id), None) => self.vault_id("vault_id", vault_id),
            (None, Some(protocol_id)) => self.slug("protocol_id", protocol_id),
            _ => self.wrong("vault_id", "exactly one of vault_id and protocol_id is needed"),
        }
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
        if event.vault_ids.len() > MAX_VAULTS {
            self.wrong("vault_ids", format!("may name at most {MAX_VAULTS} vaults"));
        }
        let mut named = BTreeSet::new();
        for (place, vault_id) in event.vault_ids.iter_mut().enumerate() {
            let field = format!("vault_ids[{place}]");
            self.vault_id(&field, vault_id);
            if !named.insert(vault_id.clone()) {
                self.wrong(field, "must not occur twice");
            }
        }
        for (field, slug) in
            [("group_key", &event.group_key), ("protocol_id", &event.protocol_id), ("curator_id", &event.curator_id)]
        {
            if let Some(slug) = slug {
                self.slug(field, slug);
            }
        }
        event.scope = if event.vault_ids.is_empty() { EventScope::Protocol } else { EventScope::Vault };
        match (&mut event.market_address, event.chain_id) {
            (Some(address), Some(chain_id)) => {
                self.address("market_address", address);
                event.market = Some(contract(chain_id, address));
            }
            (Some(_), None) => self.wrong("chain_id", "is required with market_address"),
            (None, _) => {}
        }
        if serde_json::to_vec(&event.data).map_or(0, |json| json.len()) > MAX_DATA {
            self.wrong("data", format!("must have at most {MAX_DATA} bytes as JSON"));
        }
        if event.data.iter().any(|(name, value)| name.contains('\0') || value.to_string().contains("\\u0000")) {
            self.wrong("data", "must not contain a NUL character");
        }
    }

    fn labels(&mut self, event_type: &mut String, title: &str, description: Option<&String>) {
        self.text("event_type", event_type);
        if event_type.len() > MAX_TYPE {
            self.wrong("event_type", format!("may have at most {MAX_TYPE} bytes"));
        }
        if let Some(known) = OWN_TYPES.iter().find(|known| known.eq_ignore_ascii_case(event_type)) {
            *event_type = (*known).to_owned();
        }
        self.text("title", title);
        self.optional_text("description", description);
    }

    fn timing(&mut self, occurred_at: At, observed_at: At, block_number: Option<i64>) {
        if occurred_at > observed_at {
            self.wrong("occurred_at", "must not be after observed_at");
        }
        if block_number.is_some_and(|block| block < 0) {
            self.wrong("block_number", "must be at least 0");
        }
    }

    pub(super) fn references(&mut self, links: &[Reference]) {
        for (place, link) in links.iter().enumerate() {
            self.text(&format!("links[{place}].label"), &link.label);
            self.url(&format!("links[{place}].url"), Some(&link.url));
        }
    }
}
