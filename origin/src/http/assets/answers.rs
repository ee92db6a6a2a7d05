//! The answers about one asset, with the state of each now.

use rds_facts::AssetAnswer;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::evidence::{AssetAnswers, Citation, GivenAnswer};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::rubric::{AnswerSet, PartState, SourcedAnswer, evaluate};
use rds_shared::scoring::tables::rubric::{QUESTIONNAIRES, RUBRIC_VERSION, questionnaire};
use rds_shared::wire::Timestamp;
use rds_store::assets::answers;
use rds_store::{Db, StoreError};
use std::cmp::Reverse;

/// The answers about an asset as of `now`; `None` if there are none.
pub(super) async fn of(db: &Db, asset_id: &str, now: Timestamp) -> Result<Option<AssetAnswers>, StoreError> {
    let stored = answers::of_asset(&db.pool, asset_id).await?;
    if stored.is_empty() {
        return Ok(None);
    }
    let sourced: Vec<SourcedAnswer<'_>> =
        stored.iter().filter(|one| one.is_given()).map(AssetAnswer::sourced).collect();
    let hash = AnswerSet { subject: asset_id, answers: &sourced }.content_hash();
    let signed = answers::attested(&db.pool, Some(asset_id)).await?;
    let attested_by = signed.into_iter().filter(|it| ContentHash::parse(&it.answers_hash) == Some(hash));
    Ok(Some(AssetAnswers {
        rubric_version: RUBRIC_VERSION,
        answers_hash: hash,
        attested_by: attested_by.map(|it| it.reviewer_id).collect(),
        answers: in_order(&once(stored), now),
    }))
}

/// Of an answer that was read again and again, only the newest reading, which decides as they all do.
fn once(stored: Vec<AssetAnswer>) -> Vec<AssetAnswer> {
    let repeats = |one: &AssetAnswer, other: &AssetAnswer| {
        !one.is_given()
            && !other.is_given()
            && !one.withdrawn
            && !other.withdrawn
            && one.as_of < other.as_of
            && (one.dimension, &one.question, &one.answer) == (other.dimension, &other.question, &other.answer)
    };
    let is_newest: Vec<bool> = stored.iter().map(|one| !stored.iter().any(|other| repeats(one, other))).collect();
    stored.into_iter().zip(is_newest).filter(|(_, is_newest)| *is_newest).map(|(one, _)| one).collect()
}

/// The answers in the order of the questionnaire; those to one question newest first.
fn in_order(stored: &[AssetAnswer], now: Timestamp) -> Vec<GivenAnswer> {
    let mut given = Vec::with_capacity(stored.len());
    for asked in QUESTIONNAIRES {
        let about: Vec<&AssetAnswer> = stored.iter().filter(|one| one.dimension == asked.dimension).collect();
        let answers: Vec<_> = about.iter().map(|one| one.sourced().answer).collect();
        let outcome = evaluate(asked.dimension, &answers, now);
        for part in &outcome.parts {
            let mut to_question: Vec<&AssetAnswer> =
                about.iter().copied().filter(|one| one.question == part.question.id).collect();
            to_question.sort_by(|a, b| {
                (Reverse(a.as_of), &a.source_url, &a.answer).cmp(&(Reverse(b.as_of), &b.source_url, &b.answer))
            });
            // Of equal answers of one day, the newest decides.
            let deciding = part.answer.and_then(|option| {
                let counts = |one: &AssetAnswer| !one.withdrawn || part.state == PartState::Withdrawn;
                let decides = |one: &&&AssetAnswer| {
                    one.answer == option.id && counts(one) && part.observed_at.is_some_and(|at| one.as_of.0 <= at)
                };
                to_question.iter().find(decides).copied()
            });
            given.extend(to_question.iter().map(|one| {
                let counts = deciding.is_some_and(|it| std::ptr::eq(it, *one));
                served(one, counts, part.state)
            }));
        }
    }
    given
}

fn served(one: &AssetAnswer, counts: bool, question_state: PartState) -> GivenAnswer {
    let question = questionnaire(one.dimension).question(&one.question);
    let points = question.and_then(|question| question.answer(&one.answer)).map(|answer| answer.points);
    GivenAnswer {
        dimension: one.dimension,
        question: one.question.clone(),
        answer: one.answer.clone(),
        points: points.map(MilliPoints::from),
        counts,
        question_state,
        citation: Citation {
            as_of: one.as_of.0,
            source_title: one.source_title.clone(),
            source_url: one.source_url.clone(),
            source_kind: one.source_kind,
            note: one.note.clone(),
            withdrawn_at: one.withdrawn.then_some(one.observed_at.0),
            given_by: one.source.clone(),
        },
        evidence: one.evidence.clone(),
    }
}
