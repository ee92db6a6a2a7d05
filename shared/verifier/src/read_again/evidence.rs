//! The evidence of one input, read strictly: a call that cannot be repeated exactly as published is refused by name.

use crate::input::{Members, Unreadable, member, members, read, unreadable};
use rds_chain::abi::Word;
use rds_chain::simulation::{Override, Overrides, Simulation};
use rds_chain::{Address, BlockHash, BlockId, body, hex};
use rds_shared::scoring::provenance::{
    CallMethod, MAX_CALL_GAS, MAX_OVERRIDDEN_ACCOUNTS, MAX_OVERRIDDEN_WORDS, MAX_OVERRIDING_CODE,
};
use serde_json::value::RawValue;

/// Largest chain id and block number: greater numbers lose digits in JavaScript.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Where an input was read: the block, and the calls with their published answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub chain_id: u64,
    pub block: BlockId,
    /// At least one call.
    pub calls: Vec<Call>,
    /// Number of operators that gave these answers, and of those that were asked, as the service states them.
    pub agreed: u32,
    pub asked: u32,
}

/// A call with its published answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub question: Question,
    /// `None` if the contract returned no answer.
    pub answer: Option<Vec<u8>>,
}

/// What is asked of a contract. Two calls with the same question at the same block have the same answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    Call {
        contract: Address,
        data: Vec<u8>,
    },
    Storage {
        contract: Address,
        slot: Word,
    },
    Code(Address),
    /// A call with overrides, or with an amount of gas of its own.
    Simulation(Simulation),
}

impl Question {
    /// The JSON-RPC method.
    pub fn method(&self) -> &'static str {
        match self {
            Question::Call { .. } | Question::Simulation(_) => "eth_call",
            Question::Storage { .. } => "eth_getStorageAt",
            Question::Code(_) => "eth_getCode",
        }
    }

    pub fn contract(&self) -> Address {
        match self {
            Question::Call { contract, .. } | Question::Storage { contract, .. } | Question::Code(contract) => {
                *contract
            }
            Question::Simulation(simulation) => simulation.contract,
        }
    }

    /// The call data or the slot, as published.
    pub fn data(&self) -> Option<String> {
        match self {
            Question::Call { data, .. } | Question::Simulation(Simulation { data, .. }) => Some(hex::encode(data)),
            Question::Storage { slot, .. } => Some(slot.to_string()),
            Question::Code(_) => None,
        }
    }

    /// The body of the request at `block`.
    pub fn body(&self, id: u64, block: BlockHash) -> String {
        match self {
            Question::Call { contract, data } => body::contract_call(id, *contract, data, body::QUESTION_GAS, block),
            Question::Storage { contract, slot } => body::storage_at(id, *contract, *slot, block),
            Question::Code(contract) => body::code(id, *contract, block),
            Question::Simulation(simulation) => body::simulation(id, simulation, block),
        }
    }
}

impl Evidence {
    /// Reads `evidence` of an input.
    pub fn read(evidence: &RawValue) -> Result<Self, Unreadable> {
        let members = members(evidence.get())?;
        let number = |name: &str| {
            let number = member::<u64>(&members, name).filter(|number| *number <= MAX_NUMBER);
            number.ok_or_else(|| fault(name, "must be an integer from 0 to 2^53 - 1"))
        };
        let count = |name: &str| member::<u32>(&members, name).ok_or_else(|| fault(name, "must be a count"));
        let hash = member::<String>(&members, "block_hash").and_then(|text| text.parse().ok());
        let hash = hash.ok_or_else(|| fault("block_hash", "must be 0x and 64 hex digits"))?;
        let calls: Vec<&RawValue> = member(&members, "calls").ok_or_else(|| fault("calls", "must be a list"))?;
        let evidence = Evidence {
            chain_id: number("chain_id")?,
            block: BlockId { number: number("block_number")?, hash },
            calls: calls
                .into_iter()
                .enumerate()
                .map(|(place, call)| Call::read(place, call))
                .collect::<Result<_, _>>()?,
            agreed: count("agreed")?,
            asked: count("asked")?,
        };
        if evidence.calls.is_empty() {
            return unreadable("`calls` is empty, so there is nothing to repeat");
        }
        if evidence.agreed > evidence.asked {
            return unreadable("`agreed` is greater than `asked`");
        }
        Ok(evidence)
    }
}

impl Call {
    /// Whether the call was made as if accounts had other code or storage.
    pub fn is_simulated(&self) -> bool {
        matches!(&self.question, Question::Simulation(simulation) if !simulation.overrides.0.is_empty())
    }

