//! Mappings: every mapping that ingest accepts appears behind a vault, each limit can be breached by ingested facts, and an uncertain mapping
//! never rejects a portfolio.

use crate::graph::decisions_world::World;
use crate::graph::world::{SEEN, build, key, mapping, opened};
use crate::support::market::{VAULTS, address, line};
use serde_json::{Value, json};

fn contract(number: u32) -> String {
    format!("1:{}", address(number))
}

/// Names and subjects (`type:id`) of mappings that concern the first vault. The vault is 70 % dollars, its deposit asset, and 30 % coins;
/// the feed prices the dollars.
fn subjects() -> [(&'static str, String); 6] {
    [
        ("vault", format!("vault:{}", VAULTS[0].id())),
        ("protocol", "protocol:harbor".to_owned()),
        ("market", format!("market:{}", contract(0xc0))),
        ("deposit", "asset:dollar".to_owned()),
        ("asset", "asset:coin".to_owned()),
        ("feed", format!("feed:{}", contract(0xfe))),
    ]
}

/// One mapping of each type to each subject.
fn everything(trust: (bool, f64)) -> String {
    let mut lines = String::new();
    for (name, subject) in subjects() {
        for mapping_type in ["operator_cluster", "signer_set", "bridge", "oracle_vendor"] {
            let carries = name != "feed" || mapping_type != "bridge";
            let runs = name == "feed" || mapping_type != "oracle_vendor";
            if carries && runs {
                let id = format!("to-{name}");
                lines.push_str(&mapping(mapping_type, &id, trust, std::slice::from_ref(&subject)));
            }
        }
    }
    lines
}

/// A portfolio of a thousand dollars in the first vault, with these limits.
fn limited(limits: &Value) -> Value {
    json!({"portfolioRef": "book", "positions": [{"vaultKey": key(0), "amountUsd": 1000}], "limits": limits})
}

/// The shares of a list by id, for the mappings of [`everything`].
fn shares(list: &Value) -> Vec<(&str, f64)> {
    let shares = list.as_array().unwrap().iter();
    let shares = shares.map(|it| (it["id"].as_str().unwrap(), it["share"].as_f64().unwrap()));
    shares.filter_map(|(id, share)| Some((id.strip_prefix("to-")?, share))).collect()
}

#[tokio::test]
async fn everything_that_can_be_mapped_stands_behind_the_part_that_depends_on_it() {
    let world = World::new().await;
    world.test.ingest(&everything((true, 0.9))).await;
    build(&world.test).await;
    let looked = opened(&world.test, &key(0)).await;
    let expected =
        [("asset", 0.3), ("deposit", 1.0), ("feed", 0.7), ("market", 1.0), ("protocol", 1.0), ("vault", 1.0)];
    assert_eq!(shares(&looked["clusters"]), expected);
    assert_eq!(shares(&looked["signerSets"]), expected);
    let assets = looked["assets"].as_array().unwrap();
    let carried: Vec<_> =
        assets.iter().map(|asset| (asset["assetKey"].as_str().unwrap(), shares(&asset["bridges"]))).collect();
    let whole = |share: f64, own| vec![(own, share), ("market", share), ("protocol", share), ("vault", share)];
    assert_eq!(carried, [("coin", whole(0.3, "asset")), ("dollar", whole(0.7, "deposit"))]);
    assert_eq!(shares(&looked["assets"][1]["oracles"]), []);
    assert!(looked["assets"][1]["oracles"].to_string().contains("to-feed"), "{looked}");

    // Each share is checked against a limit below the share and against an equal limit.
    let fields = [("maxSharePerCluster", &expected[..]), ("maxSharePerSignerSet", &expected[..])];
    let bridges = [("asset", 0.3), ("deposit", 0.7), ("market", 1.0), ("protocol", 1.0), ("vault", 1.0)];
    for (field, expected) in fields.into_iter().chain([("maxSharePerBridge", &bridges[..])]) {
        for (name, share) in expected {
            let breached = async |limit: f64| {
                let found = world.check(&limited(&json!({field: limit}))).await["findings"].clone();
                let ours = |it: &&Value| it["key"] == format!("to-{name}").as_str() && it["kind"] == "breach";
                found.as_array().unwrap().iter().any(|it| ours(&it))
            };
            assert!(breached(share - 0.01).await, "{field} {name}");
            assert!(!breached(*share).await, "{field} {name}");
        }
    }
}

#[tokio::test]
async fn each_of_the_nine_limits_is_breached_by_facts_that_came_in() {
    let world = World::new().await;
    let sure = (true, 0.9);
    world.test.ingest(&mapping("operator_cluster", "nodes", sure, &["asset:coin".to_owned()])).await;
    world.test.ingest(&mapping("bridge", "ferry/sure", sure, &["asset:coin".to_owned()])).await;
    build(&world.test).await;
    let feed = contract(0xfe);
    for (field, dimension, key, share) in [
        ("maxSharePerAsset", "asset", "dollar", 0.7),
        ("maxSharePerBridge", "bridge", "ferry/sure", 0.3),
        ("maxSharePerChain", "chain", "1", 1.0),
        ("maxSharePerCluster", "cluster", "nodes", 0.3),
        ("maxSharePerCurator", "curator", "north", 1.0),
        ("maxSharePerOracle", "oracle", &feed, 0.7),
        ("maxSharePerOracleVendor", "oracleVendor", "lamp", 0.7),
        ("maxSharePerProtocol", "protocol", "harbor", 1.0),
        ("maxSharePerSignerSet", "signerSet", "council", 1.0),
    ] {
        let checked = world.check(&limited(&json!({field: share - 0.001}))).await;
        assert_eq!(checked["verdict"], "reject", "{field}");
        let found = checked["findings"].as_array().unwrap();
        let breach = found.iter().find(|it| it["kind"] == "breach").unwrap();
        assert_eq!(
            (&breach["limit"], &breach["dimension"], &breach["key"], breach["share"].as_f64(), &breach["usd"]),
            (&json!(field), &json!(dimension), &json!(key), Some(share), &json!(format!("{}", share * 1000.0)))
        );
        let kept = world.check(&limited(&json!({field: share}))).await;
        assert_ne!(kept["verdict"], "reject", "{field}: at the limit is within it");
    }
}

#[tokio::test]
async fn an_uncertain_mapping_never_rejects() {
    let world = World::new().await;
    let fields = ["maxSharePerBridge", "maxSharePerSignerSet", "maxSharePerCluster", "maxSharePerOracleVendor"];
    let verdicts = async |limit: f64| {
        let mut verdicts = Vec::new();
        for field in fields {
            let checked = world.check(&limited(&json!({field: limit}))).await;
            let sure = checked["findings"].as_array().unwrap().iter().filter(|it| it["kind"] == "breach");
            let sure: Vec<Value> = sure.map(|it| it["key"].clone()).collect();
            verdicts.push((checked["verdict"] == "reject", sure));
        }
        verdicts
    };
    let before = (verdicts(0.01).await, verdicts(1.0).await);
    for (minute, trust) in [(1, (false, 1.0)), (2, (true, 0.79)), (3, (false, 0.0))] {
        let seen = format!("2026-11-20T23:55:0{minute}Z");
        let doubtful = everything(trust).replace(SEEN, &seen);
        // A bridge with the same trust that only the exposure states.
        let bridge = json!({"id": "to-exposure", "verified": trust.0, "confidence": trust.1});
        let parts = json!([{"asset_id": "dollar", "share": 0.6, "bridges": [bridge]}, {"asset_id": "coin", "share": 0.3, "bridges": [bridge]}]);
        let exposure =
            line("exposure", &seen, json!({"vault_id": VAULTS[0].id(), "status": "observed", "parts": parts}));
        world.test.ingest(&[doubtful, exposure].concat()).await;
        build(&world.test).await;
        assert_eq!((verdicts(0.01).await, verdicts(1.0).await), before, "{trust:?}");
        let told = world.check(&limited(&json!({"maxSharePerBridge": 0.5, "maxSharePerSignerSet": 1}))).await;
        assert_eq!(told["verdict"], "caution");
        let advisory = |it: &&Value| it["key"] == "to-vault" && it["kind"] == "advisory";
        assert!(told["findings"].as_array().unwrap().iter().any(|it| advisory(&it)), "{told}");
    }
}
