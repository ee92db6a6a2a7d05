//! Examples of look-throughs and checks with nested vaults.

use rds_shared::graph::amount::Usd;
use rds_shared::graph::check::{FindingKind, Verdict, check};
use rds_shared::graph::facts::{
    AssetRoute, Facts, FactsError, Holding, OracleFeed, Part, Reference, Trust, VaultFacts,
};
use rds_shared::graph::limits::{Dimension, Limits};
use rds_shared::graph::look_through::ExposureGraph;
use rds_shared::graph::portfolio::{MAX_POSITIONS, Portfolio, PortfolioError};
use rds_shared::model::ids::VaultKey;
use rds_shared::scoring::Ppm;
use serde_json::json;

fn key(name: char) -> VaultKey {
    VaultKey::parse(&format!("1:0x{}", name.to_string().repeat(40))).unwrap()
}

fn usd(dollars: f64) -> Usd {
    Usd::from_number(dollars).unwrap()
}

/// A vault with the given holdings, in percent.
fn vault(name: char, parts: Vec<(i64, Holding)>) -> VaultFacts {
    let part = |(percent, holding)| Part { share: Ppm(percent * 10_000), holding };
    VaultFacts {
        key: key(name),
        curator: Some(format!("curator-{name}")),
        protocol: Some("p".into()),
        clusters: vec![],
        signer_sets: vec![],
        tvl: Some(usd(1000.0)),
        idle: None,
        parts: Some(parts.into_iter().map(part).collect()),
    }
}

fn plain(asset: &str) -> Holding {
    Holding::Asset(AssetRoute::plain(asset, asset))
}

fn graph(vaults: Vec<VaultFacts>) -> ExposureGraph {
    ExposureGraph::build(Facts::new(vaults).unwrap())
}

fn bridge(id: &str, verified: bool) -> Reference {
    Reference { id: id.into(), trust: Trust { verified, confidence: Ppm(900_000) } }
}

fn limits(of: &[(&str, f64)]) -> Limits {
    let mut limits = Limits::default();
    of.iter().for_each(|(field, fraction)| limits.set(field, &fraction.to_string()).unwrap());
    limits
}

fn one_position(name: char) -> Portfolio {
    Portfolio::new([(key(name), usd(100.0))]).unwrap()
}

#[test]
fn a_vault_of_vaults_is_resolved_down_to_its_assets() {
    let bridged = AssetRoute {
        wrappers: vec!["stToken".into()],
        oracles: vec![OracleFeed { id: "feed-1".into(), vendor: Some("vendor-1".into()) }],
        bridges: vec![bridge("canonical", true)],
        ..AssetRoute::plain("1:WETH", "WETH")
    };
    let mut inner = vault('b', vec![(25, Holding::Asset(bridged)), (75, plain("1:USDC"))]);
    inner.signer_sets = vec![bridge("safe-b", false)];
    let mut outer = vault('a', vec![(60, Holding::Vault(key('b'))), (30, plain("1:USDC"))]);
    outer.signer_sets = vec![bridge("safe-a", true)];
    let graph = graph(vec![outer, inner]);
    assert_eq!(
        serde_json::to_value(graph.look_through(&key('a')).unwrap()).unwrap(),
        json!({
            "vaultKey": key('a'), "curator": "curator-a", "protocol": "p", "chain": 1,
            "assets": [
                {"assetKey": "1:USDC", "symbol": "1:USDC", "share": 0.75, "usdExposure": "750",
                    "wrappers": [], "oracles": [], "bridges": []},
                {"assetKey": "1:WETH", "symbol": "WETH", "share": 0.15, "usdExposure": "150",
                    "wrappers": [{"id": "stToken", "share": 0.15}],
                    "oracles": [{"id": "feed-1", "vendor": "vendor-1", "share": 0.15}],
                    "bridges": [{"id": "canonical", "verified": true, "confidence": 0.9, "share": 0.15}]},
            ],
            "signerSets": [
                {"id": "safe-a", "verified": true, "confidence": 0.9, "share": 1},
                {"id": "safe-b", "verified": false, "confidence": 0.9, "share": 0.6},
            ],
            "clusters": [],
            "unattributed": [{"reason": "idle", "share": 0.1, "usdExposure": "100"}],
            "cycles": [],
        })
    );
    assert_eq!(graph.look_through(&key('f')), None);
}

