//! The journal's sequence numbers are dense and follow the order in which operations became visible, also with late commits, rollbacks and races.
//!
//! The cases F1 to F10, F14 and F16 of `e2e/FAULTS.md`.

use crate::support::db::{TestDb, rows_read};
use crate::support::streaming::{PATIENCE, Serving, eventually, head, operation, service, service_over_a_wire};
use crate::support::testapp::{TestApp, TestOptions};
use rds_engine::clock::Stopwatch;
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::push::journal::{self, Tick};
use rds_store::push::operations;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, PgPool};
use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_seconds(1_795_219_200);

async fn connect(facts: &TestDb) -> PgConnection {
    PgConnection::connect_with(&PgConnectOptions::from_str(&facts.url).unwrap()).await.unwrap()
}

/// Appends an operation named `text`, in the current transaction of `connection` if there is one.
async fn append(connection: &mut PgConnection, text: &str) {
    let sql = "INSERT INTO push_operation (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body) \
               VALUES ($1, 'event.published', 'published', $2, '{}', '{1}', '{}')";
    sqlx::query(sql).bind(rds_store::At(NOW)).bind(text).execute(connection).await.unwrap();
}

async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::query(sql).execute(connection).await.unwrap();
}

/// Sequence numbers and names of all journal entries, in order.
async fn numbered(pool: &PgPool) -> Vec<(i64, String)> {
    let sql = "SELECT j.seq, o.event_id FROM journal j JOIN push_operation o ON o.id = j.operation_id ORDER BY j.seq";
    sqlx::query_as(sql).fetch_all(pool).await.unwrap()
}

fn in_order(names: &[&str]) -> Vec<(i64, String)> {
    names.iter().zip(1..).map(|(name, seq)| (seq, (*name).to_owned())).collect()
}

#[tokio::test]
async fn f1_an_operation_that_commits_late_gets_the_next_number_at_its_commit() {
    let facts = TestDb::new().await;
    let (mut slow, mut quick, mut turn) = (connect(&facts).await, connect(&facts).await, connect(&facts).await);
    run(&mut slow, "BEGIN").await;
    append(&mut slow, "slow").await;
    append(&mut quick, "first").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    append(&mut quick, "second").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    assert_eq!(
        journal::tick(&mut turn, NOW).await.unwrap().tick,
        Tick::Numbered(0),
        "an open transaction is not waited for"
    );
    run(&mut slow, "COMMIT").await;
    append(&mut quick, "third").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(2));
    assert_eq!(numbered(&facts.db.pool).await, in_order(&["first", "second", "slow", "third"]));
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(0), "numbered only once");
}

#[tokio::test]
async fn f1_a_transaction_that_began_early_and_writes_late_is_not_missed() {
    let facts = TestDb::new().await;
    let (mut early, mut quick, mut turn) = (connect(&facts).await, connect(&facts).await, connect(&facts).await);
    run(&mut early, "BEGIN").await;
    run(&mut early, "SELECT pg_current_xact_id()").await;
    for round in 0..5 {
        append(&mut quick, &format!("quick {round}")).await;
        assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    }
    append(&mut early, "early").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(0));
    run(&mut early, "COMMIT").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    assert_eq!(numbered(&facts.db.pool).await.last().unwrap(), &(6, "early".to_owned()));
}

#[tokio::test]
async fn f2_a_rolled_back_operation_gets_no_number_and_leaves_no_hole() {
    let facts = TestDb::new().await;
    let (mut one, mut turn) = (connect(&facts).await, connect(&facts).await);
    append(&mut one, "before").await;
    run(&mut one, "BEGIN").await;
    append(&mut one, "undone").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    run(&mut one, "ROLLBACK").await;
    append(&mut one, "after").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    assert_eq!(numbered(&facts.db.pool).await, in_order(&["before", "after"]));
}

