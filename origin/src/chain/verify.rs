//! Reads again what the store's readings cite: the same calls at the same block hash, from any providers.

use super::observed;
use rds_chain::abi::Word;
use rds_chain::adapt::governance::{Answer, Question};
use rds_chain::{Block, hex};
use rds_facts::{At, ReadField};
use rds_rpc::agree::Reader;
use rds_rpc::ask::AgreedAnswer;
use rds_shared::scoring::provenance::{CallMethod, ChainCall};
use rds_shared::wire::Timestamp;
use rds_store::chain_history::WithEvidence;
use serde::Serialize;
use serde_json::Value;

/// What repeating the calls showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every call gave the stored answer.
    Confirmed,
    /// A call gave another answer, or the block is another one.
    Contradicted,
    /// The providers do not answer, or the evidence cannot be repeated.
    NotCheckable,
}

impl Verdict {
    /// Name for operators.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Contradicted => "contradicted",
            Verdict::NotCheckable => "not checkable",
        }
    }
}

/// One input, read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadAgain {
    pub chain_id: u64,
    pub vault_id: String,
    /// The column, or `exposures`.
    pub field: String,
    pub block_number: i64,
    pub verdict: Verdict,
    /// Why the input is not confirmed.
    pub reason: Option<String>,
}

/// Reads the inputs again. Inputs of one block follow each other, so that its header is asked for once.
pub async fn read_again(reader: &Reader, inputs: &[WithEvidence]) -> Vec<ReadAgain> {
    let mut checked = Vec::with_capacity(inputs.len());
    let mut at: Option<(i64, Result<Block, String>)> = None;
    for input in inputs {
        let block = match &at {
            Some((number, block)) if *number == input.block_number => block.clone(),
            _ => {
                let block = header(reader, input.block_number).await;
                at = Some((input.block_number, block.clone()));
                block
            }
        };
        let (verdict, reason) = match block {
            Ok(block) => of_input(reader, &block, input).await,
            Err(reason) => (Verdict::NotCheckable, Some(reason)),
        };
        checked.push(ReadAgain {
            chain_id: reader.chain_id(),
            vault_id: input.vault_id.clone(),
            field: input.field.clone(),
            block_number: input.block_number,
            verdict,
            reason,
        });
    }
    checked
}

async fn header(reader: &Reader, number: i64) -> Result<Block, String> {
    let number = u64::try_from(number).map_err(|_| "the block has no number".to_owned())?;
    match reader.block_at(number).await {
        Ok(target) => Ok(target.block),
        Err(error) => Err(format!("block {number} is not known: {error}")),
    }
}

async fn of_input(reader: &Reader, block: &Block, input: &WithEvidence) -> (Verdict, Option<String>) {
    if block.id.hash.to_string() != input.block_hash {
        let reason = format!("block {} is {} and not {}", block.id.number, block.id.hash, input.block_hash);
        return (Verdict::Contradicted, Some(reason));
    }
    let calls: Option<Vec<(ChainCall, Question)>> = serde_json::from_value::<Vec<ChainCall>>(input.calls.clone())
        .ok()
        .and_then(|calls| calls.into_iter().map(|call| question(&call).map(|question| (call, question))).collect());
    let Some(calls) = calls else {
        return (Verdict::NotCheckable, Some("the evidence has a call that cannot be repeated".to_owned()));
    };
    let questions: Vec<Question> = calls.iter().map(|(_, question)| question.clone()).collect();
    let answers = reader.answers(block, &questions).await;
    let mut open = None;
    for ((call, question), answer) in calls.iter().zip(&answers) {
        match of_call(call, question, answer) {
            Ok(()) => {}
            Err((Verdict::Contradicted, reason)) => return (Verdict::Contradicted, Some(reason)),
            Err((_, reason)) => open = Some(reason),
        }
    }
    if open.is_none() && input.field == ReadField::DeployedAt.as_str() {
        return of_deployment(reader, block, &input.value, &questions).await;
    }
    (if open.is_some() { Verdict::NotCheckable } else { Verdict::Confirmed }, open)
}

/// The call as a question to a node; `None` if the store's text is no such call.
fn question(call: &ChainCall) -> Option<Question> {
    let contract = call.contract.parse().ok()?;
    let data = call.data.as_deref().map(hex::decode);
    if call.gas.is_some() || !call.overrides.is_empty() {
        return observed::simulation_of(call).map(Question::Simulation);
    }
    Some(match (call.method, data) {
        (CallMethod::Call, Some(data)) => Question::Call { contract, data: data? },
        (CallMethod::Storage, Some(slot)) => Question::Storage { contract, slot: Word(slot?.try_into().ok()?) },
        (CallMethod::Code, None) => Question::Code(contract),
        _ => return None,
    })
}

