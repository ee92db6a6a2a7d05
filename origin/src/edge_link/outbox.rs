//! Changes of keys that the edge has not acknowledged, sent by whichever process with an edge link claims them first.
//!
//! A change is claimed for the time that sending it may take, sent with no transaction open, and deleted once it is acknowledged. Sending a
//! change twice is harmless, because the version of a record shows which of two records is newer.

use super::EdgeLink;
use crate::metrics::Metrics;
use rds_engine::clock::Stopwatch;
use rds_shared::access::link::{RECORD_FALLBACK_SECONDS, RECORD_LEASE_SECONDS};
use rds_store::keys::edge_outbox as table;
use rds_store::keys::edge_outbox::Claimed;
use rds_store::{Db, StoreError};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Maximum number of changes that are claimed and sent concurrently.
const BATCH_SIZE: u32 = 16;
/// How often the outbox is polled.
pub(super) const POLL: Duration = Duration::from_secs(1);
/// Interval at which a waiting command checks whether its change was acknowledged.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum and maximum pause after a failure.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How often a service records that it is sending to the edge.
const SENDER_SEEN_INTERVAL: Duration = Duration::from_secs(10);
/// How long a service counts as a sender after it last recorded that it is sending, in seconds.
pub(crate) const SENDER_SEEN_SECONDS: u32 = 60;
/// How long the edge may use unconfirmed records after a service last recorded that it sends to the edge, in seconds: the time for which
/// the edge keeps records while the origin is unavailable, plus a minute.
const KEPT_SECONDS: u32 = RECORD_FALLBACK_SECONDS.unsigned_abs() as u32 + SENDER_SEEN_SECONDS;
/// Maximum time for which the edge may use a record: its key lease, plus five seconds for clock differences and a running request.
pub const LEASE: Duration = Duration::from_secs(RECORD_LEASE_SECONDS.unsigned_abs() + 5);
/// How often key look-ups by an edge are recorded.
const RECORD_INTERVAL: Duration = Duration::from_secs(5);
/// How long an edge may have a key's record after a recorded look-up, in seconds: its key lease, the margin of [`LEASE`], and
/// [`RECORD_INTERVAL`].
pub(super) const EDGE_SEEN_SECONDS: u32 = 45;

/// The result of one call of [`send_due`].
#[derive(Debug, Default)]
pub struct Round {
    /// Changes that were acknowledged.
    pub acknowledged: usize,
    /// Why a change was not acknowledged; the last reason if several were not.
    pub failed: Option<String>,
}

/// Sends the queued changes whose next attempt is due. With `only`, sends only changes of these keys.
pub async fn send_due(db: &Db, link: &Arc<EdgeLink>, only: Option<&[i64]>) -> Result<Round, StoreError> {
    let longest = link.longest() + POLL;
    let mut sending = JoinSet::new();
    for claimed in table::claim(db, only, longest, BATCH_SIZE).await? {
        let link = link.clone();
        sending.spawn(async move { (link.send_key_update(&claimed.update).await, claimed) });
    }
    let mut round = Round::default();
    while let Some(finished) = sending.join_next().await {
        // A change whose task panicked is sent again when its claim expires.
        let Ok((result, Claimed { update, attempt })) = finished else { continue };
        let (key, version) = (update.record.id, update.record.version);
        match result {
            Ok(()) => {
                table::acknowledged(db, key, version).await?;
                round.acknowledged += 1;
            }
            Err(error) => {
                let why = error.to_string();
                table::failed(db, key, version, attempt, pause(attempt), &why).await?;
                round.failed = Some(why);
            }
        }
    }
    Ok(round)
}

pub(super) fn pause(attempt: i32) -> Duration {
    let (least, greatest) = PAUSE;
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(0).min(8);
    (least * 2u32.pow(doublings)).min(greatest)
}

/// Sends changes until the process ends. Logs once when the edge stops acknowledging, and once when it acknowledges again.
pub async fn keep_sending(db: &Db, metrics: &Metrics, link: &Arc<EdgeLink>) {
    let (mut working, mut recorded) = (true, None::<Stopwatch>);
    loop {
        let due = recorded.is_none_or(|recorded| recorded.micros() >= SENDER_SEEN_INTERVAL.as_micros() as u64);
        if due && table::record_sender_alive(db).await.is_ok() {
            recorded = Some(Stopwatch::start());
        }
        match send_due(db, link, None).await {
            Ok(Round { acknowledged, failed }) => {
                metrics.key_updates_acknowledged.fetch_add(acknowledged as u64, Relaxed);
                match failed {
                    Some(why) => {
                        metrics.key_updates_failed.fetch_add(1, Relaxed);
                        if std::mem::replace(&mut working, false) {
                            tracing::warn!(why, "a change of a key was not acknowledged by the edge; it is sent again");
                        }
                    }
                    None if acknowledged > 0 && !working => {
                        working = true;
                        tracing::info!("the edge acknowledges again");
                    }
                    None => {}
                }
                if let Ok((waiting, _)) = table::waiting(db, None).await {
                    metrics.key_updates_waiting.store(waiting, Relaxed);
                }
                if acknowledged as u64 >= u64::from(BATCH_SIZE) {
                    continue;
                }
            }
            // The catalog refresh already logs that the database is unavailable.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "the outbox of the edge could not be read"),
        }
        // Failed changes are due again before the next regular poll.
        let rest = if working { POLL } else { PAUSE.0 };
        let _ = timeout(rest, link.key_queued.notified()).await;
    }
}

