//! Vectors of what rds-1.1.0 added: exposures with unknown shares, ranges of scores, and values that follow from answers.
//!
//! Points are in milli-points, instants in microseconds since the Unix epoch, coverage in parts per million. An answer about a protocol is
//! `[input, value, observed_at, withdrawn_at]`, with the value in its published form.

use crate::read::{Mismatch, expect, flag, list, milli, required, required_name, score_of, text};
use crate::{asset, rubric, vault};
use rds_shared::scoring::asset::{AssetInput, Dimension, evaluate as evaluate_asset};
use rds_shared::scoring::rubric::{
    Answer, AssetEvidence, Audit, Dated, EnteredNumbers, ProtocolAnswer, ProtocolFacts, ProtocolInput, ProtocolValue,
};
use rds_shared::scoring::vault::{
    AssetMode, AssetRanges, ExposureRule, Signers, Timelock, VaultInput, asset_range, dependency_factor_bp, evaluate,
    platform_sum_tier, range,
};
use rds_shared::scoring::{MilliPoints, Ppm, ScoreRange};
use rds_shared::wire::time::{Day, Timestamp};
use serde_json::{Map, Value, json};

/// Evaluates one vector's input and compares the complete result.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let given = &case["in"];
    let computed = match case["of"].as_str() {
        Some("vault") => vault::written(&evaluate(&vault::input(given)?)),
        Some("exposure_age") => {
            let rule: ExposureRule = required_name(given, "rule")?;
            rule.is_outdated(required(given, "age_seconds")?).into()
        }
        Some("vault_range") => vault_range(given)?,
        Some("protocol") => protocol(given)?,
        Some("platform") => platform(given)?,
        Some("evidence") => evidence(given)?,
        _ => return Err(Mismatch::unreadable("of")),
    };
    expect(&case["name"], &computed, &case["out"])
}

/// A range is `[lowest, highest, coverage]`.
fn vault_range(given: &Value) -> Result<Value, Mismatch> {
    let (input, spans) = (vault::input(&given["vault"])?, &given["ranges"]);
    let ranges = AssetRanges {
        deposit: span(&spans["deposit"])?,
        exposures: list(spans, "exposures")?.iter().map(span).collect::<Result<_, _>>()?,
    };
    let outcome = evaluate(&input);
    let (found, asset) = (range(&input, &outcome, &ranges), asset_range(&input, &ranges));
    Ok(json!({
        "score": milli(outcome.score),
        "basis": found.basis.as_str(),
        "lowest": found.range.lowest.get(),
        "highest": found.range.highest.get(),
        "coverage": found.range.coverage.0,
        "asset": [asset.lowest.get(), asset.highest.get(), asset.coverage.0],
    }))
}

fn span(case: &Value) -> Result<ScoreRange, Mismatch> {
    let number = |place: usize| case[place].as_i64().ok_or_else(|| Mismatch::unreadable("range"));
    Ok(ScoreRange {
        lowest: MilliPoints::saturating(number(0)?),
        highest: MilliPoints::saturating(number(1)?),
        coverage: Ppm(number(2)?),
    })
}

fn platform(given: &Value) -> Result<Value, Mismatch> {
    let input = vault::platform(given)?;
    let tier = platform_sum_tier(&input).map(|tier| tier.as_str());
    let factor = dependency_factor_bp(input.worst_dependency, input.dependencies);
    let of = VaultInput { platform: input, ..VaultInput::new(AssetMode::Holdings) };
    Ok(json!({ "vector": milli(evaluate(&of).vectors.platform), "tier": tier, "factor": factor }))
}

fn protocol(given: &Value) -> Result<Value, Mismatch> {
    let answers = list(given, "answers")?.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
    let facts = ProtocolFacts::new(&answers, Timestamp::from_micros(required(given, "now")?));
    let audits = facts.audits.map(|it| json!([it.value.firms, it.value.newest, it.observed_at.as_micros()]));
    Ok(json!({
        "version_first_seen": dated(facts.version_first_seen, ProtocolValue::VersionFirstSeen),
        "audits": audits,
        "bounty_usd": dated(facts.bounty_usd, ProtocolValue::BountyUsd),
        "strategy": dated(facts.strategy, ProtocolValue::Strategy),
        "protocol_tvl_usd": dated(facts.protocol_tvl_usd, ProtocolValue::ProtocolTvlUsd),
        "dependencies": facts.dependencies.map(|it| it.value),
        "lapsed_dependencies": facts.lapsed_dependencies.map(|it| it.value),
        "timelock": dated(facts.timelock, ProtocolValue::Timelock),
        "signers": dated(facts.signers, ProtocolValue::Signers),
        "exit": dated(facts.exit, ProtocolValue::Exit),
        "source": dated(facts.source, ProtocolValue::Source),
    }))
}

/// `[value, observed_at]`, with the value in its published form.
fn dated<T>(fact: Option<Dated<T>>, value: fn(T) -> ProtocolValue) -> Value {
    fact.map_or(Value::Null, |it| json!([value(it.value), it.observed_at.as_micros()]))
}

