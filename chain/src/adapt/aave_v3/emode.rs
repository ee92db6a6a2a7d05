//! Efficiency modes: groups of assets with better terms against each other.

use super::configuration::bonus;
use crate::abi::{Data, Function, Word};
use crate::adapt::question::{Answers, Question};
use crate::adapt::scale::bp_to_ppm;
use crate::adapt::{Unknown, Value};
use crate::block::Address;
use alloc::string::String;
use alloc::vec::Vec;

/// Modes are numbered from 1. Where no reserve names its mode, the modes are asked for up to this number, which no network reaches.
pub const MAX_EMODES: u8 = 64;
/// A longer label is implausible.
const MAX_LABEL: usize = 256;

/// An efficiency mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emode {
    /// The terms. [`Unknown::Implausible`] also if the pool has no mode of this number: all its terms are 0.
    pub terms: Value<Terms>,
    /// Which reserves count as collateral, by their index in the pool's list. Since version 3.2; before, each reserve names its mode.
    pub collateral: Value<Reserves>,
    /// Which reserves can be borrowed, by their index in the pool's list. Since version 3.2; before, each reserve names its mode.
    pub borrowable: Value<Reserves>,
    /// Which reserves of the collateral give no borrowing power any more, by their index in the pool's list. Version
    /// 3.2 does not have this list yet.
    pub ltv_zero: Value<Reserves>,
}

/// The terms of an efficiency mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The label.
    pub label: String,
    /// Maximum loan-to-value, in parts per million.
    pub ltv_ppm: u32,
    /// Loan-to-value above which a position is liquidated, in parts per million.
    pub liquidation_threshold_ppm: u32,
    /// What a liquidator gets beyond the repaid value, in parts per million.
    pub liquidation_bonus_ppm: u32,
    /// The price source for all assets of the mode, until version 3.1; `None` if each asset has its own.
    pub price_source: Option<Address>,
}

/// A set of reserves, as one bit a reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserves(u128);

impl Reserves {
    /// Whether the reserve with this index in the pool's list is in the set.
    pub fn contains(self, index: usize) -> bool {
        let bit = u32::try_from(index).ok().and_then(|index| 1_u128.checked_shl(index));
        bit.is_some_and(|bit| self.0 & bit != 0)
    }
}

/// The questions about one mode.
pub fn emode_step(pool: Address, mode: u8) -> Vec<Question> {
    let functions = [
        Function::GetEModeCategoryData,
        Function::GetEModeCategoryCollateralBitmap,
        Function::GetEModeCategoryBorrowableBitmap,
        Function::GetEModeCategoryLtvzeroBitmap,
    ];
    functions.map(|function| question(pool, mode, function)).into()
}

fn question(pool: Address, mode: u8, function: Function) -> Question {
    Question::with(pool, function, &[Word::from_u128(mode.into())])
}

impl Emode {
    /// The answers to [`emode_step`].
    pub fn from_answers(answers: &Answers, pool: Address, mode: u8) -> Self {
        let reserves = |function| answers.number(&question(pool, mode, function)).map(Reserves);
        let terms = answers.data(&question(pool, mode, Function::GetEModeCategoryData)).and_then(terms);
        Self {
            terms,
            collateral: reserves(Function::GetEModeCategoryCollateralBitmap),
            borrowable: reserves(Function::GetEModeCategoryBorrowableBitmap),
            ltv_zero: reserves(Function::GetEModeCategoryLtvzeroBitmap),
        }
    }
}

/// Whether the pool has the mode, by the answer to the first question of [`emode_step`]: of a mode that it does not have, all terms are 0.
pub fn is_defined(answers: &Answers, pool: Address, mode: u8) -> Value<bool> {
    let data = answers.data(&question(pool, mode, Function::GetEModeCategoryData))?.nested(0)?;
    let terms = [data.word(0)?, data.word(1)?, data.word(2)?];
    Ok(terms.iter().any(|term| *term != Word::ZERO))
}

