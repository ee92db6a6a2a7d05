//! Lending pools as markets: their reserves and efficiency modes, as observations.
//!
//! A pool is the market whose contract it is, whoever observed that market first: its name, its protocol and the names of its reserves stay
//! as a source stated them, and the chain says what its reserves and modes are. Only a pool that no source has stated becomes a market here.

use super::adapters::{PoolMarket, PoolMode, PoolReserve};
use super::observed::{REWRITE_SECONDS, ReadBlock};
use rds_chain::Address;
use rds_engine::ingest::{Observation, is_permitted};
use rds_facts::fact::Kind;
use rds_facts::{At, Market, MarketEmode, MarketReserve, contract};
use rds_shared::model::market::{MarketShape, MarketSource};
use rds_store::markets::known::{self, KnownEmode, KnownMarket, KnownReserve};
use rds_store::{Db, StoreError};

/// The version of every protocol that has such pools.
const VERSION: &str = "v3";

/// What the store does not have yet of these pools.
pub(super) async fn observations(
    db: &Db,
    at: &ReadBlock,
    pools: &[PoolMarket],
) -> Result<Vec<Observation>, StoreError> {
    if pools.is_empty() {
        return Ok(Vec::new());
    }
    let contracts: Vec<String> = pools.iter().map(|it| contract(at.chain_id, &it.pool.to_string())).collect();
    let known = known::at(db, &contracts).await?;
    let of = |(pool, contract): (&PoolMarket, &String)| of_pool(at, pool, known.get(contract));
    Ok(pools.iter().zip(&contracts).flat_map(of).collect())
}

/// What is to be written of one pool.
pub(super) fn of_pool(at: &ReadBlock, pool: &PoolMarket, known: Option<&KnownMarket>) -> Vec<Observation> {
    if known.is_some_and(|known| known.market.shape != MarketShape::Pool.as_str()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(market) = market(at, pool, known) {
        let mut market = Observation::Market(Box::new(market));
        // Nothing may name a market that ingest refuses.
        if !is_permitted(&mut market) && known.is_none() {
            return vec![market];
        }
        found.push(market);
    } else if known.is_none() {
        return Vec::new();
    }
    let (reserves, emodes) = known.map_or((&[][..], &[][..]), |known| (&known.reserves[..], &known.emodes[..]));
    let one = One { at, pool };
    for it in &pool.reserves {
        let address = it.asset.to_string();
        // A spoke's reserves of one asset differ by hub; a pool has none.
        let known = reserves.iter().find(|known| known.asset_address == address && known.hub_address.is_none());
        found.extend(one.reserve(it, known).and_then(|it| new_reserve(it, known, at.time)));
    }
    for known in reserves.iter().filter(|it| it.is_active && it.hub_address.is_none()) {
        let is_listed = pool.reserves.iter().any(|it| it.asset.to_string() == known.asset_address);
        found.extend((!is_listed).then(|| one.dropped(known)).flatten());
    }
    for it in &pool.modes {
        let known = emodes.iter().find(|known| known.emode_id == i64::from(it.id));
        let emode = one.emode(it, known).filter(|emode| is_new_emode(emode, known, at.time));
        found.extend(emode.map(|emode| Observation::MarketEmode(Box::new(emode))));
    }
    found
}

/// The identity of a market that no source has stated; once a day, so that its evidence names a recent block.
fn market(at: &ReadBlock, pool: &PoolMarket, known: Option<&KnownMarket>) -> Option<Market> {
    let known = known.map(|known| &known.market);
    let address = pool.pool.to_string();
    let name = pool.name.clone().or_else(|| known.map(|known| known.name.clone())).unwrap_or_else(|| address.clone());
    if known.is_some_and(|known| {
        let is_recent = at.time.0.seconds_since(known.observed_at.0) < REWRITE_SECONDS;
        known.source != at.source() || (known.name == name && is_recent)
    }) {
        return None;
    }
    Some(Market {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        contract: String::new(),
        protocol_id: pool.protocol_id.clone(),
        protocol_version: VERSION.to_owned(),
        chain_id: at.chain_id,
        address,
        name,
        key_hint: None,
        shape: MarketShape::Pool,
        hub_address: None,
        discovered_by: MarketSource::OnchainRpc,
        loan_asset_symbol: None,
        collateral_asset_symbol: None,
        lltv: None,
        is_protocol_listed: true,
        evidence: Some(at.evidence(&pool.from)?),
    })
}

/// One pool at one block.
struct One<'a> {
    at: &'a ReadBlock,
    pool: &'a PoolMarket,
}

