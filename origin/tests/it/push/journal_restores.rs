//! Case F12 of `e2e/FAULTS.md`: the database is an older copy of the database that issued the last sequence number, or a different
//! database. No sequence number is issued twice.

use crate::support::db::TestDb;
use crate::support::stream_client::Ask;
use crate::support::streaming::{Serving, draw, eventually, key, published, service};
use crate::support::testapp::{TestApp, TestOptions};
use rds_shared::wire::Timestamp;
use rds_store::push::journal::{self, Cause, Tick};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use std::str::FromStr;
use std::sync::atomic::Ordering::Relaxed;

const NOW: Timestamp = Timestamp::from_seconds(1_795_219_200);

async fn connect(facts: &TestDb) -> PgConnection {
    PgConnection::connect_with(&PgConnectOptions::from_str(&facts.url).unwrap()).await.unwrap()
}

async fn append(connection: &mut PgConnection, text: &str) {
    let sql = "INSERT INTO push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body) \
               VALUES ('2026-11-21', 'published', $1, '{}', '{1}', convert_to('{\"title\":\"' || $1 || '\"}', 'UTF8'))";
    sqlx::query(sql).bind(text).execute(connection).await.unwrap();
}

async fn numbers(facts: &TestDb) -> Vec<i64> {
    sqlx::query_scalar("SELECT seq FROM journal ORDER BY seq").fetch_all(&facts.db.pool).await.unwrap()
}

/// The state after a dump of another cluster was loaded: its rows carry transaction ids that this cluster has not reached yet.
async fn as_restored_from_another_cluster(connection: &mut PgConnection) {
    for sql in [
        "UPDATE push_operation SET xid = (xid::text::bigint + 1000000)::text::xid8",
        "UPDATE journal_state SET incarnation = '1/00000001', snap = '2000000:2000000:'",
    ] {
        sqlx::query(sql).execute(&mut *connection).await.unwrap();
    }
}

#[tokio::test]
async fn f12_a_dump_loaded_into_another_cluster_continues_above_every_number_given() {
    let facts = TestDb::new().await;
    let mut one = connect(&facts).await;
    append(&mut one, "before").await;
    journal::tick(&mut one, NOW).await.unwrap();
    append(&mut one, "dumped without a number").await;
    as_restored_from_another_cluster(&mut one).await;
    append(&mut one, "written after the restore").await;

    assert_eq!(
        journal::tick(&mut one, NOW).await.unwrap().tick,
        Tick::Numbered(0),
        "without a step no operation would be numbered"
    );
    let stepped = journal::step(&mut one, Cause::Moved, NOW, draw()).await.unwrap().unwrap();
    assert_eq!((stepped.from, stepped.numbered), (1, 2));
    let to = stepped.to;
    assert_eq!(journal::step(&mut one, Cause::Moved, NOW, draw()).await.unwrap(), None, "no second step");
    append(&mut one, "and on").await;
    assert_eq!(journal::tick(&mut one, NOW).await.unwrap().tick, Tick::Numbered(1));
    assert_eq!(numbers(&facts).await, [1, to + 1, to + 2, to + 3]);
}

#[tokio::test]
async fn f12_old_transaction_ids_are_not_mistaken_for_new_ones_when_the_cluster_reaches_them() {
    let facts = TestDb::new().await;
    let mut one = connect(&facts).await;
    for text in ["a", "b"] {
        append(&mut one, text).await;
    }
    journal::tick(&mut one, NOW).await.unwrap();
    // The rows get transaction ids that this cluster assigns next.
    let sql = "UPDATE push_operation o SET xid = (pg_current_xact_id()::text::bigint + 3 + o.id)::text::xid8";
    sqlx::query(sql).execute(&mut one).await.unwrap();
    sqlx::query("UPDATE journal_state SET incarnation = '1/00000001'").execute(&mut one).await.unwrap();
    journal::step(&mut one, Cause::Moved, NOW, draw()).await.unwrap().unwrap();
    for number in 0..20 {
        append(&mut one, &number.to_string()).await;
        assert_eq!(journal::tick(&mut one, NOW).await.unwrap().tick, Tick::Numbered(1));
    }
    assert_eq!(numbers(&facts).await.len(), 22);
}