#[test]
fn vaults_that_hold_each_other_are_resolved_once_and_the_cycle_is_reported() {
    let a = vault('a', vec![(50, Holding::Vault(key('b'))), (50, plain("X"))]);
    let b = vault('b', vec![(40, Holding::Vault(key('a'))), (60, plain("Y"))]);
    let outside = vault('c', vec![(100, Holding::Vault(key('a')))]);
    let graph = graph(vec![outside, b, a]);
    for name in ['a', 'c'] {
        let looked = graph.look_through(&key(name)).unwrap();
        let shares: Vec<_> = looked.assets.iter().map(|asset| (asset.asset_key, asset.share.get())).collect();
        assert_eq!(shares, [("X", 500_000_000_000), ("Y", 300_000_000_000)], "{name}");
        assert_eq!(
            (looked.unattributed[0].reason.as_str(), looked.unattributed[0].share.get()),
            ("cycle", 200_000_000_000)
        );
        assert_eq!(looked.cycles, [[key('a'), key('b')]]);
    }
    let alone = ExposureGraph::build(Facts::new(vec![vault('a', vec![(100, Holding::Vault(key('a')))])]).unwrap());
    assert_eq!(alone.look_through(&key('a')).unwrap().cycles, [[key('a')]]);
}

#[test]
fn exposure_to_a_signer_set_is_the_whole_position_and_to_a_bridge_its_asset_only() {
    let bridged = AssetRoute { bridges: vec![bridge("b1", true)], ..AssetRoute::plain("X", "X") };
    let mut a = vault('a', vec![(30, Holding::Asset(bridged)), (70, plain("X"))]);
    a.signer_sets = vec![bridge("safe", true)];
    let graph = graph(vec![a]);
    let limits = limits(&[("maxSharePerBridge", 0.29), ("maxSharePerSignerSet", 0.99), ("maxSharePerAsset", 1.0)]);
    let outcome = check(&one_position('a'), graph.index(), &limits);
    let found: Vec<_> = outcome.findings.iter().map(|it| (it.dimension, it.kind, it.exposure.usd)).collect();
    assert_eq!(
        found,
        [
            (Dimension::Asset, FindingKind::Near, usd(100.0)),
            (Dimension::Bridge, FindingKind::Breach, usd(30.0)),
            (Dimension::SignerSet, FindingKind::Breach, usd(100.0)),
        ]
    );
}

#[test]
fn exposure_to_an_assets_parties_is_the_share_held_in_it() {
    let run = AssetRoute {
        clusters: vec!["nodes".into()],
        signer_sets: vec![bridge("issuer", true)],
        ..AssetRoute::plain("X", "X")
    };
    let mut inner = vault('b', vec![(50, Holding::Asset(run.clone())), (50, plain("Y"))]);
    inner.clusters = vec!["nodes".into()];
    let mut outer = vault('a', vec![(40, Holding::Vault(key('b'))), (30, Holding::Asset(run.clone()))]);
    outer.idle = Some(run);
    let mut whole = vault('c', vec![(100, Holding::Vault(key('a')))]);
    whole.signer_sets = vec![bridge("issuer", false)];
    let graph = graph(vec![outer, inner, whole]);
    // Vault `b` itself is mapped to the cluster, so its share is 100 %. Its asset with the same cluster is not counted again.
    let shares = |name| {
        let looked = graph.look_through(&key(name)).unwrap();
        (looked.clusters[0].share.get(), looked.signer_sets[0].share.get())
    };
    assert_eq!(shares('b'), (1_000_000_000_000, 500_000_000_000));
    assert_eq!(shares('a'), (1_000_000_000_000, 800_000_000_000));
    assert_eq!(shares('c'), (1_000_000_000_000, 1_000_000_000_000));
    let verdict = |name, field, limit| check(&one_position(name), graph.index(), &limits(&[(field, limit)])).verdict;
    assert_eq!(verdict('a', "maxSharePerSignerSet", 0.79), Verdict::Reject);
    assert_eq!(
        verdict('c', "maxSharePerSignerSet", 0.79),
        Verdict::Reject,
        "the verified exposure through its assets suffices"
    );
    assert_eq!(verdict('c', "maxSharePerSignerSet", 0.8), Verdict::Caution);
    assert_eq!(verdict('b', "maxSharePerCluster", 0.99), Verdict::Reject);
}

