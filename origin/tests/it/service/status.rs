//! The status feed: each component from the service's state, a component that cannot be read, and the samples of past minutes.

use crate::support::chaos::ChaosProxy;
use crate::support::db::TestDb;
use crate::support::market::lines;
use crate::support::streaming::eventually;
use crate::support::testapp::{EDGE_KEY, PEER, TestApp, TestOptions};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use rds_engine::fail_safe::{self, SetModeResult};
use rds_origin::edge_link::EdgeLink;
use rds_origin::http::listeners::Listeners;
use rds_origin::listener::Listener;
use rds_origin::status::heartbeat::Heartbeat;
use rds_origin::status::sampler;
use rds_shared::model::health::FailSafeMode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use tokio::net::TcpListener;

pub async fn component(test: &TestApp, name: &str) -> (String, Option<String>) {
    let feed = test.json("/v1/status").await;
    let rows = feed["components"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name).unwrap();
    (row["status"].as_str().unwrap().to_owned(), row["detail"].as_str().map(str::to_owned))
}

pub async fn status_of(test: &TestApp, name: &str) -> String {
    component(test, name).await.0
}

/// The signals, once the database answers again. Each broken connection in the pool is discovered only when it is used.
async fn signals(test: &TestApp) -> Value {
    for _ in 0..20 {
        let signals = test.json("/v1/status").await["signals"].clone();
        if !signals["requests_15m"].is_null() {
            return signals;
        }
    }
    panic!("the counts cannot be read");
}

async fn sample(test: &TestApp, link: Option<&Arc<EdgeLink>>) {
    sampler::sample(&test.app, link, test.app.clock.now()).await.unwrap();
}

#[tokio::test]
async fn a_healthy_service_says_so_and_its_status_may_be_cached_for_a_minute() {
    let test = TestApp::with_market().await;
    let reply = test.get("/v1/status").await;
    let feed = reply.json();
    assert_eq!((&feed["status"], &feed["rollup"]), (&json!("operational"), &json!("operational")), "{feed}");
    let names: Vec<&Value> = feed["components"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(
        names,
        [
            "api",
            "reachability",
            "errors",
            "events_stream",
            "webhooks",
            "data_freshness",
            "fail_safe",
            "writes",
            "chains"
        ]
    );
    assert_eq!((&feed["uptime"], &feed["last_checked_at"]), (&json!({}), &json!("2026-11-21T00:00:00.000Z")));
    assert_eq!(reply.header("cdn-cache-control"), Some("max-age=60, stale-if-error=0"));
    assert!(reply.header("x-service-tags").unwrap().starts_with("fail_safe="));
}

#[tokio::test]
async fn without_its_database_the_service_is_down_and_still_answers() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    test.ingest(&lines()).await;
    wire.cut();
    let feed = test.json("/v1/status").await;
    assert_eq!((&feed["status"], &feed["rollup"]), (&json!("down"), &json!("down")));
    for row in feed["components"].as_array().unwrap() {
        let expected = if row["name"] == "api" { "down" } else { "degraded" };
        assert_eq!(row["status"], expected, "{row}");
        assert!(row["detail"].is_string(), "{row}");
    }
    let unknown = json!({"error_rate_15m": null, "requests_15m": null, "external_down_samples": null});
    assert_eq!(feed["signals"], unknown, "an unknown count is null, not zero");
    assert!(
        sampler::sample(&test.app, None, test.app.clock.now()).await.is_err(),
        "no sample is invented for this minute"
    );
    wire.mend();
    eventually("the database is reached again", async || test.json("/v1/status").await["status"] == "operational")
        .await;
}

