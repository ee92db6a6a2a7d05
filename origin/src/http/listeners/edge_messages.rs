//! Messages of the edge itself: key look-ups, usage counts, counts of responses that the edge gave without the origin, and requests for its
//! replica.
//!
//! Their paths are not part of the public interface. A signed message has the edge itself as its principal; a caller's request
//! never has that principal.

use crate::app::App;
use crate::edge_link::outbox;
use crate::http::exchange::answer::{Answer, Failure, wrong_method};
use crate::http::exchange::trace::Trace;
use crate::http::listeners::edge_replica;
use crate::keys::known::{self, LookupError};
use crate::keys::usage::{self, Applied, Batch};
use crate::metrics::{Caller, Label};
use axum::http::Method;
use axum::http::request::Parts;
use rds_shared::access::AssertionKey;
use rds_shared::access::credential::{CredentialText, Kind};
use rds_shared::access::link::{
    ALIVE, EDGE_ANSWERS, EDGE_ANSWERS_MINUTES, EdgeAnswers, KEY_LOOKUP_PATH, KeyLookup, KeyLookupResponse, REPLICA,
    SEGMENTS, USAGE, UsageBatch,
};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use rds_store::keys::edge_outbox;
use rds_store::service::status::{self, Tally};
use serde::de::DeserializeOwned;
use std::sync::atomic::Ordering::Relaxed;

/// `Retry-After` in seconds for a look-up that came while too many older keys were being verified.
const RETRY_AFTER_SECONDS: u32 = 2;

/// Answers a message. The edge itself may not call public routes: every other path is unknown.
///
/// `key` signed the message.
pub async fn take(
    app: &App,
    head: &Parts,
    body: &[u8],
    key: &AssertionKey,
    trace: &mut Trace,
) -> Result<Answer, Failure> {
    let path = head.uri.path();
    if ![KEY_LOOKUP_PATH, USAGE, EDGE_ANSWERS, ALIVE, REPLICA, SEGMENTS].contains(&path) {
        return Err(ApiError::not_found("route").into());
    }
    (trace.label, trace.caller) = (Label::EdgeMessage, Caller::Edge);
    if path == ALIVE {
        return if head.method == Method::GET { Ok(Answer::no_content()) } else { Err(wrong_method("GET").into()) };
    }
    if head.method != Method::POST {
        return Err(wrong_method("POST").into());
    }
    match path {
        KEY_LOOKUP_PATH => question(app, &read(body)?).await,
        EDGE_ANSWERS => answered(app, &read(body)?).await,
        REPLICA => edge_replica::update(app, body, key).await,
        SEGMENTS => edge_replica::segments(app, body).await,
        _ => counted(app, read(body)?).await,
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::new(ErrorCode::InvalidBody, error.to_string()))
}

pub(super) fn bad_field(name: &'static str, reason: &str) -> ApiError {
    ApiError::invalid(ErrorCode::InvalidBody, vec![Detail::new(In::Body, name, reason)])
}

/// Answers a [`KeyLookup`] with a [`KeyLookupResponse`].
async fn question(app: &App, question: &KeyLookup) -> Result<Answer, Failure> {
    let text = match &question.text {
        None => None,
        Some(text) => {
            let text = CredentialText::parse(Kind::ApiKey, text).ok_or_else(|| bad_field("text", "must be a key"))?;
            if text.digest() != question.digest || text.shown() != question.shown {
                return Err(bad_field("text", "must match `digest` and begin with `shown`").into());
            }
            Some(text)
        }
    };
    app.edge_seen.note(&app.db).await?;
    let answer = known::look_up(&app.db, &app.prover, &question.digest, &question.shown, text).await?;
    // `told` promises the edge every later change of the record. It is set for keys only: changes of keys are sent until the edge
    // acknowledges them, but the revocation of an index token is sent once, by the command.
    let is_key = question.shown.starts_with(Kind::ApiKey.prefix());
    let told = is_key && edge_outbox::is_sender_alive(&app.db, outbox::SENDER_SEEN_SECONDS).await?;
    Answer::value(&KeyLookupResponse { answer, told })
}

/// Stores the counts in [`EdgeAnswers`]: responses that the edge gave without the origin. Ignores minutes that are too old or in the
/// future.
async fn answered(app: &App, answers: &EdgeAnswers) -> Result<Answer, Failure> {
    // The edge counts by the wall clock; the status feed uses the domain time.
    let (now, wall) = (app.clock.now(), app.clock.wall());
    let shift = now.as_seconds().saturating_sub(wall.as_seconds());
    let (first, last) = (wall.as_seconds() / 60 - EDGE_ANSWERS_MINUTES as i64, wall.as_seconds() / 60 + 1);
    let minutes: Vec<_> = answers
        .minutes
        .iter()
        .take(2 * EDGE_ANSWERS_MINUTES)
        .filter(|counts| (first..=last).contains(&counts.minute))
        .map(|counts| {
            let at = Timestamp::from_seconds(counts.minute * 60 + shift);
            let requests = counts.good.saturating_add(counts.refused).saturating_add(counts.failed);
            (at, Tally { requests, failed: counts.failed })
        })
        .collect();
    let more = status::note_edge_answers(&app.db, answers.source, &minutes).await?;
    app.metrics.answers.note_edge(more);
    Ok(Answer::no_content())
}

/// Adds the requests of a [`UsageBatch`] to the stored counts. After the 204, the edge does not send the batch again.
async fn counted(app: &App, batch: UsageBatch) -> Result<Answer, Failure> {
    let (digest, sequence) = (batch.digest, batch.sequence);
    let batch = Batch::check(batch).map_err(|faults| ApiError::invalid(ErrorCode::InvalidBody, faults))?;
    let applied = usage::apply(&app.db, &batch).await?;
    match applied {
        Applied::Added | Applied::OfToken => app.metrics.usage_applied.fetch_add(1, Relaxed),
        Applied::Repeated => app.metrics.usage_repeated.fetch_add(1, Relaxed),
        Applied::AfterGap | Applied::NoSuchKey => {
            tracing::warn!(
                ?digest,
                sequence,
                ?applied,
                "usage counts were lost: this database lacks the key or an earlier batch"
            );
            app.metrics.usage_lost.fetch_add(1, Relaxed)
        }
    };
    Ok(Answer::no_content())
}

impl From<LookupError> for Failure {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Store(error) => error.into(),
            LookupError::Busy => ApiError::from(ErrorCode::ServiceUnavailable).retry_after(RETRY_AFTER_SECONDS).into(),
        }
    }
}
