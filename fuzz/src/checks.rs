//! Property of the parser of a portfolio check's request body.

use rds_origin::decisions::request::CheckRequest;
use rds_shared::graph::portfolio::MAX_POSITIONS;
use rds_shared::wire::ErrorCode;

/// An accepted body is a portfolio within its bounds; the refusal of a JSON object names a field.
pub fn holds(data: &[u8]) {
    match CheckRequest::read(data, |_| None) {
        Ok(check) => {
            assert!(!check.portfolio_ref.is_empty() && check.portfolio_ref.chars().count() <= 200);
            assert!((1..=MAX_POSITIONS).contains(&check.portfolio.positions().count()));
        }
        Err(error) => {
            assert!(matches!(error.code, ErrorCode::InvalidBody | ErrorCode::TooManyItems), "{:?}", error.code);
            let object = serde_json::from_slice::<serde_json::Value>(data).is_ok_and(|value| value.is_object());
            assert!(!object || !error.details.is_empty(), "a refusal without a field: {}", error.message);
        }
    }
}
