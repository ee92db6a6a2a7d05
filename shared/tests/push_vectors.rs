//! Stream frames and webhook signatures equal the vectors of an independent implementation (`fixtures/reference/push.py`).

use std::fs;
use std::path::Path;

use rds_shared::push::Cursor;
use rds_shared::push::delivery::{Envelope, EventId, TestData, attempt_headers};
use rds_shared::push::event_type::EventType;
use rds_shared::push::frames::{DRAINING, HEARTBEAT, Operation, checkpoint, gap, operation, ready};
use rds_shared::push::gap::Gap;
use rds_shared::push::schedule::Attempt;
use rds_shared::push::signature::{Secret, SignatureError, SigningSecrets};
use rds_shared::wire::time::{Micros, Timestamp};
use serde_json::Value;

fn vectors(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/push").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn cursor(value: &Value) -> Cursor {
    Cursor::new(value.as_str().unwrap().parse().unwrap())
}

#[test]
fn every_frame_is_encoded_like_its_vector() {
    let vectors = vectors("frames.jsonl");
    assert_eq!(vectors.len(), 17);
    for vector in vectors {
        let at = || cursor(&vector["cursor"]);
        let bytes = match vector["frame"].as_str().unwrap() {
            "ready" => ready(vector["vault_id"].as_str(), at()),
            "cursor" => checkpoint(at()),
            "gap" => {
                let end = |name: &str| Some(&vector[name]).filter(|value| !value.is_null()).map(cursor);
                let reason = vector["reason"].as_str().unwrap().parse().unwrap();
                gap(&Gap { reason, from: end("from"), to: end("to"), cursor: at() })
            }
            "draining" => DRAINING.to_vec(),
            "heartbeat" => HEARTBEAT.to_vec(),
            name => operation(name.parse::<Operation>().unwrap(), at(), vector["row"].as_str().unwrap()),
        };
        assert_eq!(String::from_utf8(bytes).unwrap(), vector["bytes"].as_str().unwrap());
    }
}

#[test]
fn a_gap_that_ends_a_connection_names_the_cursor_to_resume_from() {
    let (here, tail) = (Cursor::new(900), Cursor::new(5_000));
    for (gap, to) in [
        (Gap::queue_overflow(here, tail), Some(tail)),
        (Gap::replay_truncated(here, tail), Some(tail)),
        (Gap::replay_failed(here), None),
    ] {
        assert_eq!((gap.from, gap.to, gap.cursor), (Some(here), to, here));
        assert!(gap.reason.closes());
    }
}

/// One vector of `signatures.jsonl`.
struct Signed {
    /// The current secret, and during a rotation the previous one.
    secrets: Vec<Secret>,
    signing: SigningSecrets,
    event_id: EventId,
    now: Timestamp,
    body: String,
    ours: String,
    standard: String,
}

fn signed() -> Vec<Signed> {
    let read = |vector: Value| {
        let text = |name: &str| vector[name].as_str().unwrap().to_owned();
        let now = Timestamp::from_seconds(vector["seconds"].as_i64().unwrap());
        let secrets = vector["secrets"].as_array().unwrap().iter();
        let secrets: Vec<_> = secrets.map(|secret| Secret::parse(secret.as_str().unwrap()).unwrap()).collect();
        let signing = match secrets.as_slice() {
            [only] => SigningSecrets::new(only.clone()),
            [current, previous] => {
                SigningSecrets::new(previous.clone()).rotated(current.clone(), now.plus_seconds(3600))
            }
            _ => panic!("one secret or two"),
        };
        let event_id = EventId::parse(&text("event_id")).unwrap();
        Signed { secrets, signing, event_id, now, body: text("body"), ours: text("ours"), standard: text("standard") }
    };
    vectors("signatures.jsonl").into_iter().map(read).collect()
}

#[test]
fn an_attempt_carries_both_signatures_of_the_same_body() {
    let vectors = signed();
    assert_eq!(vectors.len(), 30);
    for Signed { signing, event_id, now, body, ours, standard, .. } in vectors {
        let headers = attempt_headers(&signing, &event_id, Attempt::new(3).unwrap(), body.as_bytes(), now);
        let seconds = now.as_seconds().to_string();
        let expected = [
            ("content-type", "application/json"),
            ("user-agent", "service-webhooks/1.0"),
            ("x-service-signature", &ours),
            ("x-service-event-id", event_id.as_str()),
            ("x-service-delivery-attempt", "3"),
            ("webhook-id", event_id.as_str()),
            ("webhook-timestamp", &seconds),
            ("webhook-signature", &standard),
        ];
        assert_eq!(headers.each_ref().map(|(name, value)| (*name, value.as_str())), expected);
    }
}

