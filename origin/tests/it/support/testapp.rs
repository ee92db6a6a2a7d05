//! The service under test: the real router over a real database. Tests call it as an edge that signs requests, as an operator, or
//! without a signature.

use crate::support::db::TestDb;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use rds_engine::clock::Clock;
use rds_engine::entropy;
use rds_origin::app::App;
use rds_origin::catalog::refresh;
use rds_origin::config::Config;
use rds_origin::http::exchange::pipeline;
use rds_origin::http::exchange::trace::Ingress;
use rds_origin::http::server::Server;
use rds_origin::listener::Listener;
use rds_origin::telemetry::AccessLog;
use rds_origin::webhooks::Egress;
use rds_shared::access::{Assertion, AssertionKey, Plan, Principal, SignedRequest, link};
use rds_shared::wire::{Timestamp, headers};
use rds_store::Db;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The operators' token in tests.
pub const ADMIN_TOKEN: &str = "an-admin-token-for-tests";
/// The edge assertion key in tests.
pub const EDGE_KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// The peer address of requests in tests.
pub const PEER: &str = "192.0.2.1";
/// The time at which tests begin. The clock changes only when a test sets or advances it.
pub const NOW: &str = "2026-11-21T00:00:00Z";

/// The service without open listeners and without running jobs. A test calls and refreshes it directly.
pub struct TestApp {
    pub app: Arc<App>,
    pub server: Arc<Server>,
    /// The service's configuration, for tests that open sockets.
    pub config: Config,
    /// The database, which is dropped together with this value.
    pub facts: TestDb,
}

/// Deviations from the default service under test.
#[derive(Default)]
pub struct TestOptions {
    /// Additional environment variables.
    pub env: Vec<(&'static str, &'static str)>,
    /// URL of the database; by default the URL of the test's own database.
    pub database: Option<String>,
    /// Uses the real clock instead of one that only the test changes.
    pub real_clock: bool,
    /// The egress of webhooks; by default the one of the system's name servers.
    pub outward: Option<Egress>,
    /// The destination of access lines; by default none.
    pub access_log: Option<AccessLog>,
}

impl TestApp {
    /// A service without facts. Its catalog is built and empty.
    pub async fn new() -> Self {
        Self::with(TestOptions::default()).await
    }

    /// A service with the facts of [`crate::support::market`].
    pub async fn with_market() -> Self {
        let test = Self::new().await;
        test.ingest(&crate::support::market::lines()).await;
        test
    }

    /// A service with these deviations.
    pub async fn with(options: TestOptions) -> Self {
        Self::over(TestDb::new().await, options).await
    }

    /// A service over an existing database, with these deviations.
    pub async fn over(facts: TestDb, options: TestOptions) -> Self {
        let url = options.database.unwrap_or_else(|| facts.url.clone());
        let mut env = BTreeMap::from([
            ("DATABASE_URL", url.as_str()),
            ("RDS_EDGE_ASSERTION_KEYS", EDGE_KEY),
            ("RDS_ADMIN_TOKEN", ADMIN_TOKEN),
            ("RDS_EDGE_ADDR", "127.0.0.1:0"),
            ("RDS_RELAY_ADDR", "127.0.0.1:0"),
            ("RDS_ADMIN_ADDR", "127.0.0.1:0"),
        ]);
        env.extend(options.env);
        let config = Config::read(|name| env.get(name).map(|value| (*value).to_owned())).unwrap();
        let clock = if options.real_clock { Clock::system() } else { Clock::held(Timestamp::parse(NOW).unwrap()) };
        let db = Db::connect_lazy(config.database.url.expose(), 5).unwrap();
        let outward = options.outward.unwrap_or_else(Egress::of_system);
        let access_log = options.access_log.unwrap_or_else(AccessLog::off);
        let app = App::reaching(&config, db, clock, access_log, outward).unwrap();
        refresh::refresh(&app).await.unwrap();
        let server = Server::new(&config, app.clone());
        TestApp { app, server, config, facts }
    }

    /// Ingests observations through the admin listener and refreshes the catalog.
    pub async fn ingest(&self, lines: &str) -> Reply {
        let reply = self.admin("POST", "/ingest", lines).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        refresh::refresh(&self.app).await.unwrap();
        reply
    }

    /// A GET of an anonymous caller, with an edge assertion.
    pub async fn get(&self, target: &str) -> Reply {
        self.ask(signed("GET", target, "")).await
    }

