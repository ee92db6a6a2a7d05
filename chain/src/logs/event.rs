//! The parameters of an event.

use super::Log;
use crate::abi::{AbiError, Event, Word};
use crate::block::Address;
use core::fmt;

/// The parameters of an event of the table of [`Event`]. Amounts are integers in the token's smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the standards")]
pub enum Parameters {
    Transfer { from: Address, to: Address, amount: Word },
    Deposit { sender: Address, owner: Address, assets: Word, shares: Word },
    Withdraw { sender: Address, receiver: Address, owner: Address, assets: Word, shares: Word },
    Upgraded { implementation: Address },
    AdminChanged { previous: Address, new: Address },
    OwnershipTransferred { previous: Address, new: Address },
    RoleGranted { role: Word, account: Address, sender: Address },
    RoleRevoked { role: Word, account: Address, sender: Address },
    MinDelayChange { previous: Word, new: Word },
    AddedOwner { owner: Address },
    RemovedOwner { owner: Address },
    ChangedThreshold { threshold: Word },
}

/// Why a log is not an event of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventError {
    /// The first topic is not that of an event in the table, or is missing.
    OtherEvent,
    /// The numbers of topics and of data bytes are not those of the event. An ERC-721's `Transfer` has one topic more.
    Shape,
    /// A parameter is not a value of its type.
    Value(AbiError),
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventError::OtherEvent => f.write_str("the log is of another event"),
            EventError::Shape => f.write_str("the numbers of topics and bytes are not those of the event"),
            EventError::Value(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EventError {}

impl From<AbiError> for EventError {
    fn from(error: AbiError) -> Self {
        EventError::Value(error)
    }
}

/// The most parameters that an event of the table has.
const MAX_PARAMETERS: usize = 5;

/// Number of parameters, and how many of them are indexed: exactly, or at least. Indexed parameters come first in every event here.
fn shape(event: Event) -> (usize, core::ops::RangeInclusive<usize>) {
    match event {
        Event::Transfer => (3, 2..=2),
        Event::Deposit => (4, 2..=2),
        Event::Withdraw => (5, 3..=3),
        Event::Upgraded => (1, 1..=1),
        Event::AdminChanged | Event::MinDelayChange => (2, 0..=0),
        Event::OwnershipTransferred => (2, 2..=2),
        Event::RoleGranted | Event::RoleRevoked => (3, 3..=3),
        // Indexed since Safe 1.4.0.
        Event::AddedOwner | Event::RemovedOwner => (1, 0..=1),
        Event::ChangedThreshold => (1, 0..=0),
    }
}

impl Log {
    /// The event, by the log's first topic.
    pub fn event(&self) -> Option<Event> {
        let topic = self.topics.first()?;
        Event::ALL.iter().copied().find(|event| event.topic() == *topic)
    }

    /// The event's parameters.
    pub fn parameters(&self) -> Result<Parameters, EventError> {
        let event = self.event().ok_or(EventError::OtherEvent)?;
        let words = self.words(event)?;
        let [first, second, third, fourth, fifth] = words;
        Ok(match event {
            Event::Transfer => {
                Parameters::Transfer { from: first.to_address()?, to: second.to_address()?, amount: third }
            }
            Event::Deposit => Parameters::Deposit {
                sender: first.to_address()?,
                owner: second.to_address()?,
                assets: third,
                shares: fourth,
            },
            Event::Withdraw => Parameters::Withdraw {
                sender: first.to_address()?,
                receiver: second.to_address()?,
                owner: third.to_address()?,
                assets: fourth,
                shares: fifth,
            },
            Event::Upgraded => Parameters::Upgraded { implementation: first.to_address()? },
            Event::AdminChanged => {
                Parameters::AdminChanged { previous: first.to_address()?, new: second.to_address()? }
            }
            Event::OwnershipTransferred => {
                Parameters::OwnershipTransferred { previous: first.to_address()?, new: second.to_address()? }
            }
            Event::RoleGranted => {
                Parameters::RoleGranted { role: first, account: second.to_address()?, sender: third.to_address()? }
            }
            Event::RoleRevoked => {
                Parameters::RoleRevoked { role: first, account: second.to_address()?, sender: third.to_address()? }
            }
            Event::MinDelayChange => Parameters::MinDelayChange { previous: first, new: second },
            Event::AddedOwner => Parameters::AddedOwner { owner: first.to_address()? },
            Event::RemovedOwner => Parameters::RemovedOwner { owner: first.to_address()? },
            Event::ChangedThreshold => Parameters::ChangedThreshold { threshold: first },
        })
    }

    /// The parameters as words, filled up with zeros. Error: the log has too few or too many.
    fn words(&self, event: Event) -> Result<[Word; MAX_PARAMETERS], EventError> {
        let (count, indexed) = shape(event);
        let (_, topics) = self.topics.split_first().ok_or(EventError::OtherEvent)?;
        let (data, rest) = self.data.as_chunks::<32>();
        if !indexed.contains(&topics.len()) || !rest.is_empty() || topics.len().saturating_add(data.len()) != count {
            return Err(EventError::Shape);
        }
        let mut words = [Word::ZERO; MAX_PARAMETERS];
        let found = topics.iter().copied().chain(data.iter().copied().map(Word));
        words.iter_mut().zip(found).for_each(|(to, from)| *to = from);
        Ok(words)
    }
}
