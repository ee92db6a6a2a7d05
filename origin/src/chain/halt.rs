//! A block that was final when it was read has been replaced: the chain is withheld, and what was read from the fork on is taken back.

use super::cycle::CycleError;
use rds_engine::clock::Clock;
use rds_engine::ingest::{Batch, IngestError, IngestReport, Observation, commit};
use rds_facts::fact::Kind;
use rds_facts::{At, ChainRetraction, ChainSync};
use rds_rpc::agree::Reader;
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::chains::{self, Cursor};

/// In place of the hash of a block that is not known.
pub(super) const UNKNOWN_BLOCK: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";
/// The cursor of a chain of which nothing that was read is left stands at this time or just after it: 2009-01-01, the earliest that ingest
/// accepts.
pub(crate) const NEVER_READ: Timestamp = Timestamp::from_seconds(1_230_768_000);
/// Most blocks that are compared with the chain to find the fork. If all of them were replaced, everything that was read is taken back.
const MAX_COMPARED: i64 = 256;

/// Halts the chain. Nothing is stored if the operators do not agree on the chain's blocks.
pub(super) async fn halt(
    db: &Db,
    clock: &Clock,
    reader: &Reader,
    cursor: &Cursor,
    reason: &str,
) -> Result<(), CycleError> {
    let blocks = chains::read_blocks(db, cursor.chain_id, MAX_COMPARED).await?;
    let all_compared = i64::try_from(blocks.len()).is_ok_and(|blocks| blocks < MAX_COMPARED);
    let mut oldest_replaced = cursor.block_number;
    let mut last_good = None;
    for block in blocks {
        let Ok(number) = u64::try_from(block.block_number) else { continue };
        if reader.block_at(number).await?.block.id.hash.to_string() == block.block_hash {
            last_good = Some(block.block_number);
            break;
        }
        oldest_replaced = oldest_replaced.min(block.block_number);
    }
    // The fork is somewhere after the last block that still stands: vaults, exposures and markets may have been read in between without a
    // reading.
    let from_block = match last_good {
        Some(last_good) => last_good.saturating_add(1),
        None if all_compared => oldest_replaced,
        None => 0,
    };
    retract(db, clock, cursor, from_block, reason).await?;
    Ok(())
}

/// Halts the chain of `cursor` and takes back what was read from block `from_block` on.
pub async fn retract(
    db: &Db,
    clock: &Clock,
    cursor: &Cursor,
    from_block: i64,
    reason: &str,
) -> Result<IngestReport, IngestError> {
    let source = format!("chain:{}", cursor.chain_id);
    // The chain may go on from an earlier time than the replaced blocks had.
    let kept = chains::last_read_before(db, cursor.chain_id, from_block).await?.unwrap_or(At(NEVER_READ));
    let last_good = from_block.saturating_sub(1).max(0);
    let mut batch = Batch::default();
    batch.push(Observation::ChainRetraction(ChainRetraction {
        kind: Kind,
        observed_at: after(cursor.observed_at),
        source: source.clone(),
        chain_id: cursor.chain_id,
        from_block,
        block_hash: cursor.block_hash.clone(),
        reason: reason.to_owned(),
    }));
    batch.push(Observation::ChainSync(ChainSync {
        kind: Kind,
        observed_at: after(kept),
        source,
        chain_id: cursor.chain_id,
        block_number: last_good.min(cursor.block_number),
        block_hash: UNKNOWN_BLOCK.to_owned(),
        searched_to: cursor.searched_to.map(|block| block.min(last_good)),
        factories: cursor.factories.clone(),
        halted: Some(reason.to_owned()),
    }));
    commit(db, clock, batch).await
}

/// Resumes a halted chain: it is served again as before, and read from its newest final block on.
pub async fn resume(db: &Db, clock: &Clock, cursor: &Cursor) -> Result<IngestReport, IngestError> {
    let mut batch = Batch::default();
    batch.push(Observation::ChainSync(ChainSync {
        kind: Kind,
        observed_at: after(cursor.observed_at),
        source: format!("chain:{}", cursor.chain_id),
        chain_id: cursor.chain_id,
        block_number: cursor.block_number,
        block_hash: UNKNOWN_BLOCK.to_owned(),
        searched_to: cursor.searched_to,
        factories: cursor.factories.clone(),
        halted: None,
    }));
    commit(db, clock, batch).await
}

/// The next instant, so that the observation takes precedence.
fn after(At(instant): At) -> At {
    At(Timestamp::from_micros(instant.as_micros().saturating_add(1)))
}