#[test]
fn a_receiver_accepts_either_secret_and_refuses_changed_deliveries() {
    for Signed { secrets, now, body, ours, .. } in signed() {
        let (seconds, bytes) = (now.as_seconds().to_string(), body.as_bytes());
        for secret in &secrets {
            assert_eq!(secret.verify(&ours, bytes, now), Ok(()));
        }
        let stranger = Secret::from_random([9; 32]);
        let longer = [bytes, b" "].concat();
        let moved = ours.replace(&seconds, &(now.as_seconds() + 1).to_string());
        for refused in [
            stranger.verify(&ours, bytes, now),
            secrets[0].verify(&ours, &longer, now),
            secrets[0].verify(&moved, bytes, now),
            secrets[0].verify(&ours.replace("v1=", "v0="), bytes, now),
        ] {
            assert_eq!(refused, Err(SignatureError::Mismatch));
        }
    }
}

#[test]
fn a_signature_is_valid_for_five_minutes_in_either_direction() {
    let Signed { secrets, now, body, ours, .. } = signed().swap_remove(0);
    for (away, expected) in [
        (300, Ok(())),
        (-300, Ok(())),
        (301, Err(SignatureError::OutsideTolerance)),
        (-301, Err(SignatureError::OutsideTolerance)),
    ] {
        let clock = now.plus_seconds(away);
        assert_eq!(secrets[0].verify(&ours, body.as_bytes(), clock), expected, "{away}");
    }
}

#[test]
fn a_malformed_header_and_a_wrong_signature_give_different_errors() {
    let (secret, now) = (Secret::from_random([1; 32]), Timestamp::from_seconds(1_795_219_200));
    let flood = format!("t=1795219200{}", ",v1=00".repeat(1_000));
    for bad in ["", "t", "v1=00", "t=now,v1=00", "t=1795219200,t=1795219200,v1=00", "t=1795219200 v1", flood.as_str()] {
        assert_eq!(secret.verify(bad, b"", now), Err(SignatureError::Malformed), "{bad:.40}");
    }
    for wrong in ["t=1795219200", "t=1795219200,v1=", "t=1795219200,v1=zz", "t=1795219200,v1=0011"] {
        assert_eq!(secret.verify(wrong, b"", now), Err(SignatureError::Mismatch), "{wrong}");
    }
    assert!(secret.verify("t=-9223372036854775808,v1=00", b"", now).is_err());
}

#[test]
fn a_header_is_verified_up_to_1024_bytes() {
    let Signed { secrets, now, body, ours, .. } = signed().swap_remove(0);
    let padded = |length: usize| format!("{ours},x={}", "0".repeat(length - ours.len() - 3));
    assert_eq!(secrets[0].verify(&padded(1_024), body.as_bytes(), now), Ok(()));
    assert_eq!(secrets[0].verify(&padded(1_025), body.as_bytes(), now), Err(SignatureError::Malformed));
}

#[test]
fn a_receiver_is_told_why_a_signature_is_refused() {
    for (error, text) in [
        (SignatureError::Malformed, "the signature header is malformed"),
        (SignatureError::OutsideTolerance, "the signature's time differs from the clock by more than five minutes"),
        (SignatureError::Mismatch, "no signature matches"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn the_old_secret_signs_until_the_overlap_ends() {
    let (old, new) = (Secret::from_random([1; 32]), Secret::from_random([2; 32]));
    let rotated_at = Timestamp::from_seconds(1_795_219_200);
    let secrets = SigningSecrets::new(old.clone()).rotated(new.clone(), rotated_at.plus_seconds(3600));
    for (after, old_holds) in [(0, true), (3599, true), (3600, false), (7200, false)] {
        let now = rotated_at.plus_seconds(after);
        let header = secrets.sign(b"{}", now);
        assert_eq!(new.verify(&header, b"{}", now), Ok(()));
        assert_eq!(old.verify(&header, b"{}", now).is_ok(), old_holds, "{after} s after the rotation");
    }
}

#[test]
fn a_secret_parses_back_and_is_hidden_in_debug_output() {
    let secret = Secret::from_random([0xab; 32]);
    assert_eq!(secret.expose(), format!("whsec_{}", "ab".repeat(32)));
    assert_eq!(Secret::parse(secret.expose()), Some(secret.clone()));
    assert_eq!(format!("{secret:?}"), "Secret(…)");
    assert_eq!(format!("{:?}", SigningSecrets::new(secret.clone())).matches("ab").count(), 0);
    for bad in ["", "whsec_", &secret.expose().to_uppercase(), &secret.expose()[..69], &format!("{}0", secret.expose())]
    {
        assert_eq!(Secret::parse(bad), None, "{bad}");
    }
}

#[test]
fn the_envelope_has_microseconds_and_the_unchanged_row() {
    let event_id = EventId::parse("evt_000102030405060708090a0b0c0d0e0f").unwrap();
    let occurred_at = Micros(Timestamp::parse("2026-11-21T00:00:00.123456Z").unwrap());
    let data = TestData { subscription_id: 12 };
    let body =
        Envelope { event_id: &event_id, event_type: EventType::WebhookTest, occurred_at, data }.encode().unwrap();
    assert!(signed().iter().any(|vector| vector.body == body), "{body}");
}
