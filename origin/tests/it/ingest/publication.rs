//! Publication of scores: tiers during a dwell, small changes, confirming runs, provenance.

use crate::ingest::market::{
    VAULT, clock, dump, evenly, exposure, faults, ingest, market, observed, published, registry, start, state, text,
    vault,
};
use crate::support::db::TestDb;
use rds_engine::scoring_run::{self, Run};
use rds_shared::rules::dwell::ChangeType;
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::MilliPoints;
use rds_store::vaults::{detail, score_history};
use serde_json::{Value, json};

async fn run(test: &TestDb, hours: i64) -> Run {
    scoring_run::run_all(&test.db, &clock(hours)).await.unwrap()
}

async fn changes(test: &TestDb) -> Vec<(ChangeType, i64)> {
    let end = clock(10_000).now();
    let mut history = score_history::between(&test.db, VAULT, start(), end, 100).await.unwrap();
    history.reverse();
    history.into_iter().map(|point| (point.change_type, point.observed_at.seconds_since(start()) / 3_600)).collect()
}

async fn provenance(test: &TestDb) -> Value {
    let facts = detail::vault(&mut test.db.snapshot().await.unwrap(), VAULT).await.unwrap().unwrap();
    serde_json::from_str(facts.score_provenance.get()).unwrap()
}

#[tokio::test]
async fn a_fall_dwells_for_a_day_and_a_rise_for_six_hours_and_the_tier_is_always_that_of_the_score() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    // A small vault is capped at 7.40: below the minimum of Prime, but by less than a full point.
    ingest(&test, &clock(10), &[state(10, json!({"tvl_usd": 50_000}))]).await;
    let mut tiers = Vec::new();
    for hour in 11..70 {
        if hour == 40 {
            ingest(&test, &clock(hour), &[state(hour, json!({"tvl_usd": 5_000_000}))]).await;
        } else {
            run(&test, hour).await;
        }
        let (score, tier, raw) = published(&test, VAULT).await;
        let score = MilliPoints::new(score.unwrap()).unwrap();
        assert_eq!(tier.as_deref(), Some(tier_of(score).as_str()), "hour {hour}");
        let range = "SELECT lowest, highest FROM vault_score WHERE vault_id = $1";
        let (lowest, highest): (i32, i32) = sqlx::query_as(range).bind(VAULT).fetch_one(&test.db.pool).await.unwrap();
        assert!((lowest..=highest).contains(&score.get()), "hour {hour}: {score} is not in {lowest} to {highest}");
        let dwelling = provenance(&test).await["dwell"].clone();
        assert_eq!(
            dwelling.is_null(),
            tier_of(MilliPoints::new(raw.unwrap()).unwrap()) == tier_of(score),
            "hour {hour}"
        );
        tiers.push((hour, tier.unwrap()));
    }
    let of = |hour: i64| tiers.iter().find(|(at, _)| *at == hour).unwrap().1.as_str();
    assert_eq!([of(33), of(34), of(45), of(46)], ["Prime", "Core", "Core", "Prime"]);
    let expected = [
        (ChangeType::Initial, 0),
        (ChangeType::ScoreMove, 10),
        (ChangeType::TierDemote, 34),
        (ChangeType::ScoreMove, 40),
        (ChangeType::TierPromote, 46),
    ];
    assert_eq!(changes(&test).await, expected);
}

#[tokio::test]
async fn a_dwell_says_what_comes_and_when() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    ingest(&test, &clock(10), &[state(10, json!({"tvl_usd": 50_000}))]).await;
    let document = provenance(&test).await;
    let expected = json!({"candidate_tier": "Core", "since": clock(10).now(), "publishes_at": clock(34).now()});
    assert_eq!(document["dwell"], expected);
    assert_eq!((document["raw_score"].as_f64(), document["caps"][0]["id"].as_str()), (Some(7.4), Some("low_tvl")));
}

