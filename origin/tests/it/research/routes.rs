//! Research lists: fields, limits, publication gates, bad input, hidden records and withheld chains.

use crate::research::world::{self, id, rows};
use crate::support::market::line;
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use rds_engine::research;
use rds_store::research as records;
use rds_store::research::predictions;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const LISTS: [&str; 6] = ["validation-reports", "claims", "sources", "predictions", "backtests", "model-health"];

async fn researched() -> TestApp {
    let test = world::test_app(1).await;
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    test
}

fn names(row: &Value) -> BTreeSet<&str> {
    row.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn every_list_is_empty_and_says_why_before_the_first_findings() {
    let test = TestApp::with_market().await;
    for list in LISTS {
        let answer = test.json(&format!("/v1/research/{list}")).await;
        assert_eq!((&answer["data"], &answer["meta"]["total"]), (&json!([]), &json!(0)), "{list}");
        assert!(answer["meta"]["notice"].as_str().unwrap().contains("No row is published yet"), "{list}");
    }
}

#[tokio::test]
async fn every_row_has_its_fields_and_previews_are_marked() {
    let test = researched().await;
    let fields: [(&str, &str, bool); 6] = [
        (
            "validation-reports",
            "id published_at provided_by model_version report_type summary method weaknesses figures backtests",
            false,
        ),
        (
            "claims",
            "id published_at provided_by level surface statement model_version checked violations method weaknesses",
            false,
        ),
        ("sources", "id published_at provided_by source kinds", false),
        (
            "predictions",
            "id vault_id model_version stage horizon made_at due_at score tier outcome drawdown resolved_at provided_by",
            true,
        ),
        (
            "backtests",
            "id published_at provided_by model_version signal outcome horizon stage verdict from to samples losses unobserved repeated broken_series \
             vaults protocols loss_vaults grouped_by loss_groups base_rate auc auc_low auc_high bands method weaknesses samples_hash",
            true,
        ),
        ("model-health", "id published_at provided_by model_version stage name count of share method", true),
    ];
    for (list, expected, preview) in fields {
        let answer = test.json(&format!("/v1/research/{list}")).await;
        let rows = answer["data"].as_array().unwrap();
        assert!(!rows.is_empty(), "{list}");
        for row in rows {
            assert_eq!(names(row), expected.split_whitespace().collect(), "{list}");
            assert!(!preview || row["stage"] == "preview", "{list}");
            assert!(row.get("weaknesses").is_none_or(|said| !said.as_array().unwrap().is_empty()), "{list}: {row}");
        }
        let meta = &answer["meta"];
        assert_eq!(names(meta), BTreeSet::from(["limit", "total", "preview", "notice"]));
        assert_eq!((&meta["preview"], meta["notice"].is_string()), (&json!(preview), preview), "{list}");
        assert_eq!(meta["total"].as_u64().unwrap().min(meta["limit"].as_u64().unwrap()), rows.len() as u64, "{list}");
    }
}

#[tokio::test]
async fn limits_are_clamped_to_a_hundred_and_for_sources_to_five_hundred() {
    let test = researched().await;
    for list in LISTS {
        let most = if list == "sources" { 500 } else { 100 };
        for (asked, taken) in [("1".to_owned(), 1), (most.to_string(), most), ((most + 1).to_string(), most)] {
            let answer = test.json(&format!("/v1/research/{list}?limit={asked}")).await;
            assert_eq!(answer["meta"]["limit"], taken, "{list}");
            assert!(answer["data"].as_array().unwrap().len() <= taken);
        }
        for bad in ["0", "-1", "many", "1.5"] {
            let reply = test.get(&format!("/v1/research/{list}?limit={bad}")).await;
            assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_PARAMETER"), "{list}");
            assert_eq!(reply.json()["error"]["details"][0]["name"], "limit");
        }
    }
    assert_eq!(rows(&test, "predictions?limit=100").await.len(), 100);
    assert_eq!(test.json("/v1/research/predictions?limit=7").await["meta"]["total"], 120);
}

#[tokio::test]
async fn filters_keep_matching_rows_and_name_an_invalid_value() {
    let test = researched().await;
    let version = "rds-1.1.0";
    assert_eq!(rows(&test, &format!("validation-reports?model_version={version}")).await.len(), 2);
    assert!(rows(&test, "validation-reports?model_version=rds-0.9.0").await.is_empty());
    assert!(rows(&test, "backtests?model_version=rds-0.9.0").await.is_empty());
    assert_eq!(rows(&test, "claims").await, rows(&test, "claims?level=public").await);
    assert!(rows(&test, "claims?surface=vaults").await.iter().all(|row| row["surface"] == "vaults"));
    let outcomes = rows(&test, "backtests?outcome=price_loss").await;
    assert!(!outcomes.is_empty() && outcomes.iter().all(|row| row["outcome"] == "price_loss"));
    let vault = id(3);
    let [any_case, week] = [
        rows(
            &test,
            &format!("predictions?vault_id={}", vault.to_uppercase().replace("HARBOR", "harbor").replace("0X", "0x")),
        )
        .await,
        rows(&test, &format!("predictions?vault_id={vault}&horizon=7d&outcome=pending")).await,
    ];
    assert_eq!((any_case.len(), week.len()), (3, 1));
    assert_eq!(
        (&week[0]["vault_id"], &week[0]["horizon"], &week[0]["due_at"]),
        (&json!(vault), &json!("7d"), &json!("2026-11-28T00:00:00.000Z"))
    );
    assert!(rows(&test, "predictions?vault_id=harbor-1-0x00000000000000000000000000000000000000ff").await.is_empty());
    for (target, name) in [
        ("claims?level=secret", "level"),
        ("backtests?outcome=loss", "outcome"),
        ("predictions?outcome=won", "outcome"),
        ("predictions?horizon=31d", "horizon"),
        ("predictions?vault_id=no-vault", "vault_id"),
        ("claims?level=beta&level=public", "level"),
    ] {
        let reply = test.get(&format!("/v1/research/{target}")).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_PARAMETER"), "{target}");
        assert_eq!(reply.json()["error"]["details"][0]["name"], name, "{target}");
    }
    assert_eq!(test.post("/v1/research/claims", "{}").await.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_list_that_is_empty_because_of_its_filters_says_so() {
    let test = researched().await;
    for target in ["claims?level=beta", "backtests?model_version=rds-0.9.0", "predictions?outcome=loss"] {
        let answer = test.json(&format!("/v1/research/{target}")).await;
        assert_eq!(answer["meta"]["notice"], "No published row matches the filters.", "{target}");
    }
}

#[tokio::test]
async fn the_claim_about_caps_covers_published_scores_and_allows_for_the_dwell_and_the_minimum_step() {
    let test = world::test_app(1).await;
    let statement = "No vault's raw score is above its weighted sum";
    let violations = async |set: &str| {
        let sql = format!("UPDATE vault_score SET {set} WHERE vault_id = $1");
        sqlx::query(&sql).bind(id(1)).execute(&test.facts.db.pool).await.unwrap();
        research::run(&test.facts.db, &test.app.clock).await.unwrap();
        let shown = rows(&test, "claims").await;
        let claim = shown.iter().find(|claim| claim["statement"].as_str().unwrap().starts_with(statement));
        claim.map(|claim| claim["violations"].clone())
    };
    let raw = "(provenance->>'raw_score')::numeric * 1000";
    assert_eq!(violations(&format!("score = {raw} + 40")).await, Some(json!(0)), "a smaller change is not published");
    assert_eq!(violations(&format!("score = {raw} + 50")).await, None, "a contradicted claim is not shown");
    let dwelling = "provenance = jsonb_set(provenance::jsonb, '{dwell}', '{\"tier\": \"Edge\"}')::json";
    assert_eq!(violations(dwelling).await, Some(json!(0)), "a lower tier waits for its dwell");
}

#[tokio::test]
async fn a_backtest_with_too_few_losses_stays_a_draft_but_the_report_names_it() {
    let test = researched().await;
    let shown = rows(&test, "backtests").await;
    let keys: Vec<(&str, &str, &str)> = shown
        .iter()
        .map(|row| {
            (row["signal"].as_str().unwrap(), row["outcome"].as_str().unwrap(), row["horizon"].as_str().unwrap())
        })
        .collect();
    assert_eq!(keys, [("history_vector", "price_loss", "30d"), ("history_vector", "price_loss", "7d")]);
    let reports = rows(&test, "validation-reports").await;
    let tried = reports.iter().find(|report| report["report_type"] == "discrimination").unwrap()["backtests"].clone();
    assert_eq!(tried.as_array().unwrap().len(), 12);
    for one in tried.as_array().unwrap() {
        let key = (one["signal"].as_str().unwrap(), one["outcome"].as_str().unwrap(), one["horizon"].as_str().unwrap());
        assert_eq!(one["unmet"] == json!([]), keys.contains(&key), "{one}");
    }
    // No score was published when the windows began, so the claim at level `beta` is stored but not published.
    assert!(rows(&test, "claims?level=beta").await.is_empty());
    assert_eq!(rows(&test, "claims").await.len(), 3);
    // The database itself refuses to promote a record that has not passed its gate, and to change a stored record.
    let columns = "SELECT column_name::text FROM information_schema.columns WHERE table_name = 'research_record'";
    let columns: Vec<String> = sqlx::query_scalar(columns).fetch_all(&test.facts.db.pool).await.unwrap();
    let may_change = ["superseded_at", "is_client_visible", "hidden_reason"];
    let another = |column: &str| match column {
        "id" | "record_key" | "model_version" | "surface" | "outcome" | "provided_by" => "'other'",
        "level" => "'public'",
        "kind" => "'source'",
        "run_id" => "(SELECT max(id) + 1 FROM research_run)",
        "body" => "'{}'",
        "content_hash" => "'\\x00'",
        "made_at" | "promoted_at" => "now()",
        "chain_ids" => "'{7}'",
        "unmet" => "'{}'",
        other => panic!("no changed value for the column {other}"),
    };
    let guarded = columns.iter().filter(|column| !may_change.contains(&column.as_str()));
    let changes = guarded.map(|column| format!("UPDATE research_record SET {column} = {}", another(column)));
    for sql in changes.chain(["DELETE FROM research_record".to_owned()]) {
        let sql = format!("{sql} WHERE kind = 'claim' AND level = 'beta'");
        let refused = sqlx::query(&sql).execute(&test.facts.db.pool).await.unwrap_err();
        assert!(refused.to_string().contains("never changed"), "{sql}: {refused}");
    }
}

#[tokio::test]
async fn a_hidden_record_is_gone_and_stays_so_in_later_runs_until_it_is_shown() {
    let test = researched().await;
    let db = &test.facts.db;
    let is_named = |row: &Value| row["signal"] == "history_vector" && row["horizon"] == "7d";
    let listed = rows(&test, "backtests").await;
    let named = listed.iter().find(|row| is_named(row)).unwrap()["id"].as_str().unwrap().to_owned();
    let set = async |reason: Option<&str>| {
        let mut tx = db.pool.begin().await.unwrap();
        assert!(records::set_visible(&mut tx, &named, reason, reason.is_none()).await.unwrap());
        tx.commit().await.unwrap();
    };
    set(Some("under review")).await;
    assert!(!rows(&test, "backtests").await.iter().any(is_named));
    // New prices produce another record with the same key, which is hidden too.
    test.ingest(&world::reading(0, 0, 0.5)).await;
    test.app.clock.advance(86_400);
    research::run(db, &test.app.clock).await.unwrap();
    assert!(!rows(&test, "backtests").await.iter().any(is_named));
    let standing = records::states(db).await.unwrap();
    let hidden = standing.iter().find(|record| !record.is_client_visible).unwrap();
    assert_eq!((hidden.record_key.as_str(), hidden.is_promoted), ("history_vector/price_loss/7d", true));
    let mut tx = db.pool.begin().await.unwrap();
    assert!(records::set_visible(&mut tx, &hidden.id, None, true).await.unwrap());
    assert!(!records::set_visible(&mut tx, "backtest-none", None, true).await.unwrap());
    tx.commit().await.unwrap();
    assert!(rows(&test, "backtests").await.iter().any(is_named));
}

#[tokio::test]
async fn a_single_prediction_can_be_hidden() {
    let test = researched().await;
    let of = format!("predictions?vault_id={}", id(2));
    let named = rows(&test, &of).await[1]["id"].as_str().unwrap().to_owned();
    let set = async |id: &str, visible| {
        let mut tx = test.facts.db.pool.begin().await.unwrap();
        let known = predictions::set_visible(&mut tx, id, visible).await.unwrap();
        tx.commit().await.unwrap();
        known
    };
    assert!(set(&named, false).await);
    let left = rows(&test, &of).await;
    assert!(left.len() == 2 && left.iter().all(|row| row["id"] != named));
    assert!(set(&named, true).await);
    assert_eq!(rows(&test, &of).await.len(), 3);
    for unknown in ["", "backtest-none", "a/b/c", &format!("{}/7d/0", id(2))] {
        assert!(!set(unknown, false).await, "{unknown}");
    }
}

#[tokio::test]
async fn nothing_is_shown_of_a_withheld_chain_and_a_new_run_covers_the_other_chains() {
    let test = researched().await;
    let withheld = |chain: u64, slug: &str, is_served: bool, at: &str| {
        let fields = json!({"chain_id": chain, "slug": slug, "name": slug, "namespace": "evm", "is_settlement": true, "is_served": is_served});
        line("chain", at, fields)
    };
    let samples = async |test: &TestApp| rows(test, "backtests?limit=1").await.first().map(|row| row["vaults"].clone());
    assert_eq!(samples(&test).await, Some(json!(45)));
    assert_eq!(rows(&test, "predictions?limit=100").await.len(), 100);

    test.ingest(&withheld(8453, "base", false, "2026-11-20T00:00:00Z")).await;
    // A figure that counts the chain's vaults cannot be split, so its record is withheld as a whole.
    for list in ["validation-reports", "claims", "sources", "backtests", "model-health"] {
        assert!(rows(&test, list).await.is_empty(), "{list}");
    }
    assert_eq!(
        rows(&test, "predictions?limit=100").await.len(),
        100,
        "none of these predictions is about the withheld chain"
    );
    // A run is due because the set of served chains has changed.
    let run = research::run_due(&test.facts.db, &test.app.clock).await.unwrap();
    assert!(run.is_some_and(|run| run.records > 0));
    assert_eq!(samples(&test).await, Some(json!(40)));
    assert_eq!(research::run_due(&test.facts.db, &test.app.clock).await.unwrap(), None);

    test.ingest(&withheld(1, "ethereum", false, "2026-11-20T00:00:00Z")).await;
    assert!(rows(&test, "predictions").await.is_empty());
    assert_eq!(test.json("/v1/research/predictions").await["meta"]["total"], 0);
}
