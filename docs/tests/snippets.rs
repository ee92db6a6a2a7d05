//! The guide's snippet in Rust, against signatures that an independent reference made.

#[path = "../snippets/verify_webhook.rs"]
mod verify_webhook;

use serde_json::Value;
use verify_webhook::is_genuine;

#[test]
fn the_snippet_accepts_what_is_genuine_and_nothing_else() {
    let vectors = include_str!("../../fixtures/push/signatures.jsonl");
    let mut seen = 0;
    for line in vectors.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let (body, header) = (vector["body"].as_str().unwrap(), vector["ours"].as_str().unwrap());
        let now = vector["seconds"].as_u64().unwrap();
        for secret in vector["secrets"].as_array().unwrap() {
            let secret = secret.as_str().unwrap();
            let holds = |header: &str, body: &str, secret: &str, now| is_genuine(header, body.as_bytes(), secret, now);
            assert!(holds(header, body, secret, now) && holds(header, body, secret, now + 300), "{header}");
            assert!(!holds(header, &format!("{body} "), secret, now), "another body");
            assert!(!holds(header, body, &format!("{secret}0"), now), "another secret");
            assert!(!holds(header, body, secret, now + 301) && !holds(header, body, secret, now - 301), "another time");
            assert!(!holds("", body, secret, now) && !holds("t=,v1=", body, secret, now), "no signature");
        }
        seen += 1;
    }
    assert!(seen > 10);
}
