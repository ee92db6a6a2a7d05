//! The reader's answer, and the check that it belongs to the requested block.
//!
//! | bytes | content |
//! |---|---|
//! | 32 | block number |
//! | 32 | hash of the parent block |
//! | 32 | timestamp of the block |
//! | 32 | chain id |
//! | 32 | gas that the program started with |
//! | 32 | gas that was left at its end |
//! | 33 a call | [`Status`], then the first word of the return data, filled up with zeros |

use super::program::HEADER_BYTES;
use super::request::Request;
use crate::abi::Word;
use crate::block::{Address, Block, BlockHash};
use alloc::vec::Vec;
use core::fmt;

/// Length of the answer to one call: a status and a word.
pub const RECORD_BYTES: usize = 33;

/// How a call ended. 0 is not a status, so an answer that was filled up with zeros is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Status {
    /// The contract returned at least 32 bytes.
    Returned = 1,
    /// The call succeeded with fewer than 32 bytes. An address without code answers like this, with nothing.
    ReturnedShort = 2,
    /// The contract reverted and gave a reason.
    Reverted = 3,
    /// The call failed without return data: a revert without reason, an invalid instruction, or the gas cap was reached.
    FailedEmpty = 4,
}

impl Status {
    fn from_byte(byte: u8) -> Option<Self> {
        [Status::Returned, Status::ReturnedShort, Status::Reverted, Status::FailedEmpty]
            .into_iter()
            .find(|status| *status as u8 == byte)
    }
}

/// The answer to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome {
    /// How the call ended.
    pub status: Status,
    /// The first 32 bytes of the return data, or of a revert's reason; missing bytes are zero.
    pub word: Word,
}

impl Outcome {
    /// The outcome of a call that succeeded with this return data.
    pub fn succeeded(data: &[u8]) -> Self {
        Self { status: if data.len() >= 32 { Status::Returned } else { Status::ReturnedShort }, word: first_word(data) }
    }

    /// The outcome of a call that failed with this return data.
    pub fn failed(data: &[u8]) -> Self {
        Self { status: if data.is_empty() { Status::FailedEmpty } else { Status::Reverted }, word: first_word(data) }
    }

    /// The returned word; `None` unless the call returned a whole one.
    pub fn returned(self) -> Option<Word> {
        (self.status == Status::Returned).then_some(self.word)
    }
}

/// A part of the answer's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderField {
    /// The block's number.
    Number,
    /// The hash of the parent block.
    Parent,
    /// The block's timestamp.
    Time,
    /// The chain id.
    Chain,
}

/// Why an answer is refused as a whole. None of its calls may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerError {
    /// The length is not that of a header and whole records.
    Length,
    /// There are more records than calls.
    TooManyRecords,
    /// A record's status is not one of [`Status`].
    UnknownStatus,
    /// A status and its word contradict each other, or the gas grew: the reader does not write such an answer.
    Inconsistent,
    /// The EVM ran at another block or on another chain than requested.
    WrongBlock(HeaderField),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerError::Length => f.write_str("the answer's length is not that of whole records"),
            AnswerError::TooManyRecords => f.write_str("the answer has more records than the request has calls"),
            AnswerError::UnknownStatus => f.write_str("a record has an unknown status"),
            AnswerError::Inconsistent => f.write_str("the answer contradicts itself"),
            AnswerError::WrongBlock(field) => write!(f, "the answer is of another block: {field:?} differs"),
        }
    }
}

impl core::error::Error for AnswerError {}

/// A complete or short answer of the requested block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Gas that the program started with: the provider's limit, less the cost of the request's bytes.
    pub gas_at_start: u64,
    /// Gas that was left when the program stopped.
    pub gas_at_end: u64,
    fields: usize,
    /// The answered calls; the last contract's may be incomplete.
    outcomes: Vec<Outcome>,
}

/// What a request's answer leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskAgain {
    /// Contracts of which at least one field was not answered. All their fields are asked again.
    pub contracts: Vec<Address>,
    /// Calls that failed without data, as contract and index of the field. Asked with more gas, they show whether gas was the cause.
    pub failed: Vec<(Address, usize)>,
}

