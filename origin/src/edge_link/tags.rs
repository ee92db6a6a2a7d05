//! Changed facts, sent to the edge as tag versions by whichever process claims them first, one message at a time.
//!
//! A message carries the newest version of every tag that the edge has not acknowledged. Changes during a message only raise versions,
//! and one more message carries them all, so frequent batches cost the edge about one message a second. Repeated or reordered
//! messages are harmless.
//!
//! # Invariants
//!
//! - A message with a version of [`Tag::Vaults`] lists every chain that was withheld at that version and is withheld still: once a withholding
//!   is acknowledged, the edge knows the chain (`tests/it/http/replica.rs`).

use super::EdgeLink;
use super::outbox::{CHECK_INTERVAL, POLL, SENDER_SEEN_SECONDS, pause};
use crate::app::App;
use crate::journal::sequence;
use rds_engine::clock::Stopwatch;
use rds_shared::access::link::TagInvalidation;
use rds_shared::model::ids::ChainId;
use rds_shared::route::{ROUTES, Tag, TagVersions};
use rds_store::keys::edge_outbox;
use rds_store::push::journal::{self, Cause};
use rds_store::service::tags as table;
use rds_store::service::tags::{Claimed, EdgeProgress};
use rds_store::{Db, StoreError};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a command waits for the edge before it reports that cached responses may be old.
pub const MAX_WAIT: Duration = Duration::from_secs(10);

/// Number of consecutive failures before a warning is logged, so that an edge that is just starting causes none.
const WARN_AFTER: u32 = 4;

/// The result of one call of [`send_due`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Round {
    /// There is nothing to send, or another process is sending it.
    Nothing,
    /// The edge has acknowledged; these are the versions that it knows.
    Acknowledged(TagVersions),
    /// The edge has not acknowledged, for this reason.
    Failed(String),
}

/// Sends the tag versions that the edge has not acknowledged, unless another process is sending them.
pub async fn send_due(db: &Db, link: &EdgeLink) -> Result<Round, StoreError> {
    let Some(claimed) = table::claim(db, link.longest() + POLL).await? else {
        return Ok(Round::Nothing);
    };
    let Claimed { versions, attempt, failures, .. } = claimed;
    let withheld = withheld(db, &versions).await?;
    match link.send_tags(&TagInvalidation { versions, withheld }).await {
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

/// The withheld chains, for a message with `versions`. Withholding a chain raises the version of [`Tag::Vaults`] in the same transaction,
/// and `versions` were read before, so that the list includes every withholding that they include. `None` if they do not contain this tag.
async fn withheld(db: &Db, versions: &TagVersions) -> Result<Option<Vec<ChainId>>, StoreError> {
    match versions.of(Tag::Vaults) {
        0 => Ok(None),
        _ => journal::read::withheld(&db.pool).await.map(Some),
    }
}

/// Sends changes until the process ends. Logs once when the edge stops acknowledging, and once when it acknowledges again.
pub async fn keep_sending(app: &App, link: &EdgeLink) {
    let mut failures: u32 = 0;
    // At first this process does not know which changes the edge has, so the edge's lag is counted from now.
    app.metrics.edge_tags_known_to.store(link.clock.wall().as_seconds(), Relaxed);
    loop {
        let round = send_due(&app.db, link).await;
        match &round {
            Ok(Round::Acknowledged(known)) => {
                // The edge's versions reveal a database whose disk was set back while no process was connected to it.
                if let Err(error) = step_behind(app, *known).await {
                    tracing::warn!(%error, "could not check whether the edge knows facts that this database has lost");
                }
                app.metrics.edge_tags_acknowledged.fetch_add(1, Relaxed);
                if std::mem::take(&mut failures) >= WARN_AFTER {
                    tracing::info!("the edge acknowledges changed facts again");
                }
            }
            Ok(Round::Failed(why)) => {
                app.metrics.edge_tags_failed.fetch_add(1, Relaxed);
                failures = failures.saturating_add(1);
                if failures == WARN_AFTER {
                    let fresh = max_fresh_seconds(&Tag::ALL);
                    tracing::warn!(
                        why,
                        "the edge does not acknowledge changed facts; until it does, cached responses may be {fresh} s old"
                    );
                }
            }
            // The catalog refresh already logs that the database is unavailable.
            Ok(Round::Nothing) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "the tag versions for the edge could not be read"),
        }
        if let Ok(EdgeProgress { waiting, told_at, .. }) = table::progress(&app.db).await {
            // As long as the edge has acknowledged nothing, the metric stays at the start of sending.
            if let Some(at) = if waiting.is_empty() { Some(link.clock.wall()) } else { told_at } {
                app.metrics.edge_tags_known_to.store(at.as_seconds(), Relaxed);
            }
            // Facts may have changed while the message was sent, and the signal for that change may be consumed already.
            if matches!(round, Ok(Round::Acknowledged(_))) && !waiting.is_empty() {
                continue;
            }
        }
        let rest = if failures == 0 { POLL } else { pause(1) };
        let _ = timeout(rest, link.facts_changed.notified()).await;
    }
}

/// Makes a step of the journal if the edge knows tag versions that this database has yet to issue: operations may have been lost.
async fn step_behind(app: &App, known: TagVersions) -> Result<(), StoreError> {
    let mut connection = app.db.pool.acquire().await?;
    sequence::step_over(&app.db, &app.clock, &app.journal, &mut connection, Cause::EdgeAhead(known)).await
}

/// How far a change of facts has become visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    /// Every response from now on includes the change.
    Everywhere,
    /// This process has no edge configured, and no other process has recorded within `SENDER_SEEN_SECONDS` that it sends changes to
    /// an edge.
    NoEdge,
    /// The edge has not acknowledged the change in time. It is sent again; until then cached responses of up to this age are served.
    CachedFor {
        /// Maximum age of these responses, in seconds.
        seconds: u32,
        /// The reason, as far as it is known.
        why: Option<String>,
    },
}

