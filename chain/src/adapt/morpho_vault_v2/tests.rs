//! Answers are encoded by `alloy-sol-types`: no npm package has the contracts.

use super::*;
use crate::abi::keccak256;
use crate::adapt::morpho::{self, Params};
use crate::failure::Failure;
use alloy_sol_types::private::{Address as AlloyAddress, FixedBytes, U256};
use alloy_sol_types::{SolCall, SolValue};
use std::vec;

alloy_sol_types::sol! {
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }

    function adaptersLength() returns (uint256);
    function adapters(uint256 index) returns (address);
    function liquidityAdapter() returns (address);
    function receiveSharesGate() returns (address);
    function timelock(bytes4 selector) returns (uint256);
    function abdicated(bytes4 selector) returns (bool);
    function absoluteCap(bytes32 id) returns (uint256);
    function relativeCap(bytes32 id) returns (uint256);
    function allocation(bytes32 id) returns (uint256);
    function addAdapter(address account);
    function increaseAbsoluteCap(bytes idData, uint256 newAbsoluteCap);
    function setForceDeallocatePenalty(address adapter, uint256 newForceDeallocatePenalty);
    function parentVault() returns (address);
    function realAssets() returns (uint256);
    function morphoVaultV1() returns (address);
    function morpho() returns (address);
    function marketIdsLength() returns (uint256);
    function marketIds(uint256 index) returns (bytes32);
    function supplyShares(bytes32 marketId) returns (uint256);
    function marketParamsListLength() returns (uint256);
    function marketParamsList(uint256 index) returns (MarketParams);
}

const VAULT: Address = Address([0xaa; 20]);
const ASSET: Address = Address([0xa5; 20]);
const MORPHO: Address = Address([0xbb; 20]);
const OF_VAULT: Address = Address([0x11; 20]);
const OF_MARKETS: Address = Address([0x22; 20]);
const OF_FIRST_MARKETS: Address = Address([0x33; 20]);
const OTHER: Address = Address([0x44; 20]);
const INNER: Address = Address([0x55; 20]);
const DAY: u64 = 86_400;

/// Answers of a small world. A function that is not set reverts without a reason, as one that the contract does not have.
#[derive(Default)]
struct World(Answers);

impl World {
    fn set(&mut self, question: Question, answer: Vec<u8>) {
        self.0.insert(question, Ok(answer));
    }

    fn word(&mut self, contract: Address, function: Function, answer: Word) {
        self.set(Question::new(contract, function), answer.0.to_vec());
    }

    fn address(&mut self, contract: Address, function: Function, answer: Address) {
        self.word(contract, function, Word::from_address(answer));
    }

    fn number(&mut self, contract: Address, function: Function, answer: u128) {
        self.word(contract, function, Word::from_u128(answer));
    }

    /// What is asked next, where nothing else is set.
    fn ask(&mut self, questions: impl IntoIterator<Item = Question>) {
        for question in questions {
            if self.0.get(&question).is_none() {
                self.0.insert(question, Err(Failure::Reverted { data: Vec::new() }));
            }
        }
    }

    /// A market in which this account has supplied so much of as much as there is, all of it at one share a unit; the market's id.
    fn market(&mut self, account: Address, collateral: u8, lltv: u128, supplied: u128, all: u128) -> Word {
        let params = Params {
            loan_token: ASSET,
            collateral_token: Some(Address([collateral; 20])),
            oracle: None,
            rate_model: None,
            lltv_wad: lltv,
        };
        let id = params.id();
        let shares = |assets: u128| assets * 1_000_000;
        let words =
            |numbers: &[u128]| numbers.iter().flat_map(|number| Word::from_u128(*number).0).collect::<Vec<u8>>();
        let [parameters, totals] = <[Question; 2]>::try_from(morpho::first_step(MORPHO, id)).unwrap();
        self.set(parameters, params_of(&params).abi_encode());
        self.set(totals, words(&[all, shares(all), all / 2, shares(all / 2), 1_800_000_000, 0]));
        self.set(morpho::position_question(MORPHO, id, account), words(&[shares(supplied), 0, 0]));
        id
    }
}

fn alloy(address: Address) -> AlloyAddress {
    AlloyAddress::from(address.0)
}

fn params_of(params: &Params) -> MarketParams {
    MarketParams {
        loanToken: alloy(params.loan_token),
        collateralToken: alloy(params.collateral_token.unwrap_or(Address::ZERO)),
        oracle: AlloyAddress::ZERO,
        irm: AlloyAddress::ZERO,
        lltv: U256::from(params.lltv_wad),
    }
}

