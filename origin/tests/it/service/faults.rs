//! Faults of the service: database down and back, deadlines, shutdown.

use crate::support::chaos::ChaosProxy;
use crate::support::db::TestDb;
use crate::support::market::{VAULTS, address, lines};
use crate::support::testapp::{PEER, Reply, TestApp, TestOptions, signed};
use crate::vaults::lists::with_header;
use axum::http::StatusCode;
use rds_origin::catalog::refresh::refresh;
use rds_origin::http::exchange::pipeline;
use rds_origin::http::exchange::trace::Ingress;
use rds_origin::http::listeners::Listeners;
use rds_origin::http::server::Server;
use rds_origin::listener::Listener;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

#[tokio::test]
async fn health_has_every_field_and_no_envelope() {
    let test = TestApp::with_market().await;
    let health = test.json("/v1/health").await;
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&health["status"], &health["vaultCount"], &health["lastSync"]),
        (&json!("ok"), &json!(12), &json!("2026-11-20T23:50:00.000Z"))
    );
    assert_eq!(health["lastScoreRun"], json!({ "completedAt": "2026-11-21T00:00:00.000Z", "failSafeMode": "normal" }));
    assert_eq!(
        health["assetRegistryCoverage"],
        json!({ "totalExposures": 3, "withAssetVersion": 3, "coveragePercent": 100.0 })
    );
    assert_eq!(
        health["assetIdentityCoverage"]["byChain"][0],
        json!({ "chainId": 1, "totalIdentities": 1, "withApprovedVersion": 1, "coveragePercent": 100.0 })
    );
    assert_eq!(
        (&health["assetRegistryQueueBacklog"], &health["evidenceSigner"]["configured"]),
        (&json!(0), &json!(false))
    );
    let empty = TestApp::new().await.json("/v1/health").await;
    assert_eq!(
        (&empty["lastScoreRun"], &empty["assetRegistryCoverage"]["coveragePercent"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(test.get("/v1/health").await.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn lists_outlive_the_database_and_everything_recovers_with_it() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    test.ingest(&lines()).await;
    assert_eq!(test.json("/ready").await, json!({ "status": "ready", "db": "up", "cache": "closed" }));
    let known = test.json("/v1/health").await;

    wire.cut();
    for target in ["/v1/vaults?sortBy=name", "/v1/chains", "/v1/protocols", "/v1/curators"] {
        assert_eq!(test.get(target).await.status, StatusCode::OK, "{target}");
    }
    assert_eq!(test.post("/v1/vaults/batch", "{}").await.status, StatusCode::OK);
    for target in [format!("/v1/vault/ethereum/{}", address(1)), "/v1/curators/north".to_owned()] {
        let reply = test.get(&target).await;
        assert_eq!(
            (reply.status, reply.code(), reply.header("retry-after")),
            (StatusCode::SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE".to_owned(), Some("5")),
            "{target}"
        );
    }
    let health = test.get("/v1/health").await;
    assert_eq!((health.status, health.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, Some("5")));
    assert_eq!(
        (&health.json()["status"], &health.json()["vaultCount"]),
        (&json!("down"), &known["vaultCount"]),
        "what was last known"
    );
    let ready = test.get("/ready").await;
    assert_eq!(
        (ready.status, ready.json()),
        (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "not_ready", "db": "down", "cache": "closed" }))
    );
    assert!(refresh(&test.app).await.is_err());
    assert_eq!(test.admin("POST", "/ingest", &lines()).await.code(), "SERVICE_UNAVAILABLE");

    wire.mend();
    assert_eq!(test.json("/ready").await["db"], "up");
    assert_eq!(test.json("/v1/health").await["status"], "ok");
    assert_eq!(test.get(&format!("/v1/vault/ethereum/{}", address(1))).await.status, StatusCode::OK);
    test.ingest(&VAULTS[0].state("2026-11-20T23:58:00Z", json!({ "tvl_usd": 1 }))).await;
}

/// A connection that locks a table, so that its readers wait.
async fn holding(test: &TestApp, table: &str) -> PgConnection {
    let mut other = PgConnection::connect(&test.facts.url).await.unwrap();
    sqlx::query("BEGIN").execute(&mut other).await.unwrap();
    sqlx::query(&format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).execute(&mut other).await.unwrap();
    other
}

#[tokio::test]
async fn a_read_past_its_deadline_is_a_504() {
    let test = TestApp::with(TestOptions { env: vec![("RDS_READ_DEADLINE_MS", "50")], ..TestOptions::default() }).await;
    test.ingest(&lines()).await;
    let held = holding(&test, "vault_snapshot").await;
    let reply = test.get(&format!("/v1/vault/ethereum/{}/snapshots", address(1))).await;
    assert_eq!(
        (reply.status, reply.code(), reply.header("retry-after")),
        (StatusCode::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED".to_owned(), Some("5"))
    );
    drop(held);
}

/// Asks `/ready` until the database is up, because each broken connection in the pool is discovered only when it is used.
async fn readiness(test: &TestApp) -> Reply {
    for _ in 0..20 {
        let ready = test.admin("GET", "/ready", "").await;
        if ready.json()["db"] == "up" {
            return ready;
        }
    }
    panic!("the database does not answer");
}

#[tokio::test]
async fn a_process_whose_clock_is_off_is_not_ready_and_says_why() {
    let test = TestApp::new().await;
    for (ahead, is_ready) in [(0, true), (25, true), (-25, true), (40, false), (-600, false), (600, false), (0, true)] {
        test.facts.set_databases_clock(ahead).await;
        let ready = readiness(&test).await;
        let said = ready.json();
        let wanted = if is_ready { (StatusCode::OK, None) } else { (StatusCode::SERVICE_UNAVAILABLE, Some("off")) };
        assert_eq!((ready.status, said.get("clock").and_then(Value::as_str)), wanted, "{ahead}");
        assert_eq!(said["status"], if is_ready { "ready" } else { "not_ready" });
    }
    test.app.clock.advance(86_400);
    assert_eq!(readiness(&test).await.status, StatusCode::OK, "the domain's clock may be anywhere");
}

#[tokio::test]
async fn if_the_edge_agrees_the_databases_clock_is_wrong() {
    let test = TestApp::new().await;
    test.facts.set_databases_clock(600).await;
    assert_eq!(readiness(&test).await.status, StatusCode::SERVICE_UNAVAILABLE);
    test.get("/v1/chains").await;
    assert_eq!(readiness(&test).await.status, StatusCode::OK, "nobody is taken out of service for that");
    let long_ago = test.app.clock.wall().as_seconds() - 15;
    test.app.metrics.edge_heard_at.store(long_ago, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(readiness(&test).await.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_service_without_a_catalog_is_not_ready_and_says_so() {
    let facts = TestDb::new().await;
    let test = TestApp::over(facts, TestOptions::default()).await;
    let fresh = rds_origin::app::App::new(
        &test.config,
        test.facts.db.clone(),
        test.app.clock.clone(),
        rds_origin::telemetry::AccessLog::off(),
    )
    .unwrap();
    let server = Server::new(&test.config, fresh.clone());
    let ask = async |target| {
        let peer = PEER.parse().unwrap();
        pipeline::answer(&server, Ingress::new(Listener::Edge, peer), signed("GET", target, "")).await.status()
    };
    assert_eq!(ask("/ready").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ask("/v1/vaults").await, StatusCode::SERVICE_UNAVAILABLE);
    refresh(&fresh).await.unwrap();
    assert_eq!(ask("/ready").await, StatusCode::OK);
    assert_eq!(ask("/v1/vaults").await, StatusCode::OK);
}

/// Sends a request over a socket and reads the whole response.
async fn over_tcp(target: std::net::SocketAddr, request: axum::extract::Request) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(target).await?;
    let mut text = format!("{} {} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n", request.method(), request.uri());
    for (name, value) in request.headers() {
        text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn shutdown_finishes_what_is_under_way_and_takes_nothing_new() {
    let test = TestApp::with_market().await;
    let listeners = Listeners::bind(&test.config).await.unwrap();
    let addresses = listeners.addresses().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(listeners.serve(test.server.clone(), async {
        let _ = stopped.await;
    }));
    let list = over_tcp(addresses.edge, signed("GET", "/v1/vaults", "")).await.unwrap();
    assert!(list.starts_with("HTTP/1.1 200 OK\r\n") && list.contains("\r\ncontent-length: "), "{list}");
    let head = over_tcp(addresses.edge, signed("HEAD", "/v1/vaults", "")).await.unwrap();
    assert!(head.contains("\r\ncontent-length: ") && head.ends_with("\r\n\r\n"), "{head}");

    let bare = axum::extract::Request::builder().uri("/v1/health").body(axum::body::Body::empty()).unwrap();
    let relayed = over_tcp(addresses.relay, bare).await.unwrap();
    assert!(
        relayed.contains("\r\nx-ratelimit-remaining: 59\r\n"),
        "metered by where the connection comes from: {relayed}"
    );

    let mut held = holding(&test, "vault_snapshot").await;
    let slow = tokio::spawn(over_tcp(
        addresses.edge,
        signed("GET", &format!("/v1/vault/ethereum/{}/snapshots", address(1)), ""),
    ));
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'vault_snapshot'::regclass";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut held).await.unwrap() == 0 {}
    stop.send(()).unwrap();
    while TcpStream::connect(addresses.edge).await.is_ok() {}
    let ready = over_tcp(addresses.admin, with_header(signed("GET", "/ready", ""), "x-probe", "1")).await.unwrap();
    assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("not_ready"), "{ready}");
    held.close().await.unwrap();
    let finished = slow.await.unwrap().unwrap();
    assert!(finished.starts_with("HTTP/1.1 200 OK\r\n") && finished.contains("recorded_at"), "{finished}");
    tokio::time::timeout(Duration::from_secs(10), serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(addresses.admin).await.is_err());
}

#[tokio::test]
async fn scores_are_run_again_once_they_are_due_and_not_before() {
    let test = TestApp::with_market().await;
    let due = async || {
        rds_engine::scoring_run::run_due(&test.app.db, &test.app.clock, 1_800).await.unwrap().map(|run| run.vaults)
    };
    test.app.clock.advance(1_799);
    assert_eq!(due().await, None);
    test.app.clock.advance(1);
    assert_eq!(due().await, Some(VAULTS.len() as u64));
    assert_eq!(due().await, None, "one run is enough");
    let completed = test.json("/v1/health").await["lastScoreRun"]["completedAt"].clone();
    assert_eq!(completed, "2026-11-21T00:30:00.000Z");
    let empty = TestApp::new().await;
    assert!(
        rds_engine::scoring_run::run_due(&empty.app.db, &empty.app.clock, 0).await.unwrap().is_none(),
        "nothing to score"
    );
}
