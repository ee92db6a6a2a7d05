//! assets.jsonl: stablecoins and dollar tokens, one observation per deployment.

use super::adapter::{Adapter, Known, Observed};
use super::bridges::Bridges;
use super::evidence::{AssetEvidence, AssetEvidenceOnTrial, OwnAssetAnswers};
use super::exposures::Exposures;
use super::subjects::Subjects;
use super::vault_history_vaults::VaultHistoryVaults;
use super::vaults::Vaults;
use super::yield_vaults::YieldVaults;
use rds_engine::ingest::Observation;
use rds_facts::Asset;
use rds_facts::fact::Kind;
use rds_shared::scoring::asset::AssetCategory;
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;

/// 2026-07-03, the date of the file.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_783_036_800);
/// The file's category for stablecoins.
const STABLECOIN: &str = "stablecoin";

/// Reads the assets.
pub struct Assets {
    /// The registry's products and contracts.
    pub subjects: Subjects,
}

/// An asset with its deployments.
#[derive(Deserialize)]
pub struct Row {
    slug: String,
    symbol: String,
    name: String,
    category: String,
    ambiguous_symbol: bool,
    deployments: Vec<Deployment>,
    depegged_at: Option<String>,
    marked_dead_at: Option<String>,
    source: String,
}

/// One contract of the asset.
#[derive(Deserialize)]
struct Deployment {
    chain_id: i64,
    address: String,
}

impl Deployment {
    fn asset_id(&self, slug: &str) -> String {
        format!("{slug}-{}-{}", self.chain_id, self.address.to_lowercase())
    }
}

impl Adapter for Assets {
    const FILE: &'static str = "assets.jsonl";
    const NEEDED_BY: &'static [&'static str] = &[
        Vaults::FILE,
        VaultHistoryVaults::FILE,
        YieldVaults::FILE,
        Bridges::FILE,
        Exposures::FILE,
        AssetEvidence::FILE,
        AssetEvidenceOnTrial::FILE,
        OwnAssetAnswers::FILE,
    ];
    // A product may be the underlying of one that comes before it.
    const READ_TWICE: bool = true;
    type Row = Row;

    fn learn(&self, row: &Row, known: &mut Known) {
        if row.category == STABLECOIN {
            let deployments = row.deployments.iter();
            known.stablecoins.extend(deployments.map(|deployment| (deployment.chain_id, deployment.address.clone())));
        }
        for deployment in &row.deployments {
            let contract = (deployment.chain_id, deployment.address.clone());
            known.deploy(&row.slug, contract, deployment.asset_id(&row.slug));
        }
    }

    /// Assets that only the evidence names.
    fn preface(&self, known: &mut Known) -> Vec<Observation> {
        self.subjects.assets(known)
    }

    /// The file's categories differ from the methodology's, so the category becomes a tag. The asset is scored only if the evidence
    /// registry gives it one of the methodology's categories.
    fn observe(&self, row: Row, known: &Known) -> Observed {
        if row.deployments.is_empty() {
            return Observed::Skipped("no deployment is known");
        }
        let marks = [
            (row.ambiguous_symbol, "ambiguous_symbol"),
            (row.depegged_at.is_some(), "marked_depegged"),
            (row.marked_dead_at.is_some(), "marked_dead"),
        ];
        let mut tags = vec![row.category];
        tags.extend(marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark.to_owned()));
        let subject = self.subjects.of(&row.slug);
        let observe = |deployment: Deployment| {
            Observation::Asset(Box::new(Asset {
                kind: Kind,
                observed_at: At(AS_OF),
                source: row.source.clone(),
                id: deployment.asset_id(&row.slug),
                chain_id: deployment.chain_id,
                address: Some(deployment.address),
                symbol: row.symbol.clone(),
                name: Some(row.name.clone()),
                category: subject.map_or(AssetCategory::Unreviewed, |subject| subject.category),
                tags: tags.clone(),
                underlying: subject.and_then(|subject| subject.underlying(deployment.chain_id, known)),
                dependency_chain: subject
                    .map(|subject| subject.dependencies(deployment.chain_id, known))
                    .unwrap_or_default(),
                lockup_days: 0,
                attestation_cadence: None,
                discovered_at: At(AS_OF),
                instrument_type: None,
                issuer: None,
                product_candidate: None,
            }))
        };
        Observed::As(row.deployments.into_iter().map(observe).collect())
    }
}
