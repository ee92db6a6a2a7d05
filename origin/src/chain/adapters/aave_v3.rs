//! Supply tokens of pools of Aave v3: what is supplied and lent of their asset, the pool's gates, and what secures the loans.

use super::super::asked::Asked;
use super::super::state::{self, Price, Vault};
use super::members::{Holdings, Member};
use super::price_source::PriceSources;
use super::{Adapted, Readings, Site, each};
use rds_chain::abi::Word;
use rds_chain::adapt::aave_v3::{self, Configuration, Contracts, Emode, MAX_EMODES, Reserve, Totals};
use rds_chain::adapt::question::Question;
use rds_chain::adapt::{Unknown, Value};
use rds_chain::{Address, Block};
use rds_facts::ReadField;
use rds_rpc::agree::Reader;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The assets of the supply tokens.
pub(super) async fn assets(reader: &Reader, block: &Block, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Address> {
    asked.ask(reader, block, each(vaults, aave_v3::token_step)).await;
    let asset = |(_, contract): &Vault<'_>| aave_v3::token(asked.answers(), *contract).ok().map(|(_, asset)| asset);
    vaults.iter().filter_map(asset).collect()
}

/// A pool with its reserves, in the order of their indices, and its efficiency modes.
pub(super) struct Pool {
    pub contracts: Contracts,
    pub reserves: Vec<(Address, Reserve)>,
    pub emodes: Vec<(u8, Emode)>,
}

pub(super) async fn read(site: Site<'_>, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    let Site { reader, block, .. } = site;
    asked.ask(reader, block, each(vaults, aave_v3::token_step)).await;
    let named: Vec<Option<(Address, Address)>> =
        vaults.iter().map(|(_, contract)| aave_v3::token(asked.answers(), *contract).ok()).collect();
    let addresses: BTreeSet<Address> = named.iter().flatten().map(|(pool, _)| *pool).collect();
    let pools = pools(site, &addresses, asked).await;
    let reserves = pools.values().flat_map(|pool| &pool.reserves);
    let feeds: BTreeSet<Address> = reserves.filter_map(|(_, it)| it.price_source.ok().flatten()).collect();
    let sources = PriceSources::read(site, feeds, asked).await;
    let all = vaults.iter().zip(named);
    all.map(|((id, contract), named)| adapted(site, id, *contract, named, &pools, &sources, asked)).collect()
}

/// The pools at these addresses. Everything is asked at most once.
pub(super) async fn pools(site: Site<'_>, addresses: &BTreeSet<Address>, asked: &mut Asked) -> BTreeMap<Address, Pool> {
    let Site { reader, block, .. } = site;
    asked.ask(reader, block, addresses.iter().flat_map(|pool| aave_v3::first_step(*pool)).collect()).await;
    let providers: Vec<(Address, Address)> = addresses
        .iter()
        .filter_map(|pool| Some((*pool, aave_v3::addresses_provider(asked.answers(), *pool).ok()?)))
        .collect();
    let steps = providers.iter().flat_map(|(_, provider)| aave_v3::contracts_step(*provider)).collect();
    asked.ask(reader, block, steps).await;
    let contracts: Vec<Contracts> = providers
        .iter()
        .filter_map(|(pool, provider)| Contracts::from_answers(asked.answers(), *pool, *provider).ok())
        .collect();
    let assets =
        |contracts: &Contracts, asked: &Asked| aave_v3::reserves(asked.answers(), contracts.pool).unwrap_or_default();
    let mut questions = Vec::new();
    for contracts in &contracts {
        questions.extend(assets(contracts, asked).into_iter().flat_map(|it| aave_v3::reserve_step(contracts, it)));
        // The first question about a mode shows whether the pool has it. Few of the numbers are in use.
        questions
            .extend((1..=MAX_EMODES).filter_map(|mode| aave_v3::emode_step(contracts.pool, mode).into_iter().next()));
    }
    asked.ask(reader, block, questions).await;
    let mut questions = Vec::new();
    for Contracts { pool, .. } in &contracts {
        let exists = |mode: &u8| Emode::from_answers(asked.answers(), *pool, *mode).terms.is_ok();
        questions.extend((1..=MAX_EMODES).filter(exists).flat_map(|mode| aave_v3::emode_step(*pool, mode)));
    }
    questions.extend(contracts.iter().filter_map(|it| aave_v3::order_question(it.pool, &assets(it, asked))));
    asked.ask(reader, block, questions).await;
    let pool = |contracts: Contracts| {
        let reserve = |asset: Address| (asset, Reserve::from_answers(asked.answers(), &contracts, asset));
        let listed = assets(&contracts, asked);
        let in_order = aave_v3::is_in_order(asked.answers(), contracts.pool, &listed);
        let emode =
            |mode: u8| (mode, known_members(Emode::from_answers(asked.answers(), contracts.pool, mode), in_order));
        let reserves = listed.into_iter().map(reserve).collect();
        let emodes = (1..=MAX_EMODES).map(emode).filter(|(_, emode)| emode.terms.is_ok()).collect();
        (contracts.pool, Pool { contracts, reserves, emodes })
    };
    contracts.into_iter().map(pool).collect()
}

/// The mode without its lists of reserves if their indices are not the places in the list of reserves.
fn known_members(mut emode: Emode, in_order: Value<bool>) -> Emode {
    let unknown = match in_order {
        Ok(true) => return emode,
        Ok(false) => Unknown::Implausible,
        Err(unknown) => unknown,
    };
    for list in [&mut emode.collateral, &mut emode.borrowable, &mut emode.ltv_zero] {
        // A list that the pool's version does not have is none that is unknown.
        *list = list.and(Err(unknown));
    }
    emode
}

fn adapted(
    site: Site<'_>,
    id: &str,
    contract: Address,
    named: Option<(Address, Address)>,
    pools: &BTreeMap<Address, Pool>,
    sources: &PriceSources,
    asked: &Asked,
) -> Adapted {
    let token = aave_v3::token_step(contract);
    let adapted = Adapted {
        is_disputed: asked.is_disputed(&token),
        seen: asked.evidence(&token).into_iter().next(),
        own_delay: Some(0),
        ..Adapted::default()
    };
    let Some((pool, asset)) = named.and_then(|(pool, asset)| Some((pools.get(&pool)?, asset))) else { return adapted };
    let Some((_, reserve)) = pool.reserves.iter().find(|(it, _)| *it == asset) else { return adapted };
    if reserve.supply_token != Ok(contract) {
        // The pool has another supply token for the asset, so this contract is none of the pool's.
        return adapted;
    }
    let questions = aave_v3::reserve_step(&pool.contracts, asset);
    let mut readings = Readings::new(site, id);
    if let (Ok(configuration), Ok(totals)) = (reserve.configuration, reserve.totals) {
        let price = site.prices.get(&asset);
        let one = OneReserve { configuration, totals, questions: &questions, price };
        one.rates(&mut readings, asked);
        one.amounts(&mut readings, reserve.deficit.ok(), asked);
        one.gates(&mut readings, asked);
    }
    Adapted {
        readings: readings.found,
        holdings: pool.holdings(site, sources, asked),
        is_disputed: adapted.is_disputed || asked.is_disputed(&questions),
        ..adapted
    }
}

/// The reserve of one supply token.
struct OneReserve<'a> {
    configuration: Configuration,
    totals: Totals,
    questions: &'a [Question],
    price: Option<&'a Price>,
}

