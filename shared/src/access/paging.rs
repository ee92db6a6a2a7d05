//! How deep a caller without a key may page. Source: interface, "Keyless metering" and "Authentication", 5.

use super::principal::Principal;
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

#[cfg(test)]
mod tests {
    use super::*;

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
