//! Tests of markets from pools: the market is the one that a source stated, and what is known is not written again.

use super::adapters::{ModeTerms, PoolMarket, PoolMode, PoolReserve, ReserveTerms};
use super::markets::of_pool;
use super::observed::{AgreedCall, ReadBlock};
use rds_chain::Address;
use rds_engine::ingest::Observation;
use rds_facts::{At, Gates, HubGate, Market, MarketEmode, MarketReserve, SpokeGate};
use rds_shared::model::status::{BorrowStatus, DepositStatus};
use rds_shared::scoring::provenance::{CallMethod, ChainCall};
use rds_shared::wire::Timestamp;
use rds_store::markets::known::{KnownEmode, KnownIdentity, KnownMarket, KnownReserve};
use std::collections::BTreeMap;

const POOL: Address = Address([1; 20]);
const USD: Address = Address([2; 20]);
const ETH: Address = Address([3; 20]);
const TOKEN: Address = Address([4; 20]);
const NOON: i64 = 1_800_000_000;

fn at(seconds: i64) -> ReadBlock {
    let time = At(Timestamp::from_seconds(seconds));
    ReadBlock { chain_id: 1, number: 7, hash: format!("0x{:064x}", 7), time, asked: 3 }
}

fn seen() -> Vec<AgreedCall> {
    let call = ChainCall {
        method: CallMethod::Call,
        contract: POOL.to_string(),
        data: Some("0xd1946dbc".to_owned()),
        answer: Some("0x".to_owned()),
        overrides: BTreeMap::new(),
        gas: None,
    };
    vec![AgreedCall { call, agreed: 2 }]
}

fn gates(owed: f64) -> Gates {
    Gates {
        spoke: Some(SpokeGate { paused: false, frozen: false, borrowable: true }),
        hub: Some(HubGate { active: true, halted: false, draw_cap: Some(100.0), owed, add_cap: None, added: 200.0 }),
        price_usd: None,
    }
}

fn reserve(asset: Address, owed: f64) -> PoolReserve {
    let terms = ReserveTerms { supply_token: TOKEN, fee_ppm: 100_000, gates: Some(gates(owed)) };
    PoolReserve { asset, symbol: Some("USD".to_owned()), terms: Some(terms), from: seen() }
}

fn stable(label: &str) -> PoolMode {
    let terms = ModeTerms {
        label: label.to_owned(),
        ltv_ppm: 930_000,
        liquidation_threshold_ppm: 950_000,
        liquidation_bonus_ppm: 10_000,
        collateral: vec![ETH, USD],
        borrowable: vec![USD],
        ltv_zero: Vec::new(),
    };
    PoolMode { id: 1, terms: Some(terms), from: seen() }
}

fn pool() -> PoolMarket {
    PoolMarket {
        protocol_id: "lender".to_owned(),
        pool: POOL,
        name: Some("Main".to_owned()),
        from: seen(),
        reserves: vec![reserve(USD, 50.0)],
        modes: vec![stable("stable"), PoolMode { id: 2, terms: None, from: seen() }],
    }
}

/// What is written, by kind.
#[derive(Default)]
struct Written {
    markets: Vec<Market>,
    reserves: Vec<MarketReserve>,
    emodes: Vec<MarketEmode>,
}

fn written(at: &ReadBlock, pool: &PoolMarket, known: Option<&KnownMarket>) -> Written {
    let mut written = Written::default();
    for observation in of_pool(at, pool, known) {
        match observation {
            Observation::Market(it) => written.markets.push(*it),
            Observation::MarketReserve(it) => written.reserves.push(*it),
            Observation::MarketEmode(it) => written.emodes.push(*it),
            other => panic!("{other:?}"),
        }
    }
    written
}

/// The store after these rows were written.
fn stored(rows: Written) -> KnownMarket {
    let [market] = &rows.markets[..] else { panic!("{} markets", rows.markets.len()) };
    let reserve = |it: MarketReserve| KnownReserve {
        contract: it.contract,
        reserve: it.reserve,
        asset_symbol: it.asset_symbol,
        asset_address: it.asset_address,
        token_address: it.token_address,
        hub_address: it.hub_address,
        fee_rate: it.fee_rate,
        borrow_status: it.borrow_status.map(|status| status.as_str().to_owned()),
        deposit_status: it.deposit_status.map(|status| status.as_str().to_owned()),
        is_active: it.is_active,
        observed_at: it.observed_at,
        is_read: it.evidence.is_some(),
    };
    let emode = |it: MarketEmode| KnownEmode {
        contract: it.contract,
        emode_id: it.emode_id,
        label: it.label,
        ltv: it.ltv,
        liquidation_threshold: it.liquidation_threshold,
        liquidation_bonus: it.liquidation_bonus,
        collateral_assets: it.collateral_assets,
        borrowable_assets: it.borrowable_assets,
        ltv_zero_assets: it.ltv_zero_assets,
        is_active: it.is_active,
        observed_at: it.observed_at,
        is_read: it.evidence.is_some(),
    };
    KnownMarket {
        market: KnownIdentity {
            contract: market.contract.clone(),
            shape: market.shape.as_str().to_owned(),
            name: market.name.clone(),
            source: market.source.clone(),
            observed_at: market.observed_at,
        },
        reserves: rows.reserves.into_iter().map(reserve).collect(),
        emodes: rows.emodes.into_iter().map(emode).collect(),
    }
}

