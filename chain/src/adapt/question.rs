//! Questions to contracts, and what was answered.
//!
//! The reader returns one word a call. Many functions of lending protocols return several, or a list: these are asked by calls of their
//! own, or through Multicall3. An adapter therefore names [`Question`]s; [`Question::field`] says which of them the reader can answer.
//! The adapter then looks for the answers in [`Answers`], whichever way they came.

use super::{Unknown, Value};
use crate::abi::{Call, Data, Function, Word};
use crate::block::Address;
use crate::failure::Failure;
use crate::plan::Reading;
use crate::reader::{Field, Status};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A longer answer than this is implausible: more than 500 words.
pub const MAX_ANSWER_BYTES: usize = 16_384;

/// A call of one contract.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Question {
    contract: Address,
    function: Function,
    arguments: Vec<Word>,
}

impl Question {
    /// A call without argument.
    pub fn new(contract: Address, function: Function) -> Self {
        Self { contract, function, arguments: Vec::new() }
    }

    /// A call with arguments of one word each.
    pub fn with(contract: Address, function: Function, arguments: &[Word]) -> Self {
        Self { contract, function, arguments: arguments.to_vec() }
    }

    /// The called contract.
    pub fn contract(&self) -> Address {
        self.contract
    }

    /// The calldata.
    pub fn calldata(&self) -> Vec<u8> {
        let call = Call::new(self.function.selector());
        self.arguments.iter().fold(call, |call, argument| call.word(*argument)).encode()
    }

    /// The reader's field for this question; `None` if the answer has more than one word, or the call more than one argument.
    pub fn field(&self) -> Option<Field> {
        if returns_more_than_a_word(self.function) {
            return None;
        }
        match self.arguments.as_slice() {
            [] => Some(Field::new(self.function)),
            [argument] => Some(Field::with(self.function, *argument)),
            _ => None,
        }
    }
}

/// Whether the adapters read more than the first word of the function's answer.
fn returns_more_than_a_word(function: Function) -> bool {
    use Function as F;
    matches!(
        function,
        F::IdToMarketParams
            | F::Market
            | F::Position
            | F::Config
            | F::GetReservesList
            | F::GetReserveData
            | F::GetReserveTokensAddresses
            | F::GetEModeCategoryData
            | F::Caps
            | F::LtvList
            | F::LtvFull
            | F::GetDefaultQueue
            | F::Strategies
            | F::GetAssetInfo
            | F::GetMarketId
            | F::MarketParamsList
    )
}

/// The return data of a call, or why there is none.
pub type CallResult = Result<Vec<u8>, Failure>;

/// What was answered to which question. A question that is not in it is [`Unknown::Unread`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers(BTreeMap<Question, CallResult>);

impl Answers {
    /// No answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the answer to a question; a later one replaces an earlier one.
    pub fn insert(&mut self, question: Question, result: CallResult) {
        self.0.insert(question, result);
    }

    /// Records what the reader answered to [`Question::field`].
    pub fn insert_reading(&mut self, question: Question, reading: &Reading) {
        let result = match reading {
            Reading::Unread(failure) => Err(failure.clone()),
            Reading::Read(outcome) => match outcome.status {
                Status::Returned => Ok(outcome.word.0.to_vec()),
                Status::ReturnedShort => Ok(Vec::new()),
                Status::Reverted => Err(Failure::Reverted { data: outcome.word.0.to_vec() }),
                Status::FailedEmpty => Err(Failure::Reverted { data: Vec::new() }),
            },
        };
        self.insert(question, result);
    }

    /// What was answered to a question; `None` if nothing is known of it.
    pub fn get(&self, question: &Question) -> Option<&CallResult> {
        self.0.get(question)
    }

    /// The return data of a call, at least one word.
    pub fn data(&self, question: &Question) -> Value<Data<'_>> {
        match self.0.get(question) {
            Some(Ok(data)) if data.len() < 32 => Err(Unknown::NoAnswer),
            Some(Ok(data)) if data.len() > MAX_ANSWER_BYTES => Err(Unknown::Implausible),
            Some(Ok(data)) => Ok(Data::new(data)),
            Some(Err(Failure::Reverted { data })) if data.is_empty() => Err(Unknown::NoAnswer),
            Some(Err(Failure::Reverted { .. })) => Err(Unknown::Refused),
            Some(Err(_)) | None => Err(Unknown::Unread),
        }
    }

    /// The first `N` words of the return data. Fewer are [`Unknown::NoAnswer`]: the contract has another function of this signature.
    pub fn words<const N: usize>(&self, question: &Question) -> Value<[Word; N]> {
        let data = self.data(question)?;
        let mut words = [Word::ZERO; N];
        for (index, word) in words.iter_mut().enumerate() {
            *word = data.word(index).map_err(|_| Unknown::NoAnswer)?;
        }
        Ok(words)
    }

    /// The first word of the return data.
    pub fn word(&self, question: &Question) -> Value<Word> {
        self.words(question).map(|[word]| word)
    }

    /// The first word, as a number below 2^128. Larger ones are implausible: no amount of a token in use comes near.
    pub fn number(&self, question: &Question) -> Value<u128> {
        Ok(self.word(question)?.to_u128()?)
    }

    /// The first word, as a number up to `max`. A larger one is implausible.
    pub fn number_up_to(&self, question: &Question, max: u64) -> Value<u64> {
        let number = self.word(question)?.to_u64()?;
        if number <= max { Ok(number) } else { Err(Unknown::Implausible) }
    }

    /// The first word, as an address, which may be the zero address.
    pub fn address(&self, question: &Question) -> Value<Address> {
        Ok(self.word(question)?.to_address()?)
    }

    /// The first word, as the address of a contract. The zero address is implausible.
    pub fn contract(&self, question: &Question) -> Value<Address> {
        nonzero(self.address(question)?)
    }

    /// The first word, as a boolean.
    pub fn flag(&self, question: &Question) -> Value<bool> {
        Ok(self.word(question)?.to_bool()?)
    }

    /// The list of addresses that a call returned, at most `max` of them, none of them zero and none twice.
    pub fn addresses(&self, question: &Question, max: usize) -> Value<Vec<Address>> {
        let list = self.data(question)?.addresses(0, max)?;
        let is_strange = |(index, address): (usize, &Address)| {
            *address == Address::ZERO || list.iter().take(index).any(|earlier| earlier == address)
        };
        if list.iter().enumerate().any(is_strange) { Err(Unknown::Implausible) } else { Ok(list) }
    }
}