#[test]
fn a_breach_on_unverified_mappings_alone_is_caution() {
    let mut a = vault('a', vec![(100, plain("X"))]);
    a.signer_sets = vec![bridge("safe", false)];
    let outcome = check(&one_position('a'), graph(vec![a]).index(), &limits(&[("maxSharePerSignerSet", 0.5)]));
    assert_eq!(outcome.verdict, Verdict::Caution);
    let published = serde_json::to_value(&outcome).unwrap();
    assert_eq!(
        published["findings"],
        json!([{"limit": "maxSharePerSignerSet", "dimension": "signerSet", "key": "safe", "kind": "advisory",
            "maxShare": 0.5, "share": 1, "usd": "100", "verifiedUsd": "0", "verified": false, "confidence": 0.9}])
    );
    assert_eq!(
        published["exposures"]["curator"],
        json!([{"key": "curator-a", "usd": "100", "share": 1, "verified": true, "confidence": 1}])
    );
    let dimensions: Vec<_> = published["exposures"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(dimensions, Dimension::ALL.iter().map(|dimension| dimension.as_str()).collect::<Vec<_>>());
    assert_eq!((&published["verdict"], &published["totalUsd"]), (&json!("caution"), &json!("100")));
    assert_eq!(published["unresolvedVaults"], json!([]));
}

#[test]
fn exposure_to_a_nested_vaults_signers_is_proportional_and_not_counted_twice() {
    let mut inner = vault('b', vec![(100, plain("X"))]);
    inner.signer_sets = vec![bridge("shared", true), bridge("own", true)];
    let mut outer = vault('a', vec![(40, Holding::Vault(key('b'))), (60, plain("X"))]);
    // The outer vault's mapping to `shared` is not verified, so only the share through the inner vault can cause a rejection.
    outer.signer_sets = vec![bridge("shared", false)];
    let graph = graph(vec![outer, inner]);
    let with = |limit| check(&one_position('a'), graph.index(), &limits(&[("maxSharePerSignerSet", limit)]));
    let at_half = with(0.5);
    assert_eq!(at_half.verdict, Verdict::Caution);
    let shared = &at_half.findings[0];
    assert_eq!(
        (shared.exposure.key.as_str(), shared.exposure.usd, shared.verified_usd),
        ("shared", usd(100.0), usd(40.0))
    );
    assert_eq!(with(0.39).verdict, Verdict::Reject);
    let curators = &at_half.exposures[&Dimension::Curator];
    assert_eq!(
        curators.iter().map(|it| (it.key.as_str(), it.usd)).collect::<Vec<_>>(),
        [("curator-a", usd(100.0)), ("curator-b", usd(40.0)),]
    );
}

#[test]
fn a_vault_with_unknown_holdings_is_unresolved_only_for_limits_on_holdings() {
    let mut dark = vault('a', vec![]);
    dark.parts = None;
    let graph = graph(vec![dark]);
    let ask = |field| check(&one_position('a'), graph.index(), &limits(&[(field, 1.0)]));
    let chain = ask("maxSharePerChain");
    assert_eq!((chain.verdict, chain.unresolved_vaults), (Verdict::Caution, vec![]));
    assert_eq!(chain.findings[0].kind, FindingKind::Near);
    let asset = ask("maxSharePerAsset");
    assert_eq!((asset.verdict, asset.unresolved_vaults), (Verdict::Caution, vec![key('a')]));
    assert_eq!((asset.findings, asset.unattributed_usd), (vec![], usd(100.0)));
    let nobody = check(&one_position('f'), graph.index(), &Limits::default());
    assert_eq!((nobody.verdict, nobody.unresolved_vaults), (Verdict::Caution, vec![key('f')]));
}

#[test]
fn each_of_many_interlinked_vaults_reports_fifty_cycles_including_one_of_its_own() {
    let names = "0123456789ab";
    let others = |name: char| names.chars().filter(move |other| *other != name);
    let holding = |name| vault(name, others(name).map(|other| (9, Holding::Vault(key(other)))).collect());
    let graph = graph(names.chars().map(holding).collect());
    for name in names.chars() {
        let looked = graph.look_through(&key(name)).unwrap();
        assert_eq!(looked.cycles.len(), 50, "fifty of the sixty-six cycles are reported");
        assert!(looked.cycles.iter().any(|cycle| cycle.contains(&key(name))));
    }
}

/// Vaults that each hold a thousandth in every other vault and keep the rest idle in their deposit asset.
fn all_of_each_other(many: usize) -> Vec<VaultFacts> {
    let numbered = |n: usize| VaultKey::parse(&format!("1:0x{n:040x}")).unwrap();
    let holding = |n: usize| {
        let mut one = vault('a', vec![]);
        one.key = numbered(n);
        let others = (0..many).filter(|other| *other != n);
        let held = others.map(|other| Part { share: Ppm(1_000), holding: Holding::Vault(numbered(other)) });
        one.parts = Some(held.collect());
        one.idle = Some(AssetRoute::plain("X", "X"));
        one
    };
    (0..many).map(holding).collect()
}

#[test]
fn a_thousand_interlinked_vaults_are_resolved_and_never_approved() {
    let vaults = all_of_each_other(1_000);
    let (first, last) = (vaults[0].key.clone(), vaults[999].key.clone());
    let graph = graph(vaults);
    for key in [first, last] {
        let looked = graph.look_through(&key).unwrap();
        assert_eq!(looked.assets[0].share.get(), 1_000_000_000);
        assert_eq!(
            (looked.unattributed[0].reason.as_str(), looked.unattributed[0].share.get()),
            ("cycle", 999_000_000_000)
        );
        assert_eq!(looked.cycles.len(), 50);
        for ask in ["maxSharePerAsset", "maxSharePerCurator", "maxSharePerSignerSet"] {
            let portfolio = Portfolio::new([(key.clone(), usd(100.0))]).unwrap();
            let outcome = check(&portfolio, graph.index(), &limits(&[(ask, 1.0)]));
            assert_eq!(
                outcome.unresolved_vaults,
                std::slice::from_ref(&key),
                "{ask}: the parties behind the rest are unknown"
            );
            assert_eq!(outcome.verdict, Verdict::Caution);
        }
    }
}

#[test]
fn parties_are_known_in_a_cycle_of_two_but_not_in_three_interlinked_vaults() {
    let circle = |held: &[(char, &str)]| {
        let parts = |others: &str| others.chars().map(|other| (40, Holding::Vault(key(other)))).collect();
        graph(held.iter().map(|(name, others)| vault(*name, parts(others))).collect())
    };
    let unresolved = |graph: &ExposureGraph| {
        check(&one_position('a'), graph.index(), &limits(&[("maxSharePerCurator", 1.0)])).unresolved_vaults
    };
    assert_eq!(unresolved(&circle(&[('a', "b"), ('b', "a")])), []);
    // From `a`, both `b` and `c` are one step away, so the edges between `b` and `c` are not followed.
    assert_eq!(unresolved(&circle(&[('a', "bc"), ('b', "ac"), ('c', "ab")])), [key('a')]);
}

#[test]
fn a_limit_on_unknown_facts_is_never_approved() {
    let feed = |vendor: Option<&str>| OracleFeed { id: "feed".into(), vendor: vendor.map(Into::into) };
    let priced = |oracles| Holding::Asset(AssetRoute { oracles, ..AssetRoute::plain("X", "X") });
    let graph = graph(vec![
        vault('a', vec![]),
        vault('b', vec![(100, plain("X"))]),
        vault('c', vec![(100, priced(vec![feed(None)]))]),
        vault('d', vec![(100, priced(vec![feed(Some("vendor"))]))]),
        vault('e', vec![(50, Holding::Vault(key('b'))), (50, priced(vec![feed(Some("vendor"))]))]),
    ]);
    let asks = ["maxSharePerAsset", "maxSharePerBridge", "maxSharePerOracle", "maxSharePerOracleVendor"];
    // The deposit asset of `a`, the feed of `b` (also held through `e`) and the vendor of `c`'s feed are unknown. `d` has no unknown fact.
    for (name, unknown) in [('a', &asks[..]), ('b', &asks[2..]), ('e', &asks[2..]), ('c', &asks[3..]), ('d', &[])] {
        for ask in asks {
            let outcome = check(&one_position(name), graph.index(), &limits(&[(ask, 1.0)]));
            let listed = unknown.contains(&ask);
            assert_eq!(outcome.unresolved_vaults.len(), usize::from(listed), "{ask} of {name}");
            assert!(!listed || outcome.verdict == Verdict::Caution);
        }
        let other = check(&one_position(name), graph.index(), &limits(&[("maxSharePerSignerSet", 0.01)]));
        assert_eq!((other.verdict, other.unresolved_vaults), (Verdict::Approve, vec![]), "{name}: unneeded facts");
    }
}

#[test]
fn an_idle_share_is_attributed_to_the_deposit_asset() {
    let mut a = vault('a', vec![(80, plain("X"))]);
    a.idle = Some(AssetRoute::plain("Y", "Y"));
    let graph = graph(vec![a]);
    let looked = graph.look_through(&key('a')).unwrap();
    assert_eq!(looked.assets[1].usd_exposure, Some(usd(200.0)));
    assert!(looked.unattributed.is_empty());
}

#[test]
fn contradictory_facts_are_refused() {
    let twice = vec![vault('a', vec![]), vault('a', vec![])];
    assert_eq!(Facts::new(twice), Err(FactsError::RepeatedVault(key('a'))));
    for parts in [vec![(60, plain("X")), (41, plain("Y"))], vec![(-1, plain("X"))]] {
        assert_eq!(Facts::new(vec![vault('a', parts)]), Err(FactsError::Shares(key('a'))));
    }
    let mut doubtful = vault('a', vec![]);
    doubtful.signer_sets =
        vec![Reference { id: "s".into(), trust: Trust { verified: true, confidence: Ppm(1_000_001) } }];
    assert_eq!(Facts::new(vec![doubtful]), Err(FactsError::Confidence(key('a'))));
}

#[test]
fn invalid_positions_are_refused_with_the_reason() {
    let position = (key('a'), usd(1.0));
    assert_eq!(Portfolio::new([]), Err(PortfolioError::Empty));
    assert_eq!(Portfolio::new([(key('a'), Usd::ZERO)]), Err(PortfolioError::ZeroTotal));
    let most = std::iter::repeat_n(position.clone(), MAX_POSITIONS);
    assert_eq!(Portfolio::new(most.clone()).unwrap().total(), usd(1000.0));
    assert_eq!(Portfolio::new(most.chain([position])), Err(PortfolioError::TooMany));
}
