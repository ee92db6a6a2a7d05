//! Vaults of Euler v2 (Euler Vault Kit): one asset that is lent, secured with shares of other vaults.
//!
//! A vault is read in two steps: [`first_step`], then [`collateral_step`] for each collateral of the vault's list. A collateral is itself
//! a vault; its asset is what the loan is secured with.

use super::question::{Answers, Question};
use super::scale::{bp_to_ppm, multiply_divide, per_second_to_ppm, ppm_of, supply_rate};
use super::{Unknown, Value};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// More collaterals than this are implausible: the longest lists in use have a few dozen.
pub const MAX_COLLATERALS: usize = 256;
/// One, in the scale of Euler's loan-to-value and of its fee.
const ONE_LTV: u64 = 10_000;
/// Parts per million in a part of that scale.
const PPM_PER_BP: u32 = 100;
/// One, in the scale of Euler's rates: 10^27.
const RAY: u128 = 1_000_000_000_000_000_000_000_000_000;

/// The functions of the first step.
pub const FIRST_STEP: [Function; 11] = [
    Function::Asset,
    Function::TotalAssets,
    Function::TotalBorrows,
    Function::Cash,
    Function::Caps,
    Function::LtvList,
    Function::Oracle,
    Function::UnitOfAccount,
    Function::GovernorAdmin,
    Function::InterestRate,
    Function::InterestFee,
];

/// A vault after the first step. Amounts are in the smallest unit of the asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    /// The token that is deposited and lent; never the zero address.
    pub asset: Value<Address>,
    /// Assets of the depositors: cash and loans, interest up to the block included.
    pub total_assets: Value<u128>,
    /// Lent assets, interest up to the block included.
    pub total_borrows: Value<u128>,
    /// Assets in the vault.
    pub cash: Value<u128>,
    /// Upper limits of deposits and loans.
    pub caps: Value<Caps>,
    /// The vaults whose shares secure loans, or did so once; at most [`MAX_COLLATERALS`], none twice.
    pub collaterals: Value<Vec<Address>>,
    /// The contract that gives prices; `None` in a vault that does not lend.
    pub oracle: Value<Option<Address>>,
    /// What prices are expressed in: a token, or a number of ISO 4217 written as an address, such as 840 for the US dollar; `None` in a
    /// vault that does not lend.
    pub unit_of_account: Value<Option<Address>>,
    /// Who can change the vault; `None` if nobody can any more.
    pub governor: Value<Option<Address>>,
    /// Rate that borrowers pay, in parts per million of a year of 365 days, without compounding. Euler's own site counts 365.2425 days.
    pub borrow_rate_ppm: Value<u32>,
    /// Part of the interest that depositors do not get, in parts per million.
    pub fee_ppm: Value<u32>,
}

/// The upper limits of a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// The most that may be deposited; `None` if there is no limit.
    pub supply: Option<Word>,
    /// The most that may be lent; `None` if there is no limit.
    pub borrow: Option<Word>,
}

/// The questions of the first step.
pub fn first_step(vault: Address) -> Vec<Question> {
    FIRST_STEP.map(|function| Question::new(vault, function)).into()
}

impl Vault {
    /// The answers to [`first_step`].
    pub fn from_answers(answers: &Answers, vault: Address) -> Self {
        let question = |function| Question::new(vault, function);
        let optional = |function| {
            let address = answers.address(&question(function))?;
            Ok((address != Address::ZERO).then_some(address))
        };
        let rate = answers.number(&question(Function::InterestRate));
        Self {
            asset: answers.contract(&question(Function::Asset)),
            total_assets: answers.number(&question(Function::TotalAssets)),
            total_borrows: answers.number(&question(Function::TotalBorrows)),
            cash: answers.number(&question(Function::Cash)),
            caps: answers.words(&question(Function::Caps)).and_then(caps),
            collaterals: answers.addresses(&question(Function::LtvList), MAX_COLLATERALS),
            oracle: optional(Function::Oracle),
            unit_of_account: optional(Function::UnitOfAccount),
            governor: optional(Function::GovernorAdmin),
            borrow_rate_ppm: rate.and_then(|rate| per_second_to_ppm(rate, RAY)),
            fee_ppm: answers
                .number_up_to(&question(Function::InterestFee), ONE_LTV)
                .and_then(|fee| bp_to_ppm(fee, ONE_LTV)),
        }
    }

