//! Random vaults, portfolios and limits for the property tests of decisioning.
#![allow(dead_code, reason = "each test program uses its part")]

use proptest::collection::{btree_map, vec};
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rds_shared::graph::amount::{Share, Usd};
use rds_shared::graph::facts::{AssetRoute, Holding, OracleFeed, Part, Reference, Trust, VaultFacts};
use rds_shared::graph::index::Mapping;
use rds_shared::graph::limits::{Dimension, Limits};
use rds_shared::graph::portfolio::Portfolio;
use rds_shared::model::ids::VaultKey;
use rds_shared::scoring::Ppm;

/// Number of vaults in the random facts; keys from this number on are unknown.
pub const VAULTS: usize = 8;

/// The key of the nth vault.
pub fn key(n: usize) -> VaultKey {
    VaultKey::parse(&format!("{}:0x{n:040x}", 1 + n % 3)).unwrap()
}

pub fn config() -> ProptestConfig {
    ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() }
}

pub fn trust() -> impl Strategy<Value = Trust> {
    let confidence = prop_oneof![select(vec![0, 799_999, 800_000, 1_000_000]), 0..=1_000_000_i64];
    (any::<bool>(), confidence).prop_map(|(verified, confidence)| Trust { verified, confidence: Ppm(confidence) })
}

fn references(names: &'static [&'static str]) -> impl Strategy<Value = Vec<Reference>> {
    vec((select(names), trust()).prop_map(|(id, trust)| Reference { id: id.into(), trust }), 0..3)
}

pub fn route() -> impl Strategy<Value = AssetRoute> {
    let feeds = vec![("f1", Some("v1")), ("f2", Some("v1")), ("f3", None)];
    let feed = |(id, vendor): (&str, Option<&str>)| OracleFeed { id: id.into(), vendor: vendor.map(Into::into) };
    let feeds = subsequence(feeds, 0..=3).prop_map(move |feeds| feeds.into_iter().map(feed).collect());
    let clusters = vec(select(vec!["k1", "k3"]).prop_map(String::from), 0..2);
    (select(vec!["P", "Q", "R"]), feeds, references(&["b1", "b2"]), clusters, references(&["s1", "s4"])).prop_map(
        |(asset, oracles, bridges, clusters, signer_sets)| AssetRoute {
            oracles,
            bridges,
            clusters,
            signer_sets,
            ..AssetRoute::plain(asset, asset)
        },
    )
}

/// The parts of one vault: their shares add up to at most one. A part may be any vault, including the vault itself and vaults that do not
/// exist.
fn parts() -> impl Strategy<Value = Vec<Part>> {
    let vault = (0..VAULTS + 2).prop_map(|vault| Holding::Vault(key(vault)));
    let holding = prop_oneof![4 => route().prop_map(Holding::Asset), 4 => vault, 1 => Just(Holding::Unpublished)];
    vec((1..=1_000_000_i64, holding), 0..5).prop_map(|drawn| {
        let total = drawn.iter().map(|(weight, _)| weight).sum::<i64>().max(1_000_000);
        let share = |weight: i64| Ppm(weight * 1_000_000 / total);
        drawn.into_iter().map(|(weight, holding)| Part { share: share(weight), holding }).collect()
    })
}

/// All vaults; they may hold each other in any way.
pub fn vaults() -> impl Strategy<Value = Vec<VaultFacts>> {
    let named = |names: Vec<&'static str>| weighted(0.8, select(names).prop_map(String::from));
    let one = (
        (named(vec!["c1", "c2"]), named(vec!["p1", "p2"])),
        vec(select(vec!["k1", "k2"]).prop_map(String::from), 0..2),
        references(&["s1", "s2", "s3"]),
        weighted(0.9, (0..10_u128.pow(18)).prop_map(Usd::from_micros)),
        weighted(0.5, route()),
        weighted(0.9, parts()),
    );
    vec(one, VAULTS).prop_map(|drawn| {
        let vault = |(n, ((curator, protocol), clusters, signer_sets, tvl, idle, parts))| VaultFacts {
            key: key(n),
            curator,
            protocol,
            clusters,
            signer_sets,
            tvl,
            idle,
            parts,
        };
        drawn.into_iter().enumerate().map(vault).collect()
    })
}

/// Positions in known and unknown vaults.
pub fn positions() -> impl Strategy<Value = Vec<(VaultKey, Usd)>> {
    let amount = prop_oneof![1..1_000_u128, 1..10_u128.pow(12), 1..10_u128.pow(21)].prop_map(Usd::from_micros);
    vec(((0..VAULTS + 1).prop_map(key), amount), 1..6)
}

pub fn portfolio(positions: &[(VaultKey, Usd)]) -> Portfolio {
    Portfolio::new(positions.iter().cloned()).unwrap()
}

/// Mappings of one vault.
pub fn mappings() -> impl Strategy<Value = Vec<Mapping>> {
    let one = (select(Dimension::ALL), select(vec!["k", "l", "m"]), 0..=1_000_000_i64, trust());
    vec(one, 0..8).prop_map(|drawn| {
        let mapping = |(dimension, key, share, trust): (Dimension, &str, i64, Trust)| Mapping {
            dimension,
            key: key.into(),
            share: Share::from_ppm(Ppm(share)).unwrap(),
            trust,
        };
        drawn.into_iter().map(mapping).collect()
    })
}

pub fn limits() -> impl Strategy<Value = Limits> {
    let limit = prop_oneof![select(vec![1, 250_000, 500_000, 1_000_000]), 1..=1_000_000_i64].prop_map(Ppm);
    btree_map(select(Dimension::ALL), limit, 0..9).prop_map(|limits| Limits::from_ppm(limits).unwrap())
}
