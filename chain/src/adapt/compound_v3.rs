//! Markets of Compound v3 (Comet): one asset that is lent, secured with several others.
//!
//! A market is read in three steps: [`first_step`]; [`Market::second_step`], the list of collaterals, whose number must be known, and the
//! rates, which need the utilization; [`collateral_step`] and [`price_step`] for each collateral.

use super::part::{Part, divide};
use super::question::{Answers, Question, nonzero};
use super::scale::{PPM, WAD, multiply_divide, per_second_to_ppm, wad_to_ppm};
use super::{Unknown, Value, erc4626};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// Maximum number of collaterals: Comet itself allows 15, its extended variant 24.
pub const MAX_COLLATERALS: u8 = 24;

/// The functions of the first step.
pub const FIRST_STEP: [Function; 8] = [
    Function::BaseToken,
    Function::BaseTokenPriceFeed,
    Function::NumAssets,
    Function::TotalSupply,
    Function::TotalBorrow,
    Function::GetUtilization,
    Function::IsSupplyPaused,
    Function::IsWithdrawPaused,
];

/// A market after the first step. Amounts are in the smallest unit of the base token, interest up to the block included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Market {
    /// The token that is lent; never the zero address.
    pub base_token: Value<Address>,
    /// The contract that gives the price of the base token.
    pub price_feed: Value<Address>,
    /// Number of collaterals; at most [`MAX_COLLATERALS`].
    pub collaterals: Value<u8>,
    /// Supplied assets, lent ones included.
    pub total_supply: Value<u128>,
    /// Lent assets.
    pub total_borrow: Value<u128>,
    /// Lent part of the supply, scaled by 10^18. It can exceed one.
    pub utilization_wad: Value<u128>,
    /// Whether deposits are refused.
    pub is_supply_paused: Value<bool>,
    /// Whether withdrawals and loans are refused.
    pub is_withdraw_paused: Value<bool>,
}

/// The questions of the first step.
pub fn first_step(comet: Address) -> Vec<Question> {
    FIRST_STEP.map(|function| Question::new(comet, function)).into()
}

impl Market {
    /// The answers to [`first_step`].
    pub fn from_answers(answers: &Answers, comet: Address) -> Self {
        let question = |function| Question::new(comet, function);
        let collaterals = answers.number_up_to(&question(Function::NumAssets), MAX_COLLATERALS.into());
        Self {
            base_token: answers.contract(&question(Function::BaseToken)),
            price_feed: answers.contract(&question(Function::BaseTokenPriceFeed)),
            collaterals: collaterals.and_then(|number| u8::try_from(number).map_err(|_| Unknown::Implausible)),
            total_supply: answers.number(&question(Function::TotalSupply)),
            total_borrow: answers.number(&question(Function::TotalBorrow)),
            utilization_wad: answers.number(&question(Function::GetUtilization)),
            is_supply_paused: answers.flag(&question(Function::IsSupplyPaused)),
            is_withdraw_paused: answers.flag(&question(Function::IsWithdrawPaused)),
        }
    }

    /// Lent part of the supply, in parts per million, rounded down.
    pub fn utilization_ppm(&self) -> Value<u32> {
        wad_to_ppm(self.utilization_wad?, u32::MAX)
    }

    /// The questions of the second step: the rates at the present utilization, and each collateral.
    pub fn second_step(&self, comet: Address) -> Vec<Question> {
        let rate = |function| self.utilization_wad.ok().map(|utilization| rate_question(comet, function, utilization));
        let rates = [Function::GetSupplyRate, Function::GetBorrowRate].into_iter().filter_map(rate);
        rates.chain((0..self.collaterals.unwrap_or(0)).map(|index| info_question(comet, index))).collect()
    }

    /// Rate that depositors get, in parts per million of a year, without compounding.
    pub fn supply_rate_ppm(&self, answers: &Answers, comet: Address) -> Value<u32> {
        self.rate_ppm(answers, comet, Function::GetSupplyRate)
    }

    /// Rate that borrowers pay, in parts per million of a year, without compounding.
    pub fn borrow_rate_ppm(&self, answers: &Answers, comet: Address) -> Value<u32> {
        self.rate_ppm(answers, comet, Function::GetBorrowRate)
    }

