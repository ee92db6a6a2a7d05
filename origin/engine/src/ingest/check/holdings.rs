//! Checks of holders and strategies.

use super::Check;
use rds_facts::{HolderSnapshot, VaultStrategy};
use rds_shared::rules::holders::parse_balance;
use std::collections::HashSet;

/// Maximum holders of one snapshot. A snapshot cannot be split, because its figures need every holder.
const MAX_HOLDERS: usize = 100_000;
/// Maximum digits of a balance; the largest of an EVM token has 78.
const MAX_DIGITS: usize = 1_000;
/// Maximum yield sources or risk flags of one strategy.
const MAX_ITEMS: usize = 50;

impl Check {
    pub(super) fn holders(&mut self, snapshot: &mut HolderSnapshot) {
        self.header(snapshot.observed_at, &snapshot.source);
        self.vault_id("vault_id", &mut snapshot.vault_id);
        if let Some(address) = &mut snapshot.token_address {
            self.address("token_address", address);
        }
        if snapshot.indexed_to_block.is_some_and(|block| block < 0) {
            self.wrong("indexed_to_block", "must be at least 0");
        }
        if let Some(supply) = &snapshot.total_supply_raw {
            self.integer("total_supply_raw", supply, true);
        }
        if snapshot.holders.len() > MAX_HOLDERS {
            return self.wrong("holders", format!("must have at most {MAX_HOLDERS} entries"));
        }
        let mut named = HashSet::new();
        for (place, holder) in snapshot.holders.iter_mut().enumerate() {
            self.address(&format!("holders[{place}].address"), &mut holder.address);
            self.integer(&format!("holders[{place}].balance_raw"), &holder.balance_raw, false);
            self.optional_text(&format!("holders[{place}].label"), holder.label.as_ref());
            if !named.insert(holder.address.as_str()) {
                self.wrong(format!("holders[{place}].address"), "must not occur twice");
            }
        }
    }

    fn integer(&mut self, field: &str, text: &str, zero: bool) {
        let well_formed = text.len() <= MAX_DIGITS && parse_balance(text).is_some();
        if !well_formed || (text == "0" && !zero) {
            let kind = if zero { "a whole number" } else { "a whole number above 0" };
            self.wrong(
                field,
                format!("must be {kind} as decimal digits without leading zeros, at most {MAX_DIGITS} digits"),
            );
        }
    }

    pub(super) fn strategy(&mut self, strategy: &mut VaultStrategy) {
        self.header(strategy.observed_at, &strategy.source);
        self.vault_id("vault_id", &mut strategy.vault_id);
        self.text("strategy_id", &strategy.strategy_id);
        if let Some(address) = &mut strategy.address {
            self.address("address", address);
        }
        self.text("name", &strategy.name);
        self.optional_text("strategy_type", strategy.strategy_type.as_ref());
        self.optional_text("description", strategy.description.as_ref());
        self.number("share", strategy.share, 0.0, 1.0);
        self.number("target_share", strategy.target_share, 0.0, 1.0);
        self.rate("apr", strategy.apr);
        self.rate("apy", strategy.apy);
        self.number("performance_fee", strategy.performance_fee, 0.0, 1.0);
        if strategy.last_report_at.is_some_and(|reported| reported > strategy.observed_at) {
            self.wrong("last_report_at", "must not be after observed_at");
        }
        if strategy.yield_sources.len() > MAX_ITEMS {
            self.wrong("yield_sources", format!("must have at most {MAX_ITEMS} entries"));
        }
        for (place, source) in strategy.yield_sources.iter().enumerate() {
            self.text(&format!("yield_sources[{place}].name"), &source.name);
            self.rate(&format!("yield_sources[{place}].apr"), source.apr);
            if let Some(protocol) = &source.protocol_id {
                self.slug(&format!("yield_sources[{place}].protocol_id"), protocol);
            }
        }
        if strategy.risk_flags.len() > MAX_ITEMS {
            self.wrong("risk_flags", format!("must have at most {MAX_ITEMS} entries"));
        }
        self.texts("risk_flags", &strategy.risk_flags);
        self.url("source_url", strategy.source_url.as_ref());
    }
}
