//! Observations in: every line is read and checked, and the whole batch becomes facts, scores and history in one transaction.
//!
//! | file | does |
//! |---|---|
//! | `line` | one line of NDJSON to one observation, or a fault that names the field |
//! | `check` | what the type of a field cannot say: ranges, addresses, slugs, the methodology's input rules |
//! | `batch` | the observations of one batch, sorted by kind |
//! | `faults` | what is wrong with a batch, counted and told in part |
//! | `passed_over` | which observations were not kept, for another one of the same row was |
//! | `references` | what an observation refers to must be known, to the store or to the batch |
//! | `signed` | signatures must verify, and what was published stays as it was |
//! | `research` | what others found about the scores, and what they foretell |
//! | `security` | the security registry, the casebook and signals, and what follows from them |
//! | `commit` | the transaction |
//! | `tagging` | which copies at the edge a batch makes too old |
//!
//! # Invariants
//!
//! - One batch is one transaction: facts, scores, dwell state, history and data version change together or not at all (`tests/it/facts_faults.rs`).
//! - An observation of which nothing is kept, because another one of its row is, is reported to its sender (`passed_over.rs`).
//! - A market's id is assigned once, on first sight of its contract.

pub mod batch;
mod check;
mod commit;
mod faults;
mod line;
mod passed_over;
pub(crate) mod references;
mod research;
mod security;
mod signed;
mod tagging;

pub use batch::Batch;
pub use commit::{commit, commit_whole};
pub use faults::{Fault, Faults, MAX_FAULTS};
pub use line::Observation;
pub use passed_over::{Ignored, PassedOver, Why};

use crate::clock::Clock;
use crate::store::{AsStoreError, Db, StoreError};
use rds_shared::route::Tag;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::BufRead;

/// The largest batch that is accepted, in bytes of text.
pub const MAX_BATCH_BYTES: u64 = 64 << 20;

/// What a batch left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IngestReport {
    /// Lines that held an observation.
    pub lines: u64,
    /// Observations by kind.
    pub observations: BTreeMap<&'static str, u64>,
    /// Rows that are different now, by kind; empty for a repeated batch.
    pub changed: BTreeMap<&'static str, u64>,
    /// Observations of which nothing was kept, because another one of the same row was.
    pub ignored: Ignored,
    /// Vaults whose score was evaluated again.
    pub vaults_scored: u64,
    /// Published scores that changed.
    pub score_changes: u64,
    /// Events that became public, those that the service made of the batch included.
    pub events_published: u64,
    /// Registry rows that the auto-publish pass published.
    pub security_published: u64,
    /// The run that scored them; null when nothing changed.
    pub score_run_id: Option<String>,
    /// Why none of the scores was published: what the guard of score runs found, or `operator`; null when they were.
    pub scores_withheld: Option<&'static str>,
    /// The data version after the batch.
    pub data_version: i64,
    /// The tags that it raised, in their order: whoever waits until it shows waits for these.
    #[serde(skip)]
    pub tags: Vec<Tag>,
}

/// Why a batch was refused. Nothing of it was kept.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// Lines are wrong.
    #[error("there are {} faults in the batch", .0.total())]
    Faults(Faults),
    /// More than [`MAX_BATCH_BYTES`].
    #[error("a batch holds at most {MAX_BATCH_BYTES} bytes")]
    TooLarge,
    /// The text could not be read.
    #[error("the batch could not be read: {0}")]
    Read(#[from] std::io::Error),
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AsStoreError for IngestError {
    fn as_store(&self) -> Option<&StoreError> {
        match self {
            IngestError::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// Reads NDJSON to its end and commits it as one batch.
pub async fn from_reader(db: &Db, clock: &Clock, reader: impl BufRead) -> Result<IngestReport, IngestError> {
    let batch = Batch::read(reader)?;
    commit(db, clock, batch).await
}
