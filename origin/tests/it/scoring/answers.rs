//! Scores that rest on answers: their values, their ageing, their status, and what is served about them.

use crate::ingest::market::{
    VAULT, clock, evenly, exposure, faults, ingest, observed, registry, start, state, text, vault,
};
use crate::support::db::TestDb;
use crate::support::testapp::{TestApp, TestOptions};
use rds_engine::attestation::ReviewerSecret;
use rds_engine::scoring_run::run_all;
use rds_origin::catalog::refresh::refresh;
use rds_shared::rules::attestation::AnswersStatement;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

/// Answers to every question about two dimensions of a stablecoin, and the limits of its supply, as of the start.
pub fn answers(asset: &str) -> Vec<Value> {
    let said = [
        ("issuer_custody", "supervision", "prudential"),
        ("issuer_custody", "custodian", "named_plural"),
        ("issuer_custody", "segregation", "statutory"),
        ("issuer_custody", "record", "clean"),
        ("reserve_transparency", "proof", "big_four"),
        ("reserve_transparency", "cadence", "monthly"),
        ("reserve_transparency", "detail", "items"),
        ("reserve_transparency", "current", "yes"),
        ("redeemability", "who", "any_after_kyc"),
        ("redeemability", "settlement", "same_day"),
        ("redeemability", "price", "par"),
        ("redeemability", "limits", "none"),
        ("bridge_mechanism", "mint_control", "native"),
        ("bridge_mechanism", "verifier", "no_message"),
    ];
    said.into_iter().map(|(dimension, question, answer)| given(asset, dimension, question, answer, 0)).collect()
}

pub fn given(asset: &str, dimension: &str, question: &str, answer: &str, hours: i64) -> Value {
    observed(
        "asset_answer",
        hours,
        json!({"asset_id": asset, "dimension": dimension, "question": question, "answer": answer,
               "as_of": start().plus_seconds(hours * 3_600), "source_title": "Terms",
               "source_url": "https://issuer.example/terms", "source_kind": "document", "note": "section 1"}),
    )
}

pub fn protocol_answer(subject: &str, input: &str, value: Value, hours: i64) -> Value {
    observed(
        "protocol_answer",
        hours,
        json!({"subject": subject, "input": input, "value": value, "as_of": start().plus_seconds(hours * 3_600),
               "source_title": "Documentation", "source_url": "https://protocol.example/docs", "source_kind": "document"}),
    )
}

/// A stablecoin without a review.
pub fn unreviewed(id: &str, last: &str) -> Value {
    observed(
        "asset",
        0,
        json!({"id": id, "chain_id": 31337, "address": format!("0x00000000000000000000000000000000000000{last}"),
               "symbol": id.to_uppercase(), "category": "fiat_backed_stablecoin"}),
    )
}

/// Score in milli-points, status and basis of an asset.
async fn asset(test: &TestDb, id: &str) -> (Option<i32>, String, String) {
    sqlx::query_as("SELECT score, review_status, basis FROM asset_score WHERE asset_id = $1")
        .bind(id)
        .fetch_one(&test.db.pool)
        .await
        .unwrap()
}

/// The inputs of the vault's score.
async fn inputs(test: &TestDb) -> Value {
    let text: String = sqlx::query_scalar("SELECT provenance::text FROM vault_score WHERE vault_id = $1")
        .bind(VAULT)
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["inputs"].clone()
}

#[tokio::test]
async fn an_asset_is_scored_from_its_answers_and_loses_points_as_they_age() {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines.extend([vault(), unreviewed("usdz", "c3")]);
    lines.extend(answers("usdz"));
    ingest(&test, &clock(0), &lines).await;
    // Three dimensions of 65 percent have values; the others count 2.50: 0.25 * 9.55 + 0.2 * 9.42 + 0.2 * 9.35 + 0.35 * 2.5.
    assert_eq!(asset(&test, "usdz").await, (Some(7020), "provisional".to_owned(), "answers".to_owned()));
    let mut scores = Vec::new();
    for days in [400, 1_500] {
        // A run without a single fresh reading would be held back.
        ingest(&test, &clock(days * 24), &[state(days * 24, json!({}))]).await;
        run_all(&test.db, &clock(days * 24)).await.unwrap();
        scores.push(asset(&test, "usdz").await.0.unwrap());
    }
    assert!(7020 > scores[0] && scores[0] > scores[1], "{scores:?}");
}

