//! A database that refuses writes: detected by a test write and reported everywhere, while reads continue.

use crate::service::status::{component, status_of};
use crate::support::chaos::ChaosProxy;
use crate::support::db::TestDb;
use crate::support::testapp::{TestApp, TestOptions};
use axum::http::StatusCode;
use rds_origin::status::writes;
use serde_json::json;
use sqlx::Connection;

/// Makes every test write fail as on a full disk, or succeed again.
async fn disk_is_full(test: &TestApp, full: bool) {
    let sql = match full {
        true => {
            "create function refuse_write() returns trigger language plpgsql as $$ begin
                raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
             create trigger refuse_write before insert on write_probe for each row execute function refuse_write()"
        }
        false => "drop function refuse_write cascade",
    };
    sqlx::raw_sql(sql).execute(&test.app.db.pool).await.unwrap();
    // Dates the last test write far back, so that the next check writes again.
    sqlx::query("update write_probe set written_at = to_timestamp(0)").execute(&test.app.db.pool).await.unwrap();
}

#[tokio::test]
async fn a_database_that_refuses_writes_is_reported_everywhere_and_takes_no_process_out_of_service() {
    let test = TestApp::with_market().await;
    let metric = async || test.admin("GET", "/metrics", "").await.text().contains("\nrds_db_writes_refused 1\n");
    writes::look(&test.app.db, &test.app.writes).await;
    assert_eq!((status_of(&test, "writes").await.as_str(), metric().await), ("operational", false));
    assert_eq!(test.admin("GET", "/ready", "").await.json().get("writes"), None);

    disk_is_full(&test, true).await;
    writes::look(&test.app.db, &test.app.writes).await;
    let (status, detail) = component(&test, "writes").await;
    assert_eq!((status.as_str(), metric().await), ("degraded", true));
    assert!(detail.unwrap().contains("refuses writes"));
    let ready = test.admin("GET", "/ready", "").await;
    assert_eq!(
        (ready.status, &ready.json()["writes"], &ready.json()["db"]),
        (StatusCode::OK, &json!("failing"), &json!("up"))
    );
    assert_eq!(test.json("/v1/status").await["status"], "operational", "reads continue");
    assert_eq!(test.get("/v1/vaults").await.status, StatusCode::OK);

    disk_is_full(&test, false).await;
    writes::look(&test.app.db, &test.app.writes).await;
    assert_eq!((status_of(&test, "writes").await.as_str(), metric().await), ("operational", false));
}

#[tokio::test]
async fn a_read_only_database_is_noticed_and_an_unreachable_one_does_not_count_as_refusing_writes() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    wire.cut();
    writes::look(&test.app.db, &test.app.writes).await;
    assert!(!test.app.writes.are_refused(), "an unreachable database has not refused a write");
    wire.mend();
    let mut one = sqlx::PgConnection::connect(&test.facts.url).await.unwrap();
    let read_only = "do $$ begin execute 'alter database ' || current_database() || ' set default_transaction_read_only = on'; end $$";
    sqlx::query(read_only).execute(&mut one).await.unwrap();
    for _ in 0..20 {
        // Each broken connection in the pool is discovered only when it is used.
        writes::look(&test.app.db, &test.app.writes).await;
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
        sqlx::query(sql).execute(&mut one).await.unwrap();
        if test.app.writes.are_refused() {
            return;
        }
        let _ = sqlx::query("update write_probe set written_at = to_timestamp(0)").execute(&mut one).await;
    }
    panic!("the read-only database was not noticed");
}

#[tokio::test]
async fn one_process_writes_and_the_others_see_it() {
    let facts = TestDb::new().await;
    let test = TestApp::over(facts, TestOptions::default()).await;
    let written = async || {
        let sql = "select written_at::text || length(filler) from write_probe";
        sqlx::query_scalar::<_, String>(sql).fetch_all(&test.app.db.pool).await.unwrap()
    };
    writes::look(&test.app.db, &test.app.writes).await;
    let first = written().await;
    assert!(first.len() == 1 && first[0].ends_with("65536"), "{first:?}");
    writes::look(&test.app.db, &test.app.writes).await;
    assert_eq!(written().await, first, "the last test write is recent");
    sqlx::query("update write_probe set written_at = written_at - interval '16 seconds'")
        .execute(&test.app.db.pool)
        .await
        .unwrap();
    writes::look(&test.app.db, &test.app.writes).await;
    assert_ne!(written().await, first);
    assert_eq!(written().await.len(), 1);
}