#[tokio::test]
async fn f3_operations_of_a_savepoint_are_numbered_once_or_not_at_all() {
    let facts = TestDb::new().await;
    let (mut one, mut turn) = (connect(&facts).await, connect(&facts).await);
    run(&mut one, "BEGIN").await;
    run(&mut one, "SAVEPOINT a").await;
    append(&mut one, "undone").await;
    run(&mut one, "ROLLBACK TO a").await;
    run(&mut one, "SAVEPOINT b").await;
    append(&mut one, "kept").await;
    run(&mut one, "RELEASE b").await;
    append(&mut one, "last").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(0));
    run(&mut one, "COMMIT").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(2));
    assert_eq!(numbered(&facts.db.pool).await, in_order(&["kept", "last"]));
}

#[tokio::test]
async fn f4_an_old_transaction_delays_nobody_and_a_tick_reads_only_new_rows() {
    let facts = TestDb::new().await;
    let (mut old, mut quick) = (connect(&facts).await, connect(&facts).await);
    let mut turn = rds_origin::journal::connect(&facts.db, "rds-sequencer", Duration::from_secs(10)).await.unwrap();
    run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    append(&mut old, "old").await;
    // These rows are newer than the oldest open transaction. A tick that searched from the snapshot's xmin would read them again every time.
    run(
        &mut quick,
        "INSERT INTO push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body) \
         SELECT '2026-11-21', 'published', 'quick', '{}', '{1}', '{}' FROM generate_series(1, 5000)",
    )
    .await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(5_000));
    run(&mut quick, "ANALYZE push_operation").await;
    let before = rows_read(&mut turn).await;
    for _ in 0..3 {
        append(&mut quick, "more").await;
        assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    }
    let read = rows_read(&mut turn).await - before;
    assert!(read < 50, "{read} rows read to number three");
    run(&mut old, "COMMIT").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    assert_eq!(numbered(&facts.db.pool).await.last().unwrap(), &(5_004, "old".to_owned()));
}

#[tokio::test]
async fn f6_a_sequencer_that_freezes_with_the_lock_loses_it_and_does_no_harm_when_it_wakes() {
    let facts = TestDb::new().await;
    // A connection with the sequencer's own settings.
    let mut frozen = rds_origin::journal::connect(&facts.db, "rds-sequencer", Duration::from_secs(1)).await.unwrap();
    let (mut one, mut turn) = (connect(&facts).await, connect(&facts).await);
    append(&mut one, "first").await;
    run(&mut frozen, "BEGIN").await;
    run(&mut frozen, "SELECT FROM journal_state FOR UPDATE").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Taken, "a tick does not wait for the lock");
    let mut waiting = connect(&facts).await;
    let frozen_for = Stopwatch::start();
    eventually("the lock is free again", async || {
        matches!(journal::tick(&mut waiting, NOW).await.unwrap().tick, Tick::Numbered(1))
    })
    .await;
    assert!(
        frozen_for.elapsed() < Duration::from_secs(10),
        "the server ends the frozen transaction after about two seconds"
    );
    assert!(sqlx::query("UPDATE journal_state SET head = 77").execute(&mut frozen).await.is_err());
    append(&mut one, "second").await;
    assert_eq!(journal::tick(&mut turn, NOW).await.unwrap().tick, Tick::Numbered(1));
    assert_eq!(numbered(&facts.db.pool).await, in_order(&["first", "second"]));
}

/// Produces operations that commit, roll back or commit late; returns the names of the committed ones.
async fn produce(facts: &TestDb, producer: usize, rounds: usize) -> BTreeSet<String> {
    let (mut connection, mut committed) = (connect(facts).await, BTreeSet::new());
    for round in 0..rounds {
        let name = format!("{producer}/{round}");
        run(&mut connection, "BEGIN").await;
        append(&mut connection, &name).await;
        tokio::task::yield_now().await;
        match (producer * 7 + round * 3) % 5 {
            0 => run(&mut connection, "ROLLBACK").await,
            _ => {
                run(&mut connection, "COMMIT").await;
                committed.insert(name);
            }
        }
    }
    committed
}

