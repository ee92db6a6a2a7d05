//! Chains as a newcomer would draw them: blocks named by number and fork.

use super::*;
use crate::block::BlockHash;
use alloc::vec;

/// Block `number` of the fork `fork`, whose parent is block `number - 1` of the fork `parent`.
fn block(number: u64, fork: u8, parent: u8) -> Block {
    let before = number.checked_sub(1).map_or(BlockHash::default(), |before| id(before, parent).hash);
    Block { id: id(number, fork), parent: before, time: 1_000 + 12 * number }
}

fn id(number: u64, fork: u8) -> BlockId {
    let mut hash = [fork; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    BlockId { number, hash: BlockHash(hash) }
}

/// A follower with the blocks `numbers` of fork 1.
fn follower(numbers: RangeInclusive<u64>) -> Follower {
    let mut follower = Follower::new(16);
    for number in numbers {
        assert_eq!(follower.record(block(number, 1, 1)), Step::Extended);
    }
    follower
}

#[test]
fn blocks_in_order_extend_the_chain_and_repeated_ones_change_nothing() {
    let mut follower = follower(10..=12);
    assert_eq!(follower.record(block(11, 1, 1)), Step::Known);
    assert_eq!(follower.head().map(|head| head.id), Some(id(12, 1)));
    assert_eq!(follower.record(block(9, 1, 1)), Step::TooOld);
}

#[test]
fn missing_blocks_are_named() {
    let mut follower = follower(10..=12);
    assert_eq!(follower.record(block(16, 1, 1)), Step::Gap(13..=15));
    assert_eq!(follower.head().map(|head| head.id.number), Some(12));
}

#[test]
fn a_fork_names_the_last_common_block_and_the_orphaned_ones() {
    let mut follower = follower(10..=13);
    let orphaned = vec![id(12, 1), id(13, 1)];
    assert_eq!(follower.record(block(12, 2, 1)), Step::Fork { fork_point: id(11, 1), orphaned });
    assert_eq!(follower.head().map(|head| head.id), Some(id(12, 2)));
    assert_eq!(follower.record(block(13, 2, 2)), Step::Extended);
}

#[test]
fn a_deep_fork_is_walked_back_parent_by_parent() {
    let mut follower = follower(10..=13);
    assert_eq!(follower.record(block(14, 2, 2)), Step::UnknownParent(id(13, 2)));
    assert_eq!(follower.record(block(13, 2, 2)), Step::UnknownParent(id(12, 2)));
    assert!(matches!(follower.record(block(12, 2, 1)), Step::Fork { .. }));
    assert_eq!(follower.record(block(13, 2, 2)), Step::Extended);
    assert_eq!(follower.record(block(14, 2, 2)), Step::Extended);
}

#[test]
fn a_fork_older_than_the_window_cannot_be_placed() {
    let mut follower = follower(10..=13);
    assert_eq!(follower.record(block(10, 2, 2)), Step::TooOld);
}

#[test]
fn another_block_at_or_below_the_final_one_stops_the_follower() {
    let mut follower = follower(10..=13);
    assert_eq!(follower.finalize(id(12, 1)), Ok(()));
    let contradiction = Contradiction { ours: id(12, 1), theirs: id(12, 2) };
    assert_eq!(follower.record(block(12, 2, 1)), Step::Contradicted(contradiction));
    assert_eq!(follower.record(block(14, 1, 1)), Step::Contradicted(contradiction), "also a block that would fit");
    assert_eq!(follower.finalize(id(13, 1)), Err(NotFinal::Contradicted(contradiction)));
    follower.reset(block(14, 1, 1));
    assert_eq!((follower.contradiction(), follower.record(block(15, 1, 1))), (None, Step::Extended));
}

#[test]
fn a_child_of_another_final_block_stops_the_follower_too() {
    let mut follower = follower(10..=13);
    assert_eq!(follower.finalize(id(12, 1)), Ok(()));
    assert_eq!(
        follower.record(block(13, 2, 2)),
        Step::Contradicted(Contradiction { ours: id(12, 1), theirs: id(12, 2) })
    );
}

#[test]
fn a_fork_above_the_final_block_is_an_ordinary_fork() {
    let mut follower = follower(10..=13);
    assert_eq!(follower.finalize(id(12, 1)), Ok(()));
    assert!(matches!(follower.record(block(13, 2, 1)), Step::Fork { .. }));
}

#[test]
fn finality_needs_a_known_block_and_never_moves_back() {
    let mut follower = follower(10..=13);
    assert_eq!(follower.finalize(id(14, 1)), Err(NotFinal::Unknown));
    assert_eq!(follower.finalize(id(12, 1)), Ok(()));
    assert_eq!(follower.finalize(id(11, 1)), Ok(()));
    assert_eq!(follower.finalized(), Some(id(12, 1)));
    let contradiction = Contradiction { ours: id(13, 1), theirs: id(13, 2) };
    assert_eq!(follower.finalize(id(13, 2)), Err(NotFinal::Contradicted(contradiction)));
    assert_eq!(follower.contradiction(), Some(contradiction));
}

#[test]
fn the_window_keeps_the_newest_blocks_and_remembers_finality_beyond_it() {
    let mut follower = Follower::new(4);
    for number in 10..=20 {
        follower.record(block(number, 1, 1));
        if number == 11 {
            follower.finalize(id(11, 1)).unwrap();
        }
    }
    assert_eq!(follower.blocks().map(|block| block.id.number).collect::<Vec<_>>(), [17, 18, 19, 20]);
    assert_eq!(follower.finalized(), Some(id(11, 1)));
    assert!(matches!(follower.record(block(11, 2, 1)), Step::Contradicted(_)));
}

#[test]
fn a_block_before_its_parents_time_or_with_a_forged_header_is_invalid() {
    let mut follower = follower(10..=13);
    assert_eq!(follower.record(Block { time: 5, ..block(14, 1, 1) }), Step::Invalid);
    assert_eq!(follower.record(Block { time: 9_999, ..block(13, 1, 1) }), Step::Invalid);
    assert_eq!(follower.head(), Some(&block(13, 1, 1)));
}

#[test]
fn a_network_is_halted_after_ten_block_times_and_ten_minutes() {
    let follower = follower(10..=13);
    let newest = block(13, 1, 1).time;
    assert!(!follower.is_halted(newest + 720, 12));
    assert!(follower.is_halted(newest + 721, 12));
    assert!(!follower.is_halted(0, 12), "a clock that runs behind the chain");
    assert!(!Follower::new(4).is_halted(u64::MAX, 12));
}
