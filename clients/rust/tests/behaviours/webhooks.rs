//! Plays the behaviours of webhook deliveries.

use crate::compare::contains;
use crate::lines;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use risk_data_client::http::HeaderMap;
use risk_data_client::{Scheme, WebhookError, Webhooks};
use serde_json::Value;
use sha2::Sha256;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

pub fn play(it: &Value) {
    if let Some(vectors) = it["vectors"].as_str() {
        return play_vectors(vectors);
    }
    let sign = &it["sign"];
    let (mut body, seconds) = (sign["body"].as_str().unwrap_or("").to_owned(), sign["seconds"].as_u64().unwrap_or(0));
    let id = sign["id"].as_str().unwrap_or("evt_1");
    let signers = texts(&sign["secret"]);
    let ours: Vec<String> =
        signers.iter().map(|it| format!("v1={}", hex(&mac(it.as_bytes(), &format!("{seconds}.{body}"))))).collect();
    let standard: Vec<String> = signers
        .iter()
        .map(|it| {
            let key = BASE64_STANDARD.decode(it.trim_start_matches("whsec_")).unwrap_or_default();
            format!("v1,{}", BASE64_STANDARD.encode(mac(&key, &format!("{id}.{seconds}.{body}"))))
        })
        .collect();
    let mut headers = signed(&format!("t={seconds},{}", ours.join(",")), id, seconds, &standard.join(" "));
    for (name, value) in it["headers"].as_object().into_iter().flatten() {
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        headers.extend(value.as_str().map(|value| (name.clone(), value.to_owned())));
    }
    let mut secrets = if it["secrets"].is_null() { signers } else { texts(&it["secrets"]) };
    let original = body.clone();
    change(it["change"].as_str().unwrap_or(""), &mut headers, &mut body, &mut secrets);
    let mut webhooks = Webhooks::new(secrets).now(time(&it["now"]));
    if let Some(tolerance) = it["tolerance"].as_u64() {
        webhooks = webhooks.tolerance(Duration::from_secs(tolerance));
    }
    webhooks = match it["scheme"].as_str() {
        Some("service") => webhooks.scheme(Scheme::Service),
        Some("standard") => webhooks.scheme(Scheme::Standard),
        _ => webhooks,
    };
    let outcome = webhooks.verify(&map(&headers), body.as_bytes());
    if it["expect"]["ok"] == true {
        contains(&outcome.unwrap().json, &serde_json::from_str(&original).unwrap(), "event");
    } else {
        assert_eq!(reason(&outcome.unwrap_err()), it["expect"]["refused"]);
    }
}

fn play_vectors(path: &str) {
    let vectors = lines(path);
    assert!(!vectors.is_empty());
    for it in vectors {
        let text = |name: &str| it[name].as_str().unwrap();
        let headers = map(&signed(text("ours"), text("event_id"), it["seconds"].as_u64().unwrap(), text("standard")));
        for scheme in [Scheme::Service, Scheme::Standard] {
            for secret in texts(&it["secrets"]) {
                let webhooks = Webhooks::new([secret]).now(time(&it["seconds"])).scheme(scheme);
                let outcome = webhooks.verify(&headers, text("body").as_bytes());
                // The vectors' bodies are any bytes: what is not an event is refused after its signature was accepted.
                assert!(matches!(outcome, Ok(_) | Err(WebhookError::MalformedBody)), "{outcome:?}");
                let altered = webhooks.verify(&headers, format!("{}x", text("body")).as_bytes());
                assert_eq!(altered, Err(WebhookError::NoMatch));
            }
        }
    }
}

fn signed(ours: &str, id: &str, seconds: u64, standard: &str) -> Vec<(String, String)> {
    let seconds = seconds.to_string();
    let all = [
        ("X-Service-Signature", ours),
        ("webhook-id", id),
        ("webhook-timestamp", &seconds),
        ("webhook-signature", standard),
    ];
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// What is altered after signing.
fn change(what: &str, headers: &mut [(String, String)], body: &mut String, secrets: &mut Vec<String>) {
    let mut edit = |name: &str, edit: &dyn Fn(&str) -> String| {
        for (_, value) in headers.iter_mut().filter(|(known, _)| known.eq_ignore_ascii_case(name)) {
            *value = edit(value);
        }
    };
    match what {
        "body" => *body = body.replacen('{', "{ ", 1),
        "secret" => *secrets = vec![format!("whsec_{}", "0".repeat(64))],
        "id" => edit("webhook-id", &|_| "evt_2".into()),
        "time" => {
            let later = |text: &str| (text.parse::<u64>().unwrap() + 1).to_string();
            edit("webhook-timestamp", &later);
            edit("x-service-signature", &|text| {
                let (time, rest) = text.trim_start_matches("t=").split_once(',').unwrap();
                format!("t={},{rest}", later(time))
            });
        }
        "signature" => {
            edit("x-service-signature", &|text| other(text, "v1=", '0', '1'));
            edit("webhook-signature", &|text| other(text, "v1,", 'A', 'B'));
        }
        _ => {}
    }
}

/// Replaces the first character of each signature.
fn other(text: &str, start: &str, one: char, another: char) -> String {
    let mut parts = text.split(start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.get(1..).unwrap_or_default();
        _ = write!(out, "{start}{}{rest}", if part.starts_with(one) { another } else { one });
    }
    out
}

fn map(headers: &[(String, String)]) -> HeaderMap {
    headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect::<Vec<_>>()
        .into_iter()
        .collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(|it| it.as_str().unwrap().to_owned()).collect(),
        other => vec![other.as_str().unwrap_or_default().to_owned()],
    }
}

fn time(seconds: &Value) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds.as_f64().unwrap())
}

fn mac(key: &[u8], message: &str) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(message).finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

fn reason(error: &WebhookError) -> &'static str {
    match error {
        WebhookError::MissingHeader(_) => "missing_header",
        WebhookError::MalformedHeader(_) => "malformed_header",
        WebhookError::TooOld(_) => "too_old",
        WebhookError::TooNew(_) => "too_new",
        WebhookError::NoMatch => "no_match",
        WebhookError::MalformedBody => "malformed_body",
        other => panic!("{other}"),
    }
}
