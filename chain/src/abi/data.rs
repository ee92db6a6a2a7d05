//! Strict decoding of an answer with dynamic values.

use super::{AbiError, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// ABI-encoded values: a head of one word per value, in which a dynamic value is represented by the offset of its content.
///
/// An offset may point anywhere inside the data, as the ABI allows. No offset, length or content may reach beyond the data's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a>(&'a [u8]);

impl<'a> Data<'a> {
    /// The answer of a call, without a selector.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The word with this index in the head.
    pub fn word(self, index: usize) -> Result<Word, AbiError> {
        self.word_at_byte(index.checked_mul(32).ok_or(AbiError::Truncated)?)
    }

    /// `bytes`: the content of the dynamic value with this index, at most `max` bytes.
    pub fn bytes(self, index: usize, max: usize) -> Result<&'a [u8], AbiError> {
        let (length, content) = self.dynamic(index, max)?;
        content.0.get(..length).ok_or(AbiError::Truncated)
    }

    /// `string`: as [`bytes`](Self::bytes), and valid UTF-8.
    pub fn string(self, index: usize, max: usize) -> Result<&'a str, AbiError> {
        core::str::from_utf8(self.bytes(index, max)?).map_err(|_| AbiError::NotUtf8)
    }

    /// An array of any one-word type, at most `max` elements.
    pub fn words(self, index: usize, max: usize) -> Result<Vec<Word>, AbiError> {
        Ok(self.tuples::<1>(index, max)?.into_iter().map(|[word]| word).collect())
    }

    /// `address[]`, at most `max` elements.
    pub fn addresses(self, index: usize, max: usize) -> Result<Vec<Address>, AbiError> {
        self.words(index, max)?.into_iter().map(Word::to_address).collect()
    }

    /// `(address, uint256)[]`, at most `max` elements.
    pub fn amounts(self, index: usize, max: usize) -> Result<Vec<(Address, Word)>, AbiError> {
        let tuples = self.tuples::<2>(index, max)?;
        tuples.into_iter().map(|[address, amount]| Ok((address.to_address()?, amount))).collect()
    }

    /// An array of tuples of `N` one-word types, at most `max` elements.
    pub fn tuples<const N: usize>(self, index: usize, max: usize) -> Result<Vec<[Word; N]>, AbiError> {
        let (length, content) = self.dynamic(index, max)?;
        // The content's size is checked before memory for the list is allocated.
        let size = length.checked_mul(N).and_then(|words| words.checked_mul(32)).ok_or(AbiError::Truncated)?;
        let content = Data(content.0.get(..size).ok_or(AbiError::Truncated)?);
        (0..length).map(|tuple| content.tuple(tuple)).collect()
    }

    /// An array of dynamic tuples, at most `max` elements: the encoded values of each.
    pub fn dynamic_tuples(self, index: usize, max: usize) -> Result<Vec<Data<'a>>, AbiError> {
        let (length, content) = self.dynamic(index, max)?;
        if length > content.0.len().checked_div(32).unwrap_or(0) {
            return Err(AbiError::Truncated);
        }
        (0..length).map(|element| content.at_offset(element)).collect()
    }

    /// A dynamic tuple: its encoded values.
    pub fn nested(self, index: usize) -> Result<Data<'a>, AbiError> {
        self.at_offset(index)
    }

    fn tuple<const N: usize>(self, tuple: usize) -> Result<[Word; N], AbiError> {
        let first = tuple.checked_mul(N).ok_or(AbiError::Truncated)?;
        let mut words = [Word::ZERO; N];
        for (position, word) in words.iter_mut().enumerate() {
            *word = self.word(first.checked_add(position).ok_or(AbiError::Truncated)?)?;
        }
        Ok(words)
    }

    /// Length of the dynamic value with this index, at most `max`, and the data after the length.
    fn dynamic(self, index: usize, max: usize) -> Result<(usize, Data<'a>), AbiError> {
        let value = self.at_offset(index)?;
        let length = value.word(0)?.to_usize().ok_or(AbiError::TooLong)?;
        if length > max {
            return Err(AbiError::TooLong);
        }
        Ok((length, Data(value.0.get(32..).ok_or(AbiError::Truncated)?)))
    }

    /// The data from the offset in the head's word `index` on. Offsets count from the start of the head.
    fn at_offset(self, index: usize) -> Result<Data<'a>, AbiError> {
        let offset = self.word(index)?.to_usize().ok_or(AbiError::Truncated)?;
        self.0.get(offset..).map(Data).ok_or(AbiError::Truncated)
    }

    fn word_at_byte(self, at: usize) -> Result<Word, AbiError> {
        let rest = self.0.get(at..).ok_or(AbiError::Truncated)?;
        rest.first_chunk().copied().map(Word).ok_or(AbiError::Truncated)
    }
}

