//! Figures and tables of the guides, generated from the service's constants.

use rds_shared::access::Neighbourhood;
use rds_shared::access::budget::{ANONYMOUS_PER_DAY, AddressBudget, FIRST_PARTY_PER_DAY, WINDOW_SECONDS, key_limit};
use rds_shared::access::paging::MAX_ROWS_WITHOUT_KEY;
use rds_shared::access::plan::{INDEX_TOKEN_RPM, Plan};
use rds_shared::push::breaker;
use rds_shared::push::event_type::EventType;
use rds_shared::push::gap::GapReason;
use rds_shared::push::schedule::{ATTEMPTS, DELAYS_SECONDS, LIST_LIMIT, REPLAY_WINDOW_SECONDS, TIMEOUT_SECONDS};
use rds_shared::push::signature::TOLERANCE_SECONDS;
use rds_shared::push::stream_limits::{
    HEARTBEAT_SECONDS, MAX_QUEUED_FRAMES, REPLAY_LIMIT, REPLAY_WINDOW_SECONDS as STREAM_WINDOW, STREAMS_PER_KEY,
    STREAMS_PER_VIEWER,
};
use rds_shared::route::bounds::{MCP_ANSWER_BYTES, MCP_MESSAGE_BYTES};
use rds_shared::route::{ROUTES, RateLimitClass};
use rds_shared::rules::tiers::Tier;
use rds_shared::wire::{ErrorCode, TARGET_BYTES};
use std::fmt::Write;

/// The figure or table that a guide includes with `{{facts NAME}}`.
pub fn table(name: &str) -> Result<String, String> {
    if let Some(code) = name.strip_prefix("retry-after ") {
        let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
        let seconds = known.and_then(|known| known.retry_after());
        return seconds.map(|seconds| seconds.to_string()).ok_or_else(|| format!("{code} has no Retry-After"));
    }
    Ok(match name {
        "plans" => plans(),
        "budgets" => budgets(),
        "errors" => errors(),
        "gaps" => gaps(),
        "event-types" => event_types(),
        "retries" => retries(),
        "anonymous-rpm" => AddressBudget::Anonymous.limit().to_string(),
        "anonymous-day" => grouped(ANONYMOUS_PER_DAY),
        "first-party-day" => grouped(FIRST_PARTY_PER_DAY),
        "neighbours-v4" => Neighbourhood::V4(core::net::Ipv4Addr::UNSPECIFIED).ratio().to_string(),
        "neighbours-v6" => Neighbourhood::V6(core::net::Ipv6Addr::UNSPECIFIED).ratio().to_string(),
        "window" => WINDOW_SECONDS.to_string(),
        "tiers" => tiers(),
        "copy-age" => span(ROUTES.iter().map(|route| route.cache.fresh).max().unwrap_or_default().into()),
        "mcp-answer" => (MCP_ANSWER_BYTES / 1_024).to_string(),
        "mcp-message" => (MCP_MESSAGE_BYTES / 1_024).to_string(),
        "target-bytes" => TARGET_BYTES.to_string(),
        "keyless-rows" => MAX_ROWS_WITHOUT_KEY.to_string(),
        "index-rpm" => INDEX_TOKEN_RPM.to_string(),
        "stream-window-hours" => (STREAM_WINDOW / 3_600).to_string(),
        "stream-replay" => grouped(REPLAY_LIMIT),
        "heartbeat" => HEARTBEAT_SECONDS.to_string(),
        "queue" => MAX_QUEUED_FRAMES.to_string(),
        "streams-per-key" => STREAMS_PER_KEY.to_string(),
        "streams-per-viewer" => STREAMS_PER_VIEWER.to_string(),
        "attempts" => ATTEMPTS.to_string(),
        "timeout" => TIMEOUT_SECONDS.to_string(),
        "tolerance-minutes" => (TOLERANCE_SECONDS / 60).to_string(),
        "replay-hours" => (REPLAY_WINDOW_SECONDS / 3_600).to_string(),
        "deliveries" => LIST_LIMIT.to_string(),
        "breaker-row" => breaker::FAILURES_IN_A_ROW.to_string(),
        "breaker-minutes" => (breaker::FAILURES_WITHIN_SECONDS / 60).to_string(),
        "breaker-finals" => breaker::FINALS_AT_LEAST.to_string(),
        "breaker-pauses" => breaker::PAUSES_UNTIL_DISABLED.to_string(),
        "breaker-hours" => (breaker::PAUSE_SECONDS / 3_600).to_string(),
        other => return Err(format!("unknown fact `{other}`")),
    })
}

