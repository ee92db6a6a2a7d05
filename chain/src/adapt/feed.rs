//! Price feeds of the kind of Chainlink's.
//!
//! The feed that consumers read is a proxy. It names the contract that aggregates the answers, which may have a lowest and a highest
//! answer: at one of the two the true price lies beyond it. A feed is judged at the *block's* time, so the same block always gives the same
//! judgement.

use super::{CallAnswer, Unknown, Value, erc4626, is_not_negative, returned, word};
use crate::abi::{Data, Function, Word};
use crate::block::Address;
use crate::plan::Reading;
use alloc::string::String;
use core::fmt;

/// Seconds that an answer may come after its heartbeat: a node of the feed sends its transaction when the heartbeat has passed, and
/// the transaction waits for a block. Ten minutes cover some 50 blocks of Ethereum.
pub const GRACE_SECONDS: u64 = 600;
/// Maximum length of a description in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 128;

/// The functions of the feed that return one word. [`Function::LatestRoundData`] and [`Function::Description`] are asked for alone.
pub const FEED_FIELDS: [Function; 2] = [Function::Decimals, Function::Aggregator];
/// The functions of the aggregator; of the feed itself, if it names none.
pub const AGGREGATOR_FIELDS: [Function; 2] = [Function::MinAnswer, Function::MaxAnswer];

/// One round: `latestRoundData()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// The round's number, `uint80`.
    pub id: u128,
    /// The price, an `int256`.
    pub answer: Word,
    /// When the answer was given; 0 if the round has none yet.
    pub updated_at: u64,
    /// The round in which the answer was given.
    pub answered_in: u128,
}

/// The lowest and the highest answer that the aggregator gives; `None` if it has no such bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// `minAnswer()`.
    pub min: Option<Word>,
    /// `maxAnswer()`.
    pub max: Option<Word>,
}

/// A price that passed every check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// The price times 10^`decimals`; not 0, and not negative as `int256`.
    pub answer: Word,
    /// At most [`erc4626::MAX_DECIMALS`].
    pub decimals: u8,
    /// When the answer was given.
    pub updated_at: u64,
}

/// Why a feed has no usable price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoPrice {
    /// The round is not known.
    Round(Unknown),
    /// The decimals are not known.
    Decimals(Unknown),
    /// The aggregator's bounds were not read. That it has none is an answer, and no reason.
    Bounds(Unknown),
    /// The latest round has no answer yet, or repeats the answer of an earlier round.
    IncompleteRound,
    /// The answer was given after the block.
    AfterTheBlock,
    /// The heartbeat and [`GRACE_SECONDS`] have passed since the answer.
    Stale {
        /// Seconds from the answer to the block.
        age: u64,
    },
    /// The answer is 0 or negative.
    NotPositive,
    /// The answer is the aggregator's lowest, or below.
    AtLowestAnswer,
    /// The answer is the aggregator's highest, or above.
    AtHighestAnswer,
}

impl fmt::Display for NoPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPrice::Round(unknown) => write!(f, "latest round: {unknown}"),
            NoPrice::Decimals(unknown) => write!(f, "decimals: {unknown}"),
            NoPrice::Bounds(unknown) => write!(f, "lowest and highest answer: {unknown}"),
            NoPrice::IncompleteRound => f.write_str("the latest round is not complete"),
            NoPrice::AfterTheBlock => f.write_str("the answer is newer than the block"),
            NoPrice::Stale { age } => write!(f, "the answer is {age} seconds old"),
            NoPrice::NotPositive => f.write_str("the answer is not positive"),
            NoPrice::AtLowestAnswer => f.write_str("the answer is the lowest that the feed gives"),
            NoPrice::AtHighestAnswer => f.write_str("the answer is the highest that the feed gives"),
        }
    }
}

impl core::error::Error for NoPrice {}

