//! Whether the published vectors, caps and score follow from the published inputs, by the service's own rules in this program.

use super::document::Provenance;
use super::vault_input;
use crate::input::{Members, inside, member};
use crate::report::Step;
use rds_shared::rules::tiers::{Tier, tier_of};
use rds_shared::scoring::decimal::wide_from_json;
use rds_shared::scoring::vault::{Cap, CapId, VaultOutcome, evaluate};
use rds_shared::scoring::{METHODOLOGY_VERSION, MilliPoints};
use serde_json::value::RawValue;

const NAME: &str = "score";
const TITLE: &str = "The score follows from the inputs";
/// Decimal places of scores, and of a weighted sum.
const SCORE_SCALE: u32 = 3;
const SUM_SCALE: u32 = 5;

/// Computes the score from the inputs, and compares every published result.
pub fn step(published: &Provenance<'_>) -> Step {
    let Some(version) = member::<String>(&published.provenance, "methodology_version") else {
        return Step::unchecked(NAME, TITLE, "The answer does not state its `methodology_version`.");
    };
    if version != METHODOLOGY_VERSION {
        let said =
            format!("The score has the methodology `{version}`; this verifier knows `{METHODOLOGY_VERSION}` alone.");
        return Step::unchecked(NAME, TITLE, said);
    }
    let input = match vault_input::read(&published.inputs) {
        Ok(input) => input,
        Err(why) => return Step::unchecked(NAME, TITLE, format!("The inputs cannot be read: {why}.")),
    };
    let outcome = evaluate(&input);
    let differing = differing(published, &outcome);
    let tier = outcome.tier.map_or("no tier", Tier::as_str);
    let score = shown(outcome.score);
    let judgement = match differing.as_slice() {
        [] => Ok(format!("Vectors, caps and score follow from the inputs: {score}, {tier}.")),
        names => Err(format!("The inputs lead to other results than the published ones: {}.", names.join(", "))),
    };
    let vectors = outcome.vectors;
    Step::judged(NAME, TITLE, judgement)
        .with_input("score from the inputs", score)
        .with_input("asset", shown(vectors.asset))
        .with_input("platform", shown(vectors.platform))
        .with_input("control", vectors.control.to_string())
        .with_input("history", vectors.history.to_string())
}

fn shown(score: Option<MilliPoints>) -> String {
    score.map_or_else(|| "none".to_owned(), |score| score.to_string())
}

/// Names of the published results that are not the computed ones.
fn differing(published: &Provenance<'_>, outcome: &VaultOutcome) -> Vec<String> {
    let mut names = Vec::new();
    let mut compare = |name: &str, is_same: bool| {
        if !is_same {
            names.push(format!("`{name}`"));
        }
    };
    let of = |members: &Members<'_>, name: &str, scale| number(members.get(name), scale);
    let provenance = &published.provenance;
    compare("raw_score", of(provenance, "raw_score", SCORE_SCALE) == Some(points(outcome.score)));
    let sum = outcome.weighted_sum.map(|sum| i128::from(sum.get()));
    compare("weighted_sum", of(provenance, "weighted_sum", SUM_SCALE) == Some(sum));
    compare("caps", caps(provenance).is_some_and(|caps| caps == outcome.caps));
    let Some(vault) = &published.vault else { return names };
    let vectors = inside(vault, "risk_vectors").ok().flatten();
    let computed = [
        ("asset", outcome.vectors.asset),
        ("platform", outcome.vectors.platform),
        ("control", Some(outcome.vectors.control)),
        ("history", Some(outcome.vectors.history)),
    ];
    for (name, computed) in computed {
        let vector = vectors.as_ref().and_then(|vectors| inside(vectors, name).ok().flatten());
        let score = vector.and_then(|vector| number(vector.get("score"), SCORE_SCALE));
        compare(&format!("risk_vectors.{name}"), score == Some(points(computed)));
    }
    // The published score may differ from the run's while a change waits, but its tier is always its own.
    let total = number(vault.get("total_score"), SCORE_SCALE).flatten().and_then(|total| i32::try_from(total).ok());
    let tier = total.and_then(MilliPoints::new).map(|total| tier_of(total).as_str().to_owned());
    compare("risk_tier", member::<Option<String>>(vault, "risk_tier") == Some(tier));
    names
}

fn points(score: Option<MilliPoints>) -> Option<i128> {
    score.map(|score| score.get().into())
}

/// A published number or null, exactly; `None` if it is missing or has more decimals.
pub fn number(value: Option<&RawValue>, scale: u32) -> Option<Option<i128>> {
    let text = value?.get();
    if text == "null" {
        return Some(None);
    }
    /// Decimal places that show whether the number has more than it may have.
    const FINER: u32 = 15;
    let (units, finer) = (wide_from_json(text, scale).ok()?, wide_from_json(text, FINER).ok()?);
    let factor = 10_i128.checked_pow(FINER.checked_sub(scale)?)?;
    (units.checked_mul(factor) == Some(finer)).then_some(Some(units))
}

fn caps(provenance: &Members<'_>) -> Option<Vec<Cap>> {
    let listed: Vec<Members<'_>> = member(provenance, "caps")?;
    let cap = |cap: &Members<'_>| {
        let id: CapId = member::<String>(cap, "id")?.parse().ok()?;
        let value = number(cap.get("value"), SCORE_SCALE)??;
        let value = MilliPoints::new(i32::try_from(value).ok()?)?;
        Some(Cap { id, value, binding: member(cap, "binding")? })
    };
    listed.iter().map(cap).collect()
}
