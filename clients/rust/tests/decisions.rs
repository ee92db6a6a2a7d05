//! The library's verification of decisions and the service's own agree, also about altered decisions.

use rds_shared::graph::verification::{RegisteredSigner, StoredDecision, verify as service_verify};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::ids::{Address, Namespace};
use rds_shared::wire::time::Timestamp;
use risk_data_client::decisions::{Evidence, Signer, verify};
use serde_json::Value;
use std::path::Path;

/// Envelope intact, signature valid, signer recognised, signer active at issuance; by the library and by the service's code.
fn both(id: &str, envelope: &str, signature: &str, registry: &[Value]) -> ([bool; 4], [bool; 4]) {
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    let signers: Vec<Signer> = registry
        .iter()
        .map(|it| Signer {
            address: text(it, "address"),
            key_id: text(it, "key_id"),
            activated_at: text(it, "activated_at"),
            retired_at: it["retired_at"].as_str().map(str::to_owned),
        })
        .collect();
    let known: Vec<RegisteredSigner> = signers
        .iter()
        .map(|it| RegisteredSigner {
            address: Address::parse(Namespace::Evm, &it.address).unwrap(),
            key_id: it.key_id.clone(),
            activated_at: Timestamp::parse(&it.activated_at).unwrap(),
            retired_at: it.retired_at.as_deref().map(|it| Timestamp::parse(it).unwrap()),
        })
        .collect();
    let own = verify(Evidence { decision_id: id, envelope, signature }, &signers);
    let service = service_verify(ContentHash::parse(id).unwrap(), Some(StoredDecision { envelope, signature }), &known);
    (
        [own.envelope_intact, own.signature_valid, own.signer_recognized, own.signer_active_at_issuance],
        [
            service.envelope_intact,
            service.signature_valid,
            service.signer_recognized,
            service.signer_active_at_issuance,
        ],
    )
}

/// The text with another character at this place.
fn altered(text: &str, at: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_library_and_the_service_judge_every_vector_and_its_alterations_alike() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/decisions/verifications.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let (mut judged, mut genuine) = (0, 0);
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let input = &vector["in"];
        let text = |name: &str| input[name].as_str().unwrap();
        let (id, envelope, signature) = (text("id"), text("envelope"), text("signature"));
        let registry = input["registry"].as_array().unwrap();
        let (own, service) = both(id, envelope, signature, registry);
        assert_eq!(own, service, "{}", vector["name"]);
        genuine += usize::from(own == [true; 4]);
        // The library knows no list of dimensions, because a newer service may have more.
        let limits = envelope.find("\"limits\"").unwrap_or(0)..envelope.find("\"methodologyScope\"").unwrap_or(0);
        for at in (0..envelope.len()).step_by(11).filter(|at| !limits.contains(at) && envelope.is_ascii()) {
            let (own, service) = both(id, &altered(envelope, at), signature, registry);
            assert_eq!(own, service, "{}: envelope altered at {at}", vector["name"]);
            judged += 1;
        }
        for at in (0..signature.len()).step_by(13).filter(|_| signature.is_ascii()) {
            let (own, service) = both(id, envelope, &altered(signature, at), registry);
            assert_eq!(own, service, "{}: signature altered at {at}", vector["name"]);
            judged += 1;
        }
    }
    assert!(judged > 500 && genuine > 0, "{judged} alterations, {genuine} genuine decisions");
}
