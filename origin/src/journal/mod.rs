//! The journal: one dense order of everything that left the service, given after the fact and never taken back.
//!
//! | file | does |
//! |---|---|
//! | [`sequence`] | gives operations their numbers; every process tries, a row's lock is the safety |
//! | [`tail`] | follows the numbers in this process, encodes each operation once, keeps it in the ring |
//! | [`ring`] | the newest frames, shared by every stream |
//! | [`retention`] | partitions made ahead and dropped behind |
//!
//! Producers append to `push_operation` in their own transactions and say nothing. The notice that facts have changed wakes the
//! sequencer ([`Journal::committed`]); nothing depends on it.
//!
//! # Invariants
//!
//! - Sequence numbers are dense and follow the order in which operations became visible. None is given twice: not after a rollback, a race, a crash or a
//!   restore. Only a recorded step may lie between two of them (`tests/it/journal_numbers.rs`, `tests/it/journal_pasts.rs`).
//! - Producers number nothing, lock nothing and wait for nobody. The journal's rows are dropped with their partition, never one by one
//!   (`tests/it/journal_retention.rs`).

pub mod meters;
pub mod retention;
pub mod ring;
pub mod sequence;
pub mod tail;

use crate::clock::Clock;
use crate::entropy;
use crate::store::{Db, StoreError};
use meters::JournalMeters;
use rds_shared::push::Cursor;
use rds_shared::push::cursor::Jump;
use rds_shared::push::past::Draw;
use ring::Ring;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// How long making a connection of the journal's own may take.
const CONNECT: Duration = Duration::from_secs(2);

/// Where a step of the numbers may land, by this machine: its real time, whatever a test did to `clock`, and bits of its own.
pub fn draw(clock: &Clock) -> Draw {
    Draw { seconds: clock.wall().as_seconds(), random: u64::from_be_bytes(entropy::random_bytes()) }
}

/// The journal as this process knows it.
#[derive(Debug)]
pub struct Journal {
    /// The newest frames.
    pub ring: Ring,
    /// What is counted.
    pub meters: JournalMeters,
    due: Notify,
    moved: Notify,
    signal: watch::Sender<u64>,
}

impl Default for Journal {
    fn default() -> Self {
        let (due, moved, signal) = (Notify::new(), Notify::new(), watch::Sender::new(0));
        Journal { ring: Ring::default(), meters: JournalMeters::default(), due, moved, signal }
    }
}

impl Journal {
    /// Operations may have been committed: they are numbered at once instead of at the next look.
    pub fn committed(&self) {
        self.due.notify_one();
    }

    /// Numbers were given, here or elsewhere: they are read at once instead of at the next look.
    pub fn numbered(&self) {
        self.moved.notify_one();
    }

    /// Resolves at the next signal: the ring has grown, or something else that every stream must look at has changed.
    pub fn signals(&self) -> watch::Receiver<u64> {
        self.signal.subscribe()
    }

    /// Has every stream look.
    pub fn signal(&self) {
        self.signal.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Forgets what was read, and has every stream find out for itself what follows its place.
    pub fn begin_after(&self, place: u64) {
        self.ring.begin_after(place);
        self.meters.tail.store(place, Relaxed);
        self.signal();
    }

    async fn until_due(&self) {
        self.due.notified().await;
    }

    async fn until_moved(&self) {
        self.moved.notified().await;
    }
}

/// The number that follows `last`: the next one, or the one behind the jumps that begin there.
pub fn successor(jumps: &[Jump], last: u64) -> u64 {
    let mut last = Cursor::new(last);
    while let Some(jump) = jumps.iter().find(|jump| jump.from == last && jump.to > last) {
        last = jump.to;
    }
    last.get().saturating_add(1)
}

/// A connection of the journal's own: a pool that is used up, or a reader that is slow, must not hold it up. A statement may take
/// `statement`; the server gives up a transaction or a peer that says nothing for two seconds, and with it the lock it holds.
///
/// What is asked on it finds a few rows among very many, by an index. An hour that has just begun has statistics that say otherwise.
pub async fn connect(db: &Db, name: &str, statement: Duration) -> Result<PgConnection, StoreError> {
    let statement = statement.as_millis().to_string();
    let options: PgConnectOptions = (*db.pool.connect_options()).clone().application_name(name).options([
        ("statement_timeout", statement.as_str()),
        ("idle_in_transaction_session_timeout", "2000"),
        ("tcp_user_timeout", "2000"),
        ("client_connection_check_interval", "2000"),
        ("enable_seqscan", "off"),
    ]);
    match tokio::time::timeout(CONNECT, PgConnection::connect_with(&options)).await {
        Ok(connected) => Ok(connected?),
        Err(_) => Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut)),
    }
}

/// A database call that ends in time even if nobody answers: the connection is then given up, by the caller or by the pool.
pub(crate) async fn in_time<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_each_other_but_for_the_jumps() {
        let jump = |from, to| Jump { from: Cursor::new(from), to: Cursor::new(to) };
        let jumps = [jump(7, 100), jump(100, 200), jump(205, 300)];
        assert_eq!(successor(&jumps, 6), 7);
        assert_eq!(successor(&jumps, 7), 201, "two steps with nothing in between");
        assert_eq!(successor(&jumps, 100), 201);
        assert_eq!(successor(&jumps, 204), 205);
        assert_eq!(successor(&jumps, 205), 301);
    }
}