    /// A GET of an anonymous caller that must succeed. Returns the body as JSON.
    pub async fn json(&self, target: &str) -> Value {
        let reply = self.get(target).await;
        assert_eq!(reply.status, StatusCode::OK, "{target}: {}", reply.text());
        reply.json()
    }

    /// A POST of JSON by an anonymous caller, with an edge assertion.
    pub async fn post(&self, target: &str, body: &str) -> Reply {
        self.ask(signed("POST", target, body)).await
    }

    /// A GET of a key's holder, with an edge assertion.
    pub async fn get_as(&self, caller: &Principal, target: &str) -> Reply {
        self.ask(signed_as(&caller.to_json(), "GET", target, "")).await
    }

    /// A message from the edge itself.
    pub async fn message(&self, path: &str, body: &impl Serialize) -> Reply {
        self.ask(signed_as(link::EDGE, "POST", path, &serde_json::to_string(body).unwrap())).await
    }

    /// Any request at the edge listener.
    pub async fn ask(&self, request: Request) -> Reply {
        self.at(Listener::Edge, request).await
    }

    /// Any request at the admin listener, with the admin token.
    pub async fn admin(&self, method: &str, target: &str, body: &str) -> Reply {
        let request =
            Request::builder().method(method).uri(target).header("authorization", format!("Bearer {ADMIN_TOKEN}"));
        self.at(Listener::Admin, request.body(Body::from(body.to_owned())).unwrap()).await
    }

    /// Any request at any listener.
    pub async fn at(&self, listener: Listener, request: Request) -> Reply {
        self.from(PEER, listener, request).await
    }

    /// Any request at any listener, from the address `peer`.
    pub async fn from(&self, peer: &str, listener: Listener, request: Request) -> Reply {
        let method = request.method().clone();
        let answer = pipeline::answer(&self.server, Ingress::new(listener, peer.parse().unwrap()), request).await;
        Reply::read(method, answer).await
    }
}

/// The holder of a key of `plan`. The key is not in the database.
pub fn holder(plan: Plan) -> Principal {
    Principal::Key { id: 1, org_id: 1, plan }
}

/// A request as the edge sends it for an anonymous caller.
pub fn signed(method: &str, target: &str, body: &str) -> Request {
    signed_as(&Principal::Anonymous.to_json(), method, target, body)
}

/// A request as the edge sends it for the caller `principal`, which is JSON.
pub fn signed_as(principal: &str, method: &str, target: &str, body: &str) -> Request {
    sign(EDGE_KEY, principal, (method, target, body), Clock::system().wall().as_seconds())
}

/// A request of an anonymous caller, signed at `seconds` (Unix time).
pub fn signed_at(method: &str, target: &str, body: &str, seconds: i64) -> Request {
    sign(EDGE_KEY, &Principal::Anonymous.to_json(), (method, target, body), seconds)
}

/// A request signed with any key, at any time, for any caller. The tuple is method, target and body.
pub fn sign(key: &str, principal: &str, (method, target, body): (&str, &str, &str), seconds: i64) -> Request {
    let key = AssertionKey::parse(key).unwrap();
    let covered = SignedRequest { method, target, body: body.as_bytes(), principal };
    let assertion = Assertion::sign(&key, &covered, seconds, entropy::random_bytes());
    Request::builder()
        .method(method)
        .uri(target)
        .header(headers::ASSERTION, assertion.to_header())
        .header(headers::PRINCIPAL, principal)
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap()
}

#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    async fn read(method: Method, response: axum::response::Response) -> Self {
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
        let reply = Reply { status: head.status, headers: head.headers, body };
        reply.check(&method);
        reply
    }

    /// Checks what every response must have.
    fn check(&self, method: &Method) {
        let id = self.header("x-request-id").expect("every answer has a request id");
        assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        assert_ne!(self.status.as_u16(), 422);
        if matches!(self.status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT) || *method == Method::HEAD {
            assert!(self.body.is_empty());
            return;
        }
        assert_eq!(self.header("content-length"), Some(self.body.len().to_string().as_str()));
        if self.status.is_client_error() || (self.status.is_server_error() && self.body.starts_with(b"{\"error\"")) {
            assert_eq!(self.header("content-type"), Some("application/json"));
            assert_eq!(self.header("cache-control"), Some("no-store"));
            assert_eq!(self.json()["error"]["request_id"], id);
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// `error.code`.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// `error.message`.
    pub fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }
}
