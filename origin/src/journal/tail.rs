//! The tailer: one reader a process, which follows the numbers, encodes each operation once and puts it into the ring.
//!
//! A notice only shortens the wait; polling is the truth. Where numbers do not follow each other the ring begins anew, and streams
//! find out for themselves what their place is worth: behind a recorded jump, and, with an alarm, where there is none.

use super::ring::Slot;
use super::{connect, in_time, successor};
use crate::app::App;
use crate::clock::Stopwatch;
use crate::store::StoreError;
use crate::store::journal::read::{self as table, Entry, Most, Stretch};
use axum::body::Bytes;
use rds_shared::push::cursor::Jump;
use rds_shared::push::{Cursor, frames};
use sqlx::PgConnection;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often the head is looked at.
const POLL: Duration = Duration::from_millis(100);
/// How long more is waited for after something was read: operations that come within this time of each other leave together, so
/// that a stream is woken, and its socket written, once for several of them. What comes after a quiet moment leaves at once.
const GATHER: Duration = Duration::from_millis(10);
/// How often it is asked whether a chain was withheld.
const WITHHELD_POLL: Duration = Duration::from_secs(1);
/// What is read at a time: far less than the ring holds.
const AT_ONCE: Most = Most { rows: 1_000, bytes: 8 << 20 };
/// What one statement may take.
const STATEMENT: Duration = Duration::from_secs(10);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_millis(200);

/// Follows until the process ends. Says once when that stops working, and once when it works again.
pub async fn keep_following(app: &App) {
    let (mut withheld, mut working) = (None, true);
    loop {
        let error = match follow(app, &mut withheld, &mut working).await {
            Ok(never) => match never {},
            Err(error) => error,
        };
        if std::mem::replace(&mut working, false) {
            tracing::warn!(%error, "the journal cannot be followed; streams stand still");
        }
        sleep(PAUSE).await;
    }
}

enum Never {}

/// Chains that are withheld, in ascending order.
type Withheld = Vec<i64>;

/// Follows on one connection. `withheld` are the chains that were withheld when it was last asked, on whichever connection: what the
/// ring holds was read when no more than these were. None before the ring has begun.
async fn follow(app: &App, withheld: &mut Option<Withheld>, working: &mut bool) -> Result<Never, StoreError> {
    let limit = STATEMENT + Duration::from_secs(1);
    let mut connection = connect(&app.db, "rds-tailer", STATEMENT).await?;
    let now = in_time(limit, table::withheld(&mut connection)).await?;
    if withheld.is_none() {
        let extent = in_time(limit, table::extent(&mut connection, app.clock.now())).await?;
        app.journal.begin_after(extent.tail.get());
    }
    // A chain may have been withheld while there was no connection.
    compare(app, withheld, now);
    let mut asked = Stopwatch::start();
    let mut grew: Option<Stopwatch> = None;
    loop {
        if asked.micros() >= WITHHELD_POLL.as_micros() as u64 {
            let now = in_time(limit, table::withheld(&mut connection)).await?;
            compare(app, withheld, now);
            asked = Stopwatch::start();
        }
        let tail = app.journal.ring.tail();
        let full = in_time(limit, read_on(app, &mut connection)).await?;
        if app.journal.ring.tail() != tail {
            grew = Some(Stopwatch::start());
        }
        if !std::mem::replace(working, true) {
            tracing::info!("the journal is followed again");
        }
        if !full {
            let _ = timeout(POLL, app.journal.until_moved()).await;
            sleep(grew.map_or(Duration::ZERO, |grew| GATHER.saturating_sub(Duration::from_micros(grew.micros()))))
                .await;
        }
    }
}

/// Begins the ring anew where other chains are withheld now: what it holds may be of one of them. The journal tells which.
fn compare(app: &App, known: &mut Option<Withheld>, now: Withheld) {
    if known.as_ref().is_some_and(|known| *known != now) {
        app.journal.begin_after(app.journal.ring.tail());
    }
    *known = Some(now);
}

/// Reads what is new. `true` when there may be more.
async fn read_on(app: &App, connection: &mut PgConnection) -> Result<bool, StoreError> {
    let (head, tail) = (table::head(&mut *connection).await?, app.journal.ring.tail());
    app.journal.meters.head.store(head, Relaxed);
    if head < tail {
        // An older copy of the database, and nobody has stepped over the lost numbers yet: the sequencer will, by the place that
        // was reached here. What had been read up to there may be lost.
        if app.journal.ring.size().0 > 0 {
            app.journal.begin_after(tail);
        }
        tracing::error!(head, tail, "the head of the journal went back");
        return Err(StoreError::Unavailable(sqlx::Error::RowNotFound));
    }
    if head == tail {
        return Ok(false);
    }
    let watch = Stopwatch::start();
    let Stretch { entries, more } = table::after(&mut *connection, tail, AT_ONCE, None).await?;
    let Some(last) = entries.last().map(|entry| entry.seq).filter(|_| is_dense(&[], tail, &entries)) else {
        // Jumps are rare, so they are read only where one may be.
        let jumps = table::extent(&mut *connection, app.clock.now()).await?.jumps;
        pass_over(app, &jumps, tail, head, &entries);
        return Ok(true);
    };
    let missing = entries.iter().filter(|entry| !entry.is_whole).count();
    app.journal.ring.append(entries.into_iter().map(slot));
    app.journal.meters.tail.store(last, Relaxed);
    app.journal.meters.read_micros.store(watch.micros(), Relaxed);
    if missing > 0 {
        app.journal.meters.broken.fetch_add(missing as u64, Relaxed);
        tracing::error!(missing, tail, last, "operations of the journal are missing");
        // Streams are told of that where they read the journal themselves.
        app.journal.begin_after(last);
    }
    app.journal.signal();
    Ok(more)
}

/// Begins anew behind numbers that do not follow `tail` or each other.
fn pass_over(app: &App, jumps: &[Jump], tail: u64, head: u64, entries: &[Entry]) {
    let before = std::iter::once(tail).chain(entries.iter().map(|entry| entry.seq));
    let behind = entries.iter().zip(before).filter(|(entry, before)| entry.seq != before.saturating_add(1)).last();
    // Without entries nothing is between the two: whatever comes gets a number above the head.
    let place = behind.map_or(head, |(entry, _)| entry.seq.saturating_sub(1));
    let is_recorded = match entries {
        [] => successor(jumps, tail) == head.saturating_add(1),
        entries => is_dense(jumps, tail, entries),
    };
    if !is_recorded && !jumps.iter().any(|jump| jump.lost(Cursor::new(tail))) {
        app.journal.meters.broken.fetch_add(1, Relaxed);
        tracing::error!(tail, place, "numbers of the journal are missing");
    }
    app.journal.begin_after(place);
}

/// Whether the entries follow `last` and each other.
pub fn is_dense(jumps: &[Jump], last: u64, entries: &[Entry]) -> bool {
    let mut last = last;
    entries.iter().all(|entry| {
        let follows = entry.seq == successor(jumps, last);
        last = entry.seq;
        follows
    })
}

/// An entry as streams see it.
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