impl One<'_> {
    /// The reserve as it was read; `None` if too little of it was.
    fn reserve(&self, read: &PoolReserve, known: Option<&KnownReserve>) -> Option<MarketReserve> {
        let terms = read.terms.as_ref()?;
        let address = read.asset.to_string();
        Some(MarketReserve {
            kind: Kind,
            observed_at: self.at.time,
            source: self.at.source(),
            contract: String::new(),
            reserve: known.map_or_else(|| address.clone(), |known| known.reserve.clone()),
            chain_id: self.at.chain_id,
            market_address: self.pool.pool.to_string(),
            asset_symbol: known.map(|known| known.asset_symbol.clone()).or_else(|| read.symbol.clone())?,
            asset_address: address,
            token_address: Some(terms.supply_token.to_string()),
            hub_address: None,
            fee_rate: Some(fraction(terms.fee_ppm)),
            gates: terms.gates,
            borrow_status: None,
            deposit_status: None,
            deposit_capacity_usd: None,
            is_active: true,
            evidence: Some(self.at.evidence(&read.from)?),
        })
    }

    /// A reserve that the pool does not list any more.
    fn dropped(&self, known: &KnownReserve) -> Option<Observation> {
        let reserve = MarketReserve {
            kind: Kind,
            observed_at: self.at.time,
            source: self.at.source(),
            contract: String::new(),
            reserve: known.reserve.clone(),
            chain_id: self.at.chain_id,
            market_address: self.pool.pool.to_string(),
            asset_symbol: known.asset_symbol.clone(),
            asset_address: known.asset_address.clone(),
            token_address: known.token_address.clone(),
            hub_address: None,
            fee_rate: known.fee_rate,
            gates: None,
            borrow_status: None,
            deposit_status: None,
            deposit_capacity_usd: None,
            is_active: false,
            evidence: Some(self.at.evidence(&self.pool.from)?),
        };
        (self.at.time > known.observed_at).then(|| Observation::MarketReserve(Box::new(reserve)))
    }

    /// The mode as it was read, or its end; `None` for a mode that never was.
    fn emode(&self, read: &PoolMode, known: Option<&KnownEmode>) -> Option<MarketEmode> {
        let addresses = |assets: &[Address]| {
            let mut assets: Vec<String> = assets.iter().map(Address::to_string).collect();
            assets.sort_unstable();
            assets
        };
        let emode = MarketEmode {
            kind: Kind,
            observed_at: self.at.time,
            source: self.at.source(),
            contract: String::new(),
            emode_id: i64::from(read.id),
            chain_id: self.at.chain_id,
            market_address: self.pool.pool.to_string(),
            label: String::new(),
            ltv: 0.0,
            liquidation_threshold: 0.0,
            liquidation_bonus: 0.0,
            collateral_assets: Vec::new(),
            borrowable_assets: Vec::new(),
            ltv_zero_assets: Vec::new(),
            is_active: false,
            evidence: Some(self.at.evidence(&read.from)?),
        };
        match (&read.terms, known) {
            (Some(terms), _) => Some(MarketEmode {
                // A mode without a label is shown by its number.
                label: if terms.label.trim().is_empty() { read.id.to_string() } else { terms.label.clone() },
                ltv: fraction(terms.ltv_ppm),
                liquidation_threshold: fraction(terms.liquidation_threshold_ppm),
                liquidation_bonus: fraction(terms.liquidation_bonus_ppm),
                collateral_assets: addresses(&terms.collateral),
                borrowable_assets: addresses(&terms.borrowable),
                ltv_zero_assets: addresses(&terms.ltv_zero),
                is_active: true,
                ..emode
            }),
            (None, Some(known)) if known.is_active => Some(MarketEmode {
                label: known.label.clone(),
                ltv: known.ltv,
                liquidation_threshold: known.liquidation_threshold,
                liquidation_bonus: known.liquidation_bonus,
                collateral_assets: known.collateral_assets.clone(),
                borrowable_assets: known.borrowable_assets.clone(),
                ltv_zero_assets: known.ltv_zero_assets.clone(),
                ..emode
            }),
            (None, _) => None,
        }
    }
}

/// The reserve, unless the store has it as it is. What it owes and has added is none of what is compared: only the statuses that follow
/// are shown.
fn new_reserve(reserve: MarketReserve, known: Option<&KnownReserve>, now: At) -> Option<Observation> {
    let mut observation = Observation::MarketReserve(Box::new(reserve));
    // This also derives the statuses from the gates.
    let is_permitted = is_permitted(&mut observation);
    let Observation::MarketReserve(reserve) = &observation else { return None };
    let is_same = known.is_some_and(|known| {
        is_known(known.is_read, known.observed_at, now)
            && known.is_active
            && known.token_address == reserve.token_address
            && known.fee_rate == reserve.fee_rate
            && known.borrow_status.as_deref() == reserve.borrow_status.map(|status| status.as_str())
            && known.deposit_status.as_deref() == reserve.deposit_status.map(|status| status.as_str())
    });
    let is_late = known.is_some_and(|known| known.observed_at >= now);
    (!is_permitted || !(is_same || is_late)).then_some(observation)
}

fn is_new_emode(emode: &MarketEmode, known: Option<&KnownEmode>, now: At) -> bool {
    known.is_none_or(|known| {
        let is_same = is_known(known.is_read, known.observed_at, now)
            && known.is_active == emode.is_active
            && known.label == emode.label
            && (known.ltv, known.liquidation_threshold, known.liquidation_bonus)
                == (emode.ltv, emode.liquidation_threshold, emode.liquidation_bonus)
            && known.collateral_assets == emode.collateral_assets
            && known.borrowable_assets == emode.borrowable_assets
            && known.ltv_zero_assets == emode.ltv_zero_assets;
        !is_same && known.observed_at < now
    })
}

/// Whether the stored row was read on the chain, within a day.
fn is_known(is_read: bool, observed_at: At, now: At) -> bool {
    is_read && now.0.seconds_since(observed_at.0) < REWRITE_SECONDS
}

/// Parts per million as a fraction.
fn fraction(ppm: u32) -> f64 {
    f64::from(ppm) / 1e6
}
