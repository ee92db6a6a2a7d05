//! What is read of one token.

use super::super::control;
use super::super::observed::{self, AgreedCall, AgreedField};
use super::super::state::{self, States};
use super::mapping::{Powers, Topic};
use rds_chain::abi::Function;
use rds_chain::adapt::governance::{Answer, Controlled, Delay, Link, Options, Question, Signers};
use rds_chain::adapt::token::{self, Token};
use rds_chain::body::READER;
use rds_chain::{Address, Block};
use rds_rpc::agree::Reader;
use std::collections::{BTreeMap, BTreeSet};

/// The functions that name who may mint.
const MINTERS: [Function; 2] = [Function::Minter, Function::MasterMinter];

/// What was read of one token, with the calls behind it.
pub(super) struct Seen {
    pub powers: Powers,
    /// The calls of the weakest way.
    pub control: Vec<AgreedCall>,
    pub freezing: Vec<AgreedCall>,
    pub pausing: Vec<AgreedCall>,
    /// A minter, and that it is an account with a key.
    pub minting: Vec<AgreedCall>,
}

impl Seen {
    /// The calls that the answer to a question follows from.
    pub fn calls(&self, topic: Topic) -> &[AgreedCall] {
        match topic {
            Topic::Upgrade | Topic::Delay | Topic::Holders => &self.control,
            Topic::HolderPower if self.powers.is_upgradeable == Some(true) && self.powers.is_controlled => {
                &self.control
            }
            Topic::HolderPower if self.powers.can_freeze => &self.freezing,
            Topic::HolderPower => &self.pausing,
            Topic::MintControl => &self.minting,
        }
    }

    /// What the answer to a question says in words.
    pub fn note(&self, topic: Topic) -> String {
        match topic {
            Topic::MintControl => "the minter that the token names is an account with a key".to_owned(),
            Topic::HolderPower if self.powers.is_upgradeable != Some(true) && self.powers.can_freeze => {
                "the token has a function that says who is frozen".to_owned()
            }
            Topic::HolderPower if self.powers.is_upgradeable != Some(true) => {
                "the token has a function that says whether transfers are stopped".to_owned()
            }
            _ => way(&self.powers.controlled),
        }
    }

    /// The contracts on the weakest way. The token itself is always among them.
    pub fn contracts(&self, token: Address) -> BTreeSet<String> {
        let on_the_way = self.powers.controlled.path.iter().map(|step| step.address.to_string());
        std::iter::once(token.to_string()).chain(on_the_way).collect()
    }
}

/// Reads the tokens, in their order. `None` for a token about which the providers did not answer everything.
pub(super) async fn read(
    reader: &mut Reader,
    block: &Block,
    tokens: &[Address],
    dissent: &mut BTreeMap<String, u64>,
) -> Vec<Option<Seen>> {
    let mut states = States::default();
    let asked = token::fields(READER);
    let fields = state::fields(reader, block, tokens, &asked, &mut states).await;
    for (operator, answers) in states.dissent {
        *dissent.entry(operator).or_default() += answers;
    }
    let functions: Vec<Option<Function>> =
        asked.iter().map(|field| functions().find(|it| field.calldata().starts_with(&it.selector()))).collect();
    let mut seen = Vec::with_capacity(tokens.len());
    for (contract, fields) in tokens.iter().zip(&fields) {
        let named: Vec<(Function, &AgreedField)> =
            functions.iter().zip(fields).filter_map(|(function, field)| Some(((*function)?, field))).collect();
        seen.push(one(reader, block, *contract, fields, &named, dissent).await);
    }
    seen
}

/// The functions whose answers are evidence.
fn functions() -> impl Iterator<Item = Function> {
    MINTERS.into_iter().chain(token::FREEZING).chain([Function::Paused])
}

async fn one(
    reader: &Reader,
    block: &Block,
    contract: Address,
    fields: &[AgreedField],
    named: &[(Function, &AgreedField)],
    dissent: &mut BTreeMap<String, u64>,
) -> Option<Seen> {
    if fields.iter().any(|field| field.reading.is_none()) {
        return None;
    }
    let (graph, asked) = control::walk(reader, block, contract, Options::default(), dissent).await?;
    let readings: Vec<_> = fields.iter().map(|field| field.reading.clone()).collect();
    let token = Token::from_readings(&readings);
    let minting = minter(reader, block, named, dissent).await?;
    let powers = Powers::new(&graph, &token, !minting.is_empty());
    let control = control::evidence(contract, &powers.controlled, &asked);
    let found = token.freezing.unwrap_or_default();
    let calls = |is_meant: &dyn Fn(Function) -> bool| -> Vec<AgreedCall> {
        named.iter().filter(|(function, _)| is_meant(*function)).filter_map(|(_, field)| field.seen.clone()).collect()
    };
    let freezing = calls(&|function| found.contains(&function));
    let pausing = calls(&|function| function == Function::Paused);
    Some(Seen { powers, control, freezing, pausing, minting })
}

/// The calls that show a minter who is an account with a key; none if the token names no such minter. `None` if the providers did not
/// answer.
async fn minter(
    reader: &Reader,
    block: &Block,
    named: &[(Function, &AgreedField)],
    dissent: &mut BTreeMap<String, u64>,
) -> Option<Vec<AgreedCall>> {
    for (_, field) in named.iter().filter(|(function, _)| MINTERS.contains(function)) {
        let minter = state::word(field).and_then(|word| word.to_address().ok()).filter(|it| *it != Address::ZERO);
        let (Some(minter), Some(seen)) = (minter, &field.seen) else { continue };
        let question = Question::Code(minter);
        let answer = reader.answers(block, std::slice::from_ref(&question)).await.into_iter().next()?;
        for operator in &answer.dissenters {
            *dissent.entry(operator.clone()).or_default() += 1;
        }
        let code = observed::question(&question, &answer)?;
        if let Answer::Code(facts) = &answer.answer
            && facts.is_account()
        {
            return Some(vec![seen.clone(), code]);
        }
    }
    Some(Vec::new())
}

/// The weakest way in words.
fn way(controlled: &Controlled) -> String {
    let step = |link: Link| match link {
        Link::ProxyAdmin => "administrator of the proxy",
        Link::Beacon => "beacon",
        Link::Owner => "owner",
        Link::Role(_) => "holder of a role",
    };
    let mut text = "the weakest way to change the token".to_owned();
    for it in &controlled.path {
        text.push_str(&format!(", {} {}", step(it.link), it.address));
    }
    if let Signers::Threshold { needed, of } = controlled.signers {
        text.push_str(&format!(", {needed} of {of} keys"));
    }
    if let Delay::Seconds(seconds) = controlled.timelock {
        text.push_str(&format!(", after {seconds} s"));
    }
    text
}
