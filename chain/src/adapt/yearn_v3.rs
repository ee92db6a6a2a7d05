//! Vaults of Yearn v3, which put one asset into several strategies.
//!
//! A vault is read in two steps: [`first_step`], then [`strategy_step`] for each strategy of the default queue.
//!
//! A strategy with debt may be missing from the default queue, and nothing else lists it. Its debt is the difference between the vault's
//! total debt and the debts of the queue's strategies: [`Place::Unlisted`].

use super::part::{Part, divide};
use super::question::{Answers, Question};
use super::{Unknown, Value};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// The vault's own maximum length of the default queue.
pub const MAX_QUEUE: usize = 10;

/// The functions of the first step.
pub const FIRST_STEP: [Function; 6] = [
    Function::Asset,
    Function::GetDefaultQueue,
    Function::TotalDebt,
    Function::TotalIdle,
    Function::IsShutdown,
    Function::RoleManager,
];

/// A vault after the first step. Amounts are in the smallest unit of the asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    /// The token that is deposited; never the zero address.
    pub asset: Value<Address>,
    /// The strategies from which withdrawals are paid, in this order; at most [`MAX_QUEUE`], none twice.
    pub queue: Value<Vec<Address>>,
    /// Assets in strategies, as of their last reports.
    pub total_debt: Value<u128>,
    /// Assets in the vault itself.
    pub total_idle: Value<u128>,
    /// Whether the vault is shut down for good: no deposits, only withdrawals.
    pub is_shutdown: Value<bool>,
    /// Who gives out the roles; `None` if nobody can any more.
    pub role_manager: Value<Option<Address>>,
}

/// The questions of the first step.
pub fn first_step(vault: Address) -> Vec<Question> {
    FIRST_STEP.map(|function| Question::new(vault, function)).into()
}

/// The question about one strategy.
pub fn strategy_step(vault: Address, strategy: Address) -> Question {
    Question::with(vault, Function::Strategies, &[Word::from_address(strategy)])
}

impl Vault {
    /// The answers to [`first_step`].
    pub fn from_answers(answers: &Answers, vault: Address) -> Self {
        let question = |function| Question::new(vault, function);
        let role_manager = answers.address(&question(Function::RoleManager));
        Self {
            asset: answers.contract(&question(Function::Asset)),
            queue: answers.addresses(&question(Function::GetDefaultQueue), MAX_QUEUE),
            total_debt: answers.number(&question(Function::TotalDebt)),
            total_idle: answers.number(&question(Function::TotalIdle)),
            is_shutdown: answers.flag(&question(Function::IsShutdown)),
            role_manager: role_manager.map(|holder| (holder != Address::ZERO).then_some(holder)),
        }
    }

    /// Where the vault's assets are: the strategies of the default queue in its order, then what is in strategies outside it, if
    /// anything, then what is idle.
    ///
    /// Unknown if one of the amounts is: a list with a gap would give the other places shares that are too large. Implausible if the
    /// strategies of the queue have more debt than the vault.
    pub fn exposures(&self, answers: &Answers, vault: Address) -> Value<Vec<Part<Place>>> {
        let queue = self.queue.as_ref().map_err(|unknown| *unknown)?;
        let mut unlisted = self.total_debt?;
        let mut places = Vec::with_capacity(queue.len().saturating_add(2));
        for address in queue {
            let strategy = strategy(answers, vault, *address)?;
            unlisted = unlisted.checked_sub(strategy.current_debt).ok_or(Unknown::Implausible)?;
            places.push((Place::Strategy(*address), strategy.current_debt));
        }
        if unlisted != 0 {
            places.push((Place::Unlisted, unlisted));
        }
        places.push((Place::Idle, self.total_idle?));
        divide(places)
    }
}

/// Where assets of a vault are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In this strategy.
    Strategy(Address),
    /// In strategies that are not in the default queue.
    Unlisted,
    /// In the vault itself.
    Idle,
}

/// A strategy as its vault counts it. Times are in seconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// When it was added to the vault; `None` if it was revoked, or never added.
    pub activation: Option<u64>,
    /// When it last reported gain or loss.
    pub last_report: u64,
    /// Assets that the vault has given to it and that it has not lost.
    pub current_debt: u128,
    /// The most that the vault may give to it. 2^256 − 1 is in use for "no limit".
    pub max_debt: Word,
}

