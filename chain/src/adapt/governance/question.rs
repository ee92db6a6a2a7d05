//! What the walk asks about contracts, and what it knows so far.

use crate::abi::{Call, Data, Function, Word, keccak256};
use crate::adapt::{CallAnswer, Unknown, Value, returned};
use crate::block::Address;
use crate::failure::Failure;
use crate::simulation::Simulation;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cell::RefCell;

/// A question about one address, at the block of the walk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// `eth_getCode`.
    Code(Address),
    /// `eth_getStorageAt`.
    Storage {
        /// The contract.
        contract: Address,
        /// The slot.
        slot: Word,
    },
    /// `eth_call`.
    Call {
        /// The contract.
        contract: Address,
        /// The calldata.
        data: Vec<u8>,
    },
    /// `eth_call` with overrides. The walk does not ask it.
    Simulation(Simulation),
    /// The `RoleGranted` logs of the contract since its creation, by `eth_getLogs`.
    RoleGrants(Address),
}

/// An answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To [`Question::Code`].
    Code(Code),
    /// To [`Question::Storage`].
    Storage(Word),
    /// To [`Question::Call`] and [`Question::Simulation`]; a revert is [`Failure::Reverted`].
    Call(CallAnswer),
    /// To [`Question::RoleGrants`]: role and account of each log. Later revocations do not matter, because `hasRole` is asked afterwards.
    RoleGrants(Vec<(Word, Address)>),
    /// The providers failed. Nothing is known.
    Failed(Failure),
}

/// What the walk uses of a contract's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Length in bytes; 0 for an address without code.
    pub bytes: usize,
    /// Keccak-256 of the code.
    pub hash: [u8; 32],
    /// The contract that this one is a minimal clone of (EIP-1167).
    pub clone_of: Option<Address>,
    /// The contract whose code this account runs by its own decision (EIP-7702). Its key still controls it.
    pub delegate: Option<Address>,
    /// Whether the code may run foreign code as its own, or destroy itself: it has one of the opcodes `DELEGATECALL`, `CALLCODE`,
    /// `SELFDESTRUCT`. Data between the instructions is read as instructions, which errs on the side of `true`.
    pub may_run_foreign_code: bool,
}

impl Code {
    /// The facts of this code.
    pub fn of(code: &[u8]) -> Self {
        let clone = code.strip_prefix(&[0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73]);
        let clone = clone.and_then(|rest| {
            rest.strip_suffix(&[
                0x5a, 0xf4, 0x3d, 0x82, 0x80, 0x3e, 0x90, 0x3d, 0x91, 0x60, 0x2b, 0x57, 0xfd, 0x5b, 0xf3,
            ])
        });
        let address = |bytes: &[u8]| bytes.try_into().ok().map(Address);
        Self {
            bytes: code.len(),
            hash: keccak256(code),
            clone_of: clone.and_then(address),
            delegate: code.strip_prefix(&[0xef, 0x01, 0x00]).and_then(address),
            may_run_foreign_code: runs_foreign_code(code),
        }
    }

    /// Whether the address is an account with a key: it has no code, or runs a contract's code by EIP-7702.
    pub fn is_account(&self) -> bool {
        self.bytes == 0 || self.delegate.is_some()
    }
}

fn runs_foreign_code(code: &[u8]) -> bool {
    const CALLCODE: u8 = 0xf2;
    const DELEGATECALL: u8 = 0xf4;
    const SELFDESTRUCT: u8 = 0xff;
    let mut bytes = code.iter();
    while let Some(opcode) = bytes.next() {
        match *opcode {
            CALLCODE | DELEGATECALL | SELFDESTRUCT => return true,
            // PUSH1 to PUSH32 are followed by 1 to 32 bytes of data.
            push @ 0x60..=0x7f => {
                bytes.nth(usize::from(push.saturating_sub(0x60)));
            }
            _ => {}
        }
    }
    false
}

/// The answers so far. A question that is asked and has no answer yet is noted as missing.
#[derive(Debug)]
pub(super) struct Book<'a> {
    answers: &'a BTreeMap<Question, Answer>,
    missing: RefCell<BTreeSet<Question>>,
}

impl<'a> Book<'a> {
    pub fn new(answers: &'a BTreeMap<Question, Answer>) -> Self {
        Self { answers, missing: RefCell::default() }
    }

    /// The questions that were asked of this book and have no answer.
    pub fn missing(self) -> BTreeSet<Question> {
        self.missing.into_inner()
    }

    pub fn code(&self, address: Address) -> Value<Code> {
        match self.answer(Question::Code(address)) {
            Some(Answer::Code(code)) => Ok(*code),
            _ => Err(Unknown::Unread),
        }
    }

    pub fn storage(&self, contract: Address, slot: Word) -> Value<Word> {
        match self.answer(Question::Storage { contract, slot }) {
            Some(Answer::Storage(word)) => Ok(*word),
            _ => Err(Unknown::Unread),
        }
    }

    pub fn grants(&self, contract: Address) -> Value<&'a [(Word, Address)]> {
        match self.answer(Question::RoleGrants(contract)) {
            Some(Answer::RoleGrants(grants)) => Ok(grants),
            _ => Err(Unknown::Unread),
        }
    }

    /// What the contract returned: at least one word.
    pub fn call(&self, contract: Address, function: Function, arguments: &[Word]) -> Value<Data<'a>> {
        let call = arguments.iter().fold(Call::new(function.selector()), |call, argument| call.word(*argument));
        match self.answer(Question::Call { contract, data: call.encode() }) {
            Some(Answer::Call(answer)) => returned(Some(answer)).map(Data::new),
            _ => Err(Unknown::Unread),
        }
    }

    /// The word that a function without arguments returned.
    pub fn word(&self, contract: Address, function: Function) -> Value<Word> {
        Ok(self.call(contract, function, &[])?.word(0)?)
    }

    fn answer(&self, question: Question) -> Option<&'a Answer> {
        let answer = self.answers.get(&question);
        if answer.is_none() {
            self.missing.borrow_mut().insert(question);
        }
        answer
    }
}
