//! The tailer: one reader per process, which reads the operations that this process did not number itself, and appends them to the ring.
//!
//! A notification only shortens the wait; polling finds every operation. At a gap in the numbering the ring is restarted, and each stream
//! continues from its own position. A gap without a recorded jump is logged as an error.
//!
//! While the tailer reads, the sequencer may append to the ring ([`Journal::feed`](super::Journal)). The tailer therefore changes the ring only if
//! the ring still ends where the read began; otherwise it reads again.

use super::{Journal, RingLock, Withheld, connect, in_time};
use crate::metrics::lag::PushStep;
use rds_engine::clock::Clock;
use rds_engine::clock::Stopwatch;
use rds_shared::push::cursor::Jump;
use rds_shared::push::numbering::{self, NumberGap};
use rds_store::Db;
use rds_store::StoreError;
use rds_store::push::journal::read as table;
use rds_store::push::journal::read::{Entry, ReadLimits, Stretch};
use sqlx::PgConnection;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often the head is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often the withheld chains are read.
const WITHHELD_POLL: Duration = Duration::from_secs(1);
/// Limits of one read, far below those of the ring.
const READ_LIMITS: ReadLimits = ReadLimits { rows: 1_000, bytes: 8 << 20 };
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Follows the journal until the process ends. Logs once when this fails, and once when it works again.
pub async fn keep_following(db: &Db, clock: &Clock, journal: &Journal) {
    let mut working = true;
    loop {
        let error = match follow(db, clock, journal, &mut working).await {
            Ok(never) => match never {},
            Err(error) => error,
        };
        if std::mem::replace(&mut working, false) {
            tracing::warn!(%error, "the journal cannot be read; event streams are stalled");
        }
        sleep(RETRY_PAUSE).await;
    }
}

enum Never {}

/// Follows the journal on one connection.
async fn follow(db: &Db, clock: &Clock, journal: &Journal, working: &mut bool) -> Result<Never, StoreError> {
    let limit = STATEMENT_TIMEOUT + Duration::from_secs(1);
    let mut connection = connect(db, "rds-tailer", STATEMENT_TIMEOUT).await?;
    let now = in_time(limit, table::withheld(&mut connection)).await?;
    if journal.held().is_none() {
        let extent = in_time(limit, table::extent(&mut connection, clock.now())).await?;
        journal.restart_after(extent.tail.get());
    }
    // A chain may have been withheld while there was no connection.
    compare(journal, now);
    let mut asked = Stopwatch::start();
    loop {
        if asked.elapsed() >= WITHHELD_POLL {
            let now = in_time(limit, table::withheld(&mut connection)).await?;
            compare(journal, now);
            asked = Stopwatch::start();
        }
        let full = in_time(limit, read_on(clock, journal, &mut connection)).await?;
        if !std::mem::replace(working, true) {
            tracing::info!("the journal is read again");
        }
        if !full {
            wait(journal).await;
        }
    }
}

/// Waits until there may be something to read.
async fn wait(journal: &Journal) {
    let moved = async {
        loop {
            journal.until_moved().await;
            if journal.is_behind() {
                return;
            }
        }
    };
    // Polling finds what no notification reported.
    let _ = timeout(POLL_INTERVAL, moved).await;
}

/// Restarts the ring if the withheld chains have changed, because the ring may contain frames of a chain that is now withheld. Streams then
/// read the journal.
fn compare(journal: &Journal, now: Withheld) {
    let mut known = journal.held();
    if known.as_ref().is_some_and(|known| *known != now) {
        journal.restart(&known, journal.ring.tail());
    }
    *known = Some(now);
}

/// Reads new operations into the ring. `true` if there may be more.
async fn read_on(clock: &Clock, journal: &Journal, connection: &mut PgConnection) -> Result<bool, StoreError> {
    // Before the head, because this process may number and append operations meanwhile.
    let tail = journal.ring.tail();
    let head = table::head(&mut *connection).await?;
    journal.meters.head.store(head, Relaxed);
    if head < tail {
        // The database is an older copy and no step was made yet. The sequencer will make the step, because this process has seen a higher
        // number. The ring may contain frames of lost operations.
        if journal.ring.size().0 > 0 {
            journal.restart_after(tail);
        }
        tracing::error!(head, tail, "the head of the journal decreased");
        return Err(StoreError::Unavailable(sqlx::Error::RowNotFound));
    }
    if head == tail {
        return Ok(false);
    }
    let watch = Stopwatch::start();
    let Stretch { entries, more } = table::after(&mut *connection, tail, READ_LIMITS, None).await?;
    // Jumps are rare, so they are only read when the numbers are not consecutive.
    let jumps = match !entries.is_empty() && is_dense(&[], tail, &entries) {
        true => None,
        false => Some(table::extent(&mut *connection, clock.now()).await?.jumps),
    };
    let ring = journal.held();
    if journal.ring.tail() != tail {
        return Ok(true);
    }
    if let Some(jumps) = jumps {
        pass_over(journal, &ring, &jumps, tail, head, &entries);
        return Ok(true);
    }
    let missing = entries.iter().filter(|entry| !entry.is_whole).count();
    if missing > 0 {
        let last = entries.last().map_or(tail, |entry| entry.seq);
        journal.meters.broken.fetch_add(missing as u64, Relaxed);
        tracing::error!(missing, tail, last, "operations of the journal are missing");
        // Streams notice the missing operations when they read the journal themselves. In the ring they would look like operations that a
        // stream does not get, so they are never in it, not even until it is restarted.
        journal.restart(&ring, last);
        return Ok(more);
    }
    journal.append(&ring, entries);
    journal.meters.read_micros.store(watch.micros(), Relaxed);
    journal.lag.record(PushStep::Read, watch.micros());
    Ok(more)
}

/// Restarts the ring at the last gap in the numbers after `tail`, so that reading continues after the gap.
fn pass_over(journal: &Journal, ring: &RingLock<'_>, jumps: &[Jump], tail: u64, head: u64, entries: &[Entry]) {
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    let NumberGap { place, is_recorded } = numbering::gap(jumps, tail, head, &numbers);
    if !is_recorded {
        journal.meters.broken.fetch_add(1, Relaxed);
        tracing::error!(tail, place, "numbers of the journal are missing");
    }
    journal.restart(ring, place);
}

/// Whether the entries follow `last` and each other without gaps, except for recorded jumps.
pub fn is_dense(jumps: &[Jump], last: u64, entries: &[Entry]) -> bool {
    numbering::is_dense(jumps, last, entries.iter().map(|entry| entry.seq))
}