    /// Lent part of cash and loans, in parts per million, rounded down; 0 if there are neither.
    pub fn utilization_ppm(&self) -> Value<u32> {
        let borrows = self.total_borrows?;
        ppm_of(borrows, self.cash?.checked_add(borrows).ok_or(Unknown::Implausible)?)
    }

    /// Rate that depositors get, in parts per million of a year: the borrow rate on the lent part, less the fee, rounded down.
    pub fn supply_rate_ppm(&self) -> Value<u32> {
        supply_rate(self.borrow_rate_ppm?, self.utilization_ppm()?, self.fee_ppm?)
    }
}

fn caps([supply, borrow]: [Word; 2]) -> Value<Caps> {
    Ok(Caps { supply: amount_cap(supply)?, borrow: amount_cap(borrow)? })
}

/// A limit as Euler packs it into 16 bits: the lower six are an exponent of ten, the upper ten a number in hundredths. All zero is no
/// limit.
fn amount_cap(word: Word) -> Value<Option<Word>> {
    let raw = u16::try_from(word.to_u64()?).map_err(|_| Unknown::Implausible)?;
    if raw == 0 {
        return Ok(None);
    }
    let (mantissa, exponent) = (u128::from(raw >> 6), u8::try_from(raw & 63).map_err(|_| Unknown::Implausible)?);
    let cap = match exponent.checked_sub(2) {
        // At most 1,023 · 10^61, which fits into 256 bits.
        Some(exponent) => times_power_of_ten(mantissa, exponent).ok_or(Unknown::Implausible)?,
        None => {
            let hundredths = if exponent == 1 { 10 } else { 1 };
            Word::from_u128(mantissa.saturating_mul(hundredths).checked_div(100).unwrap_or(0))
        }
    };
    Ok(Some(cap))
}

/// A number below 2^10 times a power of ten.
fn times_power_of_ten(number: u128, exponent: u8) -> Option<Word> {
    let power = Word::power_of_ten(exponent)?;
    let (mut product, mut carry) = (power, 0_u128);
    for byte in product.0.iter_mut().rev() {
        let sum = u128::from(*byte).checked_mul(number)?.checked_add(carry)?;
        let [.., low] = sum.to_be_bytes();
        (*byte, carry) = (low, sum >> 8);
    }
    (carry == 0).then_some(product)
}

/// The question about one collateral.
pub fn collateral_step(vault: Address, collateral: Address) -> Question {
    Question::with(vault, Function::LtvFull, &[Word::from_address(collateral)])
}

/// Terms for one collateral. All loan-to-value ratios are in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collateral {
    /// Maximum loan-to-value of a new loan; 0 if the collateral is not accepted any more.
    pub borrow_ltv_ppm: u32,
    /// Loan-to-value above which a position is liquidated, once the ramp is over.
    pub liquidation_ltv_ppm: u32,
    /// The gradual decrease of the liquidation loan-to-value, if one was ever started.
    pub ramp: Option<Ramp>,
}

/// A gradual decrease of the liquidation loan-to-value. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ramp {
    /// The ratio at the beginning, in parts per million.
    pub initial_ppm: u32,
    /// When the decrease is over, since 1970-01-01T00:00:00Z.
    pub end: u64,
    /// How long it takes in all.
    pub duration: u32,
}

