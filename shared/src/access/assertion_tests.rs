//! Tests of the edge assertion: which changes of a request invalidate it, its age, its two formats and its parser.

use super::*;
use proptest::prelude::*;

const SECRET: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const NEXT: &str = "k2:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const NOW: i64 = 1_795_219_200;

fn request<'a>() -> SignedRequest<'a> {
    SignedRequest { method: "POST", target: "/v1/vaults/batch", body: b"{}", principal: "{\"kind\":\"anonymous\"}" }
}

fn signed() -> String {
    let key = AssertionKey::parse(SECRET).unwrap();
    Assertion::sign(&key, &request(), NOW, [9; 16]).to_header()
}

fn verified(keys: &[AssertionKey], request: &SignedRequest<'_>, now_seconds: i64) -> Result<(), AssertionError> {
    Assertion::parse(&signed()).unwrap().verify(keys, request, now_seconds)
}

#[test]
fn the_origin_accepts_what_the_edge_signed() {
    let keys = AssertionKey::parse_list(&std::format!("{NEXT},{SECRET}")).unwrap();
    assert_eq!(verified(&keys, &request(), NOW + 30), Ok(()));
    assert_eq!(verified(&keys, &request(), NOW - 30), Ok(()));
}

#[test]
fn a_change_to_any_signed_part_of_a_request_is_detected() {
    let keys = AssertionKey::parse_list(SECRET).unwrap();
    for other in [
        SignedRequest { method: "GET", ..request() },
        SignedRequest { target: "/v1/vaults/batch?x=1", ..request() },
        SignedRequest { body: b"{} ", ..request() },
        SignedRequest { principal: "{\"kind\":\"first_party\",\"origin\":\"https://x\"}", ..request() },
    ] {
        assert_eq!(verified(&keys, &other, NOW), Err(AssertionError::Mismatch));
    }
}

#[test]
fn an_assertion_is_valid_for_thirty_seconds_and_only_while_its_key_is_configured() {
    let keys = AssertionKey::parse_list(SECRET).unwrap();
    assert_eq!(verified(&keys, &request(), NOW + 31), Err(AssertionError::Expired));
    assert_eq!(verified(&keys, &request(), NOW - 31), Err(AssertionError::Expired));
    assert_eq!(verified(&AssertionKey::parse_list(NEXT).unwrap(), &request(), NOW), Err(AssertionError::UnknownKey));
}

#[test]
fn the_text_signed_in_v1_is_the_documented_one() {
    let key = AssertionKey::parse(SECRET).unwrap();
    for (seconds, body) in [(NOW, "{}"), (0, ""), (-7, "x")] {
        let request = SignedRequest { body: body.as_bytes(), ..request() };
        let signed = Assertion::sign(&key, &request, seconds, [9; 16]);
        let body = hex(&Sha256::digest(body));
        let text = std::format!(
            "v1\nPOST\n/v1/vaults/batch\n{seconds}\n{}\n{body}\n{{\"kind\":\"anonymous\"}}",
            hex(&[9; 16])
        );
        let secret = unhex_array::<32>(SECRET.strip_prefix("k1:").unwrap()).unwrap();
        let mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap().chain_update(text).finalize().into_bytes();
        assert_eq!(signed.signature.as_slice(), mac.as_slice());
    }
}

#[test]
fn a_salt_follows_from_the_secret_and_the_purpose() {
    let [one, next] = [SECRET, NEXT].map(|text| AssertionKey::parse(text).unwrap());
    assert_eq!(one.salt("addresses"), AssertionKey::parse(SECRET).unwrap().salt("addresses"));
    assert!(one.salt("addresses") != next.salt("addresses") && one.salt("addresses") != one.salt("other"));
}

#[test]
fn a_secret_never_shows_in_debug_output() {
    assert_eq!(std::format!("{:?}", AssertionKey::parse(SECRET).unwrap()), "AssertionKey(k1)");
}

#[test]
fn a_short_or_nameless_secret_is_refused() {
    for bad in ["", ":00", "k1:00", "k1", "k 1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"] {
        assert!(AssertionKey::parse(bad).is_none(), "{bad}");
    }
}

