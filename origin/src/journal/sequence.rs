//! The sequencer: assigns sequence numbers to operations, in whichever process gets the lock.
//!
//! A tick is one short transaction on a dedicated connection, mostly one statement. A commit that appended operations wakes the sequencer at
//! once; while several producers commit at the same time, it ticks on its own beat, so that one commit on disk numbers the operations of
//! many. The server's timeouts release the lock of a process that freezes. If a tick exceeds its time limit, for example after a long
//! outage, the limit is doubled until a tick succeeds.

use super::{connect, in_time};
use crate::edge_link::EdgeLink;
use crate::journal::Journal;
use crate::metrics::lag::PushStep;
use crate::traces::{self, Span, Traces};
use rds_engine::clock::{Clock, Stopwatch};
use rds_store::Db;
use rds_store::StoreError;
use rds_store::push::journal as table;
use rds_store::push::journal::{Cause, Tick, Ticked};
use sqlx::PgConnection;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Pause between ticks while several producers commit at the same time, so that their operations are numbered together: after a tick that
/// numbered some, and after one that found none.
const BUSY_PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(8));
/// How long the pauses stay short after the last operation of a busy time.
const BUSY_TIME: Duration = Duration::from_millis(250);
/// Longest pause between ticks: the maximum delay of an operation whose commit wakes nobody.
const IDLE_PAUSE: Duration = Duration::from_millis(50);
/// Pause before a tick is repeated because another process was numbering.
const TAKEN_PAUSE: Duration = Duration::from_millis(2);
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
pub async fn keep_numbering(db: &Db, clock: &Clock, journal: &Journal, traces: &Traces, link: Option<&EdgeLink>) {
    let (mut limit, mut working) = (TICK_LIMITS.0, true);
    loop {
        let Err(error) = number(db, clock, (journal, traces), link, &mut limit, &mut working).await else { continue };
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
    (journal, traces): (&Journal, &Traces),
    link: Option<&EdgeLink>,
    limit: &mut Duration,
    working: &mut bool,
) -> Result<(), StoreError> {
    let mut connection = connect(db, "rds-sequencer", *limit).await?;
    check_past(db, clock, journal, link, &mut connection).await?;
    let (mut pace, mut polls) = (Pace::default(), false);
    loop {
        let span = traces.of_job("number operations");
        let ticking = tick(clock, journal, &mut connection, *limit + CLIENT_MARGIN);
        let ticked = traces::within(span.as_ref().map(Span::context), ticking).await?;
        if let (Some(mut span), Tick::Numbered(count @ 1..)) = (span, ticked.tick) {
            span.set_number("rds.operations", i64::try_from(count).unwrap_or(i64::MAX));
            span.keep();
        }
        journal.meters.current_at.store(clock.wall().as_seconds(), Relaxed);
        if !std::mem::replace(working, true) {
            tracing::info!("operations are numbered again");
        }
        if *limit > TICK_LIMITS.0 {
            // The backlog is numbered; a new connection gets the normal time limit.
            *limit = TICK_LIMITS.0;
            return Ok(());
        }
        if let (true, Tick::Numbered(count)) = (polls, ticked.tick) {
            journal.meters.polled.fetch_add(count, Relaxed);
        }
        polls = false;
        match pace.after(&ticked) {
            Next::Pause(pause) => sleep(pause).await,
            Next::Wait => polls = timeout(IDLE_PAUSE, journal.until_due()).await.is_err(),
            Next::Rest => in_time(*limit + CLIENT_MARGIN, table::rest(&mut connection)).await?,
        }
    }
}

/// When the next tick follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// After this pause.
    Pause(Duration),
    /// When a commit wakes the sequencer, or after [`IDLE_PAUSE`].
    Wait,
    /// At once, after producers were told to send notifications again.
    Rest,
}

/// Decides when the next tick follows.
#[derive(Debug, Default)]
struct Pace {
    /// The head, and the time since it last moved.
    head: Option<(u64, Stopwatch)>,
    /// Time since this process last numbered operations.
    numbered: Option<Stopwatch>,
}

impl Pace {
    fn after(&mut self, ticked: &Ticked) -> Next {
        let within = |watch: Option<Stopwatch>| watch.is_some_and(|watch| watch.elapsed() < BUSY_TIME);
        if self.head.is_none_or(|(head, _)| head != ticked.head) {
            self.head = Some((ticked.head, Stopwatch::start()));
        }
        match ticked.tick {
            Tick::Taken => return Next::Pause(TAKEN_PAUSE),
            Tick::Numbered(0) => {}
            Tick::Numbered(_) => self.numbered = Some(Stopwatch::start()),
        }
        match ticked.is_busy {
            // The process that numbers in a busy time is the only one with short pauses.
            true if ticked.tick != Tick::Numbered(0) => Next::Pause(BUSY_PAUSES.0),
            true if within(self.numbered) => Next::Pause(BUSY_PAUSES.1),
            true if within(self.head.map(|(_, moved)| moved)) => Next::Wait,
            true => Next::Rest,
            false => Next::Wait,
        }
    }
}

/// Numbers what is due, and appends it to the ring.
async fn tick(
    clock: &Clock,
    journal: &Journal,
    connection: &mut PgConnection,
    limit: Duration,
) -> Result<Ticked, StoreError> {
    let (watch, began) = (Stopwatch::start(), clock.now());
    let mut ticked = in_time(limit, table::tick(connection, began)).await?;
    if let Tick::Numbered(count @ 1..) = ticked.tick {
        journal.meters.numbered.fetch_add(count, Relaxed);
        journal.lag.record_traced(PushStep::Number, watch.micros(), traces::current_trace());
        if let Some(fresh) = &ticked.fresh {
            let waited = began.as_micros().saturating_sub(fresh.recorded_at.as_micros());
            journal.lag.record_traced(PushStep::Commit, waited.max(0).unsigned_abs(), traces::current_trace());
        }
        journal.feed(ticked.fresh.take());
    }
    Ok(ticked)
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
    let to = stepped.to.unsigned_abs();
    journal.restart_after(to);
    journal.numbered(to.saturating_add(stepped.numbered));
    Ok(())
}
