//! The fail-safe mode: score runs that are held back, modes that operators set, and their effects on callers. `fail_safe_closed` and
//! `fail_safe_routes` test what fail-closed mode withholds.

use crate::ingest::market::{evenly, observed, registry, start, text};
use crate::support::db::TestDb;
use crate::support::testapp::{TestApp, TestOptions, signed};
use crate::vaults::lists::with_header;
use axum::http::StatusCode;
use rds_engine::fail_safe::{self, SANITY_CHECKS, SetModeResult};
use rds_engine::publication::commands::{self, Verb};
use rds_engine::scoring_run::{self, Run};
use rds_shared::model::health::FailSafeMode::{self, Degraded, FailClosed, Normal};
use rds_store::scoring::fail_safe as table;
use rds_store::scoring::fail_safe::Stored;
use serde_json::{Value, json};

/// Number of vaults. A run that changes the tiers of at least a fifth of them, which is five, is held back.
const VAULTS: usize = 24;

fn address(number: usize) -> String {
    format!("0x{:040x}", 0xa00 + number)
}

/// The id of a vault of [`world`].
pub fn id(number: usize) -> String {
    format!("harbor-31337-{}", address(number))
}

/// An observation of a vault.
fn state(hours: i64, number: usize) -> Value {
    let fields = json!({"vault_id": id(number), "tvl_usd": 5_000_000, "price_per_share": 1.5, "base_apr": 0.04,
        "utilization": 0.8, "borrow_apr": 0.05});
    observed("vault_state", hours, fields)
}

/// An incident that moves a vault to tier Edge without a dwell.
pub fn incident(hours: i64, number: usize) -> Value {
    let fields = json!({"event_key": format!("drain-{number}"), "vault_id": id(number), "severity": "Critical",
        "incident_severity": "major", "title": "Drain", "occurred_at": start(), "loss_usd": 1_000_000, "returned_usd": 0,
        "remediation_status": "unresolved"});
    observed("incident_link", hours, fields)
}

/// The ingest batch of the registry and of `VAULTS` vaults of tier Prime.
pub fn market() -> String {
    let mut lines = registry();
    for number in 0..VAULTS {
        lines.push(observed(
            "vault",
            0,
            json!({"protocol_id": "harbor", "chain_id": 31337, "address": address(number), "name": format!("Harbor {number}"),
                   "asset_symbol": "USDX", "asset_address": "0x00000000000000000000000000000000000000c1", "curator_id": "keel",
                   "asset_mode": "lending", "deployed_at": "2024-01-01T00:00:00Z", "timelock_seconds": 604_800,
                   "signers": {"threshold": 5, "owners": 9}, "exit": "instant", "source_code": "verified"}),
        ));
        let part = json!({"asset_id": "usdy", "share": 1, "oracle": "push_feed", "lltv": 0.8});
        lines.push(observed("exposure", 0, json!({"vault_id": id(number), "status": "observed", "parts": [part]})));
        lines.push(state(0, number));
    }
    text(&lines)
}

/// A service with vaults of tier Prime, observed and scored.
pub async fn world() -> TestApp {
    let test = TestApp::new().await;
    test.app.clock.set(start());
    test.ingest(&market()).await;
    test
}

/// Ingests incidents of the first `count` vaults.
pub async fn demote(test: &TestApp, hours: i64, count: usize) -> Value {
    let lines: Vec<Value> = (0..count).map(|number| incident(hours, number)).collect();
    test.app.clock.set(start().plus_seconds(hours * 3_600));
    took(test, &lines).await
}

/// Ingests a batch, and returns the report.
pub async fn took(test: &TestApp, lines: &[Value]) -> Value {
    test.ingest(&text(lines)).await.json()["data"].clone()
}

pub async fn run(test: &TestApp) -> Run {
    let run = scoring_run::run_all(&test.app.db, &test.app.clock).await.unwrap();
    refresh(test).await;
    run
}

pub async fn refresh(test: &TestApp) {
    rds_origin::catalog::refresh::refresh(&test.app).await.unwrap();
}

pub async fn set_mode(test: &TestApp, mode: FailSafeMode) -> Stored {
    match try_set_mode(test, mode).await {
        SetModeResult::Set(standing) => standing,
        SetModeResult::StaysClosed(found) => panic!("{found}"),
    }
}

pub async fn try_set_mode(test: &TestApp, mode: FailSafeMode) -> SetModeResult {
    let said = fail_safe::set_operator_mode(&test.app.db, &test.app.clock, mode, "looked at it", "ada").await.unwrap();
    refresh(test).await;
    said
}

/// The number of vaults served in tier Edge, and the mode.
pub async fn served(test: &TestApp) -> (u64, Option<String>) {
    let reply = test.get("/v1/vaults?riskTier=edge").await;
    assert_eq!(reply.status, StatusCode::OK);
    (reply.json()["meta"]["total"].as_u64().unwrap(), reply.header("x-service-failsafe-mode").map(str::to_owned))
}

pub async fn mode(test: &TestApp) -> FailSafeMode {
    table::read(&test.app.db.pool).await.unwrap().in_force()
}

