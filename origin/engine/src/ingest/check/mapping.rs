//! Checks of mappings: details match the type, ids are canonical, nothing occurs twice.

use super::Check;
use rds_facts::{Bridge, Mapping, Signers, Subject, contract};
use rds_shared::model::ids::Address;
use rds_shared::model::mapping::{MappingType, SignerForm, SubjectType};
use std::collections::HashSet;

/// Maximum characters of a mapping's id.
const MAX_ID: usize = 200;
/// Maximum subjects of one mapping, ends of one bridge, or owners of one signer set.
const MAX_ITEMS: usize = 10_000;
/// Maximum timelock delay: a hundred years, in seconds.
const MAX_DELAY: i64 = 3_155_760_000;

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
            if is_given && mapping.mapping_type != owner {
                self.wrong(field, format!("is allowed only for a mapping of type {owner}"));
            }
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
        let well_formed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(well_formed) {
            self.wrong(field, format!("must be 1 to {MAX_ID} printable ASCII characters without spaces and quotes"));
        }
    }

    fn signers(&mut self, signers: &mut Signers) {
        self.address("signers.address", &mut signers.address);
        self.optional_address("signers.proxy_admin", signers.proxy_admin.as_mut());
        let mut named = HashSet::new();
        for (place, owner) in signers.owners.iter_mut().flatten().enumerate() {
            self.address(&format!("signers.owners[{place}]"), owner);
            if !named.insert(owner.as_str()) {
                self.wrong(format!("signers.owners[{place}]"), "must not occur twice");
            }
        }
        let owners = signers.owners.as_ref().map(Vec::len);
        if owners.is_some_and(|owners| owners == 0 || owners > MAX_ITEMS) {
            self.wrong(
                "signers.owners",
                format!("must have 1 to {MAX_ITEMS} entries, or be null if they were not read"),
            );
        }
        let enough = |threshold: u32| owners.is_none_or(|owners| u64::from(threshold) <= owners as u64);
        if signers.threshold.is_some_and(|threshold| threshold == 0 || !enough(threshold)) {
            self.wrong("signers.threshold", "must be at least 1 and at most the number of owners");
        }
        let has_keys = signers.threshold.is_some() || owners.is_some();
        if has_keys && signers.form != SignerForm::Multisig {
            self.wrong(
                "signers.form",
                format!("must be multisig if owners or threshold are given, not {}", signers.form),
            );
        }
        if signers.delay_seconds.is_some_and(|delay| !(0..=MAX_DELAY).contains(&delay)) {
            self.wrong("signers.delay_seconds", format!("must be between 0 and {MAX_DELAY}"));
        }
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
        if bridge.ends.len() < 2 || bridge.ends.len() > MAX_ITEMS {
            self.wrong("bridge.ends", format!("must have 2 to {MAX_ITEMS} entries"));
        }
        for (place, end) in bridge.ends.iter().enumerate() {
            let field = |name: &str| format!("bridge.ends[{place}].{name}");
            self.text(&field("chain"), &end.chain);
            self.text(&field("address"), &end.address);
            let texts = [("protocol", &end.protocol), ("symbol", &end.symbol), ("standard", &end.standard)];
            for (name, text) in texts.into_iter().chain([("collateral", &end.collateral)]) {
                self.optional_text(&field(name), text.as_ref());
            }
            if end.decimals.is_some_and(|decimals| decimals > 255) {
                self.wrong(field("decimals"), "must be at most 255");
            }
        }
    }

    fn subjects(&mut self, mapping_type: MappingType, subjects: &mut [Subject]) {
        if subjects.len() > MAX_ITEMS {
            return self.wrong("applies_to", format!("must have at most {MAX_ITEMS} entries"));
        }
        let mut named = HashSet::new();
        for (place, subject) in subjects.iter_mut().enumerate() {
            let field = format!("applies_to[{place}].id");
            match subject.subject_type {
                SubjectType::Vault => self.vault_id(&field, &mut subject.id),
                SubjectType::Protocol | SubjectType::Asset => self.slug(&field, &subject.id),
                SubjectType::Market | SubjectType::Feed => self.contract_id(&field, &mut subject.id),
            }
            match (mapping_type, subject.subject_type) {
                (MappingType::OracleVendor, SubjectType::Feed) => {}
                (MappingType::OracleVendor, _) => {
                    self.wrong(format!("applies_to[{place}].type"), "must be feed for an oracle vendor");
                }
                (MappingType::Bridge, SubjectType::Feed) => {
                    self.wrong(format!("applies_to[{place}].type"), "must not be feed for a bridge");
                }
                (MappingType::Bridge | MappingType::SignerSet | MappingType::OperatorCluster, _) => {}
            }
            if !named.insert((subject.subject_type, subject.id.as_str())) {
                self.wrong(&field, "must not occur twice");
            }
            self.optional_text(&format!("applies_to[{place}].reason"), subject.reason.as_ref());
        }
    }

    pub(super) fn contract_id(&mut self, field: &str, id: &mut String) {
        let parts = id.split_once(':').and_then(|(chain, address)| {
            let chain: i64 = chain.parse().ok().filter(|chain| *chain > 0)?;
            Some((chain, Address::parse_any(address)?.1))
        });
        match parts {
            Some((chain, address)) => *id = contract(chain, address.as_str()),
            None => self.wrong(field, "must be a contract: <chain_id>:<address>"),
        }
    }
}
