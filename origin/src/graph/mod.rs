//! The exposure graph at work: built from facts, frozen under the hash of what it says, and answered from in memory.
//!
//! | module | does |
//! |---|---|
//! | [`facts`], `feeds`, `mappings` | from rows of the database to what [`rds_shared::graph`] takes |
//! | [`lending`], [`incidents`] | the same of lending markets, and of incidents |
//! | [`frozen`] | bodies of facts to text and back |
//! | [`build`] | reads, freezes and keeps a snapshot |
//! | [`answers`] | the answers that a snapshot gives whoever asks |
//! | [`follow`] | loads whichever snapshot is current, and builds when one is due |
//!
//! Every process answers from the snapshot that the database calls current, whoever built it: the same id is the same facts.
//!
//! # Invariants
//!
//! - A snapshot is named by the hash of its content and made of facts alone: never of the clock, its builder, or ids that depend on arrival order. A body
//!   that does not hash to its name is not used (`tests/it/graph_snapshots.rs`).
//! - Every process answers from the snapshot that the database calls current. None made from older facts replaces it, and none with a chain that is
//!   withheld now is used.

pub mod answers;
pub mod build;
pub mod facts;
mod feeds;
pub mod follow;
pub mod frozen;
pub mod incidents;
pub mod lending;
mod mappings;

use arc_swap::ArcSwapOption;
use axum::body::Bytes;
use rds_shared::graph::incidents::IncidentMap;
use rds_shared::graph::look_through::ExposureGraph;
use rds_shared::graph::snapshot::Manifest;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::wire::{ApiError, ErrorCode};
use std::sync::Arc;
use tokio::sync::Notify;

/// A frozen snapshot, opened.
#[derive(Debug)]
pub struct Snapshot {
    /// Its id, when it was built, and what it is made of.
    pub manifest: Manifest,
    /// Vaults looked through, and the index that checks are made against.
    pub graph: ExposureGraph,
    /// Incidents over these vaults.
    pub incidents: IncidentMap,
    /// The breach preview as it is answered.
    pub breach: Bytes,
    /// The incident summary as it is answered.
    pub incident_summary: Bytes,
}

impl Snapshot {
    /// Its id.
    pub fn id(&self) -> ContentHash {
        self.manifest.snapshot_id
    }
}

/// Whether the graph family is there, and what it answers from.
#[derive(Debug)]
pub struct Graph {
    is_enabled: bool,
    /// Seconds between two builds; 0 is never by itself.
    every_seconds: u32,
    current: ArcSwapOption<Snapshot>,
    changed: Notify,
}

impl Graph {
    /// Without a snapshot until one is loaded.
    pub fn new(is_enabled: bool, every_seconds: u32) -> Self {
        Graph { is_enabled, every_seconds, current: ArcSwapOption::empty(), changed: Notify::new() }
    }

    /// Whether the routes exist at all.
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// The current snapshot; none before one is loaded, and while it names what may not be named.
    pub fn current(&self) -> Option<Arc<Snapshot>> {
        self.current.load_full()
    }

    /// The current snapshot, or 503 with `Retry-After` while there is none.
    ///
    /// Source: interface, "Decisioning (graph family)".
    pub fn get(&self) -> Result<Arc<Snapshot>, ApiError> {
        let missing = || ApiError::new(ErrorCode::MaterializationUnavailable, "the exposure graph is being built");
        self.current().ok_or_else(missing)
    }

    /// Says that another snapshot may be current, or none.
    pub fn signal(&self) {
        self.changed.notify_one();
    }

    /// Waits until that is said; at once where it was since the last time.
    pub async fn signalled(&self) {
        self.changed.notified().await;
    }
}
