//! What a pool of Aave v3 shows of itself as a market: its reserves and its efficiency modes.

use super::super::asked::Asked;
use super::super::observed::AgreedCall;
use super::super::state;
use super::Site;
use super::aave_v3::{Pool, pools};
use rds_chain::Address;
use rds_chain::abi::{Function, Word};
use rds_chain::adapt::aave_v3::{self, Configuration, Emode, MAX_EMODES, Reserve, Reserves, Totals};
use rds_chain::adapt::question::Question;
use rds_chain::adapt::{Unknown, Value, token};
use rds_facts::{Gates, HubGate, SpokeGate};
use std::collections::{BTreeMap, BTreeSet};

/// A pool with what is known of it.
#[derive(Debug)]
pub struct PoolMarket {
    /// The protocol of its vaults.
    pub protocol_id: String,
    pub pool: Address,
    /// The name that its administrators gave it, if it was read.
    pub name: Option<String>,
    /// The calls that show that the pool has these reserves, and its name.
    pub from: Vec<AgreedCall>,
    /// Every reserve of the pool; at least one.
    pub reserves: Vec<PoolReserve>,
    /// The modes that are known to be there or not.
    pub modes: Vec<PoolMode>,
}

/// One asset of a pool.
#[derive(Debug)]
pub struct PoolReserve {
    pub asset: Address,
    pub symbol: Option<String>,
    /// `None` if they were not read this time.
    pub terms: Option<ReserveTerms>,
    pub from: Vec<AgreedCall>,
}

/// What a pool allows with a reserve.
#[derive(Debug)]
pub struct ReserveTerms {
    pub supply_token: Address,
    /// The protocol's part of the interest, in parts per million.
    pub fee_ppm: u32,
    /// `None` if the supply token is a vault, whose readings show the same.
    pub gates: Option<Gates>,
}

/// An efficiency mode.
#[derive(Debug)]
pub struct PoolMode {
    pub id: u8,
    /// `None` if the pool has no mode of this number.
    pub terms: Option<ModeTerms>,
    pub from: Vec<AgreedCall>,
}

/// The terms of an efficiency mode.
#[derive(Debug)]
pub struct ModeTerms {
    pub label: String,
    pub ltv_ppm: u32,
    pub liquidation_threshold_ppm: u32,
    pub liquidation_bonus_ppm: u32,
    pub collateral: Vec<Address>,
    pub borrowable: Vec<Address>,
    pub ltv_zero: Vec<Address>,
}

/// The pools of these supply tokens, each with the id of its protocol. A token that the pool does not name as a reserve's shows no pool.
pub async fn read(site: Site<'_>, tokens: &[(&str, Address)], asked: &mut Asked) -> Vec<PoolMarket> {
    let named: Vec<(&str, Address, Address)> = tokens
        .iter()
        .filter_map(|(protocol, token)| Some((*protocol, *token, aave_v3::token(asked.answers(), *token).ok()?.0)))
        .collect();
    let addresses: BTreeSet<Address> = named.iter().map(|(_, _, pool)| *pool).collect();
    let pools = pools(site, &addresses, asked).await;
    let mut protocols: BTreeMap<Address, &str> = BTreeMap::new();
    for (protocol, token, address) in named {
        let is_token = |(_, reserve): &(Address, Reserve)| reserve.supply_token == Ok(token);
        if pools.get(&address).is_some_and(|pool| pool.reserves.iter().any(is_token)) {
            protocols.entry(address).or_insert(protocol);
        }
    }
    let known = || pools.iter().filter_map(|(address, pool)| Some((*protocols.get(address)?, pool)));
    let mut questions = Vec::new();
    for (_, pool) in known() {
        questions.extend(name_question(pool, asked));
        questions.extend(pool.reserves.iter().map(|(asset, _)| symbol_question(*asset)));
    }
    asked.ask(site.reader, site.block, questions).await;
    known().map(|(protocol, pool)| market(site, protocol, pool, asked)).collect()
}

fn name_question(pool: &Pool, asked: &Asked) -> Option<Question> {
    let provider = aave_v3::addresses_provider(asked.answers(), pool.contracts.pool).ok()?;
    Some(aave_v3::name_question(provider))
}

fn symbol_question(asset: Address) -> Question {
    Question::new(asset, Function::Symbol)
}

fn market(site: Site<'_>, protocol_id: &str, pool: &Pool, asked: &Asked) -> PoolMarket {
    let address = pool.contracts.pool;
    let first = aave_v3::first_step(address);
    let name = name_question(pool, asked);
    let named = name.as_ref().and_then(|question| aave_v3::name(asked.answers(), question.contract()).ok());
    PoolMarket {
        protocol_id: protocol_id.to_owned(),
        pool: address,
        name: named,
        from: asked.evidence(first.iter().chain(&name)),
        reserves: pool.reserves.iter().map(|(asset, it)| reserve(site, pool, *asset, it, asked)).collect(),
        modes: (1..=MAX_EMODES).filter_map(|id| mode(pool, id, asked)).collect(),
    }
}

