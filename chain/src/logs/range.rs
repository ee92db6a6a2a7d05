//! Which block ranges to ask for.

use alloc::vec::Vec;
use core::fmt;

/// The blocks from a first to a last one, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockRange {
    first: u64,
    last: u64,
}

impl BlockRange {
    /// `None` if the last block is before the first.
    pub fn new(first: u64, last: u64) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// The first block.
    pub fn first(self) -> u64 {
        self.first
    }

    /// The last block.
    pub fn last(self) -> u64 {
        self.last
    }

    /// Whether the block belongs to the range.
    pub fn contains(self, block: u64) -> bool {
        (self.first..=self.last).contains(&block)
    }

    /// The first `blocks` blocks, and the rest if there is one.
    fn split(self, blocks: u64) -> (Self, Option<Self>) {
        let last = self.first.saturating_add(blocks.max(1).saturating_sub(1)).min(self.last);
        let rest = last.checked_add(1).and_then(|first| Self::new(first, self.last));
        (Self { last, ..self }, rest)
    }

    /// The first half and the second; the first is longer if the number of blocks is odd. `None` for a single block.
    fn halves(self) -> Option<(Self, Self)> {
        let distance = self.last.saturating_sub(self.first);
        let (first, second) = self.split((distance >> 1).saturating_add(1));
        Some((first, second?))
    }
}

/// The logs of one block are already too many for the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingleBlockTooLarge(pub u64);

impl fmt::Display for SingleBlockTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the logs of block {} alone are too many for the provider", self.0)
    }
}

impl core::error::Error for SingleBlockTooLarge {}

/// A range of blocks that is asked for in pieces, in the order of the chain.
///
/// After [`Failure::RangeTooLarge`](crate::failure::Failure::RangeTooLarge) a piece is halved, and later pieces have at most that length.
/// After any other failure, ask for [`next`](Self::next) again: it stays the same until it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    /// What is still to be read; the next piece is at the end. At most 65 pieces: the rest, and one a halving.
    open: Vec<BlockRange>,
    span: u64,
}

impl Ranges {
    /// Reads `range` in pieces of at most `span` blocks; at least one.
    pub fn new(range: BlockRange, span: u64) -> Self {
        Self { open: [range].into(), span: span.max(1) }
    }

    /// The piece to ask for; `None` if everything is read.
    pub fn next(&self) -> Option<BlockRange> {
        Some(self.open.last()?.split(self.span).0)
    }

    /// The logs of the next piece are read.
    pub fn record_read(&mut self) {
        if let Some(range) = self.open.pop() {
            self.open.extend(range.split(self.span).1);
        }
    }

    /// The provider refused the next piece because of its length. Error: it has only one block; nothing changes.
    pub fn record_too_large(&mut self) -> Result<(), SingleBlockTooLarge> {
        let Some(range) = self.open.last().copied() else { return Ok(()) };
        let (piece, rest) = range.split(self.span);
        let (first, second) = piece.halves().ok_or(SingleBlockTooLarge(piece.first))?;
        self.open.pop();
        self.open.extend(rest);
        self.open.extend([second, first]);
        // The first half is the longer one. Its length fits: a piece of 2^64 blocks has halves of 2^63.
        self.span = first.last.saturating_sub(first.first).saturating_add(1);
        Ok(())
    }

    /// Maximum number of blocks of a piece, as far as it is known now.
    pub fn span(&self) -> u64 {
        self.span
    }
}