/// Places of the questions of a reserve: its configuration, its deficit, its totals.
const CONFIGURATION: usize = 0;
const DEFICIT: usize = 1;
const TOTALS: usize = 2;

impl OneReserve<'_> {
    fn from(&self, places: &[usize]) -> Vec<&Question> {
        places.iter().filter_map(|place| self.questions.get(*place)).collect()
    }

    fn amount(&self, raw: u128) -> Option<f64> {
        state::units(Word::from_u128(raw), self.configuration.decimals)
    }

    fn rates(&self, readings: &mut Readings<'_>, asked: &Asked) {
        let from = || self.from(&[TOTALS]);
        readings.fraction(asked, ReadField::Utilization, self.totals.utilization_ppm().ok(), from());
        readings.fraction(asked, ReadField::BaseApr, Some(self.totals.supply_rate_ppm), from());
        let borrow = self.configuration.can_be_borrowed.then_some(self.totals.borrow_rate_ppm);
        readings.fraction(asked, ReadField::BorrowApr, borrow, self.from(&[TOTALS, CONFIGURATION]));
    }

    fn amounts(&self, readings: &mut Readings<'_>, deficit: Option<u128>, asked: &Asked) {
        let from = self.from(&[TOTALS, CONFIGURATION]);
        let Some(supplied) = self.amount(self.totals.supply) else { return };
        readings.add(asked, ReadField::TvlNative, json!(supplied), from.clone(), None);
        let Some(price) = self.price else { return };
        let mut usd = |field, amount: Option<f64>, from: Vec<&Question>| {
            if let Some(amount) = amount {
                readings.add(asked, field, json!(price.of(amount)), from, Some(price));
            }
        };
        usd(ReadField::TvlUsd, Some(supplied), from.clone());
        let lent = self.totals.debt().ok().and_then(|debt| self.amount(debt));
        usd(ReadField::ActiveLoansUsd, lent, from);
        let deficit = deficit.and_then(|deficit| self.amount(deficit));
        usd(ReadField::BadDebtUsd, deficit, self.from(&[DEFICIT, CONFIGURATION]));
    }

    /// Whether the pool takes deposits, gives them back, and lends.
    fn gates(&self, readings: &mut Readings<'_>, asked: &Asked) {
        let Configuration { is_active, is_frozen, is_paused, can_be_borrowed, supply_cap, borrow_cap, .. } =
            self.configuration;
        let from = || self.from(&[CONFIGURATION, TOTALS]);
        let unit = 10_f64.powi(self.configuration.decimals.into());
        let left = |cap: u64, used: u128| (cap as f64 - used as f64 / unit).max(0.0);
        let is_stopped = is_paused || !is_active;
        let room = supply_cap.map(|cap| left(cap, self.totals.supply));
        let is_open = !is_stopped && !is_frozen && room.is_none_or(|room| room > 0.0);
        let word = |is_open: bool| json!(if is_open { "open" } else { "closed" });
        readings.add(asked, ReadField::DepositStatus, word(is_open), from(), None);
        readings.add(asked, ReadField::WithdrawStatus, word(!is_stopped), self.from(&[CONFIGURATION]), None);
        if let (Some(room), Some(price)) = (room, self.price) {
            let capacity = if is_open { price.of(room) } else { 0.0 };
            readings.add(asked, ReadField::DepositCapacityUsd, json!(capacity), from(), Some(price));
        }
        let is_capped = self.totals.debt().is_ok_and(|debt| borrow_cap.is_some_and(|cap| left(cap, debt) <= 0.0));
        let borrow = match () {
            () if !can_be_borrowed => "disabled",
            () if is_stopped || is_frozen => "paused",
            () if is_capped => "capped",
            () => "open",
        };
        readings.add(asked, ReadField::BorrowStatus, json!(borrow), from(), None);
    }
}

