//! The ABI's unit: a 32-byte word, and the static types that fill one.

use super::AbiError;
use crate::block::Address;
use crate::hex;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// 32 bytes, big-endian. The order is that of unsigned 256-bit integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Word(pub [u8; 32]);

impl Word {
    /// The word of the number 0, of `false` and of the zero address.
    pub const ZERO: Self = Self([0; 32]);
    /// The largest unsigned number, 2^256 − 1.
    pub const MAX: Self = Self([0xff; 32]);

    /// `uint256`, and every narrower unsigned type, of a number below 2^128.
    pub fn from_u128(number: u128) -> Self {
        Self::padded_left(number.to_be_bytes())
    }

    /// `int256`, and every narrower signed type, in two's complement.
    pub fn from_i128(number: i128) -> Self {
        let fill = if number < 0 { 0xff } else { 0 };
        Self::filled_left(number.to_be_bytes(), fill)
    }

    /// `address`: 12 zero bytes and the address.
    pub fn from_address(address: Address) -> Self {
        Self::padded_left(address.0)
    }

    /// `bool`: 0 or 1.
    pub fn from_bool(value: bool) -> Self {
        Self::from_u128(value.into())
    }

    /// `bytesN`: the bytes, then zeros. Bytes after the 32nd are left out.
    pub fn from_fixed<const N: usize>(bytes: [u8; N]) -> Self {
        let mut word = Self::ZERO;
        word.0.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        word
    }

    /// 10 to the power of `exponent`; `None` above 77, where the number exceeds 256 bits.
    pub fn power_of_ten(exponent: u8) -> Option<Self> {
        let mut word = Self::from_u128(1);
        for _ in 0..exponent {
            word = word.times_ten()?;
        }
        Some(word)
    }

    /// The sum; `None` if it exceeds 256 bits.
    pub fn plus(self, other: Self) -> Option<Self> {
        let (mut sum, mut carry) = (self, false);
        for (byte, added) in sum.0.iter_mut().rev().zip(other.0.iter().rev()) {
            let (with_other, first) = byte.overflowing_add(*added);
            let (with_carry, second) = with_other.overflowing_add(carry.into());
            (*byte, carry) = (with_carry, first | second);
        }
        (!carry).then_some(sum)
    }

    /// The difference; `None` if `other` is the larger number.
    pub fn minus(self, other: Self) -> Option<Self> {
        let (mut difference, mut borrow) = (self, false);
        for (byte, taken) in difference.0.iter_mut().rev().zip(other.0.iter().rev()) {
            let (without_other, first) = byte.overflowing_sub(*taken);
            let (without_borrow, second) = without_other.overflowing_sub(borrow.into());
            (*byte, borrow) = (without_borrow, first | second);
        }
        (!borrow).then_some(difference)
    }

    fn times_ten(self) -> Option<Self> {
        let (mut word, mut carry) = (self, 0_u16);
        for byte in word.0.iter_mut().rev() {
            let [high, low] = u16::from(*byte).wrapping_mul(10).wrapping_add(carry).to_be_bytes();
            (*byte, carry) = (low, u16::from(high));
        }
        (carry == 0).then_some(word)
    }

    /// `uint64`. Error: [`AbiError::OutOfRange`].
    pub fn to_u64(self) -> Result<u64, AbiError> {
        self.to_u128()?.try_into().map_err(|_| AbiError::OutOfRange)
    }

    /// `uint128`. Error: [`AbiError::OutOfRange`].
    pub fn to_u128(self) -> Result<u128, AbiError> {
        self.low(0).map(u128::from_be_bytes).ok_or(AbiError::OutOfRange)
    }

    /// `uintN` for any `bits` up to 256, as a word. Error: [`AbiError::OutOfRange`] if the number has more bits.
    pub fn to_uint(self, bits: u16) -> Result<Self, AbiError> {
        if self.bit_length() <= bits { Ok(self) } else { Err(AbiError::OutOfRange) }
    }

    /// `int128`. Error: [`AbiError::OutOfRange`], also if the sign is not extended to 256 bits.
    pub fn to_i128(self) -> Result<i128, AbiError> {
        let positive = self.low(0).map(i128::from_be_bytes).filter(|number| *number >= 0);
        let negative = || self.low(0xff).map(i128::from_be_bytes).filter(|number| *number < 0);
        positive.or_else(negative).ok_or(AbiError::OutOfRange)
    }

    /// `address`. Error: [`AbiError::Padding`] if one of the first 12 bytes is not zero.
    pub fn to_address(self) -> Result<Address, AbiError> {
        self.low(0).map(Address).ok_or(AbiError::Padding)
    }

    /// `bool`. Error: [`AbiError::Padding`] if the word is neither 0 nor 1.
    pub fn to_bool(self) -> Result<bool, AbiError> {
        match self.to_u128() {
            Ok(0) => Ok(false),
            Ok(1) => Ok(true),
            _ => Err(AbiError::Padding),
        }
    }

    /// `bytesN`. Error: [`AbiError::Padding`] if a byte after the first `N` is not zero.
    pub fn to_fixed<const N: usize>(self) -> Result<[u8; N], AbiError> {
        let (bytes, padding) = self.0.split_first_chunk::<N>().ok_or(AbiError::OutOfRange)?;
        if padding.iter().all(|byte| *byte == 0) { Ok(*bytes) } else { Err(AbiError::Padding) }
    }

    /// As decimal digits, without leading zeros.
    pub fn to_decimal(self) -> String {
        let (mut digits, mut rest) = (Vec::new(), self.0);
        loop {
            let mut remainder = 0_u16;
            for byte in &mut rest {
                let number = remainder.wrapping_shl(8) | u16::from(*byte);
                // The remainder is below 10, so the quotient is below 256.
                *byte = u8::try_from(number / 10).unwrap_or(u8::MAX);
                remainder = number % 10;
            }
            digits.push(char::from_digit(remainder.into(), 10).unwrap_or('0'));
            if rest == [0; 32] {
                return digits.into_iter().rev().collect();
            }
        }
    }

