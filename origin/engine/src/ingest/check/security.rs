//! Checks of rows of the security registry, loss cases and signals.

use super::fields::Check;
use super::rule::Unit;
use rds_facts::{LossCase, SecurityReport, SignalReport, security_event_id};
use rds_shared::model::ids::Address;
use rds_shared::model::loss::LossBasis;
use std::collections::BTreeSet;

/// Maximum entries of one list.
const MAX_ENTRIES: usize = 200;
/// Maximum vaults of one signal.
const MAX_VAULTS: usize = 20_000;
/// Maximum characters of a source's name. The filter of the loss board has the same limit.
const SOURCE_CHARS: usize = 64;

impl Check {
    pub(super) fn security_event(&mut self, report: &mut SecurityReport) {
        self.header(report.observed_at, &report.source);
        self.source_id(&report.source, &report.source_id);
        report.id = security_event_id(&report.source, &report.source_id);
        self.text("title", &report.title);
        self.optional_text("description", report.description.as_ref());
        self.optional_slug("protocol_id", report.protocol_id.as_ref());
        for (field, accounts) in [("attackers", &mut report.attackers), ("victims", &mut report.victims)] {
            self.entries(field, accounts.len(), 0..=MAX_ENTRIES);
            self.texts(field, &*accounts);
            for account in accounts {
                // Accounts on chains that are not tracked may have other formats and are stored as given.
                if let Some((_, address)) = Address::parse_any(account) {
                    *account = address.into_string();
                }
            }
        }
        for (field, count) in [("confirmations", report.confirmations), ("disconfirmations", report.disconfirmations)] {
            self.whole(field, Some(count), 0..=i32::MAX.into(), Unit::One);
        }
        self.optional_text("tx_hash", report.tx_hash.as_ref());
        self.url("native_url", report.native_url.as_ref());
        self.entries("links", report.links.len(), 0..=MAX_ENTRIES);
        self.references(&report.links);
        self.not_later("attacked_at", report.attacked_at, report.observed_at);
    }

    pub(super) fn loss_case(&mut self, case: &LossCase) {
        self.header(case.observed_at, &case.source);
        self.source_id(&case.source, &case.source_id);
        self.slug("case_id", &case.case_id);
        self.text("title", &case.title);
        for (field, text) in [
            ("loss_text", &case.loss_text),
            ("note", &case.note),
            ("severity", &case.severity),
            ("classification", &case.classification),
            ("technique", &case.technique),
            ("mechanism", &case.mechanism),
            ("protocol_name", &case.protocol_name),
        ] {
            self.optional_text(field, text.as_ref());
        }
        self.optional_slug("protocol_id", case.protocol_id.as_ref());
        let is_figure = !matches!(case.loss_basis, LossBasis::Doubtful | LossBasis::NotStated);
        self.must(
            "loss_usd",
            is_figure == case.loss_usd.is_some(),
            "must be present exactly when loss_basis is stated, unit_assumed or partial",
        );
        self.entries("chain_ids", case.chain_ids.len(), 0..=MAX_ENTRIES);
        let chains: BTreeSet<_> = case.chain_ids.iter().collect();
        self.must("chain_ids", chains.len() == case.chain_ids.len(), "must not name a chain twice");
        self.entries("tx_hashes", case.tx_hashes.len(), 0..=MAX_ENTRIES);
        self.texts("tx_hashes", &case.tx_hashes);
        self.entries("links", case.links.len(), 0..=MAX_ENTRIES);
        self.references(&case.links);
        self.not_later("attacked_at", case.attacked_at, case.observed_at);
        if let Some(contamination) = &case.contamination {
            self.text("contamination.reason", &contamination.reason);
            self.optional_text("contamination.verified_by", contamination.verified_by.as_ref());
        }
        self.optional_text("security_source", case.security_source.as_ref());
        self.optional_text("security_source_id", case.security_source_id.as_ref());
        self.must(
            "security_source_id",
            case.security_source.is_some() == case.security_source_id.is_some(),
            "must be present exactly when security_source is",
        );
    }

    pub(super) fn signal(&mut self, signal: &mut SignalReport) {
        self.header(signal.observed_at, &signal.source);
        self.slug("signal_key", &signal.signal_key);
        self.text("title", &signal.title);
        self.slug("category", &signal.category);
        self.fraction("significance", Some(signal.significance));
        for (field, text) in [
            ("severity_reason", &signal.severity_reason),
            ("summary", &signal.summary),
            ("methodology_version", &signal.methodology_version),
            ("snapshot_id", &signal.snapshot_id),
        ] {
            self.optional_text(field, text.as_ref());
        }
        self.url("url", signal.url.as_ref());
        self.url("source_url", signal.source_url.as_ref());
        self.entries("article_urls", signal.article_urls.len(), 0..=MAX_ENTRIES);
        for (place, url) in signal.article_urls.iter().enumerate() {
            self.url(&format!("article_urls[{place}]"), Some(url));
        }
        self.entries("entities", signal.entities.len(), 0..=MAX_ENTRIES);
        for (place, entity) in signal.entities.iter_mut().enumerate() {
            let field = |name: &str| format!("entities[{place}].{name}");
            self.slug(&field("kind"), &entity.kind);
            self.text(&field("id"), &entity.id);
            self.text(&field("label"), &entity.label);
            entity.fold();
        }
        self.entries("given_vaults", signal.given_vaults.as_ref().map_or(0, Vec::len), 0..=MAX_VAULTS);
        let vaults = signal.given_vaults.iter_mut().flatten();
        let mut named = BTreeSet::new();
        for (place, vault) in vaults.enumerate() {
            let field = format!("given_vaults[{place}].vault_id");
            self.vault_id(&field, &mut vault.vault_id);
            self.must(&field, named.insert(vault.vault_id.clone()), "must not occur twice");
        }
        self.whole("breach_count", Some(signal.breach_count), 0..=i32::MAX.into(), Unit::One);
        self.not_later("published_at", signal.published_at, signal.observed_at);
        signal.complete();
    }

    fn source_id(&mut self, source: &str, source_id: &str) {
        self.text("source_id", source_id);
        self.max_chars("source", source, SOURCE_CHARS);
    }
}