/// A vault with 100 idle, 500 in another vault, 300 in two markets of three to one, and 100 in a market through an adapter of the first
/// version.
fn world() -> World {
    let mut world = World::default();
    for function in [Function::Curator, Function::LiquidityAdapter] {
        world.address(VAULT, function, Address([9; 20]));
    }
    for function in FIRST_STEP.into_iter().skip(5) {
        world.address(VAULT, function, Address::ZERO);
    }
    world.address(VAULT, Function::Asset, ASSET);
    world.number(VAULT, Function::TotalAssets, 1_000);
    for function in RISKY {
        let [timelock, abdicated] = delay_step(VAULT, function);
        world.set(timelock, U256::from(3 * DAY).abi_encode());
        world.set(abdicated, false.abi_encode());
    }
    world.set(idle_question(ASSET, VAULT), U256::from(100).abi_encode());
    let adapters = [(OF_VAULT, 500), (OF_MARKETS, 300), (OF_FIRST_MARKETS, 100)];
    world.number(VAULT, Function::AdaptersLength, 3);
    for (index, (adapter, assets)) in adapters.into_iter().enumerate() {
        world.set(
            Question::with(VAULT, Function::Adapters, &[Word::from_u128(index as u128)]),
            alloy(adapter).abi_encode(),
        );
        world.address(adapter, Function::ParentVault, VAULT);
        world.number(adapter, Function::RealAssets, assets);
    }
    world.address(OF_VAULT, Function::MorphoVaultV1, INNER);
    world.address(INNER, Function::Asset, ASSET);
    world
        .set(Question::with(INNER, Function::BalanceOf, &[Word::from_address(OF_VAULT)]), U256::from(450).abi_encode());
    world.set(Question::with(INNER, Function::PreviewRedeem, &[Word::from_u128(450)]), U256::from(500).abi_encode());

    world.address(OF_MARKETS, Function::MorphoOfAdapter, MORPHO);
    world.number(OF_MARKETS, Function::MarketIdsLength, 2);
    let ids = [(1, 219_000), (2, 73_000)].map(|(collateral, supplied)| {
        (world.market(OF_MARKETS, collateral, 860_000_000_000_000_000, supplied, 1_000_000), supplied)
    });
    for (index, (id, supplied)) in ids.into_iter().enumerate() {
        world.set(
            Question::with(OF_MARKETS, Function::MarketIds, &[Word::from_u128(index as u128)]),
            FixedBytes(id.0).abi_encode(),
        );
        // The adapter was sent more shares than it counts.
        let counted = U256::from(supplied * 1_000);
        world.set(Question::with(OF_MARKETS, Function::SupplyShares, &[id]), counted.abi_encode());
    }
    world.address(OF_FIRST_MARKETS, Function::MorphoOfAdapter, MORPHO);
    world.number(OF_FIRST_MARKETS, Function::MarketParamsListLength, 1);
    world.market(OF_FIRST_MARKETS, 3, 1, 100, 100);
    let params = Params {
        loan_token: ASSET,
        collateral_token: Some(Address([3; 20])),
        oracle: None,
        rate_model: None,
        lltv_wad: 1,
    };
    let listed = Question::with(OF_FIRST_MARKETS, Function::MarketParamsList, &[Word::ZERO]);
    world.set(listed, params_of(&params).abi_encode());
    world
}

/// All steps; a place as its collateral or contract, with its assets and its share.
fn read(world: &mut World) -> Value<Vec<(Address, u128, u32)>> {
    world.ask(first_step(VAULT));
    let vault = Vault::from_answers(&world.0, VAULT);
    world.ask(vault.adapter_step(VAULT));
    let contracts = vault.adapters(&world.0, VAULT)?;
    world.ask(contracts.iter().flat_map(|it| Adapter::first_step(*it)));
    let adapters: Vec<Adapter> = contracts.iter().map(|it| Adapter::from_answers(&world.0, VAULT, *it)).collect();
    world.ask(adapters.iter().flat_map(Adapter::position_step));
    let worth: Vec<Question> = adapters.iter().flat_map(|it| it.worth_step(&world.0)).collect();
    world.ask(worth);
    let of = |place: Place| match place {
        Place::Idle => VAULT,
        Place::Vault(contract) | Place::Elsewhere(contract) => contract,
        Place::Market(market) => market.params.collateral_token.unwrap_or(Address::ZERO),
    };
    let parts = exposures(&world.0, VAULT, &vault, &adapters)?;
    Ok(parts.into_iter().map(|part| (of(part.place), part.assets, part.share_ppm)).collect())
}

const fn of_byte(byte: u8) -> Address {
    Address([byte; 20])
}

