//! Steps for the golden decisions: all succeed for the signed data, and every change fails the step it belongs to.

use rds_shared::graph::snapshot::{Manifest, Publication};
use rds_shared::scoring::Ppm;
use rds_shared::wire::Timestamp;
use rds_verifier::input::MAX_TEXT;
use rds_verifier::report::{ProofOutcome, Report, StepOutcome};
use rds_verifier::{Evidence, verify};
use serde_json::{Value, json};

const VERIFICATIONS: &str = include_str!("../../../fixtures/decisions/verifications.jsonl");
const CHECKS: [&str; 2] = [
    include_str!("../../../fixtures/decisions/checks.jsonl"),
    include_str!("../../../fixtures/decisions/random_checks.jsonl"),
];

fn vectors(lines: &'static str) -> impl Iterator<Item = Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// A vector's registry in the published form.
fn registry(rows: &Value) -> String {
    let row = |row: &Value| json!({ "address": row["address"], "keyId": row["key_id"], "activatedAt": row["activated_at"], "retiredAt": row["retired_at"] });
    json!({ "data": rows.as_array().unwrap().iter().map(row).collect::<Vec<_>>() }).to_string()
}

fn outcomes(report: &Report, outcome: StepOutcome) -> Vec<&'static str> {
    report.steps.iter().filter(|step| step.outcome == outcome).map(|step| step.name).collect()
}

/// The published form of a golden check: the answer, the request body and the registry.
fn checked(vector: &Value) -> (Value, Value, String) {
    let (given, out) = (&vector["in"], &vector["out"]);
    let fraction = |ppm: &Value| serde_json::to_value(Ppm(ppm.as_i64().unwrap())).unwrap();
    let finding = |finding: &Value| {
        json!({
            "limit": finding["limit"], "dimension": finding["dimension"], "key": finding["key"], "kind": finding["kind"],
            "maxShare": fraction(&finding["maxSharePpm"]), "share": fraction(&finding["sharePpm"]), "usd": finding["usd"],
            "verifiedUsd": finding["verifiedUsd"], "verified": finding["verified"], "confidence": fraction(&finding["confidencePpm"]),
        })
    };
    let envelope: Value = serde_json::from_str(out["envelope"].as_str().unwrap()).unwrap();
    let answer = json!({ "data": {
        "snapshotId": given["snapshot_id"], "builtAt": "2026-11-21T00:00:00.000Z", "verdict": out["verdict"], "totalUsd": "1",
        "unresolvedVaults": out["unresolved"], "findings": out["findings"].as_array().unwrap().iter().map(finding).collect::<Vec<_>>(),
        "exposures": {}, "unattributedUsd": "0",
        "decision": {
            "decisionId": out["decision_id"], "signerAddress": envelope["signerAddress"], "keyId": envelope["keyId"], "inserted": true,
            "signature": out["signature"], "envelope": out["envelope"],
        },
    } });
    let positions = given["positions"].as_array().unwrap().iter().map(|position| {
        let micros: u128 = position[1].as_str().unwrap().parse().unwrap();
        let amount: Box<serde_json::value::RawValue> =
            serde_json::from_str(&format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)).unwrap();
        format!(r#"{{"vaultKey":{},"amountUsd":{amount}}}"#, position[0])
    });
    let positions: Vec<_> = positions.collect();
    let limits = envelope["limits"].as_object().unwrap().iter().map(|(field, ppm)| (field.clone(), fraction(ppm)));
    let limits = Value::Object(limits.collect());
    let request = format!(
        r#"{{"portfolioRef":{},"positions":[{}],"limits":{limits},"issue":true}}"#,
        given["portfolio_ref"],
        positions.join(",")
    );
    let registry = json!([{ "address": envelope["signerAddress"], "keyId": envelope["keyId"], "activatedAt": "2026-01-01T00:00:00.000Z", "retiredAt": null }]);
    (answer, Value::String(request), registry.to_string())
}

fn report(answer: &Value, request: &Value, registry: &str) -> Report {
    let request = request.as_str().map(str::to_owned);
    let evidence =
        Evidence { decision: answer.to_string(), signers: Some(registry.to_owned()), request, ..Evidence::default() };
    verify(&evidence).unwrap()
}

