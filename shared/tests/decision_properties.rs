//! A signed decision passes verification, and verification detects any change to the decision.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use rds_shared::graph::check::Verdict;
use rds_shared::graph::decision::{Envelope, Subject};
use rds_shared::graph::limits::Limits;
use rds_shared::graph::signature::{DecisionKey, DecisionSignature};
use rds_shared::graph::verification::{RegisteredSigner, StoredDecision, Verification, verify};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::scoring::canonical::Canonicalize;
use rds_shared::wire::time::Timestamp;

fn secret() -> impl Strategy<Value = DecisionKey> {
    any::<[u8; 32]>().prop_filter_map("not a key", |bytes| DecisionKey::from_bytes(&bytes))
}

fn subject() -> impl Strategy<Value = Subject> {
    let limits = proptest::collection::vec(("maxSharePer(Asset|Bridge|Chain|Curator)", 0.000_001..=1.0_f64), 0..4);
    (any::<String>(), any::<[[u8; 32]; 3]>(), limits, select(Verdict::ALL)).prop_map(
        |(portfolio_ref, [positions, snapshot, findings], drawn, verdict)| {
            let mut limits = Limits::default();
            drawn.iter().for_each(|(field, fraction)| limits.set(field, &fraction.to_string()).unwrap());
            Subject {
                portfolio_ref,
                positions_hash: ContentHash::from_bytes(positions),
                snapshot_id: ContentHash::from_bytes(snapshot),
                limits,
                verdict,
                findings_hash: ContentHash::from_bytes(findings),
                methodology_scope: "graph.check".into(),
                methodology_version: "rds-1.0.0".into(),
            }
        },
    )
}

/// A stored decision, and a registry that lists its signer.
struct Made {
    id: ContentHash,
    envelope: String,
    signature: String,
    registry: Vec<RegisteredSigner>,
}

fn made(key: &DecisionKey, subject: Subject, seconds: i64) -> Made {
    let created_at = Timestamp::from_seconds(seconds);
    let envelope = Envelope { subject, signer_address: key.address(), key_id: "k-1".into(), created_at };
    let id = envelope.decision_id();
    let signer = RegisteredSigner {
        address: key.address(),
        key_id: "k-1".into(),
        activated_at: created_at,
        retired_at: Some(created_at.plus_seconds(1)),
    };
    let signature = key.sign(id).unwrap().to_string();
    Made { id, envelope: envelope.canonical().to_string(), signature, registry: vec![signer] }
}

impl Made {
    fn verify(&self, id: ContentHash, envelope: &str, signature: &str) -> Verification {
        verify(id, Some(StoredDecision { envelope, signature }), &self.registry)
    }
}