#[tokio::test]
async fn of_two_answers_of_one_day_that_differ_the_weaker_counts_and_the_detail_says_so() {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines.push(unreviewed("usdz", "c3"));
    lines.extend(answers("usdz"));
    let mut other = given("usdz", "issuer_custody", "supervision", "limited", 0);
    other["source_url"] = json!("https://holder.example/experience");
    lines.push(other);
    ingest(&test, &clock(0), &lines).await;
    assert!(asset(&test, "usdz").await.0 < Some(7020));

    let app = TestApp::over(test, TestOptions::default()).await;
    let shown = app.json("/v1/assets/31337/0x00000000000000000000000000000000000000c3").await;
    let given = shown["data"]["answers"]["answers"].as_array().unwrap();
    let supervision: Vec<_> = given.iter().filter(|one| one["question"] == "supervision").collect();
    assert!(supervision.iter().all(|one| one["question_state"] == "contradicted"), "{supervision:?}");
    let counting: Vec<_> = supervision.iter().filter(|one| one["counts"] == true).map(|one| &one["answer"]).collect();
    assert_eq!((supervision.len(), counting), (2, vec![&json!("limited")]));
}

#[tokio::test]
async fn a_second_reviewers_signature_makes_an_asset_reviewed_until_the_next_answer() {
    let test = TestDb::new().await;
    let secret = ReviewerSecret::from_seed([9; 32]);
    let key = json!({"key_id": "k1", "public_key": secret.public_key(), "valid_from": "2026-01-01T00:00:00Z"});
    let mut lines = registry();
    lines.push(unreviewed("usdz", "c3"));
    lines.extend(answers("usdz"));
    lines.push(observed("reviewer", 0, json!({"id": "second", "name": "Second", "keys": [key]})));
    ingest(&test, &clock(0), &lines).await;
    let app = TestApp::over(test, TestOptions::default()).await;
    let path = "/v1/assets/31337/0x00000000000000000000000000000000000000c3";
    let shown = app.json(path).await["data"].clone();
    assert_eq!((&shown["review_status"], &shown["score_basis"]), (&json!("provisional"), &json!("answers")));
    let set = &shown["answers"];
    assert_eq!((set["answers"].as_array().unwrap().len(), &set["attested_by"]), (14, &json!([])));
    let first = &set["answers"][0];
    assert_eq!(
        (&first["counts"], &first["given_by"], &first["note"]),
        (&json!(true), &json!("fixture"), &json!("section 1"))
    );
    let hash = set["answers_hash"].as_str().unwrap().to_owned();

    let signed_at = Timestamp::parse("2026-06-01T01:00:00Z").unwrap();
    let statement = AnswersStatement { asset: "usdz", answers_hash: &hash, reviewer_id: "second", signed_at };
    let signature = secret.sign(&statement.message());
    let attestation = |signature: &str| {
        observed(
            "answer_attestation",
            1,
            json!({"asset_id": "usdz", "reviewer_id": "second", "key_id": "k1", "answers_hash": hash,
                   "signed_at": signed_at, "signature": signature}),
        )
    };
    let forged = secret.sign("something else");
    let refused = faults(&app.facts, &clock(1), &text(&[attestation(&forged)])).await;
    assert_eq!(refused[0].field.as_deref(), Some("signature"));
    ingest(&app.facts, &clock(1), &[attestation(&signature)]).await;
    assert_eq!(asset(&app.facts, "usdz").await.1, "reviewed");
    refresh(&app.app).await.unwrap();
    assert_eq!(app.json(path).await["data"]["answers"]["attested_by"], json!(["second"]));

    ingest(&app.facts, &clock(2), &[given("usdz", "redeemability", "who", "institutions", 2)]).await;
    let (score, status, _) = asset(&app.facts, "usdz").await;
    assert_eq!((score < Some(7020), status.as_str()), (true, "provisional"));
}

