//! Verification of decisions: the edge derives the five results by itself, whatever the origin claims, and also while the origin
//! is down.

use crate::objects::*;
use crate::world::*;
use rds_edge::origin_link::signed_call::OriginAnswer;
use rds_shared::access::Plan;
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../../../fixtures/decisions/verifications.jsonl");

/// Each vector: its id, the origin's evidence, and the five verification results (see `five`).
fn vectors() -> impl Iterator<Item = (String, Value, Value)> {
    VECTORS.lines().map(|line| {
        let vector: Value = serde_json::from_str(line).unwrap();
        let given = &vector["in"];
        let record = json!({ "envelope": given["envelope"], "signature": given["signature"] });
        let evidence = json!({ "record": record, "signers": given["registry"] });
        (given["id"].as_str().unwrap().to_owned(), evidence, vector["out"].clone())
    })
}

/// The first vector that passes all checks.
fn good() -> (String, Value) {
    vectors().find(|(_, _, five)| *five == json!([true, true, true, true, true])).map(|(id, it, _)| (id, it)).unwrap()
}

fn kept(evidence: &Value, registry: i64) -> OriginAnswer {
    answer(200, &evidence.to_string())
        .with("cdn-cache-control", "max-age=60, stale-if-error=86400")
        .with("etag", &format!("W/\"registry-{registry}\""))
        .with("x-service-tags", &format!("signers={registry}"))
}

fn world_with(evidence: Value) -> World {
    World::new(move |_| Ok(kept(&evidence, 1)))
}

fn path(id: &str) -> String {
    format!("/v1/graph/decision/{id}/verify")
}

fn five(data: &Value) -> Value {
    let answers = ["found", "envelopeIntact", "signatureValid", "signerRecognized", "signerActiveAtIssuance"];
    answers.iter().map(|name| data[name].clone()).collect()
}

fn data(world: &World, id: &str) -> Value {
    let reply = world.get(&path(id));
    assert_eq!(reply.status, 200, "{}", text(&reply));
    serde_json::from_str::<Value>(&text(&reply)).unwrap()["data"].clone()
}

#[test]
fn every_record_gets_its_expected_answers() {
    for (id, evidence, expected) in vectors() {
        let said = data(&world_with(evidence), &id);
        assert_eq!(five(&said), expected);
        assert_eq!(
            said["decision"].is_null(),
            said["envelopeIntact"] == json!(false),
            "an unproven decision is not returned"
        );
    }
}

#[test]
fn no_key_is_needed_and_the_origins_own_verdict_is_ignored() {
    let (id, mut evidence) = good();
    evidence["verdict"] = json!("verified");
    evidence["record"]["signature"] = json!(format!("0x{}", "11".repeat(65)));
    let said = data(&world_with(evidence), &id);
    assert_eq!(five(&said), json!([true, true, false, true, true]));
    assert_eq!(said["decision"]["id"], json!(id));
    assert!(said.get("verdict").is_none() && said.get("record").is_none());
}

#[test]
fn a_missing_decision_is_looked_up_again_each_time() {
    let (id, evidence) = good();
    let none = json!({ "record": null, "signers": evidence["signers"] });
    let world = World::new(move |_| Ok(answer(200, &none.to_string())));
    assert_eq!(
        data(&world, &id),
        serde_json::to_value(rds_shared::graph::verification::Verification::NOT_FOUND).unwrap()
    );
    assert!(world.stored.borrow().is_empty());
    world.origin(move |_| Ok(kept(&evidence, 1)));
    assert_eq!(data(&world, &id)["found"], json!(true), "it was created a moment later");
}

#[test]
fn a_verified_decision_stays_verifiable_while_the_origin_is_down() {
    let (id, evidence) = good();
    let mut world = world_with(evidence);
    let before = data(&world, &id);
    world.origin_is_down();
    let reply = world.get(&path(&id.to_uppercase()));
    assert_eq!((x_cache(&reply), world.asked()), ("HIT", 1), "the case of the id does not matter");
    world.pass_seconds(3_600);
    world.new_isolate();
    let reply = world.get(&path(&id));
    assert_eq!((reply.status, x_cache(&reply)), (200, "STALE-ERROR"));
    assert!(reply.header("warning").is_some());
    assert_eq!(serde_json::from_str::<Value>(&text(&reply)).unwrap()["data"], before);
    let unknown = world.get(&path(&"0".repeat(64)));
    assert_eq!(unknown.status, 503, "a decision that was never cached cannot be verified");
}

#[test]
fn a_change_of_the_registry_shows_on_the_next_request() {
    let (id, mut evidence) = good();
    let world = world_with(evidence.clone());
    assert_eq!(five(&data(&world, &id)), json!([true, true, true, true, true]));
    for signer in evidence["signers"].as_array_mut().unwrap() {
        signer["retired_at"] = json!("2026-01-02T00:00:00.000Z");
    }
    world.origin(move |_| Ok(kept(&evidence, 2)));
    assert_eq!(
        data(&world, &id)["signerActiveAtIssuance"],
        json!(true),
        "the cached evidence is fresh, and the change is not known yet"
    );
    world.tag_versions.versions.borrow_mut().raise(rds_shared::route::Tag::Signers, 2);
    world.pass_seconds(2);
    assert_eq!(five(&data(&world, &id)), json!([true, true, true, true, false]));
}

