//! Checks of exposures.

use super::fields::Check;
use super::rule::{Rule, VAULT_ID};
use rds_facts::{Exposure, ExposurePart};
use rds_shared::scoring::vault::ExposuresStatus;
use std::collections::HashSet;

/// Maximum parts of one vault's exposure.
const MAX_PARTS: usize = 1_000;
/// Maximum wrappers, feeds or bridges of one part.
const MAX_BETWEEN: usize = 50;
/// A part is an asset or a nested vault.
const EITHER: &str = "must have exactly one of asset_id and vault_id";

impl Check {
    pub(super) fn exposure(&mut self, exposure: &mut Exposure) {
        self.header(exposure.observed_at, &exposure.source);
        self.vault_id("vault_id", &mut exposure.vault_id);
        let (status, is_empty) = (exposure.status, exposure.parts.is_empty());
        let is_available = status != ExposuresStatus::Unavailable;
        self.must("parts", is_available || is_empty, "must be empty when the exposures are unavailable");
        let are_shares_known = status != ExposuresStatus::SharesUnknown;
        self.must("parts", are_shares_known || !is_empty, "must name the members when the shares are unknown");
        if let Some(basis) = &exposure.basis {
            self.text("basis.source_title", &basis.source_title);
            self.url("basis.source_url", Some(&basis.source_url));
        }
        if let Some(evidence) = &exposure.evidence {
            self.evidence_of_chain(evidence);
        }
        if !self.entries("parts", exposure.parts.len(), 0..=MAX_PARTS) {
            return;
        }
        for (place, part) in exposure.parts.iter_mut().enumerate() {
            self.part(&format!("parts[{place}]"), part);
            let is_known = are_shares_known || part.share.0 == 0;
            self.must(&format!("parts[{place}].share"), is_known, "must be 0 when the shares are unknown");
            let is_other = part.vault_id.as_deref() != Some(&exposure.vault_id);
            self.must(&format!("parts[{place}].vault_id"), is_other, "must not be the vault itself");
        }
        let total: u64 = exposure.parts.iter().map(|part| u64::from(part.share.0)).sum();
        self.must("parts", total <= 1_000_000, "must not have shares that sum to more than 1");
    }

    fn part(&mut self, field: &str, part: &mut ExposurePart) {
        self.must(field, part.vault_id.is_some() != part.asset_id.is_some(), EITHER);
        self.rule(&format!("{field}.vault_id"), || Rule::Form(&VAULT_ID));
        if let Some(vault_id) = &mut part.vault_id {
            self.vault_id(&format!("{field}.vault_id"), vault_id);
        }
        self.optional_slug(&format!("{field}.asset_id"), part.asset_id.as_ref());
        self.fraction(&format!("{field}.lltv"), part.lltv);
        self.route(field, part);
    }

    /// Checks the wrappers, oracles and bridges between the vault and an asset. A part that is an inner vault has none of them, because
    /// the inner vault's own exposure lists them.
    fn route(&mut self, field: &str, part: &mut ExposurePart) {
        let lengths =
            [("wrappers", part.wrappers.len()), ("oracles", part.oracles.len()), ("bridges", part.bridges.len())];
        for (name, length) in lengths {
            let (field, is_asset) = (format!("{field}.{name}"), part.asset_id.is_some());
            self.must(&field, is_asset || length == 0, "is allowed only for a part with asset_id");
            self.entries(&field, length, 0..=MAX_BETWEEN);
        }
        let mut named = HashSet::new();
        for (list, contracts) in [("wrappers", &mut part.wrappers), ("oracles", &mut part.oracles)] {
            for (place, contract) in contracts.iter_mut().enumerate() {
                let field = format!("{field}.{list}[{place}]");
                self.contract_id(&field, contract);
                self.must(&field, named.insert((list, contract.as_str())), "must not occur twice");
            }
        }
        for (place, bridge) in part.bridges.iter().enumerate() {
            let field = format!("{field}.bridges[{place}].id");
            self.mapping_id(&field, &bridge.id);
            self.must(&field, named.insert(("bridges", bridge.id.as_str())), "must not occur twice");
        }
    }
}
