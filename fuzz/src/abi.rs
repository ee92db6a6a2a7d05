//! Property of the decoder of contracts' return data.

use rds_chain::abi::{Call, Data, Word};

const MAX: usize = 64;

/// A decoded value encodes to data that decodes to the same value, and no list exceeds its bound.
pub fn holds(data: &[u8]) {
    let Some((index, data)) = data.split_first() else { return };
    let (index, data) = (usize::from(index % 4), Data::new(data));
    if let Ok(bytes) = data.bytes(index, MAX) {
        assert!(bytes.len() <= MAX);
        assert_eq!(Data::new(&Call::tuple().bytes(bytes).encode()).bytes(0, MAX), Ok(bytes));
    }
    if let Ok(text) = data.string(index, MAX) {
        assert_eq!(data.bytes(index, MAX), Ok(text.as_bytes()));
    }
    if let Ok(words) = data.words(index, MAX) {
        assert!(words.len() <= MAX);
        assert_eq!(Data::new(&Call::tuple().words(&words).encode()).words(0, MAX), Ok(words));
    }
    if let Ok(addresses) = data.addresses(index, MAX) {
        let words: Vec<Word> = addresses.into_iter().map(Word::from_address).collect();
        assert_eq!(data.words(index, MAX), Ok(words));
    }
    if let Ok(amounts) = data.amounts(index, MAX) {
        let words = amounts.into_iter().flat_map(|(address, amount)| [Word::from_address(address), amount]);
        let pairs = data.tuples::<2>(index, MAX).map(|tuples| tuples.concat());
        assert_eq!(pairs, Ok(words.collect()));
    }
    for tuple in data.dynamic_tuples(index, MAX).unwrap_or_default() {
        let _ = (tuple.word(0), tuple.bytes(1, MAX));
    }
    if let Ok(word) = data.word(index) {
        assert!(word.to_u128().is_ok_and(|number| Word::from_u128(number) == word) || word.bit_length() > 128);
        assert!(word.to_i128().map_or(true, |number| Word::from_i128(number) == word));
        assert!(word.to_address().map_or(true, |address| Word::from_address(address) == word));
        assert!(word.to_bool().map_or(true, |value| Word::from_bool(value) == word));
        assert!(word.to_fixed::<4>().map_or(true, |bytes| Word::from_fixed(bytes) == word));
    }
}
