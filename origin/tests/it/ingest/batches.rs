//! Ingest is deterministic: a set of observations leaves the same facts in any order, with any repetition and after any failure.

use crate::ingest::market::{
    FACTS, PUBLISHED, VAULT, clock, dump, exposure, ingest, market, observed, published, registry, state, text, vault,
};
use crate::support::db::TestDb;
use rds_engine::ingest::{self as code, Batch, IngestError, Why};
use rds_shared::rules::tiers::Tier;
use rds_store::StoreError;
use rds_store::registry::catalog;
use rds_store::vaults::snapshots;
use serde_json::json;

#[tokio::test]
async fn a_market_comes_out_scored_with_everything_a_list_row_needs() {
    let test = TestDb::new().await;
    let report = ingest(&test, &clock(1), &market()).await;
    assert_eq!((report.lines, report.vaults_scored, report.score_changes), (10, 1, 1));
    assert_eq!(report.observations["vault_state"], 1);

    let (version, vaults) = catalog::load_vaults(&test.db, None).await.unwrap();
    assert_eq!((version, report.data_version, vaults.len()), (1, 1, 1));
    let facts = &vaults[0];
    assert_eq!(facts.id.as_str(), VAULT);
    assert_eq!((facts.tier, facts.score_run_id.as_deref()), (Some(Tier::Prime), Some("run-1")));
    assert_eq!((facts.tvl_usd, facts.utilization, facts.apr_net), (Some(5e6), Some(0.8), Some(0.04)));
    assert_eq!((facts.chain_slug.as_str(), facts.curator_name.as_deref()), ("devnet", Some("Keel Capital")));
    assert_eq!(facts.strategy_type.as_deref(), Some("lending_pool"));
    assert_eq!(facts.last_synced_at, Some(clock(0).now()));
}

#[tokio::test]
async fn repeating_a_batch_changes_not_a_byte() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let before = dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await;
    let again = ingest(&test, &clock(30), &market()).await;
    assert_eq!((again.changed.len(), again.score_run_id, again.data_version), (0, None, 1));
    assert_eq!(dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await, before);
}

/// Two batches that contradict each other about one instant, and about the order of two instants.
fn rivals() -> (Vec<serde_json::Value>, Vec<serde_json::Value>) {
    let reward = |hours, apr| {
        observed(
            "reward",
            hours,
            json!({"vault_id": VAULT, "campaign_id": "c", "side": "supply", "reward_type": "token_incentive", "apr": apr}),
        )
    };
    let a = vec![
        state(5, json!({"tvl_usd": 4_000_000})),
        state(7, json!({"tvl_usd": 9_000_000})),
        reward(5, 0.01),
        exposure(5, "usdx"),
        observed("curator", 9, json!({"id": "keel", "name": "Keel & Sons"})),
    ];
    let b = vec![
        state(5, json!({"tvl_usd": 6_000_000})),
        state(6, json!({"tvl_usd": 3_000_000})),
        reward(6, 0.02),
        exposure(5, "usdy"),
        observed("curator", -9, json!({"id": "keel", "name": "Keel"})),
    ];
    (a, b)
}

#[tokio::test]
async fn two_writers_leave_the_same_facts_in_either_order() {
    let (a, b) = rivals();
    let mut outcomes = Vec::new();
    for order in [[&a, &b], [&b, &a]] {
        let test = TestDb::new().await;
        ingest(&test, &clock(1), &market()).await;
        for batch in order {
            ingest(&test, &clock(10), batch).await;
        }
        let scores = published(&test, VAULT).await;
        let mut facts = dump(&test, &FACTS).await;
        // Derived change events depend on the order of arrival, so they are left out.
        facts.retain(|row| !row.contains("rating-change") && !row.contains("observed-change"));
        outcomes.push((facts, scores));
    }
    assert_eq!(outcomes[0], outcomes[1]);
    assert!(outcomes[0].0.iter().any(|row| row.contains("Keel & Sons")));
}

