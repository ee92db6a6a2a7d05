//! Where a stream begins, for every cursor position and every spelling of a cursor, and which
//! operations a client receives after a gap frame.
//!
//! The cases S1 to S6 of `e2e/FAULTS.md`.

use crate::support::db::rows_read_in;
use crate::support::stream_client::{Ask, Client};
use crate::support::streaming::{again, eventually, head, key, operation, publish_rows, published, service, vault};
use rds_origin::keys::Minted;
use rds_store::push::journal::read as journal;
use rds_store::push::journal::read::ReadLimits;
use rds_store::push::journal::retention::HOUR;
use sqlx::Connection;

fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

/// Reads a gap frame and the cursor frame after it. Returns the new position.
async fn gap(client: &mut Client, reason: &str) -> String {
    let gap = client.next().await;
    assert_eq!((gap.event.as_str(), gap.id), ("gap", None), "a gap frame has no id, so it does not move the cursor");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&gap.data).unwrap()["reason"], reason);
    let cursor = client.next().await;
    assert_eq!((cursor.event.as_str(), cursor.data.as_str()), ("cursor", "{}"));
    cursor.id.unwrap()
}

#[tokio::test]
async fn the_ready_frame_and_the_headers_are_as_documented() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["1", "2"]).await;
    let vault = vault(1);
    let mut client = Ask::with(&key).query(&format!("vaultId={vault}&since=v2:1&more=x")).at(&serving).await;
    assert_eq!(client.status(), 200);
    assert_eq!(client.header("content-type"), Some("text/event-stream"));
    assert_eq!(client.header("cache-control"), Some("no-store, no-transform"));
    assert_eq!(client.header("x-accel-buffering"), Some("no"));
    assert_eq!(client.header("x-request-id").unwrap().len(), 32);
    assert_eq!(client.header("content-encoding"), None);
    let ready = client.next().await;
    assert_eq!((ready.event.as_str(), &ready.id), ("ready", &None));
    let expected = format!(
        r#"{{"vaultId":"{vault}","version":2,"replay":{{"cursor":"v2:1","window_seconds":86400,"max_rows":1000}}}}"#
    );
    assert_eq!(ready.data, expected);
    let mut plain = Ask::with(&key).at(&serving).await;
    assert_eq!(plain.next().await.json()["vaultId"], serde_json::Value::Null);
}

#[tokio::test]
async fn s1_resumed_at_any_position_a_client_gets_exactly_the_rest() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, numbers(1..=40)).await;
    for round in 0..2 {
        for at in 0..=40 {
            let cursor = format!("v2:{at}");
            let ask = if at % 2 == 0 {
                Ask::with(&key).after(cursor)
            } else {
                Ask::with(&key).query(&format!("since={cursor}"))
            };
            let mut client = ask.opened(&serving).await;
            let rest = usize::try_from(40 - at).unwrap();
            assert_eq!(client.titles(rest).await, numbers(at + 1..=40), "round {round}, after {at}");
        }
        // The second round reads from the journal instead of the ring.
        test.app.journal.ring.restart_after(head(&test.app.db).await);
    }
}

#[tokio::test]
async fn s2_a_client_that_resumes_right_after_a_restart_first_gets_everything_it_missed() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, numbers(1..=5)).await;
    serving.kill().await;
    let (test, serving) = again(test).await;
    let mut client = Ask::with(&key).after("v2:2").opened(&serving).await;
    assert_eq!(client.titles(3).await, numbers(3..=5));
    let mut fresh = Ask::with(&key).opened(&serving).await;
    published(&test, ["6"]).await;
    assert_eq!(client.operation().await.id.as_deref(), Some("v2:6"));
    assert_eq!(fresh.operation().await.id.as_deref(), Some("v2:6"), "a client without a cursor begins at the tail");
}

