//! The exposure graph of the real data sets: known relations appear behind vaults, and everything else is reported as unknown.

use crate::ingest::market::ingest;
use crate::ingest::real_data::{imported, real_data};
use crate::ingest::sets::{clock, import};
use crate::support::db::TestDb;
use rds_origin::graph::{Snapshot, build, follow};
use rds_shared::graph::check::{Verdict, check};
use rds_shared::graph::facts::VaultFacts;
use rds_shared::graph::limits::Limits;
use rds_shared::graph::portfolio::Portfolio;
use rds_shared::model::ids::VaultKey;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Builds the graph of the imported data and opens it.
async fn built(test: &TestDb) -> Snapshot {
    let built = build::build(&test.db, clock().now()).await.unwrap().unwrap();
    follow::load(&test.db, &built.snapshot_id.to_hex()).await.unwrap()
}

fn many(snapshot: &Snapshot, which: impl Fn(&&VaultFacts) -> bool) -> usize {
    snapshot.graph.facts().vaults().iter().filter(which).count()
}

/// The supply tokens of pools in the address book, as ingest lines of vaults without figures, and the feed that the book
/// names for each token.
fn pool_shares(dir: &Path) -> (Vec<Value>, BTreeMap<VaultKey, Option<String>>) {
    let text = std::fs::read_to_string(dir.join("lending_reserves.jsonl")).unwrap();
    let (mut lines, mut feeds) = (Vec::new(), BTreeMap::new());
    for row in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let Some(token) = row["a_token"].as_str() else { continue };
        let key = VaultKey::parse(&format!("{}:{token}", row["chain_id"])).unwrap();
        feeds.insert(key, row["oracle"].as_str().map(|feed| format!("{}:{feed}", row["chain_id"])));
        lines.push(json!({"kind": "vault", "observed_at": "2026-01-01T00:00:00Z", "source": row["source"], "protocol_id": "aave",
            "chain_id": row["chain_id"], "address": token, "name": row["symbol"], "asset_symbol": row["symbol"],
            "asset_address": row["underlying"], "asset_mode": "lending"}));
    }
    (lines, feeds)
}

#[tokio::test]
async fn the_real_vaults_are_a_graph_that_says_what_is_not_known_of_them() {
    let Some(dir) = real_data() else { return };
    let Some((test, _)) = imported().await else { return };
    let other = TestDb::new().await;
    import(&other, &dir, None).await.unwrap();
    let snapshot = built(&test).await;
    for (again, what) in [(&test, "built again"), (&other, "the same data sets elsewhere")] {
        let again = build::build(&again.db, clock().now()).await.unwrap().unwrap();
        assert_eq!(again.snapshot_id, snapshot.id(), "{what}");
    }

    let rows = snapshot.manifest.publications.iter().map(|it| (it.name, it.rows));
    assert_eq!(rows.collect::<Vec<_>>(), [("incidents", 1), ("lending", 47), ("vaults", 9_696)]);
    // What a vault holds is known where a rule derives it from the data sets. The deposit asset of nearly all vaults is known; in twelve cases a
    // bridge may have minted it.
    assert_eq!(many(&snapshot, |vault| vault.parts.is_some()), 349);
    assert_eq!(many(&snapshot, |vault| vault.idle.is_some()), 9_685);
    assert_eq!(many(&snapshot, |vault| vault.idle.as_ref().is_some_and(|deposit| !deposit.bridges.is_empty())), 12);

    let key = VaultKey::parse("8453:0xa487f940d6f40d7304cd4e62751220f97124bec9").unwrap();
    let looked = serde_json::to_value(snapshot.graph.look_through(&key).unwrap()).unwrap();
    assert_eq!((&looked["protocol"], &looked["assets"]), (&json!("euler"), &json!([])));
    assert_eq!(looked["unattributed"], json!([{"reason": "holdings_unknown", "share": 1, "usdExposure": null}]));
    let place = snapshot.graph.facts().position(&key).unwrap();
    let deposit = snapshot.graph.facts().vaults()[place].idle.clone().unwrap();
    assert_eq!((deposit.symbol.as_str(), deposit.bridges[0].id.as_str()), ("ezETH", "hyperlane/EZETH/renzo-prod"));
    assert!(!deposit.bridges[0].trust.is_certain(), "one minter of several");

    // The vault's bridges are not known for certain, so a limit on them gives a caution. Its protocol is registered, so a limit on it can
    // reject.
    let verdict = |field: &str, limit: &str| {
        let mut limits = Limits::default();
        limits.set(field, limit).unwrap();
        let amount = rds_shared::graph::amount::Usd::from_number(100.0).unwrap();
        check(&Portfolio::new([(key.clone(), amount)]).unwrap(), snapshot.graph.index(), &limits).verdict
    };
    assert_eq!(
        (verdict("maxSharePerBridge", "0.1"), verdict("maxSharePerProtocol", "0.1")),
        (Verdict::Caution, Verdict::Reject)
    );
}

#[tokio::test]
async fn real_pool_shares_have_the_feeds_and_signers_of_the_address_book() {
    let Some(dir) = real_data() else { return };
    let Some((test, _)) = imported().await else { return };
    let (lines, feeds) = pool_shares(&dir);
    ingest(&test, &clock(), &lines).await;
    let snapshot = built(&test).await;

    // The graph assigns feeds by market name and asset symbol. The address book states each reserve's feed; both must agree.
    let (mut priced, mut signed) = (0, 0);
    for (key, feed) in &feeds {
        let place = snapshot.graph.facts().position(key).unwrap();
        let vault = &snapshot.graph.facts().vaults()[place];
        let found: Vec<&str> = vault.idle.as_ref().unwrap().oracles.iter().map(|feed| feed.id.as_str()).collect();
        assert_eq!(found, feed.as_deref().into_iter().collect::<Vec<_>>(), "{key}");
        priced += found.len();
        signed += usize::from(!vault.signer_sets.is_empty());
    }
    assert_eq!((feeds.len(), priced, signed), (394, 390, 383));

    // The dollar reserve of the main pool: fifteen multisigs and timelocks control some part of it.
    let dollar = VaultKey::parse("1:0x98c23e9d8f34fefb1b7bd6a91b7ff122f4e16f5c").unwrap();
    let looked = serde_json::to_value(snapshot.graph.look_through(&dollar).unwrap()).unwrap();
    let sets = looked["signerSets"].as_array().unwrap();
    assert_eq!(sets.len(), 15);
    assert!(sets.iter().all(|set| set["share"] == 1 && set["verified"] == true), "{looked}");
}
