//! Property of the parsers of the `Authorization` header and of the edge assertion.

use rds_shared::access::credential::Kind;
use rds_shared::access::{Assertion, AssertionKey, Presented, SignedRequest};

const KEYS: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const NOW: i64 = 1_800_000_000;

/// A credential is accepted only as its kind's prefix and 32 more characters, and `Debug` does not show it. An assertion that was not made
/// with the key does not verify.
pub fn holds(data: &[u8]) {
    let Ok(header) = std::str::from_utf8(data) else { return };
    let (kind, text) = match Presented::read(Some(header)) {
        Presented::Key(text) => (Kind::ApiKey, text),
        Presented::IndexToken(text) => (Kind::IndexToken, text),
        _ => {
            assertion(header);
            return;
        }
    };
    assert!(header.trim_end().ends_with(text.expose()) && text.expose().starts_with(kind.prefix()));
    assert_eq!(text.expose().len(), kind.prefix().len() + 32);
    assert!(!format!("{text:?}").contains(text.expose()), "the debug form reveals it");
}

fn assertion(header: &str) {
    let Ok(assertion) = Assertion::parse(header) else { return };
    assert_eq!(Assertion::parse(&assertion.to_header()).as_ref(), Ok(&assertion));
    let keys = AssertionKey::parse_list(KEYS).unwrap_or_default();
    let request = SignedRequest { method: "GET", target: "/v1/vaults", body: b"", principal: "{}" };
    assert!(assertion.verify(&keys, &request, NOW).is_err(), "it was not made with the key");
}