async fn check(facts: &TestDb, committed: BTreeSet<String>) {
    let found = numbered(&facts.db.pool).await;
    assert!(found.iter().zip(1..).all(|((seq, _), expected)| *seq == expected), "the numbers are dense");
    assert_eq!(found.len(), committed.len(), "an operation was numbered twice");
    assert_eq!(found.into_iter().map(|(_, name)| name).collect::<BTreeSet<_>>(), committed, "an operation is missing");
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_f7_f9_sequencers_that_race_and_are_killed_at_any_point_give_each_operation_one_number() {
    let facts = Arc::new(TestDb::new().await);
    let over = Arc::new(AtomicBool::new(false));
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (facts, over) = (facts.clone(), over.clone());
        racing.spawn(async move {
            let (mut ticks, mut broken) = (0, 0);
            while !over.load(Relaxed) {
                let mut connection = connect(&facts).await;
                while !over.load(Relaxed) {
                    match journal::tick(&mut connection, NOW).await {
                        Ok(_) => ticks += 1,
                        Err(_) => {
                            broken += 1;
                            break;
                        }
                    }
                }
            }
            (ticks, broken)
        });
    }
    let killer = {
        let (facts, over) = (facts.clone(), over.clone());
        tokio::spawn(async move {
            let mut connection = connect(&facts).await;
            while !over.load(Relaxed) {
                // Kills a sequencer that holds the lock, in the middle of its tick.
                let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                           WHERE datname = current_database() AND query LIKE '%journal_t%' AND pid <> pg_backend_pid() LIMIT 1";
                run(&mut connection, sql).await;
                tokio::time::sleep(Duration::from_millis(7)).await;
            }
        })
    };
    let mut producing = tokio::task::JoinSet::new();
    for producer in 0..6 {
        let facts = facts.clone();
        producing.spawn(async move { produce(&facts, producer, 120).await });
    }
    let mut committed = BTreeSet::new();
    while let Some(some) = producing.join_next().await {
        committed.extend(some.unwrap());
    }
    eventually("everything is numbered", async || head(&facts.db).await >= committed.len() as u64).await;
    over.store(true, Relaxed);
    killer.await.unwrap();
    let (mut ticks, mut broken) = (0, 0);
    while let Some(raced) = racing.join_next().await {
        let (more, ends) = raced.unwrap();
        (ticks, broken) = (ticks + more, broken + ends);
    }
    assert!(ticks > 0 && broken > 0, "{ticks} ticks, {broken} of them killed");
    check(&facts, committed).await;
}

#[tokio::test]
async fn f10_an_exhausted_connection_pool_delays_neither_sequencer_nor_readers() {
    let (test, serving) = service().await;
    let mut one = connect(&test.facts).await;
    let mut taken = Vec::new();
    while let Ok(Ok(connection)) = tokio::time::timeout(Duration::from_millis(300), test.app.db.pool.acquire()).await {
        taken.push(connection);
    }
    assert!(!taken.is_empty());
    append(&mut one, "through").await;
    eventually("the operation is read", async || serving.app.journal.ring.tail() == 1).await;
}

#[tokio::test]
async fn f8_f14_without_notices_and_through_broken_connections_polling_delivers() {
    let (test, _serving, wire) = service_over_a_wire().await;
    let mut beside = connect(&test.facts).await;
    for round in 1..=3 {
        wire.cut();
        append(&mut beside, &format!("while it is away {round}")).await;
        wire.mend();
        // No NOTIFY announces this write, and the listening connection is retried only a second later.
        append(&mut beside, &format!("when it is back {round}")).await;
        eventually("both operations are read", async || test.app.journal.ring.tail() == 2 * round).await;
    }
    assert_eq!(head(&Db::connect(&test.facts.url, 1).await.unwrap()).await, 6);
}

#[tokio::test]
async fn a_backlog_too_long_for_one_tick_is_still_numbered() {
    let test =
        TestApp::with(TestOptions { env: vec![("RDS_SCORE_EVERY_SECONDS", "0")], ..TestOptions::default() }).await;
    // The slow numbering of each row simulates a very long backlog.
    let mut one = connect(&test.facts).await;
    run(
        &mut one,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.7); RETURN NEW; END'",
    )
    .await;
    run(&mut one, "CREATE TRIGGER slow BEFORE INSERT ON journal FOR EACH ROW EXECUTE FUNCTION slow()").await;
    for number in 0..3 {
        append(&mut one, &number.to_string()).await;
    }
    let serving = Serving::of(&test).await;
    let waited = tokio::time::timeout(PATIENCE, async {
        while serving.app.journal.ring.tail() < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "the time limit grows until the tick completes");
    assert!(serving.app.journal.meters.ticks_timed_out.load(Relaxed) >= 1);
}

