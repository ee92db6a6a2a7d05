//! How deep a caller without a key may page. Source: interface, "Keyless metering" and "Authentication", 5.

use super::principal::Principal;
use crate::route::{Query, Route};
use crate::wire::Timestamp;
use crate::wire::error::{ApiError, ErrorCode};
use crate::wire::page::PageRequest;
use alloc::format;

/// Rows of one list that a caller without a key may reach.
pub const KEYLESS_ROWS: u64 = 200;

/// Whether the caller may read the rows that the query asks for. Routes without such rows admit everybody.
pub fn admit_query(principal: &Principal, route: &Route, query: &Query) -> Result<(), ApiError> {
    match route.pages.and_then(|pages| pages.rows(query)) {
        Some((offset, rows)) => admit_rows(principal, offset, rows).map(drop),
        None => Ok(()),
    }
}

/// Whether a key returns more rows of the same answer: it begins within the rows that are open to everybody and ends beyond them.
pub fn is_longer_with_key(route: &Route, query: &Query) -> bool {
    let rows = route.pages.and_then(|pages| pages.rows(query));
    rows.is_some_and(|(offset, rows)| is_more_with_key(offset, rows))
}

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
fn is_more_with_key(offset: u64, rows: u64) -> bool {
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
    use crate::route::RouteId;

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
    fn what_ends_beyond_them_is_served_and_is_another_answer_with_a_key() {
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
    fn a_route_without_pages_has_no_depth_to_limit() {
        assert_eq!(verdict(RouteId::VaultSnapshots, "points=2160&days=365"), Ok(()));
    }
}
