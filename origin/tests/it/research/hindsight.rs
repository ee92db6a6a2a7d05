//! Hindsight: the report compares what failed with what survived, by the answers dated before the loss.

use crate::ingest::market::{VAULT, clock, ingest, observed, registry, start, vault};
use crate::research::world::{self, VAULTS, days_ago, falls, rows};
use crate::scoring::answers::{answers, given, unreviewed};
use crate::support::db::TestDb;
use crate::support::market::{DOLLAR, line};
use crate::support::testapp::{NOW, TestApp, TestOptions};
use rds_engine::research;
use rds_facts::event_id;
use rds_store::research::losses::{self, FirstLoss};
use serde_json::{Value, json};

/// Hours from the first answers to the source that states the failure.
const STATED_AFTER: i64 = 30 * 24;
/// Hours from the first answers to the incident.
const LOST_AFTER: i64 = STATED_AFTER - 5 * 24;

/// The hindsight report after a run on the given facts.
async fn report(lines: &[Value]) -> Value {
    let test = TestDb::new().await;
    ingest(&test, &clock(STATED_AFTER), lines).await;
    let app = TestApp::over(test, TestOptions::default()).await;
    research::run(&app.facts.db, &app.app.clock).await.unwrap();
    let reports = rows(&app, "validation-reports").await;
    reports.into_iter().find(|report| report["report_type"] == "hindsight").unwrap()
}

fn figure(report: &Value, name: &str) -> (u64, Option<u64>) {
    let found = report["figures"].as_array().unwrap().iter().find(|one| one["name"] == name);
    let figure = found.unwrap_or_else(|| panic!("no figure {name} in {report}"));
    (figure["count"].as_u64().unwrap(), figure["of"].as_u64())
}

/// The vault's incident.
fn drain() -> Value {
    observed(
        "incident_link",
        LOST_AFTER,
        json!({"event_key": "drain-1", "vault_id": VAULT, "severity": "Critical", "incident_severity": "major", "title": "Drain",
               "occurred_at": start().plus_seconds(LOST_AFTER * 3_600), "remediation_status": "unresolved"}),
    )
}

/// The vault's share token fails five days before a source says so. It stands lower than another asset.
fn failed_share_token() -> Vec<Value> {
    let mut lines = registry();
    lines.extend([vault(), drain(), unreviewed("usdz", "c3"), unreviewed("usdw", "a1")]);
    lines.extend(answers("usdz"));
    lines.extend(answers("usdw").into_iter().map(|mut line| {
        if line["question"] == "who" {
            line["answer"] = json!("institutions");
        }
        line
    }));
    lines.push(given("usdw", "redeemability", "who", "suspended", STATED_AFTER));
    lines
}

#[tokio::test]
async fn an_asset_that_failed_is_compared_by_the_answers_dated_before_its_incident() {
    let report = report(&failed_share_token()).await;
    assert_eq!(figure(&report, "failed_assets"), (1, None));
    assert_eq!(figure(&report, "surviving_assets"), (1, None));
    for name in ["dated", "answered_before", "scored_before"] {
        assert_eq!(figure(&report, &format!("failed_assets:{name}")), (1, Some(1)), "{name}");
    }
    assert_eq!(figure(&report, "failed_assets:not_judged"), (0, Some(1)));
    let pairs =
        ["failed_lower", "equal", "failed_higher"].map(|name| figure(&report, &format!("pairs_of_assets:{name}")));
    assert_eq!(pairs, [(1, Some(1)), (0, Some(1)), (0, Some(1))]);
    // The vault lost too, but nobody has answered a question about its deposit asset.
    assert_eq!(figure(&report, "failed_vaults:first_loss_is_an_incident"), (1, Some(1)));
    assert_eq!(figure(&report, "failed_vaults:not_judged"), (1, Some(1)));
    assert!(report["summary"].as_str().unwrap().contains("could not be judged for lack of evidence"), "{report}");
    assert!(report["weaknesses"][0].as_str().unwrap().contains("too few"), "{report}");
}

#[tokio::test]
async fn answers_between_the_incident_and_the_source_that_states_it_were_not_known_before() {
    let mut lines = failed_share_token();
    // The failed asset's answers are two days younger than its incident, and older than the source.
    for line in lines.iter_mut().filter(|line| line["kind"] == "asset_answer" && line["answer"] != "suspended") {
        if line["asset_id"] == "usdw" {
            line["as_of"] = json!(start().plus_seconds((LOST_AFTER + 48) * 3_600));
        }
    }
    lines.iter_mut().filter(|line| line["kind"] == "asset_answer").for_each(|line| {
        line["observed_at"] = json!(start().plus_seconds(STATED_AFTER * 3_600));
    });
    let found = report(&lines).await;
    assert_eq!(figure(&found, "failed_assets:answered_before"), (0, Some(1)));
    assert_eq!(figure(&found, "failed_assets:not_judged"), (1, Some(1)));
    assert_eq!(figure(&found, "pairs_of_assets:failed_lower"), (0, Some(0)));

    lines.retain(|line| line["kind"] != "incident_link");
    let undated = report(&lines).await;
    assert_eq!(figure(&undated, "failed_assets:dated"), (0, Some(1)), "the source's date is not the date of the loss");
    assert_eq!(figure(&undated, "failed_assets:not_judged"), (1, Some(1)));
}

