//! Graph vectors: vaults, their published look-throughs, and the manifest of their snapshot.

use crate::read::{Mismatch, expect, flag, list, optional, required, text};
use rds_shared::graph::amount::Usd;
use rds_shared::graph::facts::{AssetRoute, Facts, Holding, OracleFeed, Part, Reference, Trust, VaultFacts};
use rds_shared::graph::look_through::ExposureGraph;
use rds_shared::graph::snapshot::{Manifest, Publication};
use rds_shared::model::ids::VaultKey;
use rds_shared::scoring::Ppm;
use rds_shared::wire::time::Timestamp;
use serde_json::{Value, json};

/// Builds one vector's graph and compares every look-through and the manifest.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let given = &case["in"];
    let vaults = list(given, "vaults")?.iter().map(vault).collect::<Result<Vec<_>, _>>()?;
    let facts = Facts::new(vaults).map_err(|_| Mismatch::unreadable("vaults"))?;
    let instant = |field: &str| given[field].as_str().and_then(Timestamp::parse);
    let manifest = Manifest::freeze(
        [Publication::vaults(&facts, instant("cursor"))],
        instant("built_at").ok_or_else(|| Mismatch::unreadable("built_at"))?,
    );
    let graph = ExposureGraph::build(facts);
    let looked: Vec<_> = graph.facts().vaults().iter().map(|vault| graph.look_through(&vault.key)).collect();
    expect(&case["name"], &json!({ "manifest": manifest, "look_through": looked }), &case["out"])
}

fn vault(case: &Value) -> Result<VaultFacts, Mismatch> {
    let parts = optional(case, "parts").map(|_| list(case, "parts")?.iter().map(part).collect());
    Ok(VaultFacts {
        key: key(&case["vaultKey"])?,
        curator: name(case, "curator")?,
        protocol: name(case, "protocol")?,
        clusters: list(case, "clusters")?.iter().map(text).collect::<Result<_, _>>()?,
        signer_sets: list(case, "signerSets")?.iter().map(reference).collect::<Result<_, _>>()?,
        tvl: optional(case, "tvlUsd").map(usd).transpose()?,
        idle: optional(case, "idle").map(route).transpose()?,
        parts: parts.transpose()?,
    })
}

fn part(case: &Value) -> Result<Part, Mismatch> {
    let holding = match optional(case, "asset") {
        Some(asset) => Holding::Asset(route(asset)?),
        None => Holding::Vault(key(&case["vaultKey"])?),
    };
    Ok(Part { share: Ppm(required(case, "sharePpm")?), holding })
}

fn route(case: &Value) -> Result<AssetRoute, Mismatch> {
    let feed = |feed: &Value| Ok(OracleFeed { id: text(&feed["id"])?, vendor: name(feed, "vendor")? });
    Ok(AssetRoute {
        asset_key: text(&case["assetKey"])?,
        symbol: text(&case["symbol"])?,
        wrappers: list(case, "wrappers")?.iter().map(text).collect::<Result<_, _>>()?,
        oracles: list(case, "oracles")?.iter().map(feed).collect::<Result<_, Mismatch>>()?,
        bridges: list(case, "bridges")?.iter().map(reference).collect::<Result<_, _>>()?,
        clusters: list(case, "clusters")?.iter().map(text).collect::<Result<_, _>>()?,
        signer_sets: list(case, "signerSets")?.iter().map(reference).collect::<Result<_, _>>()?,
    })
}

fn reference(case: &Value) -> Result<Reference, Mismatch> {
    let trust = Trust { verified: flag(case, "verified")?, confidence: Ppm(required(case, "confidencePpm")?) };
    Ok(Reference { id: text(&case["id"])?, trust })
}

fn key(value: &Value) -> Result<VaultKey, Mismatch> {
    VaultKey::parse(&text(value)?).ok_or_else(|| Mismatch::unreadable("vault key"))
}

fn name(object: &Value, field: &str) -> Result<Option<String>, Mismatch> {
    optional(object, field).map(text).transpose()
}

/// An exact decimal string, as the API writes amounts.
fn usd(value: &Value) -> Result<Usd, Mismatch> {
    Usd::parse(&text(value)?).ok_or_else(|| Mismatch::unreadable("amount"))
}