#[tokio::test]
async fn a_number_of_a_signed_review_stays_and_any_other_gives_way_to_answers() {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines.extend(answers("usdy"));
    ingest(&test, &clock(0), &lines).await;
    // The review of `usdy` states 7.60 for every dimension and is not signed.
    let (score, status, basis) = asset(&test, "usdy").await;
    assert_eq!((score > Some(7_600), status.as_str(), basis.as_str()), (true, "provisional", "mixed"));
    assert_eq!(evenly(7.6)["redeemability"], 7.6);
}

#[tokio::test]
async fn a_vault_inherits_its_protocols_answers_unless_it_has_its_own() {
    let test = TestDb::new().await;
    let mut lines = registry();
    let bare = json!({"protocol_id": "harbor", "chain_id": 31337, "address": "0x00000000000000000000000000000000000000A1",
                      "name": "Harbor USDX", "asset_address": "0x00000000000000000000000000000000000000c1",
                      "asset_mode": "lending", "deployed_at": "2024-01-01T00:00:00Z"});
    lines.extend([
        observed("vault", 0, bare),
        exposure(0, "usdy"),
        state(0, json!({})),
        protocol_answer("harbor", "timelock", json!(86_400), 0),
        protocol_answer("harbor", "exit", json!("queue_7d"), 0),
        protocol_answer("harbor", "audit", json!({"firm": "Hull", "date": "2026-02-01", "scope": "v3"}), 0),
    ]);
    ingest(&test, &clock(0), &lines).await;
    let found = inputs(&test).await;
    assert_eq!(found["control"]["timelock_seconds"]["value"], 86_400);
    assert_eq!(found["control"]["timelock_seconds"]["source"], "answers about harbor");
    assert_eq!(found["control"]["exit"]["value"], "queue_7d");
    // One report of one firm, in place of the number in the registry.
    assert_eq!(
        (&found["platform"]["audits"]["value"], &found["platform"]["newest_audit_days"]["value"]),
        (&json!(1), &json!(120))
    );

    ingest(&test, &clock(1), &[protocol_answer(VAULT, "timelock", json!(0), 1)]).await;
    let found = inputs(&test).await;
    assert_eq!(
        (&found["control"]["timelock_seconds"]["value"], &found["control"]["exit"]["value"]),
        (&json!(0), &json!("queue_7d"))
    );

    let app = TestApp::over(test, TestOptions::default()).await;
    let detail = app.json(&format!("/v1/vaults/{VAULT}")).await["data"]["vault"].clone();
    let answers = detail["score_evidence"]["answers"].as_array().unwrap().clone();
    let subjects: Vec<_> =
        answers.iter().map(|one| (one["input"].as_str().unwrap(), one["subject"].as_str().unwrap())).collect();
    assert!(subjects.contains(&("timelock", VAULT)) && subjects.contains(&("timelock", "harbor")), "{subjects:?}");
    assert!(answers.iter().all(|one| one["source_url"] == "https://protocol.example/docs"));
    assert!(answers.iter().all(|one| one["counts"] == true && one["question_state"] == "answered"), "{answers:?}");
    assert_eq!((&detail["score_basis"], &detail["is_audited"]), (&json!("partial"), &json!(true)));
    let (low, score, high) = (&detail["lowest_score"], &detail["total_score"], &detail["highest_score"]);
    assert!(low.as_f64() <= score.as_f64() && score.as_f64() <= high.as_f64(), "{low} {score} {high}");

    // After four cadences the answers are no evidence; a timelock that counts less than an unknown one stays.
    let later = 24 * 2_000;
    ingest(&app.facts, &clock(later), &[state(later, json!({}))]).await;
    run_all(&app.facts.db, &clock(later)).await.unwrap();
    let found = inputs(&app.facts).await;
    assert_eq!(
        (&found["control"]["timelock_seconds"]["value"], &found["control"]["exit"]["value"]),
        (&json!(0), &json!("unknown"))
    );
}

