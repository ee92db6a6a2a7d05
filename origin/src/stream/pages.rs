//! Operations that the ring no longer contains, read from the journal page by page. A page is read after the previous page was
//! sent.

use crate::journal::in_time;
use crate::journal::ring::{Batch, Slot};
use crate::journal::tail::is_dense;
use crate::stream::Streams;
use rds_engine::clock::Clock;
use rds_shared::push::numbering::successor;
use rds_store::Db;
use rds_store::StoreError;
use rds_store::push::journal::read as table;
use rds_store::push::journal::read::{Extent, ReadLimits, Stretch};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Limits of a page: small, so that it is sent soon, and many slow readers together use little memory.
const PAGE_LIMITS: ReadLimits = ReadLimits { rows: 128, bytes: 128 << 10 };
/// Limits of a page with a vault filter: larger, because operations of other vaults are read without their bodies.
const VAULT_PAGE_LIMITS: ReadLimits = ReadLimits { rows: 1_000, ..PAGE_LIMITS };
/// Timeout of one query before the journal counts as unreadable.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of reading after a position.
#[derive(Debug)]
pub enum Page {
    /// These frames; `upto` is the position after them.
    Frames(Batch),
    /// The journal does not contain the position, or no longer contains it.
    Gone,
    /// The operations up to this number are numbered but no longer exist.
    Missing(u64),
}

/// Reads the page after `after`. `extent` contains the jumps and is read again if the numbers show that it is outdated.
pub async fn read(
    db: &Db,
    clock: &Clock,
    streams: &Streams,
    extent: &mut Extent,
    after: u64,
    vault: Option<&str>,
) -> Result<Page, StoreError> {
    // `acquire` fails only if the semaphore is closed, and this one is never closed.
    let _turn = streams.pages.acquire().await;
    streams.meters.pages.fetch_add(1, Relaxed);
    let most = if vault.is_some() { VAULT_PAGE_LIMITS } else { PAGE_LIMITS };
    // A page that cannot be read ends the stream, so a pooled connection that broke while idle must not be used.
    let db = &mut *in_time(QUERY_TIMEOUT, db.pinged_connection()).await?;
    let Stretch { mut entries, mut more } = in_time(QUERY_TIMEOUT, table::after(&mut *db, after, most, vault)).await?;
    if !is_dense(&extent.jumps, after, &entries) {
        *extent = in_time(QUERY_TIMEOUT, table::extent(&mut *db, clock.now())).await?;
        if !is_dense(&extent.jumps, after, &entries) {
            return Ok(Page::Gone);
        }
    }
    if entries.is_empty() && in_time(QUERY_TIMEOUT, table::head(&mut *db)).await? > after {
        // Either a jump begins here, or the operations after this position are gone.
        *extent = in_time(QUERY_TIMEOUT, table::extent(&mut *db, clock.now())).await?;
        let landing = successor(&extent.jumps, after).saturating_sub(1);
        return Ok(match landing > after {
            true => Page::Frames(Batch { upto: landing, ..Batch::default() }),
            false => Page::Gone,
        });
    }
    let fetched = entries.len();
    if let Some(whole) = entries.iter().position(|entry| !entry.is_whole) {
        if whole == 0 {
            *extent = in_time(QUERY_TIMEOUT, table::extent(&mut *db, clock.now())).await?;
            let upto = entries.iter().take_while(|entry| !entry.is_whole).last().map_or(after, |entry| entry.seq);
            return Ok(Page::Missing(upto));
        }
        entries.truncate(whole);
        more = true;
    }
    let upto = entries.last().map_or(after, |entry| entry.seq);
    let frames =
        entries.into_iter().map(Slot::from).filter_map(|slot| slot.frame.map(|frame| (slot.seq, frame))).collect();
    Ok(Page::Frames(Batch { frames, upto, more, age: None, fetched: u32::try_from(fetched).unwrap_or(u32::MAX) }))
}
