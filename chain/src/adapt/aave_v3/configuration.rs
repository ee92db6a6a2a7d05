//! The configuration of a reserve: one word in which the pool packs it.
//!
//! Source: `ReserveConfiguration.sol` of Aave 3.0; later versions gave up some fields and added others, but moved none:
//!
//! | bits | content |
//! |---|---|
//! | 0–15, 16–31, 32–47 | loan-to-value, liquidation threshold, liquidation bonus, in basis points |
//! | 48–55 | decimals of the asset |
//! | 56, 57, 58, 60 | active, frozen, borrowing, paused |
//! | 59 | borrowing at a stable rate, until 3.1 |
//! | 61, 62, 63 | borrowable in isolation, siloed, flash loans |
//! | 64–79 | reserve factor, in basis points |
//! | 80–115, 116–151 | borrow cap and supply cap, in whole units of the asset; 0 is none |
//! | 152–167 | liquidation protocol fee, in basis points |
//! | 168–175 | efficiency mode, until 3.1; always 0 later |
//! | 176–211 | cap of unbacked deposits |
//! | 212–251 | debt ceiling in isolation, in hundredths of a US dollar; 0 is none |

use crate::abi::Word;
use crate::adapt::scale::bp_to_ppm;
use crate::adapt::{Unknown, Value, erc4626};

/// One, in basis points.
const ONE_BP: u64 = 10_000;
/// A liquidation bonus of 65,535 basis points is what the field can hold; above 2 it is implausible.
const MAX_BONUS_BP: u64 = 20_000;

/// What the pool allows with a reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Configuration {
    /// Maximum loan-to-value, in parts per million; 0 if the asset is not accepted as new collateral.
    pub ltv_ppm: u32,
    /// Loan-to-value above which a position is liquidated, in parts per million; 0 if the asset is no collateral.
    pub liquidation_threshold_ppm: u32,
    /// What a liquidator gets beyond the repaid value, in parts per million; 0 if the asset is no collateral.
    pub liquidation_bonus_ppm: u32,
    /// Decimals of the asset.
    pub decimals: u8,
    /// Whether the reserve is in use at all.
    pub is_active: bool,
    /// Whether new deposits and loans are refused. Withdrawal, repayment and liquidation go on.
    pub is_frozen: bool,
    /// Whether the asset can be borrowed.
    pub can_be_borrowed: bool,
    /// Whether every operation is refused, withdrawal too.
    pub is_paused: bool,
    /// Whether a position that borrows the asset can borrow nothing else.
    pub is_siloed: bool,
    /// The protocol's part of the interest, in parts per million.
    pub reserve_factor_ppm: u32,
    /// Most that can be borrowed, in whole units of the asset; `None` if there is no cap.
    pub borrow_cap: Option<u64>,
    /// Most that can be supplied, in whole units of the asset; `None` if there is no cap.
    pub supply_cap: Option<u64>,
    /// The efficiency mode of the asset until version 3.1; `None` if there is none, and always in later versions, where a mode lists its
    /// assets.
    pub emode: Option<u8>,
    /// Most that can be borrowed against the asset in isolation, in hundredths of a US dollar; `None` if the asset is not isolated.
    pub debt_ceiling: Option<u64>,
}

impl Configuration {
    /// The configuration in a word. Error: a field is out of its bounds, as in a word that is no configuration.
    pub fn from_word(word: Word) -> Value<Self> {
        let flag = |bit| field(word, bit, 1) == 1;
        let optional = |bit, width| Some(field(word, bit, width)).filter(|number| *number != 0);
        let ltv_ppm = bp_to_ppm(field(word, 0, 16), ONE_BP)?;
        let liquidation_threshold_ppm = bp_to_ppm(field(word, 16, 16), ONE_BP)?;
        if ltv_ppm > liquidation_threshold_ppm {
            return Err(Unknown::Implausible);
        }
        Ok(Self {
            ltv_ppm,
            liquidation_threshold_ppm,
            liquidation_bonus_ppm: bonus(field(word, 32, 16))?,
            decimals: erc4626::decimals(Word::from_u128(field(word, 48, 8).into()))?,
            is_active: flag(56),
            is_frozen: flag(57),
            can_be_borrowed: flag(58),
            is_paused: flag(60),
            is_siloed: flag(62),
            reserve_factor_ppm: bp_to_ppm(field(word, 64, 16), ONE_BP)?,
            borrow_cap: optional(80, 36),
            supply_cap: optional(116, 36),
            emode: optional(168, 8).and_then(|mode| u8::try_from(mode).ok()),
            debt_ceiling: optional(212, 40),
        })
    }
}

