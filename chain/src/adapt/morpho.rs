//! Markets of Morpho Blue.
//!
//! One contract holds all markets of a network. A market is named by the hash of its parameters. It is read in two steps: first
//! [`first_step`], then [`price_question`] and [`rate_question`], because only the parameters name the oracle and the rate model.
//!
//! The totals are those of the market's last update: interest since then is not in them. Anybody can update a market, and every deposit,
//! withdrawal, loan and repayment does.

use super::question::{Answers, Question, nonzero};
use super::scale::{PPM, WAD, multiply_divide, per_second_to_ppm, ppm_of, supply_rate, wad_to_ppm};
use super::{Unknown, Value};
use crate::abi::{Function, Word, keccak256};
use crate::block::Address;
use alloc::vec::Vec;

/// Shares and assets that Morpho adds to the totals before it converts, against the inflation of an empty market's share price.
const VIRTUAL_SHARES: u128 = 1_000_000;
const VIRTUAL_ASSETS: u128 = 1;
/// Morpho's own maximum of a market's fee: 25 % of the interest.
const MAX_FEE_PPM: u32 = 250_000;

/// What a market is made of. None of it can ever change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// The token that is lent; never the zero address.
    pub loan_token: Address,
    /// The token that loans are secured with; `None` for an *idle* market, in which nothing can be borrowed.
    pub collateral_token: Option<Address>,
    /// The contract that gives the price of the collateral; `None` if there is none.
    pub oracle: Option<Address>,
    /// The contract that sets the borrow rate; `None` for a rate of 0.
    pub rate_model: Option<Address>,
    /// Liquidation loan-to-value, in parts of 10^18; below 10^18.
    pub lltv_wad: u128,
}

impl Params {
    /// The market's id: the Keccak-256 hash of its encoded parameters.
    pub fn id(&self) -> Word {
        Word(keccak256(self.words().map(|word| word.0).as_flattened()))
    }

    /// The encoded parameters.
    fn words(&self) -> [Word; 5] {
        let address = |address: Option<Address>| Word::from_address(address.unwrap_or(Address::ZERO));
        [
            address(Some(self.loan_token)),
            address(self.collateral_token),
            address(self.oracle),
            address(self.rate_model),
            Word::from_u128(self.lltv_wad),
        ]
    }

    /// Liquidation loan-to-value in parts per million, rounded down.
    pub fn lltv_ppm(&self) -> Value<u32> {
        wad_to_ppm(self.lltv_wad, PPM)
    }
}

/// The totals of a market at its last update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Supplied assets, borrowed ones included.
    pub supply_assets: u128,
    /// Shares of the supplied assets.
    pub supply_shares: u128,
    /// Borrowed assets; at most the supplied ones.
    pub borrow_assets: u128,
    /// Shares of the borrowed assets.
    pub borrow_shares: u128,
    /// When interest was last added: seconds since 1970-01-01T00:00:00Z.
    pub last_update: u64,
    /// The protocol's part of the interest, in parts of 10^18; at most a quarter.
    pub fee_wad: u128,
}

impl Totals {
    /// The assets that `shares` of the supply are worth, rounded down as Morpho does for a withdrawal.
    pub fn supplied(&self, shares: u128) -> Value<u128> {
        let assets = self.supply_assets.checked_add(VIRTUAL_ASSETS).ok_or(Unknown::Implausible)?;
        let all_shares = self.supply_shares.checked_add(VIRTUAL_SHARES).ok_or(Unknown::Implausible)?;
        if shares > self.supply_shares {
            return Err(Unknown::Implausible);
        }
        multiply_divide(shares, assets, all_shares).map(|(assets, _)| assets).ok_or(Unknown::Implausible)
    }

    /// The protocol's part of the interest, in parts per million, rounded down.
    pub fn fee_ppm(&self) -> Value<u32> {
        wad_to_ppm(self.fee_wad, MAX_FEE_PPM)
    }

    /// The rate that depositors get, in parts per million of a year: the borrow rate on the lent part, less the fee, rounded down.
    pub fn supply_rate_ppm(&self, borrow_rate_ppm: u32) -> Value<u32> {
        supply_rate(borrow_rate_ppm, self.utilization_ppm()?, self.fee_ppm()?)
    }

