//! Rows that a score run reads from the histories, and findings of research, with daily sums and without.

use crate::ingest::market::{dump, start};
use crate::research::world;
use crate::support::db::TestDb;
use crate::support::testapp::TestApp;
use crate::vaults::days::{DAY, EVERY, HOUR, Reading, sum, vaults, write};
use rds_engine::research;
use rds_engine::scoring_run;
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication;
use rds_store::research::samples::broken_series;
use rds_store::vaults::days;
use rds_store::{At, Tx};

/// Turns autovacuum off for the counted tables. It would refresh their statistics, and with these the plans, at a moment that no test
/// controls.
async fn keep_statistics(test: &TestDb) {
    let sql = "ALTER TABLE vault_snapshot SET (autovacuum_enabled = off); ALTER TABLE vault_day SET (autovacuum_enabled = off); \
               ALTER TABLE vault_sums SET (autovacuum_enabled = off); ALTER TABLE vault_day_change SET (autovacuum_enabled = off)";
    sqlx::raw_sql(sql).execute(&test.db.pool).await.unwrap();
}

/// Number of rows of readings and sums that the connection of `tx` has read and that Postgres has not yet added to its statistics.
/// Postgres adds them only between transactions, so the difference of two calls within one transaction is the number of rows read in
/// between.
async fn rows_read(tx: &mut Tx<'_>) -> i64 {
    let sql = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables \
               WHERE relname IN ('vault_snapshot', 'vault_day', 'vault_sums', 'vault_day_change')";
    sqlx::query_scalar(sql).fetch_one(&mut **tx).await.unwrap()
}

/// Number of rows that a run over all vaults reads from the histories at `now`.
async fn rows_of_a_run(test: &TestDb, now: Timestamp) -> i64 {
    let mut tx = test.db.begin("BEGIN").await.unwrap();
    // The tables are small: without this setting Postgres would scan them instead of using an index.
    sqlx::query("SET LOCAL enable_seqscan = off").execute(&mut *tx).await.unwrap();
    publication::lock_writers(&mut tx).await.unwrap();
    let before = rows_read(&mut tx).await;
    let run = scoring_run::whole(&mut tx, now).await.unwrap();
    assert_eq!((run.vaults, run.withheld), (4, None));
    let read = rows_read(&mut tx).await - before;
    tx.commit().await.unwrap();
    read
}

/// Rows that a run reads after `days` days of hourly readings, in four cases: without sums, with new sums, without a change since the
/// previous run, and after one new reading.
async fn costs(days: i64) -> [i64; 4] {
    let (test, ids) = vaults().await;
    keep_statistics(&test).await;
    let now = start().as_seconds() + DAY + 30;
    for id in &ids {
        let steady = |hour| Reading { at: now - hour * HOUR, price: Some(2.0), utilization: Some(0.5), tvl: Some(1e6) };
        write(&test.db.pool, id, &(0..days * 24).map(steady).collect::<Vec<_>>()).await;
    }
    let from_readings = rows_of_a_run(&test, Timestamp::from_seconds(now)).await;
    sum(&test.db, EVERY).await;
    let first = rows_of_a_run(&test, Timestamp::from_seconds(now)).await;
    let unchanged = rows_of_a_run(&test, Timestamp::from_seconds(now + 60)).await;
    write(&test.db.pool, &ids[2], &[Reading { at: now + 90, price: Some(1.9), utilization: None, tvl: None }]).await;
    let one_changed = rows_of_a_run(&test, Timestamp::from_seconds(now + 100)).await;
    [from_readings, first, unchanged, one_changed]
}

#[tokio::test]
async fn a_run_reads_only_what_changed_and_not_the_whole_history() {
    let (month, year) = (costs(30).await, costs(300).await);
    let [month_of_readings, month_of_days, month_unchanged, month_changed] = month;
    let [year_of_readings, year_of_days, year_unchanged, year_changed] = year;
    assert!(month_of_readings > 4 * 30 * 24 && year_of_readings > 4 * 300 * 24, "{month:?} {year:?}");
    assert!(year_of_days < 4 * 300 + 4 * 60 && month_of_days < 4 * 30 + 4 * 60, "{month:?} {year:?}");
    assert_eq!(
        (month_unchanged, month_changed),
        (year_unchanged, year_changed),
        "the cost depends on the history's length"
    );
    assert!(year_unchanged <= 4 * 12, "more than a few rows per vault: {year:?}");
    assert!(year_changed - year_unchanged <= 3 * 24, "more than the changed day: {year:?}");
}

#[tokio::test]
async fn research_finds_the_same_with_daily_sums_and_without() {
    let found = async |with_sums: bool| {
        let test = TestApp::new().await;
        test.ingest(&world::lines(1)).await;
        if with_sums {
            assert!(sum(&test.facts.db, EVERY).await > 0);
        }
        research::run(&test.facts.db, &test.app.clock).await.unwrap();
        let hashes = "SELECT kind || record_key || encode(content_hash, 'hex') FROM research_record ORDER BY 1";
        let records: Vec<String> = sqlx::query_scalar(hashes).fetch_all(&test.facts.db.pool).await.unwrap();
        (dump(&test.facts, &["research_sample", "research_prediction"]).await, records)
    };
    let (summed, plain) = (found(true).await, found(false).await);
    assert!(summed.0.len() > 100 && !summed.1.is_empty());
    assert_eq!(summed, plain);
}

#[tokio::test]
async fn a_leap_between_two_days_is_found_on_the_later_day() {
    let (test, ids) = vaults().await;
    let midnight = start().as_seconds() + 10 * DAY;
    let price = |at, price| Reading { at, price: Some(price), utilization: None, tvl: None };
    write(
        &test.db.pool,
        &ids[0],
        &[price(midnight - HOUR, 1.0), price(midnight + HOUR, 1.0), price(midnight + 2 * HOUR, 1.1)],
    )
    .await;
    sum(&test.db, EVERY).await;
    let broken = async |now: i64| {
        let mut tx = test.db.begin("BEGIN").await.unwrap();
        publication::lock_writers(&mut tx).await.unwrap();
        days::refresh_all(&mut tx).await.unwrap();
        let broken = broken_series(&mut tx, At(Timestamp::from_seconds(now))).await.unwrap().len();
        tx.commit().await.unwrap();
        broken
    };
    let now = midnight + DAY;
    assert_eq!(broken(now).await, 0);
    // The day before is corrected. The price leap then belongs to the later day, although no reading of that day changed.
    write(&test.db.pool, &ids[0], &[price(midnight - HOUR, 0.1)]).await;
    assert_eq!((broken(now).await, broken(midnight + HOUR - 1).await), (1, 0));
    write(&test.db.pool, &ids[0], &[price(midnight - HOUR, 1.0)]).await;
    assert_eq!(broken(now).await, 0);
    // The days with leaps are known, so the prices are not read again.
    let mut tx = test.db.begin("BEGIN").await.unwrap();
    let prices = async |tx: &mut Tx<'_>| {
        let sql = "SELECT (seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables WHERE relname = 'vault_snapshot'";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut **tx).await.unwrap()
    };
    let before = prices(&mut tx).await;
    broken_series(&mut tx, At(Timestamp::from_seconds(now))).await.unwrap();
    assert_eq!(prices(&mut tx).await, before);
}