impl Word {
    fn to_usize(self) -> Option<usize> {
        self.to_u64().ok()?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Call;

    fn words(numbers: &[u128]) -> Vec<u8> {
        numbers.iter().flat_map(|number| Word::from_u128(*number).0).collect()
    }

    #[test]
    fn a_string_is_read_and_its_bound_is_kept() {
        let mut data = words(&[32, 5]);
        data.extend(b"vault");
        data.extend([0; 27]);
        assert_eq!(Data::new(&data).string(0, 5), Ok("vault"));
        assert_eq!(Data::new(&data).string(0, 4), Err(AbiError::TooLong));
        data[64] = 0xff;
        assert_eq!(Data::new(&data).string(0, 5), Err(AbiError::NotUtf8));
        assert_eq!(Data::new(&data[..68]).bytes(0, 5), Err(AbiError::Truncated));
    }

    #[test]
    fn a_list_that_claims_more_elements_than_the_data_holds_is_refused() {
        assert_eq!(Data::new(&words(&[32, 2, 7])).words(0, 9), Err(AbiError::Truncated));
        assert_eq!(Data::new(&words(&[32, 1, 7])).words(0, 9), Ok([Word::from_u128(7)].into()));
        assert_eq!(Data::new(&words(&[32, u128::from(u64::MAX)])).words(0, usize::MAX), Err(AbiError::Truncated));
        assert_eq!(Data::new(&words(&[32, u128::MAX])).words(0, usize::MAX), Err(AbiError::TooLong));
        assert_eq!(
            Data::new(&words(&[32, u128::from(u64::MAX)])).dynamic_tuples(0, usize::MAX),
            Err(AbiError::Truncated)
        );
    }

    #[test]
    fn an_offset_beyond_the_data_is_refused() {
        for offset in [33, 64, 1 << 63, u128::MAX] {
            assert_eq!(Data::new(&words(&[offset])).bytes(0, 9), Err(AbiError::Truncated), "{offset}");
        }
        assert_eq!(Data::new(&[]).word(0), Err(AbiError::Truncated));
        assert_eq!(Data::new(&[0; 31]).word(0), Err(AbiError::Truncated));
        assert_eq!(Data::new(&[0; 32]).word(usize::MAX), Err(AbiError::Truncated));
    }

    #[test]
    fn a_list_of_addresses_with_dirty_padding_is_refused() {
        assert_eq!(Data::new(&words(&[32, 1, u128::MAX])).addresses(0, 1).map(|list| list.len()), Ok(1));
        let mut data = words(&[32, 1, 1, 5]);
        assert_eq!(Data::new(&data).amounts(0, 1).map(|list| list[0].1), Ok(Word::from_u128(5)));
        data[64] = 1;
        assert_eq!(Data::new(&data).amounts(0, 1), Err(AbiError::Padding));
        assert_eq!(Data::new(&data).addresses(0, 1), Err(AbiError::Padding));
    }

    #[test]
    fn dynamic_tuples_count_their_offsets_from_their_own_start() {
        // (bool, bytes)[] with one element (true, 0x0102).
        let tuple = Call::tuple().word(Word::from_bool(true)).bytes(&[1, 2]).encode();
        let mut data = words(&[32, 1, 32]);
        data.extend(&tuple);
        let list = Data::new(&data).dynamic_tuples(0, 1).unwrap();
        assert_eq!(list[0].word(0).and_then(Word::to_bool), Ok(true));
        assert_eq!(list[0].bytes(1, 2), Ok(&[1, 2][..]));
        assert_eq!(Data::new(&data).dynamic_tuples(0, 0), Err(AbiError::TooLong));
    }
}
