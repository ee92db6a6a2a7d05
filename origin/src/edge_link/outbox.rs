//! Changes that the edge has not acknowledged: told by every process that knows the edge, whoever gets there first.
//!
//! A change is claimed for the time one telling may take, told with no transaction open, and deleted when it was
//! acknowledged. Telling one twice is harmless: records carry versions.

use super::EdgeLink;
use crate::app::App;
use crate::clock::Stopwatch;
use crate::store::edge_outbox::{self as table, Claimed};
use crate::store::{Db, StoreError};
use rds_shared::access::link::{RECORD_KEPT_SECONDS, RECORD_LEASE_SECONDS};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Changes told at a time.
const AT_ONCE: u32 = 16;
/// How often the outbox is looked at.
pub(super) const POLL: Duration = Duration::from_secs(1);
/// How often a waiting command looks.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// The least and the greatest pause after a failure.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How often a service says that it is at work.
const AT_WORK_EVERY: Duration = Duration::from_secs(10);
/// For how long it is believed.
pub(crate) const AT_WORK_SECONDS: u32 = 60;
/// For how long after a service that tells the edge was at work the edge may go by a record that it cannot confirm, in seconds: as
/// long as it keeps one while the origin is away, and a minute.
const KEPT_SECONDS: u32 = RECORD_KEPT_SECONDS.unsigned_abs() as u32 + AT_WORK_SECONDS;
/// How long the edge may act upon a record at most: its lease, and five seconds for clocks and a request under way.
pub const LEASE: Duration = Duration::from_secs(RECORD_LEASE_SECONDS.unsigned_abs() + 5);
/// How often it is noted that an edge asks about keys.
const NOTED_EVERY: Duration = Duration::from_secs(5);
/// For how long after an edge has asked about a key it may have a record: its lease, the margin, and the pause between two notes.
pub(super) const EDGE_SECONDS: u32 = 45;

/// What one round came to.
#[derive(Debug, Default)]
pub struct Round {
    /// Changes that were acknowledged.
    pub acknowledged: usize,
    /// Why the others were not: one of the reasons.
    pub failed: Option<String>,
}

/// Tells the changes that are due, of the keys `only` if given.
pub async fn tell_due(db: &Db, link: &Arc<EdgeLink>, only: Option<&[i64]>) -> Result<Round, StoreError> {
    let longest = link.longest() + POLL;
    let mut telling = JoinSet::new();
    for claimed in table::claim(db, only, longest, AT_ONCE).await? {
        let link = link.clone();
        telling.spawn(async move { (link.tell(&claimed.news).await, claimed) });
    }
    let mut round = Round::default();
    while let Some(told) = telling.join_next().await {
        // A telling that panicked is told again when its lease ends.
        let Ok((result, Claimed { news, attempt })) = told else { continue };
        let (key, version) = (news.record.id, news.record.version);
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

/// Tells changes until the process ends. Says once when the edge stops acknowledging, and once when it does again.
pub async fn keep_told(app: &App, link: &Arc<EdgeLink>) {
    let (mut working, mut said) = (true, None::<Stopwatch>);
    loop {
        let due = said.is_none_or(|said| said.micros() >= AT_WORK_EVERY.as_micros() as u64);
        if due && table::teller_at_work(&app.db).await.is_ok() {
            said = Some(Stopwatch::start());
        }
        match tell_due(&app.db, link, None).await {
            Ok(Round { acknowledged, failed }) => {
                app.metrics.edge_news_acknowledged.fetch_add(acknowledged as u64, Relaxed);
                match failed {
                    Some(why) => {
                        app.metrics.edge_news_failed.fetch_add(1, Relaxed);
                        if std::mem::replace(&mut working, false) {
                            tracing::warn!(why, "a change of a key was not acknowledged by the edge; it is told again");
                        }
                    }
                    None if acknowledged > 0 && !working => {
                        working = true;
                        tracing::info!("the edge acknowledges again");
                    }
                    None => {}
                }
                if let Ok((waiting, _)) = table::waiting(&app.db, None).await {
                    app.metrics.edge_news_waiting.store(waiting, Relaxed);
                }
                if acknowledged as u64 >= u64::from(AT_ONCE) {
                    continue;
                }
            }
            // The catalog's refresh says when the database is down; once is enough.
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => tracing::error!(%error, "the outbox of the edge could not be read"),
        }
        // Failures come due again before the next look at the whole.
        let rest = if working { POLL } else { PAUSE.0 };
        let _ = timeout(rest, link.queued.notified()).await;
    }
}

/// How a change came to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The edge has acknowledged it.
    Acknowledged,
    /// No edge is known here, no service says that it knows one, and none has asked about a key lately.
    NoEdge,
    /// No service has told the edge of changes lately; whatever the edge knew was a lease, and that is over.
    LeaseOver,
}

/// Waits until no isolate of the edge can act on older records of `keys`.
///
/// With a `link` it tells the edge itself, until acknowledged. Without one it waits for a service that has one; where none was at
/// work lately, for a [`LEASE`]. `say` is told why it takes longer, each reason once.
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
            // What was changed is committed; only the telling is open.
            Err(StoreError::Unavailable(error)) => Some(format!("the database is unavailable: {error}")),
            Err(error) => return Err(error),
        };
        if let Some(why) = why
            && why != known
        {
            say(&why);
            known = why;
        }
        // An edge that is told of changes goes by its record while the origin is away, for longer than a lease.
        let is_lease = async || !matches!(table::is_teller_at_work(db, KEPT_SECONDS).await, Ok(true) | Err(_));
        if link.is_none() && u128::from(watch.micros()) > lease.as_micros() && is_lease().await {
            return Ok(Settled::LeaseOver);
        }
        sleep(LOOK).await;
    }
}

/// Notes in the database that an edge asks about keys, every few seconds while it does.
#[derive(Debug, Default)]
pub struct EdgeSeen(Mutex<Option<Stopwatch>>);

impl EdgeSeen {
    /// An edge asks about a key: noted before it is answered, so that whoever changes the key afterwards knows of that edge.
    pub async fn note(&self, db: &Db) -> Result<(), StoreError> {
        let noted = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted().is_none_or(|noted| noted.micros() >= NOTED_EVERY.as_micros() as u64) {
            table::edge_asked(db).await?;
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
    let told = match link {
        Some(link) => tell_due(db, link, Some(keys)).await?,
        None => Round::default(),
    };
    let (waiting, last_error) = table::waiting(db, Some(keys)).await?;
    if waiting == 0 {
        return Ok(Step::Settled(Settled::Acknowledged));
    }
    let is_nobody = async || -> Result<bool, StoreError> {
        Ok(!table::is_teller_at_work(db, KEPT_SECONDS).await? && !table::has_edge_asked(db, EDGE_SECONDS).await?)
    };
    if link.is_none() && is_nobody().await? {
        return Ok(Step::Settled(Settled::NoEdge));
    }
    Ok(Step::Waiting(told.failed.or(last_error)))
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