#[tokio::test]
async fn a_component_that_cannot_be_read_degrades_only_its_own_row() {
    let test = TestApp::with_market().await;
    let rows = async || {
        let feed = test.json("/v1/status").await;
        assert_eq!(feed["status"], "operational", "none of these components decides the overall status");
        let rows = feed["components"].as_array().unwrap().iter();
        let unwell: Vec<_> = rows.filter(|row| row["status"] != "operational").cloned().collect();
        unwell.iter().map(|row| format!("{}: {}", row["name"], row["detail"])).collect::<Vec<_>>()
    };
    assert_eq!(rows().await, [""; 0]);
    for (table, name) in [("stream_overflow", "events_stream"), ("vault_state", "data_freshness")] {
        let renamed = async |from: &str, to: &str| {
            sqlx::query(&format!("alter table {from} rename to {to}")).execute(&test.app.db.pool).await.unwrap();
        };
        renamed(table, "away").await;
        assert_eq!(rows().await, [format!("\"{name}\": \"could not be read in time\"")]);
        renamed("away", table).await;
    }
    // A locked table has the same effect as a missing one, because the feed waits for it at most a second.
    let mut busy = test.app.db.pool.begin().await.unwrap();
    sqlx::query("lock table webhook_attempt in access exclusive mode").execute(&mut *busy).await.unwrap();
    assert_eq!(rows().await, ["\"webhooks\": \"could not be read in time\""]);
    busy.rollback().await.unwrap();
    assert_eq!(rows().await, [""; 0]);
}

#[tokio::test]
async fn a_process_whose_listener_accepts_no_connection_is_down_even_with_its_database() {
    let test = TestApp::with_market().await;
    let listeners = Listeners::bind(&test.config).await.unwrap();
    let relay = listeners.addresses().unwrap().relay;
    assert!(test.app.heartbeat.set(Heartbeat::through(relay).unwrap()).is_ok());
    assert_eq!(status_of(&test, "api").await, "down", "the listener is bound, but nothing accepts connections");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(listeners.serve(test.server.clone(), async move {
        let _ = stopped.await;
    }));
    assert_eq!(status_of(&test, "api").await, "operational");
    stop.send(()).unwrap();
    serving.await.unwrap();
    assert_eq!(status_of(&test, "api").await, "down", "the listener was closed");
}

#[tokio::test]
async fn answers_withheld_by_fail_safe_mode_do_not_count_as_errors_but_internal_errors_do() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    test.ingest(&lines()).await;
    let setting =
        fail_safe::set_operator_mode(&test.app.db, &test.app.clock, FailSafeMode::FailClosed, "looked at it", "ada");
    assert!(matches!(setting.await.unwrap(), SetModeResult::Set(_)));
    rds_origin::catalog::refresh::refresh(&test.app).await.unwrap();
    for target in ["/v1/vaults", "/v1/stats", "/v1/assets/enriched"] {
        assert_eq!(test.get(target).await.code(), "FAIL_CLOSED");
    }
    test.get("/v1/chains").await;
    wire.cut();
    assert_eq!(test.get("/v1/events").await.status, StatusCode::SERVICE_UNAVAILABLE);
    wire.mend();
    let signals = signals(&test).await;
    assert_eq!((&signals["requests_15m"], &signals["error_rate_15m"]), (&json!(2), &json!(0.5)));
}

#[tokio::test]
async fn errors_are_counted_over_all_processes_and_a_quarter_of_an_hour() {
    let test = TestApp::with_market().await;
    let other = TestApp::over(TestDb::guest(&test.facts).await, TestOptions::default()).await;
    let now = test.app.clock.now();
    for app in [&test.app, &other.app] {
        (0..99).for_each(|_| app.traffic.answered(now, false));
        app.traffic.answered(now, true);
    }
    assert_eq!(status_of(&test, "errors").await, "operational", "a hundred answers are too few for an error rate");
    sampler::share(&other.app, now).await.unwrap();
    let feed = test.json("/v1/status").await;
    assert_eq!(feed["status"], "degraded");
    assert_eq!(feed["signals"], json!({"error_rate_15m": 0.01, "requests_15m": 200, "external_down_samples": null}));
    // Requests for the status feed itself are not counted.
    assert_eq!(test.json("/v1/status").await["signals"]["requests_15m"], 200);
    test.app.clock.advance(900);
    let none = json!({"error_rate_15m": null, "requests_15m": 0, "external_down_samples": null});
    assert_eq!(test.json("/v1/status").await["signals"], none, "without answers there is no rate");
}