#[tokio::test]
async fn s3_a_position_in_a_long_history_is_found_by_its_number_without_a_scan() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    for _ in 0..10 {
        publish_rows(&test, (0..1_000).map(|number| operation(&number.to_string(), &[])).collect()).await;
    }
    eventually("all are read", async || test.app.journal.ring.tail() == 10_000).await;
    test.app.journal.ring.restart_after(10_000);
    sqlx::query("ANALYZE journal, push_operation").execute(&test.app.db.pool).await.unwrap();
    let mut client = Ask::with(&key).after("v2:9997").opened(&serving).await;
    assert_eq!(client.titles(3).await, ["997", "998", "999"]);
    // The same query on a connection whose row reads are counted.
    let mut one = sqlx::PgConnection::connect(&test.facts.url).await.unwrap();
    let mut tx = one.begin().await.unwrap();
    let most = ReadLimits { rows: 128, bytes: 1 << 20 };
    let found = journal::after(&mut *tx, 9_997, most, None).await.unwrap();
    assert_eq!((found.entries.len(), found.more), (3, false));
    let read = rows_read_in(&mut tx).await;
    assert!((3..100).contains(&read), "{read} rows read to find three");
}

#[tokio::test]
async fn s4_a_client_more_than_a_thousand_behind_gets_everything_in_replays_of_a_thousand() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    publish_rows(&test, (1..=2_300).map(|number| operation(&number.to_string(), &[])).collect()).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 2_300).await;
    let (mut cursor, mut got, mut connections) = ("v2:0".to_owned(), Vec::new(), Vec::new());
    loop {
        let mut client = Ask::with(&key).after(cursor.clone()).opened(&serving).await;
        let left = 2_300 - got.len();
        for _ in 0..left.min(1_000) {
            got.push(client.operation().await.title());
        }
        connections.push(left.min(1_000));
        if left <= 1_000 {
            break;
        }
        let rest = client.all().await;
        let [checkpoint, gap] = &rest[..] else { panic!("{rest:?}") };
        assert_eq!((checkpoint.event.as_str(), checkpoint.number()), ("cursor", got.len() as u64));
        assert_eq!((gap.event.as_str(), &gap.id), ("gap", &None));
        let gap = gap.json();
        assert_eq!((gap["reason"].as_str(), gap["to"].as_str()), (Some("replay_truncated"), Some("v2:2300")));
        cursor = gap["cursor"].as_str().unwrap().to_owned();
    }
    assert_eq!(got, numbers(1..=2_300));
    assert_eq!(connections, [1_000, 1_000, 300]);
}

#[tokio::test]
async fn s4_a_client_exactly_a_thousand_behind_gets_them_all_and_continues_live() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    publish_rows(&test, (1..=1_000).map(|number| operation(&number.to_string(), &[])).collect()).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 1_000).await;
    let mut client = Ask::with(&key).after("v2:0").opened(&serving).await;
    assert_eq!(client.titles(1_000).await, numbers(1..=1_000));
    published(&test, ["live"]).await;
    assert_eq!(client.titles(1).await, ["live"]);
}

#[tokio::test]
async fn s4_only_operations_that_pass_the_filter_count_and_the_cursor_advances() {
    let (test, serving) = service().await;
    let (key, mine, theirs) = (key(&test).await, vault(1), vault(2));
    let rows = (1..=3_000).map(|number| {
        let about = if number % 100 == 0 { &mine } else { &theirs };
        operation(&number.to_string(), std::slice::from_ref(about))
    });
    publish_rows(&test, rows.collect()).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 3_000).await;
    test.app.journal.ring.restart_after(3_000);
    let mut client =
        Ask::with(&key).query(&format!("vaultId={}", mine.to_uppercase())).after("v2:0").opened(&serving).await;
    let hundreds: Vec<String> = (1..=30).map(|hundred| (hundred * 100).to_string()).collect();
    assert_eq!(client.titles(30).await, hundreds, "the case of an address does not matter");
    published(&test, ["theirs"]).await;
    let cursor = client.next().await;
    assert_eq!((cursor.event.as_str(), cursor.number()), ("cursor", 3_001), "filtered operations advance the cursor");
}

