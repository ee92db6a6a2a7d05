//! Any changed byte of the envelope and any changed bit of the signature refutes a genuine decision.

use proptest::prelude::*;
use rds_verifier::report::ProofOutcome;
use rds_verifier::{Evidence, verify};
use serde_json::{Value, json};

const VERIFICATIONS: &str = include_str!("../../../fixtures/decisions/verifications.jsonl");

/// Envelope, signature, id and registry of the first vector, which is genuine.
fn genuine() -> (String, String, String, String) {
    let vector: Value = serde_json::from_str(VERIFICATIONS.lines().next().unwrap()).unwrap();
    let text = |name: &str| vector["in"][name].as_str().unwrap().to_owned();
    let row = &vector["in"]["registry"][0];
    let registry = json!([{ "address": row["address"], "keyId": row["key_id"], "activatedAt": row["activated_at"], "retiredAt": row["retired_at"] }]);
    (text("envelope"), text("signature"), text("id"), registry.to_string())
}

fn outcome(envelope: &str, signature: &str, id: Option<&str>, registry: &str) -> ProofOutcome {
    let evidence = Evidence {
        decision: json!({ "envelope": envelope, "signature": signature }).to_string(),
        decision_id: id.map(str::to_owned),
        signers: Some(registry.to_owned()),
        ..Evidence::default()
    };
    verify(&evidence).unwrap().outcome
}

proptest! {
    #[test]
    fn a_changed_byte_of_the_envelope_is_detected_with_and_without_an_id(place in 0_usize..600, to in 0x20_u8..0x7f) {
        let (envelope, signature, id, registry) = genuine();
        let mut bytes = envelope.clone().into_bytes();
        let place = place % bytes.len();
        bytes[place] = to;
        let changed = String::from_utf8(bytes).unwrap();
        let expected = if changed == envelope { ProofOutcome::Genuine } else { ProofOutcome::Refuted };
        prop_assert_eq!(outcome(&changed, &signature, Some(&id), &registry), expected);
        prop_assert_eq!(outcome(&changed, &signature, None, &registry), expected);
    }

    #[test]
    fn a_changed_bit_of_the_signature_is_detected(place in 0_usize..65, bit in 0_u8..8) {
        let (envelope, signature, id, registry) = genuine();
        let mut bytes: Vec<u8> =
            (2..132).step_by(2).map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap()).collect();
        bytes[place] ^= 1 << bit;
        let changed: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(outcome(&envelope, &format!("0x{changed}"), Some(&id), &registry), ProofOutcome::Refuted);
    }

    #[test]
    fn arbitrary_input_never_panics_and_is_never_genuine(decision in ".{0,200}", signers in "\\PC{0,80}", request in "[\\[\\]{}\":,a-z0-9.eE-]{0,80}") {
        let (envelope, signature, ..) = genuine();
        let _ = verify(&Evidence { decision, ..Evidence::default() });
        let decision = json!({ "envelope": envelope, "signature": signature, "findings": [] }).to_string();
        let report = verify(&Evidence {
            decision, signers: Some(signers.clone()), request: Some(request.clone()), snapshot: Some(request), findings: Some(signers), ..Evidence::default()
        }).unwrap();
        prop_assert!(report.outcome != ProofOutcome::Genuine);
    }
}