const FORWARDED: &ForwardedHeaders<'static> = &[("idempotency-key", "a b"), ("accept", "application/json")];

fn head<'a>() -> SignedHead<'a> {
    SignedHead { forwarded: FORWARDED, ..request().head() }
}

fn signed_head() -> String {
    let key = AssertionKey::parse(SECRET).unwrap();
    Assertion::sign_head(&key, &head(), BodyDigest::of(b"{}"), NOW, [9; 16]).to_header()
}

#[test]
fn a_head_is_verified_without_the_body_and_the_body_by_its_digest() {
    let keys = AssertionKey::parse_list(SECRET).unwrap();
    let signed = signed_head();
    let assertion = Assertion::parse(&signed).unwrap();
    let vouched = assertion.verify_head(&keys, head(), NOW).unwrap();
    assert!(vouched.is_proven());
    assert_eq!((vouched.check_body(b"{}"), vouched.check_body(b"{} ")), (Ok(()), Err(AssertionError::Mismatch)));
    let reordered = [FORWARDED[1], ("cookie", "x"), FORWARDED[0]];
    assert!(assertion.verify_head(&keys, SignedHead { forwarded: &reordered, ..head() }, NOW).is_ok());
}

#[test]
fn a_change_to_any_signed_part_of_a_head_is_detected() {
    let keys = AssertionKey::parse_list(SECRET).unwrap();
    let signed = signed_head();
    let other_name = [("idempotency-key", "other"), FORWARDED[1]];
    let added = [FORWARDED[0], FORWARDED[1], ("last-event-id", "v2:1")];
    for other in [
        SignedHead { method: "GET", ..head() },
        SignedHead { target: "/v1/vaults/batch?x=1", ..head() },
        SignedHead { principal: "{\"kind\":\"edge\"}", ..head() },
        SignedHead { forwarded: &FORWARDED[..1], ..head() },
        SignedHead { forwarded: &other_name, ..head() },
        SignedHead { forwarded: &added, ..head() },
    ] {
        let outcome = Assertion::parse(&signed).unwrap().verify_head(&keys, other, NOW).map(drop);
        assert_eq!(outcome, Err(AssertionError::Mismatch), "{other:?}");
    }
    let digest = hex(BodyDigest::of(b"{}").as_bytes());
    let forged = signed.replace(&digest, &hex(BodyDigest::of(b"[]").as_bytes()));
    let outcome = Assertion::parse(&forged).unwrap().verify_head(&keys, head(), NOW).map(drop);
    assert_eq!(outcome, Err(AssertionError::Mismatch));
}

#[test]
fn a_v2_assertion_relabelled_as_v1_is_rejected() {
    let keys = AssertionKey::parse_list(SECRET).unwrap();
    let parts: Vec<_> = signed_head().split(';').map(String::from).collect();
    let as_v1 = std::format!("v1;{};{};{};{}", parts[1], parts[2], parts[3], parts[5]);
    let assertion = Assertion::parse(&as_v1).unwrap();
    let vouched = assertion.verify_head(&keys, head(), NOW).unwrap();
    assert!(!vouched.is_proven(), "v1 is verified with its body");
    assert_eq!(vouched.check_body(b"{}"), Err(AssertionError::Mismatch));
}

#[test]
fn the_signer_of_an_expired_assertion_is_still_identified() {
    let keys = AssertionKey::parse_list(SECRET).unwrap();
    let signed = signed_head();
    let assertion = Assertion::parse(&signed).unwrap();
    assert_eq!(assertion.verify_head(&keys, head(), NOW + 600).map(drop), Err(AssertionError::Expired));
    assert_eq!(assertion.signer(&keys, &head()).map(AssertionKey::id), Some("k1"));
    assert!(assertion.signer(&keys, &SignedHead { target: "/", ..head() }).is_none());
}

#[test]
fn the_empty_digest_is_the_sha256_of_no_bytes() {
    assert_eq!(BodyDigest::EMPTY.as_bytes().as_slice(), Sha256::digest(b"").as_slice());
}

proptest! {
    #[test]
    fn no_header_breaks_the_parser(header in "\\PC{0,120}") {
        let _ = Assertion::parse(&header);
    }
}