    /// Borrowed part of the supplied assets, in parts per million, rounded down; 0 for an empty market.
    pub fn utilization_ppm(&self) -> Value<u32> {
        ppm_of(self.borrow_assets, self.supply_assets)
    }
}

/// What one account has in a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Shares of the supplied assets.
    pub supply_shares: u128,
    /// Shares of the borrowed assets.
    pub borrow_shares: u128,
    /// Deposited collateral.
    pub collateral: u128,
}

/// A market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Market {
    /// The parameters. [`Unknown::Implausible`] if their hash is not the id that was asked for, as for an id without a market.
    pub params: Value<Params>,
    /// The totals.
    pub totals: Value<Totals>,
}

/// The questions about one market.
pub fn first_step(morpho: Address, id: Word) -> Vec<Question> {
    [Function::IdToMarketParams, Function::Market].map(|function| Question::with(morpho, function, &[id])).into()
}

/// The question for the price of the collateral; `None` if the market has no oracle.
pub fn price_question(params: &Params) -> Option<Question> {
    params.oracle.map(|oracle| Question::new(oracle, Function::Price))
}

/// The question for the borrow rate; `None` if the market has no rate model, and the rate is 0.
pub fn rate_question(params: &Params, totals: &Totals) -> Option<Question> {
    let numbers = [
        totals.supply_assets,
        totals.supply_shares,
        totals.borrow_assets,
        totals.borrow_shares,
        totals.last_update.into(),
        totals.fee_wad,
    ];
    let arguments: Vec<Word> = params.words().into_iter().chain(numbers.map(Word::from_u128)).collect();
    params.rate_model.map(|model| Question::with(model, Function::BorrowRateView, &arguments))
}

/// The answer to [`rate_question`], in parts per million of a year, without compounding.
pub fn borrow_rate_ppm(answers: &Answers, question: &Question) -> Value<u32> {
    per_second_to_ppm(answers.number(question)?, WAD)
}

/// The question for what an account has in a market.
pub fn position_question(morpho: Address, id: Word, account: Address) -> Question {
    Question::with(morpho, Function::Position, &[id, Word::from_address(account)])
}

impl Market {
    /// The answers to [`first_step`].
    pub fn from_answers(answers: &Answers, morpho: Address, id: Word) -> Self {
        let question = |function| Question::with(morpho, function, &[id]);
        Self {
            params: answers.words(&question(Function::IdToMarketParams)).and_then(|words| params(words, id)),
            totals: answers.words(&question(Function::Market)).and_then(totals),
        }
    }
}

fn params([loan, collateral, oracle, rate_model, lltv]: [Word; 5], id: Word) -> Value<Params> {
    let optional = |word: Word| word.to_address().map(|address| (address != Address::ZERO).then_some(address));
    let params = Params {
        loan_token: nonzero(loan.to_address()?)?,
        collateral_token: optional(collateral)?,
        oracle: optional(oracle)?,
        rate_model: optional(rate_model)?,
        lltv_wad: lltv.to_u128()?,
    };
    if params.id() == id && params.lltv_wad < WAD { Ok(params) } else { Err(Unknown::Implausible) }
}

fn totals([supply_assets, supply_shares, borrow_assets, borrow_shares, last_update, fee]: [Word; 6]) -> Value<Totals> {
    let totals = Totals {
        supply_assets: supply_assets.to_u128()?,
        supply_shares: supply_shares.to_u128()?,
        borrow_assets: borrow_assets.to_u128()?,
        borrow_shares: borrow_shares.to_u128()?,
        last_update: last_update.to_u64()?,
        fee_wad: fee.to_u128()?,
    };
    totals.fee_ppm()?;
    // A market that was never created has no update.
    let is_plausible = totals.last_update != 0 && totals.borrow_assets <= totals.supply_assets;
    if is_plausible { Ok(totals) } else { Err(Unknown::Implausible) }
}

/// The answer to [`position_question`].
pub fn position(answers: &Answers, question: &Question) -> Value<Position> {
    let [supply_shares, borrow_shares, collateral] = answers.words(question)?;
    Ok(Position {
        supply_shares: supply_shares.to_u128()?,
        borrow_shares: borrow_shares.to_u128()?,
        collateral: collateral.to_u128()?,
    })
}

