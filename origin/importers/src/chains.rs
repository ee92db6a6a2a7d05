//! chains.jsonl: the registry of chains.

use super::adapter::{Adapter, Known, Observed};
use super::assets::Assets;
use super::lending_reserves::LendingReserves;
use rds_engine::ingest::Observation;
use rds_facts::Chain;
use rds_facts::fact::Kind;
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;

/// The data set states only the year of its sources, 2026; this is the earliest possible date.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_767_225_600);

/// Ethereum, on which the rollups of the data set settle.
const SETTLEMENT: i64 = 1;

pub struct Chains;

/// A chain of the registry.
#[derive(Deserialize)]
pub struct Row {
    chain_id: i64,
    slug: String,
    name: String,
    native_symbol: Option<String>,
    block_time_seconds: Option<f64>,
    explorer_url: Option<String>,
    namespace: String,
    source: String,
}

impl Adapter for Chains {
    const FILE: &'static str = "chains.jsonl";
    const NEEDED_BY: &'static [&'static str] = &[LendingReserves::FILE, Assets::FILE];
    type Row = Row;

    fn learn(&self, row: &Row, known: &mut Known) {
        known.chains.insert(row.chain_id, row.slug.clone());
    }

    /// The risk profile stays null: these chains have not been reviewed.
    fn observe(&self, row: Row, _known: &Known) -> Observed {
        Observed::As(vec![Observation::Chain(Chain {
            kind: Kind,
            observed_at: At(AS_OF),
            source: row.source,
            chain_id: row.chain_id,
            slug: row.slug,
            name: row.name,
            namespace: row.namespace,
            native_symbol: row.native_symbol,
            explorer_url: row.explorer_url,
            block_time_seconds: row.block_time_seconds,
            is_settlement: row.chain_id == SETTLEMENT,
            bridge_centralization: None,
            sequencer_centralization: None,
            validator_set_size_score: None,
            chain_age_score: None,
            rationale: None,
            is_served: true,
        })])
    }
}
