//! Publication vectors: each line is `{name, start, steps}`, the first score (at second 0) and the later runs.

use crate::read::{Mismatch, expect, flag, list, milli, required, score_of};
use rds_shared::rules::dwell::Publication;
use rds_shared::wire::time::Timestamp;
use serde_json::{Value, json};

/// Replays one vector's runs and compares score, tier and change after each.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let mut published = Publication::first(Timestamp::from_seconds(0), score_of(case, "start")?);
    for step in list(case, "steps")? {
        let now = Timestamp::from_seconds(required(step, "at_seconds")?);
        let hard = flag(step, "hard")?;
        let methodology_changed = flag(step, "methodology_changed")?;
        let change = published.step(now, score_of(step, "raw")?, hard, methodology_changed);
        let mut computed = json!({
            "at_seconds": step["at_seconds"],
            "raw": step["raw"],
            "hard": hard,
            "score": milli(published.score()),
            "tier": published.tier().map(|tier| tier.as_str()),
            "change": change.map(|change| change.change_type.as_str()),
        });
        if methodology_changed {
            computed["methodology_changed"] = true.into();
        }
        expect(&case["name"], &computed, step)?;
    }
    Ok(())
}
