//! The change feed with concurrent writers: late ones, many at once, and two serving processes.

use crate::support::market::{SYNCED, VAULTS, line};
use crate::support::testapp::{TestApp, TestOptions};
use crate::vaults::changes::{BEGINNING, drain, keys, late_id, late_state, late_vault, page};
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, IngestError};
use rds_origin::catalog::refresh;
use rds_store::StoreError;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test]
async fn a_writer_that_commits_late_with_older_instants_is_not_overtaken() {
    let test = TestApp::with_market().await;
    let other = TestApp::with(TestOptions { database: Some(test.facts.url.clone()), ..TestOptions::default() }).await;
    // The lock stops the writer after it has written its rows and before it records its run.
    let mut gate = test.facts.db.pool.begin().await.unwrap();
    sqlx::query("LOCK TABLE score_run IN EXCLUSIVE MODE").execute(&mut *gate).await.unwrap();
    let (db, clock) = (test.facts.db.clone(), Clock::held(test.app.clock.now()));
    let lines = format!("{}{}", late_vault(), late_state("2026-11-02T00:00:00Z"));
    let writer = tokio::spawn(async move { ingest::from_reader(&db, &clock, lines.as_bytes()).await.unwrap() });
    let held_up = "SELECT count(*) FROM pg_locks WHERE relation = 'score_run'::regclass AND NOT granted";
    while sqlx::query_scalar::<_, i64>(held_up).fetch_one(&mut *gate).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    let (rows, cursor) = drain(&test, BEGINNING, "&limit=5").await;
    assert_eq!(rows.len(), 13, "nothing of it is visible");
    gate.rollback().await.unwrap();
    writer.await.unwrap();
    for app in [&test.app, &other.app] {
        refresh::refresh(app).await.unwrap();
    }
    for reader in [&test, &other] {
        let late = page(reader, &format!("since={cursor}")).await;
        assert_eq!(keys(&late.rows, "last_synced_at"), [(late_id(), "2026-11-02T00:00:00.000Z".to_owned())]);
    }
}

/// The observations of one writer in one round: states of the market's vaults with instants before and after those of the other
/// writers, and one vault that only this round has.
fn round_of(writer: usize, round: usize) -> String {
    let mut lines = String::new();
    for (number, vault) in VAULTS.iter().enumerate().filter(|(number, _)| (number + writer + round).is_multiple_of(3)) {
        let minute = (round * 7 + writer * 13 + number) % 50;
        lines += &vault.state(&format!("2026-11-20T23:{minute:02}:00.{round:06}Z"), json!({ "tvl_usd": minute }));
    }
    let parts = json!([{ "asset_id": "dollar", "share": 1.0, "oracle": "attested_push", "same_peg": true }]);
    let fields = json!({
        "protocol_id": "harbor", "chain_id": 1, "address": once(writer, round), "name": "Once", "asset_mode": "holdings",
        "deployed_at": "2022-01-01T00:00:00Z", "is_immutable": true, "exit": "instant", "source_code": "verified",
    });
    let id = format!("harbor-1-{}", once(writer, round));
    let state = json!({ "vault_id": id, "tvl_usd": 1_000_000, "base_apr": 0.03, "utilization": 0.5, "withdraw_status": "open" });
    let minute = (round * 11 + writer * 17) % 50;
    lines += &line("vault", BEGINNING, fields);
    lines += &line("vault_state", &format!("2026-11-20T22:{minute:02}:00Z"), state);
    lines += &line("exposure", SYNCED, json!({ "vault_id": id, "status": "observed", "parts": parts }));
    lines
}

fn once(writer: usize, round: usize) -> String {
    crate::support::market::address(u32::try_from(5_000 + writer * 100 + round).unwrap())
}

/// Pages through the change feed, alternating between two processes, until `done` is set and the feed is exhausted.
/// Returns the rows seen.
async fn follow(readers: [&TestApp; 2], clock: &str, more: &str, done: &AtomicBool) -> BTreeSet<(String, String)> {
    let (mut seen, mut since, mut turn) = (BTreeSet::new(), BEGINNING.to_owned(), 0_usize);
    loop {
        let over = done.load(Ordering::SeqCst);
        // The process refreshes its catalog only in every third turn, so readers also see outdated catalogs.
        let reader = readers[turn % 2];
        if over || turn.is_multiple_of(3) {
            refresh::refresh(&reader.app).await.unwrap();
        }
        let page = page(reader, &format!("since={since}&limit=2{more}")).await;
        seen.extend(keys(&page.rows, clock));
        since = page.cursor;
        turn += 1;
        if over && page.rows.is_empty() && !page.has_more && turn.is_multiple_of(2) {
            return seen;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn readers_beside_many_writers_and_two_processes_see_everything_on_both_clocks() {
    let (first, writers, rounds) = (TestApp::with_market().await, 3, 12);
    let second = TestApp::with(TestOptions { database: Some(first.facts.url.clone()), ..TestOptions::default() }).await;
    let done = AtomicBool::new(false);
    let write = async {
        let tasks = (0..writers).map(|writer| {
            let (db, now) = (first.facts.db.clone(), first.app.clock.now());
            tokio::spawn(async move {
                for round in 0..rounds {
                    // All published scores have the same instant, because the clock stands still.
                    let clock = Clock::held(now);
                    // Where the readers leave no connection for seconds, the service is unavailable, and a producer sends again.
                    while let Err(error) = ingest::from_reader(&db, &clock, round_of(writer, round).as_bytes()).await {
                        assert!(matches!(error, IngestError::Store(StoreError::Unavailable(_))), "{error}");
                    }
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        done.store(true, Ordering::SeqCst);
    };
    let synced = follow([&first, &second], "last_synced_at", "", &done);
    let scored = follow([&second, &first], "score_updated_at", "&changed=score", &done);
    let ((), synced, scored) = tokio::join!(write, synced, scored);
    for (seen, clock, more) in [(&synced, "last_synced_at", ""), (&scored, "score_updated_at", "&changed=score")] {
        let (rows, _) = drain(&first, BEGINNING, more).await;
        let newest: BTreeSet<(String, String)> = keys(&rows, clock).into_iter().collect();
        assert_eq!(newest.difference(seen).next(), None, "{clock}: the newest of every vault was seen");
        let ids: BTreeSet<&str> = seen.iter().map(|(id, _)| id.as_str()).collect();
        for (writer, round) in (0..writers).flat_map(|writer| (0..rounds).map(move |round| (writer, round))) {
            let id = format!("harbor-1-{}", once(writer, round));
            assert!(ids.contains(id.as_str()), "{clock}: what was written once, in round {round}, was seen");
        }
    }
}
