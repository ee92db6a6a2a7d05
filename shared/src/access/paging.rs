//! How deep a caller without a key may page, and how far back it may ask for changes.

use super::principal::Principal;
use crate::route::{Query, Route};
use crate::wire::Timestamp;
use crate::wire::error::{ApiError, ErrorCode};
use crate::wire::page::PageRequest;
use alloc::format;

/// Rows at the start of a list that callers without a key may read.
pub const MAX_ROWS_WITHOUT_KEY: u64 = 200;

/// Checks that the caller may read the rows that the query selects. Routes without pages admit every query.
pub fn admit_query(principal: &Principal, route: &Route, query: &Query) -> Result<(), ApiError> {
    match route.pages.and_then(|pages| pages.rows(query)) {
        Some((offset, rows)) => admit_rows(principal, offset, rows).map(drop),
        None => Ok(()),
    }
}

/// Whether the query selects rows beyond [`MAX_ROWS_WITHOUT_KEY`], so that a caller with a key may get more rows than a caller without.
pub fn is_longer_with_key(route: &Route, query: &Query) -> bool {
    let rows = route.pages.and_then(|pages| pages.rows(query));
    rows.is_some_and(|(offset, rows)| is_more_with_key(offset, rows))
}

/// The part of the page that the caller may read, or an error that says that a key is needed.
pub fn admit(principal: &Principal, page: PageRequest) -> Result<PageRequest, ApiError> {
    Ok(page.cut_to(admit_rows(principal, page.offset(), page.size)?))
}

/// How many of the `rows` rows from `offset` the caller may read, or an error that says they need a key.
///
/// Without a key, a page that starts within [`MAX_ROWS_WITHOUT_KEY`] is cut at that row, and a later page is refused.
pub fn admit_rows(principal: &Principal, offset: u64, rows: u64) -> Result<u64, ApiError> {
    if !principal.is_keyless() {
        return Ok(rows);
    }
    match MAX_ROWS_WITHOUT_KEY.saturating_sub(offset) {
        0 => Err(ApiError::new(
            ErrorCode::Forbidden,
            format!(
                "without an API key, only the first {MAX_ROWS_WITHOUT_KEY} rows of a list can be read; send a key, or narrow the list \
                 with filters"
            ),
        )),
        left => Ok(rows.min(left)),
    }
}

/// Whether some of the `rows` rows from `offset` are readable only with a key.
fn is_more_with_key(offset: u64, rows: u64) -> bool {
    offset.saturating_add(rows) > MAX_ROWS_WITHOUT_KEY
}

/// How far back a caller without a key may ask for changes, in days.
const KEYLESS_LOOKBACK_DAYS: i64 = 30;
/// How far back a caller without a key may ask for changes, in seconds.
pub const KEYLESS_LOOKBACK_SECONDS: i64 = KEYLESS_LOOKBACK_DAYS * 86_400;

/// Checks that the caller may ask for changes since `since`.
pub fn admit_lookback(principal: &Principal, since: Timestamp, now: Timestamp) -> Result<(), ApiError> {
    if principal.is_keyless() && now.seconds_since(since) > KEYLESS_LOOKBACK_SECONDS {
        return Err(ApiError::new(
            ErrorCode::Forbidden,
            format!(
                "without an API key, `since` must be at most {KEYLESS_LOOKBACK_DAYS} days ago; send a key or a later `since`"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Plan;
    use crate::route::RouteId;

    #[test]
    fn changes_older_than_thirty_days_need_a_key() {
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
    fn the_first_two_hundred_rows_need_no_key() {
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
    fn without_a_key_a_page_that_reaches_beyond_row_200_is_cut_there() {
        let page = PageRequest::new(3, 99);
        let cut = admit(&Principal::Anonymous, page).unwrap();
        assert_eq!((cut.offset(), cut.rows(), cut.end(), cut.size), (198, 2, 200, 99));
        assert!(is_more_with_key(page.offset(), page.size));
        let key = Principal::Key { id: 1, org_id: 1, plan: Plan::Data };
        assert_eq!(admit(&key, page).unwrap(), page);
        assert_eq!(admit_rows(&Principal::Anonymous, 199, 100).ok(), Some(1));
        assert!(admit_rows(&Principal::Anonymous, 200, 1).is_err());
    }

    fn verdict(route: RouteId, text: &str) -> Result<(), ErrorCode> {
        let query = Query::parse(route.route().query, text).unwrap();
        admit_query(&Principal::Anonymous, route.route(), &query).map_err(|error| error.code)
    }

    #[test]
    fn without_a_key_every_list_ends_after_two_hundred_rows() {
        for (route, last, beyond) in [
            (RouteId::VaultList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::CuratorList, "page=10", "page=11"),
            (RouteId::MarketList, "page=10", "page=11"),
            (RouteId::OracleList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::Royco, "page=10", "page=11"),
            (RouteId::EventList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::AssetList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::RwaList, "page=10", "page=11"),
            (RouteId::SignalList, "page=6", "page=8"),
            (RouteId::SecurityEventList, "page=4", "page=5"),
            (RouteId::LossBoard, "page=10001", "page=10000"),
            (RouteId::ProtocolById, "vaultPage=10", "vaultPage=11"),
            (RouteId::CuratorById, "vaultPage=2&vaultLimit=100", "vaultPage=3&vaultLimit=100"),
            (RouteId::CuratorEvents, "offset=199", "offset=200"),
            (RouteId::BasketVersions, "page=4", "page=5"),
        ] {
            assert_eq!(verdict(route, last), Ok(()), "{last}");
            assert_eq!(verdict(route, beyond), Err(ErrorCode::Forbidden), "{beyond}");
        }
    }

    #[test]
    fn a_page_that_reaches_beyond_row_200_is_served_and_has_more_rows_with_a_key() {
        for (route, text, longer) in [
            (RouteId::RwaList, "page=2&limit=100", false),
            (RouteId::RwaList, "page=3&limit=99", true),
            (RouteId::SignalList, "page=7", true),
            (RouteId::CuratorEvents, "offset=199&limit=1", false),
            (RouteId::CuratorEvents, "offset=199&limit=100", true),
            (RouteId::VaultSnapshots, "points=2160", false),
        ] {
            let query = Query::parse(route.route().query, text).unwrap();
            assert_eq!(verdict(route, text), Ok(()), "{text}");
            assert_eq!(is_longer_with_key(route.route(), &query), longer, "{text}");
        }
    }

    #[test]
    fn a_route_without_pages_has_no_row_limit() {
        assert_eq!(verdict(RouteId::VaultSnapshots, "points=2160&days=365"), Ok(()));
    }
}
