//! A span: a named piece of work with its beginning, its end and what is known about it.

use super::Recorder;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span as Sent, Status};
use rds_engine::entropy;
use rds_shared::wire::Timestamp;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// OTLP's flag of a sampled span (W3C Trace Context).
const SAMPLED: u32 = 0x001;
/// OTLP's flags of a span whose parent is known to be in this process, or in another one.
const PARENT_IS_LOCAL: u32 = 0x100;
const PARENT_IS_REMOTE: u32 = 0x300;
/// Maximum number of spans of a job's trace.
const MAX_HELD: usize = 1_024;

/// The kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answers a request of another process.
    Server,
    /// Asks another process, such as Postgres.
    Client,
    /// Work inside this process.
    Internal,
}

/// The place of a span in its trace; further spans begin under it.
#[derive(Debug, Clone)]
pub struct SpanContext {
    recorder: Arc<Recorder>,
    trace: [u8; 16],
    span: [u8; 8],
    /// The ended spans of a job's trace, until it is known whether the job had anything to do.
    held: Option<Arc<Held>>,
}

/// The spans of a job's trace.
#[derive(Debug, Default)]
struct Held {
    spans: Mutex<Vec<Sent>>,
    is_kept: AtomicBool,
}

/// A running span. It ends when it is dropped, also if its work was cancelled.
#[derive(Debug)]
pub struct Span {
    context: SpanContext,
    name: Cow<'static, str>,
    kind: Kind,
    /// The parent, and whether it is in another process.
    parent: Option<([u8; 8], bool)>,
    began_at: Timestamp,
    attributes: Vec<KeyValue>,
    failed: bool,
}

impl SpanContext {
    /// The id of the trace.
    pub(super) fn trace_id(&self) -> [u8; 16] {
        self.trace
    }

    /// A span under this one.
    pub(super) fn child(&self, name: Cow<'static, str>, kind: Kind) -> Span {
        let mut span = Span::begin(&self.recorder, name, kind, self.trace, Some((self.span, false)));
        span.context.held.clone_from(&self.held);
        span
    }
}

impl Span {
    pub(super) fn begin(
        recorder: &Arc<Recorder>,
        name: Cow<'static, str>,
        kind: Kind,
        trace: [u8; 16],
        parent: Option<([u8; 8], bool)>,
    ) -> Self {
        let context = SpanContext { recorder: recorder.clone(), trace, span: entropy::random_bytes(), held: None };
        let began_at = recorder.clock.wall();
        Span { context, name, kind, parent, began_at, attributes: Vec::new(), failed: false }
    }

    /// Holds back the spans of this trace until this span ends, and drops them unless [`Self::keep`] was called: most rounds of a job find
    /// nothing to do.
    pub(super) fn held(mut self) -> Self {
        self.context.held = Some(Arc::default());
        self
    }

    /// Keeps the trace of a job.
    pub fn keep(&self) {
        if let Some(held) = &self.context.held {
            held.is_kept.store(true, Relaxed);
        }
    }

    /// The span's place, for the work that is done for it.
    pub fn context(&self) -> SpanContext {
        self.context.clone()
    }

    /// The id of its trace.
    pub fn trace_id(&self) -> [u8; 16] {
        self.context.trace
    }

    /// Renames the span once more is known about its work.
    pub fn rename(&mut self, name: impl Into<Cow<'static, str>>) {
        self.name = name.into();
    }

    /// Moves the beginning back, because the work began before it was known that it is traced.
    pub fn began_earlier(&mut self, micros: u64) {
        let micros = i64::try_from(micros).unwrap_or(0);
        self.began_at = Timestamp::from_micros(self.began_at.as_micros().saturating_sub(micros));
    }

    /// Adds a text. It must not be a secret or a caller's address.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>) {
        self.put(key, Value::StringValue(value.into()));
    }

    /// Adds a number.
    pub fn set_number(&mut self, key: &'static str, value: i64) {
        self.put(key, Value::IntValue(value));
    }

    /// Marks the work as failed.
    pub fn fail(&mut self) {
        self.failed = true;
    }

    fn put(&mut self, key: &'static str, value: Value) {
        self.attributes.push(attribute(key, value));
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let began_at = self.began_at.as_micros();
        // A clock that is set back meanwhile must not end a span before its beginning.
        let ended_at = self.context.recorder.clock.wall().as_micros().max(began_at);
        let flags = match self.parent {
            None => SAMPLED,
            Some((_, false)) => SAMPLED | PARENT_IS_LOCAL,
            Some((_, true)) => SAMPLED | PARENT_IS_REMOTE,
        };
        let code = if self.failed { StatusCode::Error } else { StatusCode::Unset };
        let kind = match self.kind {
            Kind::Server => SpanKind::Server,
            Kind::Client => SpanKind::Client,
            Kind::Internal => SpanKind::Internal,
        };
        let span = Sent {
            trace_id: self.context.trace.to_vec(),
            span_id: self.context.span.to_vec(),
            parent_span_id: self.parent.map(|(id, _)| id.to_vec()).unwrap_or_default(),
            flags,
            name: std::mem::take(&mut self.name).into_owned(),
            kind: kind as i32,
            start_time_unix_nano: nanos(began_at),
            end_time_unix_nano: nanos(ended_at),
            attributes: std::mem::take(&mut self.attributes),
            status: Some(Status { message: String::new(), code: code as i32 }),
            ..Sent::default()
        };
        let Some(held) = &self.context.held else { return self.context.recorder.send(span) };
        let is_root = self.parent.is_none();
        let mut spans = held.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if spans.len() < MAX_HELD || is_root {
            spans.push(span);
        }
        if is_root && held.is_kept.load(Relaxed) {
            spans.drain(..).for_each(|span| self.context.recorder.send(span));
        }
    }
}

/// An attribute of a span or of this process.
pub(super) fn attribute(key: &'static str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn nanos(micros: i64) -> u64 {
    u64::try_from(micros).unwrap_or(0).saturating_mul(1_000)
}
