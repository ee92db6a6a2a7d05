//! Streams during faults, and when the service stops.
//!
//! The cases S16 and F13 of `e2e/FAULTS.md`, and the gap `replay_failed`.

use crate::support::stream_client::{Ask, a_thousand};
use crate::support::streaming::{
    eventually, key, operation, publish, publish_rows, published, service, service_over_a_wire,
};
use crate::support::testapp::{ADMIN_TOKEN, TestApp};
use rds_shared::push::gap::GapReason;
use rds_store::Db;
use serde_json::Value;
use sqlx::Connection;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn s16_a_stopping_service_sends_draining_to_its_streams_and_ends_them_one_after_the_other() {
    let (test, serving) = service().await;
    let clients = a_thousand(&test, &serving).await;
    let mut reading = tokio::task::JoinSet::new();
    for mut client in clients {
        reading.spawn(async move {
            let mut frames = client.all().await;
            frames.retain(|frame| frame.comment.is_none());
            (frames, rds_engine::clock::Clock::system().wall())
        });
    }
    let began = rds_engine::clock::Clock::system().wall();
    tokio::time::timeout(Duration::from_secs(5), serving.stop()).await.expect("the service stops within five seconds");
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
async fn a_client_that_does_not_read_does_not_delay_a_stopping_service() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let _deaf = Ask { receive_buffer: 4_096, ..Ask::with(&key) }.opened(&serving).await;
    let text = "x".repeat(50_000);
    publish(&test, (0..40).map(|_| text.clone())).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 40).await;
    tokio::time::timeout(Duration::from_secs(8), serving.stop()).await.expect("the service stops within eight seconds");
}

#[tokio::test]
async fn a_stopping_service_admits_no_new_stream() {
    let (test, _serving) = service().await;
    let key = key(&test).await;
    test.app.begin_draining();
    let principal = rds_shared::access::Principal::Key { id: key.id, org_id: 1, plan: rds_shared::access::Plan::Data };
    let reply = test.get_as(&principal, "/v1/events/stream").await;
    assert_eq!((reply.status.as_u16(), reply.code().as_str()), (503, "SHUTTING_DOWN"));
}

#[tokio::test]
async fn an_unreadable_journal_is_a_gap_in_an_open_stream_and_a_503_for_a_new_one() {
    let (test, serving, wire) = service_over_a_wire().await;
    let key = key(&test).await;
    let text = "x".repeat(4_000);
    publish_rows(&test, (0..900).map(|_| operation(&text, &[])).collect()).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 900).await;
    test.app.journal.ring.restart_after(900);
    let mut replaying = Ask { receive_buffer: 4_096, ..Ask::with(&key).after("v2:0") }.opened(&serving).await;
    let first = replaying.operation().await.number();
    assert_eq!(first, 1);
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

    // A client that had read everything loses nothing and does not have to reconnect.
    wire.mend();
    let mut again = None;
    eventually("the database is back", async || {
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
async fn a_journal_that_does_not_answer_is_a_gap_and_not_a_silence() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    publish_rows(&test, (0..900).map(|_| operation(&"x".repeat(4_000), &[])).collect()).await;
    eventually("all are read", async || test.app.journal.ring.tail() == 900).await;
    test.app.journal.ring.restart_after(900);
    let mut replaying = Ask { receive_buffer: 4_096, ..Ask::with(&key).after("v2:0") }.opened(&serving).await;
    assert_eq!(replaying.operation().await.number(), 1);
    let mut one = sqlx::PgConnection::connect(&test.facts.url).await.unwrap();
    let mut held = one.begin().await.unwrap();
    sqlx::query("LOCK TABLE push_operation").execute(&mut *held).await.unwrap();
    let frames = replaying.all().await;
    assert_eq!(frames.last().unwrap().json()["reason"], "replay_failed");
    assert_eq!(test.app.streams.open(), 0, "its lease is released");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_is_noticed_even_if_an_answer_of_the_database_was_lost() {
    let (test, serving, wire) = service_over_a_wire().await;
    let key = key(&test).await;
    let mut client = Ask::with(&key).opened(&serving).await;
    let (mut one, mut watch) = (
        sqlx::PgConnection::connect(&test.facts.url).await.unwrap(),
        sqlx::PgConnection::connect(&test.facts.url).await.unwrap(),
    );
    let mut held = one.begin().await.unwrap();
    sqlx::query("LOCK TABLE api_key").execute(&mut *held).await.unwrap();
    eventually("the query for revoked keys is waiting", async || {
        let sql = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' \
                   AND query LIKE '%revoked_among%')";
        sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut watch).await.unwrap()
    })
    .await;
    wire.deaden();
    sqlx::query("UPDATE api_key SET revoked_at = now()").execute(&mut *held).await.unwrap();
    held.commit().await.unwrap();
    wire.mend();
    assert!(client.has_ended().await);
}

#[tokio::test]
async fn statements_of_the_service_have_a_timeout_and_those_of_operators_do_not() {
    let test = TestApp::new().await;
    let limit =
        async |db: &Db| -> String { sqlx::query_scalar("SHOW statement_timeout").fetch_one(&db.pool).await.unwrap() };
    assert_eq!(limit(&test.app.db).await, "2min");
    assert_eq!(limit(&Db::connect(&test.facts.url, 1).await.unwrap()).await, "0");
}

#[tokio::test]
async fn a_scrape_shows_journal_ring_streams_and_gaps() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let _open = Ask::with(&key).after("nonsense").opened(&serving).await;
    published(&test, ["1", "2"]).await;
    let request =
        axum::extract::Request::builder().uri("/metrics").header("authorization", format!("Bearer {ADMIN_TOKEN}"));
    let page =
        test.at(rds_origin::listener::Listener::Admin, request.body(axum::body::Body::empty()).unwrap()).await.text();
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

/// Applies a database setting to all new connections and terminates the existing ones.
async fn set_for_all(test: &TestApp, setting: &str) {
    let mut one = sqlx::PgConnection::connect(&test.facts.url).await.unwrap();
    for sql in [
        "SET default_transaction_read_only = off".to_owned(),
        format!("DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' {setting}'; END $$"),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            .to_owned(),
    ] {
        sqlx::query(&sql).execute(&mut one).await.unwrap();
    }
}

#[tokio::test]
async fn f13_a_read_only_database_refuses_new_streams_keeps_open_ones_and_recovers_by_itself() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["before"]).await;
    let mut kept = Ask::with(&key).after("v2:0").opened(&serving).await;
    assert_eq!(kept.operation().await.title(), "before");
    set_for_all(&test, "SET default_transaction_read_only = on").await;
    let refused = async || {
        let mut client = Ask::with(&key).at(&serving).await;
        (client.status(), client.header("retry-after").is_some(), client.rest().await.contains("SERVICE_UNAVAILABLE"))
    };
    eventually("new streams are refused", async || refused().await == (503, true, true)).await;
    set_for_all(&test, "RESET default_transaction_read_only").await;
    eventually("new streams are admitted", async || Ask::with(&key).at(&serving).await.status() == 200).await;
    published(&test, ["after"]).await;
    assert_eq!(kept.operation().await.title(), "after", "the open stream did not have to reconnect");
}