impl Answer {
    /// Reads the answer to `request`, which was asked at `block` of the chain `chain_id`.
    pub fn decode(request: &Request, block: &Block, chain_id: u64, data: &[u8]) -> Result<Self, AnswerError> {
        let (header, records) = data.split_first_chunk::<HEADER_BYTES>().ok_or(AnswerError::Length)?;
        let (records, rest) = records.as_chunks::<RECORD_BYTES>();
        if !rest.is_empty() {
            return Err(AnswerError::Length);
        }
        let (gas_at_start, gas_at_end) = check_header(header, block, chain_id)?;
        if records.len() > request.calls() {
            return Err(AnswerError::TooManyRecords);
        }
        let outcomes = records.iter().map(read_record).collect::<Result<_, _>>()?;
        Ok(Self { gas_at_start, gas_at_end, fields: request.fields().len(), outcomes })
    }

    /// Number of contracts of which every field was answered: the first ones of the request.
    pub fn contracts_answered(&self) -> usize {
        self.outcomes.len().checked_div(self.fields).unwrap_or(0)
    }

    /// The outcomes of each answered contract, in the request's order of fields.
    pub fn by_contract(&self) -> impl Iterator<Item = &[Outcome]> {
        self.outcomes.chunks_exact(self.fields.max(1))
    }

    /// Number of fields of each contract.
    pub fn fields(&self) -> usize {
        self.fields
    }

    /// Gas that the program used.
    pub fn gas_used(&self) -> u64 {
        self.gas_at_start.saturating_sub(self.gas_at_end)
    }

    /// What has to be asked again. `request` is the one that this answer was decoded with.
    pub fn ask_again(&self, request: &Request) -> AskAgain {
        let mut failed = Vec::new();
        for (contract, outcomes) in request.contracts().iter().zip(self.by_contract()) {
            let empty = outcomes.iter().enumerate().filter(|(_, outcome)| outcome.status == Status::FailedEmpty);
            failed.extend(empty.map(|(field, _)| (*contract, field)));
        }
        AskAgain { contracts: request.contracts().iter().skip(self.contracts_answered()).copied().collect(), failed }
    }
}

fn first_word(data: &[u8]) -> Word {
    let mut word = Word::ZERO;
    word.0.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
    word
}

/// Compares the header with the requested block and returns the gas at the start and at the end.
fn check_header(header: &[u8; HEADER_BYTES], block: &Block, chain_id: u64) -> Result<(u64, u64), AnswerError> {
    let (words, _) = header.as_chunks::<32>();
    let &[number, parent, time, chain, start, end] = words else { return Err(AnswerError::Length) };
    for (word, expected, field) in [
        (chain, chain_id, HeaderField::Chain),
        (number, block.id.number, HeaderField::Number),
        (time, block.time, HeaderField::Time),
    ] {
        if Word(word).to_u64() != Ok(expected) {
            return Err(AnswerError::WrongBlock(field));
        }
    }
    if BlockHash(parent) != block.parent {
        return Err(AnswerError::WrongBlock(HeaderField::Parent));
    }
    match (Word(start).to_u64(), Word(end).to_u64()) {
        (Ok(start), Ok(end)) if start >= end => Ok((start, end)),
        _ => Err(AnswerError::Inconsistent),
    }
}

