//! The questionnaire as tables, and a worked example that the scoring code computes.

use super::escape;
use super::methodology::{FOOT, head};
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::asset::{AssetCategory, AssetInput, Dimension, ReviewStatus, evaluate};
use rds_shared::scoring::rubric::{Answer, AssetEvidence, EnteredNumbers, PartState, SourceKind};
use rds_shared::scoring::tables::rubric::{PROTOCOL_QUESTIONS, QUESTIONNAIRES};
use rds_shared::wire::Timestamp;
use std::error::Error;
use std::fmt::Write;

/// 2026-11-01, the instant of the example.
const NOW: Timestamp = Timestamp::from_seconds(1_793_491_200);

/// The answers of the example: dimension, question, answer, and the age in days. The asset is invented.
const ANSWERS: [(Dimension, &str, &str, i64); 20] = [
    (Dimension::IssuerCustody, "supervision", "prudential", 60),
    (Dimension::IssuerCustody, "custodian", "named_plural", 60),
    (Dimension::IssuerCustody, "segregation", "statutory", 60),
    (Dimension::IssuerCustody, "record", "clean", 60),
    (Dimension::ReserveTransparency, "proof", "big_four", 20),
    (Dimension::ReserveTransparency, "cadence", "monthly", 20),
    (Dimension::ReserveTransparency, "detail", "classes", 20),
    (Dimension::Redeemability, "who", "institutions", 60),
    (Dimension::Redeemability, "settlement", "same_day", 60),
    (Dimension::Redeemability, "price", "par", 60),
    (Dimension::PegStability, "events_24m", "1_to_3pct", 30),
    (Dimension::PegStability, "worst_ever", "5_to_15pct", 200),
    (Dimension::PegStability, "arbitrage", "approved_parties", 200),
    (Dimension::Liquidity, "lending_markets", "ge_8", 90),
    (Dimension::Liquidity, "pools", "ge_50", 90),
    (Dimension::Liquidity, "feed", "ge_3", 90),
    (Dimension::GovernanceControls, "upgrade", "regulated_issuer", 120),
    (Dimension::GovernanceControls, "delay", "none", 120),
    (Dimension::GovernanceControls, "holders", "undisclosed", 120),
    (Dimension::ProtocolSecurity, "age", "ge_5y", 120),
];

/// Renders a part: `questions`, `protocol-questions` or `worked-example`.
pub fn part(name: &str) -> Result<String, Box<dyn Error>> {
    Ok(match name {
        "answer-count" => ANSWERS.len().to_string(),
        "questions" => questions(),
        "protocol-questions" => protocol_questions(),
        "worked-example" => worked_example()?,
        _ => return Err(format!("no part of the questionnaire is called {name}").into()),
    })
}

fn questions() -> String {
    let mut out = String::new();
    for asked in QUESTIONNAIRES {
        let _ = write!(out, "\n### `{}`\n\n{}\n\n", asked.dimension, asked.asks);
        out.push_str(&head(
            "",
            &[("Question", false), ("Weight", true), ("Answers and their points", false), ("Renew", false)],
        ));
        for question in asked.questions {
            let mut answers = String::new();
            for answer in question.answers {
                let _ = write!(
                    answers,
                    "<span class=\"weight\" title=\"{}\">{} <b>{}</b></span> ",
                    escape(answer.text),
                    answer.id,
                    answer.points
                );
            }
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\"><code>{}</code><br>{}</th><td class=\"number\">{} %</td><td>{answers}</td><td>{}</td></tr>",
                question.id,
                escape(question.text),
                question.weight,
                question.cadence
            );
        }
        out.push_str(FOOT);
    }
    out
}

fn protocol_questions() -> String {
    let mut out = head("", &[("Input", false), ("Question", false), ("Value", false), ("Renew", false)]);
    for question in &PROTOCOL_QUESTIONS {
        let cadence = question.cadence.map_or("does not age", |cadence| cadence.as_str());
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td><td>{cadence}</td></tr>",
            question.input,
            escape(question.text),
            escape(question.value)
        );
    }
    out.push_str(FOOT);
    out
}

/// The steps from the answers to the tier of an invented stablecoin, computed by the scoring code.
fn worked_example() -> Result<String, Box<dyn Error>> {
    let answers: Vec<(Dimension, Answer<'_>)> = ANSWERS
        .iter()
        .map(|(dimension, question, answer, days)| {
            let observed_at = NOW.plus_seconds(-days * 86_400);
            let source_kind = SourceKind::Document;
            let source_kind = if *dimension == Dimension::Liquidity { SourceKind::Dataset } else { source_kind };
            (*dimension, Answer { question, answer, observed_at, source_kind, withdrawn_at: None })
        })
        .collect();
    let category = AssetCategory::FiatBackedStablecoin;
    let evidence = AssetEvidence::new(category, &EnteredNumbers::default(), &answers, NOW);
    if let Some(ignored) = evidence.dimensions.iter().flat_map(|it| &it.outcome.ignored).next() {
        return Err(format!("the example has an answer that does not count: {ignored:?}").into());
    }
    let refresh = evidence.refresh.ok_or("the example has no answers")?;
    let input = AssetInput {
        review_status: ReviewStatus::Provisional,
        supply_ceiling: evidence.supply_ceiling(),
        age_seconds: refresh.age_seconds(NOW),
        cadence_seconds: refresh.cadence_seconds,
        ..AssetInput::new(category, evidence.values())
    };
    let outcome = evaluate(&input);
    let score = outcome.score.ok_or("the example is unscored")?;
    let range = evidence.range(&input);
    let mut out =
        head("", &[("Dimension", false), ("Weight", true), ("Answers", false), ("Value", true), ("Possible", true)]);
    for it in &evidence.dimensions {
        let mut said = String::new();
        for part in &it.outcome.parts {
            let answer = part.answer.map_or("no answer", |answer| answer.id);
            let unknown = if part.state == PartState::Unknown { ", unknown" } else { "" };
            let _ = write!(
                said,
                "<span class=\"weight\">{} {}: {answer}{unknown} <b>{}</b></span> ",
                part.question.weight, part.question.id, part.points
            );
        }
        let value = it.value.map_or("no value, counts 2.5".to_owned(), |value| value.to_string());
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td class=\"number\">{} %</td><td>{said}</td><td class=\"number\">{value}</td><td class=\"number\">{} to {}</td></tr>",
            it.dimension, it.weight, it.outcome.lowest, it.outcome.highest
        );
    }
    out.push_str(FOOT);
    let sum = outcome.weighted_sum.ok_or("the example has no sum")?;
    let _ = write!(out, "\nThe weighted sum is **{sum}**.");
    for overlay in &outcome.overlays {
        let _ =
            write!(out, " The overlay `{}` ({}) lowers it to {}.", overlay.rule, overlay.rule.reason(), overlay.after);
    }
    let coverage = range.coverage.0 / 10_000;
    let _ = writeln!(
        out,
        " The score is **{score}**, tier **{}**. {coverage} percent of the weight has evidence; given what is unknown, the score could lie between {} and {}.",
        tier_of(score),
        range.lowest,
        range.highest
    );
    Ok(out)
}
