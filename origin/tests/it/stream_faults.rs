//! Streams when something breaks, and when the service goes.
//!
//! The case S16 of the fault list, and `replay_failed`.

use crate::chaos::ChaosProxy;
use crate::db::TestDb;
use crate::streaming::{Ask, Serving, eventually, key, operation, publish, publish_rows, published, service};
use crate::testapp::{ADMIN_TOKEN, TestApp, Wish};
use rds_shared::push::gap::GapReason;
use serde_json::Value;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn s16_a_service_that_stops_tells_its_streams_and_ends_them_one_after_the_other() {
    let (test, serving) = service().await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        let key = key(&test).await;
        for _ in 0..200 {
            clients.push(Ask::with(&key).opened(&serving).await);
        }
    }
    let mut reading = tokio::task::JoinSet::new();
    for mut client in clients {
        reading.spawn(async move {
            let frames = client.all().await;
            (frames, rds_origin::clock::Clock::system().wall())
        });
    }
    let began = rds_origin::clock::Clock::system().wall();
    tokio::time::timeout(Duration::from_secs(5), serving.stop()).await.expect("in five seconds");
    let mut ends = Vec::new();
    while let Some(read) = reading.join_next().await {
        let (frames, at) = read.unwrap();
        let [draining] = &frames[..] else { panic!("{frames:?}") };
        assert_eq!(
            (draining.event.as_str(), draining.retry.as_deref(), &draining.id),
            ("draining", Some("1000"), &None)
        );
        ends.push(at.as_millis() - began.as_millis());
    }
    let early = ends.iter().filter(|end| **end < 1_000).count();
    assert!((200..800).contains(&early), "{early} of 1000 ended in the first second");
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_hold_a_service_that_stops() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let _deaf = Ask { receive_buffer: 4_096, ..Ask::with(&key) }.opened(&serving).await;
    let text = "x".repeat(50_000);
    publish(&test, (0..40).map(|_| text.clone())).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 40).await;
    tokio::time::timeout(Duration::from_secs(8), serving.stop()).await.expect("not for long");
}

#[tokio::test]
async fn while_it_stops_nobody_new_is_admitted() {
    let (test, _serving) = service().await;
    let key = key(&test).await;
    test.app.begin_draining();
    let principal = rds_shared::access::Principal::Key { id: key.id, org_id: 1, plan: rds_shared::access::Plan::Data };
    let reply = test.get_as(&principal, "/v1/events/stream").await;
    assert_eq!((reply.status.as_u16(), reply.code().as_str()), (503, "SHUTTING_DOWN"));
}

#[tokio::test]
async fn a_journal_that_cannot_be_read_is_a_gap_behind_a_known_cursor_and_an_answer_before_one() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let env = vec![("RDS_SCORE_EVERY_SECONDS", "0")];
    let test = TestApp::over(facts, Wish { database: Some(wire.url()), env, ..Wish::default() }).await;
    let serving = Serving::of(&test).await;
    let key = key(&test).await;
    let text = "x".repeat(4_000);
    publish_rows(&test, (0..900).map(|_| operation(&text, &[])).collect()).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 900).await;
    test.app.journal.ring.begin_after(900);
    let mut replaying = Ask { receive_buffer: 4_096, ..Ask::with(&key).after("v2:0") }.opened(&serving).await;
    let mut live = Ask::with(&key).opened(&serving).await;
    wire.cut();
    let frames = replaying.all().await;
    let (gap, before) = frames.split_last().unwrap();
    let last = before.last().unwrap().id.clone().unwrap();
    let told = gap.json();
    assert_eq!((gap.event.as_str(), told["reason"].as_str()), ("gap", Some("replay_failed")));
    assert_eq!((told["from"].as_str(), told["cursor"].as_str()), (Some(&*last), Some(&*last)));
    assert_eq!(test.app.streams.meters.gaps(GapReason::ReplayFailed), 1);

    let mut refused = Ask::with(&key).after(last.clone()).at(&serving).await;
    assert_eq!((refused.status(), refused.header("retry-after").is_some()), (503, true));
    let body: Value = serde_json::from_str(&refused.rest().await).unwrap();
    assert_eq!(body["error"]["code"], "SERVICE_UNAVAILABLE");

    // Who had all there was loses nothing, and need not even reconnect.
    wire.mend();
    let mut again = None;
    eventually("it is back", async || {
        let client = Ask::with(&key).after(last.clone()).at(&serving).await;
        let open = client.status() == 200;
        again = Some(client);
        open
    })
    .await;
    published(&test, ["on"]).await;
    assert_eq!(live.operation().await.title(), "on");
    let mut again = again.unwrap();
    assert_eq!(again.next().await.event, "ready");
    let next: u64 = last.strip_prefix("v2:").unwrap().parse().unwrap();
    assert_eq!(again.operation().await.number(), next + 1);
}

#[tokio::test]
async fn the_scrape_tells_of_journal_ring_streams_and_gaps() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let _open = Ask::with(&key).after("nonsense").opened(&serving).await;
    published(&test, ["1", "2"]).await;
    let request =
        axum::extract::Request::builder().uri("/metrics").header("authorization", format!("Bearer {ADMIN_TOKEN}"));
    let page =
        test.at(rds_origin::http::pipeline::Door::Admin, request.body(axum::body::Body::empty()).unwrap()).await.text();
    for line in [
        "rds_journal_head 2",
        "rds_journal_behind 0",
        "rds_journal_broken_total 0",
        "rds_journal_ring_entries 2",
        "rds_streams_open 1",
        "rds_streams_opened_total 1",
        "rds_stream_gaps_total{reason=\"cursor_invalid\"} 1",
        "rds_stream_gaps_total{reason=\"queue_overflow\"} 0",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    assert!(page.contains("rds_journal_lag_seconds "));
}
