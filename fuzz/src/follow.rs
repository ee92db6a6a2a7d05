//! Property of the follower of a chain's blocks.

use rds_chain::follow::{Follower, Step};
use rds_chain::{Block, BlockHash, BlockId};

/// Four bytes are one report: number, fork, fork of the parent, and what to do.
const REPORT_BYTES: usize = 4;

/// The blocks that the follower has are always a chain, and a final block never leaves it.
pub fn holds(data: &[u8]) {
    let mut follower = Follower::new(8);
    let mut is_final: Option<BlockId> = None;
    for report in data.chunks_exact(REPORT_BYTES) {
        let &[number, fork, parent, action] = report else { return };
        let number = u64::from(number % 32);
        let parent = number.checked_sub(1).map_or(BlockHash::default(), |before| hash(before, parent % 4));
        let id = BlockId { number, hash: hash(number, fork % 4) };
        let block = Block { id, parent, time: number + u64::from(action % 3) };
        let before = follower.clone();
        match action {
            0..=15 => {
                if follower.finalize(id).is_ok() && is_final.is_none_or(|is_final| is_final.number < number) {
                    is_final = Some(id);
                }
            }
            16..=17 => {
                follower.reset(block);
                is_final = None;
            }
            _ => match follower.record(block) {
                Step::Extended | Step::Fork { .. } => assert_eq!(follower.head(), Some(&block)),
                Step::Contradicted(_) => assert!(
                    follower.contradiction().is_some() && is_final.is_some() || before.contradiction().is_some()
                ),
                Step::Known | Step::Gap(_) | Step::UnknownParent(_) | Step::TooOld | Step::Invalid => {
                    assert_eq!(follower, before);
                }
            },
        }
        assert_eq!(follower.finalized(), is_final);
        let ours: Vec<&Block> = follower.blocks().collect();
        assert!(ours.len() <= 8);
        assert!(ours.windows(2).all(|pair| pair[1].parent_id() == Some(pair[0].id) && pair[1].time >= pair[0].time));
        if let Some(id) = is_final {
            assert!(follower.block(id.number).is_none_or(|block| block.id == id));
        }
    }
}

fn hash(number: u64, fork: u8) -> BlockHash {
    let mut bytes = [fork; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    BlockHash(bytes)
}
