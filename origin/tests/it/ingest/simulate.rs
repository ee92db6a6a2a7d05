//! The simulated market: deterministic, and with every case that a client has to handle.

use crate::ingest::market::{FACTS, PUBLISHED, dump};
use crate::support::db::TestDb;
use rds_engine::clock::Clock;
use rds_shared::rules::liquidity::liquidity;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options, SimulationReport};
use std::collections::BTreeSet;

/// The demo market of `up`.
const DEMO: Options = Options { seed: 1, vaults: 60, hours: 72 };

async fn simulate(test: &TestDb, options: Options) -> SimulationReport {
    let clock = Clock::held(Timestamp::parse("2026-11-21T12:34:56Z").unwrap());
    simulate::run(&test.db, &clock, options, None, &mut |_: &str| ()).await.unwrap()
}

async fn texts(test: &TestDb, sql: &str) -> BTreeSet<String> {
    let rows: Vec<String> = sqlx::query_scalar(sql).fetch_all(&test.db.pool).await.unwrap();
    rows.into_iter().collect()
}

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn the_same_options_leave_the_same_facts() {
    let mut dumps = Vec::new();
    for _ in 0..2 {
        let test = TestDb::new().await;
        simulate(&test, Options { seed: 7, vaults: 45, hours: 4 }).await;
        dumps.push(dump(&test, &FACTS).await);
        dumps.push(dump(&test, &["vault_score", "score_history", "asset_version_score", "rwa_aum_snapshot"]).await);
    }
    assert!(dumps[0] == dumps[2] && dumps[1] == dumps[3]);

    let test = TestDb::new().await;
    simulate(&test, Options { seed: 8, vaults: 45, hours: 4 }).await;
    assert!(dump(&test, &FACTS).await != dumps[0]);
}

#[tokio::test]
async fn simulating_the_same_hour_again_changes_nothing() {
    let test = TestDb::new().await;
    let options = Options { seed: 1, vaults: 5, hours: 1 };
    let first = simulate(&test, options).await;
    let before = dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await;
    let again = simulate(&test, options).await;
    assert_eq!((again.data_version, again.score_changes), (first.data_version, 0));
    assert_eq!(dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await, before);
}

#[tokio::test]
async fn the_demo_shows_every_tier_status_and_kind_of_change() {
    let test = TestDb::new().await;
    let report = simulate(&test, DEMO).await;
    assert_eq!((report.vaults, report.hours), (60, 72));
    assert_eq!(report.to.to_string(), "2026-11-21T12:00:00.000Z");
    assert_eq!(texts(&test, "SELECT DISTINCT slug || ' ' || chain_id FROM chain").await, words(&["devnet 31337"]));

    for (sql, expected) in [
        ("SELECT coalesce(tier, 'none') FROM vault_score", &["Prime", "Core", "Edge", "none"][..]),
        (
            "SELECT change_type FROM score_history",
            &["initial", "score_move", "tier_promote", "tier_demote", "hard_demote", "unscored"],
        ),
        ("SELECT deposit_status FROM vault_state", &["open", "closed", "unknown"]),
        ("SELECT withdraw_status FROM vault_state", &["open", "closed", "unknown"]),
        (
            "SELECT borrow_status FROM vault_state",
            &["open", "disabled", "paused", "capped", "unknown", "not_applicable"],
        ),
        ("SELECT incentives FROM vault_state", &["checked", "unavailable", "not_applicable"]),
        (
            "SELECT side || ' ' || reward_type FROM reward",
            &[
                "supply token_incentive",
                "supply points",
                "supply trading_fee",
                "borrow token_incentive",
                "borrow points",
                "borrow strategy",
            ],
        ),
        (
            "SELECT coverage_status || ' ' || backfill_complete FROM holder_snapshot",
            &["complete true", "indexing true", "indexing false"],
        ),
        (
            "SELECT concat_ws(' ', holder->>'category', holder->>'method') FROM holder_snapshot, json_array_elements(top_holders) AS holder",
            &["protocol_managed review", "vault registry", "contract bytecode", "account bytecode", "unknown"],
        ),
        (
            "SELECT is_active || ' ' || (earns->>'kind') FROM vault_strategy, json_array_elements(yield_sources) AS earns",
            &["true interest", "true trading_fees", "true rewards", "true staking", "true other", "false unknown"],
        ),
        ("SELECT DISTINCT breakdown FROM protocol WHERE breakdown IS NOT NULL", &["markets", "strategies", "strategy"]),
        (
            "SELECT coalesce(incident_severity, '') || ' ' || coalesce(remediation_status, '') FROM event \
             WHERE event_type = 'Incident'",
            &["major resolved", "major unresolved", "minor resolved"],
        ),
        ("SELECT state FROM event", &["draft", "published", "retracted"]),
        ("SELECT DISTINCT 'repeats' FROM event_feed WHERE occurrence_count > 1", &["repeats"]),
        (
            "SELECT DISTINCT e.event_type FROM event_feed f JOIN event e ON e.id = f.event_id \
             WHERE e.source IN ('rating-change', 'observed-change')",
            &["AllocationChange", "BadDebt", "BasketHalted", "DepositabilityChange", "RatingChange"],
        ),
        (
            "SELECT concat_ws(' ', state, published_by) FROM security_event",
            &["draft", "published auto", "published admin", "dismissed", "retracted admin", "removed", "purged"],
        ),
        (
            "SELECT coalesce(severity, 'none') FROM loss_case WHERE loss_usd > 0",
            &["low", "medium", "high", "critical", "none"],
        ),
        ("SELECT loss_basis FROM loss_case", &["stated", "unit_assumed", "partial", "doubtful"]),
        ("SELECT severity FROM signal", &["Info", "Watch", "RiskChange", "PolicyBreach"]),
        (
            "SELECT DISTINCT split_part(named.entity, ':', 1) FROM signal_vault, unnest(via) AS named (entity)",
            &["curator", "asset", "chain", "protocol", "market", "oracle"],
        ),
        (
            "SELECT scope || ' ' || affects_protocol_score FROM event_link",
            &["vault false", "protocol true", "protocol false"],
        ),
    ] {
        assert_eq!(texts(&test, sql).await, words(expected), "{sql}");
    }

    let held: BTreeSet<String> =
        texts(&test, "SELECT 'indexed ' || (id IN (SELECT vault_id FROM holder_snapshot)) FROM vault").await;
    assert_eq!(held, words(&["indexed true", "indexed false"]), "nobody has begun with some vaults");
    let caught_up = "SELECT DISTINCT 'yes' FROM holder_snapshot early JOIN holder_snapshot late USING (vault_id) \
                     WHERE early.coverage_status = 'indexing' AND late.coverage_status = 'complete' AND early.observed_at < late.observed_at";
    assert_eq!(texts(&test, caught_up).await, words(&["yes"]));

    let rows: Vec<(Option<f64>, Option<f64>)> =
        sqlx::query_as("SELECT tvl_usd, utilization FROM vault_state").fetch_all(&test.db.pool).await.unwrap();
    let liquid: BTreeSet<String> =
        rows.into_iter().map(|(tvl, utilization)| liquidity(tvl, utilization).status.as_str().to_owned()).collect();
    assert_eq!(liquid, words(&["available", "exhausted", "deficit", "unknown"]));
}

