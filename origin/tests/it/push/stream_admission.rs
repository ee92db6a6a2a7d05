//! Who may open a stream, and how many: counted exactly over all processes, even if one of them dies.
//!
//! The cases S10 and S11 of `e2e/FAULTS.md`.

use crate::support::stream_client::{Ask, Client};
use crate::support::streaming::{Serving, beside, eventually, key, publish, service, service_as};
use crate::support::testapp::{Reply, TestApp, holder, signed, signed_as};
use axum::extract::Request;
use axum::http::StatusCode;
use rds_origin::http::exchange::pipeline;
use rds_origin::http::exchange::trace::Ingress;
use rds_origin::keys;
use rds_origin::listener::Listener;
use rds_shared::access::{Plan, Principal};
use serde_json::Value;

const STREAM: &str = "/v1/events/stream";

async fn leases(test: &TestApp) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM stream_lease").fetch_one(&test.app.db.pool).await.unwrap()
}

/// Checks a refusal as the API documents it, and returns its message.
async fn refused(client: &mut Client) -> String {
    assert_eq!(client.status(), 429);
    assert_eq!(client.header("retry-after"), Some("10"));
    assert_eq!(client.header("cache-control"), Some("no-store"));
    assert_eq!(client.header("content-type"), Some("application/json"));
    let id = client.header("x-request-id").unwrap().to_owned();
    let body: Value = serde_json::from_str(&client.rest().await).unwrap();
    assert_eq!(
        (body["error"]["code"].as_str(), body["error"]["request_id"].as_str()),
        (Some("STREAM_LIMIT_REACHED"), Some(&*id))
    );
    body["error"]["message"].as_str().unwrap().to_owned()
}

