//! Pools of Aave v3 and its forks.
//!
//! A pool is read in three steps: [`first_step`], the pool's list of reserves and its addresses provider; [`contracts_step`], the data
//! provider and the price oracle; [`reserve_step`] for each reserve, and [`emode_step`] for each efficiency mode that a reserve names.
//! Since version 3.2 no reserve names its mode; then the modes from 1 to [`MAX_EMODES`] are asked for, because their numbers may have gaps.

mod configuration;
mod emode;

pub use configuration::Configuration;
pub use emode::{Emode, MAX_EMODES, Reserves, Terms, emode_step, is_defined};

use super::question::{Answers, Question, nonzero};
use super::scale::{ppm_of, ray_to_ppm};
use super::{Unknown, Value};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::string::String;
use alloc::vec::Vec;

/// Aave's own maximum number of reserves of a pool.
pub const MAX_RESERVES: usize = 128;
/// A longer name of a market is implausible.
pub const MAX_NAME: usize = 100;
/// Decimals of an oracle's prices: 8 where the base currency is the US dollar, 18 where it is the network's own.
const MAX_PRICE_UNIT: u128 = 1_000_000_000_000_000_000;

/// The questions for the pool and the asset of a supply token.
pub fn token_step(supply_token: Address) -> Vec<Question> {
    [Function::Pool, Function::UnderlyingAsset].map(|function| Question::new(supply_token, function)).into()
}

/// The pool and the asset that a contract names as those for which it is the supply token. Only the pool's own answer shows that it is.
pub fn token(answers: &Answers, supply_token: Address) -> Value<(Address, Address)> {
    let contract = |function| answers.contract(&Question::new(supply_token, function));
    Ok((contract(Function::Pool)?, contract(Function::UnderlyingAsset)?))
}

/// The questions of the first step.
pub fn first_step(pool: Address) -> Vec<Question> {
    [Function::GetReservesList, Function::AddressesProvider].map(|function| Question::new(pool, function)).into()
}

/// The pool's reserves, at most [`MAX_RESERVES`], in the order of their indices, which may have gaps. Implausible if a reserve is listed twice, or if one is
/// the zero address.
pub fn reserves(answers: &Answers, pool: Address) -> Value<Vec<Address>> {
    answers.addresses(&Question::new(pool, Function::GetReservesList), MAX_RESERVES)
}

/// The question that shows whether [`reserves`] has gaps; `None` for an empty list.
pub fn order_question(pool: Address, reserves: &[Address]) -> Option<Question> {
    let last = u16::try_from(reserves.len()).ok()?.checked_sub(1)?;
    Some(Question::with(pool, Function::GetReserveAddressById, &[Word::from_u128(last.into())]))
}

/// Whether the place of each reserve in the list is its index, by which efficiency modes name it. Where a reserve was dropped, those after
/// it move up in the list and keep their indices; then the last one's index is greater than its place.
pub fn is_in_order(answers: &Answers, pool: Address, reserves: &[Address]) -> Value<bool> {
    let Some(question) = order_question(pool, reserves) else { return Ok(true) };
    Ok(reserves.last() == Some(&answers.address(&question)?))
}

/// The pool's addresses provider.
pub fn addresses_provider(answers: &Answers, pool: Address) -> Value<Address> {
    answers.contract(&Question::new(pool, Function::AddressesProvider))
}

/// The question for the name that the pool's administrators gave their market.
pub fn name_question(addresses_provider: Address) -> Question {
    Question::new(addresses_provider, Function::GetMarketId)
}

/// The answer to [`name_question`]: a text of 1 to [`MAX_NAME`] bytes without control characters.
pub fn name(answers: &Answers, addresses_provider: Address) -> Value<String> {
    let name = answers.data(&name_question(addresses_provider))?.string(0, MAX_NAME)?.trim();
    let is_plausible = !name.is_empty() && !name.chars().any(char::is_control);
    if is_plausible { Ok(name.into()) } else { Err(Unknown::Implausible) }
}

/// The questions of the second step.
pub fn contracts_step(addresses_provider: Address) -> Vec<Question> {
    let functions = [Function::GetPoolDataProvider, Function::GetPriceOracle];
    functions.map(|function| Question::new(addresses_provider, function)).into()
}

/// The contracts that are asked about the reserves of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contracts {
    /// The pool.
    pub pool: Address,
    /// The data provider.
    pub data_provider: Address,
    /// The price oracle.
    pub oracle: Address,
}

impl Contracts {
    /// The answers to [`contracts_step`].
    pub fn from_answers(answers: &Answers, pool: Address, addresses_provider: Address) -> Value<Self> {
        let contract = |function| answers.contract(&Question::new(addresses_provider, function));
        let data_provider = contract(Function::GetPoolDataProvider)?;
        Ok(Self { pool, data_provider, oracle: contract(Function::GetPriceOracle)? })
    }

    /// The question for the number that stands for one unit of the currency of prices.
    pub fn price_unit_question(&self) -> Question {
        Question::new(self.oracle, Function::BaseCurrencyUnit)
    }

