//! `rds webhooks listen`: registers, receives, verifies, deregisters.

use crate::run::{rds, server};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

const SECRET: &str = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0";

fn deliver(address: &str, body: &str, secret: &str) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(format!("{seconds}.{body}"));
    let hex = mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, it| {
        write!(hex, "{it:02x}").unwrap();
        hex
    });
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    std::io::Write::write_fmt(
        &mut stream,
        format_args!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\nX-Service-Signature: t={seconds},v1={hex}\r\n\r\n{body}"),
    )
    .unwrap();
    stream.flush().unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap().to_owned()
}

#[test]
fn deliveries_are_verified_and_printed_and_the_webhook_is_deregistered() {
    let created = json!({"data": {"id": 12, "url": "https://hooks.example.com/risk", "families": ["rating.changed"], "secret": SECRET}});
    let server = server(&[
        json!({"when": {"method": "POST", "path": "/v1/webhooks"}, "json": created}),
        json!({"when": {"method": "DELETE", "path": "/v1/webhooks/12"}, "json": {"data": {"id": 12, "deleted": true}}}),
    ]);
    let given = [
        "webhooks",
        "listen",
        "--public-url",
        "https://hooks.example.com/risk",
        "--listen",
        "127.0.0.1:0",
        "--families",
        "rating.changed",
        "--count",
        "1",
    ];
    let mut child = rds(&server.address, &given).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    let address = line.trim().trim_start_matches("receiving on ").to_owned();
    let body = json!({"event_id": "evt_1", "event_type": "rating.changed", "occurred_at": "2026-11-20T00:00:00Z", "data": {"title": "A"}}).to_string();
    assert_eq!(deliver(&address, &body, "whsec_b3RoZXI="), "HTTP/1.1 400 Bad Request");
    assert_eq!(deliver(&address, &body, SECRET), "HTTP/1.1 204 No Content");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["event_id"], "evt_1");
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("a delivery was refused") && rest.contains("webhook 12 is deregistered"), "{rest}");
    let seen = server.seen();
    let sent: Value = serde_json::from_str(seen["requests"][0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(sent["families"], json!(["rating.changed"]));
    assert_eq!(seen["requests"][1]["method"], "DELETE");
}