#[tokio::test]
async fn a_statement_of_the_sequencer_is_cancelled_at_its_timeout() {
    let facts = TestDb::new().await;
    let mut turn = rds_origin::journal::connect(&facts.db, "rds-sequencer", Duration::from_secs(1)).await.unwrap();
    let error = sqlx::query("SELECT pg_sleep(20)").execute(&mut turn).await.unwrap_err();
    assert_eq!(error.as_database_error().unwrap().code().as_deref(), Some("57014"));
}

#[tokio::test]
async fn a_reopened_connection_checks_again_whether_a_step_is_needed() {
    let test =
        TestApp::with(TestOptions { env: vec![("RDS_SCORE_EVERY_SECONDS", "0")], ..TestOptions::default() }).await;
    let mut one = connect(&test.facts).await;
    // A long backlog. After it is numbered, and before the connection for the usual ticks is opened, the database is replaced by another
    // one.
    for sql in [
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.7); RETURN NEW; END'",
        "CREATE TRIGGER slow BEFORE INSERT ON journal FOR EACH ROW EXECUTE FUNCTION slow()",
        "CREATE FUNCTION elsewhere() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.incarnation := ''1/00000001''; RETURN NEW; END'",
        "CREATE TRIGGER elsewhere BEFORE UPDATE ON journal_state FOR EACH ROW WHEN (OLD.head = 0) EXECUTE FUNCTION elsewhere()",
    ] {
        run(&mut one, sql).await;
    }
    for number in 0..3 {
        append(&mut one, &number.to_string()).await;
    }
    let serving = Serving::of(&test).await;
    let meters = &serving.app.journal.meters;
    // A step is counted when its commit returns, which is after others can see the new head.
    eventually("the step is made", async || meters.steps.load(Relaxed) == 1).await;
    assert!(head(&test.app.db).await > 3);
    assert!(meters.ticks_timed_out.load(Relaxed) >= 1);
}

#[tokio::test]
async fn operations_of_one_transaction_keep_their_order() {
    let facts = TestDb::new().await;
    let mut turn = connect(&facts).await;
    let rows: Vec<_> = (0..50)
        .map(|number| operations::OperationRow { event_id: format!("{number:02}"), ..operation("", &[]) })
        .collect();
    let mut tx = facts.db.pool.begin().await.unwrap();
    operations::append(&mut tx, NOW.into(), &rows).await.unwrap();
    tx.commit().await.unwrap();
    journal::tick(&mut turn, NOW).await.unwrap();
    let names: Vec<_> = numbered(&facts.db.pool).await.into_iter().map(|(_, name)| name).collect();
    assert!(names.is_sorted() && names.len() == 50, "{names:?}");
}

#[tokio::test]
async fn f16_a_clock_that_goes_back_changes_neither_order_nor_window() {
    let facts = TestDb::new().await;
    let (mut one, mut turn) = (connect(&facts).await, connect(&facts).await);
    for (name, hours) in [("a", 0), ("b", 2), ("c", 1), ("d", -30), ("e", 3)] {
        append(&mut one, name).await;
        journal::tick(&mut turn, NOW.plus_seconds(hours * 3_600)).await.unwrap();
    }
    let instants: Vec<rds_store::At> =
        sqlx::query_scalar("SELECT at FROM journal ORDER BY seq").fetch_all(&facts.db.pool).await.unwrap();
    assert!(instants.is_sorted(), "{instants:?}");
    for (hours, floor) in [(-1, 1), (3, 1), (24, 1), (25, 2), (27, 5), (28, 6)] {
        let extent = journal::read::extent(&facts.db.pool, NOW.plus_seconds(hours * 3_600)).await.unwrap();
        assert_eq!((extent.floor.get(), extent.tail.get()), (floor, 5), "{hours} hours later");
    }
}