#[test]
fn the_outcome_agrees_with_the_services_verification_rule() {
    let mut genuine = 0;
    for vector in vectors(VERIFICATIONS) {
        let given = &vector["in"];
        let report = verify(&Evidence {
            decision: json!({ "envelope": given["envelope"], "signature": given["signature"] }).to_string(),
            decision_id: given["id"].as_str().map(str::to_owned),
            signers: Some(registry(&given["registry"])),
            ..Evidence::default()
        })
        .unwrap();
        let five = report.verification.as_ref().unwrap();
        let said = [
            five.found,
            five.envelope_intact,
            five.signature_valid,
            five.signer_recognized,
            five.signer_active_at_issuance,
        ];
        assert_eq!(json!(said), vector["out"], "{}", vector["name"]);
        let holds = said == [true; 5];
        assert_eq!(report.outcome == ProofOutcome::Genuine, holds, "{}: {:#?}", vector["name"], report.steps);
        assert_eq!(report.outcome == ProofOutcome::Refuted, !holds, "{}: {:#?}", vector["name"], report.steps);
        assert_eq!(report.decision.is_some(), holds, "{}", vector["name"]);
        genuine += usize::from(holds);
    }
    assert!(genuine > 0);
}

#[test]
fn a_check_with_its_request_is_fully_proved() {
    for vector in CHECKS.into_iter().flat_map(vectors) {
        let (answer, request, registry) = checked(&vector);
        let report = report(&answer, &request, &registry);
        assert_eq!(report.outcome, ProofOutcome::Genuine, "{}: {:#?}", vector["name"], report.steps);
        assert_eq!(outcomes(&report, StepOutcome::Unchecked), ["snapshot"], "{}", vector["name"]);
    }
}

/// A golden check with more than one finding.
fn telling() -> (Value, Value, String) {
    let found = |vector: &Value| vector["out"]["findings"].as_array().unwrap().len() > 1;
    checked(&vectors(CHECKS[0]).find(found).unwrap())
}

#[test]
fn every_changed_member_of_an_answer_fails_the_step_it_belongs_to() {
    let (answer, request, registry) = telling();
    let cases: [(&str, Value, &str); 15] = [
        ("/data/snapshotId", json!("0".repeat(64)), "beside"),
        ("/data/verdict", json!("approve"), "beside"),
        ("/data/decision/signerAddress", json!("0x1563915e194d8cfba1943570603f7606a3115508"), "beside"),
        ("/data/decision/keyId", json!("another"), "beside"),
        ("/data/decision/decisionId", json!("0".repeat(64)), "id"),
        ("/data/decision/signature", json!(format!("0x{}1b", "22".repeat(64))), "signer"),
        ("/data/unresolvedVaults", json!(["1:0x000000000000000000000000000000000000000a"]), "findings"),
        ("/data/findings", json!([]), "findings"),
        ("/data/findings", json!([]), "verdict"),
        ("/data/findings/0/key", json!("other"), "findings"),
        ("/data/findings/0/usd", json!("1.000001"), "findings"),
        ("/data/findings/0/share", json!(0.123_456_7), "findings"),
        ("/data/findings/0/share", json!(0.123_456), "findings"),
        ("/data/findings/0/verified", json!(null), "findings"),
        ("/data/findings/0/kind", json!("near"), "findings"),
    ];
    for (pointer, value, step) in cases {
        let mut changed = answer.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let report = report(&changed, &request, &registry);
        assert_eq!(report.outcome, ProofOutcome::Refuted, "{pointer}");
        assert!(
            outcomes(&report, StepOutcome::Failed).contains(&step),
            "{pointer}: {:?}",
            outcomes(&report, StepOutcome::Failed)
        );
        assert!(report.decision.is_none());
    }
}

#[test]
fn every_changed_member_of_an_envelope_breaks_its_id_and_its_signature() {
    let (answer, request, registry) = telling();
    let text = answer["data"]["decision"]["envelope"].as_str().unwrap().to_owned();
    let members: Value = serde_json::from_str(&text).unwrap();
    for (name, value) in members.as_object().unwrap() {
        let other = match value {
            Value::String(text) if text.ends_with('Z') => json!("2026-11-21T00:00:00.001Z"),
            Value::String(text) if text.len() >= 42 => json!(text.replace(['1', '7'], "8")),
            Value::String(text) => json!(if text == "approve" { "reject" } else { "approve" }),
            Value::Object(_) => json!({ "maxSharePerAsset": 1 }),
            _ => json!(2),
        };
        let mut changed = members.clone();
        changed[name] = other;
        let mut tampered = answer.clone();
        tampered["data"]["decision"]["envelope"] = json!(changed.to_string());
        let report = report(&tampered, &request, &registry);
        let failed = outcomes(&report, StepOutcome::Failed);
        assert!(failed.contains(&"id"), "{name}: {failed:?}");
        assert!(failed.contains(&"signer") || failed.contains(&"envelope"), "{name}: {failed:?}");
    }
}