fn reserve(site: Site<'_>, pool: &Pool, asset: Address, reserve: &Reserve, asked: &Asked) -> PoolReserve {
    let symbol = token::text(asked.answers().get(&symbol_question(asset)), token::MAX_TEXT_BYTES).ok();
    // Configuration, totals and supply token.
    let shown = aave_v3::reserve_step(&pool.contracts, asset);
    let shown = [0, 2, 3].into_iter().filter_map(|place| shown.get(place));
    let terms = || {
        let (configuration, totals) = (reserve.configuration.ok()?, reserve.totals.ok()?);
        let supply_token = reserve.supply_token.ok()?;
        let is_vault = site.registry.vaults.contains_key(&supply_token.to_string());
        let gates = if is_vault { None } else { Some(gates(&configuration, &totals)?) };
        Some(ReserveTerms { supply_token, fee_ppm: configuration.reserve_factor_ppm, gates })
    };
    PoolReserve { asset, symbol, terms: terms(), from: asked.evidence(shown) }
}

/// A pool has the flags of a spoke and the limits of a hub itself. `None` for amounts that cannot be told.
fn gates(configuration: &Configuration, totals: &Totals) -> Option<Gates> {
    let amount = |raw: u128| state::units(Word::from_u128(raw), configuration.decimals);
    Some(Gates {
        spoke: Some(SpokeGate {
            paused: configuration.is_paused,
            frozen: configuration.is_frozen,
            borrowable: configuration.can_be_borrowed,
        }),
        hub: Some(HubGate {
            active: configuration.is_active,
            halted: false,
            draw_cap: configuration.borrow_cap.map(|cap| cap as f64),
            owed: amount(totals.debt().ok()?)?,
            add_cap: configuration.supply_cap.map(|cap| cap as f64),
            added: amount(totals.supply)?,
        }),
        price_usd: None,
    })
}

/// `None` if it is not known whether the pool has the mode, or on which terms.
fn mode(pool: &Pool, id: u8, asked: &Asked) -> Option<PoolMode> {
    let address = pool.contracts.pool;
    let questions = aave_v3::emode_step(address, id);
    if !aave_v3::is_defined(asked.answers(), address, id).ok()? {
        let from = asked.evidence(questions.iter().take(1));
        return Some(PoolMode { id, terms: None, from });
    }
    let (_, emode) = pool.emodes.iter().find(|(it, _)| *it == id)?;
    let terms = emode.terms.as_ref().ok()?;
    let (collateral, borrowable, ltv_zero) = members(pool, id, emode)?;
    let list = aave_v3::first_step(address);
    let mut from: Vec<Question> = list.into_iter().take(1).chain(questions).collect();
    if emode.collateral == Err(Unknown::NoAnswer) {
        // The reserves name the mode.
        from.extend(collateral.iter().filter_map(|it| aave_v3::reserve_step(&pool.contracts, *it).into_iter().next()));
    } else {
        from.extend(pool.order_question());
    }
    let terms = ModeTerms {
        label: terms.label.clone(),
        ltv_ppm: terms.ltv_ppm,
        liquidation_threshold_ppm: terms.liquidation_threshold_ppm,
        liquidation_bonus_ppm: terms.liquidation_bonus_ppm,
        collateral,
        borrowable,
        ltv_zero,
    };
    Some(PoolMode { id, terms: Some(terms), from: asked.evidence(&from) })
}

/// The reserves that count as collateral in a mode, those that can be borrowed in it, and those of the collateral that give no borrowing
/// power any more. `None` if one of the lists is not known.
///
/// Before version 3.2 a reserve names its mode, and only reserves of the same mode are borrowed in it. Version 3.2 has no third list.
fn members(pool: &Pool, id: u8, emode: &Emode) -> Option<(Vec<Address>, Vec<Address>, Vec<Address>)> {
    let listed = |list: Value<Reserves>| {
        let list = list.ok()?;
        let places = pool.reserves.iter().enumerate().filter(|(index, _)| list.contains(*index));
        Some(places.map(|(_, (asset, _))| *asset).collect::<Vec<Address>>())
    };
    if emode.collateral != Err(Unknown::NoAnswer) {
        let ltv_zero = match emode.ltv_zero {
            Err(Unknown::NoAnswer) => Vec::new(),
            list => listed(list)?,
        };
        return Some((listed(emode.collateral)?, listed(emode.borrowable)?, ltv_zero));
    }
    let (mut collateral, mut borrowable) = (Vec::new(), Vec::new());
    for (asset, reserve) in &pool.reserves {
        let configuration = reserve.configuration.ok()?;
        if configuration.emode == Some(id) {
            collateral.push(*asset);
            borrowable.extend(configuration.can_be_borrowed.then_some(*asset));
        }
    }
    Some((collateral, borrowable, Vec::new()))
}
