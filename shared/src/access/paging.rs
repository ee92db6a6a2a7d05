//! How deep a caller without a key may page. Source: interface, "Keyless metering" and "Authentication", 5.

use super::principal::Principal;
use crate::wire::Timestamp;
use crate::wire::error::{ApiError, ErrorCode};
use crate::wire::page::PageRequest;

/// Rows of one list that a caller without a key may reach.
pub const KEYLESS_ROWS: u64 = 200;

/// Lets a page pass, or says that it needs a key. A page that starts within the first 200 rows is served.
pub fn admit(principal: &Principal, page: PageRequest) -> Result<(), ApiError> {
    if principal.is_keyless() && page.offset() >= KEYLESS_ROWS {
        return Err(ApiError::new(
            ErrorCode::Forbidden,
            "without an API key only the first 200 rows of a list can be paged through; send a key, or narrow the list with filters",
        ));
    }
    Ok(())
}

/// How far back a caller without a key may ask for changes, in seconds: 30 days.
pub const KEYLESS_LOOKBACK_SECONDS: i64 = 30 * 86_400;

/// Lets a look back to `since` pass, or says that it needs a key.
pub fn admit_lookback(principal: &Principal, since: Timestamp, now: Timestamp) -> Result<(), ApiError> {
    if principal.is_keyless() && now.seconds_since(since) > KEYLESS_LOOKBACK_SECONDS {
        return Err(ApiError::new(
            ErrorCode::Forbidden,
            "without an API key changes can be asked for only 30 days back; send a key, or a later since",
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
        for (number, size, open) in [
            (1, 100, true),
            (2, 100, true),
            (3, 100, false),
            (10, 20, true),
            (11, 20, false),
            (3, 99, true),
            (u64::MAX, 100, false),
        ] {
            assert_eq!(
                admit(&Principal::Anonymous, PageRequest::new(number, size)).is_ok(),
                open,
                "page {number} of {size}"
            );
        }
    }
}