#[test]
fn an_outdated_registry_does_not_prove_that_a_signer_was_authorised() {
    let (id, evidence) = good();
    let mut world = world_with(evidence.clone());
    let before = data(&world, &id);
    let tag = world.get(&path(&id)).header("etag").unwrap().to_owned();
    let again = Ask::new("GET", &path(&id)).with("if-none-match", &tag);
    assert_eq!(world.send(&again).status, 304);
    world.origin_is_down();
    world.tag_versions.versions.borrow_mut().raise(rds_shared::route::Tag::Signers, 2);
    world.pass_seconds(2);
    for _ in 0..2 {
        let reply = world.get(&path(&id));
        assert_eq!((reply.status, x_cache(&reply)), (200, "STALE-ERROR"));
        assert!(reply.header("warning").is_some_and(|warning| warning.starts_with("111")));
        assert!(reply.header("age").is_some() && reply.header("cache-status").unwrap().contains("stale-if-error"));
        let said = serde_json::from_str::<Value>(&text(&reply)).unwrap()["data"].clone();
        assert_eq!(five(&said), json!([true, true, true, true, false]), "the retired signer is unknown");
        assert_eq!(said["decision"], before["decision"], "the decision's content is proven by its hash");
        let reply = world.send(&again);
        assert_eq!(
            (reply.status, reply.header("etag") == Some(&tag)),
            (200, false),
            "the earlier verification is no longer valid"
        );
        world.new_isolate();
    }
    world.origin(move |_| Ok(kept(&evidence, 2)));
    world.pass_seconds(60);
    assert_eq!(data(&world, &id), before, "another signer had been retired");
}

#[test]
fn malformed_evidence_is_never_passed_on() {
    let (id, evidence) = good();
    let oversized = json!({ "record": evidence["record"], "signers": [], "padding": " ".repeat(200 * 1024) });
    for body in [json!({ "data": { "found": true, "envelopeIntact": true } }), json!([]), oversized] {
        let world = World::new(move |_| Ok(kept(&body, 1)));
        let reply = world.get(&path(&id));
        assert_eq!((reply.status, reply.header("cache-control")), (503, Some("no-store")), "{}", text(&reply));
        assert!(!text(&reply).contains("envelope"), "{}", text(&reply));
    }
}

#[test]
fn the_origins_refusal_of_a_malformed_id_or_a_disabled_graph_is_passed_on() {
    for (status, code) in [(400, "INVALID_PARAMETER"), (404, "NOT_FOUND")] {
        let world = World::new(move |call| Ok(envelope(status, code, call)));
        let reply = world.get(&path("XYZ"));
        assert_eq!(reply.status, status);
        assert!(text(&reply).contains(code));
        assert_eq!(world.last_call().target, path("XYZ"));
    }
}

#[test]
fn verifying_is_charged_to_the_address() {
    let (id, evidence) = good();
    let world = world_with(evidence);
    let ask = Ask::new("GET", &path(&id)).with("cf-connecting-ip", "192.0.2.7");
    let statuses: Vec<_> = (0..12).map(|_| world.send(&ask).status).collect();
    assert_eq!(statuses, [[200; 10].as_slice(), &[429; 2]].concat());
    world.objects.mint(1, record(Plan::Data, 50));
    let keyed = ask.with("authorization", &bearer(1));
    let reply = world.send(&keyed);
    assert_eq!((reply.status, reply.header("x-ratelimit-limit")), (200, Some("600")), "the graph has its own limit");
}

#[test]
fn a_check_requires_a_decisioning_key_and_is_passed_on_with_its_body() {
    let world = World::new(|_| Ok(answer(200, "{\"data\":{\"verdict\":\"approve\"}}")));
    let ask = |number: Option<u32>| {
        let ask = Ask::new("POST", "/v1/graph/check").with("content-type", "application/json").body(b"{}");
        number.map_or(ask.clone(), |number| ask.with("authorization", &bearer(number)))
    };
    assert_eq!(world.send(&ask(None)).status, 401);
    world.objects.mint(1, record(Plan::Data, 300));
    assert_eq!(world.send(&ask(Some(1))).status, 403);
    assert_eq!(world.asked(), 0);
    world.objects.mint(2, record(Plan::Decisioning, 600));
    let reply = world.send(&ask(Some(2)));
    assert_eq!(
        (reply.status, reply.header("cache-control"), reply.header("x-ratelimit-limit")),
        (200, Some("no-store"), Some("60"))
    );
    assert_eq!(world.last_call().body, b"{}");
    let large = Ask::new("POST", "/v1/graph/check").with("content-type", "application/json");
    let reply = world.send(&large.with("authorization", &bearer(2)).body(&vec![b' '; 512 * 1024 + 1]));
    assert_eq!(reply.status, 413);
}