fn of_call(call: &ChainCall, question: &Question, answer: &AgreedAnswer) -> Result<(), (Verdict, String)> {
    if answer.agreed == 0 {
        let reason = match answer.dissenters.as_slice() {
            [] => "too few operators answered; they may have no state of this block".to_owned(),
            operators => format!("the operators contradict each other: {}", operators.join(", ")),
        };
        return Err((Verdict::NotCheckable, reason));
    }
    let found = answer.bytes.as_deref();
    let is_same = match (&call.answer, question) {
        // The contract refused, or answered with less than a word.
        (None, _) => found.is_none_or(|bytes| bytes.len() < WORD),
        // Of a call's answer, the first word may be all that was used.
        (Some(known), Question::Call { .. } | Question::Simulation(_)) => hex::decode(known).is_some_and(|known| {
            found.is_some_and(|found| found == known || (known.len() == WORD && found.starts_with(&known)))
        }),
        (Some(known), _) => hex::decode(known).as_deref() == found,
    };
    if is_same {
        return Ok(());
    }
    let shown = |bytes: Option<&[u8]>| bytes.map_or_else(|| "a refusal".to_owned(), short);
    let stored = call.answer.as_deref().and_then(hex::decode);
    let data = call.data.as_deref().and_then(hex::decode).map(|data| short(&data)).unwrap_or_default();
    let reason = format!("{} {data} gives {}, and not {}", call.contract, shown(found), shown(stored.as_deref()));
    Err((Verdict::Contradicted, reason))
}

/// Length of an EVM word in bytes.
const WORD: usize = 32;
/// Bytes that are shown of a longer text.
const SHOWN: usize = 36;

fn short(bytes: &[u8]) -> String {
    match bytes.get(..SHOWN) {
        Some(first) if bytes.len() > SHOWN => format!("{}…", hex::encode(first)),
        _ => hex::encode(bytes),
    }
}

/// The contract must have no code at the block before, and the value must be the block's time.
async fn of_deployment(reader: &Reader, block: &Block, value: &Value, code: &[Question]) -> (Verdict, Option<String>) {
    let time = i64::try_from(block.time).ok().map(|time| At(Timestamp::from_seconds(time)));
    if time.is_none() || serde_json::from_value::<At>(value.clone()).ok() != time {
        return (Verdict::Contradicted, Some(format!("the block's time is {} s, and not {value}", block.time)));
    }
    let Some(parent) = block.id.number.checked_sub(1) else { return (Verdict::Confirmed, None) };
    let parent = match reader.block_at(parent).await {
        Ok(parent) if parent.block.id.hash == block.parent => parent.block,
        Ok(_) => return (Verdict::Contradicted, Some("the block before is not its parent".to_owned())),
        Err(error) => return (Verdict::NotCheckable, Some(format!("the block before is not known: {error}"))),
    };
    for answer in reader.answers(&parent, code).await {
        match answer.answer {
            Answer::Code(code) if code.bytes == 0 => {}
            Answer::Code(_) => {
                return (Verdict::Contradicted, Some("the contract has code at the block before".to_owned()));
            }
            _ => return (Verdict::NotCheckable, Some("the state of the block before is not known".to_owned())),
        }
    }
    (Verdict::Confirmed, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_chain::failure::Failure;

    fn call(answer: Option<&str>) -> ChainCall {
        ChainCall {
            method: CallMethod::Call,
            contract: format!("0x{:040x}", 0xa1),
            data: Some("0x01e1d114".to_owned()),
            answer: answer.map(ToOwned::to_owned),
            overrides: Default::default(),
            gas: None,
        }
    }

    fn verdict(call: &ChainCall, bytes: Option<Vec<u8>>, agreed: usize) -> Verdict {
        let answer = AgreedAnswer { answer: Answer::Failed(Failure::Transport), bytes, agreed, dissenters: Vec::new() };
        of_call(call, &question(call).unwrap(), &answer).map_or_else(|(verdict, _)| verdict, |()| Verdict::Confirmed)
    }

    #[test]
    fn the_first_word_or_the_whole_answer_must_be_the_same() {
        let word = [7; 32];
        let stored = call(Some(&hex::encode(&word)));
        assert_eq!(verdict(&stored, Some(word.to_vec()), 2), Verdict::Confirmed);
        assert_eq!(verdict(&stored, Some([word, word].concat()), 2), Verdict::Confirmed);
        assert_eq!(verdict(&stored, Some([[8; 32], word].concat()), 2), Verdict::Contradicted);
        assert_eq!(verdict(&stored, None, 2), Verdict::Contradicted, "the contract refuses");
        assert_eq!(verdict(&stored, None, 0), Verdict::NotCheckable, "nobody answered");
        let whole = call(Some(&hex::encode(&[7; 64])));
        assert_eq!(verdict(&whole, Some([7; 96].to_vec()), 2), Verdict::Contradicted);
    }

    #[test]
    fn a_refusal_is_confirmed_by_a_refusal_or_by_less_than_a_word() {
        assert_eq!(verdict(&call(None), None, 2), Verdict::Confirmed);
        assert_eq!(verdict(&call(None), Some(Vec::new()), 2), Verdict::Confirmed);
        assert_eq!(verdict(&call(None), Some([0; 32].to_vec()), 2), Verdict::Contradicted);
    }
}
