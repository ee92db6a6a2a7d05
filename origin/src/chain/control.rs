//! Who controls a vault, and after which delay.

use super::observed::{self, AgreedCall, ReadBlock};
use rds_chain::abi::Function;
use rds_chain::adapt::governance::{Controlled, Delay, Graph, Options, Question, Signers, Walk};
use rds_chain::{Address, Block};
use rds_facts::{ChainReading, ReadField};
use rds_rpc::agree::Reader;
use rds_rpc::ask::AgreedAnswer;
use rds_rpc::reads::Adapter;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Most calls that are kept as evidence of one input.
const MAX_EVIDENCE: usize = 48;

/// Who controls the vault at `block`, as readings. A field that is not understood has the value null.
///
/// Empty if the providers did not answer: then nothing is known, and an earlier reading stays.
pub(super) async fn read(
    reader: &Reader,
    block: &Block,
    at: &ReadBlock,
    vault_id: &str,
    contract: Address,
    options: Options,
    dissent: &mut BTreeMap<String, u64>,
) -> Vec<ChainReading> {
    let Some((graph, asked)) = walk(reader, block, contract, options, dissent).await else { return Vec::new() };
    let controlled = graph.weakest();
    let seen = evidence(contract, &controlled, &asked);
    let from: Vec<&AgreedCall> = seen.iter().collect();
    let values = [
        (ReadField::IsImmutable, is_immutable(&controlled)),
        (ReadField::TimelockSeconds, timelock(&controlled)),
        (ReadField::Signers, signers(&controlled)),
    ];
    values.into_iter().filter_map(|(field, value)| at.reading(vault_id, field, value, &from)).collect()
}

/// Questions of a walk with their answers, in the order in which they were asked.
pub(super) type Asked = Vec<(Question, AgreedAnswer)>;

/// The controllers of a contract at `block`. `None` if the providers did not answer every question.
pub(super) async fn walk(
    reader: &Reader,
    block: &Block,
    contract: Address,
    options: Options,
    dissent: &mut BTreeMap<String, u64>,
) -> Option<(Graph, Asked)> {
    let mut walk = Walk::new(contract, options);
    let mut asked = Asked::new();
    while walk.finished().is_none() {
        let open: Vec<Question> = walk.next().cloned().collect();
        let answers = reader.answers(block, &open).await;
        for (question, answer) in open.into_iter().zip(answers) {
            // The question is open, and the answer is of its kind.
            let _ = walk.record(&question, answer.answer.clone());
            for operator in &answer.dissenters {
                *dissent.entry(operator.clone()).or_default() += 1;
            }
            asked.push((question, answer));
        }
    }
    if asked.iter().any(|(_, answer)| answer.agreed == 0) {
        return None;
    }
    Some((walk.finished()?.clone(), asked))
}

/// How the owners of a protocol's vaults are named, and how long the vault itself makes them wait.
///
/// In MetaMorpho the owner and the curator can raise the risk, after the vault's own delay; fees and the division among markets that are
/// already allowed change at once. In Morpho Vault V2 the curator can, whom the owner appoints at once; allocators only divide.
pub(super) fn options(adapter: Adapter, own_delay: u64) -> Options {
    let more_owners = match adapter {
        Adapter::Metamorpho | Adapter::MorphoVaultV2 => vec![Function::Curator],
        Adapter::EulerV2 => vec![Function::GovernorAdmin],
        Adapter::YearnV3 => vec![Function::RoleManager],
        Adapter::Erc4626 | Adapter::Erc7540 | Adapter::AaveV3 | Adapter::CompoundV3 => Vec::new(),
    };
    Options { more_owners, own_delay, ..Options::default() }
}

fn is_immutable(controlled: &Controlled) -> Value {
    match controlled.timelock {
        Delay::Immutable => json!(true),
        Delay::Seconds(_) => json!(false),
        Delay::Unknown => Value::Null,
    }
}

fn timelock(controlled: &Controlled) -> Value {
    match controlled.timelock {
        Delay::Seconds(seconds) => json!(seconds),
        Delay::Immutable | Delay::Unknown => Value::Null,
    }
}

fn signers(controlled: &Controlled) -> Value {
    match controlled.signers {
        Signers::Threshold { needed: 1, of: 1 } => json!("eoa"),
        Signers::Threshold { needed, of } => json!({"threshold": needed, "owners": of}),
        Signers::Immutable | Signers::Unknown => Value::Null,
    }
}

/// The calls of the vault and of the controllers on the weakest way that returned something, in the order in which they were asked. What was
/// asked and answered with nothing is left out; so are other ways, which are no weaker.
pub(super) fn evidence(
    contract: Address,
    controlled: &Controlled,
    asked: &[(Question, AgreedAnswer)],
) -> Vec<AgreedCall> {
    let on_the_way: BTreeSet<Address> =
        std::iter::once(contract).chain(controlled.path.iter().map(|step| step.address)).collect();
    let concerned = |question: &Question| {
        match question {
            Question::Code(contract) | Question::RoleGrants(contract) => contract,
            Question::Storage { contract, .. } | Question::Call { contract, .. } => contract,
            Question::Simulation(call) => &call.contract,
        }
        .to_owned()
    };
    let says_something =
        |answer: &AgreedAnswer| answer.bytes.as_ref().is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0));
    asked
        .iter()
        .filter(|(question, answer)| on_the_way.contains(&concerned(question)) && says_something(answer))
        .filter_map(|(question, answer)| observed::question(question, answer))
        .take(MAX_EVIDENCE)
        .collect()
}
