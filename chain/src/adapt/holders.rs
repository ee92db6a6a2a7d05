//! Balances by holder, from a token's `Transfer` logs since its creation.

use crate::abi::Word;
use crate::block::Address;
use crate::logs::{EventError, Log, Parameters};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

/// Why logs do not give the balances of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldersError {
    /// A log is of another contract.
    OtherContract,
    /// A log is no transfer.
    Event(EventError),
    /// There are more holders than the caller's maximum.
    TooManyHolders,
    /// The holder would have sent more than it had. A transfer is missing, or the token changes balances without an event.
    BelowZero {
        /// The holder.
        holder: Address,
    },
    /// The sum of all balances exceeds 256 bits.
    Overflow,
    /// The sum of all balances is not the total supply.
    NotTheSupply {
        /// The sum.
        sum: Word,
    },
}

impl fmt::Display for HoldersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HoldersError::OtherContract => f.write_str("a log is of another contract"),
            HoldersError::Event(error) => error.fmt(f),
            HoldersError::TooManyHolders => f.write_str("there are more holders than allowed"),
            HoldersError::BelowZero { holder } => write!(f, "the balance of {holder} would be below zero"),
            HoldersError::Overflow => f.write_str("the sum of all balances exceeds 256 bits"),
            HoldersError::NotTheSupply { sum } => write!(f, "the sum of all balances is {sum}, not the total supply"),
        }
    }
}

impl core::error::Error for HoldersError {}

/// Balances after a sequence of transfers. Holders without a balance are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holders {
    token: Address,
    max: usize,
    balances: BTreeMap<Address, Word>,
}

impl Holders {
    /// No transfers yet. At most `max` addresses may hold the token at one time.
    pub fn new(token: Address, max: usize) -> Self {
        Self { token, max, balances: BTreeMap::new() }
    }

    /// Applies a transfer. After an error the balances are of no further use.
    pub fn apply(&mut self, log: &Log) -> Result<(), HoldersError> {
        if log.address != self.token {
            return Err(HoldersError::OtherContract);
        }
        match log.parameters().map_err(HoldersError::Event)? {
            Parameters::Transfer { from, to, amount } => self.transfer(from, to, amount),
            _ => Err(HoldersError::Event(EventError::OtherEvent)),
        }
    }

    /// Moves an amount. The zero address stands for minting and burning, and holds nothing.
    pub fn transfer(&mut self, from: Address, to: Address, amount: Word) -> Result<(), HoldersError> {
        if amount == Word::ZERO {
            return Ok(());
        }
        if from != Address::ZERO {
            let rest = self.balance(from).minus(amount).ok_or(HoldersError::BelowZero { holder: from })?;
            self.set(from, rest);
        }
        if to != Address::ZERO {
            self.set(to, self.balance(to).plus(amount).ok_or(HoldersError::Overflow)?);
        }
        if self.balances.len() > self.max { Err(HoldersError::TooManyHolders) } else { Ok(()) }
    }

    /// The balance of an address.
    pub fn balance(&self, holder: Address) -> Word {
        self.balances.get(&holder).copied().unwrap_or(Word::ZERO)
    }

    /// All holders, the largest balance first, if the sum of their balances is the total supply at the same block.
    pub fn checked(self, total_supply: Word) -> Result<Vec<(Address, Word)>, HoldersError> {
        let sum = self.balances.values().try_fold(Word::ZERO, |sum, balance| sum.plus(*balance));
        let sum = sum.ok_or(HoldersError::Overflow)?;
        if sum != total_supply {
            return Err(HoldersError::NotTheSupply { sum });
        }
        let mut holders: Vec<(Address, Word)> = self.balances.into_iter().collect();
        // A stable order: holders of equal balances are in the order of their addresses.
        holders.sort_by(|(_, left), (_, right)| right.cmp(left));
        Ok(holders)
    }

    fn set(&mut self, holder: Address, balance: Word) {
        if balance == Word::ZERO {
            self.balances.remove(&holder);
        } else {
            self.balances.insert(holder, balance);
        }
    }
}

