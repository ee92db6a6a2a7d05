//! Answers of contracts as readings with their evidence.

use rds_chain::abi::Word;
use rds_chain::adapt::governance::Question;
use rds_chain::body::QUESTION_GAS;
use rds_chain::plan::Reading;
use rds_chain::quorum::Verdict;
use rds_chain::reader::{Field, Outcome, Status};
use rds_chain::simulation::{Override, Overrides, Simulation};
use rds_chain::{Address, Block, hex};
use rds_facts::fact::Kind;
use rds_facts::{At, ChainReading, ReadField};
use rds_rpc::ask::AgreedAnswer;
use rds_shared::scoring::provenance::{AccountOverride, CallMethod, ChainCall, ChainEvidence};
use rds_shared::wire::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// Seconds after which what did not change is written again, so that its evidence names a recent block.
pub(super) const REWRITE_SECONDS: i64 = 86_400;

/// The block at which a chain is read, in the form of observations.
#[derive(Debug, Clone)]
pub(super) struct ReadBlock {
    pub chain_id: i64,
    pub number: i64,
    pub hash: String,
    pub time: At,
    /// Number of operators that are asked.
    pub asked: u32,
}

impl ReadBlock {
    /// `None` if a number of the block does not fit the store, as no chain's does.
    pub fn new(chain_id: u64, block: &Block, asked: usize) -> Option<Self> {
        Some(ReadBlock {
            chain_id: i64::try_from(chain_id).ok()?,
            number: i64::try_from(block.id.number).ok()?,
            hash: block.id.hash.to_string(),
            time: At(Timestamp::from_seconds(i64::try_from(block.time).ok()?)),
            asked: u32::try_from(asked).ok()?,
        })
    }

    /// Name of the source of what is read.
    pub fn source(&self) -> String {
        format!("chain:{}", self.chain_id)
    }

    /// The observation of a field that follows from these answers; `None` without answers.
    pub fn reading(
        &self,
        vault_id: &str,
        field: ReadField,
        value: Value,
        from: &[&AgreedCall],
    ) -> Option<ChainReading> {
        Some(ChainReading {
            kind: Kind,
            observed_at: self.time,
            source: self.source(),
            vault_id: vault_id.to_owned(),
            field,
            value,
            chain_id: self.chain_id,
            block_number: self.number,
            block_hash: self.hash.clone(),
            calls: from.iter().map(|seen| seen.call.clone()).collect(),
            agreed: from.iter().map(|seen| seen.agreed).min()?,
            asked: self.asked,
        })
    }

    /// The calls behind a value that follows from these answers; `None` without answers.
    pub fn evidence(&self, from: &[AgreedCall]) -> Option<ChainEvidence> {
        Some(ChainEvidence {
            chain_id: u64::try_from(self.chain_id).ok()?,
            block_number: u64::try_from(self.number).ok()?,
            block_hash: self.hash.clone(),
            calls: from.iter().map(|seen| seen.call.clone()).collect(),
            agreed: from.iter().map(|seen| seen.agreed).min()?,
            asked: self.asked,
        })
    }
}

/// What enough operators answered alike to one call.
#[derive(Debug, Clone)]
pub(super) struct AgreedCall {
    pub call: ChainCall,
    /// Number of operators.
    pub agreed: u32,
}

/// What the operators answered to a field of a contract.
#[derive(Debug, Clone)]
pub(super) struct AgreedField {
    /// What the adapters read; `None` if nothing is agreed.
    pub reading: Option<Reading>,
    pub seen: Option<AgreedCall>,
    pub is_disputed: bool,
    /// Operators that answered otherwise.
    pub dissenters: Vec<String>,
}

pub(super) fn field(contract: Address, field: &Field, verdict: Verdict<String, Outcome>) -> AgreedField {
    match verdict {
        Verdict::Agreed { value, agreed_by, dissenters } => {
            let answer = match value.status {
                Status::Returned => Some(hex::encode(&value.word.0)),
                Status::ReturnedShort | Status::Reverted | Status::FailedEmpty => None,
            };
            let call = call(contract, &field.calldata(), answer);
            let agreed = u32::try_from(agreed_by.len()).unwrap_or(u32::MAX);
            let seen = Some(AgreedCall { call, agreed });
            AgreedField { reading: Some(Reading::Read(value)), seen, is_disputed: false, dissenters }
        }
        Verdict::Disputed { values, inconsistent } => {
            let dissenters = values.into_iter().flat_map(|(_, operators)| operators).chain(inconsistent).collect();
            AgreedField { reading: None, seen: None, is_disputed: true, dissenters }
        }
        Verdict::Missing { .. } => {
            AgreedField { reading: None, seen: None, is_disputed: false, dissenters: Vec::new() }
        }
    }
}

/// A question with its answer; `None` if nothing is agreed, and for logs, which are no call.
pub(super) fn question(question: &Question, answer: &AgreedAnswer) -> Option<AgreedCall> {
    if answer.agreed == 0 {
        return None;
    }
    let bytes = answer.bytes.as_deref().map(hex::encode);
    let call = match question {
        Question::Call { contract, data } => call(*contract, data, bytes),
        Question::Simulation(simulation) => simulated(simulation, bytes),
        Question::Storage { contract, slot } => ChainCall {
            method: CallMethod::Storage,
            contract: contract.to_string(),
            data: Some(slot.to_string()),
            answer: bytes,
            overrides: BTreeMap::new(),
            gas: None,
        },
        Question::Code(contract) => ChainCall {
            method: CallMethod::Code,
            contract: contract.to_string(),
            data: None,
            answer: bytes,
            overrides: BTreeMap::new(),
            gas: None,
        },
        Question::RoleGrants(_) => return None,
    };
    Some(AgreedCall { call, agreed: u32::try_from(answer.agreed).unwrap_or(u32::MAX) })
}

fn call(contract: Address, data: &[u8], answer: Option<String>) -> ChainCall {
    let data = Some(hex::encode(data));
    let overrides = BTreeMap::new();
    ChainCall { method: CallMethod::Call, contract: contract.to_string(), data, answer, overrides, gas: None }
}

fn simulated(simulation: &Simulation, answer: Option<String>) -> ChainCall {
    let text = |words: &[(Word, Word)]| words.iter().map(|(slot, word)| (slot.to_string(), word.to_string())).collect();
    let account =
        |it: &Override| AccountOverride { code: it.code.as_deref().map(hex::encode), state_diff: text(&it.state_diff) };
    ChainCall {
        overrides: simulation.overrides.0.iter().map(|(address, it)| (address.to_string(), account(it))).collect(),
        gas: Some(simulation.gas),
        ..call(simulation.contract, &simulation.data, answer)
    }
}

/// The call of evidence, to be made again; `None` if a text in it is not what ingest permits. A call is a simulation if it has overrides or
/// states its gas.
pub(super) fn simulation_of(call: &ChainCall) -> Option<Simulation> {
    let mut overrides = Overrides::default();
    for (address, account) in &call.overrides {
        let code = match &account.code {
            Some(code) => Some(hex::decode(code)?),
            None => None,
        };
        let word = |text: &String| hex::decode(text).and_then(|bytes| bytes.try_into().ok()).map(Word);
        let mut state_diff = Vec::new();
        for (slot, value) in &account.state_diff {
            state_diff.push((word(slot)?, word(value)?));
        }
        overrides.0.push((address.parse().ok()?, Override { code, state_diff }));
    }
    Some(Simulation {
        contract: call.contract.parse().ok()?,
        data: hex::decode(call.data.as_deref()?)?,
        gas: call.gas.unwrap_or(QUESTION_GAS),
        overrides,
    })
}
