//! Where a market of Morpho Blue gets its price from, if its oracle is one that Morpho's own factory made (`MorphoChainlinkOracleV2`).
//!
//! Anybody can write an oracle that has the same functions and lies. Therefore the factory is asked first: [`origin_step`]. The parts of an
//! oracle that it made cannot change: [`parts_step`].

use super::Value;
use super::question::{Answers, Question};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// What a price is made of. All of it is fixed when the oracle is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Feeds with Chainlink's functions; at most four, none twice.
    pub feeds: Vec<Address>,
    /// Vaults of ERC-4626 whose price of a share is part of the price; at most two.
    pub vaults: Vec<Address>,
}

const FEEDS: [Function; 4] = [Function::BaseFeed1, Function::BaseFeed2, Function::QuoteFeed1, Function::QuoteFeed2];
const VAULTS: [Function; 2] = [Function::BaseVault, Function::QuoteVault];

/// The question to the factory whether it made the oracle.
pub fn origin_step(factory: Address, oracle: Address) -> Question {
    Question::with(factory, Function::IsMorphoChainlinkOracleV2, &[Word::from_address(oracle)])
}

/// Whether the factory made the oracle.
pub fn is_made_by(answers: &Answers, factory: Address, oracle: Address) -> Value<bool> {
    answers.flag(&origin_step(factory, oracle))
}

/// The questions for the parts of an oracle.
pub fn parts_step(oracle: Address) -> Vec<Question> {
    FEEDS.iter().chain(&VAULTS).map(|function| Question::new(oracle, *function)).collect()
}

/// The answers to [`parts_step`]. Unknown if one of them is.
pub fn parts(answers: &Answers, oracle: Address) -> Value<Parts> {
    let named = |functions: &[Function]| -> Value<Vec<Address>> {
        let mut named = Vec::new();
        for function in functions {
            let address = answers.address(&Question::new(oracle, *function))?;
            if address != Address::ZERO && !named.contains(&address) {
                named.push(address);
            }
        }
        Ok(named)
    };
    Ok(Parts { feeds: named(&FEEDS)?, vaults: named(&VAULTS)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::Unknown;
    use alloy_sol_types::private::Address as AlloyAddress;
    use alloy_sol_types::{SolCall, SolValue};

    alloy_sol_types::sol! {
        function isMorphoChainlinkOracleV2(address target) returns (bool);
        function BASE_FEED_1() returns (address);
        function QUOTE_VAULT() returns (address);
    }

    const ORACLE: Address = Address([7; 20]);
    const FACTORY: Address = Address([8; 20]);

    #[test]
    fn an_oracle_is_known_by_its_factory_and_its_parts_by_its_own_word() {
        let mut answers = Answers::new();
        let question = origin_step(FACTORY, ORACLE);
        let call = isMorphoChainlinkOracleV2Call { target: AlloyAddress::from(ORACLE.0) };
        assert_eq!(question.calldata(), call.abi_encode());
        answers.insert(question, Ok(true.abi_encode()));
        assert_eq!(is_made_by(&answers, FACTORY, ORACLE), Ok(true));
        assert_eq!(parts(&answers, ORACLE), Err(Unknown::Unread));
        for (question, last) in parts_step(ORACLE).into_iter().zip([1, 0, 2, 1, 0, 3]) {
            answers.insert(question, Ok(AlloyAddress::from([last; 20]).abi_encode()));
        }
        let expected = Parts { feeds: [Address([1; 20]), Address([2; 20])].into(), vaults: [Address([3; 20])].into() };
        assert_eq!(parts(&answers, ORACLE), Ok(expected));
        assert_eq!(Function::BaseFeed1.selector(), BASE_FEED_1Call::SELECTOR);
        assert_eq!(Function::QuoteVault.selector(), QUOTE_VAULTCall::SELECTOR);
    }
}