    fn rate_ppm(&self, answers: &Answers, comet: Address, function: Function) -> Value<u32> {
        per_second_to_ppm(answers.number(&rate_question(comet, function, self.utilization_wad?))?, WAD)
    }

    /// The collaterals that the second step read, in Comet's order. Unknown if their number is; each is unknown by itself.
    pub fn collaterals(&self, answers: &Answers, comet: Address) -> Value<Vec<Value<Collateral>>> {
        let collateral = |index| answers.words(&info_question(comet, index)).and_then(|words| collateral(words, index));
        Ok((0..self.collaterals?).map(collateral).collect())
    }
}

fn rate_question(comet: Address, function: Function, utilization: u128) -> Question {
    Question::with(comet, function, &[Word::from_u128(utilization)])
}

fn info_question(comet: Address, index: u8) -> Question {
    Question::with(comet, Function::GetAssetInfo, &[Word::from_u128(index.into())])
}

/// A token that loans are secured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collateral {
    /// The token.
    pub asset: Address,
    /// The contract that gives its price.
    pub price_feed: Address,
    /// Its decimals.
    pub decimals: u8,
    /// Maximum loan-to-value of a new loan, in parts per million.
    pub borrow_factor_ppm: u32,
    /// Loan-to-value above which a position is liquidated, in parts per million.
    pub liquidation_threshold_ppm: u32,
    /// Part of the collateral's value that a liquidated position is credited with, in parts per million.
    pub liquidation_factor_ppm: u32,
    /// The most that may be deposited, in the smallest unit of the token; 0 if nothing may.
    pub supply_cap: u128,
}

/// The answer's struct: index, asset, price feed, scale, borrow factor, liquidation threshold, liquidation factor, supply cap.
fn collateral([offset, asset, feed, scale, borrow, threshold, factor, cap]: [Word; 8], index: u8) -> Value<Collateral> {
    let ppm = |word: Word| wad_to_ppm(word.to_u128()?, PPM);
    let scale = scale.to_u64()?;
    let decimals = (0..=erc4626::MAX_DECIMALS).find(|decimals| 10_u64.checked_pow((*decimals).into()) == Some(scale));
    let collateral = Collateral {
        asset: nonzero(asset.to_address()?)?,
        price_feed: nonzero(feed.to_address()?)?,
        decimals: decimals.ok_or(Unknown::Implausible)?,
        borrow_factor_ppm: ppm(borrow)?,
        liquidation_threshold_ppm: ppm(threshold)?,
        liquidation_factor_ppm: ppm(factor)?,
        supply_cap: cap.to_u128()?,
    };
    let is_this = offset == Word::from_u128(index.into());
    let is_plausible = is_this && collateral.borrow_factor_ppm <= collateral.liquidation_threshold_ppm;
    if is_plausible { Ok(collateral) } else { Err(Unknown::Implausible) }
}

/// The question of the third step: how much of a collateral is deposited.
pub fn collateral_step(comet: Address, asset: Address) -> Question {
    Question::with(comet, Function::TotalsCollateral, &[Word::from_address(asset)])
}

/// The answer to [`collateral_step`], in the smallest unit of the collateral.
pub fn deposited(answers: &Answers, comet: Address, asset: Address) -> Value<u128> {
    answers.number(&collateral_step(comet, asset))
}

/// The question for the price of a collateral, by which Comet itself values it.
pub fn price_step(comet: Address, price_feed: Address) -> Question {
    Question::with(comet, Function::GetPrice, &[Word::from_address(price_feed)])
}

