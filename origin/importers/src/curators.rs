//! curators.jsonl: curators of vaults. The file does not link them to vaults, and a matching name is no proof.

use super::adapter::{Adapter, Known, Observed};
use rds_engine::ingest::Observation;
use rds_facts::Curator;
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;

/// 2026-07-01: the file is of July 2026.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_782_864_000);

pub struct Curators;

/// A curator.
#[derive(Deserialize)]
pub struct Row {
    slug: String,
    name: String,
    canonical_slug: Option<String>,
    one_liner: Option<String>,
    website_url: Option<String>,
    twitter_url: Option<String>,
    twitter_dead_at: Option<String>,
    source: String,
}

impl Adapter for Curators {
    const FILE: &'static str = "curators.jsonl";
    type Row = Row;

    fn observe(&self, row: Row, _known: &Known) -> Observed {
        Observed::As(vec![Observation::Curator(Curator {
            // One row names itself as its canonical row.
            canonical_id: row.canonical_slug.filter(|main| *main != row.slug),
            one_liner: row.one_liner,
            website_url: row.website_url,
            // A deleted account may belong to somebody else by now.
            twitter_url: row.twitter_url.filter(|_| row.twitter_dead_at.is_none()),
            ..Curator::new(row.slug, row.name, row.source, At(AS_OF))
        })])
    }
}