/// The answer to [`price_question`]: the price of one smallest unit of the collateral in smallest units of the loan token, scaled by
/// 10^36. A price of 0 is implausible.
pub fn price(answers: &Answers, question: &Question) -> Value<Word> {
    let price = answers.word(question)?;
    if price == Word::ZERO { Err(Unknown::Implausible) } else { Ok(price) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    const MORPHO: Address = Address([0xbb; 20]);
    const ID: Word = Word([3; 32]);

    fn answered(function: Function, id: Word, numbers: &[Word]) -> Answers {
        let mut answers = Answers::new();
        let data: Vec<u8> = numbers.iter().flat_map(|word| word.0).collect();
        answers.insert(Question::with(MORPHO, function, &[id]), Ok(data));
        answers
    }

    fn read_totals(numbers: [u128; 6]) -> Value<Totals> {
        let words = numbers.map(Word::from_u128);
        Market::from_answers(&answered(Function::Market, ID, &words), MORPHO, ID).totals
    }

    #[test]
    fn parameters_whose_hash_is_not_the_id_are_implausible() {
        let params = Params {
            loan_token: Address([1; 20]),
            collateral_token: Some(Address([2; 20])),
            oracle: Some(Address([3; 20])),
            rate_model: None,
            lltv_wad: 860_000_000_000_000_000,
        };
        let words = [
            Word::from_address(params.loan_token),
            Word::from_address(Address([2; 20])),
            Word::from_address(Address([3; 20])),
            Word::ZERO,
            Word::from_u128(params.lltv_wad),
        ];
        let read = |id| Market::from_answers(&answered(Function::IdToMarketParams, id, &words), MORPHO, id).params;
        assert_eq!(read(params.id()), Ok(params));
        assert_eq!(read(ID), Err(Unknown::Implausible));
        assert_eq!(params.lltv_ppm(), Ok(860_000));
        assert_eq!(price_question(&params), Some(Question::new(Address([3; 20]), Function::Price)));
    }

    #[test]
    fn totals_that_morpho_cannot_have_are_implausible() {
        let good = [1_000, 1_000_000_000, 700, 700_000_000, 5, 10_u128.pow(17)];
        let totals = read_totals(good).unwrap();
        assert_eq!((totals.utilization_ppm(), totals.fee_ppm()), (Ok(700_000), Ok(100_000)));
        // 5 % on seven tenths, less a tenth.
        assert_eq!(totals.supply_rate_ppm(50_000), Ok(31_500));
        for (index, value) in [(2, 1_001), (4, 0), (4, 1 << 64), (5, 10_u128.pow(18))] {
            let mut numbers = good;
            numbers[index] = value;
            assert_eq!(read_totals(numbers), Err(Unknown::Implausible), "{index} {value}");
        }
    }

    #[test]
    fn shares_are_worth_assets_rounded_down_with_the_virtual_amounts() {
        let totals = read_totals([7, 7_000_000, 0, 0, 5, 0]).unwrap();
        assert_eq!(totals.supplied(7_000_000), Ok(7));
        assert_eq!(totals.supplied(1_999_999), Ok(1));
        assert_eq!(totals.supplied(7_000_001), Err(Unknown::Implausible));
        let full = read_totals([u128::MAX, u128::MAX, 0, 0, 5, 0]).unwrap();
        assert_eq!(full.supplied(1), Err(Unknown::Implausible));
        let empty = read_totals([0, 0, 0, 0, 5, 0]).unwrap();
        assert_eq!((empty.supplied(0), empty.utilization_ppm()), (Ok(0), Ok(0)));
    }

    #[test]
    fn a_price_of_zero_is_implausible() {
        let mut answers = Answers::new();
        let question = Question::new(Address([3; 20]), Function::Price);
        answers.insert(question.clone(), Ok(vec![0; 32]));
        assert_eq!(price(&answers, &question), Err(Unknown::Implausible));
        answers.insert(question.clone(), Ok(Word::MAX.0.to_vec()));
        assert_eq!(price(&answers, &question), Ok(Word::MAX));
    }
}
