//! Old histories are thinned without changing anything that is computed from them or shown of the days that routes promise.

use crate::ingest::market::start;
use crate::support::db::TestDb;
use crate::support::testapp::{TestApp, TestOptions};
use crate::vaults::days::{DAY, Dice, EVERY, HOUR, Reading, Said, researched, said, sum, vaults, write};
use rds_origin::thinning;
use rds_shared::wire::Timestamp;
use rds_store::scoring::signals_from_readings;
use rds_store::thinning::{History, step};
use rds_store::vaults::days;
use rds_store::{At, Db};
use std::collections::BTreeMap;

/// Days of history.
const DAYS: i64 = 40;

/// Readings of a vault that is not lent out to the limit; prices rise and fall, some are missing or repeat.
fn quiet(dice: &mut Dice, at: i64) -> Reading {
    let price = match dice.below(30) {
        0 => None,
        1 => Some(0.0),
        step => Some(1.0 + (step / 3) as f64 / 50.0),
    };
    let utilization = [None, Some(0.2), Some(0.95)][dice.below(3) as usize];
    Reading { at, price, utilization, tvl: [None, Some(5e6), Some(9e6), Some(1e6)][dice.below(4) as usize] }
}

/// Four vaults with hourly readings up to midnight of the last day: three quiet ones, and one that is lent out and whose prices leap.
async fn filled() -> (TestDb, Vec<String>, i64) {
    let (test, ids) = vaults().await;
    let end = (start().as_seconds().div_euclid(DAY) + 1) * DAY;
    let mut dice = Dice(5);
    for (number, id) in ids.iter().enumerate() {
        let hours = (0..DAYS * 24).map(|hour| end - hour * HOUR);
        let one = |at| if number == 3 { Reading::any(&mut dice, at) } else { quiet(&mut dice, at) };
        write(&test.db.pool, id, &hours.map(one).collect::<Vec<_>>()).await;
    }
    sum(&test.db, EVERY).await;
    (test, ids, end)
}

async fn texts(db: &Db, sql: &str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(&db.pool).await.unwrap()
}

async fn count(db: &Db, sql: &str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&db.pool).await.unwrap()
}

/// The daily sums, the signals at each midnight from sums and from readings, and what research reads.
async fn computed(test: &TestDb, ids: &[String], end: i64) -> (Vec<String>, Vec<BTreeMap<String, Said>>, String) {
    let sums = texts(&test.db, "SELECT d::text FROM vault_day d ORDER BY vault_id, day").await;
    let mut tx = test.db.begin("BEGIN").await.unwrap();
    let mut signals = Vec::new();
    for back in 0..DAYS {
        let at = At(Timestamp::from_seconds(end - back * DAY));
        for found in
            [days::signals_at(&mut tx, ids, at).await.unwrap(), signals_from_readings(&mut tx, ids, at).await.unwrap()]
        {
            signals.push(said(&found).into_iter().map(|(id, said)| (id.to_owned(), said)).collect());
        }
    }
    let research = researched(&mut tx, end).await;
    tx.rollback().await.unwrap();
    (sums, signals, research)
}

/// Thins everything before an instant, in steps of so few vaults that each day takes several.
async fn thin(db: &Db, history: History, before: i64) -> u64 {
    let mut deleted = 0;
    loop {
        let step = step(db, history, Timestamp::from_seconds(before), 3).await.unwrap().unwrap();
        deleted += step.deleted;
        if !step.more {
            return deleted;
        }
    }
}

#[tokio::test]
async fn nothing_that_is_computed_from_readings_changes_when_they_are_thinned() {
    let (test, ids, end) = filled().await;
    let before = computed(&test, &ids, end).await;
    let newer = format!("SELECT count(*) FROM vault_snapshot WHERE observed_at > to_timestamp({})", end - 10 * DAY);
    let recent = count(&test.db, &newer).await;
    let deleted = thin(&test.db, History::Readings, end - 10 * DAY).await;
    // Of the three quiet vaults, of 24 readings a day at least eight go.
    assert!(deleted as i64 > 3 * 29 * 8, "only {deleted} were deleted");
    assert_eq!(count(&test.db, &newer).await, recent, "later days stay whole");
    assert_eq!(count(&test.db, "SELECT count(*) FROM vault_day_change").await, 0, "no day has to be summed again");
    assert_eq!(computed(&test, &ids, end).await, before);
    // Sums that are computed again from the rows that stayed are the same.
    sqlx::raw_sql("DELETE FROM vault_day; DELETE FROM vault_sums").execute(&test.db.pool).await.unwrap();
    sum(&test.db, EVERY).await;
    assert_eq!(computed(&test, &ids, end).await, before);
    assert_eq!(thin(&test.db, History::Readings, end - 10 * DAY).await, 0, "a thinned day is not thinned again");
    assert!(thin(&test.db, History::Readings, end - 9 * DAY).await > 0, "the next day follows a day later");
}