/// The answer's struct: loan-to-value, threshold, bonus, price source, label.
fn terms(answer: Data<'_>) -> Value<Terms> {
    let data = answer.nested(0)?;
    let bp = |index| data.word(index)?.to_u64();
    let price_source = data.word(3)?.to_address()?;
    let terms = Terms {
        label: data.string(4, MAX_LABEL)?.into(),
        ltv_ppm: bp_to_ppm(bp(0)?, 10_000)?,
        liquidation_threshold_ppm: bp_to_ppm(bp(1)?, 10_000)?,
        liquidation_bonus_ppm: bonus(bp(2)?)?,
        price_source: (price_source != Address::ZERO).then_some(price_source),
    };
    let is_plausible = terms.liquidation_threshold_ppm != 0 && terms.ltv_ppm <= terms.liquidation_threshold_ppm;
    if is_plausible { Ok(terms) } else { Err(Unknown::Implausible) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Call;
    use std::vec;

    const POOL: Address = Address([5; 20]);

    fn read(ltv: u128, threshold: u128, bonus: u128, label: &[u8]) -> Value<Terms> {
        let words = [ltv, threshold, bonus, 0].map(Word::from_u128);
        let content = words.into_iter().fold(Call::tuple(), Call::word).bytes(label).encode();
        let mut data = Word::from_u128(32).0.to_vec();
        data.extend(content);
        let mut answers = Answers::new();
        answers.insert(question(POOL, 1, Function::GetEModeCategoryData), Ok(data));
        Emode::from_answers(&answers, POOL, 1).terms
    }

    #[test]
    fn a_mode_without_terms_or_with_strange_ones_is_implausible() {
        let terms = read(9_300, 9_500, 10_100, b"stable").unwrap();
        assert_eq!((terms.label.as_str(), terms.ltv_ppm, terms.liquidation_bonus_ppm), ("stable", 930_000, 10_000));
        assert_eq!((terms.liquidation_threshold_ppm, terms.price_source), (950_000, None));
        for strange in [read(0, 0, 0, b""), read(9_600, 9_500, 10_100, b""), read(1, 2, 3, b"")] {
            assert_eq!(strange, Err(Unknown::Implausible));
        }
        assert_eq!(read(9_300, 9_500, 10_100, &[0xff]), Err(Unknown::Implausible));
        assert_eq!(read(9_300, 9_500, 10_100, &[b'a'; 257]), Err(Unknown::Implausible));
    }

    #[test]
    fn only_a_mode_whose_terms_are_all_zero_is_none_of_the_pools() {
        let defined = |terms: [u128; 3]| {
            let content = terms.into_iter().chain([0]).map(Word::from_u128).fold(Call::tuple(), Call::word);
            let mut data = Word::from_u128(32).0.to_vec();
            data.extend(content.bytes(b"").encode());
            let mut answers = Answers::new();
            answers.insert(question(POOL, 1, Function::GetEModeCategoryData), Ok(data));
            is_defined(&answers, POOL, 1)
        };
        assert_eq!([defined([0; 3]), defined([1, 0, 0]), defined([0, 2, 3])], [Ok(false), Ok(true), Ok(true)]);
        assert_eq!(is_defined(&Answers::new(), POOL, 1), Err(Unknown::Unread));
    }

    #[test]
    fn the_reserves_of_a_mode_are_bits_and_unknown_before_version_3_2() {
        let mut answers = Answers::new();
        answers.insert(
            question(POOL, 1, Function::GetEModeCategoryCollateralBitmap),
            Ok(Word::from_u128(0b101 | 1 << 127).0.to_vec()),
        );
        let none = Err(crate::failure::Failure::Reverted { data: vec![] });
        answers.insert(question(POOL, 1, Function::GetEModeCategoryBorrowableBitmap), none);
        let mode = Emode::from_answers(&answers, POOL, 1);
        let held: Vec<usize> = (0..200).filter(|index| mode.collateral.unwrap().contains(*index)).collect();
        assert_eq!(held, [0, 2, 127]);
        assert_eq!(mode.borrowable, Err(Unknown::NoAnswer));
        assert!(emode_step(POOL, 1)[1].field().is_some());
    }
}
