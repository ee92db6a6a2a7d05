//! Snapshots of the exposure graph: named by their content, the same in every process, and unavailable while a chain in them is withheld.

use crate::graph::world::{SEEN, batches, build, built, exposure, get, key, offered, opened};
use crate::support::db::TestDb;
use crate::support::market::{address, line};
use crate::support::testapp::{TestApp, TestOptions};
use axum::http::StatusCode;
use rds_origin::graph::{build as builder, follow};
use rds_origin::jobs;
use rds_store::graph::facts;
use rds_store::ingest::publication;
use rds_store::service::tags;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::postgres::PgListener;
use std::time::Duration;
use tokio::time::timeout;

fn one(place: usize) -> String {
    format!("/v1/graph/look-through?vaults={}", key(place))
}

#[tokio::test]
async fn without_the_feature_there_is_no_such_route_for_anybody() {
    let test = TestApp::new().await;
    for target in [one(0), "/v1/graph/look-through".to_owned(), format!("/v1/graph/snapshot/{}", "0".repeat(64))] {
        assert_eq!(get(&test, &target).await.status, StatusCode::NOT_FOUND, "{target}");
        assert_eq!(test.get(&target).await.status, StatusCode::NOT_FOUND, "{target}");
    }
    assert_eq!(get(&test, "/v1/graph/check").await.status, StatusCode::NOT_FOUND, "nor is another method told of");
}

#[tokio::test]
async fn before_the_first_build_the_graph_says_when_to_ask_again() {
    let test = TestApp::with(offered()).await;
    follow::refresh(&test.app).await.unwrap();
    let unknown = format!("/v1/graph/snapshot/{}", "0".repeat(64));
    let incidents = one(0).replace("look-through", "incident-exposure");
    let summary = "/v1/graph/incident-exposure/summary".to_owned();
    for target in [one(0), incidents, summary, "/v1/graph/breach".to_owned(), unknown] {
        let reply = get(&test, &target).await;
        assert_eq!((reply.status.as_u16(), reply.code().as_str()), (503, "MATERIALIZATION_UNAVAILABLE"), "{target}");
        assert_eq!(reply.header("retry-after"), Some("600"), "{target}");
    }
    // Invalid requests are rejected whether or not there is a snapshot.
    for target in ["look-through?vaults=1:0x12", "incident-exposure?vaults=1:0x12", "snapshot/0"] {
        let reply = get(&test, &format!("/v1/graph/{target}")).await;
        assert_eq!((reply.status.as_u16(), reply.code().as_str()), (400, "INVALID_PARAMETER"), "{target}");
    }
    assert!(
        builder::build(&test.app.db, test.app.clock.now()).await.unwrap().is_none(),
        "nothing is nothing to freeze"
    );
}

/// A market of shape `pair` with debt. All of these pairs have the same name.
fn twin(number: u32) -> String {
    let pair = json!({"protocol_id": "lantern", "protocol_version": "v1", "chain_id": 8453, "address": address(number), "name": "Twin", "shape": "pair",
        "discovered_by": "protocol_api", "loan_asset_symbol": "USDX", "collateral_asset_symbol": "COIN", "lltv": 0.8, "is_protocol_listed": true});
    let totals =
        json!({"chain_id": 8453, "address": address(number), "total_supplied_usd": 900, "total_borrowed_usd": 700});
    [line("market", SEEN, pair), line("market_state", SEEN, totals)].concat()
}

