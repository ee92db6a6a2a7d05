//! Checks of holders and strategies.

use super::fields::Check;
use super::rule::{POSITIVE_BALANCE, SUPPLY};
use rds_facts::{HolderSnapshot, VaultStrategy};
use std::collections::HashSet;

/// Maximum holders of one snapshot. A snapshot cannot be split, because its figures need every holder.
const MAX_HOLDERS: usize = 100_000;
/// Maximum yield sources or risk flags of one strategy.
const MAX_ITEMS: usize = 50;

impl Check {
    pub(super) fn holders(&mut self, snapshot: &mut HolderSnapshot) {
        self.header(snapshot.observed_at, &snapshot.source);
        self.vault_id("vault_id", &mut snapshot.vault_id);
        self.optional_address("token_address", snapshot.token_address.as_mut());
        self.count("indexed_to_block", snapshot.indexed_to_block);
        self.optional_form("total_supply_raw", &SUPPLY, snapshot.total_supply_raw.as_ref());
        if !self.entries("holders", snapshot.holders.len(), 0..=MAX_HOLDERS) {
            return;
        }
        let mut named = HashSet::new();
        for (place, holder) in snapshot.holders.iter_mut().enumerate() {
            self.address(&format!("holders[{place}].address"), &mut holder.address);
            self.form(&format!("holders[{place}].balance_raw"), &POSITIVE_BALANCE, &holder.balance_raw);
            self.optional_text(&format!("holders[{place}].label"), holder.label.as_ref());
            let is_first = named.insert(holder.address.as_str());
            self.must(&format!("holders[{place}].address"), is_first, "must not occur twice");
        }
    }

    pub(super) fn strategy(&mut self, strategy: &mut VaultStrategy) {
        self.header(strategy.observed_at, &strategy.source);
        self.vault_id("vault_id", &mut strategy.vault_id);
        self.text("strategy_id", &strategy.strategy_id);
        self.optional_address("address", strategy.address.as_mut());
        self.text("name", &strategy.name);
        self.optional_text("strategy_type", strategy.strategy_type.as_ref());
        self.optional_text("description", strategy.description.as_ref());
        self.fraction("share", strategy.share);
        self.fraction("target_share", strategy.target_share);
        self.rate("apr", strategy.apr);
        self.rate("apy", strategy.apy);
        self.fraction("performance_fee", strategy.performance_fee);
        self.not_later("last_report_at", strategy.last_report_at, strategy.observed_at);
        self.entries("yield_sources", strategy.yield_sources.len(), 0..=MAX_ITEMS);
        for (place, source) in strategy.yield_sources.iter().enumerate() {
            self.text(&format!("yield_sources[{place}].name"), &source.name);
            self.rate(&format!("yield_sources[{place}].apr"), source.apr);
            self.optional_slug(&format!("yield_sources[{place}].protocol_id"), source.protocol_id.as_ref());
        }
        self.entries("risk_flags", strategy.risk_flags.len(), 0..=MAX_ITEMS);
        self.texts("risk_flags", &strategy.risk_flags);
        self.url("source_url", strategy.source_url.as_ref());
    }
}
