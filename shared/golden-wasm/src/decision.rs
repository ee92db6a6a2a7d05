//! Decision vectors: checks with their signed decisions, and verifications.

use crate::read::{Mismatch, expect, list, text};
use rds_shared::graph::amount::{Share, Usd};
use rds_shared::graph::check::{CheckOutcome, check as run_check};
use rds_shared::graph::decision::{Envelope, Subject};
use rds_shared::graph::facts::Trust;
use rds_shared::graph::index::{ExposureIndex, Mapping};
use rds_shared::graph::limits::{Dimension, Limits};
use rds_shared::graph::portfolio::Portfolio;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::graph::verification::{RegisteredSigner, StoredDecision, verify};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::ids::{Address, Namespace, VaultKey};
use rds_shared::scoring::Ppm;
use rds_shared::scoring::canonical::Canonicalize;
use rds_shared::wire::time::Timestamp;
use serde_json::{Value, json};

/// Checks one vector's portfolio, builds and signs the decision, and compares verdict, findings, unresolved vaults, envelope, id and
/// signature.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let given = &case["in"];
    let portfolio = portfolio(given)?;
    let limits = limits(&given["limits"])?;
    let outcome = run_check(&portfolio, &index(&given["mappings"])?, &limits);
    let key = given["secret"].as_str().and_then(DecisionKey::parse).ok_or_else(|| Mismatch::unreadable("secret"))?;
    let snapshot_id = hash(given, "snapshot_id")?;
    let envelope = Envelope {
        subject: Subject::of(&text(&given["portfolio_ref"])?, &portfolio, snapshot_id, &limits, &outcome),
        signer_address: key.address(),
        key_id: text(&given["key_id"])?,
        created_at: instant(given, "created_at")?,
    };
    let decision_id = envelope.decision_id();
    let computed = json!({
        "verdict": outcome.verdict.as_str(),
        "findings": findings(&outcome)?,
        "unresolved": outcome.unresolved_vaults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "envelope": envelope.canonical().to_string(),
        "decision_id": decision_id.to_hex(),
        "signature": key.sign(decision_id).map(|signature| signature.to_string()),
    });
    expect(&case["name"], &computed, &case["out"])
}

/// Verifies one vector's record and compares the five results.
pub fn check_verification(case: &Value) -> Result<(), Mismatch> {
    let given = &case["in"];
    let registry = list(given, "registry")?.iter().map(registered).collect::<Result<Vec<_>, _>>()?;
    let (envelope, signature) = (text(&given["envelope"])?, text(&given["signature"])?);
    let record = StoredDecision { envelope: &envelope, signature: &signature };
    let said = verify(hash(given, "id")?, Some(record), &registry);
    let computed = json!([
        said.found,
        said.envelope_intact,
        said.signature_valid,
        said.signer_recognized,
        said.signer_active_at_issuance,
    ]);
    expect(&case["name"], &computed, &case["out"])
}

fn findings(outcome: &CheckOutcome) -> Result<Vec<Value>, Mismatch> {
    let written = |finding: &dyn ToString| serde_json::from_str(&finding.to_string());
    let canonical = outcome.findings.iter().map(|finding| written(&finding.canonical()));
    canonical.collect::<Result<_, _>>().map_err(|_| Mismatch::unreadable("findings"))
}

fn portfolio(given: &Value) -> Result<Portfolio, Mismatch> {
    let position = |position: &Value| {
        let micros = position[1].as_str().and_then(|text| text.parse().ok()).map(Usd::from_micros);
        Ok((vault(&text(&position[0])?)?, micros.ok_or_else(|| Mismatch::unreadable("amount"))?))
    };
    let positions = list(given, "positions")?.iter().map(position).collect::<Result<Vec<_>, Mismatch>>()?;
    Portfolio::new(positions).map_err(|_| Mismatch::unreadable("positions"))
}

fn vault(key: &str) -> Result<VaultKey, Mismatch> {
    VaultKey::parse(key).ok_or_else(|| Mismatch::unreadable("vault key"))
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn limits(given: &Value) -> Result<Limits, Mismatch> {
    let limit = |(name, limit): (&String, &Value)| Some((name.parse().ok()?, Ppm(limit.as_i64()?)));
    let limits = members(given).map(limit).collect::<Option<Vec<_>>>();
    limits.and_then(Limits::from_ppm).ok_or_else(|| Mismatch::unreadable("limits"))
}

fn index(given: &Value) -> Result<ExposureIndex, Mismatch> {
    let mut vaults = Vec::new();
    for (key, dimensions) in members(given) {
        let mut mappings = Vec::new();
        for (name, _) in members(dimensions) {
            let dimension = name.parse().map_err(|_| Mismatch::unreadable(name))?;
            for listed in list(dimensions, name)? {
                mappings.push(mapping(dimension, listed)?);
            }
        }
        vaults.push((vault(key)?, mappings));
    }
    Ok(ExposureIndex::from_mappings(vaults))
}

fn mapping(dimension: Dimension, listed: &Value) -> Result<Mapping, Mismatch> {
    let unreadable = || Mismatch::unreadable("mapping");
    let ppm = |value: &Value| value.as_i64().map(Ppm).ok_or_else(unreadable);
    let verified = listed[2].as_bool().ok_or_else(unreadable)?;
    Ok(Mapping {
        dimension,
        key: text(&listed[0])?,
        share: Share::from_ppm(ppm(&listed[1])?).ok_or_else(unreadable)?,
        trust: Trust { verified, confidence: ppm(&listed[3])? },
    })
}

fn registered(row: &Value) -> Result<RegisteredSigner, Mismatch> {
    let address = Address::parse(Namespace::Evm, &text(&row["address"])?);
    let retired_at = (!row["retired_at"].is_null()).then(|| instant(row, "retired_at"));
    Ok(RegisteredSigner {
        address: address.map_err(|_| Mismatch::unreadable("address"))?,
        key_id: text(&row["key_id"])?,
        activated_at: instant(row, "activated_at")?,
        retired_at: retired_at.transpose()?,
    })
}

fn hash(object: &Value, field: &str) -> Result<ContentHash, Mismatch> {
    object[field].as_str().and_then(ContentHash::parse).ok_or_else(|| Mismatch::unreadable(field))
}

fn instant(object: &Value, field: &str) -> Result<Timestamp, Mismatch> {
    object[field].as_str().and_then(Timestamp::parse).ok_or_else(|| Mismatch::unreadable(field))
}
