//! Chains of restores, promotions and steps: a cursor from a lost timeline is never mistaken for one of the present timeline.

use crate::keys::operators::options;
use crate::support::db::{Backup, TestDb, as_a_disk_set_back};
use crate::support::edge_peer::EdgePeer;
use crate::support::market;
use crate::support::stream_client::Ask;
use crate::support::streaming::{Serving, again, draw, eventually, head, key, published, service};
use crate::support::testapp::{EDGE_KEY, Reply, TestApp, TestOptions, holder};
use axum::http::StatusCode;
use rds_origin::catalog::refresh;
use rds_origin::keys;
use rds_shared::access::Plan;
use rds_shared::push::Cursor;
use rds_shared::push::cursor::{Resume, Window};
use rds_shared::push::gap::GapReason;
use rds_shared::push::timeline::StepEntropy;
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::push::journal::{self, Cause, Tick};
use rds_store::service::tags;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use std::ops::RangeInclusive;

const NOW: Timestamp = Timestamp::from_seconds(1_795_219_200);

async fn connect(facts: &TestDb) -> PgConnection {
    PgConnection::connect(&facts.url).await.unwrap()
}

/// Waits until the pool has discarded the connections that were cut when its database was copied or replaced.
async fn mended(db: &Db) {
    eventually("every connection answers", async || {
        let mut held = Vec::new();
        for _ in 0..db.pool.size().max(1) {
            let Ok(mut connection) = db.pool.acquire().await else { return false };
            // A connection that fails the ping is discarded when it is returned to the pool.
            if connection.ping().await.is_err() {
                return false;
            }
            held.push(connection);
        }
        true
    })
    .await;
}

async fn write(facts: &TestDb, count: u64) -> RangeInclusive<u64> {
    let mut one = connect(facts).await;
    let before: i64 = sqlx::query_scalar("SELECT head FROM journal_state").fetch_one(&mut one).await.unwrap();
    let before = before.unsigned_abs();
    for _ in 0..count {
        let sql = "INSERT INTO push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body) \
                   VALUES ('2026-11-21', 'published', '7', '{}', '{1}', '{}')";
        sqlx::query(sql).execute(&mut one).await.unwrap();
    }
    assert_eq!(journal::tick(&mut one, NOW).await.unwrap().tick, Tick::Numbered(count));
    before + 1..=before + count
}

/// Replaces the database by the backup and calls [`journal::step`], as the service does, so that no sequence number is issued twice.
async fn restore(facts: &TestDb, backup: &Backup) {
    backup.restore_a_copy().await;
    let mut one = connect(facts).await;
    assert!(journal::must_step(&mut one, Cause::Moved).await.unwrap(), "a copy in the same server is noticed");
    journal::step(&mut one, Cause::Moved, NOW, draw()).await.unwrap().unwrap();
}

async fn assert_gaps(facts: &TestDb, cursors: RangeInclusive<u64>, reason: Option<GapReason>, which: &str) {
    let extent = journal::read::extent(&mut connect(facts).await, NOW).await.unwrap();
    let window = Window { floor: extent.floor, tail: extent.tail, jumps: &extent.jumps };
    for cursor in cursors {
        let gap = window.start(Resume::After(Cursor::new(cursor))).gap;
        assert_eq!(gap.map(|gap| gap.reason), reason, "{cursor} of {which}");
    }
}

const UNKNOWN: Option<GapReason> = Some(GapReason::CursorUnknown);

#[tokio::test]
async fn two_restores_of_one_backup_share_no_number() {
    let facts = TestDb::new().await;
    let shared = write(&facts, 3).await;
    let backup = facts.back_up().await;
    let lost = write(&facts, 5).await;
    restore(&facts, &backup).await;
    let first = write(&facts, 5).await;
    assert_gaps(&facts, lost.clone(), UNKNOWN, "the timeline before").await;
    restore(&facts, &backup).await;
    let second = write(&facts, 50).await;
    assert_gaps(&facts, shared, None, "the backup").await;
    assert_gaps(&facts, lost, UNKNOWN, "the timeline before").await;
    assert_gaps(&facts, first, UNKNOWN, "the first restore").await;
    assert_gaps(&facts, second, None, "this timeline").await;
    backup.forget().await;
}

