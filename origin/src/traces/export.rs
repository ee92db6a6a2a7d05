//! Sends ended spans to the collector in batches (OTLP over HTTP, protobuf), from a bounded queue.
//!
//! A collector that is slow or away delays nothing: spans that find the queue full, and batches that are not accepted, are dropped and
//! counted.

use super::span::attribute;
use crate::config::TraceConfig;
use crate::metrics::head;
use crate::outbound::Client;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Uri};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use rds_shared::VERSION;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

pub use tokio_rustls::rustls::Error as ClientError;

/// Maximum number of spans that wait; a span takes about one KB.
pub(super) const MAX_WAITING: usize = 4_096;
/// Maximum number of spans in a batch.
const MAX_BATCH: usize = 512;
/// Pause before a batch that is not full is sent.
const BATCH_PAUSE: Duration = Duration::from_secs(1);
/// Time limit for sending a batch.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for sending what waits at the end of the process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// What waits in the queue.
#[derive(Debug)]
pub enum Message {
    Span(Box<Span>),
    /// Send what waits now, and answer.
    Flush(oneshot::Sender<()>),
}

/// Counts of spans by what became of them.
#[derive(Debug, Default)]
pub struct Meters {
    /// Accepted by the collector.
    pub(super) sent: AtomicU64,
    /// Dropped because the queue was full.
    pub(super) dropped: AtomicU64,
    /// Not accepted by the collector in time.
    pub(super) failed: AtomicU64,
}

impl Meters {
    /// Appends the metric as Prometheus text.
    pub fn render(&self, out: &mut String) {
        const NAME: &str = "rds_trace_spans_total";
        head(out, NAME, "Spans of traces, by what became of them.", "counter");
        for (outcome, count) in [("sent", &self.sent), ("dropped", &self.dropped), ("failed", &self.failed)] {
            let _ = writeln!(out, "{NAME}{{outcome=\"{outcome}\"}} {}", count.load(Relaxed));
        }
    }
}

/// Sends batches to the collector.
#[derive(Debug)]
pub(super) struct Sender {
    client: Client,
    to: Uri,
    meters: Arc<Meters>,
    working: bool,
}

impl Sender {
    pub(super) fn new(config: &TraceConfig, meters: &Arc<Meters>) -> Result<Self, ClientError> {
        Ok(Sender { client: Client::new()?, to: config.traces.clone(), meters: meters.clone(), working: true })
    }

    /// Sends what arrives in the queue until its other end is gone.
    pub(super) async fn keep_sending(mut self, mut waiting: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(MAX_BATCH);
        while waiting.recv_many(&mut messages, MAX_BATCH).await > 0 {
            if messages.len() < MAX_BATCH && !messages.iter().any(|message| matches!(message, Message::Flush(_))) {
                sleep(BATCH_PAUSE).await;
                while messages.len() < MAX_BATCH
                    && let Ok(message) = waiting.try_recv()
                {
                    messages.push(message);
                }
            }
            let (mut spans, mut flushes) = (Vec::with_capacity(messages.len()), Vec::new());
            for message in messages.drain(..) {
                match message {
                    Message::Span(span) => spans.push(*span),
                    Message::Flush(done) => flushes.push(done),
                }
            }
            self.send(spans).await;
            for done in flushes {
                // The asking side may have given up.
                let _ = done.send(());
            }
        }
    }

    async fn send(&mut self, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        let body = request(spans).encode_to_vec();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let fault = match self.client.post(&self.to, headers, body, SEND_TIMEOUT).await {
            Ok(answer) if answer.status.is_success() => None,
            Ok(answer) => Some(format!("it answered {}", answer.status)),
            Err(error) => Some(error.to_string()),
        };
        let Some(fault) = fault else {
            self.meters.sent.fetch_add(count, Relaxed);
            self.working = true;
            return;
        };
        self.meters.failed.fetch_add(count, Relaxed);
        if std::mem::replace(&mut self.working, false) {
            tracing::warn!(fault, "the collector does not accept traces; they are dropped");
        }
    }
}

/// Asks the sender to send what waits, and waits until it has, or gave up.
pub(super) async fn flush(queue: &mpsc::Sender<Message>) {
    let (done, sent) = oneshot::channel();
    let asked = async {
        if queue.send(Message::Flush(done)).await.is_ok() {
            let _ = sent.await;
        }
    };
    let _ = timeout(FLUSH_TIMEOUT, asked).await;
}

/// The spans with the process and the program that they come from.
fn request(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let text = |value: &str| Value::StringValue(value.to_owned());
    let attributes = vec![attribute("service.name", text("rds-origin")), attribute("service.version", text(VERSION))];
    let scope =
        InstrumentationScope { name: "rds-origin".to_owned(), version: VERSION.to_owned(), ..Default::default() };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..Default::default() }];
    let resource = Some(Resource { attributes, ..Default::default() });
    ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { resource, scope_spans, ..Default::default() }] }
}
