//! The tailer: one reader per process, which reads new operations, encodes each once and appends it to the ring.
//!
//! A notification only shortens the wait; polling finds every operation. At a gap in the numbering the ring is restarted, and each stream
//! continues from its own position. A gap without a recorded jump is logged as an error.

use super::ring::Slot;
use super::{connect, in_time, successor};
use crate::journal::Journal;
use axum::body::Bytes;
use rds_engine::clock::Clock;
use rds_engine::clock::Stopwatch;
use rds_shared::model::ids::ChainId;
use rds_shared::push::cursor::Jump;
use rds_shared::push::{Cursor, frames};
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
/// Pause after a read. Operations that arrive within this time are sent together, which wakes each stream and writes to its socket only
/// once. An operation after a quiet period is sent at once.
const BATCH_DELAY: Duration = Duration::from_millis(10);
/// How often the withheld chains are read.
const WITHHELD_POLL: Duration = Duration::from_secs(1);
/// Limits of one read, far below those of the ring.
const READ_LIMITS: ReadLimits = ReadLimits { rows: 1_000, bytes: 8 << 20 };
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Follows the journal until the process ends. Logs once when this fails, and once when it works again.
pub async fn keep_following(db: &Db, clock: &Clock, journal: &Journal) {
    let (mut withheld, mut working) = (None, true);
    loop {
        let error = match follow(db, clock, journal, &mut withheld, &mut working).await {
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

/// Ids of the withheld chains, in ascending order.
type Withheld = Vec<ChainId>;

/// Follows the journal on one connection. `withheld` are the chains that were withheld at the latest check on any connection; the ring
/// contains no operations of these chains. `None` before the ring was started.
async fn follow(
    db: &Db,
    clock: &Clock,
    journal: &Journal,
    withheld: &mut Option<Withheld>,
    working: &mut bool,
) -> Result<Never, StoreError> {
    let limit = STATEMENT_TIMEOUT + Duration::from_secs(1);
    let mut connection = connect(db, "rds-tailer", STATEMENT_TIMEOUT).await?;
    let now = in_time(limit, table::withheld(&mut connection)).await?;
    if withheld.is_none() {
        let extent = in_time(limit, table::extent(&mut connection, clock.now())).await?;
        journal.restart_after(extent.tail.get());
    }
    // A chain may have been withheld while there was no connection.
    compare(journal, withheld, now);
    let mut asked = Stopwatch::start();
    let mut grew: Option<Stopwatch> = None;
    loop {
        if asked.micros() >= WITHHELD_POLL.as_micros() as u64 {
            let now = in_time(limit, table::withheld(&mut connection)).await?;
            compare(journal, withheld, now);
            asked = Stopwatch::start();
        }
        let tail = journal.ring.tail();
        let full = in_time(limit, read_on(clock, journal, &mut connection)).await?;
        if journal.ring.tail() != tail {
            grew = Some(Stopwatch::start());
        }
        if !std::mem::replace(working, true) {
            tracing::info!("the journal is read again");
        }
        if !full {
            let _ = timeout(POLL_INTERVAL, journal.until_moved()).await;
            sleep(grew.map_or(Duration::ZERO, |grew| BATCH_DELAY.saturating_sub(Duration::from_micros(grew.micros()))))
                .await;
        }
    }
}

/// Restarts the ring if the withheld chains have changed, because the ring may contain frames of a chain that is now withheld. Streams then
/// read the journal.
fn compare(journal: &Journal, known: &mut Option<Withheld>, now: Withheld) {
    if known.as_ref().is_some_and(|known| *known != now) {
        journal.restart_after(journal.ring.tail());
    }
    *known = Some(now);
}

/// Reads new operations into the ring. `true` if there may be more.
async fn read_on(clock: &Clock, journal: &Journal, connection: &mut PgConnection) -> Result<bool, StoreError> {
    let (head, tail) = (table::head(&mut *connection).await?, journal.ring.tail());
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
    let Some(last) = entries.last().map(|entry| entry.seq).filter(|_| is_dense(&[], tail, &entries)) else {
        // Jumps are rare, so they are only read when the numbers are not consecutive.
        let jumps = table::extent(&mut *connection, clock.now()).await?.jumps;
        pass_over(journal, &jumps, tail, head, &entries);
        return Ok(true);
    };
    let missing = entries.iter().filter(|entry| !entry.is_whole).count();
    journal.ring.append(entries.into_iter().map(slot));
    journal.meters.tail.store(last, Relaxed);
    journal.meters.read_micros.store(watch.micros(), Relaxed);
    if missing > 0 {
        journal.meters.broken.fetch_add(missing as u64, Relaxed);
        tracing::error!(missing, tail, last, "operations of the journal are missing");
        // Streams notice the missing operations when they read the journal themselves.
        journal.restart_after(last);
    }
    journal.signal();
    Ok(more)
}

/// Restarts the ring at the last gap in the numbers after `tail`, so that reading continues after the gap.
fn pass_over(journal: &Journal, jumps: &[Jump], tail: u64, head: u64, entries: &[Entry]) {
    let before = std::iter::once(tail).chain(entries.iter().map(|entry| entry.seq));
    let behind = entries.iter().zip(before).filter(|(entry, before)| entry.seq != before.saturating_add(1)).last();
    // Without entries, no operation has a number between the tail and the head; the next operation gets a number above the head.
    let place = behind.map_or(head, |(entry, _)| entry.seq.saturating_sub(1));
    let is_recorded = match entries {
        [] => successor(jumps, tail) == head.saturating_add(1),
        entries => is_dense(jumps, tail, entries),
    };
    if !is_recorded && !jumps.iter().any(|jump| jump.lost(Cursor::new(tail))) {
        journal.meters.broken.fetch_add(1, Relaxed);
        tracing::error!(tail, place, "numbers of the journal are missing");
    }
    journal.restart_after(place);
}

/// Whether the entries follow `last` and each other without gaps, except for recorded jumps.
pub fn is_dense(jumps: &[Jump], last: u64, entries: &[Entry]) -> bool {
    let mut last = last;
    entries.iter().all(|entry| {
        let follows = entry.seq == successor(jumps, last);
        last = entry.seq;
        follows
    })
}

/// Converts a journal entry into a slot of the ring.
pub fn slot(entry: Entry) -> Slot {
    let Entry { seq, told, .. } = entry;
    match told {
        Some(told) => Slot {
            seq,
            frame: Some(Bytes::from(frames::operation(told.operation, Cursor::new(seq), &told.row))),
            vaults: told.vaults.into(),
        },
        None => Slot { seq, frame: None, vaults: Box::default() },
    }
}
