//! Contracts of the tests, with what they answer.

use super::super::*;
use crate::abi::{Call, Function};
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::vec;

/// Contracts by address, with what their functions and slots answer.
#[derive(Debug, Default, Clone)]
pub struct World {
    pub codes: BTreeMap<Address, Vec<u8>>,
    pub slots: BTreeMap<(Address, Word), Word>,
    pub calls: BTreeMap<(Address, Vec<u8>), Vec<u8>>,
    pub grants: BTreeMap<Address, Vec<(Word, Address)>>,
    pub unread: Vec<Address>,
}

pub const TARGET: Address = Address([1; 20]);
pub const ADMIN_SLOT: &str = "0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103";
pub const IMPLEMENTATION_SLOT: &str = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
pub const BEACON_SLOT: &str = "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50";

pub fn address(byte: u8) -> Address {
    Address([byte; 20])
}

pub fn slot(text: &str) -> Word {
    Word(crate::hex::decode_array(text).unwrap())
}

impl World {
    pub fn contract(mut self, contract: Address, functions: &[(Function, Vec<u8>)]) -> Self {
        self.codes.insert(contract, vec![0x00]);
        for (function, answer) in functions {
            self.calls.insert((contract, function.selector().to_vec()), answer.clone());
        }
        self
    }

    pub fn slot(mut self, contract: Address, name: &str, value: Address) -> Self {
        self.slots.insert((contract, slot(name)), Word::from_address(value));
        self
    }

    pub fn target(self, owner: Address) -> Self {
        self.contract(TARGET, &[(Function::Owner, word(owner))])
    }

    pub fn safe(mut self, safe: Address, threshold: u128, owners: u8, modules: &[Address]) -> Self {
        let owners: Vec<Word> = (0..owners).map(|owner| Word::from_address(address(0x80 + owner))).collect();
        self = self.contract(
            safe,
            &[
                (Function::Threshold, Word::from_u128(threshold).0.into()),
                (Function::Owners, Call::tuple().words(&owners).encode()),
                (Function::Version, Call::tuple().bytes(b"1.4.1").encode()),
            ],
        );
        let modules: Vec<Word> = modules.iter().copied().map(Word::from_address).collect();
        let question =
            Call::new(Function::ModulesPaginated.selector()).word(Word::from_u128(1)).word(Word::from_u128(32));
        let page = Call::tuple().words(&modules).word(Word::from_u128(1));
        self.calls.insert((safe, question.encode()), page.encode());
        self
    }

    pub fn timelock(mut self, timelock: Address, delay: u128, holders: &[(Word, Address, bool)]) -> Self {
        self = self.contract(timelock, &[(Function::MinDelay, Word::from_u128(delay).0.into())]);
        self.grants.insert(timelock, vec![(Word::ZERO, timelock)]);
        let is_holder = [(Word::ZERO, Address::ZERO, false), (Word::ZERO, timelock, true)];
        for (role, account, holds) in is_holder.iter().chain(holders) {
            let question = Call::new(Function::HasRole.selector()).word(*role).word(Word::from_address(*account));
            self.calls.insert((timelock, question.encode()), Word::from_bool(*holds).0.into());
            self.grants.get_mut(&timelock).unwrap().push((*role, *account));
        }
        self
    }

    pub fn answer(&self, question: &Question) -> Answer {
        let contract = match question {
            Question::Code(contract) | Question::RoleGrants(contract) => contract,
            Question::Storage { contract, .. } | Question::Call { contract, .. } => contract,
            Question::Simulation(call) => &call.contract,
        };
        if self.unread.contains(contract) {
            return Answer::Failed(Failure::Transport);
        }
        match question {
            Question::Code(contract) => Answer::Code(Code::of(self.codes.get(contract).map_or(&[], Vec::as_slice))),
            Question::Storage { contract, slot } => {
                Answer::Storage(self.slots.get(&(*contract, *slot)).copied().unwrap_or(Word::ZERO))
            }
            Question::Call { contract, data } => {
                let none = Err(Failure::Reverted { data: vec![] });
                Answer::Call(self.calls.get(&(*contract, data.clone())).cloned().map_or(none, Ok))
            }
            Question::Simulation(_) => Answer::Failed(Failure::Unsupported),
            Question::RoleGrants(contract) => {
                Answer::RoleGrants(self.grants.get(contract).cloned().unwrap_or_default())
            }
        }
    }

    pub fn graph(&self, options: Options) -> Graph {
        let mut walk = Walk::new(TARGET, options);
        while walk.finished().is_none() {
            let questions: Vec<Question> = walk.next().cloned().collect();
            for question in questions {
                walk.record(&question, self.answer(&question)).unwrap();
            }
        }
        walk.finished().unwrap().clone()
    }

    pub fn weakest(&self) -> (Delay, Signers, Option<Doubt>) {
        let controlled = self.graph(Options::default()).weakest();
        (controlled.timelock, controlled.signers, controlled.doubt)
    }
}

pub fn word(address: Address) -> Vec<u8> {
    Word::from_address(address).0.into()
}