/// The part of a liquidation bonus above one: the pool stores 10,500 basis points for a bonus of 5 %, and 0 for none.
pub(super) fn bonus(bp: u64) -> Value<u32> {
    match bp {
        0 => Ok(0),
        ONE_BP..=MAX_BONUS_BP => bp_to_ppm(bp.saturating_sub(ONE_BP), ONE_BP),
        _ => Err(Unknown::Implausible),
    }
}

/// The number in the `width` bits from `bit` on, counted from the lowest; at most 57 bits.
fn field(word: Word, bit: usize, width: u32) -> u64 {
    // Eight bytes that contain the field: the shift within them is below 8.
    let first = bit.checked_div(8).unwrap_or(0);
    let bytes = word.0.iter().rev().skip(first).take(8).enumerate();
    let number = bytes.fold(0_u64, |number, (index, byte)| {
        number | u64::from(*byte).checked_shl(u32::try_from(index.saturating_mul(8)).unwrap_or(0)).unwrap_or(0)
    });
    let mask = 1_u64.checked_shl(width).map_or(u64::MAX, |bound| bound.saturating_sub(1));
    number >> (bit & 7) & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_sol_types::private::U256;
    use proptest::prelude::*;

    fn word(fields: &[(usize, u64)]) -> Word {
        let number = fields.iter().fold(U256::ZERO, |number, (bit, value)| number | U256::from(*value) << *bit);
        Word(number.to_be_bytes())
    }

    proptest! {
        #[test]
        fn a_field_is_the_number_in_its_bits(bytes: [u8; 32], bit in 0..256_usize, width in 1..41_u32) {
            let expected = U256::from_be_bytes(bytes) >> bit & ((U256::from(1) << width) - U256::from(1));
            prop_assert_eq!(U256::from(field(Word(bytes), bit, width)), expected);
        }
    }

    #[test]
    fn every_field_is_read_from_its_place() {
        let fields = [
            (0, 7_500),
            (16, 8_000),
            (32, 10_500),
            (48, 6),
            (56, 1),
            (60, 1),
            (64, 1_000),
            (80, (1 << 36) - 1),
            (116, 2_000_000),
            (168, 3),
            (212, 500),
        ];
        let expected = Configuration {
            ltv_ppm: 750_000,
            liquidation_threshold_ppm: 800_000,
            liquidation_bonus_ppm: 50_000,
            decimals: 6,
            is_active: true,
            is_frozen: false,
            can_be_borrowed: false,
            is_paused: true,
            is_siloed: false,
            reserve_factor_ppm: 100_000,
            borrow_cap: Some((1 << 36) - 1),
            supply_cap: Some(2_000_000),
            emode: Some(3),
            debt_ceiling: Some(500),
        };
        assert_eq!(Configuration::from_word(word(&fields)), Ok(expected));
        let frozen = Configuration::from_word(word(&[(57, 1), (58, 1), (62, 1)])).unwrap();
        assert!(frozen.is_frozen && frozen.can_be_borrowed && frozen.is_siloed && !frozen.is_active);
        assert_eq!((frozen.borrow_cap, frozen.supply_cap, frozen.emode), (None, None, None));
    }

    #[test]
    fn a_configuration_with_a_field_out_of_bounds_is_implausible() {
        for fields in [
            &[(0, 8_001), (16, 8_000)][..],
            &[(16, 10_001)],
            &[(32, 9_999)],
            &[(32, 20_001)],
            &[(48, 37)],
            &[(64, 10_001)],
        ] {
            assert_eq!(Configuration::from_word(word(fields)), Err(Unknown::Implausible), "{fields:?}");
        }
        assert_eq!(Configuration::from_word(Word::MAX), Err(Unknown::Implausible));
    }
}
