//! Hindsight: the report compares what failed with what survived, by the answers of the day before.

use crate::ingest::market::{clock, ingest, registry};
use crate::research::world::rows;
use crate::scoring::answers::{answers, given, unreviewed};
use crate::support::db::TestDb;
use crate::support::testapp::{TestApp, TestOptions};
use rds_engine::research;
use serde_json::{Value, json};

/// Hours from the first answers to the failure.
const FAILS_AFTER: i64 = 30 * 24;

/// The hindsight report after a run on the given facts.
async fn report(lines: &[Value]) -> Value {
    let test = TestDb::new().await;
    ingest(&test, &clock(FAILS_AFTER), lines).await;
    let app = TestApp::over(test, TestOptions::default()).await;
    research::run(&app.facts.db, &app.app.clock).await.unwrap();
    let reports = rows(&app, "validation-reports").await;
    reports.into_iter().find(|report| report["report_type"] == "hindsight").unwrap()
}

fn figure(report: &Value, name: &str) -> (u64, Option<u64>) {
    let figure = report["figures"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    (figure["count"].as_u64().unwrap(), figure["of"].as_u64())
}

#[tokio::test]
async fn an_asset_that_failed_is_compared_by_the_answers_of_the_day_before() {
    let mut lines = registry();
    lines.extend([unreviewed("usdz", "c3"), unreviewed("usdw", "c4")]);
    lines.extend(answers("usdz"));
    lines.extend(answers("usdw").into_iter().map(|mut line| {
        if line["question"] == "who" {
            line["answer"] = json!("institutions");
        }
        line
    }));
    lines.push(given("usdw", "redeemability", "who", "suspended", FAILS_AFTER));
    let report = report(&lines).await;
    assert_eq!(figure(&report, "failed_assets"), (1, None));
    assert_eq!(figure(&report, "surviving_assets"), (1, None));
    assert_eq!(figure(&report, "failed_assets:answered_before"), (1, Some(1)));
    assert_eq!(figure(&report, "failed_assets:scored_before"), (1, Some(1)));
    assert_eq!(figure(&report, "pairs_of_assets:failed_lower"), (1, Some(1)));
    assert!(report["weaknesses"][0].as_str().unwrap().contains("too few"), "{report}");
}

#[tokio::test]
async fn an_asset_without_an_answer_before_its_failure_has_no_score_of_the_day_before() {
    let mut lines = registry();
    lines.push(unreviewed("usdw", "c4"));
    lines.push(given("usdw", "redeemability", "who", "suspended", FAILS_AFTER));
    let report = report(&lines).await;
    assert_eq!(figure(&report, "failed_assets:answered_before"), (0, Some(1)));
    assert_eq!(figure(&report, "failed_assets:scored_before"), (0, Some(1)));
    assert_eq!(figure(&report, "pairs_of_assets:failed_lower"), (0, Some(0)));
}