#[tokio::test]
async fn the_last_look_of_each_day_stays_of_holders_and_of_readings_of_chains() {
    let (test, ids) = vaults().await;
    let end = (start().as_seconds().div_euclid(DAY) + 1) * DAY;
    sqlx::raw_sql(&format!(
        "INSERT INTO holder_snapshot (vault_id, observed_at, holder_count, external_holder_count, top_holders, backfill_complete, \
                                      coverage_status, source, content_hash) \
         SELECT '{id}', to_timestamp({end}) - n * interval '6 hours', n, n, '[]', true, \
                CASE WHEN n % 4 = 0 THEN 'indexing' ELSE 'complete' END, 's', '\\x00' FROM generate_series(0, 39) AS n; \
         INSERT INTO chain_reading (vault_id, field, value, chain_id, block_number, block_hash, calls, agreed, asked, source, observed_at, content_hash) \
         SELECT '{id}', field, to_jsonb(n), 31337, 1000 - n, 'h', '[]', 2, 2, 's', to_timestamp({end}) - n * interval '6 hours', '\\x00' \
         FROM generate_series(0, 39) AS n, unnest(ARRAY['tvl_usd', 'price_per_share']) AS field \
         WHERE field = 'tvl_usd' OR n > 20",
        id = ids[1],
    ))
    .execute(&test.db.pool)
    .await
    .unwrap();
    // Ten days, of which the last two stay whole. A day ends with a look while holders were still being indexed.
    thin(&test.db, History::Holders, end - 2 * DAY).await;
    let left =
        texts(&test.db, "SELECT holder_count || ' ' || coverage_status FROM holder_snapshot ORDER BY observed_at DESC")
            .await;
    let kept = left.iter().map(String::as_str).skip(8).collect::<Vec<_>>();
    assert_eq!(kept[..4], ["8 indexing", "9 complete", "12 indexing", "13 complete"], "{left:?}");
    assert_eq!(left.len(), 8 + 2 * 8);
    thin(&test.db, History::ChainReadings, end - 2 * DAY).await;
    let left =
        texts(&test.db, "SELECT field || ' ' || value FROM chain_reading ORDER BY field, observed_at DESC").await;
    // The newest price is old; it stays, because it is the last of its day.
    assert_eq!(left[..2], ["price_per_share 21", "price_per_share 24"], "{left:?}");
    assert_eq!(left.iter().filter(|text| text.starts_with("tvl_usd")).count(), 8 + 8, "{left:?}");
}

#[tokio::test]
async fn two_processes_do_not_thin_the_same_history_at_a_time_and_an_empty_one_is_left_alone() {
    let (test, _, end) = filled().await;
    let before = Timestamp::from_seconds(end);
    assert_eq!(step(&test.db, History::Holders, before, 10).await.unwrap(), None);
    let mut other = test.db.begin("BEGIN").await.unwrap();
    sqlx::query("SELECT FROM thinning WHERE history = 'readings' FOR UPDATE").execute(&mut *other).await.unwrap();
    assert_eq!(step(&test.db, History::Readings, before, 10).await.unwrap(), None);
    other.rollback().await.unwrap();
    assert!(step(&test.db, History::Readings, before, 10).await.unwrap().unwrap().deleted > 0);
}

#[tokio::test]
async fn routes_answer_the_same_after_thinning_and_the_metrics_show_it() {
    let env = vec![("RDS_KEEP_READINGS_DAYS", "400")];
    let test = TestApp::with(TestOptions { env, ..TestOptions::default() }).await;
    test.ingest(&crate::support::market::lines()).await;
    let sql = "SELECT c.slug || '/' || v.address, v.id FROM vault v JOIN chain c USING (chain_id) WHERE v.is_active ORDER BY v.id LIMIT 1";
    let (path, id): (String, String) = sqlx::query_as(sql).fetch_one(&test.facts.db.pool).await.unwrap();
    let now = test.app.clock.now().as_seconds();
    let mut dice = Dice(9);
    let readings: Vec<Reading> = (1..=420 * 8).map(|number| quiet(&mut dice, now - number * 3 * HOUR)).collect();
    write(&test.facts.db.pool, &id, &readings).await;
    let target = format!("/v1/vault/{path}/snapshots?days=365&points=2160");
    let before = test.json(&target).await;
    while thinning::round(&test.app).await.unwrap() {}
    assert_eq!(test.json(&target).await, before);
    let page = test.app.scrape(false);
    let line = page.lines().find(|line| line.starts_with("rds_thinned_rows_total{history=\"readings\"}")).unwrap();
    assert!(line.rsplit(' ').next().unwrap().parse::<u64>().unwrap() > 20, "{line}");
    assert!(page.contains("rds_thinned_rows_total{history=\"holders\"} 0"), "holders are kept for ever by default");
}