#[tokio::test]
async fn a_backup_from_before_the_last_step_and_one_from_after_it_each_keep_their_own_clients() {
    let facts = TestDb::new().await;
    write(&facts, 3).await;
    let old = facts.back_up().await;
    let mut one = connect(&facts).await;
    journal::step(&mut one, Cause::Operator("a test"), NOW, draw()).await.unwrap().unwrap();
    let stepped = write(&facts, 4).await;
    let young = facts.back_up().await;
    let later = write(&facts, 4).await;
    restore(&facts, &old).await;
    let over_the_old = write(&facts, 40).await;
    assert_gaps(&facts, *stepped.start()..=*later.end(), UNKNOWN, "the timeline of the step").await;
    restore(&facts, &young).await;
    write(&facts, 40).await;
    assert_gaps(&facts, stepped, None, "the younger backup").await;
    assert_gaps(&facts, later, UNKNOWN, "the time after the younger backup").await;
    assert_gaps(&facts, over_the_old, UNKNOWN, "the restore of the older backup").await;
    old.forget().await;
    young.forget().await;
}

#[tokio::test]
async fn a_promotion_that_is_undone_leaves_no_cursor_that_can_be_resumed() {
    let facts = TestDb::new().await;
    write(&facts, 338).await;
    let before_the_promotion = facts.back_up().await;
    let mut one = connect(&facts).await;
    sqlx::query("UPDATE journal_state SET incarnation = '1/00000001/1'").execute(&mut one).await.unwrap();
    journal::step(&mut one, Cause::Moved, NOW, draw()).await.unwrap().unwrap();
    assert_gaps(&facts, 330..=338, None, "the old primary").await;
    let promoted = write(&facts, 111).await;
    restore(&facts, &before_the_promotion).await;
    write(&facts, 400).await;
    assert_gaps(&facts, promoted, UNKNOWN, "the promoted timeline").await;
    before_the_promotion.forget().await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_with_each_restore_repeats_no_number() {
    let facts = TestDb::new().await;
    write(&facts, 3).await;
    let backup = facts.back_up().await;
    let mut gone: Vec<RangeInclusive<u64>> = Vec::new();
    for (round, seconds) in [0, -1, -86_400, -400 * 86_400, -86_400, 3_600].into_iter().enumerate() {
        backup.restore_a_copy().await;
        let mut one = connect(&facts).await;
        let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(round as u64 + 1);
        let draw = StepEntropy { seconds: NOW.as_seconds() + seconds, random };
        journal::step_at(&mut one, Cause::Moved, NOW, draw).await.unwrap().unwrap();
        let given = write(&facts, 20).await;
        for past in &gone {
            assert_gaps(&facts, past.clone(), UNKNOWN, "a lost timeline").await;
        }
        gone.push(given);
    }
    backup.forget().await;
}

/// Stops the service, restores its database from `backup` and starts the service again.
async fn set_back(test: TestApp, serving: Serving, backup: &Backup) -> (TestApp, Serving) {
    serving.stop().await;
    backup.restore_a_copy().await;
    let (test, serving) = again(test).await;
    eventually("the step is taken", async || {
        let sql = "SELECT incarnation = journal_incarnation() FROM journal_state";
        sqlx::query_scalar(sql).fetch_one(&test.app.db.pool).await.unwrap_or(false)
    })
    .await;
    (test, serving)
}

#[tokio::test]
async fn a_client_of_the_first_restore_gets_a_gap_in_the_second() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["1", "2", "3"]).await;
    let backup = test.facts.back_up().await;
    mended(&test.app.db).await;
    let (test, serving) = set_back(test, serving, &backup).await;
    published(&test, ["first 4", "first 5"]).await;
    let mut client = Ask::with(&key).after("v2:3").opened(&serving).await;
    let held = [client.operation().await.id.unwrap(), client.operation().await.id.unwrap()];
    drop(client);
    let (test, serving) = set_back(test, serving, &backup).await;
    published(&test, ["second 4", "second 5", "second 6", "second 7"]).await;
    for cursor in held {
        let mut client = Ask::with(&key).after(cursor).opened(&serving).await;
        let gap = client.next().await;
        assert_eq!((gap.event.as_str(), gap.json()["reason"].as_str()), ("gap", Some("cursor_unknown")));
        client.next().await;
        assert_eq!(client.titles(7).await, ["1", "2", "3", "second 4", "second 5", "second 6", "second 7"]);
    }
    serving.stop().await;
    backup.forget().await;
}

