//! Checks of mappings: details match the type, ids are canonical, nothing occurs twice.

use super::fields::Check;
use super::rule::{MAPPING_ID, Unit};
use rds_facts::{Bridge, Mapping, Signers, Subject};
use rds_shared::model::mapping::{MappingType, SignerForm, SubjectType};
use std::collections::HashSet;

/// Maximum subjects of one mapping, ends of one bridge, or owners of one signer set.
const MAX_ITEMS: usize = 10_000;
/// Maximum timelock delay: a hundred years, in seconds.
const MAX_DELAY: i128 = 3_155_760_000;

impl Check {
    pub(super) fn mapping(&mut self, mapping: &mut Mapping) {
        self.header(mapping.observed_at, &mapping.source);
        self.mapping_id("mapping_id", &mapping.mapping_id);
        self.optional_text("name", mapping.name.as_ref());
        let of_type = [
            ("signers", MappingType::SignerSet, mapping.signers.is_some()),
            ("bridge", MappingType::Bridge, mapping.bridge.is_some()),
            ("operators", MappingType::OperatorCluster, !mapping.operators.is_empty()),
        ];
        for (field, owner, is_given) in of_type {
            let is_allowed = !is_given || mapping.mapping_type == owner;
            self.must(field, is_allowed, format_args!("is allowed only for a mapping of type {owner}"));
        }
        self.texts("operators", &mapping.operators);
        if let Some(signers) = &mut mapping.signers {
            self.signers(signers);
        }
        if let Some(bridge) = &mapping.bridge {
            self.bridge(bridge);
        }
        self.subjects(mapping.mapping_type, &mut mapping.applies_to);
    }

    pub(super) fn mapping_id(&mut self, field: &str, id: &str) {
        self.form(field, &MAPPING_ID, id);
    }

    fn signers(&mut self, signers: &mut Signers) {
        self.address("signers.address", &mut signers.address);
        self.optional_address("signers.proxy_admin", signers.proxy_admin.as_mut());
        let owners = signers.owners.as_ref().map(Vec::len);
        self.entries("signers.owners", owners.unwrap_or(1), 1..=MAX_ITEMS);
        let mut named = HashSet::new();
        for (place, owner) in signers.owners.iter_mut().flatten().enumerate() {
            self.address(&format!("signers.owners[{place}]"), owner);
            self.must(&format!("signers.owners[{place}]"), named.insert(owner.as_str()), "must not occur twice");
        }
        let enough = |threshold: u32| owners.is_none_or(|owners| u64::from(threshold) <= owners as u64);
        let is_possible = signers.threshold.is_none_or(|threshold| threshold > 0 && enough(threshold));
        self.must("signers.threshold", is_possible, "must be at least 1 and at most the number of owners");
        let has_keys = signers.threshold.is_some() || owners.is_some();
        let is_form = !has_keys || signers.form == SignerForm::Multisig;
        self.must("signers.form", is_form, "must be multisig if owners or threshold are given");
        self.whole("signers.delay_seconds", signers.delay_seconds, 0..=MAX_DELAY, Unit::Seconds);
        self.texts("signers.roles", &signers.roles);
        for (place, permission) in signers.permissions.iter_mut().enumerate() {
            let field = format!("signers.permissions[{place}]");
            self.text(&format!("{field}.modifier"), &permission.modifier);
            self.texts(&format!("{field}.functions"), &permission.functions);
            for (at, holder) in permission.holders.iter_mut().enumerate() {
                self.address(&format!("{field}.holders[{at}]"), holder);
            }
        }
    }

    /// Checks a bridge. Addresses of ends are not converted to a canonical spelling, because an end may be on a chain whose address format
    /// this service cannot parse.
    fn bridge(&mut self, bridge: &Bridge) {
        self.slug("bridge.system", &bridge.system);
        self.optional_text("bridge.symbol", bridge.symbol.as_ref());
        self.entries("bridge.ends", bridge.ends.len(), 2..=MAX_ITEMS);
        for (place, end) in bridge.ends.iter().enumerate() {
            let field = |name: &str| format!("bridge.ends[{place}].{name}");
            self.text(&field("chain"), &end.chain);
            self.text(&field("address"), &end.address);
            let texts = [("protocol", &end.protocol), ("symbol", &end.symbol), ("standard", &end.standard)];
            for (name, text) in texts.into_iter().chain([("collateral", &end.collateral)]) {
                self.optional_text(&field(name), text.as_ref());
            }
            self.whole(&field("decimals"), end.decimals, 0..=255, Unit::One);
        }
    }

    fn subjects(&mut self, mapping_type: MappingType, subjects: &mut [Subject]) {
        if !self.entries("applies_to", subjects.len(), 0..=MAX_ITEMS) {
            return;
        }
        let mut named = HashSet::new();
        for (place, subject) in subjects.iter_mut().enumerate() {
            let field = format!("applies_to[{place}].id");
            match subject.subject_type {
                SubjectType::Vault => self.vault_id(&field, &mut subject.id),
                SubjectType::Protocol | SubjectType::Asset => self.slug(&field, &subject.id),
                SubjectType::Market | SubjectType::Feed => self.contract_id(&field, &mut subject.id),
            }
            let (at, is_feed) = (format!("applies_to[{place}].type"), subject.subject_type == SubjectType::Feed);
            let is_vendor = mapping_type == MappingType::OracleVendor;
            self.must(&at, !is_vendor || is_feed, "must be feed for an oracle vendor");
            self.must(&at, mapping_type != MappingType::Bridge || !is_feed, "must not be feed for a bridge");
            self.must(&field, named.insert((subject.subject_type, subject.id.as_str())), "must not occur twice");
            self.optional_text(&format!("applies_to[{place}].reason"), subject.reason.as_ref());
        }
    }
}
