//! The edge listener. A response to a request without a valid edge assertion reveals nothing, not even which routes exist, and costs very
//! little.
//!
//! The head is verified first: form, key, age, signature, and that the nonce is new. Only then is the body read and compared with the
//! signed digest.
//!
//! Assertions of the previous release (v1) can be verified only with the body. Such a body is read once form, key and age are right, within
//! five seconds and within a small memory limit for all such bodies. The next release refuses v1.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::body::{self, Held};
use crate::http::exchange::router;
use crate::http::exchange::signing::AnswerSigner;
use crate::http::exchange::trace::Trace;
use crate::http::listeners::assertion::{Refusal, RequestOrigin, refusal_of};
use crate::http::listeners::{edge_messages, replays};
use crate::http::server::Server;
use crate::listener::Listener;
use crate::traces;
use axum::body::{Body as Incoming, HttpBody};
use axum::extract::Request;
use axum::http::HeaderMap;
use rds_engine::entropy;
use rds_shared::access::{Assertion, SignedHead, VerifiedHead, forwarded, link};
use rds_shared::route::{Body, Matching, Method, match_route};
use rds_shared::wire::hex::unhex_array;
use rds_shared::wire::traceparent::TraceParent;
use rds_shared::wire::{RequestId, headers};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Body limit for paths without a limit of their own. It equals the limit of the edge's messages, so that a refusal does not reveal which
/// paths exist.
const BODY_BYTES: usize = link::MESSAGE_BYTES;
/// Time limit for reading an unverified body.
const UNVERIFIED_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Verifies the assertion, reads the body, compares it with the signed digest, then routes.
pub async fn handle(server: &Server, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    let (head, body) = request.into_parts();
    let sent = &head.headers;
    let all = sent.iter().map(|(name, value)| (name.as_str(), value.to_str().ok()));
    let (Some(signed), Some(principal), Some(forwarded)) =
        (text(sent, headers::ASSERTION), text(sent, headers::PRINCIPAL), forwarded::read(all))
    else {
        return Err(refused(server, trace, Refusal::Missing));
    };
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let covered = SignedHead { method: head.method.as_str(), target, principal, forwarded: &forwarded };
    let now = server.app.clock.wall().as_seconds();
    let assertion = match Assertion::parse(signed) {
        Ok(assertion) => assertion,
        Err(fault) => return Err(refused(server, trace, Refusal::Assertion(fault))),
    };
    let vouched = match assertion.verify_head(&server.assertion_keys, covered, now) {
        Ok(vouched) => vouched,
        Err(fault) => {
            // If the edge made the assertion, the refusal is signed. An edge whose assertion has expired then knows that one of the two
            // clocks is wrong.
            let key = assertion.signer(&server.assertion_keys, &covered);
            trace.signer = key.map(|key| AnswerSigner::with(key, assertion.nonce()));
            return Err(refused(server, trace, Refusal::Assertion(fault)));
        }
    };
    trace.signer = AnswerSigner::of(&vouched);
    let request_id = text(sent, headers::REQUEST_ID).and_then(RequestId::parse);
    trace.request_id = request_id.filter(|_| vouched.is_proven());
    let Some(speaker) = RequestOrigin::read(principal) else {
        return Err(refused(server, trace, Refusal::Principal));
    };
    let matching = match_route(Method::parse(head.method.as_str()), head.uri.path());
    let held = if vouched.is_proven() {
        admit(server, &vouched, &speaker, &matching, trace, now).await?;
        body::read(body, cap(&matching), &server.limits.edge_bodies).await?
    } else {
        Box::pin(read_unverified(server, trace, body, cap(&matching))).await?
    };
    if let Err(fault) = vouched.check_body(&held.bytes) {
        return Err(refused(server, trace, Refusal::Assertion(fault)));
    }
    if !vouched.is_proven() {
        admit(server, &vouched, &speaker, &matching, trace, now).await?;
    }
    let request_id = request_id.unwrap_or_else(|| RequestId::from_random(entropy::random_bytes()));
    trace.request_id = Some(request_id);
    // An assertion of the previous release does not cover this header.
    let parent = text(sent, headers::TRACEPARENT).filter(|_| vouched.is_proven()).and_then(TraceParent::parse);
    let traced = trace.begin(parent.and_then(|parent| server.app.traces.of_edge("request".into(), parent)));
    match speaker {
        RequestOrigin::Caller(principal) => {
            traces::for_request(
                request_id,
                traced,
                router::route(server, matching, principal, &head, held.bytes.clone(), trace),
            )
            .await
        }
        RequestOrigin::Edge => {
            traces::for_request(
                request_id,
                traced,
                Box::pin(edge_messages::take(&server.app, &head, &held.bytes, vouched.key(), trace)),
            )
            .await
        }
    }
}

/// Admits a verified request: spends its nonce so that it cannot be replayed, and marks its connection as proved.
async fn admit(
    server: &Server,
    vouched: &VerifiedHead<'_>,
    speaker: &RequestOrigin,
    matching: &Matching,
    trace: &mut Trace,
    now: i64,
) -> Result<(), Failure> {
    let nonce = vouched.assertion().nonce();
    if let Err(refusal) = server.nonces.spend(nonce, now) {
        return Err(refused(server, trace, refusal));
    }
    trace.through.nonce = unhex_array(nonce);
    if let (RequestOrigin::Caller(_), Matching::Found(found)) = (speaker, matching)
        && replays::is_spent_everywhere(found.route)
        && !Box::pin(replays::spend(&server.app.db, &trace.through)).await?
    {
        return Err(refused(server, trace, Refusal::Replayed));
    }
    // The connection is proved after the nonce is spent: a replayed request must not make its sender a known peer.
    trace.through.line.prove();
    server.app.metrics.edge_heard_at.store(now, Relaxed);
    Ok(())
}

/// Reads the body of a v1 request, whose assertion can be verified only with the body.
async fn read_unverified<'a>(
    server: &'a Server,
    trace: &Trace,
    body: Incoming,
    cap: usize,
) -> Result<Held<'a>, Failure> {
    if body.is_end_stream() {
        return body::read(body, cap, &server.limits.strange_bodies).await;
    }
    let is_known = server.limits.at(Listener::Edge).is_known(trace.through.peer);
    let memory = if is_known { &server.limits.unproved_bodies } else { &server.limits.strange_bodies };
    body::read_within(UNVERIFIED_BODY_TIMEOUT, body, cap, memory).await
}

/// The refusal of a request without a valid assertion. It closes the connection, so that the edge's retry may reach another process with
/// the right clock or keys.
fn refused(server: &Server, trace: &mut Trace, refusal: Refusal) -> Failure {
    trace.hangs_up = true;
    refusal_of(&server.app.metrics, refusal)
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
