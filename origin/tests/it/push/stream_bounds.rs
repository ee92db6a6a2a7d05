//! What limits a stream: bytes per read, the length of a filtered search, missing operations in the journal, and the revocation of its key.

use crate::support::stream_client::{Ask, Client};
use crate::support::streaming::{eventually, key, operation, publish_rows, published, service, vault};
use crate::support::testapp::TestApp;
use rds_engine::clock::Stopwatch;
use rds_store::push::journal::read as journal;
use rds_store::push::journal::read::ReadLimits;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Longer than the service waits before it considers a client to be not reading (`STALLED_MICROS` in `stream/delivery.rs`).
const STALLED: Duration = Duration::from_millis(200);

fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

/// Deletes operations directly, which the service itself never does.
async fn removed(test: &TestApp, title: &str) {
    for sql in [
        "ALTER TABLE push_operation DISABLE TRIGGER USER".to_owned(),
        format!("DELETE FROM push_operation WHERE convert_from(body, 'UTF8')::json ->> 'title' = '{title}'"),
        "ALTER TABLE push_operation ENABLE TRIGGER USER".to_owned(),
    ] {
        sqlx::query(&sql).execute(&test.app.db.pool).await.unwrap();
    }
}

async fn hole(client: &mut Client, from: u64, to: u64) {
    let gap = client.next().await;
    assert_eq!((gap.event.as_str(), &gap.id), ("gap", &None), "{gap:?}");
    let [from, to] = [from, to].map(|place| format!("v2:{place}"));
    assert_eq!(gap.json(), serde_json::json!({ "reason": "cursor_unknown", "from": from, "to": to, "cursor": to }));
    assert_eq!(client.next().await.id, Some(to));
}

#[tokio::test]
async fn a_numbered_operation_that_is_missing_is_a_gap_and_later_operations_follow() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, numbers(1..=6)).await;
    for title in ["3", "4"] {
        removed(&test, title).await;
    }
    test.app.journal.ring.restart_after(6);
    let mut replayed = Ask::with(&key).after("v2:0").opened(&serving).await;
    assert_eq!(replayed.titles(2).await, ["1", "2"]);
    hole(&mut replayed, 2, 4).await;
    assert_eq!(replayed.titles(2).await, ["5", "6"]);
    let mut from_within = Ask::with(&key).after("v2:3").opened(&serving).await;
    hole(&mut from_within, 3, 4).await;

    // An operation that was numbered and deleted before anybody read it.
    let mut live = Ask::with(&key).opened(&serving).await;
    let sql = "WITH state AS (UPDATE journal_state SET head = head + 1 RETURNING head) \
               INSERT INTO journal (seq, operation_id, recorded_at, at) SELECT head, 0, $1, $1 FROM state";
    let now = rds_store::At(test.app.clock.now());
    sqlx::query(sql).bind(now).execute(&test.app.db.pool).await.unwrap();
    hole(&mut live, 6, 7).await;
    published(&test, ["8"]).await;
    assert_eq!(live.titles(1).await, ["8"]);
    assert_eq!(replayed.next().await.event, "gap", "a client that replays up to the hole gets the gap too");
}

#[tokio::test]
async fn one_read_of_the_journal_returns_at_most_its_byte_limit() {
    let (test, _serving) = service().await;
    let text = "x".repeat(100_000);
    published(&test, (0..10).map(|_| &text)).await;
    let read = async |bytes, vault| {
        let found = journal::after(&test.app.db.pool, 0, ReadLimits { rows: 100, bytes }, vault).await.unwrap();
        (found.entries.len(), found.entries.iter().filter(|entry| entry.told.is_some()).count(), found.more)
    };
    assert_eq!(read(250_000, None).await, (3, 3, true));
    assert_eq!(read(1, None).await, (1, 1, true), "at least one operation is returned");
    assert_eq!(read(2_000_000, None).await, (10, 10, false));
    assert_eq!(
        read(250_000, Some("another")).await,
        (10, 0, false),
        "filtered operations do not count towards the limit"
    );
}