/// The address, unless it is zero.
pub(super) fn nonzero(address: Address) -> Value<Address> {
    if address == Address::ZERO { Err(Unknown::Implausible) } else { Ok(address) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Outcome;
    use std::vec;

    const CONTRACT: Address = Address([7; 20]);

    fn answered(result: CallResult) -> Answers {
        let mut answers = Answers::new();
        answers.insert(Question::new(CONTRACT, Function::Asset), result);
        answers
    }

    #[test]
    fn each_kind_of_missing_answer_has_its_own_reason() {
        let question = Question::new(CONTRACT, Function::Asset);
        for (result, expected) in [
            (Ok(vec![]), Unknown::NoAnswer),
            (Ok(vec![0; 31]), Unknown::NoAnswer),
            (Ok(vec![0; MAX_ANSWER_BYTES + 1]), Unknown::Implausible),
            (Err(Failure::Reverted { data: vec![] }), Unknown::NoAnswer),
            (Err(Failure::Reverted { data: vec![1] }), Unknown::Refused),
            (Err(Failure::Transport), Unknown::Unread),
            (Err(Failure::RateLimited { retry_after: None }), Unknown::Unread),
        ] {
            assert_eq!(answered(result.clone()).word(&question), Err(expected), "{result:?}");
        }
        assert_eq!(Answers::new().word(&question), Err(Unknown::Unread));
        assert_eq!(answered(Ok(vec![0; 63])).words::<2>(&question), Err(Unknown::NoAnswer));
        assert_eq!(answered(Ok(vec![0; 64])).words::<2>(&question), Ok([Word::ZERO; 2]));
    }

    #[test]
    fn an_answer_of_the_reader_means_the_same_as_one_of_a_single_call() {
        let question = Question::new(CONTRACT, Function::Asset);
        let read = |reading: &Reading| {
            let mut answers = Answers::new();
            answers.insert_reading(question.clone(), reading);
            answers.word(&question)
        };
        let outcome = |outcome| Reading::Read(outcome);
        let word = Word::from_u128(9);
        assert_eq!(read(&outcome(Outcome::succeeded(&word.0))), Ok(word));
        assert_eq!(read(&outcome(Outcome::succeeded(&[1]))), Err(Unknown::NoAnswer));
        assert_eq!(read(&outcome(Outcome::failed(&[1]))), Err(Unknown::Refused));
        assert_eq!(read(&outcome(Outcome::failed(&[]))), Err(Unknown::NoAnswer));
        assert_eq!(read(&Reading::Unread(Failure::Gas)), Err(Unknown::Unread));
    }

    #[test]
    fn the_reader_is_asked_only_what_it_can_answer() {
        let word = Word::from_u128(3);
        let one = Question::with(CONTRACT, Function::SupplyQueue, &[word]);
        assert_eq!(one.field().map(|field| field.calldata()), Some(one.calldata()));
        assert_eq!(Question::new(CONTRACT, Function::Price).field(), Some(Field::new(Function::Price)));
        assert_eq!(Question::with(CONTRACT, Function::Market, &[word]).field(), None);
        assert_eq!(Question::with(CONTRACT, Function::PendingRedeemRequest, &[word, word]).field(), None);
    }

    #[test]
    fn a_list_with_a_repeated_or_zero_address_or_too_many_is_implausible() {
        let question = Question::new(CONTRACT, Function::Asset);
        let list = |addresses: &[Address]| {
            let words: Vec<Word> = addresses.iter().map(|address| Word::from_address(*address)).collect();
            answered(Ok(Call::tuple().words(&words).encode())).addresses(&question, 2)
        };
        let (a, b, c) = (Address([1; 20]), Address([2; 20]), Address([3; 20]));
        assert_eq!(list(&[a, b]), Ok(vec![a, b]));
        assert_eq!(list(&[]), Ok(vec![]));
        for strange in [&[a, a][..], &[a, Address::ZERO], &[a, b, c]] {
            assert_eq!(list(strange), Err(Unknown::Implausible), "{strange:?}");
        }
    }
}