impl Pool {
    /// Everything that may secure loans of the pool. Nothing shows which of it secures the loans of one asset.
    fn holdings(&self, site: Site<'_>, sources: &PriceSources, asked: &Asked) -> Option<Holdings> {
        let (mut members, mut from) = (Vec::new(), aave_v3::first_step(self.contracts.pool));
        for (index, (asset, reserve)) in self.reserves.iter().enumerate() {
            let configuration = reserve.configuration.ok()?;
            let threshold = self.threshold(index, &configuration)?;
            from.extend(aave_v3::reserve_step(&self.contracts, *asset).into_iter().take(1));
            if threshold == 0 || !configuration.is_active {
                continue;
            }
            let source = reserve.price_source.ok()?;
            // The contract from which the oracle takes the price.
            from.extend(aave_v3::reserve_step(&self.contracts, *asset).into_iter().skip(5));
            members.push(Member {
                source: source.map(|source| sources.of(source)),
                lltv_ppm: Some(threshold),
                ..Member::held(*asset, 0)
            });
        }
        let modes = self.emodes.iter().flat_map(|(mode, _)| aave_v3::emode_step(self.contracts.pool, *mode));
        from.extend(modes);
        from.extend(self.order_question().filter(|_| !self.emodes.is_empty()));
        let feeds = self.reserves.iter().filter_map(|(_, reserve)| reserve.price_source.ok().flatten());
        let feeds = feeds.flat_map(|feed| sources.questions(feed));
        let from = asked.evidence(from.iter().chain(feeds));
        Some(Holdings::shares_unknown(site.registry, members, from))
    }

    /// The question that shows that modes name the reserves by their places in the list.
    pub(super) fn order_question(&self) -> Option<Question> {
        let listed: Vec<Address> = self.reserves.iter().map(|(asset, _)| *asset).collect();
        aave_v3::order_question(self.contracts.pool, &listed)
    }

    /// The highest loan-to-value that a loan against the reserve may have before it is liquidated, in parts per million; `None` if a mode's
    /// collateral was not read.
    fn threshold(&self, index: usize, configuration: &Configuration) -> Option<u32> {
        let mut highest = configuration.liquidation_threshold_ppm;
        for (mode, emode) in &self.emodes {
            let (Ok(terms), collateral) = (&emode.terms, emode.collateral) else { continue };
            let is_member = match collateral {
                Ok(reserves) => reserves.contains(index),
                // Before version 3.2 the reserve names its mode.
                Err(Unknown::NoAnswer) => configuration.emode == Some(*mode),
                Err(_) => return None,
            };
            if is_member {
                highest = highest.max(terms.liquidation_threshold_ppm);
            }
        }
        Some(highest)
    }
}
