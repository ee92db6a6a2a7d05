//! Whether a vault takes a deposit and gives it back: both are simulated in one `eth_call`. Nothing is sent, and no fork is needed.
//!
//! A program of this crate is put at an address without code (a state override), and an amount of the asset is written into the asset's
//! storage as its balance. The program approves, deposits, redeems, and looks at its balance again. It is done in two steps: the word of
//! storage that holds the balance is found by trying [`candidates`] with [`balance_simulation`]; then
//! [`Trial::simulation`] asks for the round trip.
//!
//! A refusal counts only with a reason. A call that fails without one may have run out of gas. An answer counts only if the program
//! saw the requested block's timestamp and chain. Block number and parent hash are not compared, because Arbitrum gives those of another
//! chain.
//!
//! | file | content |
//! |---|---|
//! | `slot.rs` | where tokens keep balances |
//! | `program.rs` | the program |

mod program;
mod slot;

pub use program::PROGRAM;
pub use slot::candidates;

use super::question::{Answers, Question};
use super::scale::ppm_of;
use crate::abi::{Data, Function, Word};
use crate::block::{Address, Block};
use crate::failure::Failure;
use crate::simulation::{Override, Overrides, Simulation};
use alloc::vec::Vec;

/// The address that has the program as its code during the call. Nothing else uses it.
pub const GATE: Address = Address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0xba, 0x7e]);

/// How much of a reason is kept, in bytes.
pub const MAX_REASON_BYTES: usize = program::MAX_REASON_BYTES as usize;

/// Gas for the program itself, and for the transaction.
const OWN_GAS: u64 = 200_000;
/// Number of calls that the program makes.
const CALLS: u64 = 5;
/// The program's step after the last call.
const DONE: u8 = 6;

/// A round trip to be simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// The vault.
    pub vault: Address,
    /// The vault's asset.
    pub asset: Address,
    /// The word of the asset's storage that holds the balance of [`GATE`].
    pub balance_slot: Word,
    /// How much is deposited, in the smallest unit of the asset.
    pub amount: u128,
    /// Gas cap of each call.
    pub call_gas: u32,
}

impl Trial {
    /// Gas that the program must have left when it begins, so that each call can have its cap: a call gets at most 63/64 of what is left.
    fn needed_gas(&self) -> u64 {
        let call_gas = u64::from(self.call_gas);
        call_gas.saturating_mul(CALLS).saturating_add(call_gas >> 5).saturating_add(OWN_GAS)
    }

    /// The call of the round trip.
    pub fn simulation(&self) -> Simulation {
        let program = Override { code: Some(PROGRAM.to_vec()), state_diff: Vec::new() };
        let accounts = [(self.asset, balance(self.balance_slot, self.amount)), (GATE, program)];
        Simulation {
            contract: GATE,
            data: self.calldata(),
            gas: self.needed_gas().saturating_add(OWN_GAS),
            overrides: Overrides(accounts.into()),
        }
    }

    /// The program's calldata.
    fn calldata(&self) -> Vec<u8> {
        let words = [
            Word::from_address(self.vault),
            Word::from_address(self.asset),
            Word::from_u128(self.amount),
            Word::from_u128(self.call_gas.into()),
            Word::from_u128(self.needed_gas().into()),
        ];
        words.iter().flat_map(|word| word.0).collect()
    }
}

/// The question whose answer is `amount` if a candidate was the right one.
pub fn balance_question(asset: Address) -> Question {
    Question::with(asset, Function::BalanceOf, &[Word::from_address(GATE)])
}

/// The call of [`balance_question`] with `amount` at a candidate.
pub fn balance_simulation(asset: Address, candidate: Word, amount: u128) -> Simulation {
    Simulation {
        contract: asset,
        data: balance_question(asset).calldata(),
        gas: OWN_GAS.saturating_mul(5),
        overrides: Overrides([(asset, balance(candidate, amount))].into()),
    }
}

/// Whether the answer to [`balance_simulation`] shows that the candidate holds the balance.
pub fn holds_balance(answers: &Answers, asset: Address, amount: u128) -> bool {
    amount != 0 && answers.number(&balance_question(asset)) == Ok(amount)
}

fn balance(slot: Word, amount: u128) -> Override {
    Override { code: None, state_diff: [(slot, Word::from_u128(amount))].into() }
}

