//! What is read of the vaults of one chain at one block.

use super::adapters::{self, Adapted, Holdings, PoolMarket, Registry, Site};
use super::asked::Asked;
use super::exposures::{self, Managed};
use super::holders::{self, Tried};
use super::meters::ChainMeter;
use super::observed::{AgreedCall, REWRITE_SECONDS, ReadBlock};
use super::{control, discovery, feeds, gate, markets, state};
use rds_chain::adapt::deposit_gate::GATE;
use rds_chain::{Address, Block};
use rds_engine::ingest::{Observation, is_permitted};
use rds_facts::{Asset, ChainReading, Exposure, HolderSnapshot, OracleFeed, ReadField};
use rds_rpc::agree::Reader;
use rds_rpc::reads::{Adapter, Reads};
use rds_store::chains::{self, OfVault, ReadVault};
use rds_store::{At, Db, StoreError};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Assets that vaults hold and that the registry does not have yet.
    pub assets: Vec<Asset>,
    pub feeds: Vec<OracleFeed>,
    /// Markets with their reserves and efficiency modes.
    pub markets: Vec<Observation>,
    pub readings: Vec<ChainReading>,
    pub exposures: Vec<Exposure>,
    pub holders: Vec<HolderSnapshot>,
}

/// One reading at one block.
pub(super) struct Cycle<'a> {
    pub db: &'a Db,
    pub block: &'a Block,
    pub at: &'a ReadBlock,
    pub reads: &'a Reads,
    pub meter: &'a ChainMeter,
    /// Ids of the assets that this cycle adds to the registry, by contract.
    pub new_assets: BTreeMap<String, String>,
}

/// What was read of one vault, from all sides.
#[derive(Default)]
struct Found {
    readings: Vec<ChainReading>,
    is_disputed: bool,
    seen: Option<AgreedCall>,
    holdings: Option<Holdings>,
    own_delay: Option<u64>,
    deposit_limit: Option<gate::DepositLimit>,
}

