//! What vaults hold.
//!
//! Of a vault of ERC-4626 without an adapter of its own, only this is shown by its contracts: if it holds as much of its asset as it manages,
//! then the asset is all that it has. Otherwise the rest is elsewhere: what was read before ends, and what a source stated stays.

use super::observed::{AgreedCall, REWRITE_SECONDS, ReadBlock};
use super::state::{self, States, Vault};
use rds_chain::abi::{Function, Word};
use rds_chain::reader::Field;
use rds_chain::{Address, Block};
use rds_facts::fact::Kind;
use rds_facts::{Exposure, ExposurePart, Share};
use rds_rpc::agree::Reader;
use rds_shared::scoring::provenance::ChainEvidence;
use rds_shared::scoring::vault::ExposuresStatus;
use rds_store::At;
use rds_store::chains::KnownExposure;
use std::collections::BTreeMap;

/// Vaults that are asked about together. All of them are fields of one request.
const VAULTS_A_REQUEST: usize = 16;

/// A vault with its asset, the amount that it manages, and the call that says so.
#[derive(Debug, Clone)]
pub(super) struct Managed<'a> {
    pub vault: Vault<'a>,
    pub asset: Address,
    pub total: Word,
    pub seen: AgreedCall,
}

/// The exposures of the vaults whose assets all lie in the vault, unless the store has them already.
pub(super) async fn idle(
    reader: &mut Reader,
    block: &Block,
    at: &ReadBlock,
    managed: &[Managed<'_>],
    asset_ids: &BTreeMap<String, String>,
    known: &BTreeMap<String, KnownExposure>,
    states: &mut States,
) -> Vec<Exposure> {
    let mut by_asset: BTreeMap<Address, Vec<&Managed<'_>>> = BTreeMap::new();
    for it in managed {
        by_asset.entry(it.asset).or_default().push(it);
    }
    let mut exposures = Vec::new();
    for (asset, vaults) in by_asset {
        let Some(asset_id) = asset_ids.get(&asset.to_string()) else { continue };
        for vaults in vaults.chunks(VAULTS_A_REQUEST) {
            let balances: Vec<Field> =
                vaults.iter().map(|it| Field::with(Function::BalanceOf, Word::from_address(it.vault.1))).collect();
            let seen = state::fields(reader, block, &[asset], &balances, states).await;
            let seen = seen.into_iter().next().unwrap_or_default();
            for (it, balance) in vaults.iter().zip(seen) {
                let (Some(held), Some(seen)) = (state::word(&balance), &balance.seen) else { continue };
                let known = known.get(it.vault.0);
                let exposure = match held >= it.total {
                    true => exposure(at, it, Some(asset_id), [&it.seen, seen]),
                    // What was read before does not hold any more, and what a source stated is no less true.
                    false if known.is_some_and(|known| known.is_read) => exposure(at, it, None, [&it.seen, seen]),
                    false => continue,
                };
                exposures.extend(is_changed(&exposure, known, at.time).then_some(exposure));
            }
        }
    }
    exposures
}

fn is_changed(exposure: &Exposure, known: Option<&KnownExposure>, now: At) -> bool {
    known.is_none_or(|known| {
        let is_same = serde_json::to_value(&exposure.parts).is_ok_and(|parts| parts == known.parts);
        !is_same || now.0.seconds_since(known.observed_at.0) >= REWRITE_SECONDS
    })
}

/// The vault holds this asset and nothing else; without an asset, what it holds is not known.
fn exposure(at: &ReadBlock, it: &Managed<'_>, asset_id: Option<&String>, from: [&AgreedCall; 2]) -> Exposure {
    let part = |asset_id: &String| ExposurePart::plain(Some(asset_id.clone()), None, Share(1_000_000));
    Exposure {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        vault_id: it.vault.0.to_owned(),
        status: asset_id.map_or(ExposuresStatus::Unavailable, |_| ExposuresStatus::Observed),
        parts: asset_id.map(part).into_iter().collect(),
        basis: None,
        evidence: Some(ChainEvidence {
            chain_id: u64::try_from(at.chain_id).unwrap_or_default(),
            block_number: u64::try_from(at.number).unwrap_or_default(),
            block_hash: at.hash.clone(),
            calls: from.iter().map(|seen| seen.call.clone()).collect(),
            agreed: from.iter().map(|seen| seen.agreed).min().unwrap_or_default(),
            asked: at.asked,
        }),
    }
}
