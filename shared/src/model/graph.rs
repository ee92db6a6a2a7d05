//! What the graph family answers, each with the snapshot that it was answered from.
//!
//! Source: interface, "Graph structures".

use super::content_hash::ContentHash;
use crate::graph::exposures::LookThrough;
use crate::graph::incidents::{IncidentExposure, MAP_VERSION};
use crate::graph::snapshot::Manifest;
use crate::wire::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::String;
use serde::Serialize;

/// What was looked through, and as of when: `data` of `GET /v1/graph/look-through`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LookedThrough"))]
#[serde(rename_all = "camelCase")]
pub struct LookedThrough<'a> {
    /// Id of the exposure graph snapshot that was used, the SHA-256 of its manifest.
    pub snapshot_id: ContentHash,
    /// When it was built.
    pub built_at: Timestamp,
    /// The newest fact in it; null where it has none.
    pub valid_time: Option<Timestamp>,
    /// By vault key; a vault that the snapshot does not have is null.
    pub results: BTreeMap<String, Option<LookThrough<'a>>>,
}

/// What incidents bear on, and as of when: `T` is that.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
#[serde(rename_all = "camelCase")]
pub struct Incidents<T> {
    /// The snapshot.
    snapshot_id: ContentHash,
    /// The rules by which incidents are mapped to vaults.
    map_version: &'static str,
    /// When it was computed.
    generated_at: Timestamp,
    /// The newest fact in the snapshot; null where it has none.
    valid_time: Option<Timestamp>,
    #[serde(flatten)]
    answer: T,
}

impl<T> Incidents<T> {
    /// As the snapshot of this manifest has it.
    pub fn of(manifest: &Manifest, answer: T) -> Self {
        Incidents {
            snapshot_id: manifest.snapshot_id,
            map_version: MAP_VERSION,
            generated_at: manifest.built_at,
            valid_time: manifest.valid_time,
            answer,
        }
    }
}

/// The part of each vault that was asked for.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByKey<'a> {
    /// By vault key; a vault that the snapshot does not have is null.
    pub results: BTreeMap<String, Option<IncidentExposure<'a>>>,
}
