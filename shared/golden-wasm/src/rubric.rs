//! Rubric vectors: the questionnaire itself, values of dimensions and assets from answers, and the hash of a set of answers.
//!
//! Points are in hundredths, instants in microseconds since the Unix epoch. An answer is `[question, answer, observed_at, source_kind,
//! withdrawn_at]`.

use crate::read::{Mismatch, expect, list, required, required_name, text};
use rds_shared::scoring::asset::{AssetCategory, Dimension};
use rds_shared::scoring::canonical::Canonicalize;
use rds_shared::scoring::rubric::{
    Answer, AnswerSet, DimensionOutcome, Hundredths, Part, Question, Refresh, SourceKind, SourcedAnswer, SupplyLimit,
    asset_refresh, evaluate, supply_limit,
};
use rds_shared::scoring::tables::{rubric, weights};
use rds_shared::wire::time::Timestamp;
use serde_json::{Value, json};

/// Fails if the questionnaire in force is not the one that the vectors were made for.
pub fn check_questionnaire(case: &Value) -> Result<(), Mismatch> {
    expect(&case["name"], &questionnaire(), case)
}

/// Evaluates one vector's answers and compares the complete result.
pub fn check(case: &Value) -> Result<(), Mismatch> {
    let given = &case["in"];
    let computed = match case["of"].as_str() {
        Some("dimension") => dimension(given)?,
        Some("asset") => asset(given)?,
        Some("set") => set(given)?,
        _ => return Err(Mismatch::unreadable("of")),
    };
    expect(&case["name"], &computed, &case["out"])
}

