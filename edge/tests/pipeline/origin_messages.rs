//! Messages about changed keys, from the origin and from anyone else.

use crate::objects::*;
use crate::world::*;
use rds_shared::access::link::{KEY_UPDATE_PATH, KeyUpdate, ORIGIN};
use rds_shared::access::{Assertion, AssertionKey, KeyDigest, KeyRecord, Plan, SignedRequest};

const ROWS: &str = "{\"data\":[]}";

fn body(record: KeyRecord) -> Vec<u8> {
    serde_json::to_vec(&KeyUpdate { digest: KeyDigest::of(&key_text(1)), record }).unwrap()
}

fn news(body: &[u8], key: &str, principal: &str, seconds: i64) -> Ask {
    origin_message(KEY_UPDATE_PATH, body, key, principal, seconds)
}

/// A message to `target`, signed with `key` as `principal` at `seconds` (Unix time).
pub fn origin_message(target: &'static str, body: &[u8], key: &str, principal: &str, seconds: i64) -> Ask {
    let key = AssertionKey::parse(key).unwrap();
    let signed = SignedRequest { method: "POST", target, body, principal };
    let assertion = Assertion::sign(&key, &signed, seconds, [5; 16]).to_header();
    Ask::new("POST", target).with("x-service-assertion", &assertion).with("x-service-principal", principal).body(body)
}

fn world() -> (World, i64) {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.mint(1, record(Plan::Data, 300));
    let now = world.now().as_seconds();
    (world, now)
}

fn revoked() -> KeyRecord {
    KeyRecord { active: false, version: 2, ..record(Plan::Data, 300) }
}

#[test]
fn a_revocation_is_acknowledged_once_no_isolate_treats_the_key_as_live() {
    let (world, now) = world();
    let reply = world.send(&news(&body(revoked()), KEY, ORIGIN, now));
    assert_eq!((reply.status, reply.body.is_none(), reply.header("x-ratelimit-limit")), (204, true, None));
    assert_eq!(world.now().as_millis() - now * 1_000, 1_000, "refusals remembered by other isolates have expired");
    assert_eq!(world.send(&Ask::new("GET", "/v1/vaults").with("authorization", &bearer(1))).status, 401);
}

#[test]
fn a_replay_changes_nothing() {
    let (world, now) = world();
    world.send(&news(&body(revoked()), KEY, ORIGIN, now));
    let older = news(&body(record(Plan::Data, 300)), KEY, ORIGIN, now);
    assert_eq!(world.send(&older).status, 204);
    assert_eq!(world.send(&Ask::new("GET", "/v1/vaults").with("authorization", &bearer(1))).status, 401);
}

#[test]
fn anyone_but_the_origin_gets_404() {
    let (world, now) = world();
    let stranger = KEY.replacen("00112233", "99112233", 1);
    let caller = "{\"kind\":\"anonymous\"}";
    let body = body(revoked());
    let tampered = news(&body, KEY, ORIGIN, now).body(b"{}");
    let unsigned = Ask::new("POST", KEY_UPDATE_PATH).body(&body);
    let nonsense = news(b"nonsense", KEY, ORIGIN, now);
    let huge = news(&[b' '; 5_000], KEY, ORIGIN, now);
    let lost = world.send(&Ask::new("POST", "/__origin/nothing"));
    for ask in [
        unsigned,
        tampered,
        nonsense,
        huge,
        news(&body, &stranger, ORIGIN, now),
        news(&body, KEY, caller, now),
        news(&body, KEY, ORIGIN, now - 31),
        news(&body, KEY, ORIGIN, now + 31),
    ] {
        let reply = world.send(&ask);
        assert_eq!((reply.status, reply.headers.len()), (404, lost.headers.len()));
        let without_id =
            |reply: &rds_edge::respond::Reply| text(reply).replace(reply.header("x-request-id").unwrap(), "");
        assert_eq!(without_id(&reply), without_id(&lost));
    }
    assert_eq!(world.send(&Ask::new("GET", KEY_UPDATE_PATH)).status, 404);
    assert_eq!((world.objects.key_calls.get(), world.objects.address_calls.get()), (0, 0));
}

#[test]
fn a_message_that_could_not_be_stored_is_not_acknowledged() {
    let (world, now) = world();
    world.objects.keys_are_away.set(true);
    let reply = world.send(&news(&body(revoked()), KEY, ORIGIN, now));
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
}
