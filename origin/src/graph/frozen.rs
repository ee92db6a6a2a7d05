//! Frozen bodies: facts as canonical text, and back.
//!
//! A body is loaded only if its hash is the one in the manifest, and a manifest only if its hash is its id.

use rds_shared::graph::amount::Usd;
use rds_shared::graph::facts::{AssetRoute, Facts, Holding, OracleFeed, Part, Reference, Trust, VaultFacts};
use rds_shared::graph::snapshot::{Manifest, Publication};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::ids::VaultKey;
use rds_shared::scoring::Ppm;
use rds_shared::scoring::canonical::Canonicalize;
use rds_shared::wire::Timestamp;
use rds_store::{At, StoreError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Name of the publication with the vaults of the exposure graph.
pub const VAULTS: &str = "vaults";
/// Name of the publication with lending markets.
pub const LENDING: &str = "lending";
/// Name of the publication with incidents.
pub const INCIDENTS: &str = "incidents";
/// All publications of a snapshot, in order.
const NAMES: [&str; 3] = [INCIDENTS, LENDING, VAULTS];

/// Rows as a canonical JSON array, in the given order.
pub fn text<'a, R: Canonicalize + 'a>(rows: impl IntoIterator<Item = &'a R>) -> String {
    let mut text = String::from("[");
    for (place, row) in rows.into_iter().enumerate() {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{}{}", if place == 0 { "" } else { "," }, row.canonical());
    }
    text.push(']');
    text
}

/// The manifest's entry for a body.
pub fn publication(name: &'static str, body: &str, rows: usize, cursor: Option<Timestamp>) -> Publication {
    Publication { name, content_hash: ContentHash::of_text(body), rows: rows as u64, cursor }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredManifest {
    built_at: Timestamp,
    publications: Vec<StoredPublication>,
    cursors: BTreeMap<String, Option<At>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPublication {
    name: String,
    content_hash: String,
    rows: u64,
}

/// Parses a manifest. Fails if its hash is not `id`.
pub fn manifest(id: &str, text: &str) -> Result<Manifest, StoreError> {
    let corrupt = || StoreError::Corrupt { column: "graph_snapshot.manifest", text: id.to_owned() };
    let stored: StoredManifest = serde_json::from_str(text).map_err(|_| corrupt())?;
    let publication = |it: StoredPublication| {
        let cursor = stored.cursors.get(&it.name).copied().flatten().map(Timestamp::from);
        let name = NAMES.into_iter().find(|name| *name == it.name)?;
        Some(Publication { name, content_hash: ContentHash::parse(&it.content_hash)?, rows: it.rows, cursor })
    };
    let publications: Option<Vec<_>> = stored.publications.into_iter().map(publication).collect();
    let manifest = Manifest::freeze(publications.ok_or_else(corrupt)?, stored.built_at);
    if manifest.snapshot_id.to_hex() == id { Ok(manifest) } else { Err(corrupt()) }
}

/// Returns the body if its hash is `hash`; otherwise an error.
pub fn intact(hash: ContentHash, body: Option<String>) -> Result<String, StoreError> {
    let body = body.filter(|body| ContentHash::of_text(body) == hash);
    body.ok_or_else(|| StoreError::Corrupt { column: "graph_publication.body", text: hash.to_hex() })
}

/// Parses rows whose JSON has the fields of `T`.
pub fn rows<T: DeserializeOwned>(body: &str) -> Result<Vec<T>, StoreError> {
    serde_json::from_str(body).map_err(|error| corrupt_row(&error))
}

/// Parses the publication with vaults.
pub fn facts(body: &str) -> Result<Facts, StoreError> {
    let vaults =
        rows::<StoredVault>(body)?.into_iter().map(|row| row.read().ok_or_else(|| corrupt_row(&"an unknown spelling")));
    Facts::new(vaults.collect::<Result<_, _>>()?).map_err(|error| corrupt_row(&error))
}

fn corrupt_row(why: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt { column: "graph_publication.body", text: why.to_string() }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredVault {
    vault_key: String,
    curator: Option<String>,
    protocol: Option<String>,
    clusters: Vec<String>,
    signer_sets: Vec<StoredReference>,
    tvl_usd: Option<String>,
    idle: Option<StoredRoute>,
    parts: Option<Vec<StoredPart>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredPart {
    asset: Option<StoredRoute>,
    vault_key: Option<String>,
    share_ppm: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredRoute {
    asset_key: String,
    symbol: String,
    wrappers: Vec<String>,
    oracles: Vec<StoredFeed>,
    bridges: Vec<StoredReference>,
    // Older bodies have no clusters and no signer sets.
    #[serde(default)]
    clusters: Vec<String>,
    #[serde(default)]
    signer_sets: Vec<StoredReference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredFeed {
    id: String,
    vendor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredReference {
    id: String,
    verified: bool,
    confidence_ppm: i64,
}

impl StoredVault {
    /// `None` if a key or an amount is not canonical.
    fn read(self) -> Option<VaultFacts> {
        let parts = |parts: Vec<StoredPart>| parts.into_iter().map(StoredPart::read).collect::<Option<Vec<_>>>();
        Some(VaultFacts {
            key: VaultKey::parse(&self.vault_key)?,
            curator: self.curator,
            protocol: self.protocol,
            clusters: self.clusters,
            signer_sets: references(self.signer_sets),
            tvl: match self.tvl_usd {
                Some(text) => Some(Usd::parse(&text)?),
                None => None,
            },
            idle: self.idle.map(StoredRoute::read),
            parts: match self.parts {
                Some(stored) => Some(parts(stored)?),
                None => None,
            },
        })
    }
}

impl StoredPart {
    fn read(self) -> Option<Part> {
        let holding = match (self.asset, self.vault_key) {
            (Some(route), None) => Holding::Asset(route.read()),
            (None, Some(key)) => Holding::Vault(VaultKey::parse(&key)?),
            (None, None) => Holding::Unpublished,
            (Some(_), Some(_)) => return None,
        };
        Some(Part { share: Ppm(self.share_ppm), holding })
    }
}

impl StoredRoute {
    fn read(self) -> AssetRoute {
        AssetRoute {
            asset_key: self.asset_key,
            symbol: self.symbol,
            wrappers: self.wrappers,
            oracles: self.oracles.into_iter().map(|feed| OracleFeed { id: feed.id, vendor: feed.vendor }).collect(),
            bridges: references(self.bridges),
            clusters: self.clusters,
            signer_sets: references(self.signer_sets),
        }
    }
}

fn references(stored: Vec<StoredReference>) -> Vec<Reference> {
    let trust = |it: &StoredReference| Trust { verified: it.verified, confidence: Ppm(it.confidence_ppm) };
    stored.into_iter().map(|it| Reference { trust: trust(&it), id: it.id }).collect()
}
