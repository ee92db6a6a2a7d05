//! Basket vectors: `{name, in, out}`; `out` is null when no version can be built.

use crate::read::{Mismatch, expect, list, required, score, text};
use rds_shared::rules::baskets::definition::{Caps, Weighting};
use rds_shared::rules::baskets::version::BasketVersion;
use rds_shared::rules::baskets::weights::{Constituent, EligibleName, compute_weights};
use rds_shared::scoring::Ppm;
use rds_shared::scoring::canonical::Canonicalize;
use rds_shared::wire::time::Timestamp;
use serde_json::{Value, json};

/// Computes one vector's weights, builds the version, and compares weights, canonical text and hash.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let names = list(&case["in"], "names")?.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    let computed = match compute_weights(&names, &weighting(&case["in"])?) {
        Ok(constituents) => written(constituents, &case["out"])?,
        Err(_) => Value::Null,
    };
    expect(&case["name"], &computed, &case["out"])
}

fn name(case: &Value) -> Result<EligibleName, Mismatch> {
    let unscored = || Mismatch::unreadable("score");
    Ok(EligibleName { id: text(&case[0])?, issuer: text(&case[1])?, score: score(&case[2])?.ok_or_else(unscored)? })
}

fn weighting(case: &Value) -> Result<Weighting, Mismatch> {
    let share = |field| required(case, field).map(Ppm);
    let caps = Caps::new(share("single_name")?, share("issuer")?, share("floor")?);
    Ok(Weighting {
        pivot: score(&case["pivot"])?.ok_or_else(|| Mismatch::unreadable("pivot"))?,
        caps: caps.ok_or_else(|| Mismatch::unreadable("caps"))?,
        min_constituents: required(case, "minimum")?,
    })
}

fn written(constituents: Vec<Constituent>, expected: &Value) -> Result<Value, Mismatch> {
    let weights = constituents.iter().map(|it| (it.id.clone(), Value::from(it.weight.0))).collect();
    let (effective_from, prior) = (&expected["effective_from"], &expected["prior_version_id"]);
    let version = BasketVersion {
        basket_id: "demo".into(),
        constituents,
        effective_from: effective_from.as_str().and_then(Timestamp::parse).unwrap_or_default(),
        methodology_version: "rds-1.0.0".into(),
        prior_version_id: prior.as_str().map(Into::into),
    };
    Ok(json!({
        "weights": Value::Object(weights),
        "prior_version_id": prior,
        "effective_from": effective_from,
        "canonical": version.canonical().to_string(),
        "content_hash": version.content_hash().to_hex(),
    }))
}