#[tokio::test]
async fn an_asset_without_an_answer_before_its_failure_has_no_score_of_the_day_before() {
    let mut lines = registry();
    lines.extend([vault(), drain(), unreviewed("usdw", "a1")]);
    lines.push(given("usdw", "redeemability", "who", "suspended", STATED_AFTER));
    let report = report(&lines).await;
    assert_eq!(figure(&report, "failed_assets:answered_before"), (0, Some(1)));
    assert_eq!(figure(&report, "failed_assets:scored_before"), (0, Some(1)));
    assert_eq!(figure(&report, "failed_assets:not_judged"), (1, Some(1)));
    assert_eq!(figure(&report, "pairs_of_assets:failed_lower"), (0, Some(0)));
}

#[tokio::test]
async fn the_deposit_asset_of_a_vault_is_compared_with_other_assets_only() {
    let mut lines = registry();
    let mut vault = vault();
    vault["asset_address"] = json!("0x00000000000000000000000000000000000000c3");
    lines.extend([vault, drain(), unreviewed("usdz", "c3"), unreviewed("usdw", "c4")]);
    lines.extend(answers("usdz"));
    lines.extend(answers("usdw"));
    // The same answers by another source, so that the two assets are not one.
    lines.iter_mut().filter(|line| line["asset_id"] == "usdw" && line["kind"] == "asset_answer").for_each(|line| {
        line["source_url"] = json!("https://other.example/terms");
    });
    let report = report(&lines).await;
    assert_eq!(figure(&report, "surviving_assets"), (2, None));
    assert_eq!(figure(&report, "failed_vaults:not_judged"), (0, Some(1)));
    assert_eq!(figure(&report, "pairs_of_vaults:failed_lower"), (0, Some(1)));
    assert_eq!(figure(&report, "pairs_of_vaults:equal"), (1, Some(1)), "usdw only");
}

#[tokio::test]
async fn a_withdrawn_answer_is_evidence_neither_of_a_loss_nor_of_safety() {
    let mut lines = failed_share_token();
    let mut withdrawn = given("usdw", "redeemability", "who", "suspended", STATED_AFTER - 1);
    withdrawn["withdrawn"] = json!(true);
    withdrawn["observed_at"] = json!(start().plus_seconds(STATED_AFTER * 3_600));
    lines.retain(|line| line["answer"] != "suspended");
    lines.push(withdrawn);
    let report = report(&lines).await;
    assert_eq!((figure(&report, "failed_assets"), figure(&report, "surviving_assets")), ((0, None), (2, None)));
    let said = report["weaknesses"].as_array().unwrap();
    assert!(said.iter().any(|line| line.as_str().unwrap().starts_with("1 withdrawn answers are left out")), "{said:?}");
}

/// A vault's first loss is dated by the first price that shows the fall, or by the incident of its protocol.
#[tokio::test]
async fn the_first_loss_of_a_vault_has_its_own_date() {
    let test = world::test_app(1).await;
    let halt = json!({"event_key": "halt", "protocol_id": "harbor", "affects_protocol_score": true, "severity": "Critical",
                      "title": "Harbor halted", "occurred_at": days_ago(10)});
    let again = json!({"id": "also-dollar", "chain_id": 1, "address": DOLLAR, "symbol": "USDX", "category": "fiat_backed_stablecoin"});
    test.ingest(&[line("incident_link", NOW, halt), line("asset", NOW, again)].concat()).await;
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    let mut tx = test.facts.db.pool.begin().await.unwrap();
    let found = losses::first_losses(&mut tx).await.unwrap();
    assert_eq!(found.len() as u32, VAULTS + world::ELSEWHERE);
    for number in 0..VAULTS + world::ELSEWHERE {
        let loss = found.iter().find(|loss| loss.vault_id == world::id(number)).unwrap();
        let FirstLoss { lost_at, event_id: event, incident_ids, deposit_ids, .. } = loss;
        // The oldest window begins 92 days before the tests' now.
        let expected = match (1..92).rev().find(|ago| falls(number, *ago)) {
            Some(ago) => (days_ago(ago), None),
            None => (days_ago(10), Some(event_id("halt"))),
        };
        assert_eq!((lost_at.0, *event), expected, "vault {number}");
        assert_eq!(*incident_ids, [event_id("halt")], "vault {number}");
        let names: &[&str] = if number < VAULTS { &["also-dollar", "dollar"] } else { &[] };
        assert_eq!(deposit_ids, names, "vault {number}");
    }
    assert!(found.is_sorted_by_key(|loss| &loss.vault_id));
}

/// An attack on an asset's contract in the security registry dates the asset's failure while it is published.
#[tokio::test]
async fn a_published_attack_on_its_contract_dates_the_failure_of_an_asset() {
    let mut lines = registry();
    lines.push(unreviewed("usdw", "c4"));
    lines.push(observed(
        "security_event",
        LOST_AFTER,
        json!({"source_id": "attack", "chain_id": 31337, "title": "Attack", "severity": "Critical",
               "victims": ["0x00000000000000000000000000000000000000c4"],
               "attacked_at": start().plus_seconds(LOST_AFTER * 3_600)}),
    ));
    let test = TestDb::new().await;
    ingest(&test, &clock(STATED_AFTER), &lines).await;
    let incidents = async || {
        let mut tx = test.db.pool.begin().await.unwrap();
        losses::asset_incidents(&mut tx).await.unwrap()
    };
    // It names a known contract, so it is published without an editor.
    let found = incidents().await;
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.asset_id.as_str(), one.occurred_at.0), ("usdw", start().plus_seconds(LOST_AFTER * 3_600)));
    let retract = "UPDATE security_event SET state = 'retracted'";
    sqlx::query(retract).execute(&test.db.pool).await.unwrap();
    assert_eq!(incidents().await, []);
}