#[tokio::test]
async fn an_aged_list_of_dependencies_does_not_raise_the_score() {
    let test = TestDb::new().await;
    let mut lines = registry();
    for line in lines.iter_mut().filter(|line| line["kind"] == "protocol") {
        line["dependencies"] = json!(null);
    }
    let other = |id: &str, audits: u32, strategy: &str, usd: u64| {
        observed(
            "protocol",
            0,
            json!({"id": id, "name": id, "version_deployed_at": "2022-06-01T00:00:00Z", "audits": audits,
                   "tvl_usd": usd, "strategy": strategy}),
        )
    };
    lines.extend([
        other("weak", 0, "leveraged", 0),
        other("strong", 5, "lending_pool", 2_000_000_000),
        vault(),
        exposure(0, "usdy"),
        state(0, json!({})),
        protocol_answer("harbor", "dependencies", json!(["weak", "strong"]), 0),
    ]);
    ingest(&test, &clock(0), &lines).await;
    let dependencies = |inputs: Value| {
        let platform = &inputs["platform"];
        (platform["worst_dependency"]["value"].clone(), platform["dependencies"]["value"].clone())
    };
    assert_eq!(dependencies(inputs(&test).await), (json!("Edge"), json!(2)));

    // After four cadences the list is no evidence, but it counts less than unknown dependencies.
    let later = 24 * 2_000;
    ingest(&test, &clock(later), &[state(later, json!({}))]).await;
    run_all(&test.db, &clock(later)).await.unwrap();
    let found = inputs(&test).await;
    assert_eq!(found["platform"]["worst_dependency"]["source"], "answers about harbor");
    assert_eq!(dependencies(found), (json!("Edge"), json!(2)));

    let newer = protocol_answer("harbor", "dependencies", json!(["strong"]), later);
    ingest(&test, &clock(later), &[newer]).await;
    let later = later + 24 * 2_000;
    ingest(&test, &clock(later), &[state(later, json!({}))]).await;
    run_all(&test.db, &clock(later)).await.unwrap();
    assert_eq!(dependencies(inputs(&test).await), (json!("unknown"), json!(0)));
}

#[tokio::test]
async fn a_protocol_answer_that_is_not_permitted_names_the_field() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &registry()).await;
    let good = protocol_answer("harbor", "timelock", json!(5), 1);
    let changed = |fields: Value| {
        let mut line = good.clone();
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        line
    };
    for (fields, field) in [
        (json!({"subject": "silent"}), "subject"),
        (json!({"input": "charm"}), "input"),
        (json!({"value": -1}), "value"),
        (json!({"value": 1.5}), "value"),
        (json!({"input": "audit", "value": {"firm": "Hull", "date": "soon", "scope": "v3"}}), "value"),
        (json!({"input": "audit", "value": {"firm": "Hull", "date": "2026-06-02", "scope": "v3"}}), "value"),
        (json!({"input": "audit", "value": {"firm": "H\u{0}", "date": "2026-01-01", "scope": "v3"}}), "value"),
        (
            json!({"input": "audit", "value": {"firm": "Hull", "date": "2026-01-01", "scope": "v".repeat(3_000)}}),
            "value",
        ),
        (json!({"input": "version_first_seen", "value": "2099-01-01"}), "value"),
        (json!({"input": "signers", "value": {"threshold": 9, "owners": 3}}), "value"),
        (json!({"input": "signers", "value": {"threshold": 0, "owners": 3}}), "value"),
        (json!({"input": "dependencies", "value": ["harbor", "harbor"]}), "value"),
        (json!({"input": "dependencies", "value": ["silent"]}), "value"),
        (json!({"input": "exit", "value": "unknown"}), "value"),
        (json!({"source_kind": "dataset"}), "source_kind"),
        (json!({"source_url": "data/x.jsonl"}), "source_url"),
        (json!({"as_of": "2026-06-01T02:00:00Z"}), "as_of"),
        (json!({"rubric_version": "0.1.0"}), "rubric_version"),
    ] {
        let line = changed(fields);
        let found = faults(&test, &clock(1), &text(std::slice::from_ref(&line))).await;
        let named: Vec<_> = found.iter().map(|fault| fault.field.as_deref()).collect();
        assert_eq!(named, [Some(field)], "{line}: {found:?}");
    }
    ingest(&test, &clock(1), &[good]).await;
}

