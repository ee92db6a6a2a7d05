//! The service at two years of history: none of its frequent statements reads a growing table from one end to the other.
//!
//! The history is written by `history.sql` behind a simulated market. Then the service runs as always: its jobs, an hour of observations, a
//! score run, and the routes that read histories. Two things are examined afterwards. The statements that the connections have prepared are
//! explained, with the plan that holds for any values; and Postgres' own count of sequential scans covers what triggers and other
//! connections did.

mod plans;

use plans::AllSent;

use crate::support::db::TestDb;
use crate::support::streaming::{Serving, eventually};
use crate::support::testapp::{NOW, TestApp, TestOptions, holder};
use rds_engine::clock::Clock;
use rds_engine::scoring_run;
use rds_origin::catalog::refresh;
use rds_origin::metrics::database_metrics;
use rds_shared::access::Plan;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options};
use rds_store::push::journal;
use rds_store::webhooks::deliveries;
use rds_store::{chain_history, chains};
use sqlx::PgConnection;
use std::collections::BTreeSet;
use std::time::Duration;

const HISTORY: &str = include_str!("history.sql");
/// Enough vaults that Postgres prefers an index for one of them.
const MARKET: Options = Options { seed: 3, vaults: 200, hours: 1 };

/// Tables that grow with time. Each has thousands of rows after `history.sql`, the journal once its operations are numbered.
const LARGE: [&str; 22] = [
    "chain_reading",
    "decision",
    "event",
    "event_feed",
    "event_link",
    "graph_snapshot",
    "holder_snapshot",
    "ingest_batch",
    "journal",
    "push_operation",
    "research_prediction",
    "research_sample",
    "reward",
    "score_history",
    "score_run",
    "symbol_day",
    "vault_day",
    "vault_position",
    "vault_snapshot",
    "webhook_attempt",
    "webhook_delivery",
    "webhook_event",
];

/// The twenty most frequent statements that read or write a history, by a part of their text, with what sends them.
const FREQUENT: [(&str, &str); 20] = [
    ("-- journal_timeline", "every process, every second: whether the catalog is current"),
    ("/* fail_safe */", "every request for a score, and every process each second"),
    (
        "FROM score_run WHERE scope = 'all' AND mode = 'normal'",
        "every process, every second: whether a score run is due",
    ),
    ("-- webhook_fanout_is_due", "every process, ten times a second while a webhook exists"),
    ("-- webhooks_with_due_deliveries", "every process, every second: deliveries to attempt"),
    ("-- journal_tick_of_few", "the sequencer, up to twenty times a second"),
    ("-- journal_after", "every stream that catches up, and the fan-out"),
    ("-- journal_extent", "every stream that opens"),
    ("/* append_operation", "every published event"),
    ("-- newest_sync", "every process, every minute: the status feed"),
    ("-- touch_tags", "every commit that changes facts"),
    ("INSERT INTO vault_snapshot", "every batch of readings"),
    ("INSERT INTO ingest_batch", "every batch"),
    ("INSERT INTO score_run", "every batch, and every scheduled run"),
    ("INSERT INTO score_history", "every run that changes a score"),
    ("DELETE FROM vault_day_change", "every run: the daily sums of vaults with readings"),
    ("FROM vault_snapshot WHERE vault_id = $1 AND observed_at BETWEEN", "each vault page and chart that is not cached"),
    ("FROM score_history WHERE vault_id = $1", "each request for the history of a score"),
    ("FROM event_feed", "each page of events that is not cached"),
    ("SELECT EXISTS (SELECT FROM ingest_batch WHERE version > $1", "every rebuild of the catalog, three times"),
];

