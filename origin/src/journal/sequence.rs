//! The sequencer: gives operations their numbers, in whichever process gets the turn.
//!
//! A tick is one short transaction on a connection of its own. A process that freezes with the turn in its hands loses it by the
//! server's timeouts; one whose tick is longer than the timeout, after a long standstill, doubles it until the tick succeeds.

use super::{connect, in_time};
use crate::app::App;
use crate::edge_link::EdgeLink;
use crate::store::StoreError;
use crate::store::journal::{self as table, Cause, Tick};
use sqlx::PgConnection;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How soon it looks again while operations come in.
const BUSY: Duration = Duration::from_millis(5);
/// How soon when nothing has come for a while: the longest that an operation of another process waits.
const IDLE: Duration = Duration::from_millis(50);
/// What a tick may take, and what it may take at most after it was doubled.
const TICK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// What a step over lost numbers may take: it goes through everything that is retained, and nothing can be numbered before it.
const STEP: Duration = Duration::from_secs(3_600);
/// How long the edge is waited for, on a new connection, to say which facts it knows.
const EDGE: Duration = Duration::from_secs(2);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_millis(200);
/// How much longer than the server we wait for the end of a statement.
const MARGIN: Duration = Duration::from_secs(1);

/// Numbers operations until the process ends. Says once when that stops working, and once when it works again.
pub async fn keep_numbering(app: &App, link: Option<&EdgeLink>) {
    let (mut limit, mut working) = (TICK.0, true);
    loop {
        let Err(error) = number(app, link, &mut limit, &mut working).await else { continue };
        app.journal.meters.ticks_failed.fetch_add(1, Relaxed);
        if error.sqlstate().as_deref() == Some("57014") {
            app.journal.meters.ticks_timed_out.fetch_add(1, Relaxed);
            limit = (limit * 2).min(TICK.1);
            tracing::warn!(seconds = limit.as_secs(), "numbering took longer than it may; it may take longer now");
        }
        if std::mem::replace(&mut working, false) {
            tracing::warn!(%error, "operations cannot be numbered; streams and webhooks stand still");
        }
        sleep(PAUSE).await;
    }
}

/// Numbers on one connection, until it fails or is to be made anew.
async fn number(
    app: &App,
    link: Option<&EdgeLink>,
    limit: &mut Duration,
    working: &mut bool,
) -> Result<(), StoreError> {
    let mut connection = connect(&app.db, "rds-sequencer", *limit).await?;
    check_past(app, link, &mut connection).await?;
    let mut pause = BUSY;
    loop {
        let numbered = tick(app, &mut connection, *limit + MARGIN).await?;
        app.journal.meters.current_at.store(app.clock.wall().as_seconds(), Relaxed);
        if !std::mem::replace(working, true) {
            tracing::info!("operations are numbered again");
        }
        if *limit > TICK.0 {
            // The backlog is gone: from the next connection on a tick may take no longer than usual.
            *limit = TICK.0;
            return Ok(());
        }
        pause = if numbered > 0 { BUSY } else { (pause * 2).min(IDLE) };
        let _ = timeout(pause, app.journal.until_due()).await;
    }
}

/// One look, and one tick if there is something to number. How many operations were numbered, here or by whoever has the turn.
async fn tick(app: &App, connection: &mut PgConnection, limit: Duration) -> Result<u64, StoreError> {
    if !in_time(limit, table::is_due(connection)).await? {
        return Ok(0);
    }
    match in_time(limit, table::tick(connection, app.clock.now())).await? {
        Tick::Taken => Ok(1),
        Tick::Numbered(count) => {
            app.journal.meters.numbered.fetch_add(count, Relaxed);
            app.journal.numbered();
            Ok(count)
        }
    }
}

/// Whether the numbers may go on where they are. A restore or a change of primary always breaks the connection, so it is asked
/// on each, before anything is numbered on it.
async fn check_past(app: &App, link: Option<&EdgeLink>, connection: &mut PgConnection) -> Result<(), StoreError> {
    let seen = i64::try_from(app.journal.ring.tail()).unwrap_or(i64::MAX);
    for cause in [Cause::Moved, Cause::Behind(seen)] {
        step_over(app, connection, cause).await?;
    }
    // An edge that says nothing now is heard at its next acknowledgement.
    if let Some(link) = link
        && let Some(known) = link.known_tags(EDGE).await
    {
        step_over(app, connection, Cause::EdgeAhead(known)).await?;
    }
    Ok(())
}

/// Steps over what may be lost, where `cause` holds by what `connection` reads.
pub async fn step_over(app: &App, connection: &mut PgConnection, cause: Cause<'_>) -> Result<(), StoreError> {
    if !in_time(TICK.0 + MARGIN, table::must_step(connection, cause)).await? {
        return Ok(());
    }
    let mut patient = connect(&app.db, "rds-sequencer-step", STEP).await?;
    let Some(stepped) =
        in_time(STEP, table::step(&mut patient, cause, app.clock.now(), super::draw(&app.clock))).await?
    else {
        return Ok(());
    };
    app.journal.meters.steps.fetch_add(1, Relaxed);
    tracing::error!(
        from = stepped.from,
        to = stepped.to,
        numbered = stepped.numbered,
        ?cause,
        "the database is not the one that gave the last number, or an older copy of it: numbers were stepped over"
    );
    // What was read of the numbers that are gone is shown to nobody any more.
    app.journal.begin_after(stepped.to.unsigned_abs());
    app.journal.numbered();
    Ok(())
}