#[tokio::test]
async fn f12_an_operator_who_set_the_disk_back_can_step_over_the_lost_numbers() {
    let facts = TestDb::new().await;
    let mut one = connect(&facts).await;
    append(&mut one, "before").await;
    journal::tick(&mut one, NOW).await.unwrap();
    let mut to = 1;
    for place in [1, 2] {
        let stepped =
            journal::step(&mut one, Cause::Operator("the volume was rolled back"), NOW, draw()).await.unwrap().unwrap();
        assert_eq!((stepped.from, stepped.numbered), (to, 0));
        assert!(stepped.to >> 32 > to >> 32, "into another epoch, even within the same second");
        to = stepped.to;
        let extent = journal::read::extent(&facts.db.pool, NOW).await.unwrap();
        assert_eq!((extent.tail.get(), extent.jumps.len()), (to.unsigned_abs(), place));
    }
    append(&mut one, "after").await;
    journal::tick(&mut one, NOW).await.unwrap();
    assert_eq!(numbers(&facts).await, [1, to + 1]);
    let reasons: Vec<String> =
        sqlx::query_scalar("SELECT reason FROM incarnation ORDER BY from_seq").fetch_all(&facts.db.pool).await.unwrap();
    assert_eq!(reasons, ["the volume was rolled back"; 2]);
}

#[tokio::test]
async fn f12_operations_that_come_in_during_the_step_are_numbered_once() {
    let facts = TestDb::new().await;
    let (mut one, mut open) = (connect(&facts).await, connect(&facts).await);
    append(&mut one, "before").await;
    journal::tick(&mut one, NOW).await.unwrap();
    sqlx::query("BEGIN").execute(&mut open).await.unwrap();
    append(&mut open, "open across the step").await;
    as_restored_from_another_cluster(&mut one).await;
    let stepped = journal::step(&mut one, Cause::Moved, NOW, draw()).await.unwrap().unwrap();
    sqlx::query("COMMIT").execute(&mut open).await.unwrap();
    assert_eq!(journal::tick(&mut one, NOW).await.unwrap().tick, Tick::Numbered(1));
    assert_eq!(numbers(&facts).await, [1, stepped.to + 1]);
}

#[tokio::test]
async fn f12_clients_of_the_lost_timeline_get_a_gap_and_those_of_the_shared_one_read_on() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["1", "2", "3", "4", "5"]).await;
    // The database goes back to the state when it had issued three numbers, and the service is restarted on it.
    serving.stop().await;
    let mut one = connect(&test.facts).await;
    for sql in [
        "DELETE FROM journal WHERE seq > 3",
        "ALTER TABLE push_operation DISABLE TRIGGER USER",
        "DELETE FROM push_operation WHERE id > 3",
        "ALTER TABLE push_operation ENABLE TRIGGER USER",
        "UPDATE journal_state SET head = 3, incarnation = '1/00000001'",
    ] {
        sqlx::query(sql).execute(&mut one).await.unwrap();
    }
    let (test, serving) = crate::support::streaming::again(test).await;
    eventually("the step is taken", async || crate::support::streaming::head(&test.app.db).await > 3).await;
    let to = crate::support::streaming::head(&test.app.db).await;
    published(&test, ["six"]).await;

    let mut shared = Ask::with(&key).after("v2:2").opened(&serving).await;
    assert_eq!(shared.titles(2).await, ["3", "six"]);
    let mut at_the_edge = Ask::with(&key).after("v2:3").opened(&serving).await;
    assert_eq!(at_the_edge.operation().await.number(), to + 1);
    for lost in ["v2:4".to_owned(), "v2:5".to_owned(), "v2:1099511627775".to_owned(), format!("v2:{}", to - 1)] {
        let mut lost = Ask::with(&key).after(lost.as_str()).opened(&serving).await;
        let gap = lost.next().await;
        assert_eq!((gap.event.as_str(), gap.json()["reason"].as_str()), ("gap", Some("cursor_unknown")));
        assert_eq!(lost.next().await.id.as_deref(), Some("v2:0"), "the window is replayed from its start");
        assert_eq!(lost.titles(4).await, ["1", "2", "3", "six"]);
    }
}

