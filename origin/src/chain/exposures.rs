//! What vaults hold, as observations.
//!
//! Of a vault of ERC-4626 without an adapter of its own, only this is shown by its contracts: if it holds as much of its asset as it manages,
//! then the asset is all that it has. Otherwise the rest is elsewhere: what was read before ends, and what a source stated stays.

use super::adapters::{Holdings, Registry};
use super::observed::{AgreedCall, REWRITE_SECONDS, ReadBlock};
use super::state::{self, States, Vault};
use rds_chain::abi::{Function, Word};
use rds_chain::reader::Field;
use rds_chain::{Address, Block};
use rds_facts::fact::Kind;
use rds_facts::{Exposure, ExposurePart, Share};
use rds_rpc::agree::Reader;
use rds_shared::scoring::vault::ExposuresStatus;
use rds_store::At;
use rds_store::chains::KnownExposure;
use std::collections::BTreeMap;

/// A vault with its asset, the amount that it manages, and the call that says so.
#[derive(Debug, Clone)]
pub(super) struct Managed<'a> {
    pub vault: Vault<'a>,
    pub asset: Address,
    pub total: Word,
    pub seen: AgreedCall,
}

/// What the vaults hold of their own asset, by place: all that they manage, or no one can tell.
pub(super) async fn idle(
    reader: &mut Reader,
    block: &Block,
    registry: &Registry,
    managed: &[(usize, Managed<'_>)],
    states: &mut States,
) -> Vec<(usize, Holdings)> {
    let mut by_asset: BTreeMap<Address, Vec<&(usize, Managed<'_>)>> = BTreeMap::new();
    for it in managed {
        by_asset.entry(it.1.asset).or_default().push(it);
    }
    let mut found = Vec::new();
    for (asset, vaults) in by_asset {
        let Some(asset_id) = registry.assets.get(&asset.to_string()) else { continue };
        // One contract with a field for each vault: the plan divides them into requests, several of which are asked at the same time.
        let balances: Vec<Field> =
            vaults.iter().map(|(_, it)| Field::with(Function::BalanceOf, Word::from_address(it.vault.1))).collect();
        let seen = state::fields(reader, block, &[asset], &balances, states).await;
        let seen = seen.into_iter().next().unwrap_or_default();
        for ((place, it), balance) in vaults.iter().zip(seen) {
            let (Some(held), Some(seen)) = (state::word(&balance), balance.seen) else { continue };
            let from = vec![it.seen.clone(), seen];
            let all = || ExposurePart::plain(Some(asset_id.clone()), None, Share(1_000_000));
            let holdings = match held >= it.total {
                true => Holdings {
                    status: ExposuresStatus::Observed,
                    parts: vec![all()],
                    missing: Vec::new(),
                    sources: Vec::new(),
                    from,
                },
                false => Holdings::unavailable(from),
            };
            found.push((*place, holdings));
        }
    }
    found
}

/// The observation of what a vault holds, unless the store has it already. What nobody can tell is observed only if more was read before:
/// what a source stated is no less true.
pub(super) fn exposure(
    at: &ReadBlock,
    vault_id: &str,
    holdings: Holdings,
    known: Option<&KnownExposure>,
) -> Option<Exposure> {
    let Holdings { status, parts, from, .. } = holdings;
    if status == ExposuresStatus::Unavailable && !known.is_some_and(|known| known.is_read) {
        return None;
    }
    let evidence = at.evidence(&from)?;
    let exposure = Exposure {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        vault_id: vault_id.to_owned(),
        status,
        parts,
        basis: None,
        evidence: Some(evidence),
    };
    is_changed(&exposure, known, at.time).then_some(exposure)
}

fn is_changed(exposure: &Exposure, known: Option<&KnownExposure>, now: At) -> bool {
    known.is_none_or(|known| {
        let is_same = serde_json::to_value(&exposure.parts).is_ok_and(|parts| parts == known.parts)
            && exposure.status.as_str() == known.status;
        !is_same || now.0.seconds_since(known.observed_at.0) >= REWRITE_SECONDS
    })
}