async fn many(ask: &Ask, serving: &Serving, count: usize) -> Vec<Client> {
    let mut clients = Vec::with_capacity(count);
    for _ in 0..count {
        clients.push(ask.opened(serving).await);
    }
    clients
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_the_two_hundred_and_first_stream_of_a_key_is_refused_over_two_processes() {
    let (test, serving) = service().await;
    let (_second, other) = beside(&test).await;
    let ask = Ask::with(&key(&test).await);
    let mut here = many(&ask, &serving, 120).await;
    let there = many(&ask, &other, 80).await;
    for serving in [&serving, &other] {
        let message = refused(&mut ask.at(serving).await).await;
        assert!(message.contains("this key"), "{message}");
    }
    let another = Ask::with(&key(&test).await);
    another.opened(&serving).await;
    here.truncate(119);
    let mut last = None;
    eventually("the lease is released", async || {
        let client = ask.at(&other).await;
        let open = client.status() == 200;
        last = Some(client);
        open
    })
    .await;
    refused(&mut ask.at(&serving).await).await;
    drop((here, there, last));
    eventually("all leases are released", async || leases(&test).await == 0).await;
    eventually("the gauge says so", async || test.app.streams.open() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_a_race_for_the_last_ten_streams_admits_exactly_ten() {
    let (test, serving) = service().await;
    let (_second, other) = beside(&test).await;
    let ask = Ask::with(&key(&test).await);
    let _held = many(&ask, &serving, 190).await;
    let (serving, other) = (std::sync::Arc::new(serving), std::sync::Arc::new(other));
    let mut racing = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (ask, serving) = (ask.clone(), if number % 2 == 0 { serving.clone() } else { other.clone() });
        racing.spawn(async move { ask.at(&serving).await });
    }
    let mut clients = Vec::new();
    while let Some(client) = racing.join_next().await {
        clients.push(client.unwrap());
    }
    assert_eq!(clients.iter().filter(|client| client.status() == 200).count(), 10);
    assert_eq!(leases(&test).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_the_leases_of_a_killed_process_are_released_once_it_counts_as_dead() {
    let (test, serving) = service().await;
    let (_second, other) = beside(&test).await;
    let ask = Ask::with(&key(&test).await);
    let _killed = many(&ask, &other, 150).await;
    let _held = many(&ask, &serving, 50).await;
    other.kill().await;
    // As after SIGKILL, no lease was released.
    assert_eq!(leases(&test).await, 200);
    refused(&mut ask.at(&serving).await).await;
    let sql = "UPDATE stream_process SET alive_until = clock_timestamp() WHERE id = \
               (SELECT process FROM stream_lease GROUP BY process HAVING count(*) = 150)";
    assert_eq!(sqlx::query(sql).execute(&test.app.db.pool).await.unwrap().rows_affected(), 1);
    let mut last = None;
    eventually("it counts as dead", async || {
        let client = ask.at(&serving).await;
        let open = client.status() == 200;
        last = Some(client);
        open
    })
    .await;
    assert_eq!(leases(&test).await, 51);
}

#[tokio::test]
async fn a_process_that_was_considered_dead_ends_the_streams_whose_leases_are_gone() {
    let (test, serving) = service().await;
    let ask = Ask::with(&key(&test).await);
    let mut clients = many(&ask, &serving, 3).await;
    sqlx::query("DELETE FROM stream_lease WHERE id = (SELECT min(id) FROM stream_lease)")
        .execute(&test.app.db.pool)
        .await
        .unwrap();
    eventually("one has ended", async || test.app.streams.open() == 2).await;
    publish(&test, ["still there"]).await;
    let mut ended = 0;
    for client in &mut clients {
        match client.frame().await {
            None => ended += 1,
            Some(frame) => assert_eq!(frame.title(), "still there"),
        }
    }
    assert_eq!(ended, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_thousands_of_clients_that_come_and_go_leave_nothing_behind() {
    let (test, serving) = service().await;
    let ask = Ask::with(&key(&test).await);
    let port = serving.listeners.relay.port();
    let serving = std::sync::Arc::new(serving);
    let mut coming = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (ask, serving) = (ask.clone(), serving.clone());
        coming.spawn(async move {
            for round in 0..250 {
                let mut client = ask.at(&serving).await;
                assert_eq!(client.status(), 200);
                if round % 2 == 0 {
                    client.next().await;
                }
            }
        });
    }
    while let Some(done) = coming.join_next().await {
        done.unwrap();
    }
    eventually("all are gone", async || leases(&test).await == 0 && test.app.streams.open() == 0).await;
    eventually("sockets are closed", async || connections(port) == 0).await;
}

/// Number of TCP connections at the local `port` that still have a socket, without the listener and those in TIME_WAIT.
fn connections(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let local = format!(":{port:04X}");
    let columns = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    columns.filter(|columns| columns[1].ends_with(&local) && !["0A", "06"].contains(&columns[3])).count()
}

#[tokio::test]
async fn an_end_viewer_may_have_five_streams_for_each_key() {
    let (test, serving) = service().await;
    let (one, other) = (Ask::with(&key(&test).await), Ask::with(&key(&test).await));
    let viewer = |ask: &Ask, ip: &str| ask.clone().header("x-service-client-ip", ip);
    let _held = many(&viewer(&one, "203.0.113.7"), &serving, 5).await;
    let message = refused(&mut viewer(&one, "203.0.113.7").at(&serving).await).await;
    assert!(message.contains("viewer"), "{message}");
    refused(&mut viewer(&one, "::ffff:203.0.113.7").at(&serving).await).await;
    viewer(&one, "203.0.113.8").opened(&serving).await;
    viewer(&other, "203.0.113.7").opened(&serving).await;
    one.opened(&serving).await;
    let _six = many(&viewer(&one, "2001:db8::1"), &serving, 5).await;
    refused(&mut viewer(&one, "2001:db8::ffff").at(&serving).await).await;
    for bad in ["nobody", "", "203.0.113.7, 10.0.0.1", "[2001:db8::1]"] {
        let mut client = viewer(&one, bad).at(&serving).await;
        let status = client.status();
        let body: Value = serde_json::from_str(&client.rest().await).unwrap();
        assert_eq!((status, body["error"]["code"].as_str()), (400, Some("INVALID_PARAMETER")), "{bad:?}");
        assert_eq!(body["error"]["details"][0]["name"], "x-service-client-ip");
    }
}

#[tokio::test]
async fn without_a_key_there_is_no_stream_unless_anonymous_streams_are_enabled() {
    let (test, serving) = service().await;
    let mut client = Ask::default().at(&serving).await;
    assert_eq!(client.status(), 401);
    let body: Value = serde_json::from_str(&client.rest().await).unwrap();
    assert_eq!(body["error"]["legacy_code"], "tier_required");
    let mut wrong = Ask::default().header("authorization", "Bearer pk_live_nonsense").at(&serving).await;
    assert_eq!(
        (wrong.status(), wrong.header("x-ratelimit-limit")),
        (401, Some("10")),
        "a rejected key counts against the caller's address"
    );
    assert!(wrong.rest().await.contains("invalid_api_key"));
    assert_eq!(leases(&test).await, 0);
}

#[tokio::test]
async fn with_anonymous_streams_enabled_an_address_may_have_five() {
    let (test, serving) = service_as(vec![("RDS_STREAM_ANONYMOUS", "1")]).await;
    let mut held = many(&Ask::default(), &serving, 5).await;
    // A client address that an untrusted caller reports is ignored.
    refused(&mut Ask::default().header("x-service-client-ip", "203.0.113.9").at(&serving).await).await;
    publish(&test, ["to all"]).await;
    assert_eq!(held[4].operation().await.title(), "to all");
    let mut wrong = Ask::default().header("authorization", "Bearer pk_live_nonsense").at(&serving).await;
    assert_eq!(wrong.status(), 401, "a rejected key is never anonymous access");
    assert!(wrong.rest().await.contains("invalid_api_key"));

    // For requests through the edge, the edge reports the client address.
    let ask = |ip: &str| {
        let mut request = signed("GET", STREAM, "");
        request.headers_mut().insert("x-service-client-ip", ip.parse().unwrap());
        request
    };
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(at_the_edge(&test, ask("198.51.100.1")).await);
    }
    let statuses: Vec<_> = open.iter().map(|response| response.status()).collect();
    assert_eq!(statuses, [StatusCode::OK; 5]);
    assert_eq!(at_the_edge(&test, ask("198.51.100.1")).await.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(at_the_edge(&test, ask("198.51.100.2")).await.status(), StatusCode::OK);
}

async fn at_the_edge(test: &TestApp, request: Request) -> axum::response::Response {
    pipeline::answer(&test.server, Ingress::new(Listener::Edge, "192.0.2.1".parse().unwrap()), request).await
}

#[tokio::test]
async fn at_the_edge_listener_the_callers_plan_decides() {
    let (test, _serving) = service().await;
    let reply: Reply = test.get(STREAM).await;
    assert_eq!(
        (reply.status, reply.json()["error"]["legacy_code"].as_str()),
        (StatusCode::UNAUTHORIZED, Some("tier_required"))
    );
    for plan in [Plan::Data, Plan::Decisioning, Plan::Embedded] {
        let minted =
            keys::mint(&test.app.db, &test.app.clock, &crate::keys::operators::options("Plans", plan)).await.unwrap();
        let Principal::Key { org_id, .. } = holder(plan) else { unreachable!() };
        let principal = Principal::Key { id: minted.id, org_id, plan };
        let response = at_the_edge(&test, signed_as(&principal.to_json(), "GET", STREAM, "")).await;
        assert_eq!(response.status(), StatusCode::OK, "{plan}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
    }
}

#[tokio::test]
async fn streams_of_a_revoked_key_end_in_every_process_and_others_continue() {
    let (test, serving) = service().await;
    let (_second, other) = beside(&test).await;
    let (revoked, kept) = (key(&test).await, key(&test).await);
    let mut theirs = vec![Ask::with(&revoked).opened(&serving).await, Ask::with(&revoked).opened(&other).await];
    let mut mine = Ask::with(&kept).opened(&other).await;
    keys::revoke(&test.app.db, &test.app.clock, revoked.id).await.unwrap();
    for client in &mut theirs {
        assert!(client.has_ended().await, "the stream ends without a frame, and the next request gets 401");
    }
    assert_eq!(Ask::with(&revoked).at(&serving).await.status(), 401);
    publish(&test, ["on"]).await;
    assert_eq!(mine.operation().await.title(), "on");
    eventually("their leases are released", async || leases(&test).await == 1).await;
}