    /// The answer to [`price_unit_question`](Self::price_unit_question): a power of ten up to 10^18, such as 10^8.
    pub fn price_unit(&self, answers: &Answers) -> Value<u128> {
        let unit = answers.number(&self.price_unit_question())?;
        let is_plausible =
            unit <= MAX_PRICE_UNIT && (0..=18).any(|exponent| 10_u128.checked_pow(exponent) == Some(unit));
        if is_plausible { Ok(unit) } else { Err(Unknown::Implausible) }
    }
}

/// The questions about one reserve.
pub fn reserve_step(contracts: &Contracts, asset: Address) -> Vec<Question> {
    let Contracts { pool, data_provider, oracle } = *contracts;
    let questions = [
        (pool, Function::GetConfiguration),
        (pool, Function::GetReserveDeficit),
        (data_provider, Function::GetReserveData),
        (data_provider, Function::GetReserveTokensAddresses),
        (oracle, Function::GetAssetPrice),
        (oracle, Function::GetSourceOfAsset),
    ];
    questions.map(|(contract, function)| about(contract, function, asset)).into()
}

fn about(contract: Address, function: Function, asset: Address) -> Question {
    Question::with(contract, function, &[Word::from_address(asset)])
}

/// One asset of a pool. Amounts are in the smallest unit of the asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserve {
    /// What the pool allows.
    pub configuration: Value<Configuration>,
    /// Supply, debt and rates.
    pub totals: Value<Totals>,
    /// The token that stands for deposits. It holds the assets that are not lent.
    pub supply_token: Value<Address>,
    /// Debt that nobody will repay, because its position has no collateral left. [`Unknown::NoAnswer`] before version 3.3.
    pub deficit: Value<u128>,
    /// The price of one whole unit of the asset, in the oracle's unit. A price of 0 is implausible: it stands for a broken source.
    pub price: Value<u128>,
    /// The contract that the oracle takes the price from; `None` if there is none, and the oracle asks a fallback.
    pub price_source: Value<Option<Address>>,
}

/// Supply, debt and rates of a reserve, interest up to the block included in the amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Supplied assets, lent ones included.
    pub supply: u128,
    /// Debt at a stable rate; 0 since version 3.2.
    pub stable_debt: u128,
    /// Debt at the variable rate.
    pub variable_debt: u128,
    /// Rate that depositors get, in parts per million of a year, without compounding.
    pub supply_rate_ppm: u32,
    /// Variable rate that borrowers pay, in parts per million of a year, without compounding.
    pub borrow_rate_ppm: u32,
    /// When the pool last changed the rates, in seconds since 1970-01-01T00:00:00Z.
    pub last_update: u64,
}

impl Totals {
    /// The whole debt.
    pub fn debt(&self) -> Value<u128> {
        self.stable_debt.checked_add(self.variable_debt).ok_or(Unknown::Implausible)
    }

    /// Lent part of the supply, in parts per million, rounded down; 0 if nothing is supplied. It can exceed one by the interest that goes
    /// to the protocol and has not been minted yet.
    pub fn utilization_ppm(&self) -> Value<u32> {
        ppm_of(self.debt()?, self.supply)
    }
}

impl Reserve {
    /// The answers to [`reserve_step`].
    pub fn from_answers(answers: &Answers, contracts: &Contracts, asset: Address) -> Self {
        let Contracts { pool, data_provider, oracle } = *contracts;
        let optional = |address: Address| (address != Address::ZERO).then_some(address);
        let configuration = answers.word(&about(pool, Function::GetConfiguration, asset));
        let tokens = answers.words(&about(data_provider, Function::GetReserveTokensAddresses, asset));
        Self {
            configuration: configuration.and_then(Configuration::from_word),
            totals: answers.words(&about(data_provider, Function::GetReserveData, asset)).and_then(totals),
            supply_token: tokens.and_then(|[token, _, _]: [Word; 3]| nonzero(token.to_address()?)),
            deficit: answers.number(&about(pool, Function::GetReserveDeficit, asset)),
            price: match answers.number(&about(oracle, Function::GetAssetPrice, asset)) {
                Ok(0) => Err(Unknown::Implausible),
                price => price,
            },
            price_source: answers.address(&about(oracle, Function::GetSourceOfAsset, asset)).map(optional),
        }
    }
}

/// The data provider's answer: unbacked deposits, accrued to the treasury, supply, stable debt, variable debt, liquidity rate, variable
/// rate, stable rate, average stable rate, liquidity index, borrow index, last update.
fn totals(words: [Word; 12]) -> Value<Totals> {
    let [_, _, supply, stable_debt, variable_debt, liquidity_rate, variable_rate, _, _, index, _, last_update] = words;
    // The index begins at 1. A reserve that was never created has 0.
    if index == Word::ZERO {
        return Err(Unknown::Implausible);
    }
    Ok(Totals {
        supply: supply.to_u128()?,
        stable_debt: stable_debt.to_u128()?,
        variable_debt: variable_debt.to_u128()?,
        supply_rate_ppm: ray_to_ppm(liquidity_rate.to_u128()?)?,
        borrow_rate_ppm: ray_to_ppm(variable_rate.to_u128()?)?,
        last_update: last_update.to_u64()?,
    })
}

#[cfg(test)]
mod tests;