/// Statements that may read a whole table, by a part of their text, with the table and the reason.
const RARE: [(&str, &str, &str); 8] = [
    ("$1::text[] IS NULL", "reward", "every running campaign, once when a process starts"),
    ("FROM reward WHERE vault_id = ANY($1)", "reward", "a score run over all vaults reads all campaigns"),
    (
        "e.event_type = 'Incident' AND e.state = 'published' WHERE v.id",
        "event",
        "a score run over all vaults reads all incidents",
    ),
    ("SELECT EXISTS (SELECT FROM chain_reading)", "chain_reading", "stops at the first row, whichever it is"),
    (
        "SELECT DISTINCT ON (vault_id, field) vault_id, field, coalesce(value",
        "chain_reading",
        "an operator's command, which reads a chain's readings again",
    ),
    (
        "-- prune_webhook_events",
        "webhook_event",
        "at most a thousand rows of those that are kept for 30 days; it finds them by their age",
    ),
    ("-- prune_removed_webhooks", "webhook_delivery", "a job's step for webhooks that were deleted"),
    (
        "WITH critical AS MATERIALIZED",
        "event_link",
        "the list of vaults with critical incidents reads the links of all of them",
    ),
];

#[tokio::test]
async fn frequent_statements_find_their_rows_by_an_index_at_two_years_of_history() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, MARKET, None, &mut |_: &str| ()).await.unwrap();
    sqlx::raw_sql(HISTORY).execute(&facts.db.pool).await.unwrap();
    sqlx::raw_sql("VACUUM ANALYZE").execute(&facts.db.pool).await.unwrap();
    let separator = if facts.url.contains('?') { '&' } else { '?' };
    // More statements than a connection keeps by default, so that none is forgotten.
    let database = Some(format!("{}{separator}statement-cache-capacity=2000", facts.url));
    let env = vec![("RDS_SCORE_EVERY_SECONDS", "0")];
    let test = TestApp::over(facts, TestOptions { database, env, ..TestOptions::default() }).await;
    let large: BTreeSet<String> = LARGE.map(str::to_owned).into();
    for table in &large {
        if table != "journal" {
            let rows: i64 = sqlx::query_scalar(&format!("SELECT count(*) FROM {table}"))
                .fetch_one(&test.facts.db.pool)
                .await
                .unwrap();
            assert!(rows > 5_000, "{table} has only {rows} rows");
        }
    }
    // The start of the process and the counting above scanned tables.
    plans::sequential_scans(&test.app.db, &large).await;
    let before = plans::sequential_scans(&test.facts.db, &large).await;
    let mut of_journal = live_for_an_hour(&test).await;
    let after = plans::sequential_scans(&test.app.db, &large).await;
    let mut sent = AllSent::new();
    plans::of_pool(&test.app.db, &large, &mut sent).await;
    plans::of(&mut of_journal, &large, &mut sent).await;

    let mut faults = Vec::new();
    for (part, reason) in FREQUENT {
        if !sent.iter().any(|(text, one)| text.contains(part) && one.executions > 0) {
            faults.push(format!("not sent, so nothing is known of its plan: {part} ({reason})"));
        }
    }
    for (text, one) in &sent {
        if !one.scans.is_empty() && !RARE.iter().any(|(part, ..)| text.contains(part)) {
            faults.push(format!("{:?} in {} executions of:\n    {text}", one.scans, one.executions));
        }
    }
    for (table, scans) in &after {
        let more = scans - before.get(table).copied().unwrap_or_default();
        if more > 0 && !RARE.iter().any(|(_, read, _)| read == table) {
            faults.push(format!("{table} was scanned {more} times"));
        }
    }
    assert!(sent.len() > 120, "only {} statements were sent", sent.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// What a service does in an hour: its jobs, a batch of every kind of observation, a whole score run, and requests. Returns a connection of the
/// journal, which has settings of its own.
async fn live_for_an_hour(test: &TestApp) -> PgConnection {
    let serving = Serving::of(test).await;
    test.app.clock.advance(3_600);
    let market = Options { hours: 1, ..MARKET };
    simulate::run(&test.app.db, &test.app.clock, market, None, &mut |_: &str| ()).await.unwrap();
    scoring_run::run_all(&test.app.db, &test.app.clock).await.unwrap();
    refresh::refresh(&test.app).await.unwrap();
    eventually("every operation has a number", async || {
        let mut connection = test.app.db.pool.acquire().await.unwrap();
        journal::state(&mut connection).await.unwrap().waiting == 0
    })
    .await;
    serving.stop().await;
    let of_journal = journal_is_read(test).await;
    database_metrics::read_once(&test.app.db, &test.app.metrics).await;
    scores_are_due(test).await;
    let (db, now) = (&test.app.db, test.app.clock.now());
    let capacity = deliveries::Capacity::whole(100);
    db.run_tx("claim", |tx| Box::pin(deliveries::claim(tx, now, capacity))).await.unwrap();
    read_chain(test).await;
    ask(test).await;
    of_journal
}

/// What the sequencer and the tailer send, on a connection as theirs.
async fn journal_is_read(test: &TestApp) -> PgConnection {
    let (db, now) = (&test.app.db, test.app.clock.now());
    let mut connection = rds_origin::journal::connect(db, "rds-years", Duration::from_secs(30)).await.unwrap();
    journal::tick(&mut connection, now).await.unwrap();
    journal::read::extent(&mut connection, now).await.unwrap();
    let head = journal::read::head(&mut connection).await.unwrap();
    let most = journal::read::ReadLimits { rows: 100, bytes: 1 << 20 };
    journal::read::after(&mut connection, head - 50, most, None).await.unwrap();
    connection
}

/// Looks whether a scheduled score run is due.
async fn scores_are_due(test: &TestApp) {
    for _ in 0..6 {
        assert!(scoring_run::run_due(&test.app.db, &test.app.clock, 86_400).await.unwrap().is_none());
    }
}

/// What a cycle over a chain reads of the past.
async fn read_chain(test: &TestApp) {
    let db = &test.app.db;
    let (chain, vault): (i64, String) =
        sqlx::query_as("SELECT chain_id, id FROM vault ORDER BY id LIMIT 1").fetch_one(&db.pool).await.unwrap();
    chains::newest(db, chain).await.unwrap();
    chains::deposit_trials(db, chain, "0x00").await.unwrap();
    chains::holders_read_at(db, &[&vault], "chain:1").await.unwrap();
    chains::balances(db, &vault).await.unwrap();
    chains::status(db).await.unwrap();
    chain_history::newest_with_evidence(db, chain, Some(&vault)).await.unwrap();
}

/// The routes that read histories, several times: their statements get the plan that holds for any values.
async fn ask(test: &TestApp) {
    let sql = "SELECT c.slug, v.address, v.id, v.protocol_id FROM vault v JOIN chain c USING (chain_id) \
               WHERE v.is_active ORDER BY v.id LIMIT 6";
    let vaults: Vec<(String, String, String, String)> =
        sqlx::query_as(sql).fetch_all(&test.facts.db.pool).await.unwrap();
    let caller = holder(Plan::Data);
    for (network, address, id, protocol) in vaults {
        let vault = format!("/v1/vault/{network}/{address}");
        for path in ["", "/snapshots?days=365", "/score-history", "/events", "/holders", "/holders/history"] {
            let reply = test.get_as(&caller, &format!("{vault}{path}")).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        }
        for target in [
            format!("/v1/vaults/{id}"),
            format!("/v1/protocols/{protocol}"),
            format!("/v1/events?protocolId={protocol}"),
        ] {
            assert_eq!(test.get_as(&caller, &target).await.status, 200, "{target}");
        }
    }
    for target in [
        "/v1/events",
        "/v1/events?daysBack=730&page=3",
        "/v1/events?severity=Critical&sortOrder=asc",
        "/v1/events?search=market",
        "/v1/vaults/with-critical-incidents",
        "/v1/vaults/changes?since=2026-11-20T00:00:00Z",
        "/v1/vaults/changes?since=2026-11-20T00:00:00Z&changed=score",
        "/v1/portfolio/0x0000000000000000000000000000000000000001",
        "/v1/signals",
        "/v1/predictions",
        "/v1/status",
        "/v1/health",
    ] {
        let reply = test.get_as(&caller, target).await;
        assert!(reply.status == 200 || reply.status == 404, "{target}: {}", reply.text());
    }
}
