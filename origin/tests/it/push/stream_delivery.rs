//! What a stream delivers: every operation once, in order and as captured, to the clients that it concerns.
//!
//! The cases S7, S8, S12, S14, S15, S17 and S18 of `e2e/FAULTS.md`.

use crate::support::stream_client::{Ask, Client, a_thousand};
use crate::support::streaming::{
    PATIENCE, beside, eventually, key, operation, publish, publish_rows, published, service, vault,
};
use rds_shared::push::gap::GapReason;
use rds_store::push::operations::OperationRow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[tokio::test]
async fn operations_arrive_as_captured_with_the_operation_as_event_name() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut client = Ask::with(&key).opened(&serving).await;
    let op = |stream_op, text: &str| OperationRow { stream_op, ..operation(text, &[]) };
    let rows = vec![
        op(Some("published"), "first"),
        op(Some("retracted"), "gone"),
        op(None, "for webhooks alone"),
        op(Some("published"), "again"),
        op(Some("promoted"), "up"),
    ];
    let bodies: Vec<String> = rows.iter().map(|row| row.body.clone()).collect();
    publish_rows(&test, rows).await;
    for (number, event, body) in [(1, "published", 0), (2, "retracted", 1), (4, "published", 3), (5, "promoted", 4)] {
        let frame = client.operation().await;
        assert_eq!((frame.number(), frame.event.as_str(), &frame.data), (number, event, &bodies[body]));
    }
}

#[tokio::test]
async fn filtered_operations_advance_the_cursor_and_are_not_shown() {
    let (test, serving) = service().await;
    let (key, mine, theirs) = (key(&test).await, vault(1), vault(2));
    let mut client = Ask::with(&key).query(&format!("vaultId={mine}")).opened(&serving).await;
    let both = [mine.clone(), theirs.clone()];
    publish_rows(
        &test,
        vec![operation("hidden", std::slice::from_ref(&theirs)), operation("both", &both), operation("nobody's", &[])],
    )
    .await;
    assert_eq!(client.next().await.title(), "both");
    let cursor = client.next().await;
    assert_eq!((cursor.event.as_str(), cursor.number(), cursor.data.as_str()), ("cursor", 3, "{}"));
    // A client can resume after this cursor as after an operation's.
    publish_rows(&test, vec![operation("mine", std::slice::from_ref(&mine))]).await;
    let mut again = Ask::with(&key).query(&format!("vaultId={mine}")).after(cursor.id.unwrap()).opened(&serving).await;
    assert_eq!(again.next().await.title(), "mine");
    // The cursor frame is also sent while other operations are published.
    let busy = Arc::new(AtomicBool::new(true));
    let publishing = {
        let (busy, pool, now) = (busy.clone(), test.app.db.clone(), test.app.clock.now());
        let row = operation("hidden", &[theirs]);
        tokio::spawn(async move {
            while busy.load(Relaxed) {
                let mut tx = pool.pool.begin().await.unwrap();
                rds_store::push::operations::append(&mut tx, now.into(), std::slice::from_ref(&row)).await.unwrap();
                tx.commit().await.unwrap();
            }
        })
    };
    assert_eq!(client.next().await.title(), "mine");
    assert_eq!(client.next().await.event, "cursor");
    assert_eq!(client.next().await.event, "cursor");
    busy.store(false, Relaxed);
    publishing.await.unwrap();
}