#[tokio::test]
async fn an_unresolved_incident_demotes_at_once() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    let incident = |hours: i64, status: &str| {
        observed(
            "incident_link",
            hours,
            json!({"event_key": "drain-1", "vault_id": VAULT, "severity": "Critical",
            "incident_severity": "major", "title": "Drain", "occurred_at": clock(3).now(), "loss_usd": 1000000,
            "returned_usd": 0, "remediation_status": status}),
        )
    };
    ingest(&test, &clock(3), &[incident(3, "unresolved")]).await;
    assert_eq!(published(&test, VAULT).await, (Some(3900), Some("Edge".to_owned()), Some(3900)));
    assert_eq!(changes(&test).await[1], (ChangeType::HardDemote, 3));
    let events = detail::events(&test.db.pool, VAULT, 10).await.unwrap();
    let titles: Vec<&str> = events.iter().map(|event| event.title.as_str()).collect();
    assert_eq!(titles, ["Harbor USDX is rated 3.90 (Edge), previously 8.60 (Prime)", "Drain"]);
    // A resolved incident caps the score for another half year.
    ingest(&test, &clock(31 * 24), &[incident(31 * 24, "resolved")]).await;
    assert_eq!(published(&test, VAULT).await.2, Some(6500));
}

#[tokio::test]
async fn a_move_under_five_hundredths_is_not_published() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    let before = published(&test, VAULT).await;
    // A slightly lower collateral score: the raw score changes by 0.02.
    let mut dimensions = evenly(7.6);
    dimensions["issuer_custody"] = json!(7.5);
    ingest(
        &test,
        &clock(1),
        &[observed(
            "asset_review",
            1,
            json!({"asset_id": "usdy", "review_status": "reviewed", "dimensions": dimensions}),
        )],
    )
    .await;
    let after = published(&test, VAULT).await;
    assert_eq!((before.2, after.2), (Some(8600), Some(8580)));
    assert_eq!((after.0, after.1), (before.0, before.1));
    assert_eq!(changes(&test).await, [(ChangeType::Initial, 0)]);
    let facts = detail::vault(&mut test.db.snapshot().await.unwrap(), VAULT).await.unwrap().unwrap().vault;
    assert_eq!((facts.score_computed_at, facts.score_updated_at), (Some(clock(1).now()), Some(clock(0).now())));
}

#[tokio::test]
async fn a_run_that_confirms_a_score_moves_only_the_confirmation() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    let before = detail::vault(&mut test.db.snapshot().await.unwrap(), VAULT).await.unwrap().unwrap();
    let history = dump(&test, &["score_history", "vault", "vault_state"]).await;
    let second = run(&test, 1).await;
    assert_eq!((second.vaults, second.changes.len()), (1, 0));
    let after = detail::vault(&mut test.db.snapshot().await.unwrap(), VAULT).await.unwrap().unwrap();
    assert_eq!(after.vault.score_computed_at, Some(clock(1).now()));
    assert_eq!(after.vault.score_run_id.as_deref(), Some("run-2"));
    assert!(after.score_provenance.get().contains("\"score_run_id\":\"run-2\""));
    assert_eq!((after.vault.score, after.vault.score_updated_at), (before.vault.score, before.vault.score_updated_at));
    assert_eq!(dump(&test, &["score_history", "vault", "vault_state"]).await, history);
}

#[tokio::test]
async fn an_unscored_vault_names_what_is_missing_and_is_scored_when_it_comes() {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines[2]["audits"] = Value::Null;
    lines[2]["newest_audit_at"] = Value::Null;
    lines[2]["strategy"] = Value::Null;
    lines.extend([vault(), exposure(0, "usdy"), state(0, json!({}))]);
    ingest(&test, &clock(0), &lines).await;
    assert_eq!(published(&test, VAULT).await, (None, None, None));
    assert_eq!(provenance(&test).await["missing"], json!(["audits", "strategy"]));
    let mut protocol = registry().remove(2);
    protocol["observed_at"] = json!(clock(1).now());
    ingest(&test, &clock(1), &[protocol]).await;
    assert_eq!(provenance(&test).await["missing"], json!([]));
    assert_eq!(changes(&test).await, [(ChangeType::Initial, 1)]);
    assert_eq!(published(&test, VAULT).await.1.as_deref(), Some("Prime"));
}

#[tokio::test]
async fn every_input_says_where_it_came_from() {
    let test = TestDb::new().await;
    let mut lines = market();
    lines[2]["evidence"] = json!({"audits": "fixture: audits page (lower bound)"});
    ingest(&test, &clock(0), &lines).await;
    let inputs = provenance(&test).await["inputs"].clone();
    assert_eq!(inputs["platform"]["audits"]["value"], 5);
    assert_eq!(inputs["platform"]["audits"]["source"], "fixture: audits page (lower bound)");
    assert_eq!(inputs["control"]["timelock_seconds"]["observed_at"], json!(start()));
    assert_eq!(inputs["asset"]["exposures"][0]["id"], "usdy");
    for group in ["platform", "control", "caps", "flags"] {
        for (name, input) in inputs[group].as_object().unwrap() {
            assert!(input["source"].is_string(), "{group}.{name}: {input}");
        }
    }
}

