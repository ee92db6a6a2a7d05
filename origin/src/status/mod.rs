//! The status feed: the present and past state of the service's components.
//!
//! | module | content |
//! |---|---|
//! | this module | the feed; each component is read separately, so a component that cannot be read affects only its own row |
//! | `chain_reads` | how far the chains are read that the service reads by itself |
//! | [`clocks`] | whether this process's clock is right |
//! | [`heartbeat`] | whether this process answers on its own listener |
//! | [`traffic`] | this process's responses of the last 15 minutes |
//! | [`writes`] | whether the database accepts writes |
//! | [`sampler`] | one sample per minute, the check from outside, and removal of old samples |
//!
//! # Invariants
//!
//! - The feed answers whatever is broken: each component is read on its own, and the edge answers in place of an origin that does not
//!   respond. An expired feed is never served (`e2e/fail-safe.test.mjs`).

mod chain_reads;
pub mod clocks;
pub mod heartbeat;
pub mod sampler;
pub mod traffic;
pub mod writes;

use crate::app::App;
use crate::stream::maintenance::overflowed_within;
use rds_shared::model::health::FailSafeMode;
use rds_shared::model::status_feed::{Component, ComponentName, StatusFeed, StatusSignals, Uptime};
use rds_shared::rules::component_status::{self as rules, ComponentFinding, RECENT_SECONDS, unreadable};
use rds_shared::wire::Timestamp;
use rds_store::StoreError;
use rds_store::scoring::fail_safe;
use rds_store::service::health::ping;
use rds_store::service::status as table;
use rds_store::webhooks::lists;
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// Time limit for a read from the database. All reads run concurrently, so the feed takes little longer, whatever is broken.
const READ_TIMEOUT: Duration = Duration::from_secs(1);
const UNREADABLE: ComponentFinding = unreadable("could not be read in time");

/// The feed as of `now`. It cannot fail.
pub async fn feed(app: &App, now: Timestamp) -> StatusFeed {
    let (beats, traffic, samples, overflowed, webhooks, newest, standing, chains) = tokio::join!(
        beats(app),
        in_time(table::traffic_of_others(&app.db, app.streams.process(), now.plus_seconds(-RECENT_SECONDS))),
        in_time(table::samples(&app.db, now)),
        in_time(overflowed_within(&app.db, &app.streams, now, RECENT_SECONDS)),
        in_time(lists::recent(&app.db, now)),
        in_time(table::newest_sync(&app.db)),
        in_time(fail_safe::read(&app.db.pool)),
        in_time(chain_reads::standings(app)),
    );
    let all = traffic.map(|others| others.plus(app.traffic.within(now, RECENT_SECONDS)));
    let failed_in_a_row = samples.as_ref().and_then(|samples| samples.failed_in_a_row);
    // Without the database the mode is the last known one, and its reason is unknown.
    let (mode, reason) = match &standing {
        Some(standing) => (standing.in_force(), standing.reason_in_force()),
        None => (app.catalog.fail_safe(), None),
    };
    let found = |name| match name {
        ComponentName::Api => rules::api(beats),
        ComponentName::Reachability if samples.is_none() => UNREADABLE,
        ComponentName::Reachability => rules::reachability(failed_in_a_row),
        ComponentName::Errors => match all {
            Some(all) => rules::errors(all.requests, all.failed),
            None => unreadable("the counts of all processes could not be read in time"),
        },
        ComponentName::EventsStream => overflowed.map_or(UNREADABLE, rules::events_stream),
        ComponentName::Webhooks => {
            webhooks.map_or(UNREADABLE, |it| rules::webhooks(it.attempts, it.delivered, it.has_dead_letters))
        }
        ComponentName::DataFreshness => newest.map_or(UNREADABLE, |newest| rules::data_freshness(newest, now)),
        ComponentName::FailSafe if standing.is_none() && mode == FailSafeMode::Normal => UNREADABLE,
        ComponentName::FailSafe => rules::fail_safe(mode, reason),
        ComponentName::Writes if samples.is_none() => UNREADABLE,
        ComponentName::Writes => rules::writes(app.writes.are_refused()),
        ComponentName::Chains => chains.as_ref().map_or(UNREADABLE, |it| chain_reads::finding(app, it, now)),
    };
    let component = |name: &ComponentName| {
        let (status, detail) = found(*name);
        Component { name: *name, status, detail, checked_at: now }
    };
    let uptime = samples.as_ref().map_or_else(Uptime::default, |samples| Uptime {
        day: samples.day.and_then(|up| rules::uptime(up, table::DAY_MINUTES)),
        month: samples.month.and_then(|up| rules::uptime(up, table::MONTH_MINUTES)),
    });
    let signals = StatusSignals {
        error_rate_15m: all.filter(|all| all.requests > 0).map(|all| all.failed as f64 / all.requests as f64),
        requests_15m: all.map(|all| all.requests),
        external_down_samples: failed_in_a_row,
    };
    rules::feed(ComponentName::ALL.iter().map(component).collect(), uptime, signals, now)
}

/// Whether this process would report itself ready to a load balancer, checked through its own listener if that is open.
async fn beats(app: &App) -> bool {
    if let Some(heartbeat) = app.heartbeat.get() {
        return heartbeat.beats().await;
    }
    in_time(ping(&app.db)).await.is_some() && app.catalog.current().is_some() && !app.is_leaving()
}

/// The result of a read, unless it fails or takes too long. The catalog refresh already logs that the database is unavailable.
pub async fn in_time<T>(asking: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match timeout(READ_TIMEOUT, asking).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the database did not answer a probe");
            None
        }
        Err(_) => None,
    }
}
