//! Asset vectors: each line is `{name, in, out}`, with an asset's score input and the expected outcome.

use crate::read::{Mismatch, expect, integer, list, milli, optional, required_name, score, score_of};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{
    AssetInput, AssetOutcome, ChainSubScores, Dimension, Dimensions, HardFailFlag, evaluate,
};
use serde_json::{Value, json};

/// Scores one vector's input and compares the complete outcome.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let given = &case["in"];
    let outcome = evaluate(&input(given, dimensions(&given["dimensions"])?)?);
    expect(&case["name"], &written(&outcome), &case["out"])
}

/// The input that a vector gives, with these values.
pub fn input(case: &Value, dimensions: Dimensions) -> Result<AssetInput, Mismatch> {
    let mut input = AssetInput::new(required_name(case, "category")?, dimensions);
    input.lockup_days = integer(case, "lockup_days")?.unwrap_or(0);
    // A null `underlying` is an underlying asset without a score; a missing one means that there is no underlying asset.
    input.underlying = case.get("underlying").map(score).transpose()?;
    for dependency in list(case, "dependencies")? {
        let id = dependency[0].as_str().ok_or_else(|| Mismatch::unreadable("dependency"))?;
        input.dependencies.push((id.into(), score(&dependency[1])?));
    }
    input.chain = optional(case, "chain").map(chain).transpose()?;
    input.age_seconds = integer(case, "age_seconds")?.unwrap_or(0);
    input.cadence_seconds = integer(case, "cadence_seconds")?.unwrap_or(1);
    if optional(case, "review_status").is_some() {
        input.review_status = required_name(case, "review_status")?;
    }
    for flag in list(case, "hard_fail_flags")? {
        let flag: Option<HardFailFlag> = flag.as_str().and_then(|flag| flag.parse().ok());
        input.hard_fail_flags.insert(flag.ok_or_else(|| Mismatch::unreadable("hard_fail_flags"))?);
    }
    Ok(input)
}

fn dimensions(case: &Value) -> Result<Dimensions, Mismatch> {
    let mut dimensions = Dimensions::default();
    for key in case.as_object().ok_or_else(|| Mismatch::unreadable("dimensions"))?.keys() {
        let dimension: Dimension = key.parse().map_err(|_| Mismatch::unreadable(key))?;
        dimensions.set(dimension, score_of(case, key)?);
    }
    Ok(dimensions)
}

fn chain(case: &Value) -> Result<ChainSubScores, Mismatch> {
    let sub_scores = case.as_array().ok_or_else(|| Mismatch::unreadable("chain"))?;
    let read: Vec<Option<MilliPoints>> = sub_scores.iter().map(score).collect::<Result<_, _>>()?;
    read.try_into().map_err(|_| Mismatch::unreadable("chain"))
}

/// The outcome as the fixtures write it.
pub fn written(outcome: &AssetOutcome) -> Value {
    let overlays = outcome.overlays.iter().map(|overlay| {
        json!([overlay.rule.to_string(), overlay.rule.kind().as_str(), overlay.before.get(), overlay.after.get()])
    });
    json!({
        "weighted_sum": outcome.weighted_sum.map(|sum| sum.get()),
        "score": milli(outcome.score),
        "tier": outcome.tier.map(|tier| tier.as_str()),
        "overlays": overlays.collect::<Vec<_>>(),
        "caps_applied": outcome.caps_applied().map(ToString::to_string).collect::<Vec<_>>(),
        "flags": outcome.flags.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
