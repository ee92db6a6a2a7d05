//! Encoding of a call: selector and arguments.

use super::Word;
use alloc::vec::Vec;

/// The first four bytes of the Keccak-256 hash of a function's signature.
pub type Selector = [u8; 4];

/// A call under construction. Arguments are encoded in the order in which they are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    selector: Option<Selector>,
    arguments: Vec<Argument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Argument {
    Word(Word),
    Dynamic(Vec<u8>),
}

impl Call {
    /// A call of the function with this selector, without arguments so far.
    pub fn new(selector: Selector) -> Self {
        Self { selector: Some(selector), arguments: Vec::new() }
    }

    /// A sequence of values without a selector: a tuple, or the arguments of a constructor.
    pub fn tuple() -> Self {
        Self { selector: None, arguments: Vec::new() }
    }

    /// Adds an argument of a one-word type.
    pub fn word(mut self, word: Word) -> Self {
        self.arguments.push(Argument::Word(word));
        self
    }

    /// Adds a `bytes` argument.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let mut content = Word::from_u128(widen(bytes.len())).0.to_vec();
        content.extend_from_slice(bytes);
        content.resize(content.len().next_multiple_of(32), 0);
        self.dynamic(content)
    }

    /// Adds an array of a one-word type.
    pub fn words(self, words: &[Word]) -> Self {
        let mut content = Word::from_u128(widen(words.len())).0.to_vec();
        content.extend(words.iter().flat_map(|word| word.0));
        self.dynamic(content)
    }

    /// Adds an array of dynamic tuples, each given by its encoded values.
    pub fn dynamic_tuples(self, tuples: &[Vec<u8>]) -> Self {
        let mut list = Self::tuple();
        list.arguments.extend(tuples.iter().map(|tuple| Argument::Dynamic(tuple.clone())));
        let mut content = Word::from_u128(widen(tuples.len())).0.to_vec();
        content.extend(list.encode());
        self.dynamic(content)
    }

    /// The calldata.
    pub fn encode(&self) -> Vec<u8> {
        let mut data: Vec<u8> = self.selector.into_iter().flatten().collect();
        let mut offset = self.arguments.len().saturating_mul(32);
        for argument in &self.arguments {
            match argument {
                Argument::Word(word) => data.extend_from_slice(&word.0),
                Argument::Dynamic(content) => {
                    data.extend_from_slice(&Word::from_u128(widen(offset)).0);
                    offset = offset.saturating_add(content.len());
                }
            }
        }
        for argument in &self.arguments {
            if let Argument::Dynamic(content) = argument {
                data.extend_from_slice(content);
            }
        }
        data
    }

    fn dynamic(mut self, content: Vec<u8>) -> Self {
        self.arguments.push(Argument::Dynamic(content));
        self
    }
}

/// A length as a number for a word; `usize` has at most 64 bits on every target of this service.
fn widen(length: usize) -> u128 {
    u128::try_from(length).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_its_selector_and_one_word_an_argument() {
        let call = Call::new([1, 2, 3, 4]).word(Word::from_u128(7));
        let data = call.encode();
        assert_eq!((data.len(), &data[..4], data[35]), (36, &[1, 2, 3, 4][..], 7));
    }

    #[test]
    fn dynamic_arguments_follow_the_head() {
        let data = Call::tuple().bytes(b"ab").word(Word::from_u128(9)).encode();
        assert_eq!(data.len(), 4 * 32);
        assert_eq!((data[31], data[63], data[95], &data[96..98]), (64, 9, 2, &b"ab"[..]));
    }
}