/// What the loans are secured with: each collateral of which something is deposited, with its part of the value of all of them.
///
/// Unknown if anything about one of the collaterals is: a list with a gap would give the others shares that are too large. A price of 0 is
/// implausible where something is deposited. `assets` of a part is a value in the unit of Comet's prices.
pub fn exposures(answers: &Answers, comet: Address, market: &Market) -> Value<Vec<Part<Collateral>>> {
    let mut values = Vec::new();
    for collateral in market.collaterals(answers, comet)? {
        let collateral = collateral?;
        let amount = deposited(answers, comet, collateral.asset)?;
        if amount == 0 {
            continue;
        }
        let price = answers.number(&price_step(comet, collateral.price_feed))?;
        let unit = 10_u128.checked_pow(collateral.decimals.into()).ok_or(Unknown::Implausible)?;
        let (value, _) = multiply_divide(amount, price, unit).ok_or(Unknown::Implausible)?;
        if price == 0 {
            return Err(Unknown::Implausible);
        }
        values.push((collateral, value));
    }
    divide(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_sol_types::private::{Address as AlloyAddress, U256};
    use alloy_sol_types::{SolCall, SolValue};

    alloy_sol_types::sol! {
        struct AssetInfo {
            uint8 offset;
            address asset;
            address priceFeed;
            uint64 scale;
            uint64 borrowCollateralFactor;
            uint64 liquidateCollateralFactor;
            uint64 liquidationFactor;
            uint128 supplyCap;
        }
        function getAssetInfo(uint8 i) returns (AssetInfo memory);
        function getSupplyRate(uint256 utilization) returns (uint64);
        function totalsCollateral(address) returns (uint128, uint128);
        function isSupplyPaused() returns (bool);
        function baseTokenPriceFeed() returns (address);
    }

    const COMET: Address = Address([0xaa; 20]);
    const WETH: Address = Address([3; 20]);

    fn info() -> AssetInfo {
        AssetInfo {
            offset: 1,
            asset: AlloyAddress::from(WETH.0),
            priceFeed: AlloyAddress::from([4; 20]),
            scale: 1_000_000_000_000_000_000,
            borrowCollateralFactor: 825_000_000_000_000_000,
            liquidateCollateralFactor: 895_000_000_000_000_000,
            liquidationFactor: 950_000_000_000_000_000,
            supplyCap: 350_000_000_000_000_000_000_000,
        }
    }

    fn answers(collaterals: u8, utilization: u128) -> Answers {
        let results = [
            AlloyAddress::from([1; 20]).abi_encode(),
            AlloyAddress::from([2; 20]).abi_encode(),
            U256::from(collaterals).abi_encode(),
            U256::from(1_000).abi_encode(),
            U256::from(700).abi_encode(),
            U256::from(utilization).abi_encode(),
            false.abi_encode(),
            true.abi_encode(),
        ];
        let mut answers = Answers::new();
        for (question, result) in first_step(COMET).into_iter().zip(results) {
            answers.insert(question, Ok(result));
        }
        answers
    }

    fn read(info: &AssetInfo) -> Value<Collateral> {
        let mut answers = answers(2, 0);
        answers.insert(info_question(COMET, 1), Ok(info.abi_encode()));
        let collaterals = Market::from_answers(&answers, COMET).collaterals(&answers, COMET).unwrap();
        assert_eq!((collaterals.len(), collaterals[0]), (2, Err(Unknown::Unread)));
        collaterals[1]
    }

    #[test]
    fn a_market_is_read_from_answers_that_alloy_encoded() {
        let mut answers = answers(2, 700_000_000_000_000_000);
        let market = Market::from_answers(&answers, COMET);
        assert_eq!((market.total_supply, market.total_borrow), (Ok(1_000), Ok(700)));
        assert_eq!((market.is_supply_paused, market.is_withdraw_paused), (Ok(false), Ok(true)));
        assert_eq!(market.utilization_ppm(), Ok(700_000));
        let questions = market.second_step(COMET);
        assert_eq!(questions.len(), 4);
        let call = getSupplyRateCall { utilization: U256::from(700_000_000_000_000_000_u64) }.abi_encode();
        assert_eq!(questions[0].calldata(), call);
        assert_eq!(questions[3].calldata(), getAssetInfoCall { i: 1 }.abi_encode());
        assert_eq!(market.supply_rate_ppm(&answers, COMET), Err(Unknown::Unread));
        answers.insert(questions[0].clone(), Ok(U256::from(1_585_489_600_u64).abi_encode()));
        assert_eq!(market.supply_rate_ppm(&answers, COMET), Ok(50_000));
    }

    #[test]
    fn a_collateral_is_read_from_its_struct() {
        let expected = Collateral {
            asset: WETH,
            price_feed: Address([4; 20]),
            decimals: 18,
            borrow_factor_ppm: 825_000,
            liquidation_threshold_ppm: 895_000,
            liquidation_factor_ppm: 950_000,
            supply_cap: 350_000_000_000_000_000_000_000,
        };
        assert_eq!(read(&info()), Ok(expected));
    }

    #[test]
    fn a_collateral_with_a_strange_value_is_implausible() {
        let strange: [fn(&mut AssetInfo); 6] = [
            |info| info.offset = 0,
            |info| info.asset = AlloyAddress::from([0; 20]),
            |info| info.priceFeed = AlloyAddress::from([0; 20]),
            |info| info.scale = 12,
            |info| info.liquidationFactor = 1_100_000_000_000_000_000,
            |info| info.borrowCollateralFactor = 896_000_000_000_000_000,
        ];
        for change in strange {
            let mut info = info();
            change(&mut info);
            assert_eq!(read(&info), Err(Unknown::Implausible));
        }
    }

    #[test]
    fn too_many_collaterals_are_implausible_and_lead_to_no_question() {
        let answers = answers(25, 0);
        let market = Market::from_answers(&answers, COMET);
        assert_eq!(market.collaterals, Err(Unknown::Implausible));
        assert_eq!(market.second_step(COMET).len(), 2);
        assert_eq!(market.collaterals(&answers, COMET), Err(Unknown::Implausible));
    }

    #[test]
    fn the_deposits_of_a_collateral_are_the_first_of_two_numbers() {
        let mut answers = Answers::new();
        let question = collateral_step(COMET, WETH);
        assert_eq!(question.calldata(), totalsCollateralCall(AlloyAddress::from(WETH.0)).abi_encode());
        answers.insert(question, Ok((55_u128, 0_u128).abi_encode_params()));
        assert_eq!(deposited(&answers, COMET, WETH), Ok(55));
        assert_eq!(Function::IsSupplyPaused.selector(), isSupplyPausedCall::SELECTOR);
        assert_eq!(Function::BaseTokenPriceFeed.selector(), baseTokenPriceFeedCall::SELECTOR);
    }

    /// A market with two collaterals: 55 of the first whole unit at `price`, and `of_second` smallest units of the second at 1.
    fn lent(price: u128, of_second: u128) -> Answers {
        let mut answers = answers(2, 0);
        let first = AssetInfo { offset: 0, asset: AlloyAddress::from([9; 20]), scale: 100, ..info() };
        let second = AssetInfo { priceFeed: AlloyAddress::from([5; 20]), ..info() };
        let of = |address: AlloyAddress| Address(*address.0);
        for (index, info, amount, price) in [(0, first, 5_500, price), (1, second, of_second, 100_000_000)] {
            answers.insert(info_question(COMET, index), Ok(info.abi_encode()));
            answers.insert(collateral_step(COMET, of(info.asset)), Ok((amount, 0_u128).abi_encode_params()));
            answers.insert(price_step(COMET, of(info.priceFeed)), Ok(U256::from(price).abi_encode()));
        }
        answers
    }

    #[test]
    fn collaterals_are_weighed_by_the_value_that_is_deposited() {
        let answers = lent(300_000_000, 35 * 10_u128.pow(18));
        let market = Market::from_answers(&answers, COMET);
        let parts = exposures(&answers, COMET, &market).unwrap();
        // 165 and 35.
        assert_eq!(parts.iter().map(|part| part.share_ppm).collect::<Vec<_>>(), [825_000, 175_000]);
        assert_eq!(parts[1].place.asset, WETH);
        let alone = lent(1, 0);
        let parts = exposures(&alone, COMET, &Market::from_answers(&alone, COMET)).unwrap();
        assert_eq!(parts.iter().map(|part| part.share_ppm).collect::<Vec<_>>(), [1_000_000]);
    }

    #[test]
    fn a_collateral_without_a_price_leaves_no_shares() {
        let worthless = lent(0, 1);
        let market = Market::from_answers(&worthless, COMET);
        assert_eq!(exposures(&worthless, COMET, &market), Err(Unknown::Implausible));
        assert_eq!(exposures(&answers(2, 0), COMET, &market), Err(Unknown::Unread));
    }
}
