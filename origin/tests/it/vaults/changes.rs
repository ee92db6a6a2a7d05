//! The change feed skips nothing, in whatever order and with whatever instants facts are written.

use crate::support::market::{VAULTS, address, line};
use crate::support::testapp::{Reply, TestApp, TestOptions, holder};
use axum::http::StatusCode;
use rds_engine::scoring_run;
use rds_origin::catalog::refresh;
use rds_shared::access::Plan;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Earlier than every state observation of the market.
pub const BEGINNING: &str = "2026-11-01T00:00:00Z";

async fn ask(test: &TestApp, query: &str) -> Reply {
    test.get_as(&holder(Plan::Data), &format!("/v1/vaults/changes?{query}")).await
}

pub async fn page(test: &TestApp, query: &str) -> Page {
    let reply = ask(test, query).await;
    assert_eq!(reply.status, StatusCode::OK, "{query}: {}", reply.text());
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let body = reply.json();
    assert_eq!(body["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ["cursor", "vaults"]);
    Page {
        rows: body["data"]["vaults"].as_array().unwrap().clone(),
        cursor: body["data"]["cursor"].as_str().unwrap().to_owned(),
        total: body["meta"]["total"].as_u64().unwrap(),
        limit: body["meta"]["limit"].as_u64().unwrap(),
        has_more: body["meta"]["has_more"].as_bool().unwrap(),
    }
}

pub struct Page {
    pub rows: Vec<Value>,
    pub cursor: String,
    pub total: u64,
    pub limit: u64,
    pub has_more: bool,
}

/// `(id, instant)` of each row. `clock` is the field that holds the instant.
pub fn keys(rows: &[Value], clock: &str) -> Vec<(String, String)> {
    rows.iter().map(|row| (text(&row["id"]), text(&row[clock]))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Reads from `since` to the end of the feed.
pub async fn drain(test: &TestApp, since: &str, more: &str) -> (Vec<Value>, String) {
    let (mut rows, mut since) = (Vec::new(), since.to_owned());
    loop {
        let page = page(test, &format!("since={since}{more}")).await;
        rows.extend(page.rows);
        since = page.cursor;
        if !page.has_more {
            return (rows, since);
        }
    }
}

#[tokio::test]
async fn pages_join_up_even_where_every_row_shares_an_instant() {
    let test = TestApp::with_market().await;
    let whole = page(&test, &format!("since={BEGINNING}")).await;
    assert_eq!((whole.rows.len(), whole.total, whole.limit, whole.has_more), (13, 13, 100, false));
    assert!(whole.rows.iter().any(|row| row["is_active"] == false), "a vault that is gone is told as such");
    let instants: BTreeSet<String> = keys(&whole.rows, "last_synced_at").into_iter().map(|(_, at)| at).collect();
    assert_eq!(instants.len(), 1);

    let (mut since, mut rows) = (BEGINNING.to_owned(), Vec::new());
    for left in (1..=13).rev() {
        let next = page(&test, &format!("since={since}&limit=1")).await;
        assert_eq!((next.total, next.rows.len(), next.has_more), (left, 1, left > 1), "from the cursor onward");
        rows.extend(next.rows);
        since = next.cursor;
    }
    assert_eq!(rows, whole.rows);
    let end = page(&test, &format!("since={since}")).await;
    assert_eq!((end.rows.len(), end.total, end.has_more, end.cursor), (0, 0, false, since));
}

#[tokio::test]
async fn a_row_has_the_fields_of_the_interface_and_its_own_freshness() {
    let test = TestApp::with_market().await;
    let rows = page(&test, &format!("since={BEGINNING}")).await.rows;
    let row = rows.iter().find(|row| row["id"] == VAULTS[0].id()).unwrap();
    let listed = test.json("/v1/vaults?limit=100").await;
    let listed = listed["data"].as_array().unwrap().iter().find(|other| other["id"] == row["id"]).unwrap();
    for field in
        ["address", "chain_id", "tvl_usd", "apr_net", "total_score", "risk_tier", "last_synced_at", "freshness_seconds"]
    {
        assert_eq!(row[field], listed[field], "{field}");
    }
    assert_eq!(row.as_object().unwrap().len(), 23);
    assert_eq!((&row["score_run_id"], &row["tvl_status"]), (&json!("run-1"), &json!("observed")));
}

#[tokio::test]
async fn an_instant_is_inclusive_and_only_keeps_out_what_was_there_when_it_was_given() {
    let test = TestApp::with_market().await;
    test.ingest(&VAULTS[3].state("2026-11-20T23:55:00.000001Z", json!({}))).await;
    for (since, found) in
        [("2026-11-20T23:50:00Z", 13), ("2026-11-20T23:55:00.000001Z", 1), ("2026-11-20T23:55:00.000002Z", 0)]
    {
        assert_eq!(page(&test, &format!("since={since}")).await.rows.len(), found, "{since}");
    }
    // A new vault's first observation is ingested late; its instant is before the reader's position.
    let reader = page(&test, "since=2026-11-20T23:55:00.000002Z").await;
    test.ingest(&format!("{}{}", late_vault(), late_state("2026-11-20T23:00:00Z"))).await;
    let next = page(&test, &format!("since={}", reader.cursor)).await;
    assert_eq!(keys(&next.rows, "last_synced_at"), [(late_id(), "2026-11-20T23:00:00.000Z".to_owned())]);
    assert_eq!(page(&test, "since=2026-11-20T23:55:00Z").await.rows.len(), 1, "a new reader is told by time");
}

pub fn late_id() -> String {
    format!("harbor-1-{}", address(77))
}

pub fn late_vault() -> String {
    let fields = json!({
        "protocol_id": "harbor", "chain_id": 1, "address": address(77), "name": "Late", "asset_mode": "lending",
    });
    line("vault", BEGINNING, fields)
}

pub fn late_state(at: &str) -> String {
    line("vault_state", at, json!({ "vault_id": late_id(), "tvl_usd": 1000 }))
}

#[tokio::test]
async fn the_score_clock_follows_published_changes_and_nothing_else() {
    let test = TestApp::with_market().await;
    let (rows, end) = drain(&test, BEGINNING, "&changed=score&limit=2").await;
    let scored: BTreeSet<String> = rows.iter().map(|row| text(&row["id"])).collect();
    assert!(rows.iter().all(|row| row["score_updated_at"].is_string()) && scored.len() == rows.len());

    // A run that confirms all scores changes score_computed_at only. An observation that changes no score changes last_synced_at only.
    test.app.clock.advance(60);
    scoring_run::run_all(&test.app.db, &test.app.clock).await.unwrap();
    test.ingest(&VAULTS[8].state("2026-11-20T23:51:00Z", json!({ "tvl_usd": 6_000_001 }))).await;
    assert_eq!(page(&test, &format!("changed=score&since={end}")).await.rows, [] as [Value; 0]);

    // Two changes at one instant of a clock that stands still: the feed has both.
    let unavailable = json!({ "vault_id": VAULTS[0].id(), "status": "unavailable" });
    test.ingest(&line("exposure", "2026-11-20T23:58:00Z", unavailable)).await;
    let first = page(&test, &format!("changed=score&since={end}")).await;
    let parts = json!([{ "asset_id": "dollar", "share": 1.0, "oracle": "attested_push", "same_peg": true }]);
    let observed = json!({ "vault_id": VAULTS[0].id(), "status": "observed", "parts": parts });
    test.ingest(&line("exposure", "2026-11-20T23:59:00Z", observed)).await;
    test.app.clock.advance(7 * 3_600);
    scoring_run::run_all(&test.app.db, &test.app.clock).await.unwrap();
    refresh::refresh(&test.app).await.unwrap();
    let second = page(&test, &format!("changed=score&since={}", first.cursor)).await;
    for change in [&first, &second] {
        assert_eq!(change.rows.iter().map(|row| text(&row["id"])).collect::<Vec<_>>(), [VAULTS[0].id()]);
    }
    assert_ne!(first.rows[0]["total_score"], second.rows[0]["total_score"]);
}

/// Serves or withholds a chain. Returns the rows after `since` and the new position, for the feed of states and the feed of scores.
async fn chain_served(test: &TestApp, is_served: bool, at: &str, since: [&str; 2]) -> ([Vec<Value>; 2], [String; 2]) {
    let fields = json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true,
        "is_served": is_served});
    test.ingest(&line("chain", at, fields)).await;
    let (synced, sync_end) = drain(test, since[0], "&limit=2").await;
    let (scored, score_end) = drain(test, since[1], "&changed=score&limit=2").await;
    ([synced, scored], [sync_end, score_end])
}

fn on_base(rows: &[Value]) -> BTreeSet<String> {
    rows.iter().filter(|row| row["chain_id"] == 8453).map(|row| text(&row["id"])).collect()
}

#[tokio::test]
async fn a_vault_whose_chain_was_withheld_appears_in_the_feed_when_it_is_served_again() {
    let test = TestApp::with_market().await;
    let parts = json!([{ "asset_id": "dollar", "share": 1.0, "oracle": "attested_push", "same_peg": true }]);
    let scored = VAULTS.iter().find(|vault| vault.chain == 8453 && vault.protocol == "harbor").unwrap();
    let exposure = json!({ "vault_id": scored.id(), "status": "observed", "parts": parts });
    let mut identity: Value = serde_json::from_str(&scored.identity()).unwrap();
    (identity["asset_mode"], identity["observed_at"]) = (json!("holdings"), json!("2026-11-20T23:55:00Z"));
    test.ingest(&format!("{identity}\n{}", line("exposure", "2026-11-20T23:55:00Z", exposure))).await;
    let all = [drain(&test, BEGINNING, "").await.0, drain(&test, BEGINNING, "&changed=score").await.0];
    let expected = all.each_ref().map(|rows| on_base(rows));
    assert!(expected.iter().all(|ids| !ids.is_empty()) && expected[0].len() < 13, "{expected:?}");

    let (rows, end) =
        chain_served(&test, false, "2026-11-20T23:56:00Z", ["2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z"]).await;
    assert!(rows.iter().all(|rows| on_base(rows).is_empty() && !rows.is_empty()));
    let (rows, _) = chain_served(&test, true, "2026-11-20T23:57:00Z", [&end[0], &end[1]]).await;
    assert_eq!(rows.each_ref().map(|rows| on_base(rows)), expected);
    assert_eq!(rows.map(|rows| rows.len()), expected.map(|ids| ids.len()), "and nothing else is told again");
    let again = [drain(&test, BEGINNING, "").await.0, drain(&test, BEGINNING, "&changed=score").await.0];
    for (clock, (before, after)) in ["last_synced_at", "score_updated_at"].iter().zip(all.iter().zip(&again)) {
        let sorted = |rows: &[Value]| keys(rows, clock).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(sorted(before), sorted(after), "{clock} stays what it was");
    }
}

#[tokio::test]
async fn a_vault_that_is_shut_down_appears_as_removed_on_both_clocks() {
    let test = TestApp::with_market().await;
    let (_, synced) = drain(&test, BEGINNING, "").await;
    let (_, scored) = drain(&test, BEGINNING, "&changed=score").await;
    let vault = &VAULTS[0];
    let mut gone: Value = serde_json::from_str(&vault.identity()).unwrap();
    (gone["is_active"], gone["observed_at"]) = (json!(false), json!("2026-11-20T23:56:00Z"));
    test.ingest(&format!("{gone}\n")).await;
    for (query, end) in [("", &synced), ("&changed=score", &scored)] {
        let told = page(&test, &format!("since={end}{query}")).await;
        let states: Vec<_> = told.rows.iter().map(|row| (text(&row["id"]), row["is_active"].clone())).collect();
        assert_eq!(states, [(vault.id(), json!(false))], "{query}");
    }
}

#[tokio::test]
async fn an_invalid_cursor_of_the_feed_is_rejected_by_name() {
    let test = TestApp::with_market().await;
    let cursor = page(&test, &format!("since={BEGINNING}&limit=2")).await.cursor;
    for (query, code) in [
        ("", "MISSING_PARAMETER"),
        ("since=", "MISSING_PARAMETER"),
        ("since=2026-13-01T00:00:00Z", "INVALID_PARAMETER"),
        ("since=1795219200", "INVALID_PARAMETER"),
        ("since=not-a-cursor", "INVALID_CURSOR"),
        (&format!("since={cursor}x"), "INVALID_CURSOR"),
        (&format!("since={cursor}&changed=score"), "INVALID_CURSOR"),
        (&format!("since={cursor}&changed=both"), "INVALID_PARAMETER"),
        (&format!("since={cursor}&limit=0"), "INVALID_PARAMETER"),
        (&format!("since={cursor}&since={cursor}"), "INVALID_PARAMETER"),
    ] {
        let refused = ask(&test, query).await;
        assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, code.to_owned()), "{query}");
        let named = &refused.json()["error"]["details"][0]["name"];
        assert!(["since", "changed", "limit"].contains(&named.as_str().unwrap()), "{query}: {named}");
    }
    assert_eq!(page(&test, &format!("since={BEGINNING}&limit=9999")).await.limit, 500);
}

