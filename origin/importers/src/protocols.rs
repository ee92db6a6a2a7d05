//! protocols.jsonl: vault protocols, their links, and lower bounds of their age and number of audits.

use super::adapter::{Adapter, Known, Observed};
use super::evidence::{OwnProtocolAnswers, ProtocolEvidence};
use rds_engine::ingest::Observation;
use rds_facts::Protocol;
use rds_facts::fact::Kind;
use rds_shared::model::status::Breakdown;
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::BTreeMap;

/// 2026-07-01: the links are of July 2026.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_782_864_000);

/// How the vaults of two protocols invest by design: over lending markets, or in strategies. `yield_vaults` adds a third protocol, whose
/// vaults have one strategy each.
const BREAKDOWNS: [(&str, Breakdown); 2] = [("morpho", Breakdown::Markets), ("yearn", Breakdown::Strategies)];

pub struct Protocols;

/// A protocol.
#[derive(Deserialize)]
pub struct Row {
    slug: String,
    name: String,
    website_url: Option<String>,
    app_url: Option<String>,
    documentation_url: Option<String>,
    github_url: Option<String>,
    twitter_url: Option<String>,
    audits_url: Option<String>,
    first_vault_seen: Option<Timestamp>,
    source: String,
}

impl Adapter for Protocols {
    const FILE: &'static str = "protocols.jsonl";
    const NEEDED_BY: &'static [&'static str] = &[ProtocolEvidence::FILE, OwnProtocolAnswers::FILE];
    type Row = Row;

    fn learn(&self, row: &Row, known: &mut Known) {
        known.protocols.insert(row.slug.clone());
    }

    /// `nav_usd` of the file is not used as TVL, because it counts nested vaults twice and omits assets without a price.
    fn observe(&self, row: Row, _known: &Known) -> Observed {
        let mut evidence = BTreeMap::new();
        let mut derived =
            |field: &str, from: &str| evidence.insert(field.to_owned(), format!("{}: {from}", row.source));
        if row.first_vault_seen.is_some() {
            derived("version_deployed_at", "protocol's first vault seen on chain (lower bound of the age)");
        }
        if row.audits_url.is_some() {
            derived("audits", "names a page of audits (lower bound of the number, dates unknown)");
        }
        let breakdown = BREAKDOWNS.iter().find(|(slug, _)| *slug == row.slug).map(|(_, breakdown)| *breakdown);
        Observed::As(vec![Observation::Protocol(Protocol {
            kind: Kind,
            observed_at: At(AS_OF),
            source: row.source,
            id: row.slug,
            name: row.name,
            logo_url: None,
            website_url: row.website_url,
            app_url: row.app_url,
            documentation_url: row.documentation_url,
            github_url: row.github_url,
            twitter_url: row.twitter_url,
            launched_at: None,
            version: None,
            version_deployed_at: row.first_vault_seen.map(At),
            audits: row.audits_url.as_ref().map(|_| 1),
            newest_audit_at: None,
            auditors: Vec::new(),
            audit_report_url: row.audits_url,
            bounty_usd: None,
            tvl_usd: None,
            strategy: None,
            dependencies: None,
            money_market: false,
            deposit_probe_wired: false,
            breakdown,
            evidence,
        })])
    }
}
