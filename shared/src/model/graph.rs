//! Responses of the graph routes, each with the snapshot that it was computed from.

use super::content_hash::ContentHash;
use crate::graph::exposures::LookThrough;
use crate::graph::incidents::{IncidentExposure, MAP_VERSION};
use crate::graph::snapshot::Manifest;
use crate::wire::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::String;
use serde::Serialize;

/// `data` of `GET /v1/graph/look-through`: exposures of vaults, and the snapshot they were computed from.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LookedThrough"))]
#[serde(rename_all = "camelCase")]
pub struct LookedThrough<'a> {
    /// Id of the exposure graph snapshot that was used, the SHA-256 of its manifest.
    pub snapshot_id: ContentHash,
    /// Instant at which the snapshot was built.
    pub built_at: Timestamp,
    /// Observation time of the newest fact in the snapshot; null if it has no facts.
    pub valid_time: Option<Timestamp>,
    /// Exposures by vault key, `{chainId}:{address}`; null for a vault that the snapshot does not have.
    pub results: BTreeMap<String, Option<LookThrough<'a>>>,
}

/// Exposure to incidents, and the snapshot it was computed from.
// `T` is the exposure of each requested vault, or the summary of all vaults.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
#[serde(rename_all = "camelCase")]
pub struct Incidents<T> {
    /// Id of the exposure graph snapshot that was used, the SHA-256 of its manifest.
    snapshot_id: ContentHash,
    /// Version of the rule that maps incidents to vaults.
    map_version: &'static str,
    /// Instant at which the snapshot was built.
    generated_at: Timestamp,
    /// Observation time of the newest fact in the snapshot; null if it has no facts.
    valid_time: Option<Timestamp>,
    #[serde(flatten)]
    answer: T,
}

impl<T> Incidents<T> {
    /// The response computed from the snapshot of this manifest.
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

/// Incident exposure of the requested vaults.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByKey<'a> {
    /// Exposure by vault key, `{chainId}:{address}`; null for a vault that the snapshot does not have.
    pub results: BTreeMap<String, Option<IncidentExposure<'a>>>,
}
