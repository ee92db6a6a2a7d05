//! signer_sets.jsonl: multisigs with permissions in one lending protocol, mapped to the markets that the permissions concern.

use super::adapter::{Adapter, Contract, Known, Observed};
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Mapping, Share, Signers, Subject, contract};
use rds_shared::model::mapping::{MappingType, SignerForm, SubjectType};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::BTreeSet;

/// 2026-08-22, the date of the file.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_787_356_800);
/// Full confidence, in parts per million, because the permissions book names contract and permission explicitly.
pub(super) const CERTAIN: Share = Share(1_000_000);

pub struct SignerSets;

/// A multisig with its permissions.
#[derive(Deserialize)]
pub struct Row {
    chain_id: i64,
    address: String,
    name: Option<String>,
    threshold: u32,
    owners: Vec<String>,
    /// `<section>/<contract>/<modifier>` or `<section>/<role group>/<role>`.
    roles: Vec<String>,
    source: String,
}

impl Adapter for SignerSets {
    const FILE: &'static str = "signer_sets.jsonl";
    type Row = Row;

    fn observe(&self, row: Row, known: &Known) -> Observed {
        let sections: BTreeSet<&str> = row.roles.iter().filter_map(|role| role.split('/').next()).collect();
        let applies_to = markets_of(known, row.chain_id, &sections);
        let signers = Signers {
            form: SignerForm::Multisig,
            chain_id: row.chain_id,
            address: row.address,
            threshold: Some(row.threshold),
            owners: Some(row.owners),
            delay_seconds: None,
            proxy_admin: None,
            roles: row.roles,
            permissions: Vec::new(),
        };
        Observed::As(vec![mapping(row.source, row.name, signers, applies_to)])
    }
}

/// The mapping of a signer set in the permissions book; its id is the contract.
pub(super) fn mapping(source: String, name: Option<String>, signers: Signers, applies_to: Vec<Subject>) -> Observation {
    Observation::Mapping(Box::new(Mapping {
        kind: Kind,
        observed_at: At(AS_OF),
        source,
        mapping_type: MappingType::SignerSet,
        mapping_id: contract(signers.chain_id, &signers.address),
        name,
        is_active: true,
        verified: true,
        confidence: CERTAIN,
        signers: Some(signers),
        bridge: None,
        operators: Vec::new(),
        applies_to,
    }))
}

/// The markets of these sections of the permissions book on one chain; a section without a known market maps nothing.
pub(super) fn markets_of(known: &Known, chain_id: i64, sections: &BTreeSet<&str>) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for section in sections {
        let markets = known.sections.get(&(chain_id, (*section).to_owned())).into_iter().flatten();
        subjects.extend(markets.map(|(chain_id, address): &Contract| Subject {
            subject_type: SubjectType::Market,
            id: contract(*chain_id, address),
            verified: None,
            confidence: None,
            reason: Some(format!("section {section} of the permissions book")),
        }));
    }
    subjects
}