#[tokio::test]
async fn f12_a_running_process_that_saw_higher_numbers_notices_that_the_head_went_back() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["1", "2", "3", "4", "5"]).await;
    let mut client = Ask::with(&key).opened(&serving).await;
    // Simulates a disk restored to an earlier state: cluster and timeline ids stay, rows are lost, all connections
    // break.
    let mut one = connect(&test.facts).await;
    for sql in [
        "DELETE FROM journal WHERE seq > 3",
        "ALTER TABLE push_operation DISABLE TRIGGER USER",
        "DELETE FROM push_operation WHERE id > 3",
        "ALTER TABLE push_operation ENABLE TRIGGER USER",
        "UPDATE journal_state SET head = 3",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    ] {
        sqlx::query(sql).execute(&mut one).await.unwrap();
    }
    eventually("the lost numbers are stepped over", async || {
        let head: i64 = sqlx::query_scalar("SELECT head FROM journal_state").fetch_one(&mut one).await.unwrap();
        head > 3
    })
    .await;
    let to = crate::support::streaming::head(&test.app.db).await;
    // Nothing was published since. A client that read lost operations gets a gap immediately, and no other client sees these operations.
    let gap = client.next().await;
    assert_eq!((gap.event.as_str(), gap.json()["reason"].as_str()), ("gap", Some("cursor_unknown")));
    assert_eq!(client.titles(3).await, ["1", "2", "3"]);
    let mut newcomer = Ask::with(&key).after("v2:2").opened(&serving).await;
    assert_eq!(newcomer.titles(1).await, ["3"]);
    assert_eq!(newcomer.next().await.id, Some(format!("v2:{to}")), "the lost operations 4 and 5 are not sent");
    append(&mut one, "six").await;
    assert_eq!(client.titles(1).await, ["six"]);
    assert_eq!(newcomer.titles(1).await, ["six"]);
    assert_eq!(test.app.journal.meters.broken.load(Relaxed), 0, "a recorded jump raises no alarm");
}

#[tokio::test]
async fn f12_a_step_too_long_for_one_tick_is_still_taken() {
    let test =
        TestApp::with(TestOptions { env: vec![("RDS_SCORE_EVERY_SECONDS", "0")], ..TestOptions::default() }).await;
    let mut one = connect(&test.facts).await;
    for text in ["1", "2", "3"] {
        append(&mut one, text).await;
    }
    journal::tick(&mut one, NOW).await.unwrap();
    as_restored_from_another_cluster(&mut one).await;
    // The slow update of each row simulates very many rows.
    for sql in [
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.8); RETURN NEW; END'",
        "CREATE TRIGGER slow BEFORE UPDATE ON push_operation FOR EACH ROW EXECUTE FUNCTION slow()",
    ] {
        sqlx::query(sql).execute(&mut one).await.unwrap();
    }
    let serving = Serving::of(&test).await;
    let meters = &serving.app.journal.meters;
    // The step is counted after its commit, so the new head is visible in the database before the count.
    eventually("the step is taken", async || meters.steps.load(Relaxed) == 1).await;
    assert!(crate::support::streaming::head(&test.app.db).await > 3);
    assert_eq!(meters.ticks_failed.load(Relaxed), 0, "the step succeeds at the first attempt");
}

#[tokio::test]
async fn f12_a_client_at_a_step_without_later_operations_gets_a_cursor_beyond_it() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["1"]).await;
    let mut one = connect(&test.facts).await;
    let stepped =
        journal::step(&mut one, Cause::Operator("a test"), test.app.clock.now(), draw()).await.unwrap().unwrap();
    let to = stepped.to.unsigned_abs();
    test.app.journal.ring.restart_after(to);
    let mut client = Ask::with(&key).after("v2:1").opened(&serving).await;
    let cursor = client.next().await;
    assert_eq!((cursor.event.as_str(), cursor.number()), ("cursor", to));
    append(&mut one, "behind it").await;
    assert_eq!(client.operation().await.number(), to + 1);
}