#[tokio::test]
async fn an_edge_that_knows_more_reveals_a_disk_that_was_set_back_unnoticed() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    published(&test, ["1", "2", "3"]).await;
    let backup = test.facts.back_up().await;
    mended(&test.app.db).await;
    published(&test, ["lost 4", "lost 5"]).await;
    let mut tx = test.app.db.pool.begin().await.unwrap();
    let told = tags::touch(&mut tx, &[Tag::Events]).await.unwrap();
    tx.commit().await.unwrap();
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    edge.knows(&told);

    serving.stop().await;
    backup.restore().await;
    as_a_disk_set_back(&mut connect(&test.facts).await).await;
    let now = test.app.clock.now();
    let env = vec![("RDS_SCORE_EVERY_SECONDS", "0")];
    let test = TestApp::over(test.facts, TestOptions { env, ..TestOptions::default() }).await;
    test.app.clock.set(now);
    // The service must learn the edge's tag versions, and step, before it numbers this operation.
    let mut one = connect(&test.facts).await;
    let sql = "INSERT INTO push_operation (recorded_at, stream_op, event_id, vault_ids, chain_ids, body) \
               VALUES ('2026-11-21', 'published', '7', '{}', '{1}', convert_to('{\"title\":\"4\"}', 'UTF8'))";
    sqlx::query(sql).execute(&mut one).await.unwrap();
    let serving = Serving::beside_an_edge(&test, Some(edge.link(EDGE_KEY))).await;
    eventually("the step is taken", async || head(&test.app.db).await > 5).await;
    for cursor in ["v2:4", "v2:5"] {
        let mut client = Ask::with(&key).after(cursor).opened(&serving).await;
        assert_eq!(client.next().await.json()["reason"], "cursor_unknown");
        client.next().await;
        assert_eq!(client.titles(4).await, ["1", "2", "3", "4"]);
    }
    let steps: Vec<String> = sqlx::query_scalar("SELECT reason FROM incarnation").fetch_all(&mut one).await.unwrap();
    assert_eq!(steps, ["the edge has newer tag versions"], "exactly one step");
}

#[tokio::test]
async fn two_processes_that_learn_it_from_the_edge_at_once_take_one_step() {
    let facts = TestDb::new().await;
    let ahead: TagVersions = Tag::ALL.into_iter().map(|tag| (tag, 9_000_000_000_000)).collect();
    let mut turn = connect(&facts).await;
    sqlx::query("BEGIN").execute(&mut turn).await.unwrap();
    sqlx::query("SELECT FROM journal_state FOR UPDATE").execute(&mut turn).await.unwrap();
    let mut stepping = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let mut one = connect(&facts).await;
        stepping.spawn(async move {
            journal::step(&mut one, Cause::EdgeAhead(ahead), NOW, draw()).await.unwrap().is_some()
        });
    }
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut beside = connect(&facts).await;
    eventually("both wait for the lock", async || {
        sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut beside).await.unwrap() == 2
    })
    .await;
    sqlx::query("COMMIT").execute(&mut turn).await.unwrap();
    let mut stepped = stepping.join_all().await;
    stepped.sort_unstable();
    assert_eq!(stepped, [false, true]);
}

#[tokio::test]
async fn tag_versions_rise_above_those_of_the_edge_even_if_the_clock_was_set_back() {
    let facts = TestDb::new().await;
    let mut one = connect(&facts).await;
    let ahead: TagVersions = Tag::ALL.into_iter().map(|tag| (tag, 9_000_000_000_000)).collect();
    assert!(journal::must_step(&mut one, Cause::EdgeAhead(ahead)).await.unwrap());
    journal::step(&mut one, Cause::EdgeAhead(ahead), NOW, draw()).await.unwrap().unwrap();
    let (_, newest) = tags::newest(&facts.db).await.unwrap();
    for tag in Tag::ALL {
        assert!(newest.of(tag) > ahead.of(tag), "{}: {}", tag.as_str(), newest.of(tag));
    }
    assert!(!journal::must_step(&mut one, Cause::EdgeAhead(ahead)).await.unwrap(), "no second step");
    let absurd = TagVersions::default().with(Tag::Events, i64::MAX);
    assert!(
        !journal::must_step(&mut one, Cause::EdgeAhead(absurd)).await.unwrap(),
        "a version that cannot be exceeded is ignored"
    );
}

async fn changes(test: &TestApp, since: &str) -> Reply {
    test.get_as(&holder(Plan::Data), &format!("/v1/vaults/changes?since={since}")).await
}

async fn cursor(test: &TestApp, since: &str) -> String {
    let reply = changes(test, since).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()["data"]["cursor"].as_str().unwrap().to_owned()
}

fn state(minute: u32, tvl: f64) -> String {
    market::VAULTS[0].state(&format!("2026-11-20T23:{minute}:00Z"), json!({ "tvl_usd": tvl }))
}

async fn stepped(test: &TestApp) {
    let mut one = connect(&test.facts).await;
    journal::step(&mut one, Cause::Moved, test.app.clock.now(), draw()).await.unwrap().unwrap();
    mended(&test.app.db).await;
    refresh::refresh(&test.app).await.unwrap();
}

