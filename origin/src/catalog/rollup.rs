//! Chains, protocols and curators, with the totals of their active vaults.

use super::Vault;
use super::rows::NextRows;
use rds_shared::model::chain::ChainRow;
use rds_shared::model::curator::{ChainShare, CuratorRow};
use rds_shared::model::ids::{ChainId, Namespace};
use rds_shared::model::protocol::{ProtocolRow, ProtocolVersion};
use rds_shared::read_model::registries::{chain_row, curator_row, protocol_row};
use rds_shared::replica::Family;
use rds_shared::wire::Timestamp;
use rds_store::registry::catalog::{ChainFacts, CuratorFacts, ProtocolFacts, Registry};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A chain, with or without active vaults.
#[derive(Debug)]
pub struct Chain {
    pub facts: ChainFacts,
}

#[derive(Debug)]
pub struct Protocol {
    pub facts: ProtocolFacts,
    /// The deployed version with the totals of the protocol's vaults; empty if the version is unknown.
    pub versions: Vec<ProtocolVersion>,
}

#[derive(Debug)]
pub struct Curator {
    /// The list row; the detail response contains it as `curator`.
    pub row: CuratorRow,
    /// The chains of the curator's vaults, largest value first.
    pub chains: Vec<ChainShare>,
}

/// All chains, protocols and curators: the facts of their details. Their lists are in the read model.
#[derive(Debug, Default)]
pub struct Rollup {
    /// Largest value first.
    pub chains: Vec<Chain>,
    protocols: Vec<Protocol>,
    /// In ascending order of ids.
    curators: Vec<Curator>,
}

/// Totals of a set of vaults, added in ascending order of ids so that floating-point sums are reproducible.
#[derive(Debug, Default)]
struct Sum {
    vaults: u64,
    scored: u64,
    tvl_usd: f64,
    /// Sum of net rate times TVL over the vaults that report a rate; `apr_weight` is the sum of their TVL.
    weighted_apr: f64,
    apr_weight: f64,
    last_synced_at: Option<Timestamp>,
    protocols: BTreeSet<String>,
    chains: BTreeMap<ChainId, (String, u64, f64)>,
}

impl Sum {
    fn add(&mut self, vault: &Vault) {
        let row = &vault.row;
        self.vaults += 1;
        self.scored += u64::from(row.total_score.is_some());
        self.tvl_usd += row.tvl_usd;
        if let Some(apr) = row.apr_net {
            self.weighted_apr += apr * row.tvl_usd;
            self.apr_weight += row.tvl_usd;
        }
        self.last_synced_at = self.last_synced_at.max(row.last_synced_at);
        if !self.protocols.contains(&row.protocol_id) {
            self.protocols.insert(row.protocol_id.clone());
        }
        let chain = self.chains.entry(row.chain_id).or_insert_with(|| (row.chain_name.clone(), 0, 0.0));
        chain.1 += 1;
        chain.2 += row.tvl_usd;
    }

    /// The net rate weighted by TVL; `None` if no vault with a TVL above 0 reports a rate.
    fn avg_apr(&self) -> Option<f64> {
        (self.apr_weight > 0.0).then(|| self.weighted_apr / self.apr_weight)
    }
}

impl Rollup {
    /// Computes the totals of the active vaults, which must be in ascending order of ids, and encodes the lists.
    pub(super) fn new(registry: Registry, active: &[Arc<Vault>], rows: &mut NextRows) -> anyhow::Result<Self> {
        let (mut by_chain, mut by_protocol, mut by_curator) = (HashMap::new(), HashMap::new(), HashMap::new());
        for vault in active {
            by_chain.entry(vault.row.chain_id).or_insert_with(Sum::default).add(vault);
            by_protocol.entry(vault.row.protocol_id.as_str()).or_insert_with(Sum::default).add(vault);
            if let Some(curator) = &vault.row.curator_id {
                by_curator.entry(curator.as_str()).or_insert_with(Sum::default).add(vault);
            }
        }
        let tvl_of = |chain: &Option<ChainRow>| chain.as_ref().map_or(0.0, |row| row.tvl_usd);
        let mut chains: Vec<(ChainFacts, Option<ChainRow>)> = registry
            .chains
            .into_iter()
            .map(|facts| {
                let row = by_chain.remove(&facts.id).map(|sum| chain(&facts, &sum));
                (facts, row)
            })
            .collect();
        chains.sort_by(|(a, a_row), (b, b_row)| tvl_of(b_row).total_cmp(&tvl_of(a_row)).then(a.id.cmp(&b.id)));
        let encoded = chains.iter().map(|(facts, row)| {
            let identity = (facts.id, facts.slug.as_str(), facts.namespace);
            chain_row(identity, row.as_ref())
        });
        rows.set(Family::Chains, encoded.collect::<Result<_, _>>()?)?;
        let (protocol_rows, protocols): (Vec<_>, Vec<_>) = registry
            .protocols
            .into_iter()
            .map(|facts| protocol(by_protocol.remove(facts.id.as_str()).unwrap_or_default(), facts))
            .unzip();
        rows.set(Family::Protocols, protocol_rows.iter().map(protocol_row).collect::<Result<_, _>>()?)?;
        let curators = registry
            .curators
            .into_iter()
            .map(|facts| curator(by_curator.remove(facts.id.as_str()).unwrap_or_default(), facts));
        let mut curators: Vec<Curator> = curators.collect();
        curators.sort_by(|a, b| a.row.id.cmp(&b.row.id));
        let encoded = curators.iter().map(|curator| curator_row(&curator.row));
        rows.set(Family::Curators, encoded.collect::<Result<_, _>>()?)?;
        let chains = chains.into_iter().map(|(facts, _)| Chain { facts }).collect();
        Ok(Rollup { chains, protocols, curators })
    }

