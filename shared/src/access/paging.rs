//! How deep a caller without a key may page. Source: interface, "Keyless metering" and "Authentication", 5.

use super::principal::Principal;
use crate::wire::Timestamp;
use crate::wire::error::{ApiError, ErrorCode};
use crate::wire::page::PageRequest;
use alloc::format;

/// Rows of one list that a caller without a key may reach.
pub const KEYLESS_ROWS: u64 = 200;

/// The page as far as the caller may have it, or that it needs a key.
pub fn admit(principal: &Principal, page: PageRequest) -> Result<PageRequest, ApiError> {
    Ok(page.cut_to(admit_rows(principal, page.offset(), page.size)?))
}

/// How many of the `rows` rows from `offset` on the caller may have, or that they need a key.
///
/// What begins within [`KEYLESS_ROWS`] is served to everybody, and to callers without a key no further than those.
pub fn admit_rows(principal: &Principal, offset: u64, rows: u64) -> Result<u64, ApiError> {
    if !principal.is_keyless() {
        return Ok(rows);
    }
    match KEYLESS_ROWS.saturating_sub(offset) {
        0 => Err(ApiError::new(
            ErrorCode::Forbidden,
            format!(
                "without an API key only the first {KEYLESS_ROWS} rows of a list can be paged through; send a key, or narrow the list \
                 with filters"
            ),
        )),
        left => Ok(rows.min(left)),
    }
}

/// Whether of the `rows` rows from `offset` on a key brings more than none does.
pub fn is_more_with_key(offset: u64, rows: u64) -> bool {
    offset.saturating_add(rows) > KEYLESS_ROWS
}

/// How far back a caller without a key may ask for changes, in days.
const KEYLESS_LOOKBACK_DAYS: i64 = 30;
/// The same in seconds.
pub const KEYLESS_LOOKBACK_SECONDS: i64 = KEYLESS_LOOKBACK_DAYS * 86_400;

/// Lets a look back to `since` pass, or says that it needs a key.
pub fn admit_lookback(principal: &Principal, since: Timestamp, now: Timestamp) -> Result<(), ApiError> {
    if principal.is_keyless() && now.seconds_since(since) > KEYLESS_LOOKBACK_SECONDS {
        return Err(ApiError::new(
            ErrorCode::Forbidden,
            format!(
                "without an API key changes can be asked for only {KEYLESS_LOOKBACK_DAYS} days back; send a key, or a later since"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Plan;

    #[test]
    fn thirty_days_of_changes_are_open_to_everybody_and_all_of_them_to_a_key() {
        let now = Timestamp::from_seconds(1_795_219_200);
        let key = Principal::Key { id: 1, org_id: 1, plan: Plan::Data };
        for (seconds, open) in
            [(0, true), (-5, true), (KEYLESS_LOOKBACK_SECONDS, true), (KEYLESS_LOOKBACK_SECONDS + 1, false)]
        {
            let since = now.plus_seconds(-seconds);
            assert_eq!(admit_lookback(&Principal::Anonymous, since, now).is_ok(), open, "{seconds}");
            assert!(admit_lookback(&key, since, now).is_ok());
        }
    }

    #[test]
    fn the_first_two_hundred_rows_are_open_to_everybody() {
        for (number, size, open) in
            [(1, 100, true), (2, 100, true), (3, 100, false), (10, 20, true), (11, 20, false), (u64::MAX, 100, false)]
        {
            let page = PageRequest::new(number, size);
            let admitted = admit(&Principal::Anonymous, page);
            assert_eq!(admitted.ok(), open.then_some(page), "page {number} of {size}");
            assert_eq!(is_more_with_key(page.offset(), page.size), !open, "page {number} of {size}");
        }
    }

    #[test]
    fn a_page_that_reaches_beyond_them_ends_with_them_unless_a_key_opens_the_rest() {
        let page = PageRequest::new(3, 99);
        let cut = admit(&Principal::Anonymous, page).unwrap();
        assert_eq!((cut.offset(), cut.rows(), cut.end(), cut.size), (198, 2, 200, 99));
        assert!(is_more_with_key(page.offset(), page.size));
        let key = Principal::Key { id: 1, org_id: 1, plan: Plan::Data };
        assert_eq!(admit(&key, page).unwrap(), page);
        assert_eq!(admit_rows(&Principal::Anonymous, 199, 100).ok(), Some(1));
        assert!(admit_rows(&Principal::Anonymous, 200, 1).is_err());
    }
}