/// The answer to [`strategy_step`].
pub fn strategy(answers: &Answers, vault: Address, strategy: Address) -> Value<Strategy> {
    let [activation, last_report, current_debt, max_debt] = answers.words(&strategy_step(vault, strategy))?;
    Ok(Strategy {
        activation: Some(activation.to_u64()?).filter(|time| *time != 0),
        last_report: last_report.to_u64()?,
        current_debt: current_debt.to_u128()?,
        max_debt,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_sol_types::private::{Address as AlloyAddress, U256};
    use alloy_sol_types::{SolCall, SolValue};
    use std::vec;

    alloy_sol_types::sol! {
        function get_default_queue() returns (address[]);
        function strategies(address) returns (uint256, uint256, uint256, uint256);
        function totalDebt() returns (uint256);
        function isShutdown() returns (bool);
        function role_manager() returns (address);
    }

    const VAULT: Address = Address([0xaa; 20]);
    const FIRST: Address = Address([1; 20]);
    const SECOND: Address = Address([2; 20]);

    fn number(number: u128) -> U256 {
        U256::from(number)
    }

    /// A vault with two strategies, encoded by alloy.
    fn answers(debts: [u128; 2], total_debt: u128, idle: u128) -> Answers {
        let queue = vec![AlloyAddress::from(FIRST.0), AlloyAddress::from(SECOND.0)];
        let results = [
            AlloyAddress::from([9; 20]).abi_encode(),
            queue.abi_encode(),
            number(total_debt).abi_encode(),
            number(idle).abi_encode(),
            true.abi_encode(),
            AlloyAddress::from([0; 20]).abi_encode(),
        ];
        let mut answers = Answers::new();
        for (question, result) in first_step(VAULT).into_iter().zip(results) {
            answers.insert(question, Ok(result));
        }
        for (strategy, debt) in [FIRST, SECOND].into_iter().zip(debts) {
            let result = (number(100), number(200), number(debt), U256::MAX).abi_encode_params();
            answers.insert(strategy_step(VAULT, strategy), Ok(result));
        }
        answers
    }

    fn shares(answers: &Answers) -> Value<Vec<(Place, u32)>> {
        let parts = Vault::from_answers(answers, VAULT).exposures(answers, VAULT)?;
        Ok(parts.into_iter().map(|part| (part.place, part.share_ppm)).collect())
    }

    #[test]
    fn a_vault_is_read_from_answers_that_alloy_encoded() {
        let answers = answers([70, 20], 90, 10);
        let vault = Vault::from_answers(&answers, VAULT);
        assert_eq!(vault.queue, Ok(vec![FIRST, SECOND]));
        assert_eq!((vault.total_debt, vault.total_idle), (Ok(90), Ok(10)));
        assert_eq!((vault.is_shutdown, vault.role_manager), (Ok(true), Ok(None)));
        let expected = Strategy { activation: Some(100), last_report: 200, current_debt: 70, max_debt: Word::MAX };
        assert_eq!(strategy(&answers, VAULT, FIRST), Ok(expected));
    }

    #[test]
    fn calls_are_those_of_alloy() {
        let call = strategiesCall(AlloyAddress::from(FIRST.0)).abi_encode();
        assert_eq!(strategy_step(VAULT, FIRST).calldata(), call);
        for (function, selector) in [
            (Function::GetDefaultQueue, get_default_queueCall::SELECTOR),
            (Function::TotalDebt, totalDebtCall::SELECTOR),
            (Function::IsShutdown, isShutdownCall::SELECTOR),
            (Function::RoleManager, role_managerCall::SELECTOR),
        ] {
            assert_eq!(function.selector(), selector, "{}", function.signature());
        }
    }

    #[test]
    fn exposures_are_the_debts_then_what_no_queue_lists_then_what_is_idle() {
        let (first, second) = (Place::Strategy(FIRST), Place::Strategy(SECOND));
        let all = shares(&answers([70, 20], 90, 10));
        assert_eq!(all, Ok(vec![(first, 700_000), (second, 200_000), (Place::Idle, 100_000)]));
        let unlisted = shares(&answers([70, 0], 90, 10));
        assert_eq!(
            unlisted,
            Ok(vec![(first, 700_000), (second, 0), (Place::Unlisted, 200_000), (Place::Idle, 100_000)])
        );
        assert_eq!(shares(&answers([70, 21], 90, 10)), Err(Unknown::Implausible));
    }

    #[test]
    fn an_unread_strategy_or_amount_makes_the_exposures_unknown() {
        let mut some = answers([70, 20], 90, 10);
        some.insert(strategy_step(VAULT, SECOND), Err(crate::failure::Failure::Transport));
        assert_eq!(shares(&some), Err(Unknown::Unread));
        assert_eq!(shares(&Answers::new()), Err(Unknown::Unread));
    }
}