#[tokio::test]
async fn operations_of_a_withheld_chain_are_never_shown_even_if_captured_before() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let chain = |id: i64, served: bool| {
        let sql = "INSERT INTO chain (chain_id, slug, name, namespace, is_settlement, source, observed_at, content_hash, is_served) \
                   VALUES ($1, $1::text, $1::text, 'evm', false, 'test', now(), '\\x00', $2)";
        sqlx::query(sql).bind(id).bind(served).execute(&test.app.db.pool)
    };
    chain(1, true).await.unwrap();
    chain(2, false).await.unwrap();
    let on = |text: &str, chain| OperationRow { chain_ids: vec![chain], ..operation(text, &[]) };
    let mut live = Ask::with(&key).opened(&serving).await;
    publish_rows(&test, vec![on("withheld", 2), on("served", 1)]).await;
    assert_eq!(live.operation().await.title(), "served");
    sqlx::query("UPDATE chain SET is_served = false WHERE chain_id = 1").execute(&test.app.db.pool).await.unwrap();
    eventually("the ring is reloaded", async || test.app.journal.ring.size().0 == 0).await;
    publish_rows(&test, vec![on("also withheld", 1), on("elsewhere", 3)]).await;
    let mut late = Ask::with(&key).after("v2:0").opened(&serving).await;
    assert_eq!(late.operation().await.title(), "elsewhere", "operations captured before are hidden too");
    assert_eq!(live.operation().await.title(), "elsewhere");
}

#[tokio::test]
async fn a_chain_withheld_while_the_tailer_was_disconnected_is_hidden_from_clients_that_resume() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let sql = "INSERT INTO chain (chain_id, slug, name, namespace, is_settlement, source, observed_at, content_hash, is_served) \
               VALUES (1, 'one', 'One', 'evm', false, 'test', now(), '\\x00', true)";
    sqlx::query(sql).execute(&test.app.db.pool).await.unwrap();
    published(&test, ["withheld"]).await;
    // The tailer reconnects and finds the chain already withheld.
    let mut tx = test.app.db.pool.begin().await.unwrap();
    for sql in [
        "UPDATE chain SET is_served = false WHERE chain_id = 1",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'rds-tailer'",
    ] {
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    eventually("the ring is reloaded", async || test.app.journal.ring.size().0 == 0).await;
    publish_rows(&test, vec![OperationRow { chain_ids: vec![3], ..operation("elsewhere", &[]) }]).await;
    let mut resumed = Ask::with(&key).after("v2:0").opened(&serving).await;
    assert_eq!(resumed.operation().await.title(), "elsewhere");
}