#[tokio::test]
async fn without_a_key_there_is_no_feed_and_with_one_it_reaches_all_the_way_back() {
    let test = TestApp::with_market().await;
    for since in ["2026-11-20T00:00:00Z", "2020-01-01", "nonsense"] {
        let refused = test.get(&format!("/v1/vaults/changes?since={since}")).await;
        assert_eq!((refused.status, refused.code()), (StatusCode::UNAUTHORIZED, "UNAUTHORIZED".to_owned()), "{since}");
    }
    assert_eq!(page(&test, "since=0001-01-01").await.total, 13);
}

#[tokio::test]
async fn a_process_that_is_behind_waits_and_one_that_never_was_there_says_so() {
    let ahead = TestApp::with_market().await;
    let behind = TestApp::with(TestOptions { database: Some(ahead.facts.url.clone()), ..TestOptions::default() }).await;
    ahead.ingest(&VAULTS[5].state("2026-11-20T23:55:00Z", json!({}))).await;
    let cursor = drain(&ahead, BEGINNING, "").await.1;
    let waiting = page(&behind, &format!("since={cursor}")).await;
    assert_eq!((waiting.rows.len(), waiting.total, &waiting.cursor), (0, 0, &cursor));
    ahead.ingest(&VAULTS[6].state("2026-11-20T23:40:00Z", json!({}))).await;
    ahead.ingest(&VAULTS[6].state("2026-11-20T23:54:00Z", json!({}))).await;
    refresh::refresh(&behind.app).await.unwrap();
    let caught_up = page(&behind, &format!("since={}", waiting.cursor)).await;
    assert_eq!(keys(&caught_up.rows, "last_synced_at"), [(VAULTS[6].id(), "2026-11-20T23:54:00.000Z".to_owned())]);

    let elsewhere = TestApp::new().await;
    let refused = ask(&elsewhere, &format!("since={cursor}")).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "INVALID_CURSOR".to_owned()));
}

#[tokio::test]
async fn a_vault_without_an_observation_appears_once_and_again_with_its_first_observation() {
    let test = TestApp::with_market().await;
    let (_, cursor) = drain(&test, BEGINNING, "").await;
    let known = |text: String| text.replace(&VAULTS[0].address(), &address(153));
    test.ingest(&known(VAULTS[0].identity())).await;
    let (told, next) = drain(&test, &cursor, "").await;
    assert_eq!(
        (told.len(), &told[0]["id"], &told[0]["last_synced_at"]),
        (1, &json!(known(VAULTS[0].id())), &Value::Null)
    );
    assert!(drain(&test, BEGINNING, "").await.0.contains(&told[0]), "from the beginning on as well");
    assert!(drain(&test, &next, "").await.0.is_empty(), "once");
    test.ingest(&known(VAULTS[0].state("2026-11-20T23:55:00Z", json!({})))).await;
    let (read, _) = drain(&test, &next, "").await;
    assert_eq!((read.len(), &read[0]["last_synced_at"]), (1, &json!("2026-11-20T23:55:00.000Z")));
}
