//! Whether the database takes writes. Reads go on while its disk is full, so nothing but a write finds that out.
//!
//! One process writes every few seconds, whichever is first; the others read that it did. While writes are refused every process
//! tries, and finds out by itself.

use crate::app::App;
use crate::entropy;
use crate::store::{Db, StoreError, write_probe as table};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often it is looked whether somebody wrote.
const EVERY: Duration = Duration::from_secs(5);
/// How long a write holds good, in seconds.
const WRITTEN_SECONDS: u32 = 15;
/// How long a look may take.
const WITHIN: Duration = Duration::from_secs(5);

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

/// Looks until the process ends.
pub async fn keep_probing(app: &App) {
    loop {
        look(app).await;
        sleep(EVERY).await;
    }
}

/// Looks once. A database that does not answer refuses nothing: other probes tell of that.
pub async fn look(app: &App) {
    let refused = match timeout(WITHIN, probe(&app.db)).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is_refused_write() => Some(error),
        Ok(Err(_)) | Err(_) => return,
    };
    let was_refused = app.writes.refused.swap(refused.is_some(), Relaxed);
    match refused {
        Some(error) if !was_refused => tracing::error!(%error, "the database refuses writes; reads go on"),
        None if was_refused => tracing::info!("the database takes writes again"),
        _ => {}
    }
}

async fn probe(db: &Db) -> Result<(), StoreError> {
    match table::is_written(db, WRITTEN_SECONDS).await? {
        true => Ok(()),
        false => write(db).await,
    }
}

/// Writes, or leaves it to who is writing just now.
pub async fn write(db: &Db) -> Result<(), StoreError> {
    table::write(db, entropy::random_bytes()).await.map(drop)
}
