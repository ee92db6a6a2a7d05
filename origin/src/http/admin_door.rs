//! The operators' door: ingest, metrics, the test clock, readiness.
//!
//! Its paths are not part of the public interface and stand here, not in the route table. Source: contracts, "Operator command line".

use super::answer::{Answer, Failure, METRICS_TEXT};
use super::pipeline::Trace;
use super::router::wrong_method;
use super::{body, health, ingest};
use crate::app::App;
use crate::clock_check;
use crate::config::Secret;
use crate::metrics::{Caller, Label};
use crate::store::test_clock;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::time::Micros;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Largest body of a clock change, in bytes.
const CLOCK_BODY_BYTES: usize = 1_024;

/// The operators' token, kept as a digest so that comparing says nothing about it.
#[derive(Debug)]
pub struct AdminToken([u8; 32]);

impl AdminToken {
    /// The token that opens the door.
    pub fn new(token: &Secret) -> Self {
        AdminToken(Sha256::digest(token.expose()).into())
    }

    /// Whether the request carries it. Takes as long for every wrong token.
    fn opens_for(&self, headers: &HeaderMap) -> bool {
        let presented = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        let digest: [u8; 32] = Sha256::digest(presented.unwrap_or_default()).into();
        let difference = digest.iter().zip(&self.0).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

/// Checks the token, then routes. Readiness needs none: probes cannot carry one.
pub async fn handle(app: &Arc<App>, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    trace.label = Label::Admin;
    let (head, body) = request.into_parts();
    let (method, path) = (head.method.as_str(), head.uri.path());
    if path == "/ready" {
        trace.caller = Caller::Probe;
        return if matches!(method, "GET" | "HEAD") {
            health::ready(app).await
        } else {
            Err(wrong_method("GET, HEAD").into())
        };
    }
    if !app.admin_token.opens_for(&head.headers) {
        return Err(ApiError::new(ErrorCode::Unauthorized, "send the admin token as a Bearer credential").into());
    }
    trace.caller = Caller::Operator;
    trace.through.line.prove();
    match (method, path) {
        ("POST", "/ingest") => ingest::take(app, body).await,
        (_, "/ingest") => Err(wrong_method("POST").into()),
        ("GET" | "HEAD", "/metrics") => Ok(Answer::text(METRICS_TEXT, app.scrape())),
        (_, "/metrics") => Err(wrong_method("GET, HEAD").into()),
        // Without a test clock there is nothing here.
        (_, "/clock") if !app.clock.is_movable() => Err(ApiError::not_found("route").into()),
        ("GET" | "HEAD", "/clock") => now(app),
        ("PUT", "/clock") => {
            let body = body::read(body, CLOCK_BODY_BYTES, &app.doors.operators_bodies).await?;
            move_clock(app, &body.bytes)?;
            tell_verbs(app).await;
            now(app)
        }
        (_, "/clock") => Err(wrong_method("GET, HEAD, PUT").into()),
        _ => Err(ApiError::not_found("route").into()),
    }
}

fn now(app: &App) -> Result<Answer, Failure> {
    #[derive(Serialize)]
    struct Now {
        now: String,
    }
    Answer::value(&Now { now: Micros(app.clock.now()).to_string() })
}

fn move_clock(app: &App, body: &[u8]) -> Result<(), Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Move {
        now: Option<String>,
        advance_seconds: Option<i64>,
    }
    let wanted: Move =
        serde_json::from_slice(body).map_err(|error| ApiError::new(ErrorCode::InvalidBody, error.to_string()))?;
    match wanted {
        Move { now: Some(text), advance_seconds: None } => {
            let instant = Timestamp::parse(&text).ok_or_else(|| bad_field("now", "must be an ISO 8601 instant"))?;
            app.clock.set(instant);
        }
        Move { now: None, advance_seconds: Some(seconds) } => {
            app.clock.advance(seconds);
        }
        _ => return Err(bad_field("now", "or advance_seconds must be given, and not both").into()),
    }
    tracing::info!(now = %app.clock.now(), "the test clock was moved");
    Ok(())
}

/// Operators' verbs go by the service's clock: they read how far it is. A clock that went back behind what is there is said loudly.
async fn tell_verbs(app: &App) {
    if let Err(error) = test_clock::note(&app.db, app.clock.shift()).await {
        tracing::warn!(%error, "operators' verbs do not know of the moved test clock");
    }
    match clock_check::behind(&app.db, app.clock.now()).await {
        Ok(Some(newest)) => tracing::error!(now = %app.clock.now(), %newest, "{}", clock_check::WENT_BACK),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "whether the clock went back is not known"),
    }
}

fn bad_field(name: &'static str, reason: &str) -> ApiError {
    ApiError::invalid(ErrorCode::InvalidBody, vec![Detail::new(In::Body, name, reason)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_the_whole_token_opens_the_door() {
        let token = AdminToken::new(&Secret::from("correct-horse-battery".to_owned()));
        let opens = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            token.opens_for(&headers)
        };
        assert!(opens("Bearer correct-horse-battery"));
        for wrong in [
            "Bearer correct-horse-batter",
            "Bearer ",
            "correct-horse-battery",
            "bearer correct-horse-battery",
            "Basic x",
        ] {
            assert!(!opens(wrong), "{wrong}");
        }
        assert!(!token.opens_for(&HeaderMap::new()));
    }
}