/// The text with one character replaced by another.
fn altered(text: &str, at: Index, by: char) -> Option<String> {
    let place = at.index(text.chars().count());
    let changed: String = text.chars().enumerate().map(|(n, old)| if n == place { by } else { old }).collect();
    (changed != text).then_some(changed)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_decision_verifies_and_parses_back(key in secret(), subject in subject(), seconds in 0..4_000_000_000_i64) {
        let made = made(&key, subject.clone(), seconds);
        prop_assert!(made.verify(made.id, &made.envelope, &made.signature).is_genuine());
        let read = Envelope::parse(&made.envelope).unwrap();
        prop_assert_eq!((read.decision_id(), read.subject), (made.id, subject));
        prop_assert_eq!(ContentHash::of_text(&made.envelope), made.id);
    }

    #[test]
    fn a_changed_character_of_the_envelope_is_detected(
        key in secret(), subject in subject(), at in any::<Index>(), by in "[ -~]",
    ) {
        let made = made(&key, subject, 1_795_219_200);
        let Some(changed) = altered(&made.envelope, at, by.chars().next().unwrap()) else { return Ok(()) };
        let under_its_id = made.verify(made.id, &changed, &made.signature);
        prop_assert!(!under_its_id.envelope_intact && !under_its_id.signature_valid, "{changed}");
        prop_assert_eq!(under_its_id.decision, None);
        // Storing the changed envelope under its new hash does not make the signature valid.
        prop_assert!(!made.verify(ContentHash::of_text(&changed), &changed, &made.signature).signature_valid);
    }

    #[test]
    fn a_changed_bit_of_the_signature_is_detected(key in secret(), subject in subject(), at in 0..65_usize, bit in 0..8_u8) {
        let made = made(&key, subject, 1_795_219_200);
        let mut bytes: Vec<u8> = (1..66).map(|n| u8::from_str_radix(&made.signature[2 * n..2 * n + 2], 16).unwrap()).collect();
        bytes[at] ^= 1 << bit;
        let changed: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let said = made.verify(made.id, &made.envelope, &format!("0x{changed}"));
        prop_assert!(said.envelope_intact && !said.signature_valid);
    }

    #[test]
    fn another_key_cannot_sign_for_the_signer(key in secret(), other in secret(), subject in subject()) {
        let made = made(&key, subject, 1_795_219_200);
        let forged = other.sign(made.id).unwrap().to_string();
        prop_assert!(!made.verify(made.id, &made.envelope, &forged).signature_valid);
    }

    #[test]
    fn an_arbitrary_text_never_verifies(id in any::<[u8; 32]>(), envelope in any::<String>(), signature in "(0x)?[0-9a-fA-F]{0,140}") {
        let record = StoredDecision { envelope: &envelope, signature: &signature };
        let said = verify(ContentHash::from_bytes(id), Some(record), &[]);
        prop_assert!(said.found && !said.envelope_intact && !said.signature_valid);
        if let Some(signature) = DecisionSignature::parse(&signature) {
            let _ = signature.signer(ContentHash::from_bytes(id));
        }
    }

    #[test]
    fn the_deduplication_key_depends_on_the_check_but_not_on_signer_or_time(key in secret(), subject in subject()) {
        let changes: [fn(&mut Subject); 8] = [
            |it| it.portfolio_ref.push('x'),
            |it| it.positions_hash = ContentHash::of_text(&it.positions_hash.to_hex()),
            |it| it.snapshot_id = ContentHash::of_text(&it.snapshot_id.to_hex()),
            |it| it.limits.set("maxSharePerSignerSet", "0.5").unwrap(),
            |it| it.verdict = if it.verdict == Verdict::Reject { Verdict::Approve } else { Verdict::Reject },
            |it| it.findings_hash = ContentHash::of_text(&it.findings_hash.to_hex()),
            |it| it.methodology_scope.push('x'),
            |it| it.methodology_version.push('x'),
        ];
        for change in changes {
            let mut changed = subject.clone();
            change(&mut changed);
            prop_assert_ne!(changed.key(), subject.key());
        }
        let (now, later) = (made(&key, subject.clone(), 0), made(&key, subject.clone(), 1));
        prop_assert_ne!(now.id, later.id);
        let key_of = |made: &Made| Envelope::parse(&made.envelope).unwrap().subject.key();
        prop_assert_eq!((key_of(&now), key_of(&later)), (subject.key(), subject.key()));
    }
}

#[test]
fn a_verification_has_the_documented_members() {
    let key = DecisionKey::parse(&"11".repeat(32)).unwrap();
    let made = made(&key, Subject { portfolio_ref: "book-1".into(), ..any_subject() }, 1_795_219_200);
    let said = serde_json::to_value(made.verify(made.id, &made.envelope, &made.signature)).unwrap();
    let fields = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(fields(&said), "decision envelopeIntact found signatureValid signerActiveAtIssuance signerRecognized");
    assert_eq!(
        fields(&said["decision"]),
        "createdAt id keyId methodologyScope methodologyVersion portfolioRef signerAddress snapshotId verdict"
    );
    assert_eq!(said["decision"]["createdAt"], "2026-11-21T00:00:00.000Z");
    let nothing = serde_json::to_value(verify(made.id, None, &made.registry)).unwrap();
    assert_eq!(nothing["found"], false);
    assert!(nothing["decision"].is_null());
}

fn any_subject() -> Subject {
    let zero = ContentHash::from_bytes([0; 32]);
    Subject {
        portfolio_ref: String::new(),
        positions_hash: zero,
        snapshot_id: zero,
        limits: Limits::default(),
        verdict: Verdict::Approve,
        findings_hash: zero,
        methodology_scope: "graph.check".into(),
        methodology_version: "rds-1.0.0".into(),
    }
}

#[test]
fn a_secret_key_parses_and_is_hidden_in_debug_output() {
    let text = "4646464646464646464646464646464646464646464646464646464646464646";
    let key = DecisionKey::parse(&format!("0x{text}\n")).unwrap();
    // The example key and address of EIP-155.
    assert_eq!(key.address().as_str(), "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f");
    assert!(!format!("{key:?}").contains("4646"));
    let beyond_the_order = "f".repeat(64);
    for bad in ["", "46", &text[1..], &beyond_the_order, &"0".repeat(64), &"g".repeat(64)] {
        assert!(DecisionKey::parse(bad).is_none(), "{bad}");
    }
}