/// The answer to `latestRoundData()`.
pub fn round(answer: Option<&CallAnswer>) -> Value<Round> {
    let data = Data::new(returned(answer)?);
    let number = |index| data.word(index).and_then(|word| word.to_uint(80)).and_then(Word::to_u128);
    Ok(Round { id: number(0)?, answer: data.word(1)?, updated_at: data.word(3)?.to_u64()?, answered_in: number(4)? })
}

/// The answer to `aggregator()`.
pub fn aggregator(reading: Option<&Reading>) -> Value<Address> {
    match word(reading)?.to_address()? {
        Address::ZERO => Err(Unknown::Implausible),
        aggregator => Ok(aggregator),
    }
}

/// The answers to [`AGGREGATOR_FIELDS`]. A negative lowest answer bounds nothing, because a price must be positive anyway.
pub fn bounds(min: Option<&Reading>, max: Option<&Reading>) -> Value<Bounds> {
    let present = |reading| match word(reading) {
        Ok(word) => Ok(Some(word)),
        Err(Unknown::NoAnswer) => Ok(None),
        Err(unknown) => Err(unknown),
    };
    let (min, max) = (present(min)?.filter(|min| is_not_negative(*min)), present(max)?);
    match max {
        Some(max) if !is_not_negative(max) || min.is_some_and(|min| min >= max) => Err(Unknown::Implausible),
        max => Ok(Bounds { min, max }),
    }
}

/// The answer to `description()`, such as "ETH / USD"; control characters are replaced.
pub fn description(answer: Option<&CallAnswer>) -> Value<String> {
    super::token::text(answer, MAX_DESCRIPTION_BYTES)
}