fn degraded(edge: u64) -> (u64, Option<String>) {
    (edge, Some("degraded".to_owned()))
}

#[tokio::test]
async fn a_fifth_of_the_tiers_at_once_is_held_back_and_less_is_not() {
    let test = world().await;
    let told = demote(&test, 1, 4).await;
    assert_eq!((&told["scores_withheld"], &told["score_changes"]), (&Value::Null, &json!(4)));
    assert_eq!(served(&test).await, (4, None));

    let test = world().await;
    let told = demote(&test, 1, 5).await;
    assert_eq!((&told["scores_withheld"], &told["score_changes"]), (&json!("mass_move"), &json!(0)));
    assert_eq!(told["changed"]["incident_link"], 5, "the facts stay");
    assert_eq!(served(&test).await, degraded(0), "the last good run is what is served");
    let health = test.json("/v1/health").await;
    assert_eq!((&health["status"], &health["lastScoreRun"]["failSafeMode"]), (&json!("degraded"), &json!("degraded")));
    assert!(health["failSafe"]["reason"].as_str().unwrap().contains("a fifth"));
    assert_eq!(health["failSafe"]["since"], json!(test.app.clock.now()));
    let told = test.json("/v1/status").await;
    let row = told["components"].as_array().unwrap().iter().find(|row| row["name"] == "fail_safe").unwrap();
    assert_eq!(
        (&row["status"], &told["status"], &told["rollup"]),
        (&json!("degraded"), &json!("operational"), &json!("degraded"))
    );
}

#[tokio::test]
async fn a_held_back_run_is_not_published_in_parts_and_a_good_run_ends_the_mode() {
    let test = world().await;
    demote(&test, 1, 5).await;
    test.app.clock.set(start().plus_seconds(2 * 3_600));
    let told = took(&test, &[state(2, 0)]).await;
    assert_eq!(told["scores_withheld"], "mass_move", "one of the five alone would pass");
    assert_eq!(served(&test).await, degraded(0));
    assert_eq!(run(&test).await.withheld, Some("mass_move"));
    assert_eq!(
        test.json(&format!("/v1/vaults/{}", id(0))).await["data"]["vault"]["last_synced_at"],
        json!(test.app.clock.now())
    );

    let event: i64 = sqlx::query_scalar("select min(id) from event").fetch_one(&test.app.db.pool).await.unwrap();
    commands::run(&test.app.db, &test.app.clock, event, Verb::Retract { reason: None }).await.unwrap();
    refresh(&test).await;
    assert_eq!(served(&test).await, (4, None), "four of them can be right, and the run over everything says so");
    let changes = table::changes(&test.app.db.pool, 10).await.unwrap();
    let said: Vec<_> = changes.iter().map(|change| (change.mode, change.said_by.as_str())).collect();
    assert_eq!(said, [(Normal, SANITY_CHECKS), (Degraded, SANITY_CHECKS)], "newest first, and nothing twice");
}

#[tokio::test]
async fn an_operators_normal_lets_what_was_held_back_pass_at_once() {
    let test = world().await;
    demote(&test, 1, 5).await;
    let due = async || scoring_run::run_due(&test.app.db, &test.app.clock, 1_800).await.unwrap();
    assert!(due().await.is_none(), "it was tried a moment ago");
    test.app.clock.advance(60);
    assert_eq!(due().await.unwrap().withheld, Some("mass_move"), "a minute later it is tried again");

    let standing = set_mode(&test, Normal).await;
    assert_eq!((standing.in_force(), standing.accepted), (Normal, true));
    let run = due().await.unwrap();
    assert_eq!((run.withheld, run.changes.len()), (None, 5));
    refresh(&test).await;
    assert_eq!(served(&test).await, (5, None));
    assert!(due().await.is_none());
    let changes = table::changes(&test.app.db.pool, 10).await.unwrap();
    assert_eq!((changes[0].said_by.as_str(), changes[0].reason.as_str()), ("ada", "looked at it"));
    // The operator's acceptance covers the changes that were held back then, and no later ones.
    let lines: Vec<Value> = (5..12).map(|number| incident(2, number)).collect();
    test.app.clock.set(start().plus_seconds(2 * 3_600));
    assert_eq!(took(&test, &lines).await["scores_withheld"], "mass_move");
}

#[tokio::test]
async fn closed_is_closed_where_scores_are_until_an_operator_opens_it() {
    let test = world().await;
    set_mode(&test, FailClosed).await;
    for target in ["/v1/vaults", "/v1/stats", "/v1/assets/enriched", &format!("/v1/vault/devnet/{}", address(0))] {
        let reply = test.get(target).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::SERVICE_UNAVAILABLE, "FAIL_CLOSED".to_owned()),
            "{target}"
        );
        assert_eq!(reply.header("retry-after"), Some("60"));
        assert_eq!(reply.header("x-service-failsafe-mode"), Some("fail_closed"));
    }
    assert_eq!(test.post("/v1/vaults/batch", "{}").await.code(), "FAIL_CLOSED");
    for target in ["/v1/chains", "/v1/events", "/v1/methodology", &format!("/v1/vault/devnet/{}/snapshots", address(0))]
    {
        let reply = test.get(target).await;
        assert_eq!((reply.status, reply.header("x-service-failsafe-mode")), (StatusCode::OK, None), "{target}");
    }
    let health = test.get("/v1/health").await;
    assert_eq!((health.status, health.header("x-service-failsafe-mode")), (StatusCode::OK, Some("fail_closed")));
    assert_eq!(test.json("/v1/status").await["rollup"], "down");

    assert_eq!(run(&test).await.withheld, Some("operator"));
    assert_eq!(mode(&test).await, FailClosed);
    set_mode(&test, Normal).await;
    assert_eq!(served(&test).await, (0, None));
}

