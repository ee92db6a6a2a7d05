//! The Rust snippet of the guide `webhooks`, tested with signatures of an independent reference implementation.

#[path = "../snippets/verify_webhook.rs"]
mod verify_webhook;

use serde_json::Value;
use verify_webhook::is_genuine;

#[test]
fn the_snippet_accepts_genuine_signatures_only() {
    let vectors = include_str!("../../fixtures/push/signatures.jsonl");
    let mut seen = 0;
    for line in vectors.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let (body, header) = (vector["body"].as_str().unwrap(), vector["ours"].as_str().unwrap());
        let now = vector["seconds"].as_u64().unwrap();
        for secret in vector["secrets"].as_array().unwrap() {
            let secret = secret.as_str().unwrap();
            let accepts =
                |header: &str, body: &str, secret: &str, now| is_genuine(header, body.as_bytes(), secret, now);
            assert!(accepts(header, body, secret, now) && accepts(header, body, secret, now + 300), "{header}");
            assert!(!accepts(header, &format!("{body} "), secret, now), "another body");
            assert!(!accepts(header, body, &format!("{secret}0"), now), "another secret");
            assert!(
                !accepts(header, body, secret, now + 301) && !accepts(header, body, secret, now - 301),
                "another time"
            );
            assert!(!accepts("", body, secret, now) && !accepts("t=,v1=", body, secret, now), "no signature");
        }
        seen += 1;
    }
    assert!(seen > 10);
}