#[tokio::test]
async fn two_writers_at_once_take_turns() {
    let (a, b) = rivals();
    let (together, apart) = (TestDb::new().await, TestDb::new().await);
    for test in [&together, &apart] {
        ingest(test, &clock(1), &market()).await;
    }
    let clock = clock(10);
    let (first, second) = tokio::join!(ingest(&together, &clock, &a), ingest(&together, &clock, &b));
    let mut versions = [first.data_version, second.data_version];
    versions.sort_unstable();
    assert_eq!(versions, [2, 3]);
    ingest(&apart, &clock, &a).await;
    ingest(&apart, &clock, &b).await;
    assert_eq!(dump(&together, &FACTS).await, dump(&apart, &FACTS).await);
}

#[tokio::test]
async fn a_connection_that_dies_before_the_commit_leaves_nothing() {
    let test = TestDb::new().await;
    let before = dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await;
    // While the version row is locked, the batch stops at its last statement, with everything else written.
    let mut blocker = test.db.pool.begin().await.unwrap();
    sqlx::query("SELECT version FROM data_version FOR UPDATE").execute(&mut *blocker).await.unwrap();
    let clock = clock(1);
    let batch = Batch::read(text(&market()).as_bytes()).unwrap();
    let killer = async {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                    AND wait_event_type = 'Lock' AND query LIKE 'UPDATE data_version%'";
        while sqlx::query(kill).fetch_optional(&test.db.pool).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    let (outcome, ()) = tokio::join!(code::commit(&test.db, &clock, batch), killer);
    assert!(matches!(outcome, Err(IngestError::Store(StoreError::Unavailable(_)))), "{outcome:?}");
    blocker.rollback().await.unwrap();
    assert_eq!(dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await, before);

    ingest(&test, &clock, &market()).await;
    assert_eq!(published(&test, VAULT).await.1.as_deref(), Some("Prime"));
}

#[tokio::test]
async fn blank_lines_and_duplicates_are_no_faults() {
    let test = TestDb::new().await;
    let mut lines = market();
    lines.extend(market());
    let spaced = text(&lines).replace('\n', "\n\n  \n");
    let report = code::from_reader(&test.db, &clock(1), spaced.as_bytes()).await.unwrap();
    assert_eq!((report.lines, report.changed["vault"], report.changed["vault_state"]), (20, 1, 1));
}

#[tokio::test]
async fn a_late_reading_fills_the_history_and_not_the_present() {
    let test = TestDb::new().await;
    ingest(&test, &clock(10), &market()).await;
    ingest(&test, &clock(10), &[state(8, json!({"tvl_usd": 8_000_000}))]).await;
    ingest(&test, &clock(10), &[state(4, json!({"tvl_usd": 4_000_000}))]).await;
    let points = snapshots::between(&mut test.db.snapshot().await.unwrap(), VAULT, clock(0).now(), clock(10).now())
        .await
        .unwrap();
    let tvl: Vec<f64> = points.iter().filter_map(|point| point.tvl_usd).collect();
    assert_eq!(tvl, [5e6, 4e6, 8e6]);
    let (_, vaults) = catalog::load_vaults(&test.db, None).await.unwrap();
    assert_eq!((vaults[0].tvl_usd, vaults[0].last_synced_at), (Some(8e6), Some(clock(8).now())));
}

#[tokio::test]
async fn a_readings_rates_are_those_of_the_campaigns_that_ran_then() {
    let test = TestDb::new().await;
    let campaign = |hours, fields: serde_json::Value| {
        let mut line = observed("reward", hours, json!({"vault_id": VAULT, "campaign_id": "c"}));
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        line
    };
    let checked = |hours| state(hours, json!({"base_apr": 0.25, "borrow_apr": 0.5, "incentives": "checked"}));
    let mut lines = market();
    lines.extend([
        campaign(2, json!({"side": "supply", "reward_type": "token_incentive", "apr": 0.25})),
        campaign(3, json!({"side": "borrow", "reward_type": "token_incentive", "apr": 0.125})),
        campaign(4, json!({"side": "supply", "reward_type": "token_incentive", "apr": 0.25, "active": false})),
    ]);
    lines.extend((1..=4).map(checked));
    ingest(&test, &clock(10), &lines).await;
    let points = snapshots::between(&mut test.db.snapshot().await.unwrap(), VAULT, clock(1).now(), clock(4).now())
        .await
        .unwrap();
    let rates: Vec<_> = points.iter().map(|point| (point.apr_net, point.borrow_apr_net)).collect();
    let expected = [(0.25, 0.5), (0.5, 0.5), (0.5, 0.375), (0.25, 0.375)];
    assert_eq!(rates, expected.map(|(net, borrow)| (Some(net), Some(borrow))));
}

#[tokio::test]
async fn only_rows_changed_since_a_version_are_read() {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines.extend([vault(), state(0, json!({}))]);
    let mut other = vault();
    other["address"] = json!("0x00000000000000000000000000000000000000b2");
    lines.push(other);
    ingest(&test, &clock(1), &lines).await;
    let report = ingest(&test, &clock(2), &[state(1, json!({}))]).await;
    let (version, changed) = catalog::load_vaults(&test.db, Some(1)).await.unwrap();
    assert_eq!((version, report.data_version), (2, 2));
    assert_eq!(changed.iter().map(|facts| facts.id.as_str()).collect::<Vec<_>>(), [VAULT]);
    assert_eq!(catalog::load_vaults(&test.db, Some(2)).await.unwrap().1, []);
}

#[tokio::test]
async fn observations_that_are_not_stored_are_reported_with_line_and_reason() {
    let test = TestDb::new().await;
    ingest(&test, &clock(1), &market()).await;
    let curator = |hours, name: &str| observed("curator", hours, json!({"id": "keel", "name": name}));
    let told = ingest(&test, &clock(30), &[curator(9, "Keel & Sons"), state(5, json!({"tvl_usd": 4_000_000}))]).await;
    assert!(told.ignored.is_empty(), "{:?}", told.ignored);
    let rivals = [
        curator(9, "Keel & Daughters"),
        curator(8, "Keel"),
        state(5, json!({"tvl_usd": 5_000_000})),
        state(5, json!({"tvl_usd": 6_000_000})),
        state(4, json!({"tvl_usd": 7_000_000})),
    ];
    let told = ingest(&test, &clock(30), &rivals).await;
    let reasons = |kind: &str, reason: Why| {
        told.ignored.lines.iter().filter(|passed| passed.kind == kind && passed.reason == reason).count()
    };
    let kept = |kind: &str| usize::try_from(told.changed.get(kind).copied().unwrap_or(0)).unwrap();
    assert_eq!(reasons("curator", Why::Superseded), 1, "{told:?}");
    // Of two names at one instant one is stored, in either order, and the other is reported.
    assert_eq!(reasons("curator", Why::SameInstant) + kept("curator"), 1, "{told:?}");
    // Of the three observations of one instant one is stored; the late one becomes part of the history.
    assert!(matches!(reasons("vault_state", Why::SameInstant), 1 | 2), "{told:?}");
    assert_eq!(reasons("vault_state", Why::Superseded), 0);
    assert_eq!(told.ignored.by_kind.values().sum::<u64>(), told.ignored.lines.len() as u64);
    let again = ingest(&test, &clock(30), &market()).await;
    assert_eq!(again.ignored.by_kind.keys().copied().collect::<Vec<_>>(), ["curator"], "a repeat is told of by nobody");
}

#[tokio::test]
async fn of_many_faults_the_first_are_listed_and_all_are_counted() {
    let test = TestDb::new().await;
    let text = "{}\n".repeat(200_000);
    let Err(IngestError::Faults(faults)) = code::from_reader(&test.db, &clock(1), text.as_bytes()).await else {
        panic!("faults")
    };
    assert_eq!(faults.total(), 200_000);
    let told = faults.into_listed();
    assert_eq!((told.len(), told[0].line, told[99].line), (100, 1, 100));
}