    /// A chain by slug, ignoring letter case, or by number.
    pub fn chain(&self, network: &str) -> Option<&Chain> {
        let number = network.parse().ok().map(ChainId);
        self.chains
            .iter()
            .find(|chain| chain.facts.slug.eq_ignore_ascii_case(network) || Some(chain.facts.id) == number)
    }

    /// Whether the chain is served.
    pub fn serves(&self, chain: ChainId) -> bool {
        self.chains.iter().any(|known| known.facts.id == chain)
    }

    /// The address namespace of a chain; `None` if the chain is not served.
    pub fn namespace(&self, chain: ChainId) -> Option<Namespace> {
        self.chains.iter().find(|known| known.facts.id == chain).map(|known| known.facts.namespace)
    }

    /// A protocol by id, ignoring letter case.
    pub fn protocol(&self, id: &str) -> Option<&Protocol> {
        self.protocols.iter().find(|protocol| protocol.facts.id.eq_ignore_ascii_case(id))
    }

    /// A curator by id, ignoring letter case.
    pub fn curator(&self, id: &str) -> Option<&Curator> {
        self.curators.iter().find(|curator| curator.row.id.eq_ignore_ascii_case(id))
    }
}

fn chain(facts: &ChainFacts, sum: &Sum) -> ChainRow {
    ChainRow {
        chain_id: facts.id,
        slug: facts.slug.clone(),
        name: facts.name.clone(),
        namespace: facts.namespace,
        native_symbol: facts.native_symbol.clone(),
        explorer_url: facts.explorer_url.clone(),
        vault_count: sum.vaults,
        scored_vault_count: sum.scored,
        protocol_count: sum.protocols.len() as u64,
        tvl_usd: sum.tvl_usd,
        last_synced_at: sum.last_synced_at,
    }
}

/// A protocol's list row, and its details.
fn protocol(sum: Sum, facts: ProtocolFacts) -> (ProtocolRow, Protocol) {
    let row = ProtocolRow {
        id: facts.id.clone(),
        name: facts.name.clone(),
        logo_url: facts.logo_url.clone(),
        vault_count: sum.vaults,
        tvl: sum.tvl_usd,
    };
    let versions = facts.version.iter().map(|version| ProtocolVersion {
        version: version.clone(),
        vault_count: sum.vaults,
        tvl_usd: sum.tvl_usd,
        first_seen_at: facts.version_deployed_at,
        audit_count: facts.audits.map(u64::from),
        newest_audit_at: facts.newest_audit_at,
        audit_report_url: facts.audit_report_url.clone(),
    });
    let versions = versions.collect();
    (row, Protocol { versions, facts })
}

fn curator(sum: Sum, facts: CuratorFacts) -> Curator {
    let mut chains: Vec<ChainShare> = sum
        .chains
        .iter()
        .map(|(id, (name, vaults, tvl))| ChainShare {
            chain_id: *id,
            chain_name: name.clone(),
            vault_count: *vaults,
            tvl_usd: *tvl,
            share: (sum.tvl_usd > 0.0).then(|| tvl / sum.tvl_usd),
        })
        .collect();
    chains.sort_by(|a, b| b.tvl_usd.total_cmp(&a.tvl_usd).then(a.chain_id.cmp(&b.chain_id)));
    let row = CuratorRow {
        avg_apr: sum.avg_apr(),
        id: facts.id,
        name: facts.name,
        one_liner: facts.one_liner,
        logo_url: facts.logo_url,
        website: facts.website_url,
        vault_count: sum.vaults,
        tvl_total: sum.tvl_usd,
        created_at: facts.created_at,
    };
    Curator { row, chains }
}