/// The questionnaire in force, in the form that the reference evaluator reads.
pub fn questionnaire() -> Value {
    let categories = AssetCategory::ALL.iter().filter(|category| rubric::supply_can_be_raised(**category));
    json!({
        "name": "questionnaire",
        "rubric_version": rubric::RUBRIC_VERSION,
        "unknown": rubric::UNKNOWN_POINTS.get(),
        "aged": rubric::AGED_POINTS.get(),
        "max_unknown_weight": rubric::MAX_UNKNOWN_WEIGHT,
        "expires_after_cadences": rubric::EXPIRES_AFTER_CADENCES,
        "unknown_supply_ceiling": rubric::UNKNOWN_SUPPLY_CEILING.get(),
        "supply_categories": categories.map(|category| category.as_str()).collect::<Vec<_>>(),
        "dimensions": rubric::QUESTIONNAIRES.iter().map(|asked| json!({
            "id": asked.dimension.as_str(),
            "asks": asked.asks,
            "questions": asked.questions.iter().map(question).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

fn question(asked: &Question) -> Value {
    let hundredths = |value: Option<Hundredths>| value.map(Hundredths::get);
    json!({
        "id": asked.id,
        "weight": asked.weight,
        "text": asked.text,
        "evidence": asked.evidence.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
        "cadence": asked.cadence.as_str(),
        "cadence_seconds": asked.cadence_seconds(),
        "how_to_read": asked.how_to_read,
        "limits_supply": asked.limits_supply,
        "answers": asked.answers.iter().map(|answer| json!({
            "id": answer.id,
            "points": answer.points.get(),
            "text": answer.text,
            "ceiling": hundredths(answer.ceiling),
            "score_ceiling": hundredths(answer.score_ceiling),
            "needs_search": answer.needs_search,
        })).collect::<Vec<_>>(),
    })
}

fn dimension(given: &Value) -> Result<Value, Mismatch> {
    let answers = answers(list(given, "answers")?)?;
    let outcome = evaluate(required_name(given, "dimension")?, &answers, now(given)?);
    let ignored = outcome.ignored.iter().map(|it| {
        let answer = it.answer;
        let withdrawn = answer.withdrawn_at.map(Timestamp::as_micros);
        let observed = answer.observed_at.as_micros();
        json!([answer.question, answer.answer, observed, answer.source_kind.as_str(), withdrawn, it.reason.as_str()])
    });
    Ok(json!({
        "value": outcome.value.ok().map(Hundredths::get),
        "reason": outcome.value.err().map(|reason| reason.as_str()),
        "computed": outcome.computed.get(),
        "known": outcome.weight_known,
        "unknown": outcome.weight_unknown,
        "ceiling": outcome.ceiling.map(|it| json!([it.question, it.answer, it.at.get()])),
        "lowest": outcome.lowest.get(),
        "highest": outcome.highest.get(),
        "refresh": outcome.refresh.map(refresh),
        "parts": outcome.parts.iter().map(part).collect::<Vec<_>>(),
        "ignored": ignored.collect::<Vec<_>>(),
    }))
}

fn part(part: &Part) -> Value {
    json!([
        part.question.id,
        part.state.as_str(),
        part.answer.map(|answer| answer.id),
        part.points.get(),
        part.ceiling.map(Hundredths::get),
        part.observed_at.map(Timestamp::as_micros),
        part.counts_until().map(Timestamp::as_micros),
        part.also_given.iter().map(|answer| answer.id).collect::<Vec<_>>(),
    ])
}

fn refresh(refresh: Refresh) -> Value {
    json!([refresh.observed_at.as_micros(), refresh.cadence_seconds])
}

fn asset(given: &Value) -> Result<Value, Mismatch> {
    let (category, now) = (required_name(given, "category")?, now(given)?);
    let of = |dimension: Dimension| answers(list(&given["answers"], dimension.as_str())?);
    let mut outcomes: Vec<DimensionOutcome<'_>> = Vec::new();
    for (dimension, _) in weights(category) {
        outcomes.push(evaluate(*dimension, &of(*dimension)?, now));
    }
    let values = outcomes.iter().map(|it| (it.dimension.as_str().into(), it.value.ok().map(Hundredths::get).into()));
    Ok(json!({
        "values": Value::Object(values.collect()),
        "refresh": asset_refresh(category, &outcomes, now).map(refresh),
        "supply": supply_limit(category, &of(Dimension::BridgeMechanism)?, now).map(|limit| supply(&limit)),
    }))
}

/// The limit as the fixtures write it.
pub fn supply(limit: &SupplyLimit) -> Value {
    let part = |it: &rds_shared::scoring::rubric::LimitPart| {
        json!([it.question, it.state.as_str(), it.answer, it.ceiling.get()])
    };
    json!({
        "ceiling": limit.ceiling.get(),
        "lowest": limit.lowest.get(),
        "highest": limit.highest.get(),
        "parts": limit.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

/// A set's rows are `[dimension, question, answer, observed_at, source_kind, withdrawn_at, title, url, note]`.
fn set(given: &Value) -> Result<Value, Mismatch> {
    let sourced = |row: &'_ Value| -> Result<(Value, [String; 3]), Mismatch> {
        Ok((json!([row[1], row[2], row[3], row[4], row[5]]), [text(&row[6])?, text(&row[7])?, text(&row[8])?]))
    };
    let rows = list(given, "answers")?;
    let split = rows.iter().map(sourced).collect::<Result<Vec<_>, _>>()?;
    let mut sourced = Vec::new();
    for (row, (answer, [source_title, source_url, note])) in rows.iter().zip(&split) {
        let dimension = row[0].as_str().and_then(|name| name.parse().ok());
        sourced.push(SourcedAnswer {
            dimension: dimension.ok_or_else(|| Mismatch::unreadable("dimension"))?,
            answer: read(answer)?,
            source_title,
            source_url,
            note,
        });
    }
    let subject = text(&given["subject"])?;
    let set = AnswerSet { subject: &subject, answers: &sourced };
    Ok(json!({ "canonical": set.canonical().to_string(), "content_hash": set.content_hash().to_hex() }))
}

/// Answers as the fixtures write them.
pub fn answers(rows: &[Value]) -> Result<Vec<Answer<'_>>, Mismatch> {
    rows.iter().map(read).collect()
}

fn read(row: &Value) -> Result<Answer<'_>, Mismatch> {
    let unreadable = || Mismatch::unreadable("answer");
    let source_kind: Option<SourceKind> = row[3].as_str().and_then(|kind| kind.parse().ok());
    let withdrawn_at = match &row[4] {
        Value::Null => None,
        at => Some(Timestamp::from_micros(at.as_i64().ok_or_else(unreadable)?)),
    };
    Ok(Answer {
        question: row[0].as_str().ok_or_else(unreadable)?,
        answer: row[1].as_str().ok_or_else(unreadable)?,
        observed_at: Timestamp::from_micros(row[2].as_i64().ok_or_else(unreadable)?),
        source_kind: source_kind.ok_or_else(unreadable)?,
        withdrawn_at,
    })
}

fn now(given: &Value) -> Result<Timestamp, Mismatch> {
    required(given, "now").map(Timestamp::from_micros)
}
