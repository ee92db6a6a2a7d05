//! What the service reads of the world, and what the node itself says about it.

use crate::node::{Contracts, Node, OLD, World};
use crate::proxy::Chain;
use rds_chain::abi::{Call, Function, Word};
use rds_chain::adapt::deposit_gate::{self, Trial};
use rds_chain::adapt::governance::{Answer, Code, Question};
use rds_chain::failure::Failure;
use rds_chain::plan::Limits;
use rds_chain::quorum::Verdict;
use rds_chain::reader::{Field, Outcome};
use rds_chain::simulation::Simulation;
use rds_chain::{Address, Block, body, hex, result};
use rds_rpc::agree::{Reader, Target};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that is true at the final block.
pub struct Truth {
    block: Block,
    newest: u64,
    earlier: Block,
    contracts: Vec<Address>,
    fields: Vec<Field>,
    outcomes: Vec<Outcome>,
    questions: Vec<(Question, Answer)>,
    vault_events: BTreeMap<Address, u64>,
    touched: BTreeSet<Address>,
}

/// What a reading showed.
#[derive(Debug, Default)]
pub struct Seen {
    /// False facts.
    pub wrong: Vec<String>,
    /// Number of true ones.
    pub agreed: u64,
    pub missing: Vec<String>,
    /// Operators that are said to contradict the others.
    pub named: BTreeSet<String>,
}

/// A block as the node itself names it.
pub async fn block(node: &Node, tag: Value) -> Block {
    let found = node.result("eth_getBlockByNumber", json!([tag, false])).await;
    result::block(&serde_json::value::to_raw_value(&found).unwrap()).unwrap()
}

/// What a contract answers whoever calls it without a sender, or the data of its refusal.
pub async fn direct(node: &Node, block: &Block, to: Address, data: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    let pin = json!({ "blockHash": block.id.hash.to_string() });
    let answer = node.ask("eth_call", json!([{"to": to.to_string(), "data": hex::encode(data)}, pin])).await;
    match answer.get("result") {
        Some(result) => Ok(bytes(result)),
        None => Err(answer["error"]["data"].as_str().map_or(Vec::new(), |data| hex::decode(data).unwrap())),
    }
}