/// Waits until the edge serves no cached response that is older than the committed state of `tags`, but no longer than `patience`.
///
/// With a `link`, this function notifies the edge itself. Without one it waits until a service with a link has done so.
pub async fn until_visible(
    db: &Db,
    link: Option<&EdgeLink>,
    tags: &[Tag],
    patience: Duration,
) -> Result<Visibility, StoreError> {
    let watch = Stopwatch::start();
    let (mut wanted, mut why) = (None, None);
    loop {
        match step(db, link, tags, &mut wanted).await {
            Ok(Step::Visibility(shown)) => return Ok(shown),
            Ok(Step::Waiting(reason)) => why = reason.or(why),
            // The change is committed; only the notification of the edge is missing.
            Err(StoreError::Unavailable(error)) => why = Some(format!("the database is unavailable: {error}")),
            Err(error) => return Err(error),
        }
        if u128::from(watch.micros()) > patience.as_micros() {
            return Ok(Visibility::CachedFor { seconds: max_fresh_seconds(tags), why });
        }
        sleep(CHECK_INTERVAL).await;
    }
}

enum Step {
    Visibility(Visibility),
    Waiting(Option<String>),
}

/// Sends and checks once. `wanted` is the committed version of `tags` at the first check.
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
    let sent = match link {
        Some(link) => send_due(db, link).await?,
        None => Round::Nothing,
    };
    let EdgeProgress { acknowledged, last_error, .. } = table::progress(db).await?;
    if acknowledged.covers(wanted) {
        return Ok(Step::Visibility(Visibility::Everywhere));
    }
    if link.is_none() && !edge_outbox::is_sender_alive(db, SENDER_SEEN_SECONDS).await? {
        return Ok(Step::Visibility(Visibility::NoEdge));
    }
    Ok(Step::Waiting(match sent {
        Round::Failed(why) => Some(why),
        Round::Nothing | Round::Acknowledged(_) => last_error,
    }))
}

/// Maximum time for which a cached response with one of `tags` is served without revalidation, in seconds.
fn max_fresh_seconds(tags: &[Tag]) -> u32 {
    let concerned = ROUTES.iter().filter(|route| route.tags.iter().any(|tag| tags.contains(tag)));
    concerned.map(|route| route.cache.fresh).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unacknowledged_change_is_hidden_no_longer_than_the_longest_fresh_time() {
        let all = ROUTES.iter().map(|route| route.cache.fresh).max();
        assert_eq!((Some(max_fresh_seconds(&Tag::ALL)), max_fresh_seconds(&[])), (all, 0));
        assert!(
            max_fresh_seconds(&[Tag::Feeds]) > 0 && max_fresh_seconds(&[Tag::Feeds]) <= max_fresh_seconds(&Tag::ALL)
        );
    }
}
