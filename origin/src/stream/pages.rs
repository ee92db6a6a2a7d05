//! What the ring no longer holds, read from the journal page by page, each when the last one was sent.

use crate::app::App;
use crate::journal::ring::Batch;
use crate::journal::tail::{is_dense, slot};
use crate::journal::{in_time, successor};
use crate::store::StoreError;
use crate::store::journal::read::{self as table, Extent, Most, Stretch};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A page: little enough that it is soon sent, and that many who read slowly hold little.
const PAGE: Most = Most { rows: 128, bytes: 128 << 10 };
/// A page of what concerns one vault; most of it is passed over and brings nothing.
const SCAN: Most = Most { rows: 1_000, ..PAGE };
/// What one question may take before the journal counts as unreadable.
const ANSWER: Duration = Duration::from_secs(5);

/// What was found after a place.
#[derive(Debug)]
pub enum Page {
    /// These frames; `upto` is behind them.
    Frames(Batch),
    /// The place is not in what is retained, or not any more.
    Gone,
    /// What follows up to this place has its numbers, and is not there any more.
    Missing(u64),
}

/// Reads on from `after`. `extent` tells the jumps, and is read again where the numbers say that it is out of date.
pub async fn read(app: &App, extent: &mut Extent, after: u64, vault: Option<&str>) -> Result<Page, StoreError> {
    // Closed never: the semaphore lives as long as the service.
    let _turn = app.streams.pages.acquire().await;
    app.streams.meters.pages.fetch_add(1, Relaxed);
    let most = if vault.is_some() { SCAN } else { PAGE };
    // A stream ends with a page that cannot be read, so a connection that broke while it rested must not be the reason.
    let db = &mut *in_time(ANSWER, app.db.answering()).await?;
    let Stretch { mut entries, mut more } = in_time(ANSWER, table::after(&mut *db, after, most, vault)).await?;
    if !is_dense(&extent.jumps, after, &entries) {
        *extent = in_time(ANSWER, table::extent(&mut *db, app.clock.now())).await?;
        if !is_dense(&extent.jumps, after, &entries) {
            return Ok(Page::Gone);
        }
    }
    if entries.is_empty() && in_time(ANSWER, table::head(&mut *db)).await? > after {
        // A jump that begins here, or a place whose successors are gone.
        *extent = in_time(ANSWER, table::extent(&mut *db, app.clock.now())).await?;
        let landing = successor(&extent.jumps, after).saturating_sub(1);
        return Ok(match landing > after {
            true => Page::Frames(Batch { upto: landing, ..Batch::default() }),
            false => Page::Gone,
        });
    }
    let fetched = entries.len();
    if let Some(whole) = entries.iter().position(|entry| !entry.is_whole) {
        if whole == 0 {
            *extent = in_time(ANSWER, table::extent(&mut *db, app.clock.now())).await?;
            let upto = entries.iter().take_while(|entry| !entry.is_whole).last().map_or(after, |entry| entry.seq);
            return Ok(Page::Missing(upto));
        }
        entries.truncate(whole);
        more = true;
    }
    let upto = entries.last().map_or(after, |entry| entry.seq);
    let frames = entries.into_iter().map(slot).filter_map(|slot| slot.frame.map(|frame| (slot.seq, frame))).collect();
    Ok(Page::Frames(Batch { frames, upto, more, fetched: u32::try_from(fetched).unwrap_or(u32::MAX) }))
}
