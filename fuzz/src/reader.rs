//! Property of the decoder of the chain reader's answers.

use rds_chain::abi::{Function, Word};
use rds_chain::reader::{Answer, Field, NumberSource, Request};
use rds_chain::{Address, Block, BlockHash, BlockId};

const CHAIN: u64 = 1;

/// An accepted answer belongs to the requested block, and its outcomes are the data's records.
pub fn holds(data: &[u8]) {
    let [fields, contracts, has_header, rest @ ..] = data else { return };
    let (fields, contracts) = (usize::from(fields % 4) + 1, contracts % 8);
    let list = vec![Field::new(Function::Asset); fields];
    let contracts: Vec<Address> = (0..contracts).map(|number| Address([number; 20])).collect();
    let Ok(request) = Request::new(NumberSource::Opcodes, 1, list, contracts) else { return };
    let block =
        Block { id: BlockId { number: 7, hash: BlockHash([1; 32]) }, parent: BlockHash([2; 32]), time: 1_700_000_000 };
    // Most inputs get a correct header, so that the records are reached.
    let mut answer = Vec::new();
    if has_header % 4 != 0 {
        let time = Word::from_u128(block.time.into());
        let header =
            [Word::from_u128(7), Word([2; 32]), time, Word::from_u128(1), Word::from_u128(9), Word::from_u128(5)];
        answer.extend(header.iter().flat_map(|word| word.0));
    }
    answer.extend_from_slice(rest);
    let Ok(read) = Answer::decode(&request, &block, CHAIN, &answer) else { return };
    assert_eq!(answer[..32], Word::from_u128(7).0);
    assert_eq!(answer[32..64], block.parent.0);
    let records: Vec<u8> = read
        .by_contract()
        .flatten()
        .flat_map(|outcome| core::iter::once(outcome.status as u8).chain(outcome.word.0))
        .collect();
    assert!(answer[192..].starts_with(&records));
    let left = answer.len() - 192 - records.len();
    assert!(left.is_multiple_of(33) && left / 33 < fields, "only the calls of one incomplete contract are left out");
    let again = read.ask_again(&request);
    assert_eq!(again.contracts.len() + read.contracts_answered(), request.contracts().len());
}
