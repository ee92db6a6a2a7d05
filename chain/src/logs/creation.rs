//! Which vault a factory made, from its event.

use super::{EventError, Log};
use crate::abi::Creation;
use crate::block::Address;

/// Where the event has the vault's address, and its size.
struct Shape {
    /// Position of the vault among the topics.
    vault: usize,
    topics: usize,
    /// Number of words of data: exactly, or at least if a parameter has no fixed length.
    words: core::ops::RangeInclusive<usize>,
}

fn shape(event: Creation) -> Shape {
    match event {
        // Vault, caller and asset are indexed; owner, delay, name, symbol and salt are data.
        Creation::CreateMetaMorpho => Shape { vault: 1, topics: 4, words: 7..=usize::MAX },
        // Owner, asset and vault are indexed.
        Creation::CreateVaultV2 => Shape { vault: 3, topics: 4, words: 1..=1 },
        // Data: whether it can be upgraded, its code, and what its maker appended.
        Creation::ProxyCreated => Shape { vault: 1, topics: 2, words: 4..=usize::MAX },
        Creation::NewVault => Shape { vault: 1, topics: 3, words: 0..=0 },
    }
}

impl Log {
    /// The vault that the log's contract made, if the log is an event of the table of [`Creation`].
    pub fn created(&self) -> Result<Address, EventError> {
        let topic = self.topics.first().ok_or(EventError::OtherEvent)?;
        let event = Creation::ALL.iter().copied().find(|event| event.topic() == *topic);
        let shape = shape(event.ok_or(EventError::OtherEvent)?);
        let (words, rest) = self.data.as_chunks::<32>();
        if self.topics.len() != shape.topics || !rest.is_empty() || !shape.words.contains(&words.len()) {
            return Err(EventError::Shape);
        }
        Ok(self.topics.get(shape.vault).ok_or(EventError::Shape)?.to_address()?)
    }
}