#[test]
fn a_changed_request_is_detected() {
    let (answer, request, registry) = telling();
    let text = request.as_str().unwrap();
    for (from, to, step) in [
        ("\"amountUsd\":", "\"amountUsd\":1", "positions"),
        ("000a\"", "000f\"", "positions"),
        ("\"portfolioRef\":\"", "\"portfolioRef\":\"x", "terms"),
        ("\"limits\":{", "\"limits\":{\"maxSharePerCluster\":0.5,", "terms"),
        ("\"amountUsd\":", "\"amountUsd\":-", "positions"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        let report = report(&answer, &json!(changed), &registry);
        assert!(outcomes(&report, StepOutcome::Failed).contains(&step), "{changed}");
    }
    // A request that contains only the positions array is accepted, however its JSON is formatted.
    let positions: Value = serde_json::from_str::<Value>(text).unwrap()["positions"].clone();
    let report = report(&answer, &json!(positions.to_string()), &registry);
    assert_eq!(report.step("positions").unwrap().outcome, StepOutcome::Ok);
    assert!(report.step("terms").is_none());
}

/// Repeats the first member of this name. The first occurrence gets another value, which most JSON readers ignore.
fn doubled(text: &str, member: &str) -> String {
    let name = format!("\"{member}\":");
    let changed = text.replacen(&name, &format!("{name}0,{name}"), 1);
    assert_ne!(changed, text, "{member}");
    changed
}

#[test]
fn a_repeated_member_is_refused_everywhere() {
    let (answer, request, registry) = telling();
    let request = request.as_str().unwrap();
    let whole = || Evidence {
        decision: answer.to_string(),
        request: Some(request.to_owned()),
        signers: Some(registry.clone()),
        ..Evidence::default()
    };
    assert_eq!(verify(&whole()).unwrap().outcome, ProofOutcome::Genuine);
    let refused = |evidence: Evidence, step: &str, member: &str| {
        let report = verify(&evidence).unwrap();
        let step = report.step(step).unwrap();
        assert_eq!(step.outcome, StepOutcome::Failed, "{member}");
        assert!(step.said.contains(&format!("it has `{member}` twice")), "{}", step.said);
    };
    for member in ["portfolioRef", "positions", "amountUsd", "vaultKey", "limits"] {
        refused(Evidence { request: Some(doubled(request, member)), ..whole() }, "positions", member);
    }
    for member in ["address", "keyId", "retiredAt"] {
        refused(Evidence { signers: Some(doubled(&registry, member)), ..whole() }, "known", member);
    }
    let answer = answer.to_string();
    refused(Evidence { decision: doubled(&answer, "verifiedUsd"), ..whole() }, "findings", "verifiedUsd");
    for member in ["data", "findings", "unresolvedVaults", "decision", "envelope", "signature"] {
        let why = verify(&Evidence { decision: doubled(&answer, member), ..whole() }).unwrap_err();
        assert!(why.0.contains(&format!("it has `{member}` twice")), "{why}");
    }
    let cursors = r#"{"snapshotId":"0","publications":[],"cursors":{"vaults":null,"vaults":null},"validTime":null}"#;
    refused(Evidence { snapshot: Some(cursors.to_owned()), ..whole() }, "snapshot", "vaults");
}

#[test]
fn a_text_that_is_too_long_is_refused_everywhere() {
    let (answer, request, registry) = telling();
    let padded = |text: &str| Some(text.replacen(['[', '{'], &format!("{}{}", &text[..1], " ".repeat(MAX_TEXT)), 1));
    let whole = || Evidence { decision: answer.to_string(), ..Evidence::default() };
    let positions = serde_json::from_str::<Value>(request.as_str().unwrap()).unwrap()["positions"].to_string();
    for (evidence, step) in [
        (Evidence { request: padded(request.as_str().unwrap()), ..whole() }, "positions"),
        (Evidence { request: padded(&positions), ..whole() }, "positions"),
        (Evidence { signers: padded(&registry), ..whole() }, "known"),
        (Evidence { signers: padded(&format!("{{\"data\":{registry}}}")), ..whole() }, "known"),
        (Evidence { findings: padded(&answer.to_string()), ..whole() }, "findings"),
        (Evidence { snapshot: padded("{}"), ..whole() }, "snapshot"),
    ] {
        let report = verify(&evidence).unwrap();
        let step = report.step(step).unwrap();
        assert_eq!(step.outcome, StepOutcome::Failed, "{}", step.name);
        assert!(step.said.contains("is longer than"), "{}", step.said);
    }
    let why = verify(&Evidence { decision: padded(&answer.to_string()).unwrap(), ..Evidence::default() }).unwrap_err();
    assert!(why.0.contains("is longer than"), "{why}");
}

#[test]
fn without_a_registry_or_a_signature_nothing_is_proved_and_nothing_refuted() {
    let (answer, _, registry) = telling();
    let decision = &answer["data"]["decision"];
    let envelope = decision["envelope"].as_str().unwrap();
    let bare = verify(&Evidence { decision: envelope.to_owned(), ..Evidence::default() }).unwrap();
    assert_eq!(bare.outcome, ProofOutcome::Unproven);
    assert_eq!(outcomes(&bare, StepOutcome::Ok), ["envelope"]);
    assert_eq!(bare.decision.unwrap().id.to_hex(), decision["decisionId"].as_str().unwrap());
    let signature = decision["signature"].as_str().map(str::to_owned);
    let signed = Evidence { decision: format!(" {envelope}\n"), signature, ..Evidence::default() };
    assert_eq!(verify(&signed).unwrap().outcome, ProofOutcome::Unproven, "without a registry the signer is unknown");
    let known = verify(&Evidence { signers: Some(registry), ..signed }).unwrap();
    assert_eq!(known.outcome, ProofOutcome::Genuine, "{:#?}", known.steps);
}

#[test]
fn a_registry_with_missing_or_invalid_members_is_refused() {
    let (answer, request, registry) = telling();
    let rows: Value = serde_json::from_str(&registry).unwrap();
    for (name, value) in [("retiredAt", None), ("activatedAt", Some(json!("soon"))), ("address", Some(json!("0x12")))] {
        let mut cut = rows.clone();
        match value {
            None => drop(cut[0].as_object_mut().unwrap().remove(name)),
            Some(value) => cut[0][name] = value,
        }
        let report = report(&answer, &request, &cut.to_string());
        let step = report.step("known").unwrap();
        assert_eq!(step.outcome, StepOutcome::Failed, "{name}");
        assert!(step.said.contains(name), "{}", step.said);
    }
}

#[test]
fn a_changed_manifest_is_detected() {
    let instant = Timestamp::parse("2026-11-21T00:00:00Z");
    let publications =
        || [Publication::of("vaults", &[] as &[Nothing], instant), Publication::of("hubs", &[] as &[Nothing], None)];
    let manifest = Manifest::freeze(publications(), instant.unwrap());
    let envelope = json!({
        "createdAt": "2026-11-21T00:00:00.000Z", "findingsHash": "0".repeat(64), "keyId": "k", "limits": {}, "methodologyScope": "graph.check",
        "methodologyVersion": "rds-1.0.0", "portfolioRef": "p", "positionsHash": "0".repeat(64),
        "signerAddress": "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a", "snapshotId": manifest.snapshot_id, "v": 1, "verdict": "approve",
    });
    let published = json!({ "data": manifest });
    let step = |published: &Value| {
        let evidence =
            Evidence { decision: envelope.to_string(), snapshot: Some(published.to_string()), ..Evidence::default() };
        verify(&evidence).unwrap().step("snapshot").unwrap().clone()
    };
    assert_eq!(step(&published).outcome, StepOutcome::Ok, "{}", step(&published).said);
    for (pointer, value) in [
        ("/data/validTime", json!(null)),
        ("/data/cursors/vaults", json!(null)),
        ("/data/publications/0/rows", json!(7)),
        ("/data/publications/1/contentHash", json!("1".repeat(64))),
        ("/data/snapshotId", json!("1".repeat(64))),
    ] {
        let mut changed = published.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        assert_eq!(step(&changed).outcome, StepOutcome::Failed, "{pointer}");
    }
}

/// Row type of an empty set of facts.
struct Nothing;

impl rds_shared::scoring::canonical::Canonicalize for Nothing {
    fn canonical(&self) -> rds_shared::scoring::canonical::Canonical {
        rds_shared::scoring::canonical::Canonical::Null
    }
}

#[test]
fn an_input_without_a_decision_is_refused_with_the_reason() {
    for (text, word) in [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        ("7", "must be a JSON object"),
        ("{}", "no decision"),
        (r#"{"data":{"decision":null}}"#, "without a signed decision"),
        (r#"{"decision":{"envelope":{"v":1}}}"#, "must be a string"),
        (r#"{"envelope":"{}","decisionId":"12"}"#, "64 hex"),
        (r#"{"portfolioRef":"p","positions":[]}"#, "no decision"),
    ] {
        let refused = verify(&Evidence { decision: text.to_owned(), ..Evidence::default() }).unwrap_err();
        assert!(refused.0.contains(word), "{text}: {refused}");
    }
    let id = Evidence {
        decision: r#"{"envelope":"{}"}"#.to_owned(),
        decision_id: Some("x".to_owned()),
        ..Evidence::default()
    };
    assert!(verify(&id).unwrap_err().0.contains("id"));
}