#[tokio::test]
async fn s15_no_text_breaks_out_of_its_frame() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let texts = [
        "a\nb",
        "a\r\nid: v2:99\r\n\r\n",
        "\r",
        "data: x\n\nevent: gap",
        "\u{2028}\u{2029}\u{85}",
        "\u{feff}🦀 \0",
        "\\n\"",
    ];
    let mut client = Ask::with(&key).opened(&serving).await;
    publish(&test, texts).await;
    for (text, number) in texts.iter().zip(1..) {
        let frame = client.operation().await;
        assert_eq!((frame.number(), frame.title().as_str()), (number, *text));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_a_client_that_attaches_while_operations_are_published_misses_and_repeats_none() {
    let (test, serving) = service().await;
    let (test, serving) = (Arc::new(test), Arc::new(serving));
    let key = key(&test).await;
    published(&test, ["1"]).await;
    let over = Arc::new(AtomicBool::new(false));
    let publishing = {
        let (test, over) = (test.clone(), over.clone());
        tokio::spawn(async move {
            let mut number = 1;
            while !over.load(Relaxed) {
                let batch: Vec<String> = (0..1 + number % 3).map(|more| (number + 1 + more).to_string()).collect();
                number += batch.len() as u64;
                publish(&test, batch).await;
                if number % 50 == 0 {
                    // Empty the ring, so that clients must read earlier operations from the journal.
                    test.app.journal.ring.restart_after(test.app.journal.ring.tail());
                }
            }
        })
    };
    // Connections take most of the time. Each client attaches, reads across the change from replay to live delivery, and disconnects.
    const ATTACHED: u64 = 2_500;
    let attached = Arc::new(AtomicU64::new(0));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..8u64 {
        let (test, serving, key, attached) = (test.clone(), serving.clone(), Ask::with(&key), attached.clone());
        clients.spawn(async move {
            while attached.fetch_add(1, Relaxed) < ATTACHED {
                let tail = test.app.journal.ring.tail();
                let from = tail.saturating_sub(attached.load(Relaxed) % 7);
                let mut stream = key.clone().after(format!("v2:{from}")).opened(&serving).await;
                for expected in from + 1..=from + 9 + client {
                    let frame = stream.operation().await;
                    assert_eq!((frame.number(), frame.title()), (expected, expected.to_string()));
                }
            }
        });
    }
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
    over.store(true, Relaxed);
    publishing.await.unwrap();
}

/// Checks that the operations after `from` are in order. Returns the last number and the frame that ended the stream.
fn split(frames: Vec<crate::support::stream_client::Frame>, from: u64) -> (u64, crate::support::stream_client::Frame) {
    let (last, operations) = frames.split_last().unwrap();
    for (frame, expected) in operations.iter().filter(|frame| frame.comment.is_none()).zip(from + 1..) {
        assert_eq!(frame.number(), expected);
    }
    (from + operations.iter().filter(|frame| frame.comment.is_none()).count() as u64, last.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_a_client_that_does_not_read_gets_its_queue_a_gap_and_the_end_and_others_are_unaffected() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let text = "x".repeat(2_000);
    let mut slow = Ask { receive_buffer: 4_096, ..Ask::with(&key) }.opened(&serving).await;
    let mut quick = Ask::with(&key).opened(&serving).await;
    for batch in 0..20 {
        publish(&test, (0..50).map(|number| format!("{} {text}", batch * 50 + number))).await;
        for number in 0..50 {
            let title = quick.operation().await.title();
            assert_eq!(title.split(' ').next(), Some((batch * 50 + number).to_string().as_str()));
        }
    }
    let (received, gap) = split(slow.all().await, 0);
    let told = gap.json();
    assert_eq!((gap.event.as_str(), told["reason"].as_str()), ("gap", Some("queue_overflow")));
    assert_eq!(
        (told["from"].as_str(), told["cursor"].as_str()),
        (Some(&*format!("v2:{received}")), told["from"].as_str())
    );
    assert_eq!(told["to"], "v2:1000");
    // The client receives what the socket buffers and its queue of a hundred contained, which is far less than all operations.
    assert!((100..600).contains(&received), "{received}");
    assert_eq!(test.app.streams.meters.gaps(GapReason::QueueOverflow), 1);
    let now = test.app.clock.now();
    assert!(
        rds_origin::stream::maintenance::overflowed_within(&test.app.db, &test.app.streams, now, 900).await.unwrap()
    );
    assert!(
        !rds_origin::stream::maintenance::overflowed_within(
            &test.app.db,
            &test.app.streams,
            now.plus_seconds(901),
            900
        )
        .await
        .unwrap()
    );
    // The documented recovery: the client reconnects with the id of the last operation that it received.
    let mut again = Ask::with(&key).after(format!("v2:{received}")).opened(&serving).await;
    assert_eq!(again.operation().await.number(), received + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_a_client_that_reads_is_not_dropped_for_a_burst() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut client = Ask::with(&key).opened(&serving).await;
    for burst in 0..5u64 {
        publish_rows(&test, (1..=700).map(|number| operation(&(burst * 700 + number).to_string(), &[])).collect())
            .await;
        assert_eq!(client.titles(700).await, numbers(burst * 700 + 1..=burst * 700 + 700));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_clients_that_never_read_cost_a_bounded_amount_of_memory() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut deaf: Vec<Client> = Vec::new();
    for _ in 0..100 {
        deaf.push(Ask { receive_buffer: 4_096, ..Ask::with(&key) }.opened(&serving).await);
    }
    let text = "x".repeat(20_000);
    let before = resident();
    for _ in 0..20 {
        publish(&test, (0..50).map(|number| format!("{number} {text}"))).await;
    }
    eventually("all are read", async || test.app.journal.ring.tail() == 1_000).await;
    let grown = resident().saturating_sub(before);
    // The ring contains the 20 MB of operations once. A hundred queues with copies of a hundred each would be 200 MB.
    assert!(grown < 90 << 20, "{} MB", grown >> 20);
}

fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

#[tokio::test]
async fn s12_a_heartbeat_comes_after_twenty_seconds_of_silence_and_is_delayed_by_data() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut client = Ask::with(&key).opened(&serving).await;
    let silent = async |seconds: i64, client: &mut Client| {
        test.app.clock.advance(seconds);
        tokio::time::timeout(Duration::from_millis(1_500), client.frame()).await.ok().flatten()
    };
    assert_eq!(silent(19, &mut client).await, None, "not before");
    assert_eq!(silent(1, &mut client).await.unwrap().comment.as_deref(), Some("heartbeat"));
    assert_eq!(silent(19, &mut client).await, None);
    published(&test, ["data"]).await;
    assert_eq!(client.operation().await.title(), "data");
    assert_eq!(silent(19, &mut client).await, None, "delayed by data");
    assert!(silent(2, &mut client).await.unwrap().comment.is_some());
}

#[tokio::test]
async fn s14_head_requests_http_1_0_clients_and_clients_that_accept_compression_are_served() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut head = Ask { method: Some("HEAD"), ..Ask::with(&key) }.at(&serving).await;
    assert_eq!((head.status(), head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(test.app.streams.open(), 0, "a HEAD opens no stream");
    assert_eq!(head.rest().await, "");
    let mut old = Ask { old: true, ..Ask::with(&key) }.at(&serving).await;
    assert_eq!((old.status(), old.header("transfer-encoding")), (200, None));
    assert_eq!(old.next().await.event, "ready");
    let mut packed = Ask::with(&key).header("accept-encoding", "gzip, br").at(&serving).await;
    assert_eq!((packed.status(), packed.header("content-encoding")), (200, None));
    packed.next().await;
    publish(&test, ["x"]).await;
    assert_eq!((old.operation().await.title().as_str(), packed.operation().await.title().as_str()), ("x", "x"));
    let post = Ask { method: Some("POST"), ..Ask::with(&key) }.at(&serving).await;
    assert_eq!((post.status(), post.header("allow")), (405, Some("get, head, options")));
}

#[tokio::test]
async fn s17_s18_what_one_process_publishes_another_delivers_and_a_client_moves_from_one_to_the_other() {
    let (test, serving) = service().await;
    let (second, other) = beside(&test).await;
    let key = key(&test).await;
    let mut client = Ask::with(&key).opened(&serving).await;
    publish(&second, ["from the other"]).await;
    assert_eq!(client.operation().await.title(), "from the other");
    publish(&test, ["from its own"]).await;
    let last = client.operation().await;
    assert_eq!(last.title(), "from its own");
    serving.kill().await;
    publish(&second, ["while it moves"]).await;
    let mut moved = Ask::with(&key).after(last.id.unwrap()).opened(&other).await;
    assert_eq!(moved.operation().await.title(), "while it moves");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_streams_share_one_encoding_of_each_frame() {
    let (test, serving) = service().await;
    let mut clients = a_thousand(&test, &serving).await;
    assert_eq!(test.app.streams.open(), 1_000);
    publish(&test, numbers(1..=20)).await;
    let reading = async {
        for client in &mut clients {
            assert_eq!(client.titles(20).await, numbers(1..=20));
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("all clients finish in time");
    // All sent frames are the ring's twenty, which are shared and not copied.
    assert_eq!((test.app.journal.ring.size().0, test.app.streams.meters.pages.load(Relaxed)), (20, 0));
    eventually("all frames are counted", async || test.app.streams.meters.frames.load(Relaxed) == 20_000).await;
    let encoded = || {
        test.app.journal.ring.after(0, None, 20).unwrap().frames.into_iter().map(|(_, frame)| frame.chunk().as_ptr())
    };
    assert!(encoded().eq(encoded()));
}