/// The ids of the pairs in the breach preview, in its order.
async fn twins(test: &TestApp) -> Vec<String> {
    let protocols = get(test, "/v1/graph/breach").await.json()["data"]["protocols"].clone();
    let of_pairs = protocols.as_array().unwrap().iter().find(|entry| entry["protocolId"] == "lantern").unwrap();
    let markets = of_pairs["topMarkets"].as_array().unwrap().iter();
    markets.map(|market| market["marketId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_same_facts_are_the_same_snapshot_on_any_machine_in_any_order() {
    let (first, second) = (TestApp::with(offered()).await, TestApp::with(offered()).await);
    let batches = batches();
    for batch in &batches {
        first.ingest(batch).await;
    }
    // Registries come before the rows that refer to them; everything else may come in any order, repeatedly, and late.
    second.ingest(&batches[0]).await;
    second.ingest(&exposure(0, "2026-11-20T10:00:00Z", &[("vault:1", 1.0)])).await;
    for place in [3, 2, 1, 5, 4] {
        second.ingest(&batches[place]).await;
        second.ingest(&batches[place]).await;
    }
    // Of two markets of one name, the first to arrive gets the plain id.
    for (test, order) in [(&first, [0xe8, 0xe9]), (&second, [0xe9, 0xe8])] {
        for number in order {
            test.ingest(&twin(number)).await;
        }
    }
    second.app.clock.advance(3_600);
    let (one, other) = (build(&first).await, build(&second).await);
    assert_eq!(one.snapshot_id, other.snapshot_id);
    assert_eq!(twins(&first).await, ["lantern-v1-base-twin", "lantern-v1-base-twin-2"]);
    assert_eq!(
        twins(&second).await,
        ["lantern-v1-base-twin-2", "lantern-v1-base-twin"],
        "by contract, each under its id here"
    );
    assert!(one.kept.is_new && one.kept.is_current && one.vaults > 10);

    second.ingest(&exposure(3, SEEN, &[("asset:coin", 1.0)])).await;
    assert_ne!(build(&second).await.snapshot_id, one.snapshot_id);
}

#[tokio::test]
async fn a_snapshots_id_is_what_anybody_computes_from_its_manifest() {
    let test = built().await;
    let id = test.app.graph.current().unwrap().id().to_hex();
    let reply = test.get(&format!("/v1/graph/snapshot/{}", id.to_uppercase())).await;
    assert_eq!(reply.status, StatusCode::OK);
    let manifest = reply.json()["data"].clone();
    assert_eq!(manifest["snapshotId"], id.as_str());
    assert_eq!(manifest["builtAt"], "2026-11-21T00:00:00.000Z");
    assert_eq!(manifest["validTime"], "2026-11-20T23:55:00.000Z");
    let bodies = manifest["publications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["rows"].as_u64().unwrap()));
    assert_eq!(bodies.collect::<Vec<_>>(), [("incidents", 0), ("lending", 1), ("vaults", 13)]);

    // With sorted keys, no spaces and only integers, serde_json's text of a map is canonical JSON (RFC 8785).
    let covered = json!({"v": 1, "validTime": manifest["validTime"], "publications": manifest["publications"], "cursors": manifest["cursors"]});
    assert_eq!(hex(Sha256::digest(covered.to_string())), id);
    for publication in manifest["publications"].as_array().unwrap() {
        let hash = publication["contentHash"].as_str().unwrap();
        let body: String = sqlx::query_scalar("SELECT body FROM graph_publication WHERE content_hash = $1")
            .bind(hash)
            .fetch_one(&test.facts.db.pool)
            .await
            .unwrap();
        assert_eq!(hex(Sha256::digest(&body)), hash);
        assert_eq!(
            serde_json::from_str::<Vec<Value>>(&body).unwrap().len() as u64,
            publication["rows"].as_u64().unwrap()
        );
    }
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn an_invalid_snapshot_id_is_400_and_an_unknown_one_404() {
    let test = built().await;
    for bad in ["1", "zz", &"g".repeat(64), &"0".repeat(65)] {
        let reply = test.get(&format!("/v1/graph/snapshot/{bad}")).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_PARAMETER"), "{bad}");
        assert_eq!(reply.json()["error"]["details"][0]["name"], "id");
    }
    assert_eq!(test.get(&format!("/v1/graph/snapshot/{}", "0".repeat(64))).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn every_process_answers_from_the_snapshot_that_one_of_them_built() {
    let test = built().await;
    let other = TestApp::over(TestDb::guest(&test.facts).await, offered()).await;
    assert!(follow::refresh(&other.app).await.unwrap());
    assert!(!follow::refresh(&other.app).await.unwrap(), "it is loaded once");
    assert_eq!(opened(&other, &key(1)).await, opened(&test, &key(1)).await);

    // Later facts are in the next snapshot only.
    test.ingest(&exposure(0, "2026-11-20T23:58:00Z", &[("asset:coin", 1.0)])).await;
    follow::refresh(&other.app).await.unwrap();
    assert_eq!(opened(&other, &key(0)).await["assets"].as_array().unwrap().len(), 2);
    build(&test).await;
    assert!(follow::refresh(&other.app).await.unwrap());
    assert_eq!(opened(&other, &key(0)).await["assets"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn facts_that_did_not_change_are_the_snapshot_that_is_there() {
    let test = built().await;
    let before = get(&test, &one(0)).await.json();
    test.app.clock.advance(60);
    let again = build(&test).await;
    assert!(!again.kept.is_new && again.kept.is_current);
    assert_eq!(get(&test, &one(0)).await.json(), before, "when it was built is when its facts were frozen first");
}

#[tokio::test]
async fn a_build_from_older_facts_does_not_take_the_place_of_a_newer_one() {
    let test = built().await;
    let older = facts::read(&test.app.db).await.unwrap();
    test.ingest(&exposure(0, "2026-11-20T23:58:00Z", &[("asset:coin", 1.0)])).await;
    let newer = build(&test).await;
    let late = builder::keep(&test.app.db, older, test.app.clock.now()).await.unwrap();
    assert!(!late.kept.is_current);
    assert_ne!(late.snapshot_id, newer.snapshot_id);
    follow::refresh(&test.app).await.unwrap();
    assert_eq!(test.app.graph.current().unwrap().id(), newer.snapshot_id);
}

#[tokio::test]
async fn one_process_builds_when_a_build_is_due() {
    let env = vec![("RDS_GRAPH", "1"), ("RDS_GRAPH_EVERY_SECONDS", "300")];
    let test = TestApp::with(TestOptions { env, ..TestOptions::default() }).await;
    assert!(!follow::build_due(&test.app).await.unwrap(), "there is nothing to build from");
    for batch in batches() {
        test.ingest(&batch).await;
    }
    assert!(!follow::build_due(&test.app).await.unwrap(), "it was tried a moment ago");
    test.app.clock.advance(10);
    assert!(follow::build_due(&test.app).await.unwrap(), "without a snapshot it is tried again soon");
    let (one, other) = tokio::join!(follow::build_due(&test.app), follow::build_due(&test.app));
    assert!(!one.unwrap() && !other.unwrap());
    test.app.clock.advance(299);
    assert!(!follow::build_due(&test.app).await.unwrap());
    test.app.clock.advance(1);
    let (one, other) = tokio::join!(follow::build_due(&test.app), follow::build_due(&test.app));
    assert!(one.unwrap() != other.unwrap(), "one of two");
}

#[tokio::test]
async fn a_snapshot_that_was_tampered_with_is_not_answered_from() {
    let test = built().await;
    let other = TestApp::over(TestDb::guest(&test.facts).await, offered()).await;
    sqlx::query("UPDATE graph_publication SET body = replace(body, '\"COIN\"', '\"NICO\"')")
        .execute(&test.facts.db.pool)
        .await
        .unwrap();
    assert!(follow::refresh(&other.app).await.is_err());
    assert_eq!(get(&other, &one(0)).await.status, StatusCode::SERVICE_UNAVAILABLE);
    build(&test).await;
    follow::refresh(&other.app).await.unwrap();
    assert_eq!(get(&other, &one(0)).await.status, StatusCode::OK, "the next build puts it right");
    let change = "UPDATE graph_snapshot SET built_at = built_at + interval '1 day'";
    assert!(sqlx::query(change).execute(&test.facts.db.pool).await.is_err(), "a manifest never changes");
}

#[tokio::test]
async fn a_snapshot_that_was_replaced_while_it_was_loaded_takes_nothing_away() {
    let test = built().await;
    let held = test.app.graph.current().unwrap().id();
    // A snapshot that was current a moment ago, and whose bodies have been deleted since.
    let forgotten = || Some("a".repeat(64));
    assert!(!follow::follow(&test.app, forgotten()).await.unwrap());
    assert_eq!(test.app.graph.current().unwrap().id(), held, "the good one is current again");
    test.ingest(&exposure(0, "2026-11-20T23:58:00Z", &[("asset:coin", 1.0)])).await;
    let next = builder::build(&test.app.db, test.app.clock.now()).await.unwrap().unwrap();
    assert!(follow::follow(&test.app, forgotten()).await.unwrap());
    assert_eq!(test.app.graph.current().unwrap().id(), next.snapshot_id);
}

#[tokio::test]
async fn only_the_latest_bodies_are_kept_and_every_manifest() {
    let test = built().await;
    let first = test.app.graph.current().unwrap().id().to_hex();
    for minute in 1..=5 {
        test.app.clock.advance(60);
        let at = format!("2026-11-20T23:55:{minute:02}Z");
        test.ingest(&exposure(0, &at, &[("asset:coin", 0.1 * f64::from(minute))])).await;
        build(&test).await;
    }
    let counts: (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM graph_snapshot), (SELECT count(DISTINCT content_hash) FROM graph_publication)",
    )
    .fetch_one(&test.facts.db.pool)
    .await
    .unwrap();
    assert_eq!(counts.0, 6);
    assert_eq!(counts.1, 5, "the vaults of three snapshots, and the markets and incidents that all of them share");
    assert_eq!(test.get(&format!("/v1/graph/snapshot/{first}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_snapshot_with_a_withheld_chain_is_not_served() {
    let test = built().await;
    let chain = |is_served: bool, at: &str| {
        let fields = json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true, "is_served": is_served});
        line("chain", at, fields)
    };
    let based = (0..13).find(|place| key(*place).starts_with("8453:")).unwrap();
    test.ingest(&exposure(0, "2026-11-20T23:58:00Z", &[("asset:dollar", 0.5), (&format!("vault:{based}"), 0.5)])).await;
    build(&test).await;
    assert_eq!(opened(&test, &key(based)).await["vaultKey"], key(based));

    let mut listener = PgListener::connect_with(&test.app.db.pool).await.unwrap();
    listener.listen_all([publication::CHANNEL, tags::CHANNEL]).await.unwrap();
    test.ingest(&chain(false, "2026-11-20T23:59:00Z")).await;
    let notice = listener.recv().await.unwrap();
    jobs::wake(&test.app, None, Some((notice.channel(), notice.payload())));
    timeout(Duration::ZERO, test.app.graph.signalled()).await.expect("the graph hears of it without being asked");
    follow::refresh(&test.app).await.unwrap();
    assert_eq!(get(&test, &one(0)).await.status, StatusCode::SERVICE_UNAVAILABLE);
    build(&test).await;
    assert_eq!(opened(&test, &key(based)).await, Value::Null);
    let holder = opened(&test, &key(0)).await;
    assert_eq!(
        holder["unattributed"][0],
        json!({"reason": "holdings_unknown", "share": 0.5, "usdExposure": "2500000"})
    );
    assert!(!holder.to_string().contains("8453"), "{holder}");

    // Once the chain is served again, the next snapshot contains its vaults; the present one stays valid.
    test.ingest(&chain(true, "2026-11-20T23:59:30Z")).await;
    assert!(!follow::refresh(&test.app).await.unwrap());
    build(&test).await;
    assert_eq!(opened(&test, &key(based)).await["vaultKey"], key(based));
}
