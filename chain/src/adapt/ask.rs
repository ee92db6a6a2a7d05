//! Asking questions whose answers have more than one word: one by one, or several together through Multicall3.

use super::question::{Answers, Question};
use crate::abi::{AbiError, Data};
use crate::block::{Address, BlockHash};
use crate::hex;
use crate::plan::multicall3::{self, MULTICALL3};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// `eth_call` of one question, at the block with the hash `block`.
pub fn single(id: u64, question: &Question, gas: u64, block: BlockHash) -> String {
    body(id, question.contract(), &question.calldata(), gas, block)
}

/// `eth_call` of several questions through Multicall3, at the block with the hash `block`.
pub fn together(id: u64, questions: &[Question], gas: u64, block: BlockHash) -> String {
    let calls: Vec<_> = questions.iter().map(|question| (question.contract(), question.calldata())).collect();
    body(id, MULTICALL3, &multicall3::encode(&calls), gas, block)
}

fn body(id: u64, to: Address, data: &[u8], gas: u64, block: BlockHash) -> String {
    let data = hex::encode(data);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_call","params":[{{"to":"{to}","data":"{data}","gas":"{gas:#x}"}},{{"blockHash":"{block}"}}]}}"#
    )
}

/// Records the answer to [`together`]. The returned questions failed, perhaps because an earlier one had used up the gas: they are to be
/// asked one by one. Error: the answer is damaged, or has another number of results; nothing is recorded then.
pub fn record_together(
    answers: &mut Answers,
    questions: &[Question],
    answer: &[u8],
) -> Result<Vec<Question>, AbiError> {
    let results = Data::new(answer).dynamic_tuples(0, questions.len())?;
    if results.len() != questions.len() {
        return Err(AbiError::Truncated);
    }
    let read = |result: Data<'_>| Ok((result.word(0)?.to_bool()?, result.bytes(1, usize::MAX)?.to_vec()));
    let results: Vec<(bool, Vec<u8>)> = results.into_iter().map(read).collect::<Result<_, AbiError>>()?;
    let mut failed = Vec::new();
    for (question, (is_ok, data)) in questions.iter().zip(results) {
        if is_ok { answers.insert(question.clone(), Ok(data)) } else { failed.push(question.clone()) }
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{Call, Function, Word};
    use crate::adapt::Unknown;
    use serde_json::Value;

    fn questions() -> [Question; 2] {
        [Function::Caps, Function::LtvList].map(|function| Question::new(Address([7; 20]), function))
    }

    fn answer(results: &[(bool, &[u8])]) -> Vec<u8> {
        let tuple = |(ok, data): &(bool, &[u8])| Call::tuple().word(Word::from_bool(*ok)).bytes(data).encode();
        Call::tuple().dynamic_tuples(&results.iter().map(tuple).collect::<Vec<_>>()).encode()
    }

    #[test]
    fn whole_answers_are_recorded_and_failed_questions_are_given_back() {
        let (mut answers, [caps, list]) = (Answers::new(), questions());
        let data = answer(&[(true, &[0; 64]), (false, &[1; 4])]);
        assert_eq!(record_together(&mut answers, &questions(), &data), Ok([list.clone()].into()));
        assert_eq!(answers.words::<2>(&caps), Ok([Word::ZERO; 2]));
        assert_eq!(answers.word(&list), Err(Unknown::Unread));
    }

    #[test]
    fn a_damaged_answer_records_nothing() {
        let mut answers = Answers::new();
        for data in [answer(&[(true, &[0; 64])]), answer(&[(true, &[0; 64]), (true, &[])])[..200].to_vec(), Vec::new()]
        {
            assert!(record_together(&mut answers, &questions(), &data).is_err());
        }
        assert_eq!(answers, Answers::new());
    }

    #[test]
    fn every_body_names_the_block_by_hash() {
        let [caps, list] = questions();
        let block = BlockHash([9; 32]);
        for (body, to) in [
            (single(3, &caps, 100_000, block), Address([7; 20])),
            (together(3, &[caps.clone(), list], 100_000, block), MULTICALL3),
        ] {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["params"][0]["to"], hex::encode(&to.0));
            assert_eq!(body["params"][1]["blockHash"], hex::encode(&block.0));
        }
    }
}