#[tokio::test]
async fn internal_errors_count_and_errors_of_callers_do_not() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    test.ingest(&lines()).await;
    test.get("/v1/chains").await;
    test.get("/v1/vaults?limit=0").await;
    wire.cut();
    assert_eq!(test.get("/v1/events").await.status, StatusCode::SERVICE_UNAVAILABLE);
    wire.mend();
    let signals = signals(&test).await;
    assert_eq!((&signals["requests_15m"], signals["error_rate_15m"].as_f64()), (&json!(3), Some(0.333_333_333_333)));
}

#[tokio::test]
async fn an_overflow_and_old_readings_degrade_only_their_own_components() {
    let test = TestApp::with_market().await;
    sqlx::query("insert into stream_overflow (at) values ($1::timestamptz)")
        .bind("2026-11-20T23:50:00Z")
        .execute(&test.app.db.pool)
        .await
        .unwrap();
    assert_eq!(status_of(&test, "events_stream").await, "degraded");
    test.app.clock.advance(301);
    assert_eq!(status_of(&test, "events_stream").await, "operational");
    // The newest reading is ten minutes older than the time at which the test's clock started.
    test.app.clock.advance(80 * 60 - 301);
    assert_eq!(status_of(&test, "data_freshness").await, "operational");
    test.app.clock.advance(1);
    let feed = test.json("/v1/status").await;
    assert_eq!((&feed["status"], &feed["rollup"]), (&json!("operational"), &json!("degraded")));
    assert_eq!(component(&test, "data_freshness").await.1.as_deref(), Some("the newest vault sync is 90 minutes old"));
}

/// A server in the edge's place that answers with the given status.
async fn outside(status: Arc<AtomicU16>) -> Arc<EdgeLink> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = Router::new().fallback(move |request: Request| {
        let status = status.load(Relaxed);
        async move {
            assert_eq!((request.method().as_str(), request.uri().path()), ("GET", "/ready"));
            StatusCode::from_u16(status).unwrap()
        }
    });
    tokio::spawn(async move { axum::serve(listener, service).await });
    Arc::new(crate::support::edge_peer::link(&url, EDGE_KEY))
}

#[tokio::test]
async fn three_consecutive_failed_external_samples_mean_down() {
    let test = TestApp::with_market().await;
    assert!(component(&test, "reachability").await.1.unwrap().starts_with("not sampled"));
    let status = Arc::new(AtomicU16::new(200));
    let link = outside(status.clone()).await;
    let mut seen = Vec::new();
    for answer in [200, 503, 502, 503, 200] {
        status.store(answer, Relaxed);
        sample(&test, Some(&link)).await;
        // A second process in the same minute does not sample again.
        status.store(500, Relaxed);
        sample(&test, Some(&link)).await;
        let feed = test.json("/v1/status").await;
        seen.push((status_of(&test, "reachability").await, feed["signals"]["external_down_samples"].as_u64().unwrap()));
        test.app.clock.advance(60);
    }
    let expected = [("operational", 0), ("operational", 1), ("operational", 2), ("down", 3), ("operational", 0)];
    assert_eq!(seen, expected.map(|(status, failed)| (status.to_owned(), failed)));
    test.app.clock.advance(16 * 60);
    let said = component(&test, "reachability").await.1.unwrap();
    assert_eq!(said, "not sampled from outside within 15 minutes", "old samples do not count");
}

