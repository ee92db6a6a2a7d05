//! The exposure graph: built from facts, frozen under the hash of its content, and served from memory.
//!
//! | module | does |
//! |---|---|
//! | [`facts`], `feeds`, `mappings` | rows of the database to the input of [`rds_shared::graph`] |
//! | [`lending`], [`incidents`] | the same for lending markets and incidents |
//! | [`frozen`] | facts to canonical text and back |
//! | [`build`] | reads, freezes and stores a snapshot |
//! | [`answers`] | responses that cover a whole snapshot |
//! | [`follow`] | loads the current snapshot, and builds when one is due |
//!
//! Every process answers from the snapshot that is current in the database, whichever process built it. Equal ids mean equal facts.
//!
//! # Invariants
//!
//! - A snapshot is named by the hash of its content. The content depends on facts alone: not on the clock, on the process that built it, or
//!   on ids that depend on the order of arrival. A body whose hash is not the one in the manifest is not used
//!   (`tests/it/graph/snapshots.rs`).
//! - Every process answers from the snapshot that the database calls current. A snapshot of older facts never replaces it, and a snapshot
//!   with a withheld chain is not used.

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

/// A snapshot, loaded and ready to answer from.
#[derive(Debug)]
pub struct Snapshot {
    /// The snapshot's id, build time and publications.
    pub manifest: Manifest,
    /// The vaults with their look-through, indexed for checks.
    pub graph: ExposureGraph,
    /// Incidents that affect these vaults.
    pub incidents: IncidentMap,
    /// The encoded response of the breach preview.
    pub breach: Bytes,
    /// The encoded response of the incident summary.
    pub incident_summary: Bytes,
}

impl Snapshot {
    pub fn id(&self) -> ContentHash {
        self.manifest.snapshot_id
    }
}

/// Whether the graph's routes are enabled, and the current snapshot.
#[derive(Debug)]
pub struct Graph {
    is_enabled: bool,
    /// Seconds between two automatic builds; 0 disables them.
    every_seconds: u32,
    current: ArcSwapOption<Snapshot>,
    changed: Notify,
}

impl Graph {
    /// A graph without a snapshot; [`follow`] loads one.
    pub fn new(is_enabled: bool, every_seconds: u32) -> Self {
        Graph { is_enabled, every_seconds, current: ArcSwapOption::empty(), changed: Notify::new() }
    }

    /// Whether the graph's routes exist.
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// The current snapshot; `None` until one is loaded, and while it contains a withheld chain.
    pub fn current(&self) -> Option<Arc<Snapshot>> {
        self.current.load_full()
    }

    /// The current snapshot, or 503 with `Retry-After` if there is none.
    pub fn get(&self) -> Result<Arc<Snapshot>, ApiError> {
        let missing = || ApiError::new(ErrorCode::MaterializationUnavailable, "the exposure graph is being built");
        self.current().ok_or_else(missing)
    }

    /// Signals that another snapshot, or none, may be current.
    pub fn signal(&self) {
        self.changed.notify_one();
    }

    /// Waits for a signal; returns at once if one was given since the last call.
    pub async fn signalled(&self) {
        self.changed.notified().await;
    }
}