#[tokio::test]
async fn a_vault_of_vaults_follows_the_vault_inside_it() {
    let test = TestDb::new().await;
    let outer = "harbor-31337-0x00000000000000000000000000000000000000b2";
    let mut second = vault();
    second["address"] = json!("0x00000000000000000000000000000000000000b2");
    let mut lines = market();
    let part = json!([{"vault_id": VAULT, "share": 1}]);
    lines.extend([second, observed("exposure", 0, json!({"vault_id": outer, "status": "observed", "parts": part}))]);
    ingest(&test, &clock(0), &lines).await;
    let vectors: String =
        sqlx::query_scalar("SELECT string_agg(vectors->'asset'->>'score', ' ' ORDER BY vault_id) FROM vault_score")
            .fetch_one(&test.db.pool)
            .await
            .unwrap();
    assert_eq!(vectors, "7.6 7.6");
    // The inner vault's collateral loses its peg: one observation affects two vaults.
    let depeg = json!([{"flag": "depeg_active", "transition": "triggered", "at": clock(1).now()}]);
    let review = json!({"asset_id": "usdy", "review_status": "reviewed", "dimensions": registry()[6]["dimensions"], "hard_fail_events": depeg});
    let report = ingest(&test, &clock(1), &[observed("asset_review", 1, review)]).await;
    assert_eq!(report.vaults_scored, 2);
    assert!(published(&test, outer).await.2 < Some(7_000));
}

#[tokio::test]
async fn two_people_may_lift_a_flag_for_a_while_and_the_breakdown_names_them() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    let depeg = json!([{"flag": "depeg_severe", "transition": "triggered", "at": start()}]);
    let lifted = |approver: &str| {
        let decision = json!([{"flag": "depeg_severe", "preparer": "ada", "approver": approver, "reason": "the feed was wrong",
                               "expires_at": start().plus_seconds(20 * 3_600)}]);
        let fields = json!({"asset_id": "usdy", "review_status": "reviewed", "dimensions": registry()[6]["dimensions"],
                            "hard_fail_events": depeg, "hard_fail_overrides": decision});
        observed("asset_review", 1, fields)
    };
    let found = faults(&test, &clock(1), &text(&[lifted("Ada")])).await;
    assert_eq!(found[0].field.as_deref(), Some("hard_fail_overrides[0]"));
    ingest(&test, &clock(1), &[lifted("grace")]).await;
    let asset = async |test: &TestDb| -> (Vec<String>, Value) {
        sqlx::query_as("SELECT hard_fail_flags, breakdown FROM asset_score WHERE asset_id = 'usdy'")
            .fetch_one(&test.db.pool)
            .await
            .unwrap()
    };
    let (flags, breakdown) = asset(&test).await;
    assert_eq!((flags.len(), &breakdown["hard_fail_overrides"][0]["approver"]), (0, &json!("grace")));
    run(&test, 21).await;
    let (flags, breakdown) = asset(&test).await;
    assert_eq!((flags, &breakdown["hard_fail_overrides"]), (vec!["depeg_severe".to_owned()], &json!([])));
}

#[tokio::test]
async fn a_rate_far_above_its_peers_is_flagged_and_five_of_them_make_a_market() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    ingest(&test, &clock(1), &[state(1, json!({"base_apr": 0.5}))]).await;
    let flagged =
        async |test: &TestDb| provenance(test).await["flags"].as_array().unwrap().contains(&json!("outlier_apr"));
    assert!(!flagged(&test).await, "one vault is no market");
    let mut lines = Vec::new();
    for number in 2..6 {
        let address = format!("0x00000000000000000000000000000000000000a{number}");
        let mut peer = vault();
        peer["address"] = json!(address);
        lines.push(peer);
        let id = format!("harbor-31337-{address}");
        lines.push(observed("vault_state", 1, json!({"vault_id": id, "tvl_usd": 1000000, "base_apr": 0.05})));
    }
    ingest(&test, &clock(2), &lines).await;
    run(&test, 2).await;
    assert!(flagged(&test).await);
    ingest(&test, &clock(3), &[state(3, json!({"base_apr": 0.29}))]).await;
    assert!(!flagged(&test).await, "below 30 % nothing stands out");
}