/// A deposit and its redemption, and the token's balance at a right and at a wrong place.
fn simulations(world: &World) -> [Simulation; 3] {
    let slots = deposit_gate::candidates(deposit_gate::GATE);
    let (balance_slot, amount) = (slots[3], 1_000_000);
    let trial = Trial { vault: world.vault, asset: world.token, balance_slot, amount, call_gas: 3_000_000 };
    [
        trial.simulation(),
        deposit_gate::balance_simulation(world.token, balance_slot, amount),
        deposit_gate::balance_simulation(world.token, slots[0], amount),
    ]
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

impl Truth {
    pub async fn read(node: &Node, world: &World) -> Self {
        let last = block(node, json!("finalized")).await;
        let newest = block(node, json!("latest")).await.id.number;
        let earlier = block(node, json!(format!("{:#x}", last.id.number - 2 * OLD / 3))).await;
        let nobody = Address([0x77; 20]);
        let contracts = vec![world.token, world.vault, world.feed, world.timelock, nobody];
        let fields = vec![
            Field::new(Function::Asset),
            Field::new(Function::TotalAssets),
            Field::new(Function::TotalSupply),
            Field::new(Function::Decimals),
            Field::new(Function::Owner),
            Field::new(Function::Delay),
            Field::with(Function::MaxDeposit, Word::from_address(body::READER)),
            Field::with(Function::ConvertToAssets, Word::from_u128(1_000_000_000_000_000_000)),
        ];
        let pin = json!({ "blockHash": last.id.hash.to_string() });
        let mut outcomes = Vec::new();
        for contract in &contracts {
            for field in &fields {
                let answer = direct(node, &last, *contract, &field.calldata()).await;
                outcomes.push(answer.map_or_else(|data| Outcome::failed(&data), |data| Outcome::succeeded(&data)));
            }
        }
        let mut questions = Vec::new();
        for contract in [world.vault, world.timelock, nobody] {
            let code = bytes(&node.result("eth_getCode", json!([contract.to_string(), pin])).await);
            questions.push((Question::Code(contract), Answer::Code(Code::of(&code))));
            for slot in 0..4 {
                let slot = Word::from_u128(slot);
                let word = node.result("eth_getStorageAt", json!([contract.to_string(), slot.to_string(), pin])).await;
                let word = Word(bytes(&word).try_into().unwrap());
                questions.push((Question::Storage { contract, slot }, Answer::Storage(word)));
            }
        }
        let world_contracts = Contracts::of("world.json");
        let refused = world_contracts.data("Vault", "setCap(uint256)", Call::tuple().word(Word::ZERO));
        let of = |function: Function| Call::new(function.selector()).encode();
        for (contract, data) in [
            (world.vault, of(Function::Name)),
            (world.vault, of(Function::Owner)),
            (world.vault, of(Function::TotalAssets)),
            (world.vault, refused),
            (world.vault, of(Function::Governor)),
            (world.feed, of(Function::LatestRoundData)),
            (world.token, of(Function::Symbol)),
            (world.token, of(Function::TotalSupply)),
            (nobody, of(Function::Owner)),
        ] {
            let answer = direct(node, &last, contract, &data).await.map_err(|data| Failure::Reverted { data });
            questions.push((Question::Call { contract, data }, Answer::Call(answer)));
        }
        for simulation in simulations(world) {
            let request: Value = serde_json::from_str(&body::simulation(1, &simulation, last.id.hash)).unwrap();
            let answer = node.result("eth_call", request["params"].clone()).await;
            questions.push((Question::Simulation(simulation), Answer::Call(Ok(bytes(&answer)))));
        }
        questions.push((Question::RoleGrants(world.vault), Answer::RoleGrants(Vec::new())));
        let logs = async |topic: rds_chain::abi::Event| {
            let filter = json!([{"fromBlock": "0x0", "toBlock": format!("{:#x}", last.id.number), "topics": [topic.topic().to_string()]}]);
            node.result("eth_getLogs", filter).await.as_array().unwrap().clone()
        };
        let mut vault_events = BTreeMap::new();
        for event in [rds_chain::abi::Event::Deposit, rds_chain::abi::Event::Withdraw] {
            for log in logs(event).await {
                let number =
                    u64::from_str_radix(log["blockNumber"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
                let first = vault_events.entry(log["address"].as_str().unwrap().parse().unwrap()).or_insert(number);
                *first = number.min(*first);
            }
        }
        let moved = logs(rds_chain::abi::Event::OwnershipTransferred).await;
        let touched = moved.iter().map(|log| log["address"].as_str().unwrap().parse().unwrap()).collect();
        Truth { block: last, newest, earlier, contracts, fields, outcomes, questions, vault_events, touched }
    }

    /// What the proxies know. The older block is one in which the contracts answer otherwise.
    pub async fn chain(&self, node: &Node) -> Chain {
        Chain { node: node.url.clone(), newest: self.newest, older_hash: self.earlier.id.hash.to_string() }
    }

    /// Reads everything, and compares.
    pub async fn compare(&self, reader: &mut Reader) -> Seen {
        let mut seen = Seen::default();
        seen.block("the final block", reader.target().await.ok(), &self.block);
        seen.block("an earlier block", reader.block_at(self.earlier.id.number).await.ok(), &self.earlier);
        // Read at the true block whatever the operators name, so that every seed reads everything.
        let verdicts = reader.fields(&self.block, &self.contracts, &self.fields, Limits::default()).await;
        for (place, (verdict, truth)) in verdicts.iter().zip(&self.outcomes).enumerate() {
            let what = || format!("field {} of contract {}", place % self.fields.len(), place / self.fields.len());
            match verdict {
                Verdict::Agreed { value, dissenters, .. } => {
                    seen.fact(&what(), value, truth);
                    seen.named.extend(dissenters.iter().cloned());
                }
                Verdict::Disputed { .. } | Verdict::Missing { .. } => seen.missing.push(what()),
            }
        }
        let questions: Vec<Question> = self.questions.iter().map(|(question, _)| question.clone()).collect();
        for (answer, (question, truth)) in reader.answers(&self.block, &questions).await.iter().zip(&self.questions) {
            let what = format!("{question:?}");
            if answer.agreed == 0 {
                seen.missing.push(what);
            } else {
                seen.fact(&what, &answer.answer, truth);
                seen.named.extend(answer.dissenters.iter().cloned());
            }
        }
        match reader.used_vaults(&self.block, 0).await {
            Some(found) => seen.fact("the events of vaults", &found, &self.vault_events),
            None => seen.missing.push("the events of vaults".to_owned()),
        }
        // A contract too many only causes a reading; one too few is a change that is missed.
        let contracts = [self.contracts[0], self.contracts[1], self.contracts[3]];
        let touched = reader.touched(&self.block, 0, &contracts).await;
        if touched.is_superset(&self.touched) {
            seen.agreed += 1;
        } else {
            seen.wrong.push(format!("false: touched are {touched:?}, not {:?}", self.touched));
        }
        seen
    }
}

impl Seen {
    fn fact<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: &T, truth: &T) {
        if found == truth {
            self.agreed += 1;
        } else {
            self.wrong.push(format!("false: {what} is {found:?}, not {truth:?}"));
        }
    }

    fn block(&mut self, what: &str, found: Option<Target>, truth: &Block) {
        match found {
            // A lower final block is true as well.
            Some(target) if target.block.id.number < truth.id.number => self.missing.push(what.to_owned()),
            Some(target) => self.fact(what, &target.block, truth),
            None => self.missing.push(what.to_owned()),
        }
    }
}
