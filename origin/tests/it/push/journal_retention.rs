//! The journal's partitions: created ahead, dropped as a whole, and never dropped while a consumer or a client needs them.

use crate::support::db::{TestDb, rows_read};
use crate::support::stream_client::Ask;
use crate::support::streaming::{draw, eventually, key, operation, publish_rows, published, service};
use crate::support::testapp::TestApp;
use rds_shared::wire::Timestamp;
use rds_store::At;
use rds_store::push::journal::retention::{self, HOUR};
use rds_store::push::journal::{self, Cause, Tick};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use std::str::FromStr;

const NOW: Timestamp = Timestamp::from_seconds(1_795_219_200);

async fn connect(facts: &TestDb) -> PgConnection {
    PgConnection::connect_with(&PgConnectOptions::from_str(&facts.url).unwrap()).await.unwrap()
}

/// A database without consumers of the journal, so that only the window decides what is kept.
async fn without_consumers() -> TestDb {
    let facts = TestDb::new().await;
    sqlx::query("DELETE FROM journal_consumer").execute(&facts.db.pool).await.unwrap();
    facts
}

async fn append(connection: &mut PgConnection, at: Timestamp) {
    let sql = "INSERT INTO push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body) \
               VALUES ($1, 'published', 'x', '{}', '{1}', '{}')";
    sqlx::query(sql).bind(At(at)).execute(connection).await.unwrap();
}

/// Number of rows in each partition of `table`.
async fn rows(facts: &TestDb, table: &str) -> Vec<(String, i64)> {
    let sql = format!("SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1 ORDER BY 1");
    sqlx::query_as(&sql).fetch_all(&facts.db.pool).await.unwrap()
}

async fn partitions(facts: &TestDb, table: &str) -> i64 {
    let sql = "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass($1)";
    sqlx::query_scalar(sql).bind(table).fetch_one(&facts.db.pool).await.unwrap()
}

fn hours(hours: i64) -> Timestamp {
    NOW.plus_seconds(hours * HOUR)
}

#[tokio::test]
async fn an_hour_is_dropped_whole_when_it_has_left_the_window_and_never_before() {
    let facts = without_consumers().await;
    let (mut one, first) = (connect(&facts).await, NOW.as_seconds() / HOUR);
    let made = retention::round(&mut one, hours(-2), 5).await.unwrap();
    assert_eq!((made.made, made.dropped), (8, 0), "four hours of each of two tables");
    assert_eq!(retention::round(&mut one, hours(-2), 5).await.unwrap(), retention::Round::default(), "nothing to do");
    for hour in 0..3 {
        append(&mut one, hours(hour)).await;
        journal::tick(&mut one, hours(hour)).await.unwrap();
    }
    assert_eq!(rows(&facts, "push_operation").await.len(), 3, "one partition an hour");
    assert_eq!(rows(&facts, "journal").await[0], (format!("journal_{first}"), 1));
    let deleted = "SELECT sum(n_tup_del)::bigint FROM pg_stat_user_tables WHERE relname ~ '^(journal|push_operation)'";
    for (now, kept) in [(25, 3), (26, 2), (27, 1), (28, 0)] {
        retention::round(&mut one, hours(now), 3).await.unwrap();
        assert_eq!(rows(&facts, "push_operation").await.len(), kept, "{now} hours later");
        assert_eq!(rows(&facts, "journal").await.len(), kept, "{now} hours later");
    }
    let deleted: i64 = sqlx::query_scalar(deleted).fetch_one(&facts.db.pool).await.unwrap();
    assert_eq!(deleted, 0);
    assert!(partitions(&facts, "journal").await < 12);
    let extent = journal::read::extent(&facts.db.pool, hours(28)).await.unwrap();
    assert_eq!((extent.floor.get(), extent.tail.get()), (4, 3), "the sequence numbers continue");
}

#[tokio::test]
async fn unnumbered_operations_and_those_that_a_consumer_has_not_read_are_kept() {
    let facts = without_consumers().await;
    let mut one = connect(&facts).await;
    retention::round(&mut one, hours(-2), 3).await.unwrap();
    append(&mut one, NOW).await;
    assert!(retention::round(&mut one, hours(40), 0).await.unwrap().kept >= 1, "the operation is not numbered");
    assert_eq!(rows(&facts, "push_operation").await.len(), 1);
    journal::tick(&mut one, hours(40)).await.unwrap();
    retention::round(&mut one, hours(41), 0).await.unwrap();
    assert_eq!(rows(&facts, "push_operation").await.len(), 1, "recorded long ago, but numbered only now");

    sqlx::query("INSERT INTO journal_consumer VALUES ('slow', 0)").execute(&mut one).await.unwrap();
    retention::round(&mut one, hours(80), 0).await.unwrap();
    assert_eq!(rows(&facts, "push_operation").await.len(), 1, "the consumer has not read it yet");
    assert_eq!(rows(&facts, "journal").await.len(), 1);
    sqlx::query("UPDATE journal_consumer SET position = 1").execute(&mut one).await.unwrap();
    retention::round(&mut one, hours(80), 0).await.unwrap();
    assert_eq!(rows(&facts, "push_operation").await.len(), 0);
    assert_eq!(rows(&facts, "journal").await.len(), 0);
}