#[tokio::test]
async fn uptime_is_shown_once_samples_cover_the_period_and_a_minute_without_a_sample_counts_as_down() {
    let test = TestApp::with_market().await;
    // Samples of every minute up to the end of 20 November, except three minutes without a sample; the service was down in one minute.
    let fill = "insert into status_sample (minute, is_up)
        select at, at <> '2026-11-20T12:00:00Z' from generate_series($1::timestamptz, '2026-11-20T23:59:00Z', interval '1 minute') at
        where at not between '2026-11-20T06:00:00Z' and '2026-11-20T06:02:00Z'";
    let filled = async |since: &str| {
        sqlx::query("delete from status_sample").execute(&test.app.db.pool).await.unwrap();
        sqlx::query(fill).bind(since).execute(&test.app.db.pool).await.unwrap();
        test.json("/v1/status").await["uptime"].clone()
    };
    assert_eq!(filled("2026-11-20T00:01:00Z").await, json!({}), "a minute is missing");
    assert_eq!(filled("2026-11-20T00:00:00Z").await, json!({ "24h": 99.722 }));
    assert_eq!(filled("2026-10-22T00:00:00Z").await, json!({ "24h": 99.722, "30d": 99.99 }));
    test.app.clock.advance(2 * 86_400);
    sample(&test, None).await;
    let oldest: i64 = sqlx::query_scalar("select extract(epoch from min(minute))::bigint from status_sample")
        .fetch_one(&test.app.db.pool)
        .await
        .unwrap();
    assert_eq!(oldest, test.app.clock.now().as_seconds() - 31 * 86_400, "samples older than 31 days are deleted");
    assert_eq!(test.json("/v1/status").await["uptime"]["24h"], 0.0);
}

#[tokio::test]
async fn one_process_that_found_the_service_up_is_enough() {
    let test = TestApp::with_market().await;
    let draining = TestApp::over(TestDb::guest(&test.facts).await, TestOptions::default()).await;
    draining.app.begin_draining();
    let up = async || {
        sqlx::query_scalar::<_, bool>("select is_up from status_sample").fetch_one(&test.app.db.pool).await.unwrap()
    };
    sample(&draining, None).await;
    assert!(!up().await);
    sample(&test, None).await;
    assert!(up().await);
    sample(&draining, None).await;
    assert!(up().await);
}

#[tokio::test]
async fn backends_at_the_relay_may_send_sixty_requests_a_minute() {
    let test = TestApp::with_market().await;
    for left in (0..60).rev() {
        let request = Request::builder().uri("/v1/status").body(Body::empty()).unwrap();
        let reply = test.from(PEER, Listener::Relay, request).await;
        assert_eq!(reply.header("x-ratelimit-remaining"), Some(left.to_string().as_str()));
    }
    let request = Request::builder().uri("/v1/status").body(Body::empty()).unwrap();
    assert_eq!(test.from(PEER, Listener::Relay, request).await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn health_names_the_decision_signer() {
    let key = "1111111111111111111111111111111111111111111111111111111111111111";
    let test = TestApp::with(TestOptions { env: vec![("RDS_SIGNING_KEY", key)], ..TestOptions::default() }).await;
    let signer = async || test.json("/v1/health").await["evidenceSigner"].clone();
    let address = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a";
    assert_eq!(signer().await, json!({"configured": true, "signerAddress": address, "keyId": null}));
    sqlx::query(
        "insert into decision_signer (key_id, address, activated_at) values ('first', $1, '2026-11-01T00:00:00Z')",
    )
    .bind(address)
    .execute(&test.app.db.pool)
    .await
    .unwrap();
    assert_eq!(signer().await["keyId"], "first");
}

#[tokio::test]
async fn a_slow_count_degrades_health_but_is_not_an_outage() {
    let test = TestApp::new().await;
    let mut busy = test.app.db.pool.begin().await.unwrap();
    let lock = "lock table exposure in access exclusive mode";
    sqlx::query(lock).execute(&mut *busy).await.unwrap();
    let first = test.get("/v1/health").await;
    assert_eq!((first.status, &first.json()["status"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("down")));
    busy.rollback().await.unwrap();
    test.ingest(&lines()).await;
    let counted = test.json("/v1/health").await;
    assert_eq!(counted["status"], "ok");

    let mut busy = test.app.db.pool.begin().await.unwrap();
    sqlx::query(lock).execute(&mut *busy).await.unwrap();
    for _ in 0..3 {
        let slow = test.json("/v1/health").await;
        assert_eq!((&slow["status"], &slow["vaultCount"]), (&json!("degraded"), &counted["vaultCount"]));
    }
    let counts =
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let waiting: i64 = sqlx::query_scalar(counts).fetch_one(&mut *busy).await.unwrap();
    assert_eq!(waiting, 1, "only one count runs at a time");
    busy.rollback().await.unwrap();
    assert_eq!(test.json("/v1/health").await["status"], "ok");
}
