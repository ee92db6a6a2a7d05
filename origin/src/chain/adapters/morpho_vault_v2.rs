//! Vaults of Morpho Vault V2: where the adapters have put the assets, who may enter and leave, and how long changes wait.
//!
//! These vaults answer 0 to every question for a limit of deposits and withdrawals, so that says nothing. Whether they take deposits is
//! known in two cases: nothing stands in the way, or the adapter to which deposits go gets no more.

use super::super::asked::Asked;
use super::super::state::Vault;
use super::members::{Holdings, Member};
use super::price_source::PriceSources;
use super::{Adapted, Readings, Site, each, metamorpho};
use rds_chain::Address;
use rds_chain::abi::Function;
use rds_chain::adapt::Value;
use rds_chain::adapt::morpho_vault_v2::{self, Adapter, Caps, Delay, Kind, Place};
use rds_chain::adapt::part::Part;
use rds_chain::adapt::question::Question;
use rds_facts::ReadField;
use serde_json::json;
use std::collections::BTreeSet;

/// The functions of the first step on which the list of places stands.
const LIST: [Function; 2] = [Function::Asset, Function::AdaptersLength];

/// A vault with its adapters.
struct Holder {
    contract: Address,
    vault: morpho_vault_v2::Vault,
    adapters: Value<Vec<Adapter>>,
}

pub(super) async fn read(site: Site<'_>, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    let Site { reader, block, .. } = site;
    asked.ask(reader, block, each(vaults, morpho_vault_v2::first_step)).await;
    let parsed: Vec<(Address, morpho_vault_v2::Vault)> = vaults
        .iter()
        .map(|(_, contract)| (*contract, morpho_vault_v2::Vault::from_answers(asked.answers(), *contract)))
        .collect();
    asked.ask(reader, block, parsed.iter().flat_map(|(contract, vault)| vault.adapter_step(*contract)).collect()).await;
    let listed = |(contract, vault): &(Address, morpho_vault_v2::Vault)| vault.adapters(asked.answers(), *contract);
    let listed: Vec<Value<Vec<Address>>> = parsed.iter().map(listed).collect();
    let adapters = listed.iter().flatten().flatten();
    asked.ask(reader, block, adapters.flat_map(|it| Adapter::first_step(*it)).collect()).await;
    let holders: Vec<Holder> = parsed
        .into_iter()
        .zip(listed)
        .map(|((contract, vault), listed)| {
            let adapter = |it: Address| Adapter::from_answers(asked.answers(), contract, it);
            Holder { contract, vault, adapters: listed.map(|listed| listed.into_iter().map(adapter).collect()) }
        })
        .collect();
    let caps = holders.iter().flat_map(Holder::caps_step);
    let positions = holders.iter().flat_map(Holder::adapters).flat_map(Adapter::position_step);
    asked.ask(reader, block, positions.chain(caps).collect()).await;
    let worth = holders.iter().flat_map(Holder::adapters).flat_map(|it| it.worth_step(asked.answers())).collect();
    asked.ask(reader, block, worth).await;
    let held: Vec<Option<Vec<Part<Place>>>> = holders.iter().map(|holder| holder.held(asked)).collect();
    let oracles: BTreeSet<Address> = held.iter().flatten().flatten().filter_map(|part| oracle(&part.place)).collect();
    let sources = PriceSources::read(site, oracles, asked).await;

    let all = vaults.iter().zip(holders.iter().zip(held));
    all.map(|((id, _), (holder, held))| holder.adapted(site, id, held, &sources, asked)).collect()
}

fn oracle(place: &Place) -> Option<Address> {
    match place {
        Place::Market(market) => market.params.oracle,
        Place::Idle | Place::Vault(_) | Place::Elsewhere(_) => None,
    }
}

impl Holder {
    fn question(&self, function: Function) -> Question {
        Question::new(self.contract, function)
    }

    fn adapters(&self) -> &[Adapter] {
        self.adapters.as_deref().unwrap_or_default()
    }

    /// The adapter to which deposits go, if it is of a known kind.
    fn liquidity_adapter(&self) -> Option<&Adapter> {
        let contract = self.vault.liquidity_adapter.ok().flatten()?;
        let adapter = self.adapters().iter().find(|it| it.contract == contract)?;
        adapter.kind.is_ok_and(|kind| kind != Kind::Other).then_some(adapter)
    }

    fn caps_step(&self) -> Vec<Question> {
        let adapter = self.liquidity_adapter();
        adapter.map_or_else(Vec::new, |it| morpho_vault_v2::caps_step(self.contract, it.id()).into())
    }