#[tokio::test]
async fn a_producer_can_write_whether_or_not_its_hour_has_a_partition() {
    let facts = without_consumers().await;
    let mut one = connect(&facts).await;
    append(&mut one, NOW).await;
    append(&mut one, hours(500)).await;
    journal::tick(&mut one, NOW).await.unwrap();
    assert_eq!(rows(&facts, "push_operation").await, [("push_operation_other".to_owned(), 2)]);
    retention::round(&mut one, NOW, 3).await.unwrap();
    append(&mut one, hours(2)).await;
    append(&mut one, NOW).await;
    assert_eq!(rows(&facts, "push_operation").await.len(), 2, "rows of that hour stay in the default partition");
    journal::tick(&mut one, NOW).await.unwrap();
    for now in [100, 600] {
        retention::round(&mut one, hours(now), 0).await.unwrap();
    }
    assert_eq!(rows(&facts, "push_operation").await, []);
    assert_eq!(rows(&facts, "journal").await, []);
}

#[tokio::test]
async fn a_producer_that_is_slow_is_not_waited_for() {
    let facts = without_consumers().await;
    let (mut slow, mut one) = (connect(&facts).await, connect(&facts).await);
    retention::round(&mut one, hours(-2), 3).await.unwrap();
    append(&mut one, NOW).await;
    journal::tick(&mut one, NOW).await.unwrap();
    sqlx::query("BEGIN").execute(&mut slow).await.unwrap();
    append(&mut slow, hours(30)).await;
    let round = retention::round(&mut one, hours(30), 0).await.unwrap();
    assert!(round.kept >= 1, "{round:?}: the partition is in use and retried later");
    assert_eq!(rows(&facts, "push_operation").await.len(), 1);
    sqlx::query("COMMIT").execute(&mut slow).await.unwrap();
    assert!(retention::round(&mut one, hours(30), 0).await.unwrap().dropped >= 1);
}

#[tokio::test]
async fn a_round_does_not_read_the_hours_that_stay() {
    let facts = without_consumers().await;
    let mut one = connect(&facts).await;
    retention::round(&mut one, hours(-2), 30).await.unwrap();
    for hour in 0..27 {
        let sql = "INSERT INTO push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body) \
                   SELECT $1, 'published', 'x', '{}', '{1}', '{}' FROM generate_series(1, 2000)";
        sqlx::query(sql).bind(At(hours(hour))).execute(&mut one).await.unwrap();
        assert_eq!(journal::tick(&mut one, hours(hour)).await.unwrap().tick, Tick::Numbered(2_000));
    }
    sqlx::query("ANALYZE journal, push_operation").execute(&mut one).await.unwrap();
    let before = rows_read(&mut one).await;
    let round = retention::round(&mut one, hours(26), 0).await.unwrap();
    assert_eq!((round.dropped, round.kept), (2, 0), "one hour of each of two tables");
    let read = rows_read(&mut one).await - before;
    assert!(read < 500, "{read} of 104,000 rows that stay");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_written_while_the_round_waits_for_the_lock_are_kept() {
    let facts = without_consumers().await;
    let (mut one, mut slow, mut watch) = (connect(&facts).await, connect(&facts).await, connect(&facts).await);
    retention::round(&mut one, hours(-2), 3).await.unwrap();
    append(&mut one, NOW).await;
    journal::tick(&mut one, NOW).await.unwrap();
    sqlx::query("BEGIN").execute(&mut slow).await.unwrap();
    append(&mut slow, NOW).await;
    let round = tokio::spawn(async move {
        let round = retention::round(&mut one, hours(30), 0).await.unwrap();
        (one, round)
    });
    eventually("the round waits for the lock", async || {
        let sql = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')";
        round.is_finished() || sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut watch).await.unwrap()
    })
    .await;
    sqlx::query("COMMIT").execute(&mut slow).await.unwrap();
    let (mut one, round) = round.await.unwrap();
    assert!(round.kept >= 1, "{round:?}");
    assert_eq!(rows(&facts, "push_operation").await.iter().map(|(_, count)| count).sum::<i64>(), 2);
    assert_eq!(
        journal::tick(&mut one, hours(30)).await.unwrap().tick,
        Tick::Numbered(1),
        "it is numbered like any other"
    );
}

