//! Vault vectors: each line is `{name, in, out}`, with a vault's score input and the expected outcome.

use crate::read::{Mismatch, expect, flag, integer, list, milli, name, required, required_name, score_of};
use rds_shared::scoring::vault::{
    ControlInput, Exposure, ExposuresStatus, HistoryInput, Incident, Oracle, PlatformInput, Signers, Timelock,
    VaultInput, VaultOutcome, WorstDependency, evaluate,
};
use serde_json::{Value, json};

/// Scores one vector's input and compares the complete outcome.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let outcome = evaluate(&input(&case["in"])?);
    expect(&case["name"], &written(&outcome), &case["out"])
}

/// The input that a vector gives.
pub fn input(case: &Value) -> Result<VaultInput, Mismatch> {
    Ok(VaultInput {
        deposit_score: score_of(case, "deposit_score")?,
        deposit_hard_fail: flag(case, "deposit_hard_fail")?,
        exposures_status: name(case, "exposures_status")?.unwrap_or(ExposuresStatus::Observed),
        exposures: list(case, "exposures")?.iter().map(exposure).collect::<Result<_, _>>()?,
        platform: platform(&case["platform"])?,
        control: control(&case["control"])?,
        history: history(&case["history"])?,
        tvl_usd: integer(case, "tvl_usd")?,
        utilization_ppm: integer(case, "utilization_ppm")?,
        bad_debt_ppm: integer(case, "bad_debt_ppm")?,
        needs_risk_review: flag(case, "needs_risk_review")?,
        base_apr_ppm: integer(case, "base_apr_ppm")?,
        apr_net_ppm: integer(case, "apr_net_ppm")?,
        ..VaultInput::new(required_name(case, "asset_mode")?)
    })
}

fn exposure(case: &Value) -> Result<Exposure, Mismatch> {
    Ok(Exposure {
        id: required_name(case, "id")?,
        share_ppm: required(case, "share_ppm")?,
        score: score_of(case, "score")?,
        hard_fail_cap: score_of(case, "hard_fail_cap")?,
        oracle: name(case, "oracle")?.unwrap_or(Oracle::None),
        lltv_bp: integer(case, "lltv_bp")?,
        same_peg: flag(case, "same_peg")?,
    })
}

/// The inputs of the platform vector.
pub fn platform(case: &Value) -> Result<PlatformInput, Mismatch> {
    let worst_dependency = match case["worst_dependency"].as_str() {
        Some("none") => WorstDependency::None,
        Some("unknown") => WorstDependency::Unknown,
        _ => WorstDependency::Known(required_name(case, "worst_dependency")?),
    };
    Ok(PlatformInput {
        version_age_days: integer(case, "version_age_days")?,
        audits: integer(case, "audits")?,
        newest_audit_days: integer(case, "newest_audit_days")?,
        bounty_usd: integer(case, "bounty_usd")?,
        strategy: name(case, "strategy")?,
        protocol_tvl_usd: integer(case, "protocol_tvl_usd")?,
        worst_dependency,
        dependencies: required(case, "dependencies")?,
    })
}

fn control(case: &Value) -> Result<ControlInput, Mismatch> {
    let timelock = match &case["timelock"] {
        Value::Null => Timelock::Unknown,
        Value::String(text) if text == "immutable" => Timelock::Immutable,
        _ => Timelock::Seconds(required(case, "timelock")?),
    };
    let signers = match &case["signers"] {
        Value::Null => Signers::Unknown,
        Value::Array(quorum) => match quorum.as_slice() {
            [threshold, owners] => Signers::Multisig { threshold: number(threshold)?, owners: number(owners)? },
            _ => return Err(Mismatch::unreadable("signers")),
        },
        signers => match signers.as_str() {
            Some("immutable") => Signers::Immutable,
            Some("dao") => Signers::Dao,
            Some("eoa") => Signers::Eoa,
            _ => return Err(Mismatch::unreadable("signers")),
        },
    };
    Ok(ControlInput { timelock, signers, exit: required_name(case, "exit")?, source: required_name(case, "source")? })
}

fn number(value: &Value) -> Result<u32, Mismatch> {
    value.as_u64().and_then(|value| u32::try_from(value).ok()).ok_or_else(|| Mismatch::unreadable("signers"))
}

fn history(case: &Value) -> Result<HistoryInput, Mismatch> {
    let incident = |case: &Value| {
        Ok(Incident {
            class: required_name(case, "class")?,
            age_days: required(case, "age_days")?,
            resolved: flag(case, "resolved")?,
        })
    };
    Ok(HistoryInput {
        vault_age_days: integer(case, "vault_age_days")?,
        incidents: list(case, "incidents")?.iter().map(incident).collect::<Result<_, Mismatch>>()?,
        drawdown_bp: integer(case, "drawdown_bp")?,
        high_util_72h: flag(case, "high_util_72h")?,
        tvl_halved_7d: flag(case, "tvl_halved_7d")?,
    })
}

/// The outcome as the fixtures write it.
pub fn written(outcome: &VaultOutcome) -> Value {
    let vectors = &outcome.vectors;
    let caps = outcome.caps.iter().map(|cap| json!([cap.id.as_str(), cap.value.get(), cap.binding]));
    json!({
        "vectors": {
            "asset": milli(vectors.asset),
            "platform": milli(vectors.platform),
            "control": milli(Some(vectors.control)),
            "history": milli(Some(vectors.history)),
        },
        "weighted_sum": outcome.weighted_sum.map(|sum| sum.get()),
        "caps": caps.collect::<Vec<_>>(),
        "flags": outcome.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>(),
        "score": milli(outcome.score),
        "tier": outcome.tier.map(|tier| tier.as_str()),
    })
}
