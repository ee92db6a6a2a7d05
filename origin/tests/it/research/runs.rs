//! Research runs: every figure follows from stored rows, later readings change nothing, and predictions are made before their window.

use crate::events::feed::event;
use crate::ingest::real_data::imported;
use crate::research::world::{self, DAYS, VAULTS, days_ago, falls, id, reading, rows};
use crate::support::db::TestDb;
use crate::support::testapp::{NOW, TestApp, TestOptions};
use rds_engine::clock::Clock;
use rds_engine::research;
use rds_shared::model::research::RecordKind;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options};
use rds_store::research as records;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::Row;
use std::collections::{BTreeMap, BTreeSet};

const DAY: i64 = 86_400;

/// A sample as it is stored.
#[derive(Debug, Clone, PartialEq)]
struct Stored {
    vault: String,
    at: i64,
    value: i32,
    lost: Option<bool>,
}

async fn samples(test: &TestApp, signal: &str, days: i32) -> Vec<Stored> {
    let sql = "SELECT vault_id, extract(epoch FROM as_of)::bigint AS at, value, price_loss FROM research_sample \
               WHERE signal = $1 AND horizon_days = $2 ORDER BY as_of, vault_id COLLATE \"C\"";
    let rows = sqlx::query(sql).bind(signal).bind(days).fetch_all(&test.facts.db.pool).await.unwrap();
    rows.iter()
        .map(|row| Stored {
            vault: row.get("vault_id"),
            at: row.get("at"),
            value: row.get("value"),
            lost: row.get("price_loss"),
        })
        .collect()
}

async fn backtest(test: &TestApp, horizon: &str) -> Value {
    let rows = rows(test, "backtests?outcome=price_loss").await;
    rows.into_iter().find(|row| row["signal"] == "history_vector" && row["horizon"] == horizon).unwrap()
}

async fn researched(until: i64) -> TestApp {
    let test = world::test_app(until).await;
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    test
}

#[tokio::test]
async fn the_losses_found_are_those_in_the_generated_prices() {
    let test = researched(1).await;
    let stored = samples(&test, "history_vector", 7).await;
    // The last window ends with the last price, a day before now.
    let instants: BTreeSet<i64> = stored.iter().map(|row| row.at).collect();
    let expected: BTreeSet<i64> = (1..)
        .map(|back| back * 7 + 1)
        .take_while(|ago| *ago <= DAYS + 6)
        .map(|ago| days_ago(ago).as_seconds())
        .collect();
    assert!(instants.is_subset(&expected) && instants.len() >= 13, "{instants:?}");
    for row in &stored {
        let ago = days_ago(0).seconds_since(Timestamp::from_seconds(row.at)) / DAY;
        let number = (0..VAULTS + world::ELSEWHERE).find(|number| id(*number) == row.vault).unwrap();
        let fell = (ago - 7..ago).any(|day| falls(number, day));
        assert_eq!(row.lost, Some(fell), "{} at {ago} days ago", row.vault);
    }
}