#[tokio::test]
async fn nothing_is_dropped_while_it_is_unknown_which_operations_are_numbered() {
    let facts = without_consumers().await;
    let mut one = connect(&facts).await;
    retention::round(&mut one, hours(-2), 3).await.unwrap();
    append(&mut one, NOW).await;
    journal::tick(&mut one, NOW).await.unwrap();
    append(&mut one, NOW).await;
    // Simulates a restore into another cluster: the stored snapshot is from the old cluster, and according to it every operation of the new
    // cluster already has a number.
    let sql = "UPDATE journal_state SET incarnation = '1/00000001', snap = '2000000:2000000:'";
    sqlx::query(sql).execute(&mut one).await.unwrap();
    assert_eq!(retention::round(&mut one, hours(40), 0).await.unwrap().dropped, 0);
    let stepped = journal::step(&mut one, Cause::Moved, hours(40), draw()).await.unwrap().unwrap();
    assert_eq!(stepped.numbered, 1);
    retention::round(&mut one, hours(40), 0).await.unwrap();
    assert_eq!(rows(&facts, "push_operation").await[0].1, 2, "the second operation is numbered only now");
    retention::round(&mut one, hours(70), 0).await.unwrap();
    assert_eq!((rows(&facts, "push_operation").await, rows(&facts, "journal").await), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_producer_is_refused_while_partitions_are_made() {
    let facts = without_consumers().await;
    let writing = {
        let mut one = connect(&facts).await;
        tokio::spawn(async move {
            for number in 0..400 {
                // Alternates between the current hour and the next one.
                append(&mut one, hours(number % 2)).await;
            }
        })
    };
    let mut keeper = connect(&facts).await;
    let mut made = 0;
    for ahead in 2..40 {
        made += retention::round(&mut keeper, NOW, ahead).await.unwrap().made;
    }
    writing.await.unwrap();
    assert_eq!(made, 2 * 38);
    assert_eq!(rows(&facts, "push_operation").await, [("push_operation_other".to_owned(), 400)]);
}

#[tokio::test]
async fn two_processes_keep_partitions_side_by_side() {
    let facts = without_consumers().await;
    let (mut one, mut other) = (connect(&facts).await, connect(&facts).await);
    let (a, b) = tokio::join!(retention::round(&mut one, NOW, 6), retention::round(&mut other, NOW, 6));
    assert_eq!(a.unwrap().made + b.unwrap().made, 10);
}

/// Waits until this hour has its partition. The service itself may be the one that creates it.
async fn wait_for_partition(test: &TestApp, one: &mut PgConnection) {
    let name = format!("journal_{}", test.app.clock.now().as_seconds() / HOUR);
    eventually("the hour has a partition", async || {
        retention::round(one, test.app.clock.now().plus_seconds(-2 * HOUR), 3).await.unwrap();
        sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(&name).fetch_one(&mut *one).await.unwrap()
    })
    .await;
}

/// Case F11 of `e2e/FAULTS.md`.
#[tokio::test]
async fn f11_a_partition_dropped_during_a_replay_is_a_gap_and_not_an_error() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut one = connect(&test.facts).await;
    sqlx::query("DELETE FROM journal_consumer").execute(&mut one).await.unwrap();
    wait_for_partition(&test, &mut one).await;
    // The text is so long that the service cannot write the replay far ahead of its reader.
    let text = "x".repeat(4_000);
    publish_rows(&test, (0..600).map(|number| operation(&format!("{number}{text}"), &[])).collect()).await;
    eventually("all operations are numbered", async || test.app.journal.ring.tail() == 600).await;
    test.app.journal.ring.restart_after(600);
    let mut reader = Ask { receive_buffer: 4_096, ..Ask::with(&key).after("v2:0") }.opened(&serving).await;
    assert_eq!(reader.operation().await.number(), 1);
    test.app.clock.advance(30 * HOUR);
    wait_for_partition(&test, &mut one).await;
    published(&test, ["new"]).await;
    eventually("the old partitions are dropped", async || {
        retention::round(&mut one, test.app.clock.now(), 1).await.unwrap();
        rows(&test.facts, "journal").await.iter().map(|(_, count)| count).sum::<i64>() == 1
    })
    .await;
    let (mut last, mut gaps) = (1, Vec::new());
    loop {
        let frame = reader.next().await;
        match frame.event.as_str() {
            "published" if frame.json()["title"] == "new" => break,
            "published" => {
                assert_eq!(frame.number(), last + 1);
                last = frame.number();
            }
            "gap" => {
                assert_eq!(frame.json()["from"], format!("v2:{last}"), "{frame:?}");
                gaps.push(frame.json()["reason"].as_str().unwrap().to_owned());
            }
            _ => assert_eq!(frame.event, "cursor"),
        }
    }
    assert_eq!(gaps, ["cursor_expired"], "after {last} of 600");
}
