//! The admin listener: ingestion, metrics, the test clock, readiness.
//!
//! Its paths are not part of the public interface, so they are listed here and not in the route table.

use crate::clock_check;
use crate::http::exchange::answer::{Answer, Failure, METRICS_TEXT, wrong_method};
use crate::http::exchange::body;
use crate::http::exchange::trace::Trace;
use crate::http::listeners::ingest;
use crate::http::server::Server;
use crate::http::service::health;
use crate::metrics::{Caller, Label, openmetrics};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::time::Micros;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use rds_store::service::test_clock;
use serde::{Deserialize, Serialize};

/// Largest body of a clock change, in bytes.
const CLOCK_BODY_BYTES: usize = 1_024;

/// Checks the token, then routes. Readiness needs no token, because probes cannot send one.
pub async fn handle(server: &Server, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    trace.label = Label::Admin;
    let (head, body) = request.into_parts();
    let (method, path) = (head.method.as_str(), head.uri.path());
    if path == "/ready" {
        trace.caller = Caller::Probe;
        return if matches!(method, "GET" | "HEAD") {
            health::ready(&server.app).await
        } else {
            Err(wrong_method("GET, HEAD").into())
        };
    }
    if !server.admin_token.authenticates(&head.headers) {
        return Err(ApiError::new(ErrorCode::Unauthorized, "send the admin token as a Bearer credential").into());
    }
    trace.caller = Caller::Operator;
    trace.through.line.prove();
    match (method, path) {
        ("POST", "/ingest") => ingest::take(server, body).await,
        (_, "/ingest") => Err(wrong_method("POST").into()),
        ("GET" | "HEAD", "/metrics") => Ok(metrics(server, &head.headers)),
        (_, "/metrics") => Err(wrong_method("GET, HEAD").into()),
        // Without a test clock this path does not exist.
        (_, "/clock") if !server.app.clock.is_movable() => Err(ApiError::not_found("route").into()),
        ("GET" | "HEAD", "/clock") => now(server),
        ("PUT", "/clock") => {
            let body = body::read(body, CLOCK_BODY_BYTES, &server.limits.operators_bodies).await?;
            move_clock(server, &body.bytes)?;
            store_clock_shift(server).await;
            now(server)
        }
        (_, "/clock") => Err(wrong_method("GET, HEAD, PUT").into()),
        _ => Err(ApiError::not_found("route").into()),
    }
}

/// The metrics, in the format that the scraper asks for.
fn metrics(server: &Server, headers: &HeaderMap) -> Answer {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    match accepted.any(openmetrics::is_asked_for) {
        true => Answer::text(openmetrics::CONTENT_TYPE, server.scrape(true)),
        false => Answer::text(METRICS_TEXT, server.scrape(false)),
    }
}

fn now(server: &Server) -> Result<Answer, Failure> {
    #[derive(Serialize)]
    struct Now {
        now: String,
    }
    Answer::value(&Now { now: Micros(server.app.clock.now()).to_string() })
}

fn move_clock(server: &Server, body: &[u8]) -> Result<(), Failure> {
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
            server.app.clock.set(instant);
        }
        Move { now: None, advance_seconds: Some(seconds) } => {
            server.app.clock.advance(seconds);
        }
        _ => return Err(bad_field("now", "must be given, or advance_seconds, but not both").into()),
    }
    tracing::info!(now = %server.app.clock.now(), "the test clock was moved");
    Ok(())
}

/// Stores the clock's shift for the commands, which use the service's time. Logs an error if the clock is behind the newest facts.
async fn store_clock_shift(server: &Server) {
    if let Err(error) = test_clock::note(&server.app.db, server.app.clock.shift()).await {
        tracing::warn!(%error, "the shift of the test clock could not be stored: commands do not use the moved time");
    }
    match clock_check::newest_work_ahead_of(&server.app.db, server.app.clock.now()).await {
        Ok(Some(newest)) => tracing::error!(now = %server.app.clock.now(), %newest, "{}", clock_check::WENT_BACK),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "could not check whether the clock went back"),
    }
}

fn bad_field(name: &'static str, reason: &str) -> ApiError {
    ApiError::invalid(ErrorCode::InvalidBody, vec![Detail::new(In::Body, name, reason)])
}
