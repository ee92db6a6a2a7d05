//! Property of the parsers of webhook and decision signatures.

use rds_shared::graph::signature::DecisionSignature;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::push::signature::Secret;
use rds_shared::wire::Timestamp;

const BODY: &[u8] = b"{\"event\":\"rating.changed\"}";
const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// An arbitrary header never verifies as a webhook signature. A decision signature that parses is written back identically except
/// for letter case, and recovering its signer twice gives the same result.
pub fn holds(data: &[u8]) {
    let Ok(header) = std::str::from_utf8(data) else { return };
    let secret = Secret::from_random([7; 32]);
    assert!(secret.verify(header, BODY, NOW).is_err());
    if let Some(signature) = DecisionSignature::parse(header) {
        assert_eq!(signature.to_string(), header.to_ascii_lowercase());
        let id = ContentHash::of_text("a decision");
        assert_eq!(signature.signer(id), signature.signer(id));
    }
}
