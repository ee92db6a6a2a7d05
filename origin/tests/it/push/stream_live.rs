//! Streams that have delivered everything: they wait without a task, and behave as before.

use crate::support::stream_client::Ask;
use crate::support::streaming::{eventually, key, published, service, vault};
use crate::support::testapp::TestApp;
use rds_shared::push::stream_limits::STREAMS_PER_KEY;

/// The value of a metric without labels.
fn metric(test: &TestApp, name: &str) -> u64 {
    let page = test.server.scrape(false);
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no metric {name}")).parse().unwrap()
}

async fn live(test: &TestApp, streams: u64) {
    eventually("so many streams are live", async || metric(test, "rds_streams_live") == streams).await;
}

#[tokio::test]
async fn streams_that_have_delivered_everything_wait_without_a_task_and_get_what_follows() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["1", "2"]).await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut clients = Vec::new();
    for client in 0..u64::from(STREAMS_PER_KEY) {
        let ask = Ask::with(&key).query(if client % 2 == 0 {
            ""
        } else {
            "vaultId=1:0x00000000000000000000000000000000000000aa"
        });
        clients.push(ask.after("v2:0").opened(&serving).await);
    }
    live(&test, clients.len() as u64).await;
    eventually("their tasks have ended", async || {
        tokio::runtime::Handle::current().metrics().num_alive_tasks() < before + 10
    })
    .await;
    published(&test, ["3"]).await;
    for client in clients.iter_mut().step_by(2) {
        assert_eq!(client.titles(3).await, ["1", "2", "3"]);
    }
    // A stream whose filter skips an operation is told how far it is.
    for client in clients.iter_mut().skip(1).step_by(2) {
        while client.next().await.id.as_deref() != Some("v2:3") {}
    }
    assert_eq!(metric(&test, "rds_streams_live"), clients.len() as u64);
    drop(clients);
    live(&test, 0).await;
    eventually("their leases are released", async || test.app.streams.open() == 0).await;
}

#[tokio::test]
async fn a_client_that_pauses_becomes_a_task_again_and_is_live_once_it_has_read_everything() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut client = Ask { receive_buffer: 4_096, ..Ask::with(&key) }.opened(&serving).await;
    live(&test, 1).await;
    // More than the socket's buffers accept, and fewer frames than a queue holds.
    let text = "x".repeat(50_000);
    published(&test, (0..40).map(|_| &text)).await;
    eventually("it is handed back", async || metric(&test, "rds_streams_handed_back_total") == 1).await;
    live(&test, 0).await;
    for number in 1..=40 {
        assert_eq!(client.operation().await.number(), number);
    }
    live(&test, 1).await;
    published(&test, ["after"]).await;
    assert_eq!(client.operation().await.title(), "after");
}

#[tokio::test]
async fn a_live_stream_ends_when_the_service_stops() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(Ask::with(&key).query(&format!("vaultId={}", vault(1))).opened(&serving).await);
    }
    live(&test, 20).await;
    let stopping = tokio::spawn(serving.stop());
    for client in &mut clients {
        let frames = client.all().await;
        assert_eq!(frames.last().unwrap().event, "draining", "{frames:?}");
    }
    stopping.await.unwrap();
    assert_eq!((metric(&test, "rds_streams_live"), test.app.streams.open()), (0, 0));
}
