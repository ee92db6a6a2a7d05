//! The subjects of the evidence registry: products and contracts, each with its category.

use super::ImportError;
use super::adapter::Known;
use super::assets::AS_OF;
use super::folder::Folder;
use rds_engine::ingest::Observation;
use rds_facts::Asset;
use rds_facts::fact::Kind;
use rds_shared::scoring::asset::AssetCategory;
use rds_store::At;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Name of the registry's file.
const FILE: &str = "evidence/subjects.jsonl";
const TEXT: &str = include_str!("../../../evidence/subjects.jsonl");
/// Source of assets that no data set lists.
const SOURCE: &str = "evidence-subjects";

/// A product or a contract.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Slug of a product, or `{chain_id}:{address}` of its first deployment.
    subject: String,
    /// Category that it is scored as.
    pub category: AssetCategory,
    /// Subject that a yield-bearing asset wraps.
    underlying: Option<String>,
    /// Subjects that it depends on.
    #[serde(default)]
    depends_on: Vec<String>,
    /// Slug, symbol, name and contracts of a subject that no data set lists.
    slug: Option<String>,
    symbol: Option<String>,
    name: Option<String>,
    #[serde(default)]
    deployments: Vec<Contract>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contract {
    chain_id: i64,
    address: String,
}

/// All subjects.
pub struct Subjects(BTreeMap<String, Subject>);

impl Subjects {
    /// Reads the registry.
    pub fn load() -> Result<Self, ImportError> {
        let rows = Folder::embedded::<Subject>(FILE, TEXT).map(|row| row.map(|(_, row)| (row.subject.clone(), row)));
        Ok(Subjects(rows.collect::<Result<_, _>>()?))
    }

    /// The subject with this slug.
    pub fn of(&self, slug: &str) -> Option<&Subject> {
        self.0.get(slug)
    }

    /// Observations of the deployments that no data set lists, on known chains.
    pub fn assets(&self, known: &mut Known) -> Vec<Observation> {
        for subject in self.0.values() {
            for (contract, asset_id) in subject.listed_here(known) {
                known.deploy(&subject.subject, contract, asset_id);
            }
        }
        let mut observed = Vec::new();
        for subject in self.0.values() {
            for ((chain_id, address), id) in subject.listed_here(known) {
                observed.push(Observation::Asset(Box::new(subject.asset(id, chain_id, address, known))));
            }
        }
        observed
    }
}

impl Subject {
    /// The deployments on known chains that this registry lists itself, with their asset ids.
    fn listed_here(&self, known: &Known) -> Vec<(super::adapter::Contract, String)> {
        let Some(slug) = &self.slug else { return Vec::new() };
        let on_known = self.deployments.iter().filter(|it| known.chains.contains_key(&it.chain_id));
        let id = |it: &Contract| format!("{slug}-{}-{}", it.chain_id, it.address);
        on_known.map(|it| ((it.chain_id, it.address.clone()), id(it))).collect()
    }

    fn asset(&self, id: String, chain_id: i64, address: String, known: &Known) -> Asset {
        Asset {
            kind: Kind,
            observed_at: At(AS_OF),
            source: SOURCE.to_owned(),
            id,
            chain_id,
            address: Some(address),
            symbol: self.symbol.clone().unwrap_or_default(),
            name: self.name.clone(),
            category: self.category,
            tags: Vec::new(),
            underlying: self.underlying(chain_id, known),
            dependency_chain: self.dependencies(chain_id, known),
            lockup_days: 0,
            attestation_cadence: None,
            discovered_at: At(AS_OF),
            instrument_type: None,
            issuer: None,
            product_candidate: None,
        }
    }

    /// Id of the underlying asset: its deployment on the same chain, else its first.
    pub fn underlying(&self, chain_id: i64, known: &Known) -> Option<String> {
        beside(self.underlying.as_deref()?, chain_id, known)
    }

    /// Ids of the assets that it depends on.
    pub fn dependencies(&self, chain_id: i64, known: &Known) -> Vec<String> {
        self.depends_on.iter().filter_map(|subject| beside(subject, chain_id, known)).collect()
    }
}

fn beside(subject: &str, chain_id: i64, known: &Known) -> Option<String> {
    let deployed = known.products.get(subject)?;
    let same = deployed.iter().find(|it| it.chain_id == chain_id);
    same.or(deployed.first()).map(|it| it.asset_id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_of_the_registry_is_complete() {
        let subjects = Subjects::load().unwrap();
        assert!(subjects.0.len() >= 49);
        for subject in subjects.0.values() {
            let listed = subject.slug.is_some();
            assert_eq!(listed, subject.symbol.is_some() && !subject.deployments.is_empty(), "{}", subject.subject);
            assert_ne!(subject.category, AssetCategory::Unreviewed);
            for other in subject.underlying.iter().chain(&subject.depends_on) {
                assert!(subjects.0.contains_key(other), "{other}");
            }
        }
    }
}
