//! One sample of the service's state per minute, stored for all processes, and a check that the service can be reached from
//! outside.
//!
//! Every process stores whether it found the service up; a minute counts as up if one process did. The first process of a minute
//! requests `/ready` through the edge, as a caller would, so the request leaves this machine and comes back.

use super::traffic::{Tally, minute_of};
use crate::app::App;
use crate::edge_link::EdgeLink;
use rds_shared::model::status_feed::ComponentStatus;
use rds_shared::wire::Timestamp;
use rds_store::StoreError;
use rds_store::service::status as table;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often to check whether a new minute has begun; every second, so that a moved test clock takes effect.
const POLL: Duration = Duration::from_secs(1);
/// How often this process's request counts are stored for the other processes, in polls.
const TRAFFIC_EVERY: u32 = 15;

/// Takes samples until the process ends.
pub async fn keep_sampling(app: &App, link: Option<&Arc<EdgeLink>>) {
    let (mut sampled, mut polls) = (None, 0_u32);
    loop {
        let now = app.clock.now();
        let minute = minute_of(now);
        let is_new = sampled != Some(minute);
        if is_new || polls.is_multiple_of(TRAFFIC_EVERY) {
            // The catalog refresh already logs that the database is unavailable.
            let _ = share(app, now).await;
        }
        if is_new && sample(app, link, now).await.is_ok() {
            sampled = Some(minute);
        }
        polls = polls.wrapping_add(1);
        sleep(POLL).await;
    }
}

/// Takes the sample of this minute, and deletes samples that are too old.
pub async fn sample(app: &App, link: Option<&Arc<EdgeLink>>, now: Timestamp) -> Result<(), StoreError> {
    let is_up = super::feed(app, now).await.status != ComponentStatus::Down;
    let is_first = table::note_sample(&app.db, now, is_up).await?;
    if is_first && let Some(link) = link {
        let reached = link.is_reachable_through_edge().await;
        if let Err(error) = &reached {
            tracing::debug!(%error, "the service was not reached from outside");
        }
        table::note_reached(&app.db, now, reached.is_ok()).await?;
    }
    table::forget(&app.db, now).await
}

/// Stores this process's counts of this minute and the one before for the other processes.
pub async fn share(app: &App, now: Timestamp) -> Result<(), StoreError> {
    for at in [now.plus_seconds(-60), now] {
        let Tally { requests, failed } = app.traffic.of(minute_of(at));
        if requests > 0 {
            table::note_traffic(&app.db, at, app.streams.process(), Tally { requests, failed }).await?;
        }
    }
    Ok(())
}
