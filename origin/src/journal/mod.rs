//! The journal: a dense numbering of everything that the service publishes, assigned after the commit and never changed.
//!
//! | file | does |
//! |---|---|
//! | [`sequence`] | assigns numbers to operations; every process tries, and a row lock admits one at a time |
//! | [`tail`] | reads operations that other processes have numbered, and appends them to the ring |
//! | [`ring`] | the newest frames, encoded once and shared by every stream |
//! | [`retention`] | creates partitions ahead and drops expired ones |
//!
//! Producers append to `push_operation` in their own transactions and do nothing else. Their commit wakes the sequencer: directly in this
//! process ([`Journal::committed`]), by a notification in others. The sequencer appends what it has numbered to its own ring
//! ([`Journal::feed`]) and notifies the tailers of other processes. A lost notification only delays: sequencers and tailers also poll.
//!
//! # Invariants
//!
//! - Sequence numbers are dense and follow the order in which operations became visible. None is given twice: not after a rollback, a race, a crash or a
//!   restore. Only a recorded step may lie between two of them (`tests/it/push/journal_numbers.rs`, `tests/it/push/journal_pasts.rs`).
//! - Producers assign no numbers, take no lock of the journal and do not wait for it. The journal's rows are dropped with their partition, never one by one
//!   (`tests/it/push/journal_retention.rs`).

pub mod frame;
pub mod meters;
pub mod retention;
pub mod ring;
pub mod sequence;
pub mod tail;

use crate::metrics::lag::PushLag;
use meters::JournalMeters;
use mio::Waker;
use rds_engine::clock::Clock;
use rds_engine::entropy;
use rds_shared::model::ids::ChainId;
use rds_shared::push::timeline::StepEntropy;
use rds_store::push::journal::Fresh;
use rds_store::push::journal::read::Entry;
use rds_store::{Db, StoreError};
use ring::{Ring, Slot};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Timeout for opening a connection of the journal.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The random input of a step: this machine's real time, even if a test has moved `clock`, and random bits.
pub fn draw(clock: &Clock) -> StepEntropy {
    StepEntropy { seconds: clock.wall().as_seconds(), random: u64::from_be_bytes(entropy::random_bytes()) }
}

/// The state of the journal in this process.
#[derive(Debug, Default)]
pub struct Journal {
    pub ring: Ring,
    pub meters: JournalMeters,
    /// Where operations spend their time on their way to streams and webhooks.
    pub lag: PushLag,
    signal: watch::Sender<u64>,
    /// Threads of live streams.
    wakers: RwLock<Vec<Arc<Waker>>>,
    /// The chains whose operations the ring leaves out; `None` before the ring was started. Whoever changes the ring holds this lock.
    withheld: Mutex<Option<Withheld>>,
    /// The highest number that a notification has reported.
    announced: AtomicU64,
    due: Notify,
    moved: Notify,
    numbered_here: Notify,
}

/// Ids of withheld chains, in ascending order.
pub type Withheld = Vec<ChainId>;
/// The lock for changes of the ring.
type RingLock<'a> = MutexGuard<'a, Option<Withheld>>;

impl Journal {
    /// Wakes the sequencer, because operations may have been committed.
    pub fn committed(&self) {
        self.due.notify_one();
    }

    /// Wakes the tailer, because a process has assigned the numbers up to `head`, unless the ring contains them.
    pub fn numbered(&self, head: u64) {
        self.announced.fetch_max(head, Relaxed);
        if head > self.ring.tail() {
            self.moved.notify_one();
        }
    }

    /// Whether numbers above the ring's tail were reported since the last call.
    fn is_behind(&self) -> bool {
        self.announced.swap(0, Relaxed) > self.ring.tail()
    }

    /// Completes once this process has numbered operations since the last call.
    pub async fn until_numbered_here(&self) {
        self.numbered_here.notified().await;
    }

    /// A receiver that changes with every signal. A signal means that the ring has grown, or that streams must check another change, such as a
    /// revoked key.
    pub fn signals(&self) -> watch::Receiver<u64> {
        self.signal.subscribe()
    }

    /// Wakes every stream.
    pub fn signal(&self) {
        for waker in self.wakers.read().unwrap_or_else(PoisonError::into_inner).iter() {
            // It fails only if the thread has ended, together with its streams.
            let _ = waker.wake();
        }
        self.signal.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Appends operations that this process has just numbered to the ring, so that they need not be read back. If the ring does not end right
    /// before them, or leaves out other chains than they do, the tailer reads them.
    fn feed(&self, fresh: Option<Fresh>) {
        let ring = self.held();
        let next = self.ring.tail().saturating_add(1);
        let entries = fresh
            .filter(|fresh| ring.as_ref() == Some(&fresh.withheld))
            .and_then(|fresh| fresh.entries)
            .filter(|entries| entries.first().is_some_and(|first| first.seq == next));
        match entries {
            Some(entries) => self.append(&ring, entries),
            // The tailer reads what was not appended.
            None => {
                self.announced.store(u64::MAX, Relaxed);
                self.moved.notify_one();
            }
        }
        drop(ring);
        self.numbered_here.notify_one();
    }

    /// Appends entries to the ring, and wakes every stream.
    fn append(&self, _lock: &RingLock<'_>, entries: Vec<Entry>) {
        self.ring.append(entries.into_iter().map(Slot::from));
        let tail = self.ring.tail();
        self.meters.tail.store(tail, Relaxed);
        self.meters.head.fetch_max(tail, Relaxed);
        self.signal();
    }

    /// Every signal wakes this thread, too.
    pub fn wakes(&self, waker: Arc<Waker>) {
        self.wakers.write().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Clears the ring and restarts it after `place`. Each stream then continues from its own position.
    pub fn restart_after(&self, place: u64) {
        self.restart(&self.held(), place);
    }

    fn restart(&self, _lock: &RingLock<'_>, place: u64) {
        self.ring.restart_after(place);
        self.meters.tail.store(place, Relaxed);
        self.signal();
    }

    fn held(&self) -> RingLock<'_> {
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until_due(&self) {
        self.due.notified().await;
    }

    async fn until_moved(&self) {
        self.moved.notified().await;
    }
}

/// Opens a connection for the journal only, so that an exhausted pool or a slow reader cannot delay the journal. `statement` is the
/// statement timeout. The server ends an idle transaction, or the session of an unreachable client, after two seconds, which releases
/// its locks.
///
/// Sequential scans are off: queries find few rows among many by index, but the statistics of a new partition suggest a scan. Statements are
/// planned once, because planning over all partitions takes several milliseconds.
pub async fn connect(db: &Db, name: &str, statement: Duration) -> Result<PgConnection, StoreError> {
    let statement = statement.as_millis().to_string();
    let options: PgConnectOptions = (*db.pool.connect_options()).clone().application_name(name).options([
        ("statement_timeout", statement.as_str()),
        ("idle_in_transaction_session_timeout", "2000"),
        ("tcp_user_timeout", "2000"),
        ("client_connection_check_interval", "2000"),
        ("enable_seqscan", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ]);
    match tokio::time::timeout(CONNECT_TIMEOUT, PgConnection::connect_with(&options)).await {
        Ok(connected) => Ok(connected?),
        Err(_) => Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut)),
    }
}

/// Limits the time of a database call. After a timeout the caller or the pool closes the connection.
pub(crate) async fn in_time<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut)),
    }
}