/// Why a provider's answer to a call with overrides shows nothing; `None` if it does show something.
///
/// A provider that serves no overrides may answer as if there were none, and one that limits the gas of a call may give the program too
/// little to begin. Both would otherwise look like another answer than that of the other providers.
pub fn failure_of(simulation: &Simulation, answer: &[u8]) -> Option<Failure> {
    if answer.is_empty() && simulation.replaces_called_code() {
        return Some(Failure::Unsupported);
    }
    let is_too_little = || Data::new(answer).word(0) == Ok(Word::ZERO);
    (simulation.contract == GATE && answer.len() >= usize::from(program::HEAD_BYTES) && is_too_little())
        .then_some(Failure::Gas)
}

/// A step of the round trip that a contract can refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The asset's `approve`.
    Approve,
    /// The vault's `deposit`.
    Deposit,
    /// The vault's `redeem`, in the same block as the deposit.
    Redeem,
}

/// What came of a round trip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundTrip {
    /// The vault took the amount and gave back assets.
    Completed {
        /// The shares that the deposit returned.
        shares: Word,
        /// The assets that came back, by the asset's own count.
        returned: u128,
        /// Lost part of the amount, in parts per million, rounded down; 0 if nothing was lost.
        loss_ppm: u32,
    },
    /// A contract refused a step.
    Refused {
        /// The step.
        step: Step,
        /// The contract's reason, at most [`MAX_REASON_BYTES`] of it; not empty.
        reason: Vec<u8>,
    },
    /// Nothing is known about the vault.
    NotSimulated(Obstacle),
}

/// Why a round trip was not simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The provider failed. [`Failure::Unsupported`] if it serves no state overrides.
    Failed(Failure),
    /// The answer is not one of the program.
    Damaged,
    /// The program ran at a block of another time, or on another chain.
    WrongBlock,
    /// The provider gave the program too little gas.
    TooLittleGas,
    /// The asset does not count the amount as the program's, before or after the round trip.
    NoBalance,
    /// A step failed without a reason, or answered less than a word.
    NoAnswer(Step),
}

impl RoundTrip {
    /// The result of [`Trial::simulation`] at `block` of this chain.
    pub fn from_result(trial: &Trial, block: &Block, chain_id: u64, result: Result<&[u8], Failure>) -> Self {
        match result {
            Ok(data) => decode(trial, block, chain_id, data).unwrap_or(RoundTrip::NotSimulated(Obstacle::Damaged)),
            // The program itself never reverts.
            Err(failure) => RoundTrip::NotSimulated(Obstacle::Failed(failure)),
        }
    }
}

/// `None` if the program does not write such an answer.
fn decode(trial: &Trial, block: &Block, chain_id: u64, answer: &[u8]) -> Option<RoundTrip> {
    let data = Data::new(answer);
    let word = |index| data.word(index).ok();
    let (step, is_ok) = (word(0)?.to_u64().ok()?, word(1)?.to_bool().ok()?);
    let (shares, returned, size) = (word(2)?, word(3)?, word(4)?.to_u64().ok()?);
    let reason = answer.get(usize::from(program::HEAD_BYTES)..)?;
    if reason.len() != usize::try_from(size).ok()?.min(MAX_REASON_BYTES) {
        return None;
    }
    if [word(5)?, word(6)?] != [block.time, chain_id].map(|number| Word::from_u128(number.into())) {
        return Some(RoundTrip::NotSimulated(Obstacle::WrongBlock));
    }
    let step = match step {
        0 => return Some(RoundTrip::NotSimulated(Obstacle::TooLittleGas)),
        1 | 5 => return Some(RoundTrip::NotSimulated(Obstacle::NoBalance)),
        2 => Step::Approve,
        3 => Step::Deposit,
        4 => Step::Redeem,
        _ if step == u64::from(DONE) && is_ok => return Some(completed(trial, shares, returned)),
        _ => return None,
    };
    Some(if is_ok || reason.is_empty() {
        RoundTrip::NotSimulated(Obstacle::NoAnswer(step))
    } else {
        RoundTrip::Refused { step, reason: reason.to_vec() }
    })
}

fn completed(trial: &Trial, shares: Word, returned: Word) -> RoundTrip {
    let Ok(returned) = returned.to_u128() else { return RoundTrip::NotSimulated(Obstacle::NoBalance) };
    match ppm_of(trial.amount.saturating_sub(returned), trial.amount) {
        Ok(loss_ppm) => RoundTrip::Completed { shares, returned, loss_ppm },
        Err(_) => RoundTrip::NotSimulated(Obstacle::NoBalance),
    }
}

#[cfg(test)]
mod tests;