/// The price at a block with the time `block_time`, or the first reason why there is none.
///
/// `heartbeat` is the number of seconds within which the feed promises an answer.
pub fn judge(
    round: Value<Round>,
    decimals: Option<&Reading>,
    bounds: Value<Bounds>,
    heartbeat: u64,
    block_time: u64,
) -> Result<Price, NoPrice> {
    let round = round.map_err(NoPrice::Round)?;
    let decimals = word(decimals).and_then(erc4626::decimals).map_err(NoPrice::Decimals)?;
    let bounds = bounds.map_err(NoPrice::Bounds)?;
    if round.updated_at == 0 || round.answered_in < round.id {
        return Err(NoPrice::IncompleteRound);
    }
    let age = block_time.checked_sub(round.updated_at).ok_or(NoPrice::AfterTheBlock)?;
    if age > heartbeat.saturating_add(GRACE_SECONDS) {
        return Err(NoPrice::Stale { age });
    }
    if round.answer == Word::ZERO || !is_not_negative(round.answer) {
        return Err(NoPrice::NotPositive);
    }
    if bounds.min.is_some_and(|min| round.answer <= min) {
        return Err(NoPrice::AtLowestAnswer);
    }
    if bounds.max.is_some_and(|max| round.answer >= max) {
        return Err(NoPrice::AtHighestAnswer);
    }
    Ok(Price { answer: round.answer, decimals, updated_at: round.updated_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::reader::{Outcome, Status};
    use std::vec;

    fn read(word: Word) -> Option<Reading> {
        Some(Reading::Read(Outcome { status: Status::Returned, word }))
    }

    fn number(number: i128) -> Option<Reading> {
        read(Word::from_i128(number))
    }

    const NO_BOUNDS: Value<Bounds> = Ok(Bounds { min: None, max: None });

    fn sound() -> Round {
        Round { id: 9, answer: Word::from_u128(3_000), updated_at: 1_000, answered_in: 9 }
    }

    fn judged(round: Round, time: u64) -> Result<Price, NoPrice> {
        judge(Ok(round), number(8).as_ref(), NO_BOUNDS, 3_600, time)
    }

    #[test]
    fn a_price_is_usable_until_heartbeat_and_grace_have_passed() {
        let price = Price { answer: Word::from_u128(3_000), decimals: 8, updated_at: 1_000 };
        assert_eq!(judged(sound(), 1_000), Ok(price));
        assert_eq!(judged(sound(), 1_000 + 3_600 + GRACE_SECONDS), Ok(price));
        assert_eq!(judged(sound(), 1_001 + 3_600 + GRACE_SECONDS), Err(NoPrice::Stale { age: 4_201 }));
        assert_eq!(judged(sound(), 999), Err(NoPrice::AfterTheBlock));
    }

    #[test]
    fn a_round_without_an_answer_of_its_own_has_no_price() {
        assert_eq!(judged(Round { answered_in: 8, ..sound() }, 1_000), Err(NoPrice::IncompleteRound));
        assert_eq!(judged(Round { answered_in: 10, ..sound() }, 1_000).map(|it| it.decimals), Ok(8));
        assert_eq!(judged(Round { updated_at: 0, ..sound() }, 1_000), Err(NoPrice::IncompleteRound));
        for answer in [Word::ZERO, Word::MAX, Word::from_i128(-3_000)] {
            assert_eq!(judged(Round { answer, ..sound() }, 1_000), Err(NoPrice::NotPositive));
        }
    }

    #[test]
    fn a_price_lies_strictly_between_the_lowest_and_the_highest_answer() {
        for (min, max, expected) in [
            (2_999, 3_001, Ok(())),
            (3_000, 3_001, Err(NoPrice::AtLowestAnswer)),
            (2_999, 3_000, Err(NoPrice::AtHighestAnswer)),
            (-5, 3_001, Ok(())),
            (3_001, 2_999, Err(NoPrice::Bounds(Unknown::Implausible))),
            (0, -1, Err(NoPrice::Bounds(Unknown::Implausible))),
        ] {
            let bounds = bounds(number(min).as_ref(), number(max).as_ref());
            let price = judge(Ok(sound()), number(8).as_ref(), bounds, 3_600, 1_000);
            assert_eq!(price.map(|_| ()), expected, "{min} {max}");
        }
    }

    #[test]
    fn bounds_that_do_not_exist_differ_from_bounds_that_were_not_read() {
        let none = Some(Reading::Read(Outcome { status: Status::FailedEmpty, word: Word::ZERO }));
        assert_eq!(bounds(none.as_ref(), none.as_ref()), NO_BOUNDS);
        let unread = bounds(Some(&Reading::Unread(Failure::Transport)), none.as_ref());
        let price = judge(Ok(sound()), number(8).as_ref(), unread, 3_600, 1_000);
        assert_eq!(price, Err(NoPrice::Bounds(Unknown::Unread)));
        let decimals = judge(Ok(sound()), number(37).as_ref(), NO_BOUNDS, 3_600, 1_000);
        assert_eq!(decimals, Err(NoPrice::Decimals(Unknown::Implausible)));
    }

    #[test]
    fn a_round_is_five_words_whose_numbers_fit_their_types() {
        let encode = |words: [Word; 5]| Some(Ok(words.iter().flat_map(|word| word.0).collect::<vec::Vec<u8>>()));
        let of = |number| Word::from_u128(number);
        let sound_words = [of(9), of(3_000), of(999), of(1_000), of(9)];
        assert_eq!(round(encode(sound_words).as_ref()), Ok(sound()));
        for (at, wrong) in [(0, of(1 << 80)), (3, of(1 << 64)), (4, Word::MAX)] {
            let mut words = sound_words;
            words[at] = wrong;
            assert_eq!(round(encode(words).as_ref()), Err(Unknown::Implausible));
        }
        assert_eq!(round(Some(&Ok(vec![0; 159]))), Err(Unknown::Implausible));
        assert_eq!(round(Some(&Ok(vec![]))), Err(Unknown::NoAnswer));
        assert_eq!(round(Some(&Err(Failure::Transport))), Err(Unknown::Unread));
        assert_eq!(aggregator(read(Word::ZERO).as_ref()), Err(Unknown::Implausible));
    }
}
