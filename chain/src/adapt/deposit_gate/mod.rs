//! Whether a vault takes a deposit and gives it back: both are simulated in one `eth_call`. Nothing is sent, and no fork is needed.
//!
//! A program of this crate is put at an address without code (a state override), and an amount of the asset is written into the asset's
//! storage as its balance. The program approves, deposits, redeems, and looks at its balance again. It is done in two steps: the word of
//! storage that holds the balance is found by trying [`candidates`] with [`balance_body`]; then [`gate_body`] asks for the round trip.
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
use crate::block::{Address, Block, BlockHash};
use crate::failure::Failure;
use crate::hex;
use alloc::format;
use alloc::string::String;
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

/// `eth_call` of [`balance_question`] with `amount` at a candidate.
pub fn balance_body(id: u64, asset: Address, candidate: Word, amount: u128, block: BlockHash) -> String {
    let overrides = balance_override(asset, candidate, amount);
    body(id, asset, &balance_question(asset).calldata(), OWN_GAS.saturating_mul(5), block, &overrides)
}

/// Whether the answer to [`balance_body`] shows that the candidate holds the balance.
pub fn holds_balance(answers: &Answers, asset: Address, amount: u128) -> bool {
    amount != 0 && answers.number(&balance_question(asset)) == Ok(amount)
}

/// `eth_call` of the round trip.
pub fn gate_body(id: u64, trial: &Trial, block: BlockHash) -> String {
    let balance = balance_override(trial.asset, trial.balance_slot, trial.amount);
    let overrides = format!(r#""{GATE}":{{"code":"{}"}},{balance}"#, hex::encode(&PROGRAM));
    let gas = trial.needed_gas().saturating_add(OWN_GAS);
    body(id, GATE, &trial.calldata(), gas, block, &overrides)
}

fn balance_override(asset: Address, slot: Word, amount: u128) -> String {
    let amount = Word::from_u128(amount);
    format!(r#""{asset}":{{"stateDiff":{{"{slot}":"{amount}"}}}}"#)
}

fn body(id: u64, to: Address, data: &[u8], gas: u64, block: BlockHash, overrides: &str) -> String {
    let data = hex::encode(data);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_call","params":[{{"to":"{to}","data":"{data}","gas":"{gas:#x}"}},{{"blockHash":"{block}"}},{{{overrides}}}]}}"#
    )
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
    /// The result of [`gate_body`] at `block` of this chain.
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