#[tokio::test]
async fn while_an_operator_says_degraded_scores_stand_still() {
    let test = world().await;
    set_mode(&test, Degraded).await;
    let told = demote(&test, 1, 1).await;
    assert_eq!((&told["scores_withheld"], served(&test).await), (&json!("operator"), degraded(0)));
    assert_eq!(run(&test).await.withheld, Some("operator"));
    assert_eq!(test.json("/v1/health").await["failSafe"]["reason"], "looked at it");
    set_mode(&test, Normal).await;
    assert_eq!(run(&test).await.changes.len(), 1);
    assert_eq!(served(&test).await, (1, None));
}

#[tokio::test]
async fn a_run_over_nothing_but_old_readings_is_held_back_until_there_is_a_fresh_one() {
    let test = world().await;
    let hours = 100 * 24;
    test.app.clock.set(start().plus_seconds(hours * 3_600));
    assert_eq!(run(&test).await.withheld, Some("stale_inputs"));
    assert_eq!(served(&test).await, degraded(0));
    let review = |asset: &str, points| {
        observed(
            "asset_review",
            hours,
            json!({"asset_id": asset, "review_status": "reviewed", "dimensions": evenly(points)}),
        )
    };
    let told = took(&test, &[review("usdx", 9.0), review("usdy", 7.6), state(hours, 0)]).await;
    assert_eq!(told["scores_withheld"], Value::Null, "a batch of fresh facts is not judged by what is old elsewhere");
    assert_eq!(run(&test).await.withheld, None);
    assert_eq!(served(&test).await.1, None);
}

#[tokio::test]
async fn a_value_that_is_not_finite_is_held_back_even_if_an_operator_accepts() {
    let test = world().await;
    sqlx::query("update vault_state set bad_debt_usd = 'NaN' where vault_id = $1")
        .bind(id(3))
        .execute(&test.app.db.pool)
        .await
        .unwrap();
    assert_eq!(run(&test).await.withheld, Some("non_finite_input"));
    set_mode(&test, Normal).await;
    assert_eq!(run(&test).await.withheld, Some("non_finite_input"));
    assert_eq!(served(&test).await, degraded(0));
}

#[tokio::test]
async fn every_process_follows_and_the_edge_names_what_to_catch_up_with() {
    let test = world().await;
    let other = TestApp::over(TestDb::guest(&test.facts).await, TestOptions::default()).await;
    other.app.clock.set(start());
    set_mode(&test, FailClosed).await;
    let newest = test.app.catalog.tags().to_text();
    let known = tokio::spawn({
        let app = other.app.clone();
        async move {
            app.catalog.until_facts_change().await;
            rds_origin::catalog::refresh::refresh(&app).await.unwrap();
        }
    });
    let reply = other.ask(with_header(signed("GET", "/v1/chains", ""), "x-service-tags", &newest)).await;
    known.await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(other.get("/v1/vaults").await.code(), "FAIL_CLOSED");
}

#[tokio::test]
async fn a_vault_that_is_new_while_scores_stand_still_is_there_without_one() {
    let test = TestApp::new().await;
    test.app.clock.set(start());
    set_mode(&test, Degraded).await;
    test.ingest(&market()).await;
    let list = test.json("/v1/vaults?limit=1").await;
    assert_eq!(list["meta"]["total"], VAULTS);
    assert_eq!((&list["data"][0]["total_score"], &list["data"][0]["tvl_usd"]), (&Value::Null, &json!(5_000_000.0)));
    let page = test.json(&format!("/v1/vaults/{}", id(0))).await;
    assert_eq!(page["data"]["vault"]["score_status"], "unscored");
    set_mode(&test, Normal).await;
    run(&test).await;
    assert_eq!(test.json("/v1/vaults?limit=1").await["data"][0]["risk_tier"], "Prime");
}

#[tokio::test]
async fn changes_of_the_mode_are_recorded_permanently() {
    let test = world().await;
    set_mode(&test, FailClosed).await;
    set_mode(&test, FailClosed).await;
    assert_eq!(table::changes(&test.app.db.pool, 10).await.unwrap().len(), 2, "also when it was said again");
    for sql in ["delete from fail_safe_change", "update fail_safe_change set reason = 'another'"] {
        assert!(sqlx::query(sql).execute(&test.app.db.pool).await.is_err());
    }
}