#[tokio::test]
async fn a_backtest_s_figures_follow_from_its_samples() {
    let test = researched(1).await;
    for (horizon, days) in [("7d", 7), ("30d", 30)] {
        let (row, stored) = (backtest(&test, horizon).await, samples(&test, "history_vector", days).await);
        let told: Vec<&Stored> = stored.iter().filter(|one| one.lost.is_some()).collect();
        let (lossy, others): (Vec<&Stored>, Vec<&Stored>) = told.iter().partition(|one| one.lost == Some(true));
        assert_eq!(row["samples"], told.len(), "{horizon}");
        assert_eq!((&row["losses"], &row["unobserved"]), (&json!(lossy.len()), &json!(stored.len() - told.len())));
        // The expected AUC, computed by comparing every sample with a loss to every sample without one.
        let mut halves = 0;
        for low in &lossy {
            halves += others.iter().map(|other| 1 + i64::from((other.value - low.value).signum())).sum::<i64>();
        }
        let auc = halves as f64 / (2 * lossy.len() * others.len()) as f64;
        assert!((row["auc"].as_f64().unwrap() - auc).abs() < 1e-6, "{auc} for {row}");
        assert!(auc > 0.7 && row["verdict"] == "lower_values_lost_more", "the young vaults fall: {row}");
        let lost: BTreeSet<&str> = lossy.iter().map(|one| one.vault.as_str()).collect();
        assert_eq!(row["loss_vaults"], lost.len());
        let line =
            |one: &&Stored| format!("{} {} {} {}\n", one.at, one.vault, one.value, i32::from(one.lost == Some(true)));
        let digest = Sha256::digest(told.iter().map(line).collect::<String>());
        assert_eq!(row["samples_hash"], digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
}

#[tokio::test]
async fn repeated_prices_and_broken_series_are_not_used_and_are_counted_separately() {
    let test = world::test_app(1).await;
    let (still, leaping) = (VAULTS + world::ELSEWHERE, 3);
    let mut lines = world::vault(still);
    (1..=DAYS).rev().for_each(|day| lines.push_str(&reading(still, day, 1.02)));
    // A share price that multiplies overnight makes the series broken.
    lines.push_str(&reading(leaping, 0, 9.5));
    test.ingest(&lines).await;
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    for (horizon, days) in [("7d", 7), ("30d", 30)] {
        let stored = samples(&test, "history_vector", days).await;
        let of = |number: u32| stored.iter().filter(|one| one.vault == id(number)).collect::<Vec<_>>();
        let repeated = of(still);
        assert!(repeated.len() >= 2 && repeated.iter().all(|one| one.lost.is_none()), "{horizon}: {repeated:?}");
        assert_eq!(of(leaping), Vec::<&Stored>::new(), "{horizon}");
        let row = backtest(&test, horizon).await;
        assert_eq!((&row["repeated"], &row["broken_series"]), (&json!(repeated.len()), &json!(1)), "{horizon}");
        assert_eq!((&row["vaults"], &row["protocols"], &row["loss_groups"]), (&json!(44), &json!(1), &json!(20)));
        let said = row["weaknesses"].as_array().unwrap();
        for part in ["belong to one protocol", "1 vaults are left out", "only repeated prices"] {
            assert!(said.iter().any(|line| line.as_str().unwrap().contains(part)), "{part}: {said:?}");
        }
    }
    assert_eq!(rows(&test, &format!("predictions?vault_id={}", id(leaping))).await, Vec::<Value>::new());
    assert_eq!(rows(&test, &format!("predictions?vault_id={}", id(5))).await.len(), 3);
}

#[tokio::test]
async fn later_facts_do_not_change_earlier_samples() {
    // The same vaults seen a week apart. Only the later database has the incident of that week.
    let (early, late) = (world::test_app(8).await, world::test_app(1).await);
    let incident = json!({"event_type": "Incident", "vault_ids": [id(1)], "severity": "Critical", "incident_severity": "major", "title": "Drained"});
    late.ingest(&event("drained", 3, incident)).await;
    for test in [&early, &late] {
        research::run(&test.facts.db, &test.app.clock).await.unwrap();
    }
    let values = async |test: &TestApp, days| -> BTreeMap<(i64, String), i32> {
        samples(test, "history_vector", days).await.into_iter().map(|one| ((one.at, one.vault), one.value)).collect()
    };
    let (before, after) = (values(&early, 7).await, values(&late, 7).await);
    let both: Vec<_> = before.keys().filter(|key| after.contains_key(key)).collect();
    assert!(both.len() > 400, "{}", both.len());
    for key in both {
        assert_eq!(before[key], after[key], "{key:?}");
    }
    let sql = "SELECT count(*) FROM research_sample WHERE incident AND signal = 'history_vector' AND horizon_days = 7";
    assert_eq!(
        sqlx::query_scalar::<_, i64>(sql).fetch_one(&late.facts.db.pool).await.unwrap(),
        1,
        "only the window in which the incident happened"
    );
}

#[tokio::test]
async fn a_second_run_adds_only_another_reading_of_the_model_s_health() {
    let test = researched(1).await;
    let db = &test.facts.db;
    let standing = records::states(db).await.unwrap();
    let figures = standing.iter().filter(|record| record.kind == RecordKind::ModelHealth).count() as u64;
    let again = research::run(db, &test.app.clock).await.unwrap();
    assert_eq!((again.records, again.predicted, again.resolved), (figures, 0, 0));
    // Two concurrent runs take turns, and neither makes a second current record for a key.
    let (one, other) = tokio::join!(research::run(db, &test.app.clock), research::run(db, &test.app.clock));
    assert_eq!((one.unwrap().predicted, other.unwrap().predicted), (0, 0));
    let twice = "SELECT count(*) FROM (SELECT FROM research_record WHERE superseded_at IS NULL AND kind <> 'model_health' \
                 GROUP BY kind, record_key HAVING count(*) > 1) AS twice";
    assert_eq!(sqlx::query_scalar::<_, i64>(twice).fetch_one(&db.pool).await.unwrap(), 0);
    assert_eq!(research::run_due(db, &test.app.clock).await.unwrap(), None);
    test.app.clock.advance(DAY);
    assert!(research::run_due(db, &test.app.clock).await.unwrap().is_some());
}

#[tokio::test]
async fn the_model_s_health_is_counted_from_the_vaults() {
    let test = researched(1).await;
    let health: BTreeMap<String, Value> = rows(&test, "model-health")
        .await
        .into_iter()
        .map(|row| (row["name"].as_str().unwrap().to_owned(), row))
        .collect();
    let figure =
        |name: &str| (health[name]["count"].clone(), health[name]["of"].clone(), health[name]["share"].clone());
    // The vaults on the second chain have no scored deposit asset.
    assert_eq!(figure("score_coverage"), (json!(40), json!(45), json!(0.888889)));
    assert_eq!(figure("missing:deposit_score"), (json!(5), json!(45), json!(0.111111)));
    assert_eq!(figure("exposure_coverage"), (json!(0), json!(40), json!(0)));
    assert_eq!(figure("price_coverage"), (json!(45), json!(45), json!(1)));
    assert_eq!(figure("overrides"), (json!(0), json!(1), json!(0)));
    let listed = test.json("/v1/vaults?limit=100").await;
    let scored = listed["data"].as_array().unwrap().iter().filter(|row| !row["total_score"].is_null()).count();
    assert_eq!(health["score_coverage"]["count"], scored);
}

#[tokio::test]
async fn a_prediction_is_made_before_its_window_and_settled_once_by_observed_prices() {
    let test = researched(1).await;
    let (db, clock) = (&test.facts.db, &test.app.clock);
    let of = async |number: u32| rows(&test, &format!("predictions?vault_id={}&horizon=7d", id(number))).await;
    let made = of(2).await;
    assert_eq!(
        (made.len(), &made[0]["outcome"], &made[0]["made_at"]),
        (1, &json!("pending"), &json!("2026-11-21T00:00:00.000Z"))
    );
    let listed = test.json(&format!("/v1/vaults/{}", id(2))).await["data"]["vault"].clone();
    assert_eq!((&made[0]["score"], &made[0]["tier"]), (&listed["total_score"], &listed["risk_tier"]));

    // The price of vault 2 falls within the week. Vault 3 is read until the end of the week, vault 4 only at its beginning.
    let last: f64 = sqlx::query_scalar("SELECT base_price FROM research_prediction WHERE vault_id = $1 LIMIT 1")
        .bind(id(2))
        .fetch_one(&db.pool)
        .await
        .unwrap();
    clock.advance(8 * DAY);
    test.ingest(&[reading(2, -1, last * 0.95), reading(3, -7, 1.5), reading(4, -1, 1.5)].concat()).await;
    research::run(db, clock).await.unwrap();
    let settled = async |number: u32| {
        let rows = of(number).await;
        let first = rows.iter().find(|row| row["made_at"] == "2026-11-21T00:00:00.000Z").unwrap();
        (first["outcome"].clone(), first["drawdown"].clone())
    };
    let (outcome, fall) = settled(2).await;
    // Five percent, minus up to one basis point from rounding the price.
    assert!(outcome == "loss" && (0.0499..=0.05).contains(&fall.as_f64().unwrap()), "{outcome} {fall}");
    assert_eq!(settled(3).await, (json!("no_loss"), json!(0)));
    assert_eq!(settled(4).await, (json!("pending"), Value::Null), "readings may be late");
    clock.advance(7 * DAY);
    research::run(db, clock).await.unwrap();
    assert_eq!(settled(4).await, (json!("unobserved"), json!(0)));
    // Neither the outcome nor the prediction itself can be changed afterwards.
    let changes = [
        "outcome = 'no_loss', resolved_at = now()",
        "drawdown_bp = 1",
        "score = 1",
        "due_at = due_at + interval '1 day'",
        "vault_id = (SELECT max(id) FROM vault)",
        "horizon_days = 8",
        "made_at = made_at - interval '1 hour'",
    ];
    let changes = changes.map(|change| format!("UPDATE research_prediction SET {change}"));
    for sql in changes.iter().map(String::as_str).chain(["DELETE FROM research_prediction"]) {
        let refused = sqlx::query(&format!("{sql} WHERE outcome = 'loss'")).execute(&db.pool).await.unwrap_err();
        assert!(refused.to_string().contains("never changed"), "{sql}: {refused}");
    }
    // A vault without a recent price gets no new prediction, because its outcome could not be observed.
    assert_eq!(of(5).await.len(), 1);
}

/// Most real prices repeat the one before, ten series are broken, and few vaults lost value. So no backtest is promoted, and the report
/// lists what was tried.
#[tokio::test]
async fn the_real_prices_support_no_backtest_and_the_report_says_why() {
    let Some((facts, _)) = imported().await else { return };
    let test = TestApp::over(facts, TestOptions::default()).await;
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    let reports = rows(&test, "validation-reports").await;
    let hindsight = reports.iter().find(|report| report["report_type"] == "hindsight").unwrap();
    let figure = |name: &str| hindsight["figures"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    // Three vaults were attacked, and the prices of eight others fell.
    assert_eq!(figure("failed_vaults")["count"], 11);
    assert_eq!(figure("failed_vaults:first_loss_is_an_incident")["count"], 3);
    for what in ["assets", "vaults"] {
        let (judged, pairs) = (figure(&format!("failed_{what}:not_judged")), figure(&format!("pairs_of_{what}:equal")));
        assert_eq!(judged["count"] == judged["of"], pairs["of"] == 0, "pairs only of judged {what}: {hindsight}");
    }
    assert!(hindsight["weaknesses"].as_array().unwrap().len() > 3);
    let tried = reports.iter().find(|report| report["report_type"] == "discrimination").unwrap()["backtests"].clone();
    let found = |horizon: &str| {
        let of = |one: &&Value| {
            (&one["signal"], &one["outcome"], &one["horizon"])
                == (&json!("history_vector"), &json!("price_loss"), &json!(horizon))
        };
        let one = tried.as_array().unwrap().iter().find(of).unwrap().clone();
        assert_eq!(one["unmet"], json!(["too_few_losses", "too_few_loss_groups"]), "{horizon}");
        (one["samples"].as_u64().unwrap(), one["losses"].as_u64().unwrap())
    };
    assert_eq!(["7d", "30d", "90d"].map(found), [(843, 1), (910, 6), (513, 5)]);
    assert_eq!(rows(&test, "backtests?outcome=price_loss").await, Vec::<Value>::new());
    let sql = "SELECT (body->>'broken_series')::int FROM research_record WHERE kind = 'backtest' AND record_key = 'history_vector/price_loss/30d'";
    assert_eq!(sqlx::query_scalar::<_, i32>(sql).fetch_one(&test.facts.db.pool).await.unwrap(), 10);
}

/// The demo's prices move, so the outcomes of predictions about its vaults can be observed.
#[tokio::test]
async fn a_simulated_market_gets_predictions() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, Options { seed: 1, vaults: 60, hours: 24 }, None, &mut |_: &str| ())
        .await
        .unwrap();
    let test = TestApp::over(facts, TestOptions::default()).await;
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    assert!(test.json("/v1/research/predictions").await["meta"]["total"].as_u64().unwrap() >= 100);
}

#[tokio::test]
async fn a_run_on_an_empty_database_finds_nothing() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    let run = research::run(&facts.db, &clock).await.unwrap();
    assert_eq!((run.promoted, run.samples, run.predicted), (0, 0, 0));
}
