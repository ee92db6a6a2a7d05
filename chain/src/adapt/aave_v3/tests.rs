//! Tests of reserves, e-modes and their bitmaps.

use super::*;
use crate::failure::Failure;
use std::vec;

const CONTRACTS: Contracts =
    Contracts { pool: Address([1; 20]), data_provider: Address([2; 20]), oracle: Address([3; 20]) };
const ASSET: Address = Address([9; 20]);

fn words(numbers: &[u128]) -> Vec<u8> {
    numbers.iter().flat_map(|number| Word::from_u128(*number).0).collect()
}

fn totals_of(change: impl FnOnce(&mut [u128; 12])) -> Value<Totals> {
    let ray = 10_u128.pow(27);
    let mut numbers = [0, 0, 1_000, 100, 400, ray / 80, ray / 40, 0, 0, ray, ray, 77];
    change(&mut numbers);
    totals(numbers.map(Word::from_u128))
}

#[test]
fn rates_and_utilization_are_in_parts_per_million() {
    let totals = totals_of(|_| ()).unwrap();
    assert_eq!((totals.supply_rate_ppm, totals.borrow_rate_ppm), (12_500, 25_000));
    assert_eq!((totals.debt(), totals.utilization_ppm()), (Ok(500), Ok(500_000)));
    let empty = totals_of(|numbers| (numbers[2], numbers[3], numbers[4]) = (0, 0, 0)).unwrap();
    assert_eq!(empty.utilization_ppm(), Ok(0));
}

#[test]
fn a_reserve_that_the_pool_lacks_and_absurd_numbers_are_implausible() {
    assert_eq!(totals_of(|numbers| numbers[9] = 0), Err(Unknown::Implausible));
    assert_eq!(totals_of(|numbers| numbers[5] = u128::MAX), Err(Unknown::Implausible));
    assert_eq!(totals_of(|numbers| numbers[11] = 1 << 64), Err(Unknown::Implausible));
    let overflow = totals_of(|numbers| (numbers[3], numbers[4]) = (u128::MAX, 1)).unwrap();
    assert_eq!((overflow.debt(), overflow.utilization_ppm()), (Err(Unknown::Implausible), Err(Unknown::Implausible)));
}

#[test]
fn each_value_of_a_reserve_is_unknown_by_itself() {
    let mut answers = Answers::new();
    let questions = reserve_step(&CONTRACTS, ASSET);
    assert_eq!(questions.len(), 6);
    let results = [
        Ok(words(&[0])),
        Err(Failure::Reverted { data: vec![] }),
        Ok(words(&[1, 2])),
        Err(Failure::Transport),
        Ok(words(&[0])),
        Ok(words(&[0])),
    ];
    for (question, result) in questions.into_iter().zip(results) {
        answers.insert(question, result);
    }
    let reserve = Reserve::from_answers(&answers, &CONTRACTS, ASSET);
    assert!(reserve.configuration.is_ok_and(|configuration| !configuration.is_active));
    assert_eq!((reserve.deficit, reserve.totals), (Err(Unknown::NoAnswer), Err(Unknown::NoAnswer)));
    assert_eq!((reserve.supply_token, reserve.price), (Err(Unknown::Unread), Err(Unknown::Implausible)));
    assert_eq!(reserve.price_source, Ok(None));
}

#[test]
fn the_unit_of_prices_is_a_power_of_ten() {
    for (unit, is_plausible) in
        [(100_000_000, true), (MAX_PRICE_UNIT, true), (1, true), (0, false), (12, false), (MAX_PRICE_UNIT * 10, false)]
    {
        let mut answers = Answers::new();
        answers.insert(CONTRACTS.price_unit_question(), Ok(words(&[unit])));
        assert_eq!(CONTRACTS.price_unit(&answers).is_ok(), is_plausible, "{unit}");
    }
}

#[test]
fn the_contracts_lead_from_the_pool_to_its_reserves() {
    let mut answers = Answers::new();
    let provider = Address([4; 20]);
    let [list, of_pool] = first_step(CONTRACTS.pool).try_into().unwrap();
    answers.insert(of_pool, Ok(Word::from_address(provider).0.to_vec()));
    let list_of_two = crate::abi::Call::tuple().words(&[ASSET, provider].map(Word::from_address)).encode();
    answers.insert(list, Ok(list_of_two));
    assert_eq!(addresses_provider(&answers, CONTRACTS.pool), Ok(provider));
    assert_eq!(reserves(&answers, CONTRACTS.pool), Ok(vec![ASSET, provider]));
    assert_eq!(Contracts::from_answers(&answers, CONTRACTS.pool, provider), Err(Unknown::Unread));
    for (question, contract) in contracts_step(provider).into_iter().zip([CONTRACTS.data_provider, CONTRACTS.oracle]) {
        answers.insert(question, Ok(Word::from_address(contract).0.to_vec()));
    }
    assert_eq!(Contracts::from_answers(&answers, CONTRACTS.pool, provider), Ok(CONTRACTS));
}

#[test]
fn a_dropped_reserve_is_noticed_by_the_index_of_the_last_one() {
    let (pool, last) = (CONTRACTS.pool, Address([8; 20]));
    let in_order = |named: Option<Address>| {
        let mut answers = Answers::new();
        let question = order_question(pool, &[ASSET, last]).unwrap();
        let answer = named.map(|it| Word::from_address(it).0.to_vec()).ok_or(Failure::Transport);
        answers.insert(question, answer);
        is_in_order(&answers, pool, &[ASSET, last])
    };
    assert_eq!([in_order(Some(last)), in_order(Some(ASSET))], [Ok(true), Ok(false)]);
    assert_eq!(in_order(None), Err(Unknown::Unread));
    assert_eq!((order_question(pool, &[]), is_in_order(&Answers::new(), pool, &[])), (None, Ok(true)));
}

#[test]
fn a_market_has_the_name_that_its_provider_gives_it() {
    let provider = Address([4; 20]);
    let named = |text: &[u8]| {
        let mut answers = Answers::new();
        answers.insert(name_question(provider), Ok(crate::abi::Call::tuple().bytes(text).encode()));
        name(&answers, provider)
    };
    assert_eq!(named(b" Aave Ethereum Market ").as_deref(), Ok("Aave Ethereum Market"));
    for strange in [&b" "[..], b"a\0b", &[0xff], &[b'a'; MAX_NAME + 1]] {
        assert_eq!(named(strange), Err(Unknown::Implausible), "{strange:?}");
    }
}
