//! Calls as the origin receives them: signed and canonical, with nothing unparsed from the caller.

use crate::world::*;
use rds_shared::access::{Assertion, AssertionKey, Principal, SignedHead};
use std::collections::BTreeSet;

fn header(call: &rds_edge::origin_link::signed_call::Call, name: &str) -> String {
    call.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

#[test]
fn every_part_of_a_call_is_signed() {
    let world = World::new(|_| Ok(page("{}")));
    world.send(
        &Ask::new("POST", "/v1/vaults/batch")
            .with("content-type", "application/json")
            .with("origin", OUR_PAGE)
            .body(b"{\"ids\":[]}"),
    );
    let call = world.last_call();
    let principal = header(&call, "x-service-principal");
    assert_eq!(Principal::from_json(&principal), Some(Principal::FirstParty { origin: OUR_PAGE.to_owned() }));
    let keys = AssertionKey::parse_list(KEY).unwrap();
    let sent = header(&call, "x-service-assertion");
    let assertion = Assertion::parse(&sent).unwrap();
    let every: Vec<_> = call.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let head = SignedHead { method: "POST", target: &call.target, principal: &principal, forwarded: &every };
    let vouched = assertion.verify_head(&keys, head, 1_795_219_200).unwrap();
    assert!(vouched.is_proven(), "proven before the body is read");
    assert_eq!(vouched.check_body(&call.body), Ok(()));
    for name in ["accept", "content-type", "x-request-id"] {
        let others: Vec<_> = every.iter().copied().filter(|(known, _)| *known != name).collect();
        let head = SignedHead { forwarded: &others, ..head };
        assert!(assertion.verify_head(&keys, head, 1_795_219_200).is_err(), "{name} is covered");
    }
}

#[test]
fn every_call_has_its_own_nonce_and_request_id() {
    let world = World::new(|_| Ok(page("{}")));
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        world.get("/v1/health");
        let call = world.last_call();
        assert!(seen.insert(Assertion::parse(&header(&call, "x-service-assertion")).unwrap().nonce().to_owned()));
        assert!(seen.insert(header(&call, "x-request-id")));
    }
}

#[test]
fn no_unparsed_input_of_a_caller_reaches_the_origin() {
    let world = World::new(|_| Ok(page("{}")));
    let mut ask = Ask::new("GET", "/v1/vaults?search=a%20b&cb=1&page=2");
    for name in [
        "x-request-id",
        "x-service-assertion",
        "x-service-principal",
        "if-none-match",
        "accept",
        "cookie",
        "host",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-original-url",
        "x-http-method-override",
        "range",
        "x-edge-debug",
    ] {
        ask = ask.with(name, "poison");
    }
    world.send(&ask);
    let call = world.last_call();
    assert_eq!(call.target, "/v1/vaults?page=2&search=a%20b");
    let names: Vec<_> = call.headers.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["accept", "x-request-id", "x-service-assertion", "x-service-principal"]);
    assert!(call.headers.iter().all(|(_, value)| !value.contains("poison")));
}

#[test]
fn only_known_headers_of_the_origin_reach_a_caller() {
    let world = World::new(|_| {
        Ok(page("{}")
            .with("set-cookie", "a=b")
            .with("server", "x")
            .with("x-internal", "y")
            .with("access-control-allow-origin", "*"))
    });
    for _ in 0..2 {
        let reply = world.get("/v1/vaults");
        for name in ["set-cookie", "server", "x-internal", "access-control-allow-origin"] {
            assert_eq!(reply.header(name), None, "{name}");
        }
        let names: BTreeSet<_> = reply.headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), reply.headers.len(), "a header occurs twice");
    }
}