#[test]
fn assets_are_with_the_vaults_and_markets_of_the_adapters_and_idle() {
    let expected = vec![
        (INNER, 500, 500_000),
        (of_byte(1), 225, 225_000),
        (of_byte(2), 75, 75_000),
        (of_byte(3), 100, 100_000),
        (VAULT, 100, 100_000),
    ];
    assert_eq!(read(&mut world()), Ok(expected));
}

#[test]
fn an_adapter_that_does_not_show_its_position_holds_its_assets_elsewhere() {
    let shares = Question::with(INNER, Function::PreviewRedeem, &[Word::from_u128(450)]);
    type Change<'a> = (&'a str, Address, &'a dyn Fn(&mut World));
    let changes: [Change<'_>; 6] = [
        ("worth less than the adapter says", OF_VAULT, &|world| {
            world.set(shares.clone(), U256::from(499).abi_encode())
        }),
        ("of another asset", OF_VAULT, &|world| world.address(INNER, Function::Asset, OTHER)),
        ("of another vault", OF_VAULT, &|world| world.address(OF_VAULT, Function::ParentVault, OTHER)),
        ("of two kinds", OF_VAULT, &|world| world.address(OF_VAULT, Function::MorphoOfAdapter, MORPHO)),
        ("more than a tenth above the last update", OF_MARKETS, &|world| {
            world.number(OF_MARKETS, Function::RealAssets, 322);
        }),
        ("without markets", OF_MARKETS, &|world| world.number(OF_MARKETS, Function::MarketIdsLength, 0)),
    ];
    for (what, adapter, change) in changes {
        let mut world = world();
        change(&mut world);
        let places = read(&mut world).unwrap();
        assert!(places.iter().any(|(place, assets, _)| *place == adapter && *assets >= 300), "{what}: {places:?}");
        assert_eq!(places.iter().map(|(_, _, share)| share).sum::<u32>(), 1_000_000, "{what}");
    }
    // An adapter with no assets is of no kind that matters.
    let mut world = world();
    world.address(OF_VAULT, Function::ParentVault, OTHER);
    world.number(OF_VAULT, Function::RealAssets, 0);
    assert!(read(&mut world).unwrap().iter().all(|(place, _, _)| *place != OF_VAULT));
}

#[test]
fn a_gap_leaves_no_list() {
    let shares = Question::with(INNER, Function::BalanceOf, &[Word::from_address(OF_VAULT)]);
    for question in [
        Question::new(OF_VAULT, Function::RealAssets),
        Question::new(OF_MARKETS, Function::MorphoVaultV1),
        Question::with(VAULT, Function::Adapters, &[Word::ZERO]),
        idle_question(ASSET, VAULT),
        shares,
    ] {
        let mut world = world();
        world.0.insert(question.clone(), Err(Failure::Transport));
        assert_eq!(read(&mut world), Err(Unknown::Unread), "{question:?}");
    }
    let mut twice = world();
    twice.set(Question::with(VAULT, Function::Adapters, &[Word::ZERO]), alloy(OF_MARKETS).abi_encode());
    assert_eq!(read(&mut twice), Err(Unknown::Implausible));
    let mut many = world();
    many.number(VAULT, Function::AdaptersLength, 65);
    assert_eq!(read(&mut many), Err(Unknown::Implausible));
}

#[test]
fn the_shortest_delay_of_what_raises_the_risk_counts() {
    let with = |change: &dyn Fn(&mut World)| {
        let mut world = world();
        change(&mut world);
        Vault::from_answers(&world.0, VAULT).shortest_delay()
    };
    let set = |function: Function, seconds: U256| {
        move |world: &mut World| world.set(delay_step(VAULT, function)[0].clone(), seconds.abi_encode())
    };
    let abdicate = |function: Function| {
        move |world: &mut World| world.set(delay_step(VAULT, function)[1].clone(), true.abi_encode())
    };
    assert_eq!(with(&|_| ()), Ok(Delay::Seconds(3 * DAY)));
    assert_eq!(with(&set(Function::SetSendSharesGate, U256::from(60))), Ok(Delay::Seconds(60)));
    assert_eq!(with(&set(Function::SetSendSharesGate, U256::MAX)), Ok(Delay::Seconds(3 * DAY)));
    let given_up = |world: &mut World| {
        set(Function::AddAdapter, U256::ZERO)(world);
        abdicate(Function::AddAdapter)(world);
    };
    assert_eq!(with(&given_up), Ok(Delay::Seconds(3 * DAY)));
    assert_eq!(with(&|world| RISKY.into_iter().for_each(|it| abdicate(it)(world))), Ok(Delay::Never));
    let unread =
        |world: &mut World| world.0.insert(delay_step(VAULT, Function::AddAdapter)[0].clone(), Err(Failure::Transport));
    assert_eq!(with(&unread), Err(Unknown::Unread));
}

