//! Totals of the platform: one record, computed whenever the catalog is built.

use super::Vault;
use super::rows::NextRows;
use rds_shared::model::evidence::EvidenceCounts;
use rds_shared::model::stats::{BasisTotal, CategoryTotal, ChainTotal, NamedTotal, Stats, TierShare};
use rds_shared::model::status::TvlStatus;
use rds_shared::replica::Family;
use rds_shared::rules::portfolio::weighted_score;
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::ScoreBasis;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Label of vaults without a classification.
const UNKNOWN: &str = "unknown";

/// Number of the vaults in a group, and the sum of their TVL.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    vaults: u64,
    tvl_usd: f64,
}

/// Counts the `active` vaults and adds up their TVL for each `key`. Groups are sorted by TVL, largest first; groups of equal TVL stay in
/// key order.
fn parts<'v, K: Ord>(active: &'v [Arc<Vault>], key: impl Fn(&'v Vault) -> K) -> Vec<(K, Part)> {
    let mut parts: BTreeMap<K, Part> = BTreeMap::new();
    for vault in active {
        let part = parts.entry(key(vault)).or_default();
        part.vaults += 1;
        part.tvl_usd += vault.row.tvl_usd;
    }
    let mut parts: Vec<(K, Part)> = parts.into_iter().collect();
    parts.sort_by(|a, b| b.1.tvl_usd.total_cmp(&a.1.tvl_usd));
    parts
}

fn tiers(active: &[Arc<Vault>]) -> Vec<TierShare> {
    let found = parts(active, |vault| vault.row.risk_tier);
    let order = [Some(Tier::Prime), Some(Tier::Core), Some(Tier::Edge), None];
    let share = |tier: Option<Tier>| {
        let part = found.iter().find(|(key, _)| *key == tier).map(|(_, part)| *part).unwrap_or_default();
        TierShare { risk_tier: tier, vault_count: part.vaults, tvl_usd: part.tvl_usd }
    };
    order.map(share).to_vec()
}

fn bases(active: &[Arc<Vault>]) -> Vec<BasisTotal> {
    let found = parts(active, |vault| vault.row.evidence.score_basis);
    let total = |basis: &ScoreBasis| {
        let part = found.iter().find(|(key, _)| key == basis).map(|(_, part)| *part).unwrap_or_default();
        BasisTotal { score_basis: *basis, vault_count: part.vaults, tvl_usd: part.tvl_usd }
    };
    ScoreBasis::ALL.iter().map(total).collect()
}

fn categories<'v>(active: &'v [Arc<Vault>], label: impl Fn(&'v Vault) -> Option<&'v str>) -> Vec<CategoryTotal> {
    let total = |(category, part): (&str, Part)| CategoryTotal {
        category: category.to_owned(),
        vault_count: part.vaults,
        tvl_usd: part.tvl_usd,
    };
    parts(active, |vault| label(vault).unwrap_or(UNKNOWN)).into_iter().map(total).collect()
}

/// Id and name of a protocol or curator.
type Named<'v> = (Option<&'v str>, Option<&'v str>);

fn named(parts: Vec<(Named<'_>, Part)>) -> Vec<NamedTotal> {
    let total = |((id, name), part): (Named<'_>, Part)| NamedTotal {
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        vault_count: part.vaults,
        tvl_usd: part.tvl_usd,
    };
    parts.into_iter().map(total).collect()
}

/// Computes the record. The active vaults must be in ascending order of ids, so that floating-point sums are reproducible.
pub(super) fn stats(active: &[Arc<Vault>], lists: &NextRows, evidence: EvidenceCounts) -> Stats {
    let listed = |family| lists.rows().of(family).len() as u64;
    let rows = || active.iter().map(|vault| &vault.row);
    let scored = || rows().filter_map(|row| Some((row.tvl_usd, row.total_score?)));
    let (weighted, weight) = rows()
        .filter_map(|row| Some((row.apr_net?, row.tvl_usd)))
        .fold((0.0, 0.0), |(sum, weight), (apr, tvl)| (sum + apr * tvl, weight + tvl));
    let by_chain = parts(active, |vault| (vault.row.chain_id, vault.row.chain_name.as_str()));
    let by_protocol =
        parts(active, |vault| (Some(vault.row.protocol_id.as_str()), Some(vault.row.protocol_name.as_str())));
    let by_curator = parts(active, |vault| (vault.row.curator_id.as_deref(), vault.row.curator_name.as_deref()));
    Stats {
        vault_count: active.len() as u64,
        scored_vault_count: scored().count() as u64,
        priced_vault_count: rows().filter(|row| row.tvl_status == TvlStatus::Observed).count() as u64,
        tvl_usd: rows().map(|row| row.tvl_usd).sum(),
        scored_tvl_usd: scored().map(|(tvl, _)| tvl).sum(),
        weighted_risk_score: weighted_score(scored()),
        avg_apr: (weight > 0.0).then(|| weighted / weight),
        chain_count: by_chain.len() as u64,
        protocol_count: by_protocol.len() as u64,
        curator_count: by_curator.iter().filter(|((id, _), _)| id.is_some()).count() as u64,
        asset_count: listed(Family::Symbols),
        market_count: listed(Family::Markets),
        oracle_feed_count: listed(Family::Feeds),
        last_synced_at: rows().filter_map(|row| row.last_synced_at).max(),
        by_tier: tiers(active),
        by_chain: by_chain
            .into_iter()
            .map(|((chain_id, chain_name), part)| ChainTotal {
                chain_id,
                chain_name: chain_name.to_owned(),
                vault_count: part.vaults,
                tvl_usd: part.tvl_usd,
            })
            .collect(),
        by_protocol: named(by_protocol),
        by_curator: named(by_curator),
        by_category: categories(active, |vault| vault.asset_category.as_deref()),
        by_score_basis: bases(active),
        evidence,
        by_strategy: categories(active, |vault| vault.row.strategy_type.as_deref()),
    }
}