#[tokio::test]
async fn exposures_without_shares_bound_the_score_and_those_that_age_become_unknown() {
    let test = TestDb::new().await;
    let mut lines = registry();
    let source = json!({"rule": "pool_members", "source_title": "List", "source_url": "https://pool.example", "source_kind": "dataset"});
    let part = |asset: &str| json!({"asset_id": asset, "share": 0});
    let mut holder = vault();
    holder["asset_mode"] = json!("holdings");
    let members =
        json!({"vault_id": VAULT, "status": "shares_unknown", "parts": [part("usdx"), part("usdy")], "basis": source});
    lines.extend([holder, observed("exposure", 0, members), state(0, json!({}))]);
    ingest(&test, &clock(0), &lines).await;
    let basis = async || -> (String, Option<i32>) {
        sqlx::query_as("SELECT basis, raw FROM vault_score WHERE vault_id = $1")
            .bind(VAULT)
            .fetch_one(&test.db.pool)
            .await
            .unwrap()
    };
    let (first, bounded) = basis().await;
    assert_eq!(first, "bound");
    let found = inputs(&test).await;
    assert_eq!(found["asset"]["exposures_status"]["value"], "shares_unknown");

    let shared = json!({"vault_id": VAULT, "status": "shares_unknown", "parts": [{"asset_id": "usdx", "share": 0.5}]});
    let refused = faults(&test, &clock(1), &text(&[observed("exposure", 1, shared)])).await;
    assert_eq!(refused[0].field.as_deref(), Some("parts[0].share"));

    let mut lent =
        json!({"vault_id": VAULT, "status": "observed", "parts": [{"asset_id": "usdx", "share": 1}], "basis": source});
    lent["basis"]["rule"] = json!("strategy_debt");
    ingest(&test, &clock(1), &[observed("exposure", 1, lent)]).await;
    assert_eq!(basis().await.0, "partial");
    run_all(&test.db, &clock(1 + 28 * 24)).await.unwrap();
    assert_eq!(basis().await.0, "partial");
    run_all(&test.db, &clock(2 + 28 * 24)).await.unwrap();
    let (last, raw) = basis().await;
    assert_eq!((last.as_str(), raw), ("assumed", Some(4_000)));
    assert!(bounded > raw);
}

#[tokio::test]
async fn assets_that_depend_on_each_other_are_bounded_and_say_so() {
    let test = TestDb::new().await;
    let mut lines = registry();
    let linked = |id: &str, last: &str, other: &str| {
        let mut line = unreviewed(id, last);
        line["dependency_chain"] = json!([other]);
        line
    };
    lines.extend([linked("ring", "c4", "gem"), linked("gem", "c5", "ring")]);
    lines.extend(answers("ring"));
    lines.extend(answers("gem"));
    ingest(&test, &clock(0), &lines).await;
    let flags: Vec<(String, Value, i32)> = sqlx::query_as(
        "SELECT asset_id, (breakdown->'flags')::jsonb, score FROM asset_score WHERE asset_id IN ('gem', 'ring') ORDER BY 1",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    let told: Vec<_> = flags
        .iter()
        .filter(|(_, flags, _)| flags.as_array().unwrap().contains(&json!("circular_dependency")))
        .collect();
    assert_eq!(told.len(), 1, "{flags:?}");
    // The one that was scored first counted the other as unscored: at most 3.00 + 1.00.
    assert_eq!(told[0].2, 4_000);
}