#[tokio::test]
async fn the_demo_ends_with_tiers_on_their_way_up_and_down() {
    let test = TestDb::new().await;
    simulate(&test, DEMO).await;
    let moves = "SELECT tier || ' to ' || (provenance->'dwell'->>'candidate_tier') FROM vault_score \
                 WHERE json_typeof(provenance->'dwell') = 'object'";
    let expected = words(&["Core to Prime", "Edge to Core", "Prime to Core", "Core to Edge"]);
    assert_eq!(texts(&test, moves).await, expected);

    let caps = "SELECT DISTINCT cap->>'id' FROM vault_score, json_array_elements(provenance->'caps') AS cap WHERE (cap->>'binding')::boolean";
    let binding = texts(&test, caps).await;
    for cap in [
        "incident",
        "asset_hard_fail",
        "bad_debt",
        "liquidity_deficit",
        "needs_risk_review",
        "eoa_control",
        "asset_drag",
    ] {
        assert!(binding.contains(cap), "{cap}: {binding:?}");
    }
    let flags =
        texts(&test, "SELECT DISTINCT flag FROM vault_score, json_array_elements_text(provenance->'flags') AS flag")
            .await;
    for flag in
        ["exposures_unavailable", "stale_audit", "reward_heavy", "high_utilization", "single_market", "custom_oracle"]
    {
        assert!(flags.contains(flag), "{flag}: {flags:?}");
    }
}

#[tokio::test]
async fn every_score_in_the_history_lies_in_its_tier() {
    let test = TestDb::new().await;
    simulate(&test, Options { seed: 3, vaults: 120, hours: 30 }).await;
    let off: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM score_history WHERE new_tier IS DISTINCT FROM \
         CASE WHEN new_score >= 8000 THEN 'Prime' WHEN new_score >= 5000 THEN 'Core' WHEN new_score >= 0 THEN 'Edge' END \
         OR (change_type = 'score_move' AND abs(new_score - prev_score) < 50)",
    )
    .fetch_one(&test.db.pool)
    .await
    .unwrap();
    assert_eq!(off, 0);
    let points: i64 = sqlx::query_scalar("SELECT count(*) FROM score_history").fetch_one(&test.db.pool).await.unwrap();
    assert!(points > 120, "{points}");
}
