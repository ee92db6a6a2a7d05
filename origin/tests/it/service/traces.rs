//! What an operator finds in the collector: a sampled request with its handler and its SQL under one trace id, and nothing of the others.

use crate::http::limits::bare;
use crate::support::testapp::{ADMIN_TOKEN, EDGE_KEY, TestApp, TestOptions, holder};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use rds_engine::entropy;
use rds_origin::listener::Listener;
use rds_origin::traces::statements;
use rds_shared::access::{Assertion, AssertionKey, BodyDigest, Plan, SignedHead};
use rds_shared::wire::hex::hex;
use rds_shared::wire::{RequestId, headers};
use std::sync::{Arc, Mutex};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// A collector that keeps what it receives.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    /// Starts the collector; returns it with its address.
    async fn start() -> (Self, &'static str) {
        let collector = Collector::default();
        let kept = collector.clone();
        let take = move |headers: axum::http::HeaderMap, body: Bytes| async move {
            assert_eq!(headers["content-type"], "application/x-protobuf");
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let spans = request.resource_spans.into_iter().flat_map(|it| it.scope_spans).flat_map(|it| it.spans);
            kept.0.lock().unwrap().extend(spans);
            StatusCode::OK
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: &'static str = format!("http://{}", listener.local_addr().unwrap()).leak();
        let router = axum::Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (collector, address)
    }

    /// The spans that have arrived, after the service has sent all of its own.
    async fn spans(&self, test: &TestApp) -> Vec<Span> {
        test.app.traces.flush().await;
        self.0.lock().unwrap().clone()
    }
}

/// The service with traces to `collector`, and the layer that `serve` installs for statements.
async fn traced(collector: &'static str, ratio: &'static str) -> (TestApp, DefaultGuard) {
    let subscriber = tracing_subscriber::registry().with(statements::layer());
    let guard = tracing::subscriber::set_default(subscriber);
    let env = vec![("RDS_OTLP_ENDPOINT", collector), ("RDS_TRACE_RATIO", ratio)];
    let test = TestApp::with(TestOptions { env, ..TestOptions::default() }).await;
    test.ingest(&crate::support::market::lines()).await;
    (test, guard)
}

/// A request as the edge signs it, with this `traceparent`. If `covered` is false, somebody added the header on the way.
fn signed_with(traceparent: &str, covered: bool, target: &str) -> Request {
    let (id, key) = (RequestId::from_random([9; 16]).to_string(), AssertionKey::parse(EDGE_KEY).unwrap());
    let principal = holder(Plan::Data).to_json();
    let mut forwarded = vec![(headers::REQUEST_ID, id.as_str())];
    if covered {
        forwarded.push((headers::TRACEPARENT, traceparent));
    }
    let head = SignedHead { method: "GET", target, principal: &principal, forwarded: &forwarded };
    let now = rds_engine::clock::Clock::system().wall().as_seconds();
    let assertion = Assertion::sign_head(&key, &head, BodyDigest::of(b""), now, entropy::random_bytes());
    Request::builder()
        .uri(target)
        .header(headers::ASSERTION, assertion.to_header())
        .header(headers::PRINCIPAL, &principal)
        .header(headers::REQUEST_ID, &id)
        .header(headers::TRACEPARENT, traceparent)
        .body(Body::empty())
        .unwrap()
}

fn attribute<'a>(span: &'a Span, key: &str) -> Option<&'a Value> {
    span.attributes.iter().find(|it| it.key == key)?.value.as_ref()?.value.as_ref()
}

fn text<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    match attribute(span, key)? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

#[tokio::test]
async fn a_request_that_the_edge_sampled_is_found_with_its_handler_and_its_sql_under_one_trace() {
    let (collector, address) = Collector::start().await;
    let (test, _guard) = traced(address, "0").await;
    let id = test.json("/v1/vaults?limit=1").await["data"][0]["id"].as_str().unwrap().to_owned();
    assert!(collector.spans(&test).await.is_empty(), "neither the operator's nor the unsampled request");
    let reply =
        test.ask(signed_with(&format!("00-{TRACE}-{SPAN}-01"), true, &format!("/v1/vaults/{id}?x=secret"))).await;
    assert_eq!(reply.status, StatusCode::OK);
    let spans = collector.spans(&test).await;
    assert!(spans.iter().all(|span| hex(&span.trace_id) == TRACE), "{spans:?}");
    let request = spans.iter().find(|span| span.name.starts_with("GET ")).unwrap();
    assert_eq!(hex(&request.parent_span_id), SPAN);
    assert_eq!(text(request, "rds.request_id"), Some("09090909090909090909090909090909"));
    assert_eq!(text(request, "url.path"), Some(format!("/v1/vaults/{id}").as_str()));
    assert_eq!(attribute(request, "http.response.status_code"), Some(&Value::IntValue(200)));
    assert!(attribute(request, "rds.key").is_some());
    let handler = spans.iter().find(|span| Some(span.name.as_str()) == text(request, "http.route")).unwrap();
    assert_eq!(handler.parent_span_id, request.span_id);
    let statements: Vec<_> = spans.iter().filter(|span| text(span, "db.query.text").is_some()).collect();
    let of_handler = statements.iter().find(|span| span.parent_span_id == handler.span_id).expect("the handler's SQL");
    assert!(text(of_handler, "db.query.text").unwrap().contains(&of_handler.name), "named by the statement's comment");
    for span in &spans {
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        assert!(span.start_time_unix_nano >= request.start_time_unix_nano, "{span:?}");
        assert!(!format!("{span:?}").contains("secret"), "{span:?}");
    }
}

