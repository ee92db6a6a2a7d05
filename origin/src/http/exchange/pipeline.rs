//! The steps of every request, on any listener.
//!
//! Listener → handler → response → metrics and access log. A panic becomes an error response like every other failure.

use crate::http::exchange::answer::{
    Answer, Failure, add_fail_safe_header, add_ignored_header, add_rate_limit_headers, respond,
};
use crate::http::exchange::signing::Unsigned;
use crate::http::exchange::trace::{Ingress, Trace};
use crate::http::listeners::{admin, edge, relay};
use crate::http::server::Server;
use crate::listener::Listener;
use crate::metrics::{Caller, Label};
use crate::panics::{caught, panic_text};
use crate::telemetry::{AccessLine, CredentialId};
use crate::traces::{self, Span, SpanContext};
use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use rds_engine::entropy;
use rds_shared::wire::{ApiError, ErrorCode, RequestId, TARGET_BYTES};
use std::future::Future;

/// Answers one request.
pub async fn answer(server: &Server, through: Ingress, request: Request) -> Response {
    let listener = through.listener;
    let head_only = request.method() == Method::HEAD;
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let mut trace = Trace::new(through);
    let result = match caught(handle(server, request, &mut trace)).await {
        Ok(result) => result,
        Err(panic) => Err(Failure::Internal(format!("panicked: {}", panic_text(&*panic)))),
    };
    // A 503 for withheld scores, for a snapshot that is not built yet or during a shutdown reports an intended state. It must not count as
    // a failure of the service.
    let is_withheld = matches!(&result, Err(Failure::Api(error)) if matches!(
        error.code,
        ErrorCode::FailClosed | ErrorCode::MaterializationUnavailable | ErrorCode::ShuttingDown
    ));
    let request_id = trace.request_id.unwrap_or_else(|| RequestId::from_random(entropy::random_bytes()));
    let Unsigned { mut response, body } = respond(result, request_id, trace.label, head_only);
    if let Some(verdict) = &trace.verdict {
        add_rate_limit_headers(&mut response, verdict);
    }
    if let Some(ignored) = trace.ignored.take() {
        add_ignored_header(&mut response, ignored);
    }
    let (status, micros) = (response.status().as_u16(), trace.watch.micros());
    if let Label::Route(id) = trace.label {
        if id.route().states_fail_safe_mode() {
            add_fail_safe_header(&mut response, server.app.catalog.fail_safe());
        }
        if id.route().rate_limit_class.is_traffic() && !is_withheld {
            let failed = status >= 500;
            server.app.traffic.answered(server.app.clock.now(), failed);
            server.app.metrics.answers.note_own(failed);
        }
    }
    if trace.hangs_up {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(signer) = &trace.signer {
        signer.sign(&mut response, body.as_ref());
    }
    let recorded = trace.span.as_ref().map(Span::trace_id);
    server.app.metrics.requests.answered(trace.label, status, micros, recorded);
    server.app.metrics.requests.called(listener, trace.caller);
    let bytes = response.body().size_hint().exact().unwrap_or(0) as usize;
    let at = server.app.clock.wall();
    if let Some(span) = trace.span.take() {
        end_span(span, &trace, (method.as_str(), uri.path()), request_id, status);
    }
    server.app.access_log.write(
        &AccessLine {
            at,
            listener: listener.name(),
            request_id,
            label: trace.label,
            method: method.as_str(),
            path: logged_path(&trace, uri.path(), status),
            caller: trace.caller,
            credential: trace.credential,
            status,
            bytes,
            micros,
        },
        &server.app.metrics,
    );
    response
}

/// Ends the span of a request with what the access line says.
fn end_span(mut span: Span, trace: &Trace, (method, path): (&str, &str), request_id: RequestId, status: u16) {
    span.rename(format!("{method} {}", trace.label.name()));
    span.set("http.request.method", method);
    span.set("http.route", trace.label.name());
    if let Some(path) = logged_path(trace, path, status) {
        span.set("url.path", path);
    }
    span.set_number("http.response.status_code", i64::from(status));
    span.set("rds.request_id", request_id.to_string());
    span.set("rds.listener", trace.through.listener.name());
    span.set("rds.caller", trace.caller.name());
    match trace.credential {
        Some(CredentialId::Key { id, org }) => {
            span.set_number("rds.key", id);
            span.set_number("rds.org", org);
        }
        Some(CredentialId::IndexToken { id }) => span.set_number("rds.index_token", id),
        None => {}
    }
    if status >= 500 {
        span.fail();
    }
}

/// The path in the access line and in the span. The path of a request that was refused is arbitrary text of its caller, which may be a credential in
/// the wrong place, so the route's pattern stands in for it.
fn logged_path<'a>(trace: &Trace, path: &'a str, status: u16) -> Option<&'a str> {
    let is_refused = status >= 400;
    match trace.label {
        Label::Route(id) if is_refused => Some(id.route().path),
        Label::Admin if trace.caller == Caller::Unknown => None,
        Label::Route(_) | Label::EdgeMessage | Label::Admin => (!is_refused).then_some(path),
        Label::Unmatched => None,
    }
}

async fn handle(server: &Server, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    if request.uri().path_and_query().is_some_and(|target| target.as_str().len() > TARGET_BYTES) {
        return Err(ErrorCode::UriTooLong.into());
    }
    match trace.through.listener {
        Listener::Edge => in_time(server, edge::handle(server, request, trace)).await,
        Listener::Relay => {
            let (id, traced) = begin(server, trace);
            in_time(server, Box::pin(traces::for_request(id, traced, relay::handle(server, request, trace)))).await
        }
        // An operator's import has no time limit.
        Listener::Admin => {
            let (id, traced) = begin(server, trace);
            Box::pin(traces::for_request(id, traced, admin::handle(server, request, trace))).await
        }
    }
}

/// Gives a request that came without the edge its id, and begins its span if this process samples it.
fn begin(server: &Server, trace: &mut Trace) -> (RequestId, Option<SpanContext>) {
    let request_id = RequestId::from_random(entropy::random_bytes());
    trace.request_id = Some(request_id);
    (request_id, trace.begin(server.app.traces.of_request("request".into(), request_id)))
}

/// Fails a request that is still running at the read deadline.
async fn in_time(server: &Server, handling: impl Future<Output = Result<Answer, Failure>>) -> Result<Answer, Failure> {
    match tokio::time::timeout(server.read_deadline, handling).await {
        Ok(result) => result,
        Err(_) => Err(ApiError::from(ErrorCode::DeadlineExceeded).into()),
    }
}
