//! Answers to the questionnaire: only permitted answers with a source are stored, and answers that differ are all kept.

use crate::ingest::market::{clock, faults, ingest, observed, registry, text};
use crate::support::db::TestDb;
use serde_json::{Value, json};

fn answer(hours: i64, fields: Value) -> Value {
    let mut line = observed(
        "asset_answer",
        hours,
        json!({"asset_id": "usdx", "dimension": "redeemability", "question": "who", "answer": "institutions",
               "as_of": "2026-05-01T00:00:00Z", "source_title": "Terms", "source_url": "https://issuer.example/terms",
               "source_kind": "document"}),
    );
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line
}

async fn stored(test: &TestDb) -> Vec<(String, Option<String>, bool)> {
    sqlx::query_as("SELECT answer, note, withdrawn FROM asset_answer ORDER BY answer")
        .fetch_all(&test.db.pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_answer_that_is_not_permitted_names_the_field() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &registry()).await;
    let none_found = json!({"dimension": "protocol_security", "question": "audits", "answer": "0"});
    for (fields, field) in [
        (json!({"asset_id": "gold"}), "asset_id"),
        (json!({"dimension": "charm"}), "dimension"),
        (json!({"question": "whom"}), "question"),
        (json!({"answer": "everybody"}), "answer"),
        (json!({"source_kind": "dataset"}), "source_kind"),
        (json!({"source_kind": "rumour"}), "source_kind"),
        (json!({"source_url": "data/terms.json"}), "source_url"),
        (json!({"source_url": format!("https://issuer.example/{}", "a".repeat(1_000))}), "source_url"),
        (json!({"source_title": " "}), "source_title"),
        (json!({"as_of": "2026-06-01T02:00:00Z"}), "as_of"),
        (json!({"observed_at": "2026-06-02T00:00:00Z"}), "observed_at"),
        (json!({"rubric_version": "0.9.0"}), "rubric_version"),
        (none_found, "note"),
    ] {
        let line = answer(1, fields);
        let found = faults(&test, &clock(1), &text(std::slice::from_ref(&line))).await;
        let named: Vec<_> = found.iter().map(|fault| fault.field.as_deref()).collect();
        assert_eq!(named, [Some(field)], "{line}: {found:?}");
    }
    assert_eq!(stored(&test).await, []);
}

#[tokio::test]
async fn answers_of_one_day_that_differ_are_both_kept_and_a_later_observation_withdraws_one() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &registry()).await;
    let strong = answer(1, json!({"answer": "any_onchain", "source_kind": "chain"}));
    let first = ingest(&test, &clock(1), &[answer(1, json!({})), strong.clone()]).await;
    assert_eq!(first.changed.get("asset_answer"), Some(&2));
    let again = ingest(&test, &clock(1), &[strong]).await;
    assert!(again.changed.is_empty() && again.ignored.is_empty(), "{again:?}");

    let withdrawn = json!({"answer": "any_onchain", "source_kind": "chain", "withdrawn": true, "note": "misread"});
    ingest(&test, &clock(3), &[answer(3, withdrawn)]).await;
    let kept = [("any_onchain".to_owned(), Some("misread".to_owned()), true), ("institutions".to_owned(), None, false)];
    assert_eq!(stored(&test).await, kept);

    let late = answer(2, json!({"answer": "any_onchain", "source_kind": "chain"}));
    let report = ingest(&test, &clock(3), &[late]).await;
    assert_eq!(report.ignored.by_kind.get("asset_answer"), Some(&1));
    assert_eq!(stored(&test).await, kept);
}
