//! oracles.jsonl: price feeds by contract. The file has no heartbeats, thresholds or answers, so the feeds' status is unknown.

use super::adapter::{Adapter, Known, Observed};
use super::lending_reserves::AS_OF;
use rds_engine::ingest::Observation;
use rds_facts::OracleFeed;
use rds_facts::fact::Kind;
use rds_shared::model::oracle::FeedKind;
use rds_store::At;
use serde::Deserialize;

pub struct Oracles;

/// A price feed.
#[derive(Deserialize)]
pub struct Row {
    chain_id: i64,
    feed_address: String,
    asset: Option<String>,
    quote: Option<String>,
    kind: FeedKind,
    description: Option<String>,
    other_descriptions: Vec<String>,
    vendor: Option<String>,
    reserve_symbols: Vec<String>,
    used_by: Vec<String>,
    source: String,
}

impl Adapter for Oracles {
    const FILE: &'static str = "oracles.jsonl";
    type Row = Row;

    fn observe(&self, row: Row, _known: &Known) -> Observed {
        Observed::As(vec![Observation::OracleFeed(Box::new(OracleFeed {
            kind: Kind,
            observed_at: At(AS_OF),
            source: row.source,
            contract: String::new(),
            chain_id: row.chain_id,
            address: row.feed_address,
            feed_kind: row.kind,
            asset: row.asset,
            quote: row.quote,
            description: row.description,
            other_descriptions: row.other_descriptions,
            vendor: row.vendor,
            heartbeat_seconds: None,
            deviation_threshold: None,
            last_answer: None,
            last_update_at: None,
            used_by: row.used_by,
            reserve_symbols: row.reserve_symbols,
        }))])
    }
}