/// The balances after all transfers of `logs`, which begin with the token's creation and end at the block of the supply.
pub fn balances(
    token: Address,
    logs: &[Log],
    total_supply: Word,
    max: usize,
) -> Result<Vec<(Address, Word)>, HoldersError> {
    let mut holders = Holders::new(token, max);
    logs.iter().try_for_each(|log| holders.apply(log))?;
    holders.checked(total_supply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Event;
    use crate::block::{BlockHash, BlockId};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::vec;

    const TOKEN: Address = Address([9; 20]);

    fn log(from: u8, to: u8, amount: Word) -> Log {
        let party = |byte| Word::from_address(Address([byte; 20]));
        Log {
            address: TOKEN,
            topics: vec![Event::Transfer.topic(), party(from), party(to)],
            data: amount.0.to_vec(),
            block: BlockId { number: 1, hash: BlockHash([1; 32]) },
            index: 0,
        }
    }

    fn of(transfers: &[(u8, u8, u128)], supply: u128, max: usize) -> Result<Vec<(u8, u128)>, HoldersError> {
        let logs: Vec<Log> =
            transfers.iter().map(|(from, to, amount)| log(*from, *to, Word::from_u128(*amount))).collect();
        let holders = balances(TOKEN, &logs, Word::from_u128(supply), max)?;
        Ok(holders.into_iter().map(|(holder, balance)| (holder.0[0], balance.to_u128().unwrap())).collect())
    }

    #[test]
    fn balances_are_what_was_received_less_what_was_sent() {
        let transfers = [(0, 1, 100), (1, 2, 30), (2, 0, 10), (1, 1, 70), (0, 3, 80), (3, 4, 0)];
        assert_eq!(of(&transfers, 170, 9), Ok(vec![(3, 80), (1, 70), (2, 20)]));
        assert_eq!(of(&transfers, 171, 9), Err(HoldersError::NotTheSupply { sum: Word::from_u128(170) }));
        assert_eq!(of(&transfers, 170, 2), Err(HoldersError::TooManyHolders));
        assert_eq!(of(&[(0, 1, 5), (1, 0, 5)], 0, 1), Ok(vec![]));
    }

    #[test]
    fn a_balance_never_goes_below_zero_nor_above_256_bits() {
        assert_eq!(of(&[(0, 1, 5), (1, 2, 6)], 5, 9), Err(HoldersError::BelowZero { holder: Address([1; 20]) }));
        assert_eq!(of(&[(1, 1, 1)], 0, 9), Err(HoldersError::BelowZero { holder: Address([1; 20]) }));
        let logs = [log(0, 1, Word::MAX), log(0, 1, Word::from_u128(1))];
        assert_eq!(balances(TOKEN, &logs, Word::MAX, 9), Err(HoldersError::Overflow));
        let logs = [log(0, 1, Word::MAX), log(0, 2, Word::from_u128(1))];
        assert_eq!(balances(TOKEN, &logs, Word::MAX, 9), Err(HoldersError::Overflow));
    }

    #[test]
    fn only_transfers_of_the_token_are_applied() {
        let mut other = log(0, 1, Word::MAX);
        other.address = Address([8; 20]);
        assert_eq!(balances(TOKEN, &[other], Word::MAX, 9), Err(HoldersError::OtherContract));
        let mut nft = log(0, 1, Word::MAX);
        nft.topics.push(Word::ZERO);
        assert_eq!(balances(TOKEN, &[nft], Word::MAX, 9), Err(HoldersError::Event(EventError::Shape)));
    }

    proptest! {
        #[test]
        fn balances_are_those_of_a_plain_model(transfers in proptest::collection::vec((0..4_u8, 0..4_u8, 0..50_u128), 0..40)) {
            let (mut model, mut fits) = (BTreeMap::<u8, i128>::new(), true);
            for (from, to, amount) in &transfers {
                let amount = i128::try_from(*amount).unwrap();
                *model.entry(*from).or_default() -= amount;
                fits &= *from == 0 || model[from] >= 0;
                *model.entry(*to).or_default() += amount;
            }
            model.remove(&0);
            let supply = model.values().sum::<i128>();
            match of(&transfers, u128::try_from(supply.max(0)).unwrap(), 9) {
                Ok(holders) => {
                    prop_assert!(fits);
                    for (holder, balance) in holders {
                        prop_assert_eq!(model[&holder], i128::try_from(balance).unwrap());
                    }
                }
                Err(error) => {
                    let is_below_zero = matches!(error, HoldersError::BelowZero { .. });
                    prop_assert!(!fits && is_below_zero);
                }
            }
        }
    }
}
