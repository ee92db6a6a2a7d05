//! What happens to every request, whichever door it came through.
//!
//! Door → handler → one finisher → metrics and access log. A panic becomes an answer like every other failure.

use super::answer::{Answer, Failure, respond, tell_allowance, tell_fail_safe, tell_ignored};
use super::line::Line;
use super::signing::{AnswerSigner, Unsigned};
use super::{admin_door, edge_door, relay_door};
use crate::app::App;
use crate::clock::Stopwatch;
use crate::door::Door;
use crate::entropy;
use crate::metrics::{Caller, Label};
use crate::panics::{caught, panic_text};
use crate::telemetry::AccessLine;
use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use rds_shared::access::budget::Verdict;
use rds_shared::wire::{ApiError, ErrorCode, RequestId, TARGET_BYTES};
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

/// How a request came in.
#[derive(Debug, Clone)]
pub struct Through {
    /// The door.
    pub door: Door,
    /// Who connected to it.
    pub peer: IpAddr,
    /// The connection.
    pub line: Line,
    /// What makes its assertion unlike every other, once that held; none at the other doors.
    pub nonce: Option<[u8; 16]>,
}

impl Through {
    /// On a connection of its own.
    pub fn new(door: Door, peer: IpAddr) -> Self {
        Through { door, peer, line: Line::default(), nonce: None }
    }
}

/// What is known of a request while it is handled; it outlives a panic of the handler.
#[derive(Debug)]
pub struct Trace {
    /// How it came in.
    pub through: Through,
    /// The edge's id once its assertion held; until then, and at the other doors, none.
    pub request_id: Option<RequestId>,
    /// Signs the answer, once the assertion is known to be the edge's.
    pub signer: Option<AnswerSigner>,
    /// Whether the connection ends with the answer.
    pub hangs_up: bool,
    /// What the request is counted under.
    pub label: Label,
    /// Who sent it, as far as that is known.
    pub caller: Caller,
    /// What its allowance said, where this process metered it.
    pub verdict: Option<Verdict>,
    /// Parameters that the route does not have, as the caller is told of them.
    pub ignored: Option<String>,
}

impl Trace {
    /// What is known before anything was read of the request.
    pub fn new(through: Through) -> Self {
        Trace {
            through,
            request_id: None,
            signer: None,
            hangs_up: false,
            label: Label::Unmatched,
            caller: Caller::Unknown,
            verdict: None,
            ignored: None,
        }
    }
}

/// Answers one request.
pub async fn answer(app: &Arc<App>, through: Through, request: Request) -> Response {
    let door = through.door;
    let watch = Stopwatch::start();
    let head_only = request.method() == Method::HEAD;
    let mut trace = Trace::new(through);
    let result = match caught(handle(app, request, &mut trace)).await {
        Ok(result) => result,
        Err(panic) => Err(Failure::Internal(format!("panicked: {}", panic_text(&*panic)))),
    };
    // Withheld on purpose, not built yet, or being replaced: each is told of elsewhere. A caller who asks for it again and again must
    // not make the service look worse for everybody.
    let is_withheld = matches!(&result, Err(Failure::Api(error)) if matches!(
        error.code,
        ErrorCode::FailClosed | ErrorCode::MaterializationUnavailable | ErrorCode::ShuttingDown
    ));
    let request_id = trace.request_id.unwrap_or_else(|| RequestId::from_random(entropy::random_bytes()));
    let Unsigned { mut response, body } = respond(result, request_id, trace.label, head_only);
    if let Some(verdict) = &trace.verdict {
        tell_allowance(&mut response, verdict);
    }
    if let Some(ignored) = trace.ignored.take() {
        tell_ignored(&mut response, ignored);
    }
    let (status, micros) = (response.status().as_u16(), watch.micros());
    if let Label::Route(id) = trace.label {
        if id.route().tells_fail_safe() {
            tell_fail_safe(&mut response, app.fail_safe());
        }
        if id.route().family.is_traffic() && !is_withheld {
            app.traffic.answered(app.clock.now(), status >= 500);
        }
    }
    if trace.hangs_up {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(signer) = &trace.signer {
        signer.sign(&mut response, body.as_ref());
    }
    app.metrics.requests.answered(trace.label, status, micros);
    app.metrics.requests.called(door, trace.caller);
    let bytes = response.body().size_hint().exact().unwrap_or(0) as usize;
    let at = app.clock.wall();
    app.access_log.write(
        &AccessLine { at, door: door.name(), request_id, label: trace.label, status, bytes, micros },
        &app.metrics,
    );
    response
}

async fn handle(app: &Arc<App>, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    if request.uri().path_and_query().is_some_and(|target| target.as_str().len() > TARGET_BYTES) {
        return Err(ErrorCode::UriTooLong.into());
    }
    match trace.through.door {
        Door::Edge => in_time(app, edge_door::handle(app, request, trace)).await,
        Door::Relay => in_time(app, Box::pin(relay_door::handle(app, request, trace))).await,
        // An operator's import may take as long as it takes.
        Door::Admin => Box::pin(admin_door::handle(app, request, trace)).await,
    }
}

/// Stops a read at its deadline.
async fn in_time(app: &App, handling: impl Future<Output = Result<Answer, Failure>>) -> Result<Answer, Failure> {
    match tokio::time::timeout(app.read_deadline, handling).await {
        Ok(result) => result,
        Err(_) => Err(ApiError::from(ErrorCode::DeadlineExceeded).into()),
    }
}
