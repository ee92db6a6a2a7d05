//! Checks of exposures.

use super::fields::Check;
use rds_facts::{Exposure, ExposurePart};
use rds_shared::scoring::vault::ExposuresStatus;
use std::collections::HashSet;

/// Maximum parts of one vault's exposure.
const MAX_PARTS: usize = 1_000;
/// Maximum wrappers, feeds or bridges of one part.
const MAX_BETWEEN: usize = 50;

impl Check {
    pub(super) fn exposure(&mut self, exposure: &mut Exposure) {
        self.header(exposure.observed_at, &exposure.source);
        self.vault_id("vault_id", &mut exposure.vault_id);
        match exposure.status {
            ExposuresStatus::Unavailable if !exposure.parts.is_empty() => {
                self.wrong("parts", "must be empty when the exposures are unavailable");
            }
            ExposuresStatus::SharesUnknown if exposure.parts.is_empty() => {
                self.wrong("parts", "must name the members when the shares are unknown");
            }
            _ => {}
        }
        if let Some(basis) = &exposure.basis {
            self.text("basis.source_title", &basis.source_title);
            self.url("basis.source_url", Some(&basis.source_url));
        }
        if let Some(evidence) = &exposure.evidence {
            self.evidence_of_chain(evidence);
        }
        if exposure.parts.len() > MAX_PARTS {
            return self.wrong("parts", format!("must have at most {MAX_PARTS} entries"));
        }
        for (place, part) in exposure.parts.iter_mut().enumerate() {
            self.part(&format!("parts[{place}]"), part);
            if exposure.status == ExposuresStatus::SharesUnknown && part.share.0 != 0 {
                self.wrong(format!("parts[{place}].share"), "must be 0 when the shares are unknown");
            }
            if part.vault_id.as_deref() == Some(&exposure.vault_id) {
                self.wrong(format!("parts[{place}].vault_id"), "must not be the vault itself");
            }
        }
        let total: u64 = exposure.parts.iter().map(|part| u64::from(part.share.0)).sum();
        if total > 1_000_000 {
            self.wrong("parts", "shares must not sum to more than 1");
        }
    }

    fn part(&mut self, field: &str, part: &mut ExposurePart) {
        match (&mut part.vault_id, &part.asset_id) {
            (Some(vault_id), None) => self.vault_id(&format!("{field}.vault_id"), vault_id),
            (None, Some(asset_id)) => self.slug(&format!("{field}.asset_id"), asset_id),
            _ => self.wrong(field, "needs exactly one of asset_id and vault_id"),
        }
        self.number(&format!("{field}.lltv"), part.lltv, 0.0, 1.0);
        self.route(field, part);
    }

    /// Checks the wrappers, oracles and bridges between the vault and an asset. A part that is an inner vault has none of them, because
    /// the inner vault's own exposure lists them.
    fn route(&mut self, field: &str, part: &mut ExposurePart) {
        let lengths =
            [("wrappers", part.wrappers.len()), ("oracles", part.oracles.len()), ("bridges", part.bridges.len())];
        for (name, length) in lengths.into_iter().filter(|(_, length)| *length > 0) {
            if part.asset_id.is_none() {
                self.wrong(format!("{field}.{name}"), "is allowed only for a part with asset_id");
            }
            if length > MAX_BETWEEN {
                self.wrong(format!("{field}.{name}"), format!("must have at most {MAX_BETWEEN} entries"));
            }
        }
        let mut named = HashSet::new();
        for (list, contracts) in [("wrappers", &mut part.wrappers), ("oracles", &mut part.oracles)] {
            for (place, contract) in contracts.iter_mut().enumerate() {
                let field = format!("{field}.{list}[{place}]");
                self.contract_id(&field, contract);
                if !named.insert((list, contract.as_str())) {
                    self.wrong(field, "must not occur twice");
                }
            }
        }
        for (place, bridge) in part.bridges.iter().enumerate() {
            let field = format!("{field}.bridges[{place}].id");
            self.mapping_id(&field, &bridge.id);
            if !named.insert(("bridges", bridge.id.as_str())) {
                self.wrong(field, "must not occur twice");
            }
        }
    }
}
