//! The restore drill: what it verifies in a restored database, what it says of a damaged one, and its exit status.

use crate::support::testapp::TestApp;
use rds_store::push::journal;
use serde_json::Value;
use std::process::{Command, Output};

/// Older than any database of a test.
const ANY_AGE: &str = "1000000";

/// Runs the drill without any variable of the environment, so without `pg_restore` on a `PATH`.
async fn drill(words: &[&str]) -> Output {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let run = move || {
        Command::new(env!("CARGO_BIN_EXE_rds-origin"))
            .env_clear()
            .args(["drill", "--json"])
            .args(words)
            .output()
            .unwrap()
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// The exit status, and the checks that failed.
fn verdict(output: &Output) -> (i32, Vec<String>) {
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let failed = report["checks"].as_array().into_iter().flatten().filter(|check| check["ok"] == false);
    let failed = failed.map(|check| format!("{}: {}", check["name"].as_str().unwrap(), check["detail"])).collect();
    (output.status.code().unwrap(), failed)
}

async fn execute(test: &TestApp, sql: &str) {
    sqlx::raw_sql(sql).execute(&test.facts.db.pool).await.unwrap();
}

/// Gives the market's operations, and three more, their numbers.
async fn number(test: &TestApp) {
    execute(
        test,
        "INSERT INTO push_operation (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body)
         SELECT (SELECT coalesce(max(recorded_at), now()) FROM push_operation), 'event.published', 'published', 'drill-' || n,
                ARRAY[]::text[], ARRAY[]::bigint[], convert_to('{}', 'UTF8')
         FROM generate_series(1, 3) AS n",
    )
    .await;
    let mut connection = test.facts.db.pool.acquire().await.unwrap();
    journal::tick(&mut connection, test.app.clock.now()).await.unwrap();
}

#[tokio::test]
async fn a_whole_database_is_verified_and_not_changed() {
    let test = TestApp::with_market().await;
    let url = test.facts.url.as_str();
    number(&test).await;
    let rows = "SELECT md5(string_agg(p::text, ',' ORDER BY vault_id)) FROM vault_score p";
    let before: String = sqlx::query_scalar(rows).fetch_one(&test.facts.db.pool).await.unwrap();
    let file = std::env::temp_dir().join(format!("rds-drill-{}.prom", std::process::id()));
    let output = drill(&["--restored", url, "--max-age", ANY_AGE, "--textfile", file.to_str().unwrap()]).await;
    let page = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(verdict(&output), (0, vec![]));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["schema", "age", "rows", "journal", "scores", "decisions"]);
    assert!(report["checks"][4]["detail"].as_str().unwrap().contains("computed again"), "{report}");
    assert!(page.contains("\nrds_drill_ok 1\n") && page.contains("\nrds_drill_checks_failed 0\n"), "{page}");
    let after: String = sqlx::query_scalar(rows).fetch_one(&test.facts.db.pool).await.unwrap();
    assert_eq!(before, after);
    // The database's password is not shown.
    assert!(!report["backup"].as_str().unwrap().contains('@'), "{report}");
}

#[tokio::test]
async fn an_old_backup_and_each_kind_of_damage_fail_the_drill() {
    let test = TestApp::with_market().await;
    let url = test.facts.url.as_str();
    number(&test).await;
    let (code, failed) = verdict(&drill(&["--restored", url, "--max-age", "1"]).await);
    assert!(code == 1 && failed.len() == 1 && failed[0].starts_with("age: "), "{failed:?}");
    execute(
        &test,
        "SET session_replication_role = replica;
         UPDATE vault_score SET document_hash = sha256('another') WHERE vault_id = (SELECT min(vault_id) FROM vault_score);
         DELETE FROM journal WHERE seq = (SELECT seq FROM journal ORDER BY seq OFFSET 1 LIMIT 1);
         INSERT INTO decision (org_id, subject, decision_id, snapshot_id, key_id, envelope, signature, created_at, attempt)
         VALUES (1, repeat('a', 64), repeat('b', 64), repeat('c', 64), 'k', '{}', '0x' || repeat('ab', 65), now(), 0)",
    )
    .await;
    let (code, failed) = verdict(&drill(&["--restored", url, "--max-age", ANY_AGE]).await);
    assert_eq!(code, 1);
    let names: Vec<&str> = failed.iter().filter_map(|text| Some(text.split_once(':')?.0)).collect();
    assert_eq!(names, ["journal", "scores", "decisions"], "{failed:?}");
    assert!(failed[0].contains("missing: 1"), "{failed:?}");
}

#[tokio::test]
async fn a_drill_that_cannot_be_carried_out_has_its_own_status_and_leaves_no_database() {
    let test = TestApp::new().await;
    let url = test.facts.url.as_str();
    let dump = std::env::temp_dir().join(format!("rds-drill-{}.dump", std::process::id()));
    std::fs::write(&dump, "no dump").unwrap();
    let file = dump.with_extension("prom");
    let words = ["--backup", dump.to_str().unwrap(), "--server", url, "--textfile", file.to_str().unwrap()];
    let output = drill(&words).await;
    let page = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&dump).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(page.contains("\nrds_drill_ok 0\n"), "{page}");
    let said = String::from_utf8_lossy(&output.stderr);
    let name = said.split_whitespace().find(|word| word.starts_with("rds_drill_")).expect("the database is named");
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_database WHERE datname = $1")
        .bind(name)
        .fetch_one(&test.facts.db.pool)
        .await
        .unwrap();
    assert_eq!(left, 0);
    let missing = drill(&["--backup", "nowhere.dump", "--server", url]).await;
    assert_eq!(missing.status.code(), Some(2));
}