#[tokio::test]
async fn a_filtered_replay_that_scans_too_many_operations_is_truncated_and_can_be_resumed() {
    let (test, serving) = service().await;
    let (key, mine) = (key(&test).await, vault(1));
    of_others(&test, 60_000).await;
    publish_rows(&test, vec![operation("mine", std::slice::from_ref(&mine))]).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 60_001).await;
    let ask = Ask::with(&key).query(&format!("vaultId={mine}"));
    let frames = ask.clone().after("v2:0").opened(&serving).await.all().await;
    let (gap, passed) = frames.split_last().unwrap();
    assert!(passed.iter().all(|frame| frame.event == "cursor" || frame.comment.is_some()));
    let told = gap.json();
    assert_eq!((told["reason"].as_str(), told["to"].as_str()), (Some("replay_truncated"), Some("v2:60001")));
    let cursor = told["cursor"].as_str().unwrap();
    assert_eq!(passed.last().unwrap().id.as_deref(), Some(cursor));
    let mut again = ask.after(cursor).opened(&serving).await;
    assert_eq!(again.operation().await.title(), "mine");
}

/// Commits operations about no vault, so that whole pages of the journal contain nothing for a client of one vault.
async fn of_others(test: &TestApp, count: i32) {
    let sql = "INSERT INTO push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body) \
               SELECT $1, 'published', 'x', '{}', '{1}', '{}' FROM generate_series(1, $2)";
    let now = rds_store::At(test.app.clock.now());
    sqlx::query(sql).bind(now).bind(count).execute(&test.app.db.pool).await.unwrap();
    test.app.journal.committed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_gets_queue_overflow_even_if_pages_contain_nothing_for_its_vault() {
    let (test, serving) = service().await;
    let (key, mine) = (key(&test).await, vault(1));
    let ask = Ask { receive_buffer: 4_096, ..Ask::with(&key).query(&format!("vaultId={mine}")) };
    let mut deaf = ask.opened(&serving).await;
    let text = "x".repeat(20_000);
    let own = |text: &str| operation(text, std::slice::from_ref(&mine));
    publish_rows(&test, (0..40).map(|_| own(&text)).collect()).await;
    // The client reads one operation and then stops, so its delivery has begun and is blocked.
    assert_eq!(deaf.operation().await.number(), 1);
    let blocked = Stopwatch::start();
    of_others(&test, 2_500).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 2_540).await;
    // The ring is cleared, so these operations are in the journal only.
    test.app.journal.restart_after(2_540);
    publish_rows(&test, (0..150).map(|_| own("after")).collect()).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 2_690).await;
    // A fast machine gets here before the service considers the client to be not reading.
    eventually("the write has been blocked longer than a burst allows", async || blocked.elapsed() > STALLED).await;
    let frames = deaf.all().await;
    let (gap, operations) = frames.split_last().unwrap();
    let told = gap.json();
    assert_eq!((gap.event.as_str(), told["reason"].as_str()), ("gap", Some("queue_overflow")));
    let numbers: Vec<u64> = operations.iter().filter(|it| it.event == "published").map(|it| it.number()).collect();
    assert!(numbers.starts_with(&(2..=40).collect::<Vec<_>>()), "{numbers:?}");
    // The client received its whole queue, so the overflow ended the stream, not the limit on fetched operations.
    assert!(numbers.len() >= 100, "{numbers:?}");
    assert!(numbers[39..].iter().copied().eq(2_541..2_541 + numbers.len() as u64 - 39), "{numbers:?}");
    assert_eq!(told["cursor"], format!("v2:{}", numbers.last().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_revoked_key_gets_nothing_more_however_slowly_it_reads() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut slow = Ask { receive_buffer: 4_096, ..Ask::with(&key) }.opened(&serving).await;
    let text = "x".repeat(20_000);
    // Fewer than make the queue overflow, which would end the stream first if the revocation came late.
    published(&test, (0..90).map(|_| &text)).await;
    rds_origin::keys::revoke(&test.app.db, &test.app.clock, key.id).await.unwrap();
    eventually("the revocation is noticed", async || test.app.streams.meters.revoked.load(Relaxed) == 1).await;
    let frames = slow.all().await;
    assert!(frames.iter().all(|frame| frame.event == "published"), "the stream ends without a gap frame");
    assert!(frames.len() < 20, "{} frames, but only those already under way are allowed", frames.len());
}
