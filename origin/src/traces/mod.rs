//! Traces: spans of sampled requests and jobs, sent to an OpenTelemetry collector.
//!
//! The edge decides whether a caller's request is traced and says so in the signed head of its call; this process decides for the other
//! listeners and for its jobs. The spans of one task find their parent through [`CURRENT`], so statements need no extra argument.
//!
//! Without `RDS_OTLP_ENDPOINT`, and for a request that is not sampled, no span exists: a step runs as it is, without an allocation
//! (`tests/it/service/traces.rs`). Without it sqlx formats no statement either (`telemetry.rs`).

pub mod export;
mod span;
pub mod statements;

pub use span::{Kind, Span, SpanContext};

use crate::config::TraceConfig;
use export::{ClientError, Message, Meters};
use futures_util::future::Either;
use rds_engine::clock::Clock;
use rds_engine::entropy;
use rds_shared::wire::RequestId;
use rds_shared::wire::traceparent::{SampleRatio, TraceParent};
use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::mpsc;

tokio::task_local! {
    /// The span that this task works for.
    static CURRENT: Active;
    /// The request that this task answers, traced or not.
    static REQUEST: RequestId;
}

/// The span that a task works for.
struct Active {
    context: SpanContext,
    /// The span itself if it ends together with the task's work.
    _ends: Option<Span>,
}

/// Where the spans of this process go, and which are made. Clones share the queue.
#[derive(Debug, Clone, Default)]
pub struct Traces(Option<Arc<Recorder>>);

/// What every span needs.
#[derive(Debug)]
struct Recorder {
    queue: mpsc::Sender<Message>,
    ratio: SampleRatio,
    clock: Clock,
    meters: Arc<Meters>,
}

impl Traces {
    /// Spans of the requests and jobs that are sampled, and what sends them. Without a configuration nothing is recorded.
    ///
    /// Must be called within the runtime, where the sender then runs until this value is dropped.
    pub fn new(config: Option<&TraceConfig>, clock: &Clock, meters: &Arc<Meters>) -> Result<Self, ClientError> {
        let Some(config) = config else { return Ok(Traces(None)) };
        let (queue, waiting) = mpsc::channel(export::MAX_WAITING);
        let sender = export::Sender::new(config, meters)?;
        tokio::spawn(sender.keep_sending(waiting));
        Ok(Traces(Some(Arc::new(Recorder {
            queue,
            ratio: config.ratio,
            clock: clock.clone(),
            meters: meters.clone(),
        }))))
    }

    /// Whether spans are made at all.
    pub fn are_on(&self) -> bool {
        self.0.is_some()
    }

    /// The span of a request that the edge sampled.
    pub fn of_edge(&self, name: Cow<'static, str>, parent: TraceParent) -> Option<Span> {
        let recorder = self.0.as_ref().filter(|_| parent.sampled)?;
        Some(Span::begin(recorder, name, Kind::Server, parent.trace_id, Some((parent.span_id, true))))
    }

    /// The span of a request that arrived at this process, if its id is sampled. The trace's id is the request's.
    pub fn of_request(&self, name: Cow<'static, str>, id: RequestId) -> Option<Span> {
        let recorder = self.0.as_ref().filter(|recorder| recorder.ratio.records(id))?;
        Some(Span::begin(recorder, name, Kind::Server, id.to_bytes(), None))
    }

    /// The span of a round of a job, if it is sampled. Its trace is sent only if [`Span::keep`] is called.
    pub fn of_job(&self, name: &'static str) -> Option<Span> {
        let recorder = self.0.as_ref()?;
        let id = RequestId::from_random(entropy::random_bytes());
        let is_sampled = recorder.ratio.records(id);
        is_sampled.then(|| Span::begin(recorder, name.into(), Kind::Internal, id.to_bytes(), None).held())
    }

    /// Sends the spans that wait. Called at the end of the process.
    pub async fn flush(&self) {
        if let Some(recorder) = &self.0 {
            export::flush(&recorder.queue).await;
        }
    }
}

impl Recorder {
    /// Queues an ended span, or counts it as dropped if too many wait.
    fn send(&self, span: opentelemetry_proto::tonic::trace::v1::Span) {
        if self.queue.try_send(Message::Span(Box::new(span))).is_err() {
            self.meters.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// Runs `future` as work for a request, and of the request's span if it has one.
pub fn for_request<F: Future>(
    id: RequestId,
    context: Option<SpanContext>,
    future: F,
) -> impl Future<Output = F::Output> {
    REQUEST.scope(id, within(context, future))
}

/// Runs `future` as work of a span, which its caller ends.
pub fn within<F: Future>(context: Option<SpanContext>, future: F) -> impl Future<Output = F::Output> {
    scoped(context.map(|context| Active { context, _ends: None }), future)
}

/// Runs `future` as the work of `span`, which ends together with it.
pub fn run<F: Future>(span: Option<Span>, future: F) -> impl Future<Output = F::Output> {
    scoped(span.map(|span| Active { context: span.context(), _ends: Some(span) }), future)
}

/// Runs `future` as a span of its own under the current one, if there is one.
pub fn step<F: Future>(name: &'static str, future: F) -> impl Future<Output = F::Output> {
    run(child(name.into(), Kind::Internal), future)
}

/// The future itself, or boxed together with the span: only traced work allocates, and the untraced future does not grow.
fn scoped<F: Future>(active: Option<Active>, future: F) -> impl Future<Output = F::Output> {
    match active {
        None => Either::Left(future),
        Some(active) => Either::Right(Box::pin(CURRENT.scope(active, future))),
    }
}

/// A span under the current one.
fn child(name: Cow<'static, str>, kind: Kind) -> Option<Span> {
    CURRENT.try_with(|active| active.context.child(name, kind)).ok()
}

/// Whether the current task works for a span.
fn is_traced() -> bool {
    CURRENT.try_with(|_| ()).is_ok()
}

/// The trace that the current task works for, as an exemplar.
pub fn current_trace() -> Option<[u8; 16]> {
    CURRENT.try_with(|active| active.context.trace_id()).ok()
}
