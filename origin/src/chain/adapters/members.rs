//! Exposures from the contracts that a vault holds or lends against, by the ids of the registry.

use super::super::observed::AgreedCall;
use super::price_source::PriceSource;
use rds_chain::Address;
use rds_facts::{ExposurePart, Share};
use rds_shared::scoring::vault::{ExposuresStatus, Oracle};
use std::collections::BTreeMap;

/// The ids that the registry has for contracts of the chain.
#[derive(Debug, Default)]
pub struct Registry {
    pub chain_id: i64,
    /// Of assets.
    pub assets: BTreeMap<String, String>,
    /// Of vaults.
    pub vaults: BTreeMap<String, String>,
}

/// What a vault holds or lends against.
#[derive(Debug, Clone)]
pub struct Holdings {
    pub status: ExposuresStatus,
    pub parts: Vec<ExposurePart>,
    /// Contracts that are no assets of the registry, so that the exposures are unavailable until they are.
    pub missing: Vec<Address>,
    /// Contracts from which prices are taken.
    pub sources: Vec<Address>,
    pub from: Vec<AgreedCall>,
}

/// One contract that a vault holds or lends against.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub contract: Address,
    /// Whether it is a vault; otherwise it is an asset.
    pub is_vault: bool,
    /// Parts per million of the vault.
    pub share_ppm: u32,
    pub source: Option<PriceSource>,
    /// Liquidation loan-to-value in parts per million.
    pub lltv_ppm: Option<u32>,
}

impl Member {
    /// An asset that is held, and not lent against.
    pub fn held(asset: Address, share_ppm: u32) -> Self {
        Member { contract: asset, is_vault: false, share_ppm, source: None, lltv_ppm: None }
    }

    /// A vault that is held.
    pub fn vault(vault: Address, share_ppm: u32) -> Self {
        Member { is_vault: true, ..Member::held(vault, share_ppm) }
    }
}

impl Holdings {
    /// Holdings whose shares are known. Members without a share are left out.
    pub(super) fn observed(registry: &Registry, members: Vec<Member>, from: Vec<AgreedCall>) -> Self {
        let members = members.into_iter().filter(|member| member.share_ppm > 0).collect();
        Self::of(registry, ExposuresStatus::Observed, members, from)
    }

    /// Holdings of which only the members are known.
    pub(super) fn shares_unknown(registry: &Registry, members: Vec<Member>, from: Vec<AgreedCall>) -> Self {
        Self::of(registry, ExposuresStatus::SharesUnknown, members, from)
    }

    /// What the vault holds is in places that nothing shows.
    pub fn unavailable(from: Vec<AgreedCall>) -> Self {
        Holdings {
            status: ExposuresStatus::Unavailable,
            parts: Vec::new(),
            missing: Vec::new(),
            sources: Vec::new(),
            from,
        }
    }

    fn of(registry: &Registry, status: ExposuresStatus, members: Vec<Member>, from: Vec<AgreedCall>) -> Self {
        let (mut parts, mut missing, mut is_whole) = (Vec::new(), Vec::new(), true);
        let mut sources = Vec::new();
        for member in members {
            sources.extend(member.source.iter().flat_map(|source| source.contracts.iter().copied()));
            let ids = if member.is_vault { &registry.vaults } else { &registry.assets };
            match ids.get(&member.contract.to_string()) {
                Some(id) => parts.push(part(registry, member, id.clone())),
                None => {
                    is_whole = false;
                    missing.extend((!member.is_vault).then_some(member.contract));
                }
            }
        }
        // Without one of its members a list would hide it.
        let is_known = is_whole && !(status == ExposuresStatus::SharesUnknown && parts.is_empty());
        let (status, parts) = if is_known { (status, parts) } else { (ExposuresStatus::Unavailable, Vec::new()) };
        Holdings { status, parts, missing, sources, from }
    }
}

fn part(registry: &Registry, member: Member, id: String) -> ExposurePart {
    let Member { is_vault, share_ppm, source, lltv_ppm, .. } = member;
    let (asset_id, vault_id) = if is_vault { (None, Some(id)) } else { (Some(id), None) };
    let mut part = ExposurePart::plain(asset_id, vault_id, Share(share_ppm.min(1_000_000)));
    if let Some(PriceSource { class, contracts }) = source {
        part.oracle = class;
        part.oracles = contracts.iter().map(|contract| format!("{}:{contract}", registry.chain_id)).collect();
    } else if lltv_ppm.is_some() {
        part.oracle = Oracle::Unknown;
    }
    part.lltv = lltv_ppm.map(|ppm| f64::from(ppm) / 1e6);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(byte: u8) -> Address {
        Address([byte; 20])
    }

    fn registry() -> Registry {
        let ids = |byte: u8, id: &str| [(address(byte).to_string(), id.to_owned())].into();
        Registry { chain_id: 1, assets: ids(1, "gold"), vaults: ids(2, "inner") }
    }

    #[test]
    fn members_become_parts_by_their_ids() {
        let source = PriceSource { class: Oracle::PushFeed, contracts: vec![address(9)] };
        let lent = Member { source: Some(source), lltv_ppm: Some(860_000), ..Member::held(address(1), 600_000) };
        let held = Holdings::observed(&registry(), vec![lent, Member::vault(address(2), 400_000)], Vec::new());
        assert_eq!((held.status, held.missing.len()), (ExposuresStatus::Observed, 0));
        let [gold, inner] = &held.parts[..] else { panic!("{held:?}") };
        assert_eq!((gold.asset_id.as_deref(), gold.lltv, gold.oracle), (Some("gold"), Some(0.86), Oracle::PushFeed));
        assert_eq!(gold.oracles, [format!("1:{}", address(9))]);
        assert_eq!((inner.vault_id.as_deref(), inner.share), (Some("inner"), Share(400_000)));
    }

    #[test]
    fn a_member_that_is_not_in_the_registry_leaves_no_list() {
        let members = vec![Member::held(address(1), 999_999), Member::held(address(5), 1)];
        let held = Holdings::observed(&registry(), members, Vec::new());
        assert_eq!((held.status, held.parts.len()), (ExposuresStatus::Unavailable, 0));
        assert_eq!(held.missing, [address(5)]);
        let nothing = Holdings::shares_unknown(&registry(), Vec::new(), Vec::new());
        assert_eq!(nothing.status, ExposuresStatus::Unavailable);
        let without_share = vec![Member::held(address(5), 0)];
        assert_eq!(Holdings::observed(&registry(), without_share, Vec::new()).status, ExposuresStatus::Observed);
    }
}
