//! Signatures between edge and origin equal the vectors of an independent implementation (`fixtures/reference/link.py`).

use rds_shared::access::{AnswerHead, Assertion, AssertionKey, BodyDigest, SIGNED, SignedHead};
use rds_shared::wire::hex::unhex_array;
use serde_json::Value;
use std::path::Path;

const KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn vectors(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/link").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(vector: &'a Value, name: &str) -> &'a str {
    vector[name].as_str().unwrap()
}

#[test]
fn the_edge_assertion_equals_the_reference_and_the_origin_accepts_it() {
    let key = AssertionKey::parse(KEY).unwrap();
    let all = vectors("assertions.jsonl");
    assert!(all.len() >= 4);
    for vector in &all {
        let forwarded: Vec<_> = vector["forwarded"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let head = SignedHead {
            method: text(vector, "method"),
            target: text(vector, "target"),
            principal: text(vector, "principal"),
            forwarded: &forwarded,
        };
        let (seconds, body) = (vector["seconds"].as_i64().unwrap(), text(vector, "body").as_bytes());
        let nonce = unhex_array(text(vector, "nonce")).unwrap();
        let signed = Assertion::sign_head(&key, &head, BodyDigest::of(body), seconds, nonce);
        assert_eq!(signed.to_header(), text(vector, "header"));
        let read = Assertion::parse(text(vector, "header")).unwrap();
        let vouched = read.verify_head(std::slice::from_ref(&key), head, seconds).unwrap();
        assert_eq!(vouched.check_body(body), Ok(()));
    }
}

#[test]
fn the_answer_signature_equals_the_reference_and_the_edge_accepts_it() {
    let key = AssertionKey::parse(KEY).unwrap();
    let all = vectors("answers.jsonl");
    assert!(all.len() >= 6);
    for vector in &all {
        let head = AnswerHead {
            nonce: text(vector, "nonce"),
            status: u16::try_from(vector["status"].as_u64().unwrap()).unwrap(),
            headers: SIGNED.map(|name| vector["headers"][name].as_str()),
        };
        let body = vector["body"].as_str().map(|body| BodyDigest::of(body.as_bytes()));
        assert_eq!(key.sign_answer(&head, body.as_ref()), text(vector, "header"));
        assert_eq!(key.verify_answer(Some(text(vector, "header")), &head, body.as_ref()), Ok(()));
    }
}
