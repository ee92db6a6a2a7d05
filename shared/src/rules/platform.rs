//! How the parts of the service do: what makes each degraded or down, and what they add up to.
//!
//! Source: interface, "Platform component rules" and "Health and status records".

use crate::model::health::FailSafeMode;
use crate::model::status_feed::{Component, ComponentName, ComponentStatus, StatusFeed, StatusSignals, Uptime};
use crate::wire::time::Timestamp;
use ComponentStatus::{Degraded, Down, Operational};
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

/// The span that errors and overflows are looked at over, in seconds.
pub const RECENT_SECONDS: i64 = 15 * 60;
/// The newest vault sync may be this old, in seconds.
pub const FRESH_SECONDS: i64 = 90 * 60;
/// Fewer answers say nothing of their errors.
const LEAST_REQUESTS: u64 = 200;
/// More 5xx than this in a thousand answers are too many: 0.5 percent.
const ERRORS_IN_A_THOUSAND: u64 = 5;
/// Failed samples in a row that mean down.
const FAILED_SAMPLES: u64 = 3;
/// Fewer attempts say nothing of deliveries.
const LEAST_ATTEMPTS: u64 = 10;
/// Percent of attempts that have to succeed.
const DELIVERED_PERCENT: u64 = 80;

/// What was found of a part: how it does, and why where there is something to say.
pub type Found = (ComponentStatus, Option<Cow<'static, str>>);

const FINE: Found = (Operational, None);

/// The API: whether its heartbeat, which asks its own readiness at its own door, got a good answer.
pub const fn api(beats: bool) -> Found {
    if beats {
        FINE
    } else {
        (
            Down,
            Some(Cow::Borrowed(
                "the heartbeat fails: the service's own door or its database does not answer, or it is starting or stopping",
            )),
        )
    }
}

/// The way from outside: `None` where no sample was taken lately, be it that nobody does or that none could be written down.
pub fn reachability(failed_in_a_row: Option<u64>) -> Found {
    match failed_in_a_row {
        None => (Operational, Some("not sampled from outside within 15 minutes".into())),
        Some(0) => FINE,
        Some(failed @ FAILED_SAMPLES..) => {
            (Down, Some(format!("{failed} samples from outside failed in a row").into()))
        }
        Some(failed) => (Operational, Some(format!("{failed} of {FAILED_SAMPLES} samples from outside failed").into())),
    }
}

/// The share of answers that were faults of ours.
pub fn errors(requests: u64, failed: u64) -> Found {
    let too_many = failed.saturating_mul(1_000) > requests.saturating_mul(ERRORS_IN_A_THOUSAND);
    match requests >= LEAST_REQUESTS && too_many {
        true => (Degraded, Some(format!("{failed} of {requests} answers in 15 minutes were errors of ours").into())),
        false => FINE,
    }
}

/// The event stream: whether a subscriber's queue overflowed within [`RECENT_SECONDS`].
pub const fn events_stream(overflowed: bool) -> Found {
    if overflowed { (Degraded, Some(Cow::Borrowed("a subscriber's queue overflowed within 15 minutes"))) } else { FINE }
}

/// Webhooks: how the last hour's attempts went, and whether any delivery was given up.
pub fn webhooks(attempts: u64, delivered: u64, has_dead_letters: bool) -> Found {
    if has_dead_letters {
        return (Degraded, Some("deliveries were given up and not replayed".into()));
    }
    let too_few = delivered.saturating_mul(100) < attempts.saturating_mul(DELIVERED_PERCENT);
    match attempts >= LEAST_ATTEMPTS && too_few {
        true => (Degraded, Some(format!("{delivered} of {attempts} attempts in an hour were delivered").into())),
        false => FINE,
    }
}

/// The data: how old the newest vault sync is at `now`.
pub fn data_freshness(newest: Option<Timestamp>, now: Timestamp) -> Found {
    match newest {
        None => (Degraded, Some("no vault was read yet".into())),
        Some(at) if now.seconds_since(at) > FRESH_SECONDS => {
            let minutes = now.seconds_since(at) / 60;
            (Degraded, Some(format!("the newest vault sync is {minutes} minutes old").into()))
        }
        Some(_) => FINE,
    }
}

/// Writes: whether the database refuses them. What is there is read all the same.
pub const fn writes(are_refused: bool) -> Found {
    if are_refused {
        (Degraded, Some(Cow::Borrowed("the database refuses writes: facts wait, and changes are answered 503")))
    } else {
        FINE
    }
}

/// Scores: whether they are current, with the reason where they are not.
pub fn fail_safe(mode: FailSafeMode, reason: Option<&str>) -> Found {
    let because = |what: &str| match reason {
        Some(reason) => Some(format!("{what}: {reason}").into()),
        None => Some(Cow::Owned(what.into())),
    };
    match mode {
        FailSafeMode::Normal => FINE,
        FailSafeMode::Degraded => (Degraded, because("the last good scores are served")),
        FailSafeMode::FailClosed => (Down, because("scores are withheld")),
    }
}

/// Nothing could be found of a part, for this reason.
pub const fn unread(reason: &'static str) -> Found {
    (Degraded, Some(Cow::Borrowed(reason)))
}

/// Percent of `minutes` that were `up`, with three decimals, rounded down.
pub fn uptime(up: u64, minutes: u64) -> Option<f64> {
    let thousandths = u128::from(up.min(minutes)).saturating_mul(100_000).checked_div(u128::from(minutes))?;
    Some(thousandths as f64 / 1_000.0)
}

/// The feed of these components.
pub fn feed(components: Vec<Component>, uptime: Uptime, signals: StatusSignals, now: Timestamp) -> StatusFeed {
    let worst = |counts: fn(ComponentName) -> bool| {
        let counted = components.iter().filter(|component| counts(component.name));
        counted.map(|component| component.status).max().unwrap_or(Operational)
    };
    let leads = |name| matches!(name, ComponentName::Api | ComponentName::Reachability | ComponentName::Errors);
    StatusFeed { status: worst(leads), rollup: worst(|_| true), last_checked_at: now, uptime, components, signals }
}

/// What a host before the service says when the service gives no feed: nothing is known of its parts, but for `api`.
///
/// One that `answers`, with an error, is there: how it does could not be read, as of any part. Without an answer it is down.
pub fn untold(answers: bool, now: Timestamp) -> StatusFeed {
    let found = |name| match (name, answers) {
        (ComponentName::Api, true) => unread("could not be read: the service answered with an error"),
        (ComponentName::Api, false) => (Down, Some(Cow::Borrowed("the service does not answer"))),
        (_, true) => unread("could not be read: the service could not tell"),
        (_, false) => unread("could not be read: the service does not answer"),
    };
    let component = |name: &ComponentName| {
        let (status, detail) = found(*name);
        Component { name: *name, status, detail, checked_at: now }
    };
    let components = ComponentName::ALL.iter().map(component).collect();
    feed(components, Uptime::default(), StatusSignals::default(), now)
}

#[cfg(test)]
#[path = "platform_tests.rs"]
mod tests;