impl Cycle<'_> {
    /// Reads the chain's vaults, and those that are `new` in this cycle. Control is read again where an event since block `since` says so.
    pub async fn read(
        &self,
        reader: &mut Reader,
        new: Vec<ReadVault>,
        since: i64,
        tried: &mut Tried,
        gates: &mut gate::Memory,
    ) -> Result<Read, StoreError> {
        let Cycle { db, block, at, reads, meter, new_assets } = self;
        let protocols: Vec<&str> = reads.protocols.keys().map(String::as_str).collect();
        let mut vaults: Vec<(ReadVault, Address)> = Vec::new();
        for vault in chains::vaults(db, at.chain_id, &protocols).await?.into_iter().chain(new) {
            // Only addresses of EVM chains have this form.
            if let Ok(address) = vault.address.parse() {
                vaults.push((vault, address));
            }
        }
        let mut registry = Registry {
            chain_id: at.chain_id,
            assets: chains::asset_ids(db, at.chain_id).await?,
            vaults: chains::vault_ids(db, at.chain_id).await?,
        };
        registry.assets.extend(new_assets.clone());
        registry.vaults.extend(vaults.iter().map(|(vault, address)| (address.to_string(), vault.id.clone())));
        let known = chains::newest(db, at.chain_id).await?;
        let stored = chains::exposures(db, at.chain_id).await?;
        let none = OfVault::new();
        let of = |vault: &ReadVault| known.get(&vault.id).unwrap_or(&none);

        let mut asked = Asked::default();
        let mut read = Read::default();
        let (found, pools) = self.found(reader, &vaults, &mut registry, &mut asked, &mut read).await;
        read.markets = markets::observations(db, at, &pools).await?;
        let sources: BTreeSet<Address> =
            found.iter().filter_map(|it| it.holdings.as_ref()).flat_map(|it| it.sources.iter().copied()).collect();
        let known_feeds = chains::feeds(db, at.chain_id).await?;
        read.feeds = feeds::read(reader, block, at, reads, &sources, &known_feeds, &mut asked).await;
        read.feeds.retain(|feed| self.may_be_written(Observation::OracleFeed(Box::new(feed.clone()))));
        let feeds = known_feeds.keys().chain(read.feeds.iter().map(|feed| &feed.address));
        let feeds: BTreeSet<String> = feeds.map(|address| format!("{}:{address}", at.chain_id)).collect();
        let mut dissent = std::mem::take(&mut asked.dissent);
        let limits = vaults.iter().zip(&found).filter_map(|((vault, address), found)| {
            Some(gate::Candidate { vault_id: &vault.id, vault: *address, deposit_limit: found.deposit_limit.as_ref()? })
        });
        let limits: Vec<gate::Candidate<'_>> = limits.collect();
        let trials = chains::deposit_trials(db, at.chain_id, &GATE.to_string()).await?;
        let site = gate::Site { reader, block, at, counts: &meter.trials };
        let mut verdicts = gate::read(site, &limits, &trials, gates, &mut dissent).await;
        let touched = self.touched(reader, since, &known).await;
        for ((vault, address), mut found) in vaults.iter().zip(found) {
            let parts = found.holdings.iter_mut().flat_map(|holdings| &mut holdings.parts);
            parts.for_each(|part| part.oracles.retain(|oracle| feeds.contains(oracle)));
            let mut of_vault = found.readings;
            gate::apply(&mut of_vault, verdicts.remove(&vault.id), of(vault).get(&ReadField::DepositStatus));
            if found.is_disputed {
                meter.disputed.fetch_add(1, Relaxed);
            }
            of_vault.extend(review(at, vault, found.is_disputed, found.seen.as_ref(), of(vault)));
            read.readings.extend(changed(of_vault, of(vault), at.time));
            let exposure = found.holdings.and_then(|it| exposures::exposure(at, &vault.id, it, stored.get(&vault.id)));
            read.exposures.extend(exposure);
            let protocol = reads.protocols.get(&vault.protocol_id);
            if let (Some(protocol), Some(own_delay)) = (protocol, found.own_delay)
                && protocol.control
                && is_control_due(of(vault), at.time, &touched)
            {
                let options = control::options(protocol.adapter, own_delay);
                let of_vault = control::read(reader, block, at, &vault.id, *address, options, &mut dissent).await;
                read.readings.extend(changed(of_vault, of(vault), at.time));
            }
        }
        meter.dissented(&dissent);
        let dissenters: Vec<String> = dissent.into_keys().collect();
        if !dissenters.is_empty() {
            chains::note_dissent(db, at.chain_id, &dissenters, at.time).await?;
        }
        let is_read = |vault: &ReadVault| reads.protocols.get(&vault.protocol_id).is_some_and(|it| it.holders);
        let held: Vec<state::Vault<'_>> = vaults
            .iter()
            .filter(|(vault, _)| is_read(vault))
            .map(|(vault, address)| (vault.id.as_str(), *address))
            .collect();
        read.holders = holders::read(db, reader, block, at, &held, tried).await?;
        Ok(read)
    }

    /// Whether ingest takes the observation. Exposures must name nothing that it refuses: one contract's strange answer would keep the
    /// whole chain's answers out.
    fn may_be_written(&self, mut observation: Observation) -> bool {
        let is_permitted = is_permitted(&mut observation);
        if !is_permitted {
            self.meter.implausible.fetch_add(1, Relaxed);
        }
        is_permitted
    }

    /// What the vaults' own contracts show, and those of their protocols; and the pools of those of Aave v3.
    async fn found(
        &self,
        reader: &mut Reader,
        vaults: &[(ReadVault, Address)],
        registry: &mut Registry,
        asked: &mut Asked,
        read: &mut Read,
    ) -> (Vec<Found>, Vec<PoolMarket>) {
        let Cycle { block, at, reads, .. } = *self;
        let adapter =
            |vault: &ReadVault| reads.protocols.get(&vault.protocol_id).map_or(Adapter::Erc4626, |it| it.adapter);
        let mut by_adapter: BTreeMap<Adapter, Vec<usize>> = BTreeMap::new();
        for (place, (vault, _)) in vaults.iter().enumerate() {
            by_adapter.entry(adapter(vault)).or_default().push(place);
        }
        let of_places = |places: &[usize]| -> Vec<state::Vault<'_>> {
            places
                .iter()
                .filter_map(|place| vaults.get(*place))
                .map(|(it, address)| (it.id.as_str(), *address))
                .collect()
        };
        let mut more_assets = Vec::new();
        for (adapter, places) in &by_adapter {
            more_assets.extend(adapters::assets(reader, block, *adapter, &of_places(places), asked).await);
        }
        let standard = by_adapter.iter().filter(|(adapter, _)| adapter.is_erc4626()).flat_map(|(_, places)| places);
        let mut standard: Vec<usize> = standard.copied().collect();
        standard.sort_unstable();
        let of_standard = of_places(&standard);
        let mut states = state::read(reader, block, at, reads, &of_standard, more_assets).await;

        let mut found: Vec<Found> = vaults.iter().map(|_| Found::default()).collect();
        let mut managed = Vec::new();
        for ((place, asked), state) in standard.iter().zip(&of_standard).zip(std::mem::take(&mut states.vaults)) {
            let (Some(found), Some((vault, _))) = (found.get_mut(*place), vaults.get(*place)) else { continue };
            let mut readings = state.readings;
            if !adapter(vault).has_limits() {
                readings.retain(|it| !matches!(it.field, ReadField::DepositStatus | ReadField::DepositCapacityUsd));
            }
            *found = Found {
                readings,
                is_disputed: state.is_disputed,
                seen: state.seen,
                holdings: None,
                own_delay: Some(0),
                // An asynchronous vault takes requests instead of deposits.
                deposit_limit: state.deposit_limit.filter(|_| adapter(vault) != Adapter::Erc7540),
            };
            // The other adapters know more of what a vault holds.
            if let Some((asset, total, seen)) = state.managed
                && matches!(adapter(vault), Adapter::Erc4626 | Adapter::Erc7540)
            {
                managed.push((*place, Managed { vault: *asked, asset, total, seen }));
            }
        }
        for (place, holdings) in exposures::idle(reader, block, registry, &managed, &mut states).await {
            if let Some(found) = found.get_mut(place) {
                found.holdings = Some(holdings);
            }
        }
        let prices = std::mem::take(&mut states.prices);
        let mut adapted = self.adapted(reader, &by_adapter, vaults, registry, &prices, asked).await;
        let missing = adapted.iter().filter_map(|(_, it)| it.holdings.as_ref()).flat_map(|it| &it.missing);
        let missing: BTreeSet<Address> = missing.copied().collect();
        if !missing.is_empty() {
            read.assets = discovery::assets(reader, block, at, &missing).await;
            read.assets.retain(|asset| self.may_be_written(Observation::Asset(Box::new(asset.clone()))));
            let ids = read.assets.iter().filter_map(|it| Some((it.address.clone()?, it.id.clone())));
            registry.assets.extend(ids);
            // Everything is asked already; this only finds the new ids.
            adapted = self.adapted(reader, &by_adapter, vaults, registry, &prices, asked).await;
        }
        let tokens = by_adapter.get(&Adapter::AaveV3).into_iter().flatten().filter_map(|place| vaults.get(*place));
        let tokens: Vec<(&str, Address)> = tokens.map(|(it, token)| (it.protocol_id.as_str(), *token)).collect();
        let pools = adapters::pools(self.site(reader, registry, &prices), &tokens, asked).await;
        for (place, adapted) in adapted {
            let Some(found) = found.get_mut(place) else { continue };
            found.readings.extend(adapted.readings);
            found.is_disputed |= adapted.is_disputed;
            found.seen = found.seen.take().or(adapted.seen);
            found.holdings = found.holdings.take().or(adapted.holdings);
            found.own_delay = adapted.own_delay;
        }
        for (operator, count) in states.dissent {
            *asked.dissent.entry(operator).or_default() += count;
        }
        (found, pools)
    }

    fn site<'s>(
        &'s self,
        reader: &'s Reader,
        registry: &'s Registry,
        prices: &'s BTreeMap<Address, state::Price>,
    ) -> Site<'s> {
        Site { reader, block: self.block, at: self.at, reads: self.reads, registry, prices }
    }

    /// What the adapters read, by the vault's place.
    async fn adapted(
        &self,
        reader: &Reader,
        by_adapter: &BTreeMap<Adapter, Vec<usize>>,
        vaults: &[(ReadVault, Address)],
        registry: &Registry,
        prices: &BTreeMap<Address, state::Price>,
        asked: &mut Asked,
    ) -> Vec<(usize, Adapted)> {
        let site = self.site(reader, registry, prices);
        let mut all = Vec::new();
        for (adapter, places) in by_adapter.iter().filter(|(adapter, _)| **adapter != Adapter::Erc4626) {
            let of_adapter: Vec<state::Vault<'_>> = places
                .iter()
                .filter_map(|place| vaults.get(*place))
                .map(|(vault, address)| (vault.id.as_str(), *address))
                .collect();
            let adapted = adapters::read(site, *adapter, &of_adapter, asked).await;
            all.extend(places.iter().copied().zip(adapted));
        }
        all
    }

    /// The contracts that control vaults, and that emitted an event of a changed control since the last reading.
    async fn touched(&self, reader: &Reader, since: i64, known: &BTreeMap<String, OfVault>) -> BTreeSet<String> {
        let contracts: BTreeSet<Address> = known
            .values()
            .flat_map(|of_vault| of_vault.iter().filter(|(field, _)| field.is_of_control()))
            .flat_map(|(_, newest)| &newest.contracts)
            .filter_map(|contract| contract.parse().ok())
            .collect();
        let contracts: Vec<Address> = contracts.into_iter().collect();
        let since = u64::try_from(since).unwrap_or(0);
        let touched = reader.touched(self.block, since, &contracts).await;
        touched.into_iter().map(|address| address.to_string()).collect()
    }
}

