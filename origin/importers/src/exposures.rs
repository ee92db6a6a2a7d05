//! vault_exposures.jsonl.gz: exposures by rule, one member of a vault's exposures a row.

use super::ImportError;
use super::adapter::{Adapter, Contract, Known, Observed};
use super::evidence::opened;
use super::folder::Folder;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Exposure, ExposureBasis, ExposurePart, Share};
use rds_shared::scoring::rubric::SourceKind;
use rds_shared::scoring::vault::{ExposureRule, ExposuresStatus, Oracle};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;
use std::collections::HashSet;

/// Reads the exposures.
pub struct Exposures;

/// One member of a vault's exposures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Row {
    chain_id: i64,
    address: String,
    /// A product, a contract as `{chain_id}:{address}`, or a vault as `vault:{chain_id}:{address}`.
    asset: String,
    /// Null if the share is unknown.
    share_ppm: Option<u32>,
    oracle: Option<Oracle>,
    lltv_bp: Option<u32>,
    rule: String,
    source_title: String,
    source_url: String,
    source_kind: SourceKind,
    observed_at: String,
}

/// What tells the members of one vault apart: two markets of one collateral are two members.
pub type Member = (String, Option<u32>, Option<&'static str>);

/// The file's letters of the rules. Rules whose set of members may be incomplete (`E`, `F`) or whose member is a lending pool, which has no
/// score (`KA`, `KC`), are not used.
fn rule(letter: &str) -> Option<ExposureRule> {
    Some(match letter {
        "L" => ExposureRule::IsolatedMarket,
        "S" => ExposureRule::IsolatedPair,
        "KV" => ExposureRule::WrappedVault,
        "A" => ExposureRule::DepositShare,
        "B1" => ExposureRule::SingleAsset,
        "B2" => ExposureRule::ConstantProduct,
        "B3" => ExposureRule::PoolMembers,
        "Y" => ExposureRule::StrategyDebt,
        "M" => ExposureRule::MarketSupply,
        _ => return None,
    })
}

impl Row {
    fn contract(&self) -> Contract {
        (self.chain_id, self.address.clone())
    }

    fn member(&self) -> Member {
        (self.asset.clone(), self.lltv_bp, self.oracle.map(Oracle::as_str))
    }

    /// Whether the member can be an exposure: a lending pool and a symbol without a contract cannot.
    fn is_usable(&self) -> bool {
        rule(&self.rule).is_some() && !self.asset.starts_with("pool:") && !self.asset.contains(":symbol:")
    }
}

/// The vaults all of whose members can be exposures; none if the folder lacks the file.
pub fn contracts(folder: &Folder) -> Result<HashSet<Contract>, ImportError> {
    let (mut exposed, mut refused) = (HashSet::new(), HashSet::new());
    if folder.has(Exposures::FILE) {
        for row in folder.rows::<Row>(Exposures::FILE)? {
            let (_, row) = row?;
            let vaults = if row.is_usable() { &mut exposed } else { &mut refused };
            vaults.insert(row.contract());
        }
    }
    Ok(&exposed - &refused)
}

impl Adapter for Exposures {
    const FILE: &'static str = "vault_exposures.jsonl.gz";
    const OPTIONAL: bool = true;
    // A vault's members are on several rows.
    const READ_TWICE: bool = true;
    type Row = Row;

    fn learn(&self, row: &Row, known: &mut Known) {
        known.exposures.entry(row.contract()).or_default().insert(row.member(), row.clone());
    }

    /// The first of a vault's rows becomes the observation of all of them.
    fn observe(&self, row: Row, known: &Known) -> Observed {
        let members = known.exposures.get(&row.contract());
        let members: Vec<&Row> = members.into_iter().flat_map(|members| members.values()).collect();
        if !members.iter().all(|member| member.is_usable()) {
            return Observed::Skipped("a member is a lending pool, has no contract, or the set may be incomplete");
        }
        if members.first().is_none_or(|first| first.member() != row.member()) {
            return Observed::As(Vec::new());
        }
        let listed = known.vaults.get(&row.contract()).map(|vault| vault.id.as_str());
        let Some(vault_id) = listed.or(known.compounders.get(&row.contract()).map(String::as_str)) else {
            return Observed::Skipped("the vault is not listed");
        };
        let Some(at) = Timestamp::parse(&format!("{}T00:00:00Z", row.observed_at)) else {
            return Observed::Skipped("the date cannot be read");
        };
        let Some(rule) = rule(&row.rule) else { return Observed::Skipped("the rule is not known") };
        Observed::As(vec![Observation::Exposure(exposure(&row, rule, vault_id, At(at), &members, known))])
    }
}

/// The exposure of all members. A member that is not listed leaves the exposures unavailable, because the set would be incomplete.
fn exposure(row: &Row, rule: ExposureRule, vault_id: &str, at: At, members: &[&Row], known: &Known) -> Exposure {
    let parts: Option<Vec<ExposurePart>> = members
        .iter()
        .map(|member| part(member, known))
        .map(|part| part.filter(|it| it.vault_id.as_deref() != Some(vault_id)))
        .collect();
    let are_shares_known = members.iter().all(|member| member.share_ppm.is_some());
    let (status, parts) = match parts {
        Some(parts) if are_shares_known => (ExposuresStatus::Observed, parts),
        Some(parts) => {
            let unknown = |part| ExposurePart { share: Share(0), ..part };
            (ExposuresStatus::SharesUnknown, parts.into_iter().map(unknown).collect())
        }
        None => (ExposuresStatus::Unavailable, Vec::new()),
    };
    let basis = ExposureBasis {
        rule,
        source_title: row.source_title.clone(),
        source_url: opened(&row.source_url),
        source_kind: row.source_kind,
    };
    Exposure {
        kind: Kind,
        observed_at: at,
        source: "vault_exposures".to_owned(),
        vault_id: vault_id.to_owned(),
        status,
        parts,
        basis: (status != ExposuresStatus::Unavailable).then_some(basis),
        evidence: None,
    }
}

/// The member as a part; `None` if it is not listed.
fn part(member: &Row, known: &Known) -> Option<ExposurePart> {
    let share = Share(member.share_ppm.unwrap_or(0).min(1_000_000));
    let mut part = match member.asset.strip_prefix("vault:") {
        Some(contract) => {
            let (chain, address) = contract.split_once(':')?;
            let contract = (chain.parse().ok()?, address.to_owned());
            let listed = known.vaults.get(&contract).map(|vault| vault.id.clone());
            let id = listed.or_else(|| known.compounders.get(&contract).cloned())?;
            ExposurePart::plain(None, Some(id), share)
        }
        None => ExposurePart::plain(Some(asset_id(&member.asset, member.chain_id, known)?), None, share),
    };
    part.oracle = member.oracle.unwrap_or(Oracle::None);
    part.lltv = member.lltv_bp.map(|bp| f64::from(bp) / 10_000.0);
    Some(part)
}

/// Id of the asset: of a product its deployment on the vault's chain, else its first.
fn asset_id(subject: &str, chain_id: i64, known: &Known) -> Option<String> {
    if let Some(deployed) = known.products.get(subject) {
        let same = deployed.iter().find(|it| it.chain_id == chain_id);
        return same.or(deployed.first()).map(|it| it.asset_id.clone());
    }
    known.deployments(subject).first().map(|id| (*id).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::ListedVault;

    fn row(lltv_bp: u32) -> Row {
        Row {
            chain_id: 1,
            address: "0xa".to_owned(),
            asset: "1:0xc".to_owned(),
            share_ppm: Some(500_000),
            oracle: Some(Oracle::PushFeed),
            lltv_bp: Some(lltv_bp),
            rule: "M".to_owned(),
            source_title: "a list".to_owned(),
            source_url: "https://example.org/list".to_owned(),
            source_kind: SourceKind::Dataset,
            observed_at: "2026-08-20".to_owned(),
        }
    }

    #[test]
    fn two_markets_of_one_collateral_are_two_exposures() {
        let mut known = Known::default();
        let vault = ListedVault { id: "morpho-1-0xa".to_owned(), asset_decimals: Some(6), listed_in: "list" };
        known.vaults.insert((1, "0xa".to_owned()), vault);
        known.deploy("steth", (1, "0xc".to_owned()), "steth".to_owned());
        let rows = [row(8_600), row(9_450), row(8_600)];
        for row in &rows {
            Exposures.learn(row, &mut known);
        }
        let mut seen = Vec::new();
        for row in rows.into_iter().take(2) {
            let Observed::As(observations) = Exposures.observe(row, &known) else { panic!("skipped") };
            seen.extend(observations);
        }
        let [Observation::Exposure(exposure)] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!(exposure.parts.iter().map(|part| part.lltv).collect::<Vec<_>>(), [Some(0.86), Some(0.945)]);
        assert_eq!(exposure.status, ExposuresStatus::Observed);
    }
}