#[tokio::test]
async fn s5_a_cursor_older_than_a_day_gets_a_gap_and_the_window_is_replayed() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    for hour in 0..3 {
        published(&test, [format!("hour {hour}")]).await;
        test.app.clock.advance(HOUR);
    }
    // The first operation is a day and a second old, the second is younger than a day.
    test.app.clock.advance(21 * HOUR + 1);
    for old in ["v2:0"] {
        let mut client = Ask::with(&key).after(old).opened(&serving).await;
        assert_eq!(gap(&mut client, "cursor_expired").await, "v2:1");
        assert_eq!(client.titles(2).await, ["hour 1", "hour 2"]);
    }
    let mut client = Ask::with(&key).after("v2:1").opened(&serving).await;
    assert_eq!(client.titles(2).await, ["hour 1", "hour 2"], "everything that it missed is still in the window");
    test.app.clock.advance(48 * HOUR);
    let mut client = Ask::with(&key).after("v2:1").opened(&serving).await;
    assert_eq!(gap(&mut client, "cursor_expired").await, "v2:3");
    published(&test, ["new"]).await;
    assert_eq!(client.titles(1).await, ["new"]);
}

/// Sends `id` as the header and as the query parameter, which mean the same, and expects a gap with this reason.
async fn assert_gap(serving: &crate::support::streaming::Serving, key: &Minted, id: &[u8], reason: &str) {
    let encoded: String = id.iter().map(|byte| format!("%{byte:02X}")).collect();
    let header_can_say_it =
        !id.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r')) && id.trim_ascii() == id && !id.is_empty();
    let mut asks = vec![Ask::with(key).query(&format!("since={encoded}"))];
    if header_can_say_it {
        asks.push(Ask::with(key).after(id));
        asks.push(Ask::with(key).after(id).query("since=v2:2"));
    }
    if std::str::from_utf8(id).is_err() || id.len() > 2_000 {
        asks.remove(0);
    }
    for ask in asks {
        let mut client = ask.opened(serving).await;
        assert_eq!(gap(&mut client, reason).await, "v2:0", "{:?}", String::from_utf8_lossy(id));
        assert_eq!(client.titles(3).await, numbers(1..=3), "the retained window is replayed");
    }
}

#[tokio::test]
async fn s6_every_text_sent_as_a_cursor_is_classified_and_causes_no_error_page() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, numbers(1..=3)).await;
    for unknown in ["v2:4", "v2:9223372036854775807", "v2:9223372036854775808", "v2:18446744073709551615"] {
        assert_gap(&serving, &key, unknown.as_bytes(), "cursor_unknown").await;
    }
    for legacy in ["0", "2", "18446744073709551616", "2026-11-21T00:00:00.000Z", "1795219200000"] {
        assert_gap(&serving, &key, legacy.as_bytes(), "cursor_legacy").await;
    }
    let long = "7".repeat(1_500);
    for invalid in [
        &b"v1:2"[..],
        b"v2:",
        b"v2:-1",
        b"-1",
        b"+1",
        b"v2:+1",
        b"v2: 1",
        b" v2:1",
        b"v2:1 ",
        b"v2:01",
        b"v2:18446744073709551616",
        b"V2:1",
        b"",
        b"\0",
        b"v2:1\0",
        b"null",
        b"undefined",
        b"\xff\xfe",
        b"v2:\xd9\xa1",
        b"v2:1\r\nid: 9",
        long.as_bytes(),
    ] {
        assert_gap(&serving, &key, invalid, "cursor_invalid").await;
    }
    let huge = Ask::with(&key).after(vec![b'9'; 1 << 20]).at(&serving).await;
    assert_eq!(huge.status(), 431, "the request's head exceeds the limit");
    let mut empty = Ask::with(&key).after("").opened(&serving).await;
    published(&test, ["4"]).await;
    assert_eq!(empty.titles(1).await, ["4"], "an EventSource sends an empty id when it has none");
    let ahead = test.app.streams.meters.ahead.load(std::sync::atomic::Ordering::Relaxed);
    assert!(ahead >= 4, "cursors above the head are counted for an alarm: {ahead}");
}