#[tokio::test]
async fn a_cursor_of_the_change_feed_is_refused_on_every_other_timeline() {
    let test = TestApp::with_market().await;
    let shared = cursor(&test, "2026-11-01T00:00:00Z").await;
    let floored = cursor(&test, "2026-11-20T23:59:59Z").await;
    let backup = test.facts.back_up().await;
    mended(&test.app.db).await;
    let mut gone = Vec::new();
    for (restore, tvl) in [6e6, 7e6, 8e6].into_iter().enumerate() {
        assert_eq!(test.ingest(&state(51, tvl)).await.status, StatusCode::OK);
        gone.extend([
            cursor(&test, &shared).await,
            cursor(&test, &floored).await,
            cursor(&test, "2026-11-20T23:59:59Z").await,
        ]);
        backup.restore_a_copy().await;
        stepped(&test).await;
        // The new timeline now reaches exactly the position that the lost timeline had reached.
        assert_eq!(test.ingest(&state(52, tvl + 1.0)).await.status, StatusCode::OK);
        for lost in &gone {
            let reply = changes(&test, lost).await;
            assert_eq!(
                (reply.status, reply.code().as_str()),
                (StatusCode::BAD_REQUEST, "INVALID_CURSOR"),
                "restore {restore}"
            );
        }
        for kept in [&shared, &floored] {
            let rows = changes(&test, kept).await.json()["data"]["vaults"].as_array().unwrap().len();
            assert_eq!(rows, 1, "a cursor from before the backup gets what is new");
        }
        gone.push(cursor(&test, &shared).await);
    }
    backup.forget().await;
}

#[tokio::test]
async fn a_restored_database_refuses_ingestion_before_its_step() {
    let test = TestApp::with_market().await;
    let backup = test.facts.back_up().await;
    mended(&test.app.db).await;
    backup.restore().await;
    mended(&test.app.db).await;
    let early = test.admin("POST", "/ingest", &state(51, 7e6)).await;
    assert_eq!(
        (early.status, early.header("retry-after").is_some()),
        (StatusCode::SERVICE_UNAVAILABLE, true),
        "{}",
        early.text()
    );
    stepped(&test).await;
    assert_eq!(test.ingest(&state(51, 7e6)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn no_database_sequence_repeats_an_id_and_every_id_is_exact_in_json() {
    let facts = TestDb::new().await;
    let app = TestApp::over(facts, TestOptions::default()).await;
    keys::mint(&app.app.db, &app.app.clock, &options("Acme", Plan::Data)).await.unwrap();
    let backup = app.facts.back_up().await;
    let sql = "SELECT sequencename::text, nextval(format('%I.%I', schemaname, sequencename)::regclass) FROM pg_sequences ORDER BY 1";
    let mut given: Vec<Vec<(String, i64)>> = Vec::new();
    for _ in 0..3 {
        restore(&app.facts, &backup).await;
        let mut one = connect(&app.facts).await;
        given.push(sqlx::query_as(sql).fetch_all(&mut one).await.unwrap());
    }
    assert!(given[0].len() >= 10, "{} sequences", given[0].len());
    for names in given.windows(2) {
        for ((name, before), (same, after)) in names[0].iter().zip(&names[1]) {
            assert_eq!(name, same);
            assert!(before != after && *before > 1 << 40 && *after < 1 << 53, "{name}: {before} and {after}");
        }
    }
    mended(&app.app.db).await;
    let minted = keys::mint(&app.app.db, &app.app.clock, &options("Zenith", Plan::Data)).await.unwrap();
    assert!(minted.id > 1 << 40, "{}", minted.id);
    backup.forget().await;
}

#[tokio::test]
async fn a_lease_from_before_the_clock_was_set_back_ends_at_the_step() {
    let facts = TestDb::new().await;
    let mut one = connect(&facts).await;
    let sql = "INSERT INTO stream_process (id, alive_until) VALUES \
               (1, clock_timestamp() + interval '1 day'), (2, clock_timestamp() + interval '30 seconds')";
    sqlx::query(sql).execute(&mut one).await.unwrap();
    let sql = "UPDATE edge_tag_message SET not_before = clock_timestamp() + interval '1 day'";
    sqlx::query(sql).execute(&mut one).await.unwrap();
    journal::step(&mut one, Cause::Operator("a test"), NOW, draw()).await.unwrap().unwrap();
    let alive = "SELECT id FROM stream_process WHERE alive_until > clock_timestamp()";
    let alive: Vec<i64> = sqlx::query_scalar(alive).fetch_all(&mut one).await.unwrap();
    assert_eq!(alive, [2], "a live process keeps its lease");
    let due: bool = sqlx::query_scalar("SELECT not_before <= clock_timestamp() FROM edge_tag_message")
        .fetch_one(&mut one)
        .await
        .unwrap();
    assert!(due);
}