/// The answer to [`collateral_step`].
pub fn collateral(answers: &Answers, vault: Address, collateral: Address) -> Value<Collateral> {
    let [borrow, liquidation, initial, end, duration] = answers.words(&collateral_step(vault, collateral))?;
    let ppm = |word: Word| bp_to_ppm(word.to_u64()?, ONE_LTV);
    let (borrow_ltv_ppm, liquidation_ltv_ppm) = (ppm(borrow)?, ppm(liquidation)?);
    if borrow_ltv_ppm > liquidation_ltv_ppm {
        return Err(Unknown::Implausible);
    }
    let duration = u32::try_from(duration.to_u64()?).map_err(|_| Unknown::Implausible)?;
    let ramp = Ramp { initial_ppm: ppm(initial)?, end: end.to_u64()?, duration };
    Ok(Collateral { borrow_ltv_ppm, liquidation_ltv_ppm, ramp: (duration != 0).then_some(ramp) })
}

impl Collateral {
    /// The liquidation loan-to-value at a time, in parts per million: on a ramp, the straight line between its ends, rounded down to whole
    /// basis points as Euler does.
    pub fn liquidation_ltv_at(&self, time: u64) -> u32 {
        let Some(ramp) = self.ramp else { return self.liquidation_ltv_ppm };
        let fall = ramp.initial_ppm.saturating_sub(self.liquidation_ltv_ppm);
        let left = ramp.end.saturating_sub(time).min(ramp.duration.into());
        let rest = multiply_divide((fall / PPM_PER_BP).into(), left.into(), ramp.duration.into());
        let rest = rest.and_then(|(rest, _)| u32::try_from(rest).ok()?.checked_mul(PPM_PER_BP));
        self.liquidation_ltv_ppm.saturating_add(rest.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_sol_types::private::{Address as AlloyAddress, U256};
    use alloy_sol_types::{SolCall, SolValue};
    use std::vec;

    alloy_sol_types::sol! {
        function LTVFull(address) returns (uint16, uint16, uint16, uint48, uint32);
        function LTVList() returns (address[]);
        function caps() returns (uint16, uint16);
        function interestRate() returns (uint256);
    }

    const VAULT: Address = Address([0xaa; 20]);
    const COLLATERAL: Address = Address([3; 20]);

    fn answers(caps: (u16, u16), list: Vec<Address>) -> Answers {
        let list: Vec<AlloyAddress> = list.into_iter().map(|address| AlloyAddress::from(address.0)).collect();
        let mut usd = [0; 20];
        usd[18..].copy_from_slice(&840_u16.to_be_bytes());
        let results = [
            AlloyAddress::from([1; 20]).abi_encode(),
            U256::from(1_000).abi_encode(),
            U256::from(600).abi_encode(),
            U256::from(400).abi_encode(),
            caps.abi_encode_params(),
            list.abi_encode(),
            AlloyAddress::from([2; 20]).abi_encode(),
            AlloyAddress::from(usd).abi_encode(),
            AlloyAddress::from([0; 20]).abi_encode(),
            U256::from(1_585_489_600_000_000_000_u64).abi_encode(),
            U256::from(1_000).abi_encode(),
        ];
        let mut answers = Answers::new();
        for (question, result) in first_step(VAULT).into_iter().zip(results) {
            answers.insert(question, Ok(result));
        }
        answers
    }

    fn terms(borrow: u16, liquidation: u16, initial: u16, end: u64, duration: u32) -> Value<Collateral> {
        let mut answers = Answers::new();
        let question = collateral_step(VAULT, COLLATERAL);
        assert_eq!(question.calldata(), LTVFullCall(AlloyAddress::from(COLLATERAL.0)).abi_encode());
        answers.insert(question, Ok((borrow, liquidation, initial, end, duration).abi_encode_params()));
        collateral(&answers, VAULT, COLLATERAL)
    }

    #[test]
    fn a_vault_is_read_from_answers_that_alloy_encoded() {
        let vault = Vault::from_answers(&answers((0, (500 << 6) | 14), vec![COLLATERAL]), VAULT);
        assert_eq!((vault.total_assets, vault.total_borrows, vault.cash), (Ok(1_000), Ok(600), Ok(400)));
        assert_eq!(vault.collaterals, Ok(vec![COLLATERAL]));
        assert_eq!(vault.caps, Ok(Caps { supply: None, borrow: Some(Word::from_u128(5 * 10_u128.pow(14))) }));
        assert!(vault.oracle.is_ok_and(|oracle| oracle.is_some()));
        assert_eq!(
            vault.unit_of_account.map(|unit| unit.map(|address| address.0[18..].to_vec())),
            Ok(Some(vec![3, 72]))
        );
        assert_eq!((vault.governor, vault.borrow_rate_ppm), (Ok(None), Ok(50_000)));
        assert_eq!((vault.utilization_ppm(), vault.fee_ppm), (Ok(600_000), Ok(100_000)));
        // 5 % on 60 %, less a tenth.
        assert_eq!(vault.supply_rate_ppm(), Ok(27_000));
        for (function, selector) in [
            (Function::LtvList, LTVListCall::SELECTOR),
            (Function::Caps, capsCall::SELECTOR),
            (Function::InterestRate, interestRateCall::SELECTOR),
        ] {
            assert_eq!(function.selector(), selector, "{}", function.signature());
        }
    }

    #[test]
    fn packed_caps_are_what_the_formula_of_euler_gives() {
        for raw in 1..=u16::MAX {
            let expected = U256::from(10).pow(U256::from(raw & 63)) * U256::from(raw >> 6) / U256::from(100);
            let cap = amount_cap(Word::from_u128(raw.into())).unwrap().unwrap();
            assert_eq!(U256::from_be_bytes(cap.0), expected, "{raw}");
        }
        assert_eq!(amount_cap(Word::ZERO), Ok(None));
        assert_eq!(amount_cap(Word::from_u128(1 << 16)), Err(Unknown::Implausible));
    }

    #[test]
    fn the_liquidation_ratio_falls_in_a_straight_line_until_the_end_of_the_ramp() {
        let terms = terms(7_000, 8_000, 9_000, 2_000, 1_000).unwrap();
        assert_eq!((terms.borrow_ltv_ppm, terms.liquidation_ltv_ppm), (700_000, 800_000));
        for (time, expected) in
            [(0, 900_000), (1_000, 900_000), (1_500, 850_000), (1_999, 800_100), (2_000, 800_000), (u64::MAX, 800_000)]
        {
            assert_eq!(terms.liquidation_ltv_at(time), expected, "{time}");
        }
    }

    #[test]
    fn a_ratio_on_a_ramp_is_a_whole_number_of_basis_points() {
        let terms = terms(0, 8_000, 8_003, 2_000, 1_000).unwrap();
        assert_eq!((terms.liquidation_ltv_at(1_001), terms.liquidation_ltv_at(1_700)), (800_200, 800_000));
    }

    #[test]
    fn without_a_ramp_or_with_a_rising_one_the_new_ratio_holds_at_once() {
        let plain = terms(7_000, 8_000, 0, 0, 0).unwrap();
        assert_eq!((plain.ramp, plain.liquidation_ltv_at(5)), (None, 800_000));
        let rising = terms(7_000, 8_000, 7_500, 2_000, 1_000).unwrap();
        assert_eq!(rising.liquidation_ltv_at(1_500), 800_000);
    }

    #[test]
    fn terms_that_euler_cannot_have_are_implausible() {
        assert_eq!(terms(8_001, 8_000, 0, 0, 0), Err(Unknown::Implausible));
        assert_eq!(terms(0, 10_001, 0, 0, 0), Err(Unknown::Implausible));
        assert_eq!(terms(0, 8_000, 10_001, 1, 1), Err(Unknown::Implausible));
        let repeated = Vault::from_answers(&answers((0, 0), vec![COLLATERAL, COLLATERAL]), VAULT);
        assert_eq!(repeated.collaterals, Err(Unknown::Implausible));
    }
}
