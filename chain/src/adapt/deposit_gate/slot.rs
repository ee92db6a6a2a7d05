//! Where a token keeps the balance of an account.
//!
//! The contract does not say it. Most tokens keep balances in a mapping at one of few places: each candidate is tried by an `eth_call` of
//! `balanceOf` in which the candidate has another value than the contract stored.

use crate::abi::{Word, keccak256};
use crate::block::Address;
use alloc::vec::Vec;

/// The mapping of OpenZeppelin's upgradeable token, version 5: the first word of the namespace `openzeppelin.storage.ERC20` (ERC-7201).
const NAMESPACE: Word = Word([
    0x52, 0xc6, 0x32, 0x47, 0xe1, 0xf4, 0x7d, 0xb1, 0x9d, 0x5c, 0xe0, 0x46, 0x00, 0x30, 0xc4, 0x97, 0xf0, 0x67, 0xca,
    0x4c, 0xeb, 0xf7, 0x1b, 0xa9, 0x8e, 0xea, 0xda, 0xbe, 0x20, 0xba, 0xce, 0x00,
]);
/// OpenZeppelin's upgradeable token, version 4.
const UPGRADEABLE: u128 = 51;
/// Mappings at the slots from 0 to this one are tried.
const LAST_SLOT: u128 = 20;
/// Solady puts this behind the owner instead of a slot.
const SOLADY_SEED: [u8; 4] = [0x87, 0xa2, 0x11, 0xa2];

/// The words of storage that may hold `account`'s balance, likely ones first: 45 of them.
pub fn candidates(account: Address) -> Vec<Word> {
    let account_word = Word::from_address(account);
    let slots = || (0..=LAST_SLOT).map(Word::from_u128);
    let solidity = slots().chain([Word::from_u128(UPGRADEABLE), NAMESPACE]).map(|slot| hash(account_word, slot));
    let vyper = slots().map(|slot| hash(slot, account_word));
    let mut solady = account.0.to_vec();
    solady.extend([0; 8]);
    solady.extend(SOLADY_SEED);
    solidity.chain([Word(keccak256(&solady))]).chain(vyper).collect()
}

fn hash(first: Word, second: Word) -> Word {
    Word(keccak256([first.0, second.0].as_flattened()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_is_the_one_that_erc_7201_computes() {
        let mut inner = keccak256(b"openzeppelin.storage.ERC20");
        inner[31] -= 1;
        let mut namespace = keccak256(&inner);
        namespace[31] = 0;
        assert_eq!(NAMESPACE, Word(namespace));
    }

    #[test]
    fn no_candidate_is_tried_twice_and_their_number_is_fixed() {
        let mut candidates = candidates(Address([7; 20]));
        assert_eq!(candidates.len(), 45);
        candidates.sort_unstable();
        candidates.dedup();
        assert_eq!(candidates.len(), 45);
    }
}
