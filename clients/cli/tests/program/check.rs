//! Portfolio checks and decisions: verdicts, signatures, exit codes.

use crate::run::{Ran, folder, ran, rds, repository, server};
use rds_shared::graph::signature::DecisionKey;
use rds_shared::model::content_hash::ContentHash;
use serde_json::{Value, json};
use std::fs;

/// A check's answer with this verdict, whose decision a key signed, and the registry that lists the key.
fn signed(verdict: &str) -> (Value, Value) {
    let vectors = fs::read_to_string(repository().join("fixtures/decisions/verifications.jsonl")).unwrap();
    let first: Value = serde_json::from_str(vectors.lines().next().unwrap()).unwrap();
    let key = DecisionKey::from_bytes(&[7; 32]).unwrap();
    let mut envelope: Value = serde_json::from_str(first["in"]["envelope"].as_str().unwrap()).unwrap();
    envelope["verdict"] = verdict.into();
    envelope["signerAddress"] = key.address().as_str().into();
    let envelope = envelope.to_string();
    let id = ContentHash::of_text(&envelope);
    let decision =
        json!({"decisionId": id.to_string(), "envelope": envelope, "signature": key.sign(id).unwrap().to_string()});
    let finding = json!({"limit": "maxSharePerProtocol", "dimension": "protocol", "key": "alder", "kind": "breach", "maxShare": 0.6,
        "share": 0.75, "usd": "750000.00", "verifiedUsd": "0.00", "verified": false, "confidence": 0.5});
    let findings = if verdict == "approve" { json!([]) } else { json!([finding]) };
    let check = json!({"data": {"verdict": verdict, "totalUsd": "1000000.00", "findings": findings, "unresolvedVaults": [], "decision": decision}});
    let signers = json!({"data": [{"address": key.address().as_str(), "keyId": "signer-1", "activatedAt": "2026-01-01T00:00:00.000Z", "retiredAt": null}]});
    (check, signers)
}

fn checked(check: &Value, signers: &Value, more: &[&str]) -> (Ran, Value) {
    let server = server(&[
        json!({"when": {"method": "POST", "path": "/v1/graph/check"}, "json": check}),
        json!({"when": {"path": "/v1/graph/signers"}, "json": signers}),
    ]);
    let text = "vault,amount\n31337:0xc516dd999378982aac393e1de92f8eff568cc06d,750000\n31337:0xc534920503ee1123ba6a40e37a71c4a9166893b7,250000.5\n";
    let given: Vec<&str> = ["check", "-", "--ref", "book-1"].iter().chain(more).copied().collect();
    let ran = ran(rds(&server.address, &given), text);
    let seen = server.seen();
    (ran, seen["requests"].clone())
}

#[test]
fn the_exit_code_is_the_verdict() {
    for (verdict, code) in [("approve", 0), ("caution", 2), ("reject", 3)] {
        let (check, signers) = signed(verdict);
        let (ran, requests) = checked(&check, &signers, &["--max-share", "protocol=0.6"]);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.out.starts_with(&verdict.to_uppercase()), "{}", ran.out);
        assert_eq!(ran.out.contains("protocol alder 75.0 % of at most 60.0 %"), verdict != "approve", "{}", ran.out);
        assert!(ran.out.contains("verified on this machine"));
        let body: Value = serde_json::from_str(requests[0]["body"].as_str().unwrap()).unwrap();
        assert_eq!(body["portfolioRef"], "book-1");
        assert_eq!(body["issue"], true);
        assert_eq!(body["limits"], json!({"maxSharePerProtocol": 0.6}));
        assert_eq!(body["positions"][1]["amountUsd"], 250_000.5);
    }
}

#[test]
fn a_verdict_that_the_signature_does_not_prove_is_an_error() {
    let (mut check, signers) = signed("approve");
    let (other, _) = signed("reject");
    // The service says "approve", and the decision that it signed says "reject".
    check["data"]["decision"] = other["data"]["decision"].clone();
    let (ran, _) = checked(&check, &signers, &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("does not prove"), "{}", ran.err);
    let (check, _) = signed("approve");
    let (ran, _) = checked(&check, &json!({"data": []}), &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("NOT GENUINE"), "{}", ran.out);
}

#[test]
fn a_limit_that_is_not_known_is_refused_before_anything_is_sent() {
    let (check, signers) = signed("approve");
    for wrong in ["flavour=0.5", "protocol", "protocol=much"] {
        let (ran, requests) = checked(&check, &signers, &["--max-share", wrong]);
        assert_eq!((ran.code, requests), (1, json!([])), "{wrong}");
    }
}

#[test]
fn a_check_can_be_saved_and_verified_later_without_the_service() {
    let (check, signers) = signed("caution");
    let folder = folder("saved");
    let (decision, registry) = (folder.join("decision.json"), folder.join("signers.json"));
    let (ran_check, _) = checked(&check, &signers, &["--save", decision.to_str().unwrap(), "--format", "json"]);
    let told: Value = serde_json::from_str(&ran_check.out).unwrap();
    assert_eq!((told["verification"]["genuine"].as_bool(), &told["check"]), (Some(true), &check["data"]));
    fs::write(&registry, signers.to_string()).unwrap();
    let verify = ["verify", decision.to_str().unwrap(), "--signers", registry.to_str().unwrap()];
    let Ran { out, code, .. } = ran(rds("", &verify), "");
    assert_eq!(code, 0);
    assert!(out.starts_with("genuine\n") && out.contains("verdict caution for book-1"), "{out}");
}

#[test]
fn every_vector_of_the_fixtures_is_judged_as_it_says() {
    let folder = folder("vectors");
    let text = fs::read_to_string(repository().join("fixtures/decisions/verifications.jsonl")).unwrap();
    let mut genuine = 0;
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let input = &vector["in"];
        let decision =
            json!({"decisionId": input["id"], "envelope": input["envelope"], "signature": input["signature"]});
        let row = |it: &Value| json!({"address": it["address"], "keyId": it["key_id"], "activatedAt": it["activated_at"], "retiredAt": it["retired_at"]});
        let signers: Vec<Value> = input["registry"].as_array().unwrap().iter().map(row).collect();
        let file = folder.join("signers.json");
        fs::write(&file, json!(signers).to_string()).unwrap();
        let given = ["verify", "-", "--format", "json", "--signers", file.to_str().unwrap()];
        let Ran { out, code, err } = ran(rds("", &given), &decision.to_string());
        let told: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{}: {err}", vector["name"]));
        let names = ["envelopeIntact", "signatureValid", "signerRecognized", "signerActiveAtIssuance"];
        let results: Vec<&Value> = names.iter().map(|it| &told[it]).collect();
        assert_eq!(json!(results), json!(vector["out"].as_array().unwrap()[1..]), "{}", vector["name"]);
        let is_genuine = results.iter().all(|it| *it == &json!(true));
        genuine += u32::from(is_genuine);
        assert_eq!(code, if is_genuine { 0 } else { 3 }, "{}", vector["name"]);
    }
    assert!(genuine > 0);
}
