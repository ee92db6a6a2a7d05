//! Responses that cover a whole snapshot, encoded once when the snapshot is opened.

use rds_shared::graph::breach::{self, MarketIds};
use rds_shared::graph::facts::Facts;
use rds_shared::graph::incidents::IncidentMap;
use rds_shared::graph::lending::LendingMarket;
use rds_shared::graph::snapshot::Manifest;
use rds_shared::model::graph::Incidents;
use rds_shared::wire::Data;

/// The breach preview of these markets, as JSON.
pub fn breach(markets: &[LendingMarket], ids: &MarketIds) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Data { data: &breach::preview(markets, ids) })
}

/// The incident summary over all vaults, as JSON. `facts` must be those that the incident map was built from.
pub fn incident_summary(manifest: &Manifest, incidents: &IncidentMap, facts: &Facts) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Data { data: &Incidents::of(manifest, incidents.summary(facts)) })
}