/// The mark of a vault about which the operators contradict each other, or its end.
fn review(
    at: &ReadBlock,
    vault: &ReadVault,
    is_disputed: bool,
    seen: Option<&AgreedCall>,
    known: &OfVault,
) -> Option<ChainReading> {
    let is_marked = known.get(&ReadField::NeedsRiskReview).is_some_and(|mark| mark.value == json!(true));
    (is_disputed != is_marked)
        .then(|| at.reading(&vault.id, ReadField::NeedsRiskReview, json!(is_disputed), &[seen?]))
        .flatten()
}

/// The readings of a vault that are written: all of them if one is new, so that a row of its history is whole.
fn changed(readings: Vec<ChainReading>, known: &OfVault, now: At) -> Vec<ChainReading> {
    // That nothing is known any more is written only for a field that had a value.
    let says_nothing = |value: &Value| value.is_null() || *value == json!("unknown");
    let had_value = |it: &ChainReading| known.get(&it.field).is_some_and(|known| !says_nothing(&known.value));
    let readings: Vec<ChainReading> =
        readings.into_iter().filter(|it| !says_nothing(&it.value) || had_value(it)).collect();
    let is_new = |reading: &ChainReading| match known.get(&reading.field) {
        Some(known) => {
            known.value != reading.value
                || now.0.seconds_since(known.observed_at.0) >= REWRITE_SECONDS
                || gate::is_news(reading, known)
        }
        None => true,
    };
    if readings.iter().any(is_new) { readings } else { Vec::new() }
}

/// Whether it is to be read again who controls a vault: never read, a day old, or touched by an event of a contract on the way.
fn is_control_due(known: &OfVault, now: At, touched: &BTreeSet<String>) -> bool {
    let mut is_known = false;
    for (_, newest) in known.iter().filter(|(field, _)| field.is_of_control()) {
        is_known = true;
        if now.0.seconds_since(newest.observed_at.0) >= REWRITE_SECONDS
            || newest.contracts.iter().any(|contract| touched.contains(contract))
        {
            return true;
        }
    }
    !is_known
}