/// Why a change is known to be in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The edge has acknowledged the change.
    Acknowledged,
    /// No edge is configured here, no service has recorded that it sends to one, and no edge has looked up a key lately.
    NoEdge,
    /// No service has sent changes to the edge lately, so the edge uses a key's record only during its key lease, which has expired.
    LeaseOver,
}

/// Waits until no isolate of the edge can use older records of `keys`.
///
/// With a `link`, this function sends the changes itself until they are acknowledged. Without one it waits until a service with a link
/// has sent them, or until `lease` (usually [`LEASE`]) has passed if no such service was alive lately. `say` is called with the reason
/// for waiting whenever the reason changes.
pub async fn settle(
    db: &Db,
    link: Option<&Arc<EdgeLink>>,
    keys: &[i64],
    lease: Duration,
    mut say: impl FnMut(&str),
) -> Result<Settled, StoreError> {
    let watch = Stopwatch::start();
    let mut known = String::new();
    loop {
        let why = match step(db, link, keys).await {
            Ok(Step::Settled(settled)) => return Ok(settled),
            Ok(Step::Waiting(why)) => why,
            // The change is committed; only the notification of the edge is missing.
            Err(StoreError::Unavailable(error)) => Some(format!("the database is unavailable: {error}")),
            Err(error) => return Err(error),
        };
        if let Some(why) = why
            && why != known
        {
            say(&why);
            known = why;
        }
        // Waiting for the lease is enough only if no sender was alive within `KEPT_SECONDS`: an edge with a sender
        // keeps using a key's record past its lease while the origin is unavailable.
        let lease_suffices = async || !matches!(table::is_sender_alive(db, KEPT_SECONDS).await, Ok(true) | Err(_));
        if link.is_none() && u128::from(watch.micros()) > lease.as_micros() && lease_suffices().await {
            return Ok(Settled::LeaseOver);
        }
        sleep(CHECK_INTERVAL).await;
    }
}

/// Records in the database that an edge looks up keys, at most once per `RECORD_INTERVAL`.
#[derive(Debug, Default)]
pub struct EdgeSeen(Mutex<Option<Stopwatch>>);

impl EdgeSeen {
    /// Records a look-up before it is answered, so that a command that changes the key later waits for this edge.
    pub async fn note(&self, db: &Db) -> Result<(), StoreError> {
        let noted = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted().is_none_or(|noted| noted.micros() >= RECORD_INTERVAL.as_micros() as u64) {
            table::record_edge_query(db).await?;
            *noted() = Some(Stopwatch::start());
        }
        Ok(())
    }
}

enum Step {
    Settled(Settled),
    Waiting(Option<String>),
}

async fn step(db: &Db, link: Option<&Arc<EdgeLink>>, keys: &[i64]) -> Result<Step, StoreError> {
    let finished = match link {
        Some(link) => send_due(db, link, Some(keys)).await?,
        None => Round::default(),
    };
    let (waiting, last_error) = table::waiting(db, Some(keys)).await?;
    if waiting == 0 {
        return Ok(Step::Settled(Settled::Acknowledged));
    }
    let is_nobody = async || -> Result<bool, StoreError> {
        Ok(!table::is_sender_alive(db, KEPT_SECONDS).await? && !table::has_edge_queried(db, EDGE_SEEN_SECONDS).await?)
    };
    if link.is_none() && is_nobody().await? {
        return Ok(Step::Settled(Settled::NoEdge));
    }
    Ok(Step::Waiting(finished.failed.or(last_error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_bound() {
        let pauses: Vec<_> = [0, 1, 2, 3, 5, 6, 40, i32::MAX].map(|attempt| pause(attempt).as_millis()).into();
        assert_eq!(pauses, [250, 250, 500, 1_000, 4_000, 5_000, 5_000, 5_000]);
    }
}