fn plans() -> String {
    let mut out = String::from("| Plan | Requests per minute | Includes |\n|---|--:|---|\n");
    for plan in Plan::ALL {
        let opens = match plan {
            Plan::Data => {
                "bulk scores, the change feed, the event stream, history of real-world assets, the markets that a vault lends to"
            }
            Plan::Decisioning => {
                "everything above, look-through, checks with signed decisions, breach preview, incident exposure, webhooks"
            }
            Plan::Embedded => "everything above, and individually agreed features",
        };
        let _ = writeln!(out, "| `{plan}` | {} | {opens} |", grouped(plan.default_rpm()));
    }
    out
}

/// The tiers with the lowest score of each.
fn tiers() -> String {
    let from = |tier: &Tier| match tier.floor().get() {
        0 => format!("`{tier}` below"),
        floor => format!("`{tier}` from {}", f64::from(floor) / 1_000.0),
    };
    Tier::ALL.iter().rev().map(from).collect::<Vec<_>>().join(", ")
}

fn budgets() -> String {
    let mut out = String::from("| Requests | Limit per minute | Counted per |\n|---|--:|---|\n");
    let mut row = |kind: &str, limit: String, by: &str| {
        let _ = writeln!(out, "| {kind} | {limit} | {by} |");
    };
    row(
        "Without a key",
        AddressBudget::Anonymous.limit().to_string(),
        "IP address; an IPv6 address counts with its network",
    );
    row("The service's own applications", AddressBudget::FirstParty.limit().to_string(), "address");
    row("With a key", "the plan's, or as agreed".into(), "key, from all addresses together");
    row("With an index token", INDEX_TOKEN_RPM.to_string(), "token");
    let family = |family| key_limit(family, 0).unwrap_or_default().to_string();
    let both = "key, and also the IP address from which it is used";
    row("Graph reads", format!("{}, or the key's own limit if it is higher", family(RateLimitClass::GraphRead)), both);
    row("Checks of a portfolio", family(RateLimitClass::GraphCheck), both);
    row("Changes to basket webhooks", family(RateLimitClass::BasketWebhooks), both);
    row("`/v1/status`", AddressBudget::Status.limit().to_string(), "address, separately from all other requests");
    row("`/v1/health`", AddressBudget::Health.limit().to_string(), "address, separately from all other requests");
    row("`/ready`, `/v1/docs`, messages to `/v1/mcp`", "not limited".into(), "");
    out
}

fn errors() -> String {
    let mut out = String::from("| Status | Code | Meaning | What to do |\n|--:|---|---|---|\n");
    for code in ErrorCode::ALL {
        let (means, todo) = (code.about(), advice(*code));
        let wait = code.retry_after().map_or_else(String::new, |_| " Wait for `Retry-After`.".into());
        let _ = writeln!(out, "| {} | `{}` | {means} | {todo}{wait} |", code.status(), code.as_str());
    }
    out
}

/// What a client can do about an error.
fn advice(code: ErrorCode) -> String {
    let todo = match code {
        ErrorCode::InvalidParameter => "Read `details`: it names each invalid parameter and what is allowed.",
        ErrorCode::MissingParameter => "Send the parameter that `details` names.",
        ErrorCode::InvalidAddress => "Check the address for a lost or changed character.",
        ErrorCode::AddressNamespaceMismatch => {
            "Check the chain: addresses are `0x…` on EVM chains and base58 on Solana."
        }
        ErrorCode::InvalidCursor => "Send cursors back unchanged; without a cursor, begin with an instant.",
        ErrorCode::InvalidBody => "Read `details`: it names the invalid field.",
        ErrorCode::TooManyItems => "Split the items over several requests.",
        ErrorCode::WebhookUrlRejected => "Use HTTPS and a public host name that resolves.",
        ErrorCode::Unauthorized => "Send a live key as `Authorization: Bearer …`.",
        ErrorCode::Forbidden => "The message names the required plan, or the limit without a key.",
        ErrorCode::NotFound => "Check the id. The graph routes exist only if the feature is switched on.",
        ErrorCode::MethodNotAllowed => "Use a method listed in `Allow`.",
        ErrorCode::Conflict => "Read the current state, then decide again.",
        ErrorCode::IdempotencyKeyReused => "Use a new key for a new request.",
        ErrorCode::VersionRetired => "Follow `Link`, or `error.successor`.",
        ErrorCode::PayloadTooLarge => "Split the body over several requests.",
        ErrorCode::UriTooLong => {
            return format!("Keep the URL within {TARGET_BYTES} bytes: request fewer items at once.");
        }
        ErrorCode::UnsupportedMediaType => "Send `Content-Type: application/json`.",
        ErrorCode::RateLimited => "The full limit is available again when the window ends.",
        ErrorCode::DailyLimitExceeded => "Use a key: keys have no daily limit.",
        ErrorCode::StreamLimitReached => "Close a stream.",
        ErrorCode::InternalError => "Retry, and report the `request_id` if the error persists.",
        ErrorCode::ServiceUnavailable | ErrorCode::ShuttingDown => "Retry.",
        ErrorCode::FailClosed => "Treat scores as unknown.",
        ErrorCode::MaterializationUnavailable => "Retry: there is no fallback.",
        ErrorCode::DeadlineExceeded => "Request less at once.",
    };
    todo.to_owned()
}