fn read_record(record: &[u8; RECORD_BYTES]) -> Result<Outcome, AnswerError> {
    let (status, word) = record.split_first_chunk::<1>().ok_or(AnswerError::Length)?;
    let word = Word(word.try_into().map_err(|_| AnswerError::Length)?);
    let [status] = *status;
    let status = Status::from_byte(status).ok_or(AnswerError::UnknownStatus)?;
    // Without return data the word stays zero; a short answer leaves the last byte zero.
    let [.., last] = word.0;
    let possible = match status {
        Status::Returned | Status::Reverted => true,
        Status::ReturnedShort => last == 0,
        Status::FailedEmpty => word == Word::ZERO,
    };
    if possible { Ok(Outcome { status, word }) } else { Err(AnswerError::Inconsistent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Function;
    use crate::block::BlockId;
    use crate::reader::{Field, NumberSource};
    use alloc::vec;

    const BLOCK: Block = Block {
        id: BlockId { number: 100, hash: BlockHash([1; 32]) },
        parent: BlockHash([2; 32]),
        time: 1_700_000_000,
    };

    fn request(contracts: u8) -> Request {
        let fields = vec![Field::new(Function::Asset), Field::new(Function::Decimals)];
        let contracts = (0..contracts).map(|number| Address([number; 20])).collect();
        Request::new(NumberSource::Opcodes, 100_000, fields, contracts).unwrap()
    }

    fn answer(statuses: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        let words = [Word::from_u128(100), Word([2; 32]), Word::from_u128(1_700_000_000), Word::from_u128(1)];
        for word in words.into_iter().chain([Word::from_u128(9_000), Word::from_u128(4_000)]) {
            data.extend(word.0);
        }
        for status in statuses {
            data.push(*status);
            data.extend([0; 32]);
        }
        data
    }

    #[test]
    fn a_short_answer_keeps_whole_contracts_and_names_the_rest() {
        let request = request(4);
        let answer = Answer::decode(&request, &BLOCK, 1, &answer(&[1, 2, 4, 3, 1])).unwrap();
        assert_eq!((answer.contracts_answered(), answer.gas_used()), (2, 5_000));
        let again = answer.ask_again(&request);
        assert_eq!(again.contracts, [Address([2; 20]), Address([3; 20])]);
        assert_eq!(again.failed, [(Address([1; 20]), 0)]);
    }

    #[test]
    fn an_answer_of_another_block_or_chain_is_refused() {
        let request = request(1);
        let wrong = |at: usize| {
            let mut data = answer(&[1, 1]);
            data[at] ^= 1;
            Answer::decode(&request, &BLOCK, 1, &data).map(|answer| answer.contracts_answered())
        };
        assert_eq!(wrong(31), Err(AnswerError::WrongBlock(HeaderField::Number)));
        assert_eq!(wrong(0), Err(AnswerError::WrongBlock(HeaderField::Number)));
        assert_eq!(wrong(40), Err(AnswerError::WrongBlock(HeaderField::Parent)));
        assert_eq!(wrong(95), Err(AnswerError::WrongBlock(HeaderField::Time)));
        assert_eq!(wrong(127), Err(AnswerError::WrongBlock(HeaderField::Chain)));
    }

    #[test]
    fn an_answer_that_the_reader_cannot_have_written_is_refused() {
        let request = request(1);
        let decode = |data: &[u8]| Answer::decode(&request, &BLOCK, 1, data).map(|answer| answer.contracts_answered());
        assert_eq!(decode(&[]), Err(AnswerError::Length));
        assert_eq!(decode(&answer(&[1, 1])[..257]), Err(AnswerError::Length));
        assert_eq!(decode(&answer(&[1, 1, 1])), Err(AnswerError::TooManyRecords));
        assert_eq!(decode(&answer(&[1, 0])), Err(AnswerError::UnknownStatus));
        assert_eq!(decode(&answer(&[1, 5])), Err(AnswerError::UnknownStatus));
        for (status, expected) in [(4, Err(AnswerError::Inconsistent)), (2, Err(AnswerError::Inconsistent)), (1, Ok(1))]
        {
            let mut data = answer(&[1, status]);
            *data.last_mut().unwrap() = 1;
            assert_eq!(decode(&data), expected, "{status}");
        }
        let mut data = answer(&[1, 1]);
        data[HEADER_BYTES - 25] = 1;
        assert_eq!(decode(&data), Err(AnswerError::Inconsistent), "gas of more than 64 bits");
        let mut data = answer(&[1, 1]);
        data[158..160].copy_from_slice(&3_999_u16.to_be_bytes());
        assert_eq!(decode(&data), Err(AnswerError::Inconsistent), "more gas at the end than at the start");
    }

    #[test]
    fn the_answer_to_a_request_without_calls_is_the_header_alone() {
        let request = Request::header_only(NumberSource::Opcodes);
        let read = Answer::decode(&request, &BLOCK, 1, &answer(&[])).unwrap();
        assert_eq!((read.contracts_answered(), read.by_contract().count()), (0, 0));
        assert_eq!(Answer::decode(&request, &BLOCK, 1, &answer(&[1])), Err(AnswerError::TooManyRecords));
    }
}
