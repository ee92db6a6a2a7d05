//! What the ring no longer holds, read from the journal page by page, each when the last one was sent.

use crate::app::App;
use crate::journal::ring::Batch;
use crate::journal::successor;
use crate::journal::tail::{is_dense, slot};
use crate::store::StoreError;
use crate::store::journal::read::{self as table, Extent};

/// Operations read at a time: few enough that a page is soon sent, and that many who read slowly hold little.
const PAGE: u32 = 128;

/// What was found after a place.
#[derive(Debug)]
pub enum Page {
    /// These frames; `upto` is behind them.
    Frames(Batch),
    /// The place is not in what is retained, or not any more.
    Gone,
}

/// Reads on from `after`. `extent` tells the jumps, and is read again where the numbers say that it is out of date.
pub async fn read(app: &App, extent: &mut Extent, after: u64, vault: Option<&str>) -> Result<Page, StoreError> {
    // Closed never: the semaphore lives as long as the service.
    let _turn = app.streams.pages.acquire().await;
    let entries = table::after(&app.db.pool, after, PAGE, vault).await?;
    if !is_dense(&extent.jumps, after, &entries) {
        *extent = table::extent(&app.db.pool, app.clock.now()).await?;
        if !is_dense(&extent.jumps, after, &entries) {
            return Ok(Page::Gone);
        }
    }
    if entries.is_empty() && table::head(&app.db.pool).await? > after {
        // A jump with nothing behind it yet, or a place whose successors are gone.
        *extent = table::extent(&app.db.pool, app.clock.now()).await?;
        let (tail, next) = (extent.tail.get(), successor(&extent.jumps, after));
        return Ok(match next.checked_sub(1) == Some(tail) {
            true => Page::Frames(Batch { upto: tail, ..Batch::default() }),
            false => Page::Gone,
        });
    }
    let more = entries.len() == PAGE as usize;
    let upto = entries.last().map_or(after, |entry| entry.seq);
    let shown = |vaults: &[String]| vault.is_none_or(|vault| vaults.iter().any(|own| own == vault));
    let frames = entries
        .into_iter()
        .map(slot)
        .filter(|slot| shown(&slot.vaults))
        .filter_map(|slot| slot.frame.map(|frame| (slot.seq, frame)))
        .collect();
    Ok(Page::Frames(Batch { frames, upto, more }))
}