fn gaps() -> String {
    let mut out = String::from("| `reason` | What happened | What to do | Connection |\n|---|---|---|---|\n");
    for reason in GapReason::ALL {
        let (means, todo) = match reason {
            GapReason::QueueOverflow => (
                "Your client read too slowly, and its queue was full.",
                "Reconnect with the last cursor that you received.",
            ),
            GapReason::ReplayTruncated => {
                ("The replay reached the maximum of one connection.", "Reconnect with the gap's cursor.")
            }
            GapReason::CursorLegacy => (
                "The cursor has the format of an earlier API version.",
                "Load the current state; the whole window follows.",
            ),
            GapReason::CursorUnknown => (
                "The cursor was never issued, or is no longer valid.",
                "Load the current state; the `cursor` frame that follows replaces your cursor.",
            ),
            GapReason::CursorInvalid => (
                "The cursor is malformed.",
                "Load the current state; the `cursor` frame that follows replaces your cursor.",
            ),
            GapReason::CursorExpired => {
                ("The cursor is older than the window.", "Load the older events; the window follows.")
            }
            GapReason::ReplayFailed => {
                ("The journal could not be read.", "Reconnect with your last cursor, with growing delays.")
            }
        };
        let after = if reason.closes() { "is closed" } else { "stays open" };
        let _ = writeln!(out, "| `{reason}` | {means} | {todo} | {after} |");
    }
    out
}

fn event_types() -> String {
    let mut out = String::from("| `event_type` | `data` | Sent when |\n|---|---|---|\n");
    for event_type in EventType::ALL {
        let (data, when) = match event_type {
            EventType::EventPublished => ("the event, as `/v1/events/{id}` serves it", "an event becomes public"),
            EventType::EventRetracted => {
                ("the same, with `retracted_at` and `retracted_reason`", "a public event is retracted")
            }
            EventType::RatingChanged => ("the event about the change", "a vault's published score or tier changes"),
            EventType::SecurityEventPublished => {
                ("the row, as `/v1/security-events` serves it", "an incident enters the registry's feed")
            }
            EventType::WebhookTest => ("`{\"subscription_id\": …}`", "you request a test"),
            EventType::BasketRebalanced => {
                ("the basket's new version and its changes", "a basket that you follow has a new version")
            }
            EventType::BasketVersionDeprecated => {
                ("the version and its successor", "the version that you are pinned to will be retired")
            }
            EventType::BasketVersionRetired => {
                ("the version and its successor", "the version that you are pinned to was retired")
            }
        };
        let _ = writeln!(out, "| `{event_type}` | {data} | {when} |");
    }
    out
}

fn retries() -> String {
    let mut out = String::from("| Attempt | Delay after the previous attempt |\n|--:|---|\n| 1 | at once |\n");
    for (number, seconds) in (2..).zip(DELAYS_SECONDS) {
        let _ = writeln!(out, "| {number} | {} |", span(seconds));
    }
    out
}

fn span(seconds: i64) -> String {
    match seconds {
        60 => "1 minute".into(),
        3_600 => "1 hour".into(),
        _ if seconds % 3_600 == 0 => format!("{} hours", seconds / 3_600),
        _ if seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        _ => format!("{seconds} seconds"),
    }
}

/// A number below a million, with a space between thousands.
fn grouped(number: u32) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands} {rest:03}"),
    }
}
