//! Vaults of Yearn v3: into which other vaults they put their asset, and whether they are shut down.

use super::super::asked::Asked;
use super::super::state::Vault;
use super::members::{Holdings, Member};
use super::{Adapted, Readings, Site, each};
use rds_chain::Address;
use rds_chain::abi::Function;
use rds_chain::adapt::part::Part;
use rds_chain::adapt::question::Question;
use rds_chain::adapt::yearn_v3::{self, Place};
use rds_facts::ReadField;
use serde_json::json;

/// The functions of the first step on which the list of strategies stands.
const LIST: [Function; 4] = [Function::Asset, Function::GetDefaultQueue, Function::TotalDebt, Function::TotalIdle];

pub(super) async fn read(site: Site<'_>, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    let Site { reader, block, .. } = site;
    asked.ask(reader, block, each(vaults, yearn_v3::first_step)).await;
    let parsed: Vec<yearn_v3::Vault> =
        vaults.iter().map(|(_, contract)| yearn_v3::Vault::from_answers(asked.answers(), *contract)).collect();
    let strategies = vaults.iter().zip(&parsed).flat_map(|((_, contract), vault)| strategy_step(*contract, vault));
    asked.ask(reader, block, strategies.collect()).await;
    vaults.iter().zip(&parsed).map(|((id, contract), vault)| adapted(site, id, *contract, vault, asked)).collect()
}

fn strategy_step(contract: Address, vault: &yearn_v3::Vault) -> Vec<Question> {
    let queue = vault.queue.as_deref().unwrap_or_default();
    queue.iter().map(|strategy| yearn_v3::strategy_step(contract, *strategy)).collect()
}

fn adapted(site: Site<'_>, id: &str, contract: Address, vault: &yearn_v3::Vault, asked: &Asked) -> Adapted {
    let question = |function| Question::new(contract, function);
    let list: Vec<Question> = LIST.map(question).into_iter().chain(strategy_step(contract, vault)).collect();
    let shutdown = question(Function::IsShutdown);
    let mut readings = Readings::new(site, id);
    if let Ok(is_shutdown) = vault.is_shutdown {
        readings.add(asked, ReadField::IsShutdown, json!(is_shutdown), [&shutdown], None);
    }
    let places = vault.exposures(asked.answers(), contract).ok();
    Adapted {
        readings: readings.found,
        holdings: places.and_then(|places| Some(holdings(site, vault.asset.ok()?, &places, asked, &list))),
        is_disputed: asked.is_disputed(list.iter().chain([&shutdown])),
        seen: asked.evidence(&list).into_iter().next(),
        own_delay: Some(0),
    }
}

fn holdings(site: Site<'_>, asset: Address, places: &[Part<Place>], asked: &Asked, list: &[Question]) -> Holdings {
    let from = asked.evidence(list);
    let member = |part: &Part<Place>| match part.place {
        Place::Strategy(strategy) => Some(Member::vault(strategy, part.share_ppm)),
        Place::Idle => Some(Member::held(asset, part.share_ppm)),
        Place::Unlisted => None,
    };
    match places.iter().map(member).collect() {
        Some(members) => Holdings::observed(site.registry, members, from),
        // A part is in strategies that the vault does not list.
        None => Holdings::unavailable(from),
    }
}
