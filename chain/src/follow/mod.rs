//! The chain of recent blocks of one network.
//!
//! The [`Follower`] is told of blocks and keeps the newest ones, each the parent of the next. It finds forks and gaps, and says which block
//! to ask for when it cannot place one. Blocks up to the finalized one must never change: a block that contradicts them stops the follower
//! until an operator of this service resets it.

mod target;

pub use target::{Claim, target};

use crate::block::{Block, BlockId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// Recent blocks of one network, at most a fixed number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    /// Ascending and without gaps; each block is the parent of the next.
    window: VecDeque<Block>,
    capacity: usize,
    finalized: Option<BlockId>,
    contradiction: Option<Contradiction>,
}

/// Two different blocks of one number, of which ours is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// The block that the follower has.
    pub ours: BlockId,
    /// The block that was reported.
    pub theirs: BlockId,
}

/// What a reported block means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The follower already has the block.
    Known,
    /// The block is the first one, or the child of the newest one.
    Extended,
    /// The blocks with these numbers are missing before this one. Report them first, in ascending order.
    Gap(RangeInclusive<u64>),
    /// The block belongs to another fork. The blocks above `fork_point` were replaced by it.
    Fork {
        /// The newest block that both forks share.
        fork_point: BlockId,
        /// The blocks that left the chain, ascending. Whatever was read at them is void.
        orphaned: Vec<BlockId>,
    },
    /// The block belongs to another fork that leaves ours before the parent. Report the parent first.
    UnknownParent(BlockId),
    /// The block, or its parent, is older than the follower remembers, so nothing can be said about it. If it was reported as an unknown
    /// parent, the fork leaves our chain before the oldest block that the follower has.
    TooOld,
    /// The block's time is before its parent's: no valid chain has such a block.
    Invalid,
    /// The block contradicts a final one, now or earlier. The follower accepts nothing until it is reset.
    Contradicted(Contradiction),
}

/// Why a block cannot be made final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFinal {
    /// The follower does not have a block with this number.
    Unknown,
    /// The follower has another block with this number, or stopped because of an earlier contradiction. It accepts nothing until it is
    /// reset.
    Contradicted(Contradiction),
}

/// Least number of blocks that a follower keeps.
pub const MIN_CAPACITY: usize = 2;
/// Largest number of blocks that a follower keeps.
pub const MAX_CAPACITY: usize = 65_536;

impl Follower {
    /// A follower without blocks that keeps the newest `capacity` ones, between [`MIN_CAPACITY`] and [`MAX_CAPACITY`].
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
        Self { window: VecDeque::new(), capacity, finalized: None, contradiction: None }
    }

    /// The newest block.
    pub fn head(&self) -> Option<&Block> {
        self.window.back()
    }

    /// The newest final block.
    pub fn finalized(&self) -> Option<BlockId> {
        self.finalized
    }

    /// The blocks that the follower has, ascending.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.window.iter()
    }

    /// The block with this number, if the follower still has it.
    pub fn block(&self, number: u64) -> Option<&Block> {
        let first = self.window.front()?.id.number;
        self.window.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// The contradiction that stopped the follower.
    pub fn contradiction(&self) -> Option<Contradiction> {
        self.contradiction
    }

    /// Takes a reported block into account.
    pub fn record(&mut self, block: Block) -> Step {
        if let Some(contradiction) = self.contradiction {
            return Step::Contradicted(contradiction);
        }
        let (Some(first), Some(head)) = (self.window.front().copied(), self.window.back().copied()) else {
            self.push(block);
            return Step::Extended;
        };
        if let Some(contradiction) = self.contradicts_finality(&block) {
            return self.stop(contradiction);
        }
        if block.id.number < first.id.number {
            return Step::TooOld;
        }
        if self.block(block.id.number) == Some(&block) {
            return Step::Known;
        }
        let missing_from = head.id.number.saturating_add(1);
        if block.id.number > missing_from {
            return Step::Gap(missing_from..=block.id.number.saturating_sub(1));
        }
        let Some(parent_id) = block.parent_id() else { return Step::Invalid };
        let Some(parent) = self.block(parent_id.number).copied() else { return Step::TooOld };
        if parent.id != parent_id {
            return Step::UnknownParent(parent_id);
        }
        // The hash covers the header, so one hash with two headers is a provider's error.
        let is_forged = self.block(block.id.number).is_some_and(|ours| ours.id == block.id);
        if is_forged || block.time < parent.time {
            return Step::Invalid;
        }
        if parent.id == head.id {
            self.push(block);
            return Step::Extended;
        }
        self.replace_above(parent.id, block)
    }

    /// Marks the block `id` and everything before it as final. An older block than the final one changes nothing.
    pub fn finalize(&mut self, id: BlockId) -> Result<(), NotFinal> {
        if let Some(contradiction) = self.contradiction {
            return Err(NotFinal::Contradicted(contradiction));
        }
        let ours = match (self.block(id.number), self.finalized) {
            (Some(block), _) => block.id,
            (None, Some(finalized)) if finalized.number == id.number => finalized,
            (None, _) => return Err(NotFinal::Unknown),
        };
        if ours != id {
            // The network made another block final than the one that this follower saw.
            let contradiction = Contradiction { ours, theirs: id };
            self.contradiction = Some(contradiction);
            return Err(NotFinal::Contradicted(contradiction));
        }
        if self.finalized.is_none_or(|finalized| finalized.number < id.number) {
            self.finalized = Some(id);
        }
        Ok(())
    }

    /// Forgets everything and starts at `block`. Only an operator of this service may decide that, after looking at a contradiction.
    pub fn reset(&mut self, block: Block) {
        *self = Self::new(self.capacity);
        self.push(block);
    }

    /// Whether the newest block at `now` is older than ten block times and ten minutes: the network stands still, or nobody reports its
    /// blocks. `now` and `block_time` are in seconds; a follower without blocks is not halted.
    pub fn is_halted(&self, now: u64, block_time: u64) -> bool {
        let patience = block_time.saturating_mul(HALTED_BLOCKS).saturating_add(HALTED_SECONDS);
        self.head().is_some_and(|head| now.saturating_sub(head.time) > patience)
    }

    /// A block at or below the final one with another hash, or a block that would replace the final one's child on another branch.
    fn contradicts_finality(&self, block: &Block) -> Option<Contradiction> {
        let finalized = self.finalized?;
        let claims = [Some(block.id), block.parent_id()];
        claims.into_iter().flatten().find_map(|theirs| {
            let ours = match self.block(theirs.number) {
                Some(ours) => ours.id,
                None if theirs.number == finalized.number => finalized,
                None => return None,
            };
            (ours.number <= finalized.number && ours.hash != theirs.hash).then_some(Contradiction { ours, theirs })
        })
    }

    fn stop(&mut self, contradiction: Contradiction) -> Step {
        self.contradiction = Some(contradiction);
        Step::Contradicted(contradiction)
    }

    fn replace_above(&mut self, fork_point: BlockId, block: Block) -> Step {
        let kept = self.window.iter().take_while(|ours| ours.id.number <= fork_point.number).count();
        let orphaned = self.window.iter().skip(kept).map(|ours| ours.id).collect();
        self.window.truncate(kept);
        self.push(block);
        Step::Fork { fork_point, orphaned }
    }

    fn push(&mut self, block: Block) {
        self.window.push_back(block);
        while self.window.len() > self.capacity {
            self.window.pop_front();
        }
    }
}

/// See [`Follower::is_halted`].
const HALTED_BLOCKS: u64 = 10;
const HALTED_SECONDS: u64 = 600;

#[cfg(test)]
mod tests;