fn answer(row: &Value) -> Result<ProtocolAnswer, Mismatch> {
    let input: Option<ProtocolInput> = row[0].as_str().and_then(|input| input.parse().ok());
    let withdrawn_at = row[3].as_i64().map(Timestamp::from_micros);
    Ok(ProtocolAnswer {
        value: stated(input.ok_or_else(|| Mismatch::unreadable("input"))?, &row[1])?,
        observed_at: Timestamp::from_micros(row[2].as_i64().ok_or_else(|| Mismatch::unreadable("observed_at"))?),
        withdrawn_at,
    })
}

fn stated(input: ProtocolInput, value: &Value) -> Result<ProtocolValue, Mismatch> {
    let unreadable = || Mismatch::unreadable("value");
    let number = || value.as_u64().ok_or_else(unreadable);
    let of = json!({ "it": value });
    Ok(match input {
        ProtocolInput::VersionFirstSeen => ProtocolValue::VersionFirstSeen(day(value)?),
        ProtocolInput::Audit => ProtocolValue::Audit(Audit {
            firm: text(&value["firm"])?,
            date: day(&value["date"])?,
            scope: text(&value["scope"])?,
        }),
        ProtocolInput::BountyUsd => ProtocolValue::BountyUsd(number()?),
        ProtocolInput::ProtocolTvlUsd => ProtocolValue::ProtocolTvlUsd(number()?),
        ProtocolInput::Strategy => ProtocolValue::Strategy(required_name(&of, "it")?),
        ProtocolInput::Dependencies => {
            ProtocolValue::Dependencies(list(&of, "it")?.iter().map(text).collect::<Result<_, _>>()?)
        }
        ProtocolInput::Timelock => ProtocolValue::Timelock(match value.as_str() {
            Some("immutable") => Timelock::Immutable,
            _ => Timelock::Seconds(number()?),
        }),
        ProtocolInput::Signers => ProtocolValue::Signers(match value.as_str() {
            Some("immutable") => Signers::Immutable,
            Some("dao") => Signers::Dao,
            Some("eoa") => Signers::Eoa,
            Some(_) => return Err(unreadable()),
            None => Signers::Multisig { threshold: required(value, "threshold")?, owners: required(value, "owners")? },
        }),
        ProtocolInput::Exit => ProtocolValue::Exit(required_name(&of, "it")?),
        ProtocolInput::Source => ProtocolValue::Source(required_name(&of, "it")?),
    })
}

fn day(value: &Value) -> Result<Day, Mismatch> {
    let start = value.as_str().and_then(|date| Timestamp::parse(&format!("{date}T00:00:00Z")));
    start.map(Day::of).ok_or_else(|| Mismatch::unreadable("date"))
}

/// The score of an asset from answers and entered numbers, with the limit of its supply and its range.
fn evidence(given: &Value) -> Result<Value, Mismatch> {
    let category = required_name(given, "category")?;
    let mut entered = EnteredNumbers { is_signed: flag(given, "signed")?, ..EnteredNumbers::default() };
    for (dimension, key) in dimensions_of(&given["numbers"])? {
        entered.dimensions.set(dimension, score_of(&given["numbers"], key)?);
    }
    let mut answers: Vec<(Dimension, Answer<'_>)> = Vec::new();
    for (dimension, key) in dimensions_of(&given["answers"])? {
        answers.extend(rubric::answers(list(&given["answers"], key)?)?.into_iter().map(|answer| (dimension, answer)));
    }
    let now = Timestamp::from_micros(required(given, "now")?);
    let evidence = AssetEvidence::new(category, &entered, &answers, now);
    let ceiling = evidence.supply_ceiling();
    let input = AssetInput { supply_ceiling: ceiling, ..asset::input(given, evidence.values())? };
    let range = evidence.range(&input);
    let by_name = |values: &dyn Fn(Dimension) -> Value| -> Value {
        evidence
            .dimensions
            .iter()
            .map(|it| (it.dimension.to_string(), values(it.dimension)))
            .collect::<Map<_, _>>()
            .into()
    };
    let of = |dimension: Dimension| evidence.dimensions.iter().find(|it| it.dimension == dimension);
    Ok(json!({
        "basis": evidence.basis().as_str(),
        "bases": by_name(&|dimension| of(dimension).map(|it| it.basis.as_str()).into()),
        "values": by_name(&|dimension| milli(of(dimension).and_then(|it| it.value))),
        "supply": evidence.supply_limit.as_ref().map(rubric::supply),
        "ceiling": milli(ceiling),
        "outcome": asset::written(&evaluate_asset(&input)),
        "lowest": range.lowest.get(),
        "highest": range.highest.get(),
        "coverage": range.coverage.0,
    }))
}

fn dimensions_of(object: &Value) -> Result<Vec<(Dimension, &str)>, Mismatch> {
    let keys = object.as_object().ok_or_else(|| Mismatch::unreadable("dimensions"))?.keys();
    keys.map(|key| Ok((key.parse().map_err(|_| Mismatch::unreadable(key))?, key.as_str()))).collect()
}
