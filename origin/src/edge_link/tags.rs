//! Facts that have changed: told to the edge by whichever process gets there first, one message at a time.
//!
//! A message carries the newest version of every tag that the edge has not acknowledged. While one is under way, changes only
//! raise versions; one more message tells them all, so a storm of batches costs the edge about one message a second. Told
//! twice or in another order, versions mean the same.

use super::EdgeLink;
use super::outbox::{AT_WORK_SECONDS, LOOK, POLL, pause};
use crate::app::App;
use crate::clock::Stopwatch;
use crate::journal::sequence;
use crate::store::journal::Cause;
use crate::store::tags::{self as table, Claimed, Standing};
use crate::store::{Db, StoreError, edge_outbox};
use rds_shared::access::link::TagNews;
use rds_shared::route::{ROUTES, Tag, TagVersions};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a command waits for the edge before it says what that means.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Failures in a row before the log says so: an edge that is just being started is no news.
const WORTH_SAYING: u32 = 4;

/// What one round came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Round {
    /// Nothing to tell, or somebody else is telling it.
    Nothing,
    /// The edge has acknowledged, and says which versions it knows.
    Acknowledged(TagVersions),
    /// It has not, and why.
    Failed(String),
}

/// Tells what the edge has not acknowledged, unless that is being told.
pub async fn tell_due(db: &Db, link: &EdgeLink) -> Result<Round, StoreError> {
    let Some(claimed) = table::claim(db, link.longest() + POLL).await? else {
        return Ok(Round::Nothing);
    };
    let Claimed { versions, attempt, failures, .. } = claimed;
    match link.tell_tags(&TagNews { versions }).await {
        Ok(known) => {
            table::acknowledged(db, &claimed).await?;
            Ok(Round::Acknowledged(known))
        }
        Err(error) => {
            let why = error.to_string();
            table::failed(db, attempt, pause(failures.saturating_add(1)), &why).await?;
            Ok(Round::Failed(why))
        }
    }
}

/// Tells changes until the process ends. Says once when the edge stops acknowledging, and once when it does again.
pub async fn keep_told(app: &App, link: &EdgeLink) {
    let mut failures: u32 = 0;
    // What the edge knew before is not known; from here on it is missing.
    app.metrics.edge_tags_known_to.store(link.clock.wall().as_seconds(), Relaxed);
    loop {
        let round = tell_due(&app.db, link).await;
        match &round {
            Ok(Round::Acknowledged(known)) => {
                // Nobody else would notice a disk that was set back while nothing was connected to it.
                if let Err(error) = step_behind(app, *known).await {
                    tracing::warn!(%error, "it could not be found out whether the edge knows facts that are gone");
                }
                app.metrics.edge_tags_acknowledged.fetch_add(1, Relaxed);
                if std::mem::take(&mut failures) >= WORTH_SAYING {
                    tracing::info!("the edge hears of changed facts again");
                }
            }
            Ok(Round::Failed(why)) => {
                app.metrics.edge_tags_failed.fetch_add(1, Relaxed);
                failures = failures.saturating_add(1);
                if failures == WORTH_SAYING {
                    let fresh = freshest_for(&Tag::ALL);
                    tracing::warn!(
                        why,
                        "the edge does not hear of changed facts; copies may be {fresh} s old until it does"
                    );
                }
            }
            // The catalog's refresh says when the database is down; once is enough.
            Ok(Round::Nothing) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "the tags to tell the edge could not be read"),
        }
        if let Ok(Standing { waiting, told_at, .. }) = table::standing(&app.db).await {
            // An edge that was never told anything knows no more than when the telling began.
            if let Some(at) = if waiting.is_empty() { Some(link.clock.wall()) } else { told_at } {
                app.metrics.edge_tags_known_to.store(at.as_seconds(), Relaxed);
            }
            // While a message was under way more may have changed, and that announcement is spent.
            if matches!(round, Ok(Round::Acknowledged(_))) && !waiting.is_empty() {
                continue;
            }
        }
        let rest = if failures == 0 { POLL } else { pause(1) };
        let _ = timeout(rest, link.touched.notified()).await;
    }
}

/// Steps over what may be lost where the edge knows facts that this database has yet to give.
async fn step_behind(app: &App, known: TagVersions) -> Result<(), StoreError> {
    let mut connection = app.db.pool.acquire().await?;
    sequence::step_over(app, &mut connection, Cause::EdgeAhead(known)).await
}

/// How far a change of facts has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Every request from now on sees it.
    Everywhere,
    /// No edge is known here, and no service says that it knows one.
    NoEdge,
    /// The edge has not acknowledged it in time. It is told again; until then copies are served until they are this old.
    CopiesFor {
        /// In seconds.
        seconds: u32,
        /// Why, as far as is known.
        why: Option<String>,
    },
}

/// Waits until the edge serves no copy that is older than what is committed now of `tags`, but no longer than `patience`.
///
/// With a `link` it tells the edge itself. Without one it waits for a service that has one.
pub async fn until_shown(
    db: &Db,
    link: Option<&EdgeLink>,
    tags: &[Tag],
    patience: Duration,
) -> Result<Shown, StoreError> {
    let watch = Stopwatch::start();
    let (mut wanted, mut why) = (None, None);
    loop {
        match step(db, link, tags, &mut wanted).await {
            Ok(Step::Shown(shown)) => return Ok(shown),
            Ok(Step::Waiting(reason)) => why = reason.or(why),
            // What was changed is committed; only the telling is open.
            Err(StoreError::Unavailable(error)) => why = Some(format!("the database is unavailable: {error}")),
            Err(error) => return Err(error),
        }
        if u128::from(watch.micros()) > patience.as_micros() {
            return Ok(Shown::CopiesFor { seconds: freshest_for(tags), why });
        }
        sleep(LOOK).await;
    }
}

enum Step {
    Shown(Shown),
    Waiting(Option<String>),
}

/// Tells and looks once. `wanted` is what was committed of `tags` at the first look.
async fn step(
    db: &Db,
    link: Option<&EdgeLink>,
    tags: &[Tag],
    wanted: &mut Option<TagVersions>,
) -> Result<Step, StoreError> {
    let wanted = match wanted {
        Some(wanted) => wanted,
        None => wanted.insert(table::newest(db).await?.1.only(tags)),
    };
    let told = match link {
        Some(link) => tell_due(db, link).await?,
        None => Round::Nothing,
    };
    let Standing { acknowledged, last_error, .. } = table::standing(db).await?;
    if acknowledged.covers(wanted) {
        return Ok(Step::Shown(Shown::Everywhere));
    }
    if link.is_none() && !edge_outbox::is_teller_at_work(db, AT_WORK_SECONDS).await? {
        return Ok(Step::Shown(Shown::NoEdge));
    }
    Ok(Step::Waiting(match told {
        Round::Failed(why) => Some(why),
        Round::Nothing | Round::Acknowledged(_) => last_error,
    }))
}

/// For how long at most a copy with one of `tags` is served without asking, in seconds.
fn freshest_for(tags: &[Tag]) -> u32 {
    let concerned = ROUTES.iter().filter(|route| route.tags.iter().any(|tag| tags.contains(tag)));
    concerned.map(|route| route.cache.fresh).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unheard_change_hides_no_longer_than_the_longest_lived_copy() {
        let all = ROUTES.iter().map(|route| route.cache.fresh).max();
        assert_eq!((Some(freshest_for(&Tag::ALL)), freshest_for(&[])), (all, 0));
        assert!(freshest_for(&[Tag::Feeds]) > 0 && freshest_for(&[Tag::Feeds]) <= freshest_for(&Tag::ALL));
    }
}