#[tokio::test]
async fn only_the_edge_decides_about_the_trace_of_a_request() {
    let (collector, address) = Collector::start().await;
    let (test, _guard) = traced(address, "0").await;
    let wanted = format!("00-{TRACE}-{SPAN}-01");
    assert_eq!(test.ask(signed_with(&wanted, false, "/v1/health")).await.status, StatusCode::UNAUTHORIZED);
    let not_sampled = format!("00-{TRACE}-{SPAN}-00");
    assert_eq!(test.ask(signed_with(&not_sampled, true, "/v1/health")).await.status, StatusCode::OK);
    let mut of_caller = bare("GET", "/v1/health");
    of_caller.headers_mut().insert(headers::TRACEPARENT, wanted.parse().unwrap());
    test.at(Listener::Relay, of_caller).await;
    assert_eq!(collector.spans(&test).await, Vec::new());
}

#[tokio::test]
async fn requests_without_the_edge_and_jobs_are_sampled_here_and_the_trace_is_the_request_id() {
    let (collector, address) = Collector::start().await;
    let (test, _guard) = traced(address, "1").await;
    let reply = test.at(Listener::Relay, bare("GET", "/v1/health")).await;
    let spans = collector.spans(&test).await;
    let request = spans.iter().find(|span| span.name == "GET Health").unwrap();
    assert_eq!(reply.headers[headers::REQUEST_ID].to_str().unwrap(), hex(&request.trace_id));
    assert!(request.parent_span_id.is_empty());
}

#[tokio::test]
async fn a_histogram_leads_to_the_trace_if_the_scraper_takes_exemplars() {
    let (_collector, address) = Collector::start().await;
    let (test, _guard) = traced(address, "1").await;
    let reply = test.at(Listener::Relay, bare("GET", "/v1/health")).await;
    let scrape = async |accept: &str| {
        let token = format!("Bearer {ADMIN_TOKEN}");
        let request = Request::builder().uri("/metrics").header("authorization", token).header("accept", accept);
        test.at(Listener::Admin, request.body(Body::empty()).unwrap()).await
    };
    let open = scrape("application/openmetrics-text;version=1.0.0,text/plain;q=0.5").await;
    assert!(open.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    let text = open.text();
    let id = reply.headers[headers::REQUEST_ID].to_str().unwrap();
    let exemplar = format!(" # {{trace_id=\"{id}\"}} 0.");
    let is_of_health =
        |line: &str| line.starts_with("rds_request_seconds_bucket{route=\"Health\"") && line.contains(&exemplar);
    assert!(text.lines().any(is_of_health), "{text}");
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE rds_requests counter\nrds_requests_total{"));
    let classic = scrape("text/plain").await.text();
    assert!(!classic.contains("trace_id") && !classic.contains("# EOF"));
    assert!(classic.contains("# TYPE rds_requests_total counter"));
}

#[tokio::test]
async fn a_collector_that_is_away_costs_no_request_and_is_counted() {
    let (test, _guard) = traced("http://127.0.0.1:9", "1").await;
    for _ in 0..3 {
        assert_eq!(test.at(Listener::Relay, bare("GET", "/v1/health")).await.status, StatusCode::OK);
    }
    test.app.traces.flush().await;
    let page = test.admin("GET", "/metrics", "").await.text();
    let count = |outcome: &str| {
        let line = format!("rds_trace_spans_total{{outcome=\"{outcome}\"}} ");
        page.lines().find_map(|it| it.strip_prefix(&line)).unwrap().parse::<u64>().unwrap()
    };
    assert!(count("failed") >= 3 && count("sent") == 0 && count("dropped") == 0);
}

#[tokio::test]
async fn without_a_collector_no_span_is_made() {
    let subscriber = tracing_subscriber::registry().with(statements::layer());
    let _guard = tracing::subscriber::set_default(subscriber);
    let test = TestApp::with_market().await;
    let of_edge = signed_with(&format!("00-{TRACE}-{SPAN}-01"), true, "/v1/health");
    assert_eq!(test.ask(of_edge).await.status, StatusCode::OK);
    assert!(test.app.traces.of_job("a job").is_none());
    let work = std::future::ready([0_u8; 256]);
    let size = size_of_val(&work);
    let step = rds_origin::traces::step("a step", work);
    assert!(size_of_val(&step) <= size + 16, "untraced work is not copied into a larger future");
    assert_eq!(step.await.len(), 256);
}
