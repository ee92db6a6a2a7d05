//! The status of the service's components: when each is degraded or down, and the overall status.

use crate::model::health::FailSafeMode;
use crate::model::status_feed::{Component, ComponentName, ComponentStatus, StatusFeed, StatusSignals, Uptime};
use crate::wire::time::Timestamp;
use ComponentStatus::{Degraded, Down, Operational};
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

/// The period over which errors and queue overflows are counted, in seconds.
pub const RECENT_SECONDS: i64 = 15 * 60;
/// Maximum age of the newest vault sync, in seconds; if it is older, `data_freshness` is degraded.
pub const FRESH_SECONDS: i64 = 90 * 60;
/// Minimum number of responses for which the error rate is judged.
const MIN_REQUESTS: u64 = 200;
/// Maximum number of 5xx responses per thousand (0.5 percent); above it `errors` is degraded.
const MAX_ERRORS_PER_MILLE: u64 = 5;
/// Number of consecutive failed samples at which `reachability` is down.
const FAILED_SAMPLES: u64 = 3;
/// Minimum number of attempts for which the delivery rate is judged.
const MIN_ATTEMPTS: u64 = 10;
/// Minimum percentage of attempts that succeed; below it `webhooks` is degraded.
const MIN_DELIVERED_PERCENT: u64 = 80;

/// A component's status, with an optional explanation for readers of the status feed.
pub type ComponentFinding = (ComponentStatus, Option<Cow<'static, str>>);

const FINE: ComponentFinding = (Operational, None);

/// The API: whether the heartbeat, a readiness request that the process sends to its own listener, succeeded.
pub const fn api(heartbeat_succeeded: bool) -> ComponentFinding {
    if heartbeat_succeeded {
        FINE
    } else {
        (
            Down,
            Some(Cow::Borrowed(
                "the heartbeat fails: the listener or the database does not answer, or the service is starting or stopping",
            )),
        )
    }
}

/// Reachability from outside. `failed_in_a_row` is `None` if no sample was recorded within [`RECENT_SECONDS`].
pub fn reachability(failed_in_a_row: Option<u64>) -> ComponentFinding {
    match failed_in_a_row {
        None => (Operational, Some("not sampled from outside within 15 minutes".into())),
        Some(0) => FINE,
        Some(failed @ FAILED_SAMPLES..) => {
            (Down, Some(format!("{failed} samples from outside failed in a row").into()))
        }
        Some(failed) => (Operational, Some(format!("{failed} of {FAILED_SAMPLES} samples from outside failed").into())),
    }
}

/// The share of responses within [`RECENT_SECONDS`] that were 5xx.
pub fn errors(requests: u64, failed: u64) -> ComponentFinding {
    let too_many = failed.saturating_mul(1_000) > requests.saturating_mul(MAX_ERRORS_PER_MILLE);
    match requests >= MIN_REQUESTS && too_many {
        true => (Degraded, Some(format!("{failed} of {requests} responses in 15 minutes were server errors").into())),
        false => FINE,
    }
}

/// The event stream: whether a subscriber's queue overflowed within [`RECENT_SECONDS`].
pub const fn events_stream(overflowed: bool) -> ComponentFinding {
    if overflowed { (Degraded, Some(Cow::Borrowed("a subscriber's queue overflowed within 15 minutes"))) } else { FINE }
}

/// Webhooks: the share of attempts in the last hour that succeeded, and whether any delivery was given up and not replayed.
pub fn webhooks(attempts: u64, delivered: u64, has_dead_letters: bool) -> ComponentFinding {
    if has_dead_letters {
        return (Degraded, Some("some deliveries were given up and have not been replayed".into()));
    }
    let too_few = delivered.saturating_mul(100) < attempts.saturating_mul(MIN_DELIVERED_PERCENT);
    match attempts >= MIN_ATTEMPTS && too_few {
        true => (Degraded, Some(format!("{delivered} of {attempts} delivery attempts in an hour succeeded").into())),
        false => FINE,
    }
}

/// Data freshness: the age of the newest vault sync at `now`.
pub fn data_freshness(newest: Option<Timestamp>, now: Timestamp) -> ComponentFinding {
    match newest {
        None => (Degraded, Some("no vault has been read yet".into())),
        Some(at) if now.seconds_since(at) > FRESH_SECONDS => {
            let minutes = now.seconds_since(at) / 60;
            (Degraded, Some(format!("the newest vault sync is {minutes} minutes old").into()))
        }
        Some(_) => FINE,
    }
}

/// Writes: whether the database refuses writes; it still serves reads.
pub const fn writes(are_refused: bool) -> ComponentFinding {
    if are_refused {
        (Degraded, Some(Cow::Borrowed("the database refuses writes: new facts wait, and changes are answered 503")))
    } else {
        FINE
    }
}

/// Scores: whether they are current, and the reason if not.
pub fn fail_safe(mode: FailSafeMode, reason: Option<&str>) -> ComponentFinding {
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

/// The finding for a component whose state could not be read, for this reason.
pub const fn unreadable(reason: &'static str) -> ComponentFinding {
    (Degraded, Some(Cow::Borrowed(reason)))
}

/// Percentage of `minutes` that were `up`, with three decimals, rounded down; `None` if `minutes` is 0.
pub fn uptime(up: u64, minutes: u64) -> Option<f64> {
    let thousandths = u128::from(up.min(minutes)).saturating_mul(100_000).checked_div(u128::from(minutes))?;
    Some(thousandths as f64 / 1_000.0)
}

/// Builds the status feed from the components.
pub fn feed(components: Vec<Component>, uptime: Uptime, signals: StatusSignals, now: Timestamp) -> StatusFeed {
    let worst = |counts: fn(ComponentName) -> bool| {
        let counted = components.iter().filter(|component| counts(component.name));
        counted.map(|component| component.status).max().unwrap_or(Operational)
    };
    let leads = |name| matches!(name, ComponentName::Api | ComponentName::Reachability | ComponentName::Errors);
    StatusFeed { status: worst(leads), rollup: worst(|_| true), last_checked_at: now, uptime, components, signals }
}

/// The feed that the edge serves if the origin delivers none. Only the status of `api` is known; all other components are degraded.
///
/// If `answers` is true, the origin answered with an error, and `api` is degraded. Otherwise the origin did not answer, and `api` is down.
pub fn unavailable_feed(answers: bool, now: Timestamp) -> StatusFeed {
    let found = |name| match (name, answers) {
        (ComponentName::Api, true) => unreadable("could not be read: the service answered with an error"),
        (ComponentName::Api, false) => (Down, Some(Cow::Borrowed("the service does not answer"))),
        (_, true) => unreadable("could not be read: the service answered with an error"),
        (_, false) => unreadable("could not be read: the service does not answer"),
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