    /// A number of decimal digits; `None` for other text, and for 2^256 and more.
    pub fn from_decimal(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let mut number = [0_u8; 32];
        for digit in text.chars() {
            let mut carry = u16::try_from(digit.to_digit(10)?).ok()?;
            for byte in number.iter_mut().rev() {
                // At most 255 · 10 + 9, and the carry is at most 9 before the first byte and 10 after it.
                let sum = u16::from(*byte).checked_mul(10)?.checked_add(carry)?;
                let [high, low] = sum.to_be_bytes();
                (*byte, carry) = (low, high.into());
            }
            if carry != 0 {
                return None;
            }
        }
        Some(Self(number))
    }

    /// Number of bits of the unsigned number, without leading zeros.
    pub fn bit_length(self) -> u16 {
        let mut bits = 256_u16;
        for byte in self.0 {
            bits = bits.saturating_sub(u16::try_from(byte.leading_zeros()).unwrap_or(8));
            if byte != 0 {
                break;
            }
        }
        bits
    }

    /// The last `N` bytes, if all bytes before them are `fill`.
    fn low<const N: usize>(self, fill: u8) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_last_chunk::<N>()?;
        head.iter().all(|byte| *byte == fill).then_some(*tail)
    }

    fn padded_left<const N: usize>(bytes: [u8; N]) -> Self {
        Self::filled_left(bytes, 0)
    }

    fn filled_left<const N: usize>(bytes: [u8; N], fill: u8) -> Self {
        let mut word = Self([fill; 32]);
        word.0.iter_mut().rev().zip(bytes.iter().rev()).for_each(|(to, from)| *to = *from);
        word
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(f, &self.0)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_wider_than_its_type_is_refused_and_never_truncated() {
        let above_u64 = Word::from_u128(1 << 64);
        assert_eq!(above_u64.to_u64(), Err(AbiError::OutOfRange));
        assert_eq!(above_u64.to_u128(), Ok(1 << 64));
        assert_eq!(above_u64.to_uint(65), Ok(above_u64));
        assert_eq!(above_u64.to_uint(64), Err(AbiError::OutOfRange));
        assert_eq!(Word::MAX.to_u128(), Err(AbiError::OutOfRange));
        assert_eq!(Word::MAX.to_uint(256), Ok(Word::MAX));
        assert_eq!(Word::ZERO.to_uint(0), Ok(Word::ZERO));
    }

    #[test]
    fn a_signed_number_must_have_its_sign_in_every_leading_byte() {
        assert_eq!(Word::MAX.to_i128(), Ok(-1));
        for number in [0, 1, -1, i128::MAX, i128::MIN] {
            assert_eq!(Word::from_i128(number).to_i128(), Ok(number));
        }
        assert_eq!(Word::from_u128(1 << 127).to_i128(), Err(AbiError::OutOfRange));
        let mut mixed = Word::from_i128(-5);
        mixed.0[3] = 0;
        assert_eq!(mixed.to_i128(), Err(AbiError::OutOfRange));
    }

    #[test]
    fn dirty_padding_of_addresses_booleans_and_fixed_bytes_is_refused() {
        let address = Address([0xaa; 20]);
        let mut word = Word::from_address(address);
        assert_eq!(word.to_address(), Ok(address));
        word.0[11] = 1;
        assert_eq!(word.to_address(), Err(AbiError::Padding));
        assert_eq!(Word::from_u128(2).to_bool(), Err(AbiError::Padding));
        assert_eq!(Word::from_bool(true).to_bool(), Ok(true));
        let word = Word::from_fixed([1, 2, 3, 4]);
        assert_eq!(word.to_fixed(), Ok([1, 2, 3, 4]));
        assert_eq!(word.to_fixed::<3>(), Err(AbiError::Padding));
        assert_eq!(word.to_fixed::<32>(), Ok(word.0));
        assert_eq!(word.to_fixed::<33>(), Err(AbiError::OutOfRange));
    }

    #[test]
    fn powers_of_ten_end_at_256_bits() {
        assert_eq!(Word::power_of_ten(18), Some(Word::from_u128(10_u128.pow(18))));
        assert_eq!(Word::power_of_ten(38), Some(Word::from_u128(10_u128.pow(38))));
        assert_eq!(Word::power_of_ten(77).map(Word::bit_length), Some(256));
        assert_eq!(Word::power_of_ten(78), None);
    }

    #[test]
    fn sums_and_differences_end_at_the_bounds_of_256_bits() {
        let of = Word::from_u128;
        assert_eq!(of(u128::MAX).plus(of(1)).map(Word::bit_length), Some(129));
        assert_eq!(of(u128::MAX).plus(of(1)).and_then(|sum| sum.minus(of(1))), Some(of(u128::MAX)));
        assert_eq!((Word::MAX.plus(of(1)), Word::MAX.plus(Word::ZERO)), (None, Some(Word::MAX)));
        assert_eq!((of(5).minus(of(6)), of(5).minus(of(5))), (None, Some(Word::ZERO)));
        assert_eq!(
            (of(0x1_00ff).plus(of(0xff01)), of(0x2_0000).minus(of(1))),
            (Some(of(0x2_0000)), Some(of(0x1_ffff)))
        );
    }

    #[test]
    fn words_are_ordered_as_unsigned_numbers() {
        assert!(Word::from_u128(256) > Word::from_u128(255));
        assert!(Word::from_i128(-1) > Word::from_u128(u128::MAX));
    }
}
