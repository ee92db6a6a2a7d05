//! The edge's door: whoever has no valid assertion learns nothing here, not even which routes exist, and costs next to nothing.
//!
//! A request is judged by its head: form, key, age, signature, and that the nonce is new. Only then its body is read, and compared with the
//! digest that was signed. Assertions of the release before (v1) can be verified only with the body at hand. Theirs is read once form, key
//! and age are right, in a few seconds and within a few bytes for all of them together; a release later they are refused.

use super::answer::{Answer, Failure};
use super::assertion::{Refusal, Speaker};
use super::body::{self, Held};
use super::pipeline::Trace;
use super::signing::AnswerSigner;
use super::{messages, once, router};
use crate::app::App;
use crate::door::Door;
use axum::body::{Body as Incoming, HttpBody};
use axum::extract::Request;
use axum::http::HeaderMap;
use rds_shared::access::{Assertion, SignedHead, Vouched, forwarded, link};
use rds_shared::route::{Body, Matching, Method, match_route};
use rds_shared::wire::hex::unhex_array;
use rds_shared::wire::{ApiError, ErrorCode, RequestId, headers};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Body cap where no route says another: unknown paths must not be told apart from known ones, nor from messages, by it.
const BODY_BYTES: usize = link::MESSAGE_BYTES;
/// How long a body may be on its way that nothing has proved.
const UNPROVED_WITHIN: Duration = Duration::from_secs(5);

/// Judges the assertion, reads the body, compares it with what was signed, then routes.
pub async fn handle(app: &Arc<App>, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    let (head, body) = request.into_parts();
    let sent = &head.headers;
    let values = |name| sent.get_all(name).iter().map(|value| value.to_str().ok());
    let (Some(signed), Some(principal), Some(forwarded)) =
        (text(sent, headers::ASSERTION), text(sent, headers::PRINCIPAL), forwarded::read(values))
    else {
        return Err(refused(app, trace, Refusal::Missing));
    };
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let covered = SignedHead { method: head.method.as_str(), target, principal, forwarded: &forwarded };
    let now = app.clock.wall().as_seconds();
    let assertion = match Assertion::parse(signed) {
        Ok(assertion) => assertion,
        Err(fault) => return Err(refused(app, trace, Refusal::Assertion(fault))),
    };
    let vouched = match assertion.verify_head(&app.assertion_keys, covered, now) {
        Ok(vouched) => vouched,
        Err(fault) => {
            // The edge is told in the origin's name that its assertion is too old: then one of the two clocks is off.
            let key = assertion.signer(&app.assertion_keys, &covered);
            trace.signer = key.map(|key| AnswerSigner::with(key, assertion.nonce()));
            return Err(refused(app, trace, Refusal::Assertion(fault)));
        }
    };
    trace.signer = AnswerSigner::of(&vouched);
    let request_id = text(sent, headers::REQUEST_ID).and_then(RequestId::parse);
    trace.request_id = request_id.filter(|_| vouched.is_proven());
    let Some(speaker) = Speaker::read(principal) else {
        return Err(refused(app, trace, Refusal::Principal));
    };
    let matching = match_route(Method::parse(head.method.as_str()), head.uri.path());
    let held = if vouched.is_proven() {
        admit(app, &vouched, &speaker, &matching, trace, now).await?;
        body::read(body, cap(&matching), &app.doors.edge_bodies).await?
    } else {
        unproved(app, trace, body, cap(&matching)).await?
    };
    if let Err(fault) = vouched.check_body(&held.bytes) {
        return Err(refused(app, trace, Refusal::Assertion(fault)));
    }
    if !vouched.is_proven() {
        admit(app, &vouched, &speaker, &matching, trace, now).await?;
    }
    trace.request_id = request_id;
    match speaker {
        Speaker::Caller(principal) => router::route(app, matching, principal, &head, held.bytes.clone(), trace).await,
        Speaker::Edge => Box::pin(messages::take(app, &head, &held.bytes, trace)).await,
    }
}

/// The edge made this request: it is not to be made twice, and its connection has shown whose it is.
async fn admit(
    app: &App,
    vouched: &Vouched<'_>,
    speaker: &Speaker,
    matching: &Matching,
    trace: &mut Trace,
    now: i64,
) -> Result<(), Failure> {
    let nonce = vouched.assertion().nonce();
    if let Err(refusal) = app.nonces.spend(nonce, now) {
        return Err(refused(app, trace, refusal));
    }
    trace.through.nonce = unhex_array(nonce);
    if let (Speaker::Caller(_), Matching::Found(found)) = (speaker, matching)
        && once::is_spent_everywhere(found.route)
        && !once::spend(app, &trace.through).await?
    {
        return Err(refused(app, trace, Refusal::Replayed));
    }
    // Not before: somebody else's request, shown again, makes nobody known.
    trace.through.line.prove();
    app.metrics.edge_heard_at.store(now, Relaxed);
    Ok(())
}

/// A body that only a valid signature of the release before would prove.
async fn unproved<'a>(app: &'a App, trace: &Trace, body: Incoming, cap: usize) -> Result<Held<'a>, Failure> {
    if body.is_end_stream() {
        return body::read(body, cap, &app.doors.strange_bodies).await;
    }
    let is_known = app.doors.at(Door::Edge).is_known(trace.through.peer);
    let memory = if is_known { &app.doors.unproved_bodies } else { &app.doors.strange_bodies };
    body::read_within(UNPROVED_WITHIN, body, cap, memory).await
}

/// The answer to a request that is not the edge's. The connection ends with it, so that the edge's second try may reach another process,
/// whose clock or keys are right.
fn refused(app: &App, trace: &mut Trace, refusal: Refusal) -> Failure {
    trace.hangs_up = true;
    refusal_of(app, refusal)
}

/// One answer for every reason; the reason itself is for the log.
pub(super) fn refusal_of(app: &App, refusal: Refusal) -> Failure {
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
