//! The sequencer: assigns sequence numbers to operations, in whichever process gets the lock.
//!
//! A tick is one short transaction on a dedicated connection. The server's timeouts release the lock of a process that freezes. If a
//! tick exceeds its time limit, for example after a long outage, the limit is doubled until a tick succeeds.

use super::{connect, in_time};
use crate::edge_link::EdgeLink;
use crate::journal::Journal;
use rds_engine::clock::Clock;
use rds_store::Db;
use rds_store::StoreError;
use rds_store::push::journal as table;
use rds_store::push::journal::{Cause, Tick};
use sqlx::PgConnection;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Pause between ticks while operations arrive.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// Longest pause between ticks: the maximum delay of an operation from another process.
const IDLE_PAUSE: Duration = Duration::from_millis(50);
/// Time limit of a tick, and its maximum after doubling.
const TICK_LIMITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Timeout of a step, which reads all retained operations. Numbering waits until the step has ended.
const STEP_TIMEOUT: Duration = Duration::from_secs(3_600);
/// How long a new connection waits for the edge to report its tag versions.
const EDGE_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Time that the client waits beyond the server's statement timeout.
const CLIENT_MARGIN: Duration = Duration::from_secs(1);

/// Numbers operations until the process ends. Logs once when this fails, and once when it works again.
pub async fn keep_numbering(db: &Db, clock: &Clock, journal: &Journal, link: Option<&EdgeLink>) {
    let (mut limit, mut working) = (TICK_LIMITS.0, true);
    loop {
        let Err(error) = number(db, clock, journal, link, &mut limit, &mut working).await else { continue };
        journal.meters.ticks_failed.fetch_add(1, Relaxed);
        if error.sqlstate().as_deref() == Some("57014") {
            journal.meters.ticks_timed_out.fetch_add(1, Relaxed);
            limit = (limit * 2).min(TICK_LIMITS.1);
            tracing::warn!(seconds = limit.as_secs(), "numbering exceeded its time limit; the limit is now longer");
        }
        if std::mem::replace(&mut working, false) {
            tracing::warn!(%error, "operations cannot be numbered; streams and webhooks are stalled");
        }
        sleep(RETRY_PAUSE).await;
    }
}

/// Runs the sequencer on one connection, until it fails or must be reopened.
async fn number(
    db: &Db,
    clock: &Clock,
    journal: &Journal,
    link: Option<&EdgeLink>,
    limit: &mut Duration,
    working: &mut bool,
) -> Result<(), StoreError> {
    let mut connection = connect(db, "rds-sequencer", *limit).await?;
    check_past(db, clock, journal, link, &mut connection).await?;
    let mut pause = BUSY_PAUSE;
    loop {
        let numbered = tick(clock, journal, &mut connection, *limit + CLIENT_MARGIN).await?;
        journal.meters.current_at.store(clock.wall().as_seconds(), Relaxed);
        if !std::mem::replace(working, true) {
            tracing::info!("operations are numbered again");
        }
        if *limit > TICK_LIMITS.0 {
            // The backlog is numbered; a new connection gets the normal time limit.
            *limit = TICK_LIMITS.0;
            return Ok(());
        }
        pause = if numbered > 0 { BUSY_PAUSE } else { (pause * 2).min(IDLE_PAUSE) };
        let _ = timeout(pause, journal.until_due()).await;
    }
}

/// Runs a tick if there is something to number; returns the number of operations numbered. Returns 1 if another process has the lock, so
/// that the next tick follows soon.
async fn tick(
    clock: &Clock,
    journal: &Journal,
    connection: &mut PgConnection,
    limit: Duration,
) -> Result<u64, StoreError> {
    if !in_time(limit, table::is_due(connection)).await? {
        return Ok(0);
    }
    match in_time(limit, table::tick(connection, clock.now())).await? {
        Tick::Taken => Ok(1),
        Tick::Numbered(count) => {
            journal.meters.numbered.fetch_add(count, Relaxed);
            journal.numbered();
            Ok(count)
        }
    }
}

/// Makes a step if the numbering must not continue after the stored head. A restore or a change of primary always breaks the connection,
/// so each new connection is checked before anything is numbered on it.
async fn check_past(
    db: &Db,
    clock: &Clock,
    journal: &Journal,
    link: Option<&EdgeLink>,
    connection: &mut PgConnection,
) -> Result<(), StoreError> {
    let seen = i64::try_from(journal.ring.tail()).unwrap_or(i64::MAX);
    for cause in [Cause::Moved, Cause::Behind(seen)] {
        step_over(db, clock, journal, connection, cause).await?;
    }
    // If the edge does not answer in time, its next acknowledgement reports its versions.
    if let Some(link) = link
        && let Some(known) = link.known_tags(EDGE_TIMEOUT).await
    {
        step_over(db, clock, journal, connection, Cause::EdgeAhead(known)).await?;
    }
    Ok(())
}

/// Makes a step if `cause` applies to the database behind `connection`.
pub async fn step_over(
    db: &Db,
    clock: &Clock,
    journal: &Journal,
    connection: &mut PgConnection,
    cause: Cause<'_>,
) -> Result<(), StoreError> {
    if !in_time(TICK_LIMITS.0 + CLIENT_MARGIN, table::must_step(connection, cause)).await? {
        return Ok(());
    }
    let mut stepping = connect(db, "rds-sequencer-step", STEP_TIMEOUT).await?;
    let Some(stepped) =
        in_time(STEP_TIMEOUT, table::step(&mut stepping, cause, clock.now(), super::draw(clock))).await?
    else {
        return Ok(());
    };
    journal.meters.steps.fetch_add(1, Relaxed);
    tracing::error!(
        from = stepped.from,
        to = stepped.to,
        numbered = stepped.numbered,
        ?cause,
        "the database was restored or replaced: the numbering continues above every number that may have been issued"
    );
    // Frames of lost operations must not reach a stream.
    journal.restart_after(stepped.to.unsigned_abs());
    journal.numbered();
    Ok(())
}