    fn held(&self, asked: &Asked) -> Option<Vec<Part<Place>>> {
        let adapters = self.adapters.as_ref().ok()?;
        morpho_vault_v2::exposures(asked.answers(), self.contract, &self.vault, adapters).ok()
    }

    /// The questions on which the list of places stands.
    fn list_questions(&self, asked: &Asked) -> Vec<Question> {
        let list = LIST.map(|function| self.question(function)).into_iter();
        let adapters = self.adapters().iter().flat_map(|it| {
            let first = Adapter::first_step(it.contract).into_iter();
            first.chain(it.position_step()).chain(it.worth_step(asked.answers()))
        });
        list.chain(self.vault.adapter_step(self.contract)).chain(adapters).collect()
    }

    fn adapted(
        &self,
        site: Site<'_>,
        id: &str,
        held: Option<Vec<Part<Place>>>,
        sources: &PriceSources,
        asked: &Asked,
    ) -> Adapted {
        let first = morpho_vault_v2::first_step(self.contract);
        let list = self.list_questions(asked);
        let mut readings = Readings::new(site, id);
        self.deposit_status(&mut readings, asked);
        self.exit(&mut readings, asked);
        Adapted {
            readings: readings.found,
            holdings: held.and_then(|held| self.holdings(site, &held, sources, &list, asked)),
            is_disputed: asked.is_disputed(first.iter().chain(&list)),
            seen: asked.evidence(&first).into_iter().next(),
            own_delay: match self.vault.shortest_delay() {
                Ok(Delay::Seconds(seconds)) => Some(seconds),
                // Nothing that raises the risk can be changed, so owner and curator do not control it.
                Ok(Delay::Never) | Err(_) => None,
            },
        }
    }

    /// Whether the vault takes deposits from everybody, as far as that is shown.
    fn deposit_status(&self, readings: &mut Readings<'_>, asked: &Asked) {
        let mut from: Vec<Question> =
            [Function::ReceiveSharesGate, Function::SendAssetsGate, Function::LiquidityAdapter]
                .map(|function| self.question(function))
                .into();
        let is_full = self
            .liquidity_adapter()
            .and_then(|adapter| Some(Caps::from_answers(asked.answers(), self.contract, adapter.id()).ok()?.is_full()));
        let status = match (self.vault.gates.let_everybody_in(), self.vault.liquidity_adapter) {
            (_, Ok(Some(_))) if is_full == Some(true) => {
                from.extend(self.caps_step());
                "closed"
            }
            (Ok(true), Ok(None)) => "open",
            _ => "unknown",
        };
        readings.add(asked, ReadField::DepositStatus, json!(status), &from, None);
        // The limit that another adapter may have read of this vault was none.
        readings.add(asked, ReadField::DepositCapacityUsd, json!(null), &from, None);
    }

    /// A gate decides who may leave.
    fn exit(&self, readings: &mut Readings<'_>, asked: &Asked) {
        let from = [Function::SendSharesGate, Function::ReceiveAssetsGate].map(|function| self.question(function));
        let exit = match self.vault.gates.let_everybody_out() {
            Ok(false) => "blockable",
            Ok(true) => "unknown",
            Err(_) => return,
        };
        readings.add(asked, ReadField::Exit, json!(exit), &from, None);
    }

    /// `None` if the asset is not known.
    fn holdings(
        &self,
        site: Site<'_>,
        held: &[Part<Place>],
        sources: &PriceSources,
        list: &[Question],
        asked: &Asked,
    ) -> Option<Holdings> {
        let asset = self.vault.asset.ok()?;
        let held: Vec<&Part<Place>> = held.iter().filter(|part| part.share_ppm > 0).collect();
        let shown = held.iter().filter_map(|part| oracle(&part.place)).flat_map(|oracle| sources.questions(oracle));
        let from = asked.evidence(list.iter().chain(shown));
        let member = |part: &&Part<Place>| match &part.place {
            Place::Idle => Some(Member::held(asset, part.share_ppm)),
            Place::Vault(inner) => Some(Member::vault(*inner, part.share_ppm)),
            Place::Market(market) => Some(metamorpho::member(&market.params, part.share_ppm, asset, sources)),
            Place::Elsewhere(_) => None,
        };
        Some(match held.iter().map(member).collect() {
            Some(members) => Holdings::observed(site.registry, members, from),
            // A part is with an adapter that does not show where.
            None => Holdings::unavailable(from),
        })
    }
}
