//! The change feed: vaults whose reading or published score changed.
//!
//! The feed is read from the catalog and ordered by data version, so a cursor is valid in every process: see
//! [`rds_shared::select::changes`]. The data version also shows whether a cursor belongs to the history of this database (see
//! [`rds_store::push::journal::step`]). A cursor of another history is refused; the reader then starts again from an instant.

use crate::catalog::LiveCatalog;
use crate::catalog::Since;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use rds_shared::access::paging;
use rds_shared::model::vault_changes::ChangesMeta;
use rds_shared::route::{params, routes};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ChangeClock, ChangeCursor, CursorError, ErrorCode, Timestamp};
use rds_store::Db;
use rds_store::push::journal::{self, Timeline};

/// `GET /v1/vaults/changes`.
pub async fn list(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::VaultChanges>) -> Result<Answer, Failure> {
    let clock = ChangeClock::parse(call.get(params::Changed)).unwrap_or(ChangeClock::Sync);
    let from = since(call.get(params::ChangesSince), clock)?;
    let instant = match &from {
        Since::Instant(instant) => *instant,
        Since::Cursor(cursor) => cursor.instant,
    };
    paging::admit_lookback(&call.principal, instant, call.now)?;
    let catalog = live.get()?;
    if let Since::Cursor(cursor) = &from {
        let versions = [Some(cursor.version), cursor.floor.map(|floor| floor.version)];
        let issued =
            |timeline: &Timeline, newest| versions.iter().flatten().all(|version| timeline.issued(newest, *version));
        // A version above this catalog's has two possible reasons. Another process with a newer catalog issued it, and no change follows
        // the cursor yet. Or it is not of this history, because it was invented or undone by a restore. The database decides which.
        let is_ahead = versions.iter().flatten().any(|version| *version > catalog.version);
        let is_ours = match is_ahead {
            false => issued(&catalog.timeline, catalog.version),
            true => journal::timeline(db).await.map(|(timeline, newest, _)| issued(&timeline, newest))?,
        };
        if !is_ours {
            return Err(invalid_cursor(
                "is not known to this service, which may have been restored from a backup; start again from an instant",
            )
            .into());
        }
    }
    let limit = u64::from(call.get(params::Limit));
    let changed = catalog.changes(clock, &from, usize::try_from(limit).unwrap_or(usize::MAX));
    let total = changed.total as u64;
    let meta = ChangesMeta { total, limit, has_more: total > changed.rows.len() as u64 };
    Ok(Answer::json(encoded::changes(&changed.rows, &changed.next.encode(), meta, call.now)))
}

/// Reads `since`: an instant, or a cursor of the feed of `clock`.
fn since(text: &str, clock: ChangeClock) -> Result<Since, ApiError> {
    if let Some(instant) = Timestamp::parse(text) {
        return Ok(Since::Instant(instant));
    }
    match ChangeCursor::decode(text, clock) {
        Ok(cursor) => Ok(Since::Cursor(cursor)),
        Err(CursorError::OtherClock) => Err(invalid_cursor(
            "is a cursor of the other mode; send it with the value of `changed` for which it was issued",
        )),
        // An instant starts with the digits of its year; a cursor never starts with a digit.
        Err(CursorError::Unknown) if text.starts_with(|first: char| first.is_ascii_digit()) => {
            let reason = "must be an ISO 8601 instant such as 2026-11-21T00:00:00Z, or a cursor of this feed";
            Err(ApiError::parameter(Detail::new(In::Query, "since", reason)))
        }
        Err(CursorError::Unknown) => Err(invalid_cursor("is neither an ISO 8601 instant nor a cursor of this feed")),
    }
}

fn invalid_cursor(reason: &str) -> ApiError {
    ApiError::invalid(ErrorCode::InvalidCursor, vec![Detail::new(In::Query, "since", reason)])
}
