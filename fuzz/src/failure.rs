//! Property of the parser of providers' JSON-RPC responses.

use rds_chain::failure::{Failure, MAX_RETRY_AFTER, Response, read, read_batch};
use rds_chain::result;

const STATUSES: [u16; 8] = [200, 429, 200, 500, 403, 413, 200, 0];
const HEADERS: [Option<&str>; 4] = [None, Some("7"), Some("99999999999"), Some("Wed, 21 Oct 2026 07:28:00 GMT")];

/// Only a response with status 200 that speaks of a revert is a fact about a contract.
pub fn holds(data: &[u8]) {
    let Some((first, body)) = data.split_first() else { return };
    let status = STATUSES[usize::from(first % 8)];
    let retry_after = HEADERS[usize::from(first / 8 % 4)];
    match read_batch(Response { status, retry_after, body }, &[1, 2]) {
        Ok(outcomes) => assert_eq!((status, outcomes.len()), (200, 2)),
        Err(failure) => assert!(!failure.is_of_the_contract()),
    }
    match read(Response { status, retry_after, body }, 1) {
        Ok(value) => {
            assert_eq!(status, 200);
            assert_ne!(value.get(), "null");
            assert!(result::bytes(value, 8).is_none_or(|bytes| bytes.len() <= 8));
            let _ = (result::quantity(value), result::block(value));
        }
        Err(Failure::Reverted { .. }) => {
            assert_eq!(status, 200);
            // The text may contain escape sequences, so only a body without them can be searched.
            let text = String::from_utf8_lossy(body).to_lowercase();
            assert!(text.contains("revert") || text.contains('\\'), "{text}");
        }
        Err(Failure::RateLimited { retry_after: Some(seconds) }) => assert!(seconds <= MAX_RETRY_AFTER),
        Err(failure) => assert!(!failure.is_of_the_contract()),
    }
}