/// A market that a source stated a long time ago.
fn stated() -> KnownMarket {
    let mut known = stored(written(&at(NOON), &pool(), None));
    let old = At(Timestamp::from_seconds(1_700_000_000));
    known.market =
        KnownIdentity { source: "book".to_owned(), name: "Book".to_owned(), observed_at: old, ..known.market };
    for reserve in &mut known.reserves {
        reserve.reserve = "usd-reserve".to_owned();
        (reserve.asset_symbol, reserve.fee_rate, reserve.is_read, reserve.observed_at) =
            ("USDx".to_owned(), None, false, old);
    }
    known
}

#[test]
fn a_pool_that_no_source_has_stated_becomes_a_market_with_evidence() {
    let Written { markets, reserves, emodes } = written(&at(NOON), &pool(), None);
    let [market] = &markets[..] else { panic!("{markets:?}") };
    assert_eq!(
        (market.name.as_str(), market.protocol_id.as_str(), market.protocol_version.as_str()),
        ("Main", "lender", "v3")
    );
    assert_eq!(market.evidence.as_ref().map(|it| (it.block_number, it.agreed, it.asked)), Some((7, 2, 3)));
    let [reserve] = &reserves[..] else { panic!("{reserves:?}") };
    assert_eq!((&reserve.reserve, reserve.token_address.as_deref()), (&USD.to_string(), Some(&*TOKEN.to_string())));
    assert_eq!(
        (reserve.fee_rate, reserve.borrow_status, reserve.deposit_status),
        (Some(0.1), Some(BorrowStatus::Open), Some(DepositStatus::Open))
    );
    let [emode] = &emodes[..] else { panic!("{emodes:?}") };
    assert_eq!(
        (emode.emode_id, emode.ltv, emode.liquidation_threshold, emode.liquidation_bonus),
        (1, 0.93, 0.95, 0.01)
    );
    assert_eq!(emode.collateral_assets, [USD.to_string(), ETH.to_string()]);
    assert!(emode.is_active && reserve.evidence.is_some() && emode.evidence.is_some());
}

#[test]
fn what_is_known_is_written_again_only_after_a_day_or_when_it_changed() {
    let known = stored(written(&at(NOON), &pool(), None));
    let count = |it: &Written| (it.markets.len(), it.reserves.len(), it.emodes.len());
    assert_eq!(count(&written(&at(NOON + 3_600), &pool(), Some(&known))), (0, 0, 0));
    // More debt below the cap changes nothing that is shown.
    let lent = PoolMarket { reserves: vec![reserve(USD, 60.0)], ..pool() };
    assert_eq!(count(&written(&at(NOON + 3_600), &lent, Some(&known))), (0, 0, 0));
    let capped =
        written(&at(NOON + 3_600), &PoolMarket { reserves: vec![reserve(USD, 100.0)], ..pool() }, Some(&known));
    assert_eq!((count(&capped), capped.reserves[0].borrow_status), ((0, 1, 0), Some(BorrowStatus::Capped)));
    let renamed = PoolMarket { modes: vec![stable("dollars")], name: Some("New".to_owned()), ..pool() };
    assert_eq!(count(&written(&at(NOON + 3_600), &renamed, Some(&known))), (1, 0, 1));
    assert_eq!(count(&written(&at(NOON + 86_400), &pool(), Some(&known))), (1, 1, 1));
    // The block is not newer than what is stored.
    assert_eq!(
        count(&written(&at(NOON), &PoolMarket { modes: vec![stable("dollars")], ..pool() }, Some(&known))),
        (0, 0, 0)
    );
}

#[test]
fn a_market_that_a_source_stated_keeps_its_identity_and_the_names_of_its_reserves() {
    let Written { markets, reserves, emodes } = written(&at(NOON), &pool(), Some(&stated()));
    assert!(markets.is_empty() && emodes.is_empty());
    let [reserve] = &reserves[..] else { panic!("{reserves:?}") };
    assert_eq!(
        (reserve.reserve.as_str(), reserve.asset_symbol.as_str(), reserve.fee_rate),
        ("usd-reserve", "USDx", Some(0.1))
    );
    let mut spoke = stated();
    spoke.market.shape = "spoke".to_owned();
    assert!(of_pool(&at(NOON), &pool(), Some(&spoke)).is_empty(), "the contract is another kind of market");
}

#[test]
fn what_the_pool_no_longer_has_becomes_inactive_and_what_was_not_read_stays() {
    let known = stored(written(&at(NOON), &pool(), None));
    let unread =
        PoolMarket { reserves: vec![PoolReserve { terms: None, ..reserve(USD, 0.0) }], modes: Vec::new(), ..pool() };
    let Written { reserves, emodes, .. } = written(&at(NOON + 90_000), &unread, Some(&known));
    assert!(reserves.is_empty() && emodes.is_empty());
    let gone = PoolMode { id: 1, terms: None, from: seen() };
    let left = PoolMarket { reserves: vec![reserve(ETH, 0.0)], modes: vec![gone], ..pool() };
    let Written { reserves, emodes, .. } = written(&at(NOON + 60), &left, Some(&known));
    let state: Vec<(&str, bool)> = reserves.iter().map(|it| (it.asset_address.as_str(), it.is_active)).collect();
    assert_eq!(state, [(&*ETH.to_string(), true), (&*USD.to_string(), false)]);
    assert_eq!(emodes.iter().map(|it| (it.emode_id, it.is_active)).collect::<Vec<_>>(), [(1, false)]);
}

#[test]
fn a_market_that_ingest_refuses_is_named_by_nothing() {
    let refused = PoolMarket { protocol_id: "Not a slug".to_owned(), ..pool() };
    let Written { markets, reserves, emodes } = written(&at(NOON), &refused, None);
    assert_eq!((markets.len(), reserves.len(), emodes.len()), (1, 0, 0));
}
