//! Whether the database accepts writes. Reads still work while the database's disk is full, so only a write detects a full disk.
//!
//! When the last write is too old, the first process to check makes a new one, and the others only read its time. While writes are refused,
//! every process tries to write itself.

use rds_engine::entropy;
use rds_store::service::write_probe as table;
use rds_store::{Db, StoreError};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often to check for a recent write.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long a write counts as recent, in seconds.
const RECENT_SECONDS: u32 = 15;
/// Time limit for a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether writes are refused, as far as this process knows.
#[derive(Debug, Default)]
pub struct Writes {
    refused: AtomicBool,
}

impl Writes {
    /// Whether the database refused the last write that it answered.
    pub fn are_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }
}

/// Checks until the process ends.
pub async fn keep_probing(db: &Db, writes: &Writes) {
    loop {
        look(db, writes).await;
        sleep(CHECK_INTERVAL).await;
    }
}

/// Checks once. A database that does not answer does not count as refusing writes; other checks report that.
pub async fn look(db: &Db, writes: &Writes) {
    let refused = match timeout(CHECK_TIMEOUT, probe(db)).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is_refused_write() => Some(error),
        Ok(Err(_)) | Err(_) => return,
    };
    let was_refused = writes.refused.swap(refused.is_some(), Relaxed);
    match refused {
        Some(error) if !was_refused => tracing::error!(%error, "the database refuses writes; reads still work"),
        None if was_refused => tracing::info!("the database accepts writes again"),
        _ => {}
    }
}

async fn probe(db: &Db) -> Result<(), StoreError> {
    match table::is_written(db, RECENT_SECONDS).await? {
        true => Ok(()),
        false => write(db).await,
    }
}

/// Writes, unless another process is writing at this moment.
pub async fn write(db: &Db) -> Result<(), StoreError> {
    table::write(db, entropy::random_bytes()).await.map(drop)
}
