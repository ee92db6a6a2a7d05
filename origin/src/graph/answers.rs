//! Answers that a snapshot gives whoever asks, written once when it is opened: each looks at everything that is in it.

use rds_shared::graph::breach::{self, MarketIds};
use rds_shared::graph::facts::Facts;
use rds_shared::graph::incidents::{IncidentMap, MAP_VERSION};
use rds_shared::graph::lending::LendingMarket;
use rds_shared::graph::snapshot::Manifest;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::wire::{Data, Timestamp};
use serde::Serialize;

/// What incidents bear on, and as of when.
///
/// Source: interface, "Graph structures" (incident exposure).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Incidents<T> {
    snapshot_id: ContentHash,
    map_version: &'static str,
    generated_at: Timestamp,
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

/// The breach preview of these markets.
pub fn breach(markets: &[LendingMarket], ids: &MarketIds) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Data { data: &breach::preview(markets, ids) })
}

/// All vaults together, by who issued what was hit. `facts` are those that the incidents were mapped over.
pub fn incident_summary(manifest: &Manifest, incidents: &IncidentMap, facts: &Facts) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Data { data: &Incidents::of(manifest, incidents.summary(facts)) })
}
