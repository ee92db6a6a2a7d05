//! Transfers of tokens, as enough operators list them.

use crate::agree::Reader;
use crate::ask::logs_of;
use futures_util::future::join_all;
use rds_chain::abi::{Event, Word};
use rds_chain::block::{BlockHash, BlockId};
use rds_chain::logs::{BlockRange, Log};
use rds_chain::quorum::{Answers, Verdict, decide};
use rds_chain::{Address, Block};

/// A log in a form that can be compared: contract, topics, data, number and hash of the block, position.
type Listed = (Address, Vec<Word>, Vec<u8>, u64, BlockHash, u64);

impl Reader {
    /// The `Transfer` logs of these tokens from block `since` on, up to `block`, in the order of the chain. `None` unless enough operators
    /// list the very same ones: a node that lags behind leaves some out.
    pub async fn transfers(&self, block: &Block, since: u64, tokens: &[Address]) -> Option<Vec<Log>> {
        let range = BlockRange::new(since, block.id.number)?;
        let asked = self.providers().map(|provider| logs_of(provider, tokens, &[Event::Transfer], range));
        let asked = join_all(asked).await;
        let answers: Vec<Answers<String, Vec<Listed>>> = self
            .providers()
            .zip(asked)
            .map(|(provider, logs)| Answers {
                operator: provider.operator().to_owned(),
                block: block.id.hash,
                values: vec![logs.ok().map(|logs| logs.into_iter().map(listed).collect())],
            })
            .collect();
        match decide(self.quorum(), block.id.hash, 1, &answers).pop()? {
            Verdict::Agreed { value, .. } => Some(value.into_iter().map(log).collect()),
            Verdict::Disputed { .. } | Verdict::Missing { .. } => None,
        }
    }
}

fn listed(log: Log) -> Listed {
    let Log { address, topics, data, block, index } = log;
    (address, topics, data, block.number, block.hash, index)
}

fn log((address, topics, data, number, hash, index): Listed) -> Log {
    Log { address, topics, data, block: BlockId { number, hash }, index }
}