    fn read(place: usize, call: &RawValue) -> Result<Self, Unreadable> {
        let at = |name: &str| format!("calls[{place}].{name}");
        let members =
            members(call.get()).map_err(|why| Unreadable(format!("`calls[{place}]` cannot be read: {why}")))?;
        let method: CallMethod = member(&members, "method")
            .ok_or_else(|| fault(&at("method"), "must be eth_call, eth_getStorageAt or eth_getCode"))?;
        let contract: Option<Address> = member::<String>(&members, "contract").and_then(|text| text.parse().ok());
        let contract = contract.ok_or_else(|| fault(&at("contract"), "must be 0x and 40 hex digits"))?;
        let data = optional(&members, "data", &at)?;
        let answer = optional(&members, "answer", &at)?;
        // Without it, a call whose answer was left out would count as one that was refused.
        if members.get("answer").is_none() {
            return Err(fault(&at("answer"), "is missing"));
        }
        let overrides = overrides(&members, &at)?;
        let gas = gas(&members, &at)?;
        if method != CallMethod::Call && (overrides.is_some() || gas.is_some()) {
            let name = if gas.is_some() { "gas" } else { "overrides" };
            return Err(fault(&at(name), "must be absent unless the method is eth_call"));
        }
        let question = match method {
            CallMethod::Call => {
                let data = data.ok_or_else(|| fault(&at("data"), "must be the call data"))?;
                match (overrides, gas) {
                    (None, None) => Question::Call { contract, data },
                    (overrides, gas) => Question::Simulation(Simulation {
                        contract,
                        data,
                        gas: gas.unwrap_or(body::QUESTION_GAS),
                        overrides: overrides.unwrap_or_default(),
                    }),
                }
            }
            CallMethod::Storage => {
                let slot = data.and_then(|data| data.try_into().ok()).map(Word);
                let slot = slot.ok_or_else(|| fault(&at("data"), "must be a slot: 0x and 64 hex digits"))?;
                Question::Storage { contract, slot }
            }
            CallMethod::Code if data.is_none() => Question::Code(contract),
            CallMethod::Code => return Err(fault(&at("data"), "must be null for eth_getCode")),
        };
        let is_word = answer.as_ref().is_some_and(|answer| answer.len() == 32);
        if method != CallMethod::Call && !is_word {
            return Err(fault(&at("answer"), "must be 0x and 64 hex digits"));
        }
        Ok(Call { question, answer })
    }
}

/// Bytes, or `None` for null and for a member that is missing.
fn optional(members: &Members<'_>, name: &str, at: &impl Fn(&str) -> String) -> Result<Option<Vec<u8>>, Unreadable> {
    let Some(value) = members.get(name).filter(|value| value.get() != "null") else { return Ok(None) };
    bytes(&at(name), value).map(Some)
}

/// The gas of a call, or `None` if it is missing.
fn gas(members: &Members<'_>, at: &impl Fn(&str) -> String) -> Result<Option<u64>, Unreadable> {
    if members.get("gas").is_none() {
        return Ok(None);
    }
    let gas = member::<u64>(members, "gas").filter(|gas| (1..=MAX_CALL_GAS).contains(gas));
    gas.map(Some).ok_or_else(|| fault(&at("gas"), "must be an integer from 1 to 50000000"))
}
const _: () = assert!(MAX_CALL_GAS == 50_000_000);

/// The overrides of a call, or `None` if they are missing. Nothing in them may be left out of the repeated call, so that a member that is not
/// known here is refused.
fn overrides(members: &Members<'_>, at: &impl Fn(&str) -> String) -> Result<Option<Overrides>, Unreadable> {
    let Some(object) = members.get("overrides") else { return Ok(None) };
    let field = at("overrides");
    let mut overrides = Overrides::default();
    for (address, account) in inside(&field, object)?.iter() {
        let field = format!("{field}.{address}");
        let address: Address = address.parse().map_err(|_| fault(&field, "must be named by 0x and 40 hex digits"))?;
        if overrides.0.iter().any(|(other, _)| *other == address) {
            return Err(fault(&field, TWICE));
        }
        overrides.0.push((address, account_override(&field, account)?));
    }
    if !(1..=MAX_OVERRIDDEN_ACCOUNTS).contains(&overrides.0.len()) {
        return Err(fault(&field, "has no account, or too many"));
    }
    Ok(Some(overrides))
}

/// One address or slot may be written in two ways.
const TWICE: &str = "is named twice";

fn account_override(field: &str, object: &RawValue) -> Result<Override, Unreadable> {
    let mut account = Override::default();
    for (name, value) in inside(field, object)?.iter() {
        let field = format!("{field}.{name}");
        match name {
            "code" => account.code = Some(bytes(&field, value)?),
            "stateDiff" => {
                for (slot, value) in inside(&field, value)?.iter() {
                    let slot = word(&field, hex::decode(slot))?;
                    if account.state_diff.iter().any(|(other, _)| *other == slot) {
                        return Err(fault(&field, TWICE));
                    }
                    account.state_diff.push((slot, word(&field, bytes(&field, value).ok())?));
                }
            }
            _ => return Err(fault(&field, "is not known to this verifier")),
        }
    }
    let is_long = account.code.as_ref().is_some_and(|code| code.len() > MAX_OVERRIDING_CODE);
    if is_long || account.state_diff.len() > MAX_OVERRIDDEN_WORDS {
        return Err(fault(field, "has too long a code, or too many slots"));
    }
    Ok(account)
}

fn bytes(field: &str, value: &RawValue) -> Result<Vec<u8>, Unreadable> {
    let bytes = read::<String>(value).and_then(|text| hex::decode(&text));
    bytes.ok_or_else(|| fault(field, "must be 0x and an even number of hex digits"))
}

fn word(field: &str, bytes: Option<Vec<u8>>) -> Result<Word, Unreadable> {
    let word = bytes.and_then(|bytes| bytes.try_into().ok()).map(Word);
    word.ok_or_else(|| fault(field, "must have slots and words of 0x and 64 hex digits"))
}

/// The members of the object `name`.
fn inside<'a>(name: &str, object: &'a RawValue) -> Result<Members<'a>, Unreadable> {
    members(object.get()).map_err(|why| Unreadable(format!("`{name}` cannot be read: {why}")))
}

fn fault(name: &str, rule: &str) -> Unreadable {
    Unreadable(format!("`{name}` {rule}"))
}
