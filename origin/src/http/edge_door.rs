//! The edge's door: whoever has no valid assertion learns nothing here, not even which routes exist.

use super::answer::{Answer, Failure};
use super::assertion::{self, Refusal, Speaker};
use super::pipeline::Trace;
use super::{body, messages, router};
use crate::app::App;
use axum::extract::Request;
use axum::http::HeaderMap;
use rds_shared::access::{SignedRequest, link};
use rds_shared::route::{Body, Matching, Method, match_route};
use rds_shared::wire::{ApiError, ErrorCode, RequestId, headers};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Body cap where no route says another: unknown paths must not be told apart from known ones, nor from messages, by it.
const BODY_BYTES: usize = link::MESSAGE_BYTES;

/// Checks the assertion, then routes.
pub async fn handle(app: &Arc<App>, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    let (head, body) = request.into_parts();
    let (Some(signed), Some(principal)) =
        (text(&head.headers, headers::ASSERTION), text(&head.headers, headers::PRINCIPAL))
    else {
        return Err(refused(app, Refusal::Missing));
    };
    let matching = match_route(Method::parse(head.method.as_str()), head.uri.path());
    let body = body::read(body, cap(&matching)).await?;
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let request = SignedRequest { method: head.method.as_str(), target, body: &body, principal };
    let now = app.clock.wall().as_seconds();
    let speaker = assertion::check(&app.assertion_keys, &app.nonces, signed, &request, now)
        .map_err(|refusal| refused(app, refusal))?;
    app.metrics.edge_heard_at.store(now, Relaxed);
    trace.request_id = text(&head.headers, headers::REQUEST_ID).and_then(RequestId::parse);
    match speaker {
        Speaker::Caller(principal) => router::route(app, matching, principal, &head, body, trace).await,
        Speaker::Edge => Box::pin(messages::take(app, &head, &body, trace)).await,
    }
}

/// One answer for every reason; the reason itself is for the log.
fn refused(app: &App, refusal: Refusal) -> Failure {
    app.metrics.assertions_refused.fetch_add(1, Relaxed);
    tracing::debug!(?refusal, "an assertion was refused");
    match refusal {
        Refusal::Full => ErrorCode::ServiceUnavailable.into(),
        _ => ApiError::new(ErrorCode::Unauthorized, "this door opens for the edge only").into(),
    }
}

fn cap(matching: &Matching) -> usize {
    match matching {
        Matching::Found(found) => match found.route.body {
            Body::Json { max_bytes } => max_bytes,
            Body::None => BODY_BYTES,
        },
        Matching::WrongMethod(_) | Matching::NotFound => BODY_BYTES,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
