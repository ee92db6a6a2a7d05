//! Ingest: every line is parsed and checked, and the whole batch becomes facts, scores and history in one transaction.
//!
//! | file | does |
//! |---|---|
//! | `observation` | one line of NDJSON to one observation, or a fault that names the field |
//! | `check` | checks beyond the types of fields: ranges, addresses, slugs, the methodology's input rules |
//! | `lines` | the lines of a batch, and their check without a database |
//! | `describe` | examples of each kind, and the rules of its fields, for the documentation |
//! | `batch` | the observations of one batch, by kind |
//! | `evidence_file`, `registry_row` | files of answers, checked and compared without a database; the short form of their rows |
//! | `faults` | the faults of a batch: all counted, the first listed |
//! | `passed_over` | which observations had no effect, because another observation of the same row takes precedence |
//! | `references` | references must exist in the store or in the batch |
//! | `signed` | signatures must verify, and published figures must not change |
//! | `research` | external findings about the scores, and external predictions |
//! | `security` | the security registry, loss cases and signals, and their effects |
//! | `commit` | the transaction |
//! | `tagging` | which tags a batch raises, so that the edge revalidates its cached responses |
//!
//! # Invariants
//!
//! - One batch is one transaction: facts, scores, dwell state, history and data version change together or not at all (`origin/tests/it/ingest/faults.rs`).
//! - An observation that had no effect, because another observation of the same row takes precedence, is reported to its sender
//!   (`passed_over.rs`).
//! - A market's id is assigned once, when its contract is ingested for the first time.

pub mod batch;
mod check;
mod commit;
pub mod describe;
pub mod evidence_file;
mod faults;
mod lines;
mod observation;
mod passed_over;
pub mod references;
pub mod registry_row;
mod research;
mod security;
mod signed;
mod tagging;

pub use batch::Batch;
pub use check::rule::{Form, MAX_TEXT, Rule, Unit};
pub use commit::{commit, commit_whole};
pub use faults::{Fault, Faults, MAX_FAULTS};
pub use lines::{Checked, Finding, check_lines};
#[cfg(feature = "schema")]
pub use observation::schema;
pub use observation::{KINDS, Observation};
pub use passed_over::{Ignored, PassedOver, Why};

use crate::clock::Clock;
use rds_shared::route::Tag;
use rds_store::{AsStoreError, Db, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::BufRead;

/// Whether ingest would accept the observation by itself, without its references. Importers use it to skip rows instead of failing a whole
/// folder.
pub fn is_permitted(observation: &mut Observation) -> bool {
    check::observation(observation).0.is_empty()
}

/// Maximum size of a batch, in bytes of text.
pub const MAX_BATCH_BYTES: u64 = 64 << 20;

/// The result of a committed batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IngestReport {
    /// Number of lines with an observation.
    pub lines: u64,
    /// Number of observations by kind.
    pub observations: BTreeMap<&'static str, u64>,
    /// Number of changed rows by kind; empty for a repeated batch.
    pub changed: BTreeMap<&'static str, u64>,
    /// Observations without effect, because another observation of the same row takes precedence.
    pub ignored: Ignored,
    /// Number of vaults that were scored.
    pub vaults_scored: u64,
    /// Number of published scores that changed.
    pub score_changes: u64,
    /// Number of published events, including those that the service derived from the batch.
    pub events_published: u64,
    /// Number of registry rows that the automatic publication published.
    pub security_published: u64,
    /// Id of the score run; null if there was nothing to score, or if no score was published (`scores_withheld`).
    pub score_run_id: Option<String>,
    /// Why no score was published: the finding of the sanity checks, or `operator`. Null if the scores were published.
    pub scores_withheld: Option<&'static str>,
    /// The data version after the batch.
    pub data_version: i64,
    /// The tags that the batch raised, sorted. A command waits until the edge serves no cached response with an older state of these tags.
    #[serde(skip)]
    pub tags: Vec<Tag>,
}

/// Why a batch was refused; nothing of it was stored.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error("the batch has {} faults", .0.total())]
    Faults(Faults),
    /// More than [`MAX_BATCH_BYTES`].
    #[error("a batch must have at most {MAX_BATCH_BYTES} bytes")]
    TooLarge,
    #[error("the batch could not be read: {0}")]
    Read(#[from] std::io::Error),
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
