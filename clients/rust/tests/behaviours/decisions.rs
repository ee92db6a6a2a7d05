//! Plays the behaviours of signed decisions.

use crate::lines;
use risk_data_client::decisions::{Evidence, Signer, verify};
use serde_json::{Map, Value, json};

pub fn play(it: &Value) {
    let vectors = lines(it["vectors"].as_str().unwrap());
    let Some(member) = it["alter"].as_str() else {
        assert!(!vectors.is_empty());
        for vector in &vectors {
            assert_eq!(results(&vector["in"]), vector["out"], "{}", vector["name"]);
        }
        return;
    };
    let mut input = vectors[0]["in"].clone();
    let mut envelope: Map<String, Value> = serde_json::from_str(input["envelope"].as_str().unwrap()).unwrap();
    assert_ne!(envelope.get(member), Some(&it["with"]), "nothing would be altered");
    envelope.insert(member.to_owned(), it["with"].clone());
    // The members of a map are sorted.
    input["envelope"] = Value::Object(envelope).to_string().into();
    assert_eq!(results(&input), it["expect"]);
}

/// Found, envelope intact, signature valid, signer recognised, signer active at issuance.
fn results(input: &Value) -> Value {
    let text = |name: &str| input[name].as_str().unwrap();
    let signers: Vec<Signer> = input["registry"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| Signer {
            address: it["address"].as_str().unwrap().into(),
            key_id: it["key_id"].as_str().unwrap().into(),
            activated_at: it["activated_at"].as_str().unwrap().into(),
            retired_at: it["retired_at"].as_str().map(str::to_owned),
        })
        .collect();
    let evidence = Evidence { decision_id: text("id"), envelope: text("envelope"), signature: text("signature") };
    let it = verify(evidence, &signers);
    let all = [it.envelope_intact, it.signature_valid, it.signer_recognized, it.signer_active_at_issuance];
    assert_eq!(it.is_genuine(), all.iter().all(|it| *it));
    assert_eq!(it.decision.is_some(), it.envelope_intact);
    json!([true, all[0], all[1], all[2], all[3]])
}
