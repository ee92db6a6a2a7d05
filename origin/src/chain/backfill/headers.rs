//! Headers that the operators agree on, each asked for once, and the last block of a day.

use rds_chain::Block;
use rds_rpc::agree::{NoTarget, Reader};
use rds_store::chain_history::SeenBlock;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::sleep;

/// Pauses after failures in a row, until the providers are given up: a minute in all.
pub(super) const PAUSES: [Duration; 6] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(8),
    Duration::from_secs(16),
    Duration::from_secs(32),
];

/// Asks again after a failure, with growing pauses: a provider may rest for a while.
pub(super) async fn patiently<T>(mut ask: impl AsyncFnMut() -> Result<T, NoTarget>) -> Result<T, NoTarget> {
    for pause in PAUSES {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(_) => sleep(pause).await,
        }
    }
    ask().await
}

/// Headers by number.
#[derive(Debug)]
pub(super) struct Headers {
    known: BTreeMap<u64, Block>,
    /// Times of blocks as the store has them, to begin a search with. They are not trusted.
    hints: BTreeMap<u64, u64>,
}

impl Headers {
    /// `head` is agreed on; no later block is asked for.
    pub(super) fn new(head: Block) -> Self {
        Headers { known: BTreeMap::from([(head.id.number, head)]), hints: BTreeMap::new() }
    }

    /// Remembers where a search may begin.
    pub(super) fn hint(&mut self, block: SeenBlock) {
        if let (Ok(number), Ok(time)) = (block.block_number.try_into(), block.observed_at.0.as_seconds().try_into()) {
            self.hints.insert(number, time);
        }
    }

    /// The header, if it was asked for before.
    pub(super) fn known(&self, number: u64) -> Option<Block> {
        self.known.get(&number).copied()
    }

    /// Remembers an agreed header.
    pub(super) fn insert(&mut self, block: Block) {
        self.known.insert(block.id.number, block);
    }

    /// The agreed header of the block with this number.
    pub(super) async fn at(&mut self, reader: &Reader, number: u64) -> Result<Block, NoTarget> {
        if let Some(block) = self.known(number) {
            return Ok(block);
        }
        let block = patiently(async || reader.block_at(number).await).await?.block;
        self.insert(block);
        Ok(block)
    }

    /// The last block before the second `end`; `None` if the chain's first block is not before it.
    ///
    /// Times of blocks grow, so this is a search between the nearest known headers: by interpolation, because most chains have blocks at a
    /// steady pace, and every third step in the middle, so that no chain makes it long.
    pub(super) async fn last_before(&mut self, reader: &Reader, end: u64) -> Result<Option<Block>, NoTarget> {
        if self.at(reader, 0).await?.time >= end {
            return Ok(None);
        }
        let mut hint = self.hints.iter().rfind(|(_, time)| **time < end).map(|(number, _)| *number);
        for step in 1_u32.. {
            let low = self.known.values().rfind(|block| block.time < end).copied();
            let high = self.known.values().find(|block| block.time >= end).copied();
            let (Some(low), Some(high)) = (low, high) else { return Ok(low) };
            let (from, to) = (low.id.number, high.id.number);
            if to.saturating_sub(from) <= 1 {
                return Ok(Some(low));
            }
            let next = match hint {
                // The day's last block by the store, then the one after it.
                Some(number) if number > from && number < to => number,
                Some(number) if number == from => from.saturating_add(1),
                _ if step % 3 == 0 => from.midpoint(to),
                _ => between(low, high, end),
            };
            if hint.is_some_and(|number| next > number || number >= to) {
                hint = None;
            }
            self.at(reader, next.clamp(from.saturating_add(1), to.saturating_sub(1))).await?;
        }
        Ok(None)
    }
}

/// The number that a block just before the second `end` would have if blocks came at a steady pace.
fn between(low: Block, high: Block, end: u64) -> u64 {
    let blocks = u128::from(high.id.number.saturating_sub(low.id.number));
    let seconds = u128::from(high.time.saturating_sub(low.time)).max(1);
    let wanted = u128::from(end.saturating_sub(low.time).saturating_sub(1));
    let ahead = wanted.saturating_mul(blocks).checked_div(seconds).unwrap_or_default();
    low.id.number.saturating_add(u64::try_from(ahead).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_chain::{BlockHash, BlockId};

    fn block(number: u64, time: u64) -> Block {
        Block { id: BlockId { number, hash: BlockHash([1; 32]) }, parent: BlockHash([0; 32]), time }
    }

    #[test]
    fn a_steady_chain_is_hit_at_once() {
        let (low, high) = (block(0, 1_000), block(1_000, 13_000));
        // Block 500 has the second 7000, so the last one before 7001 is block 500, and the last before 7000 is 499.
        assert_eq!(between(low, high, 7_001), 500);
        assert_eq!(between(low, high, 7_000), 499);
        assert_eq!(between(low, low, 7_000), 0);
    }
}