#[test]
fn gates_say_whether_everybody_may_enter_and_leave() {
    let with = |gate: Option<Function>| {
        let mut world = world();
        gate.into_iter().for_each(|it| world.address(VAULT, it, OTHER));
        let gates = Vault::from_answers(&world.0, VAULT).gates;
        (gates.let_everybody_in(), gates.let_everybody_out())
    };
    assert_eq!(with(None), (Ok(true), Ok(true)));
    assert_eq!(with(Some(Function::ReceiveSharesGate)), (Ok(false), Ok(true)));
    assert_eq!(with(Some(Function::SendAssetsGate)), (Ok(false), Ok(true)));
    assert_eq!(with(Some(Function::SendSharesGate)), (Ok(true), Ok(false)));
    assert_eq!(with(Some(Function::ReceiveAssetsGate)), (Ok(true), Ok(false)));
}

#[test]
fn the_limits_of_an_id_are_read() {
    let id = Word([7; 32]);
    let read = |absolute: u128, relative: u128, allocation: u128| {
        let mut answers = Answers::new();
        for (question, number) in caps_step(VAULT, id).into_iter().zip([absolute, relative, allocation]) {
            answers.insert(question, Ok(U256::from(number).abi_encode()));
        }
        Caps::from_answers(&answers, VAULT, id)
    };
    let half = Caps { absolute: 100, relative_ppm: 500_000, allocation: 60 };
    assert_eq!(read(100, 500_000_000_000_000_000, 60), Ok(half));
    assert!(!half.is_full());
    for full in [(60, 1, 60), (0, 1, 0), (100, 0, 60)] {
        assert!(read(full.0, full.1 * 500_000_000_000_000_000, full.2).unwrap().is_full(), "{full:?}");
    }
    assert_eq!(read(100, 1_000_001_000_000_000_000, 60), Err(Unknown::Implausible));
    let adapter = Adapter { contract: OF_VAULT, real_assets: Ok(0), kind: Ok(Kind::Vault(INNER)) };
    assert_eq!(adapter.id().0, keccak256(&("this", alloy(OF_VAULT)).abi_encode_params()));
}

#[test]
fn calls_are_those_of_alloy() {
    for (function, selector) in [
        (Function::AdaptersLength, adaptersLengthCall::SELECTOR),
        (Function::LiquidityAdapter, liquidityAdapterCall::SELECTOR),
        (Function::ReceiveSharesGate, receiveSharesGateCall::SELECTOR),
        (Function::AddAdapter, addAdapterCall::SELECTOR),
        (Function::IncreaseAbsoluteCap, increaseAbsoluteCapCall::SELECTOR),
        (Function::SetForceDeallocatePenalty, setForceDeallocatePenaltyCall::SELECTOR),
        (Function::ParentVault, parentVaultCall::SELECTOR),
        (Function::RealAssets, realAssetsCall::SELECTOR),
        (Function::MorphoVaultV1, morphoVaultV1Call::SELECTOR),
        (Function::MorphoOfAdapter, morphoCall::SELECTOR),
        (Function::MarketIdsLength, marketIdsLengthCall::SELECTOR),
        (Function::MarketParamsListLength, marketParamsListLengthCall::SELECTOR),
    ] {
        assert_eq!(function.selector(), selector, "{}", function.signature());
    }
    let selector = FixedBytes(addAdapterCall::SELECTOR);
    let [timelock, abdicated] = delay_step(VAULT, Function::AddAdapter);
    assert_eq!(timelock.calldata(), timelockCall { selector }.abi_encode());
    assert_eq!(abdicated.calldata(), abdicatedCall { selector }.abi_encode());
    let id = FixedBytes([7; 32]);
    let caps = caps_step(VAULT, Word([7; 32])).map(|question| question.calldata());
    let expected =
        [absoluteCapCall { id }.abi_encode(), relativeCapCall { id }.abi_encode(), allocationCall { id }.abi_encode()];
    assert_eq!(caps, expected);
    let index = |function| Question::with(VAULT, function, &[Word::from_u128(4)]).calldata();
    assert_eq!(index(Function::Adapters), adaptersCall { index: U256::from(4) }.abi_encode());
    assert_eq!(index(Function::MarketIds), marketIdsCall { index: U256::from(4) }.abi_encode());
    assert_eq!(index(Function::MarketParamsList), marketParamsListCall { index: U256::from(4) }.abi_encode());
    let shares = Question::with(VAULT, Function::SupplyShares, &[Word([7; 32])]).calldata();
    assert_eq!(shares, supplySharesCall { marketId: id }.abi_encode());
}
