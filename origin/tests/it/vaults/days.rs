//! Daily sums agree with the stored readings, whichever writer stores the readings and in whatever order. A run reads only what changed.

use crate::ingest::market::{VAULT, clock, dump, evenly, ingest, market, observed, registry, start, state};
use crate::support::db::TestDb;
use rds_engine::scoring_run;
use rds_shared::research::Horizon;
use rds_shared::research::windows::instants;
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication;
use rds_store::research::samples::{broken_series, windows};
use rds_store::scoring::{Signals, signals_from_readings, vault_ids};
use rds_store::vaults::days;
use rds_store::{At, Db, Tx};
use serde_json::json;
use sqlx::PgPool;
use std::collections::{BTreeMap, HashMap};

pub const HOUR: i64 = 3_600;
pub const DAY: i64 = 24 * HOUR;
/// A chunk size above the number of vaults in any test, so that one call sums all of them.
pub const EVERY: u32 = 1_000;

/// Numbers that look random and are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A reading as stored in the table.
#[derive(Clone, Copy)]
pub struct Reading {
    pub at: i64,
    pub price: Option<f64>,
    pub utilization: Option<f64>,
    pub tvl: Option<f64>,
}

impl Reading {
    /// Prices have few different values, so that some are equal. Some prices are missing, and some are outliers (0 or 9).
    pub fn any(dice: &mut Dice, at: i64) -> Self {
        let price = match dice.below(60) {
            0..6 => None,
            6 => Some(0.0),
            7 => Some(9.0),
            step => Some(1.0 + step as f64 / 700.0),
        };
        let utilization = [Some(0.96), Some(0.99), Some(0.97), None, Some(0.95), Some(0.4)];
        let busy = dice.below(40);
        Reading {
            at,
            price,
            utilization: utilization[if busy < 38 { busy as usize % 4 } else { 4 + busy as usize % 2 }],
            tvl: [None, Some(0.0), Some(4e6), Some(5e6), Some(1.1e7)][dice.below(5) as usize],
        }
    }
}

/// Writes readings directly, without regard to daily sums.
pub async fn write(pool: &PgPool, vault: &str, readings: &[Reading]) {
    sqlx::query(
        "INSERT INTO vault_snapshot (vault_id, observed_at, tvl_usd, utilization, incentives, price_per_share, content_hash) \
         SELECT DISTINCT ON (at) $1, to_timestamp(at), tvl, utilization, 'checked', price, '\\x00'::bytea \
         FROM unnest($2::bigint[], $3::float8[], $4::float8[], $5::float8[]) AS r (at, price, utilization, tvl) \
         ON CONFLICT (vault_id, observed_at) DO UPDATE SET tvl_usd = EXCLUDED.tvl_usd, utilization = EXCLUDED.utilization, \
             price_per_share = EXCLUDED.price_per_share",
    )
    .bind(vault)
    .bind(readings.iter().map(|reading| reading.at).collect::<Vec<_>>())
    .bind(readings.iter().map(|reading| reading.price).collect::<Vec<_>>())
    .bind(readings.iter().map(|reading| reading.utilization).collect::<Vec<_>>())
    .bind(readings.iter().map(|reading| reading.tvl).collect::<Vec<_>>())
    .execute(pool)
    .await
    .unwrap();
}

/// Four vaults without readings.
pub async fn vaults() -> (TestDb, Vec<String>) {
    let test = TestDb::new().await;
    let mut lines = registry();
    for number in 0..4 {
        let address = format!("0x{:040x}", 0xb0 + number);
        let fields = json!({"protocol_id": "harbor", "chain_id": 31337, "address": address, "name": "V", "asset_mode": "holdings"});
        lines.push(observed("vault", 0, fields));
    }
    ingest(&test, &clock(0), &lines).await;
    let mut tx = test.db.begin("BEGIN").await.unwrap();
    let ids = vault_ids(&mut tx).await.unwrap();
    (test, ids)
}

/// Sums at most `n` vaults for the first time, as of day 30. The next run may be on another day.
pub async fn sum(db: &Db, n: u32) -> u64 {
    days::fill(db, n, At(start().plus_seconds(30 * DAY))).await.unwrap()
}

pub type Said = (Option<i64>, Option<At>, bool, bool);

pub fn said(signals: &HashMap<String, Signals>) -> BTreeMap<&str, Said> {
    let said = |of: &Signals| (of.drawdown_bp, of.priced_at, of.high_util_72h, of.tvl_halved_7d);
    signals.iter().map(|(id, of)| (id.as_str(), said(of))).collect()
}

/// Asserts that the sums, as a run and as research use them, give the same signals as the readings.
async fn assert_as_from_scratch(test: &TestDb, ids: &[String], now: i64, earlier: i64, step: &str) {
    let at = |seconds| At(Timestamp::from_seconds(seconds));
    let mut tx = test.db.begin("BEGIN").await.unwrap();
    publication::lock_writers(&mut tx).await.unwrap();
    let from_sums = days::signals(&mut tx, ids, at(now)).await.unwrap();
    let from_readings = signals_from_readings(&mut tx, ids, at(now)).await.unwrap();
    assert_eq!(said(&from_sums), said(&from_readings), "{step}");
    for then in [now, earlier] {
        let from_sums = days::signals_at(&mut tx, ids, at(then)).await.unwrap();
        let from_readings = signals_from_readings(&mut tx, ids, at(then)).await.unwrap();
        assert_eq!(said(&from_sums), said(&from_readings), "{step}, as of {then}");
    }
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM vault_day_change").fetch_one(&mut *tx).await.unwrap();
    assert_eq!(left, 0, "{step}: some changes were not summed");
    tx.commit().await.unwrap();
}

/// What research reads from the prices, as text: the broken series and all windows. Uses daily sums where they exist.
pub async fn researched(tx: &mut Tx<'_>, now: i64) -> String {
    let end = Timestamp::from_seconds(now);
    let mut broken: Vec<String> = broken_series(tx, At(end)).await.unwrap().into_iter().collect();
    broken.sort();
    let mut told = format!("{broken:?}");
    for horizon in Horizon::ALL.iter().copied() {
        let at: Vec<At> = instants(end, horizon).into_iter().map(At).collect();
        for row in windows(tx, &at, horizon).await.unwrap() {
            told.push_str(&format!("{row:?}\n"));
        }
    }
    told
}

async fn assert_researched_as_from_scratch(test: &TestDb, now: i64, step: &str) {
    let mut tx = test.db.begin("BEGIN").await.unwrap();
    let from_sums = researched(&mut tx, now).await;
    sqlx::query("DELETE FROM vault_day").execute(&mut *tx).await.unwrap();
    sqlx::query("DELETE FROM vault_sums").execute(&mut *tx).await.unwrap();
    let from_readings = researched(&mut tx, now).await;
    assert!(from_sums.len() > 1_000, "{step}: too little to compare");
    for (summed, read) in from_sums.lines().zip(from_readings.lines()) {
        assert_eq!(summed, read, "{step}");
    }
    assert_eq!(from_sums.len(), from_readings.len(), "{step}");
    tx.rollback().await.unwrap();
}

#[tokio::test]
async fn sums_agree_with_the_readings_however_these_came_and_went() {
    let (test, ids) = vaults().await;
    let pool = &test.db.pool;
    let mut dice = Dice(11);
    let mut now = start().as_seconds() + 400 * DAY + 17;
    for id in &ids[..3] {
        // Readings every few hours, then hourly. Some are on the hour and some exactly at midnight.
        let old = (0..1_500).map(|number| now - 17 - 10 * DAY - number * 6 * HOUR);
        let new = (0..240).map(|number| now - 17 - number * HOUR);
        let readings: Vec<Reading> = old.chain(new).map(|at| Reading::any(&mut dice, at)).collect();
        write(pool, id, &readings).await;
    }
    assert_eq!(sum(&test.db, EVERY).await, 4);
    assert_as_from_scratch(&test, &ids, now, now - 30 * DAY, "filled").await;
    assert_researched_as_from_scratch(&test, now, "filled").await;
    for step in 0..140 {
        let id = &ids[dice.below(4) as usize];
        let back = dice.below(380 * 24) as i64 * HOUR / [1, 40][dice.below(2) as usize];
        let at = now - 17 - back / HOUR * HOUR;
        let what = match dice.below(8) {
            0..3 => {
                // The next reading. The clock of a source may be ahead of the service's clock.
                let ahead = [0, 0, 0, 400][dice.below(4) as usize];
                write(pool, id, &[Reading::any(&mut dice, now + ahead)]).await;
                "the next reading"
            }
            3 => {
                let many: Vec<Reading> = (0..30).map(|hour| Reading::any(&mut dice, at + hour * HOUR)).collect();
                write(pool, id, &many).await;
                "late readings, and others in place of old ones"
            }
            4 => {
                write(pool, id, &[Reading::any(&mut dice, at)]).await;
                "one late reading"
            }
            5 => {
                let sql = "DELETE FROM vault_snapshot WHERE vault_id = $1 AND observed_at BETWEEN to_timestamp($2) AND to_timestamp($3)";
                let span = [HOUR, 50 * HOUR][dice.below(2) as usize];
                sqlx::query(sql).bind(id).bind(at as f64).bind((at + span) as f64).execute(pool).await.unwrap();
                "readings taken back"
            }
            6 => {
                let sql = "UPDATE vault_snapshot SET observed_at = observed_at + interval '7 days 1 second' \
                           WHERE vault_id = $1 AND observed_at = to_timestamp($2)";
                sqlx::query(sql).bind(id).bind(at as f64).execute(pool).await.unwrap();
                "a reading moved to another day"
            }
            _ => "nothing new",
        };
        now += match dice.below(20) {
            0 => 40 * DAY,
            1 => -9 * DAY,
            2 => DAY - now.rem_euclid(DAY),
            3 => 0,
            _ => dice.below(30) as i64 * HOUR + 1,
        };
        let earlier = now - dice.below(300) as i64 * DAY - [now.rem_euclid(DAY), 0][dice.below(2) as usize];
        assert_as_from_scratch(&test, &ids, now, earlier, &format!("step {step}: {what}")).await;
        if step % 20 == 0 {
            assert_researched_as_from_scratch(&test, now, &format!("step {step}: {what}")).await;
        }
    }
}

#[tokio::test]
async fn a_fall_leaves_the_year_at_the_same_instant_as_its_peak() {
    let (test, ids) = vaults().await;
    let peak = start().as_seconds() + 13 * HOUR;
    let price = |at, price| Reading { at, price: Some(price), utilization: None, tvl: None };
    let readings = [price(peak - DAY, 1.0), price(peak, 2.0), price(peak + DAY, 1.5), price(peak + 40 * DAY, 1.5)];
    write(&test.db.pool, &ids[0], &readings).await;
    sum(&test.db, EVERY).await;
    let drawdown = async |now: i64| {
        assert_as_from_scratch(&test, &ids, now, now, "ageing").await;
        let mut tx = test.db.begin("BEGIN").await.unwrap();
        days::signals(&mut tx, &ids, At(Timestamp::from_seconds(now))).await.unwrap()[&ids[0]].drawdown_bp
    };
    assert_eq!(drawdown(peak + 50 * DAY).await, Some(2_500));
    assert_eq!(drawdown(peak + 365 * DAY - 1).await, Some(2_500), "in the year's last second");
    assert_eq!(drawdown(peak + 365 * DAY).await, Some(0));
    assert_eq!(drawdown(peak + 366 * DAY).await, None, "a single price shows no drawdown");
    assert_eq!(drawdown(peak + 364 * DAY).await, Some(2_500), "a clock that was set back");
}

#[tokio::test]
async fn vaults_are_summed_a_few_at_a_time_and_have_the_same_signals_meanwhile() {
    let (test, ids) = vaults().await;
    let (now, mut dice) = (start().as_seconds() + 30 * DAY, Dice(5));
    for id in &ids {
        let readings: Vec<Reading> = (0..400).map(|hour| Reading::any(&mut dice, now - hour * HOUR)).collect();
        write(&test.db.pool, id, &readings).await;
    }
    for (chunk, expected) in [3, 1, 0].into_iter().enumerate() {
        let mut tx = test.db.begin("BEGIN").await.unwrap();
        let from_sums = days::signals(&mut tx, &ids, At(Timestamp::from_seconds(now))).await.unwrap();
        let from_readings = signals_from_readings(&mut tx, &ids, At(Timestamp::from_seconds(now))).await.unwrap();
        assert_eq!(said(&from_sums), said(&from_readings), "after {chunk} chunks");
        drop(tx);
        assert_eq!(sum(&test.db, 3).await, expected);
    }
    assert_as_from_scratch(&test, &ids, now, now - 9 * DAY, "all are summed").await;
    // Truncating the readings also removes the sums. The vaults are then summed again.
    sqlx::query("TRUNCATE vault_snapshot").execute(&test.db.pool).await.unwrap();
    let left = "SELECT (SELECT count(*) FROM vault_sums) + (SELECT count(*) FROM vault_day)";
    assert_eq!(sqlx::query_scalar::<_, i64>(left).fetch_one(&test.db.pool).await.unwrap(), 0);
    assert_eq!(sum(&test.db, EVERY).await, 4);
}

#[tokio::test]
async fn a_reading_that_is_committed_late_is_not_missed() {
    let (test, ids) = vaults().await;
    let now = start().as_seconds() + 30 * DAY + 5 * HOUR;
    let price = |at, price| Reading { at, price: Some(price), utilization: None, tvl: None };
    write(&test.db.pool, &ids[0], &[price(now - 3 * HOUR, 2.0), price(now - 2 * HOUR, 2.0)]).await;
    sum(&test.db, EVERY).await;
    // A change of the day is already recorded when another writer begins. That writer holds no lock and commits after the day is summed.
    write(&test.db.pool, &ids[0], &[price(now - 90 * 60, 2.0)]).await;
    let mut other = test.db.begin("BEGIN").await.unwrap();
    let sql = "INSERT INTO vault_snapshot (vault_id, observed_at, incentives, price_per_share, content_hash) \
               VALUES ($1, to_timestamp($2), 'checked', 1.0, '\\x00')";
    sqlx::query(sql).bind(&ids[0]).bind((now - HOUR) as f64).execute(&mut *other).await.unwrap();
    assert_as_from_scratch(&test, &ids, now, now, "before the other commits").await;
    other.commit().await.unwrap();
    assert_as_from_scratch(&test, &ids, now, now, "after the other committed").await;
    let mut tx = test.db.begin("BEGIN").await.unwrap();
    let signals = days::signals(&mut tx, &ids, At(Timestamp::from_seconds(now))).await.unwrap();
    assert_eq!(signals[&ids[0]].drawdown_bp, Some(5_000));
}

/// The tables of published scores.
const PUBLISHED: [&str; 3] = ["vault_score", "score_history", "score_run"];

#[tokio::test]
async fn scores_are_the_same_with_daily_sums_and_without() {
    let (summed, plain) = (TestDb::new().await, TestDb::new().await);
    let time = clock(0);
    let drawdown = "SELECT provenance#>>'{inputs,history,drawdown,value}' FROM vault_score WHERE vault_id = $1";
    let mut seen = Vec::new();
    for step in 0..26 {
        let (hours, lines) = match step {
            0 => (1, market()),
            // Hourly readings across a midnight, with a fall in the price.
            1..13 => {
                // There is no reading in the twentieth hour.
                let hour = 14 + i64::from(step) + i64::from(step > 5);
                (
                    hour,
                    vec![state(
                        hour,
                        json!({"price_per_share": if step < 9 { 1.6 } else { 1.59 }, "utilization": 0.97}),
                    )],
                )
            }
            // A late reading with a lower price.
            13 => (30, vec![state(20, json!({"price_per_share": 1.55}))]),
            14..20 => {
                let hour = 30 + 24 * (i64::from(step) - 13);
                (hour, vec![state(hour, json!({"price_per_share": 1.7, "tvl_usd": 9e6}))])
            }
            20 => (400, vec![state(400, json!({"price_per_share": 1.7, "tvl_usd": 4e6}))]),
            // The vault gets no more readings while the year passes. Only the review is recent, so the run has one input that is not stale.
            _ => {
                let hour = 365 * 24 + 10 + 8 * (i64::from(step) - 20);
                let review = json!({"asset_id": "usdx", "review_status": "reviewed", "dimensions": evenly(9.0)});
                (hour, vec![observed("asset_review", hour, review)])
            }
        };
        time.set(start().plus_seconds(hours * HOUR));
        for test in [&summed, &plain] {
            ingest(test, &time, &lines).await;
            scoring_run::run_all(&test.db, &time).await.unwrap();
        }
        sum(&summed.db, EVERY).await;
        assert_eq!(dump(&summed, &PUBLISHED).await, dump(&plain, &PUBLISHED).await, "step {step}");
        seen.push(
            sqlx::query_scalar::<_, Option<String>>(drawdown).bind(VAULT).fetch_one(&summed.db.pool).await.unwrap(),
        );
    }
    // The late reading adds a drawdown from 1.6 to 1.55, which counts until the peak is a year old.
    let published = |step: usize| seen[step].as_deref();
    assert_eq!([published(1), published(12), published(13)], [Some("0"), Some("0.0062"), Some("0.0312")], "{seen:?}");
    assert_eq!(published(21), Some("0.0312"));
    assert_eq!(published(25), Some("0"), "{seen:?}");
    let sums: i64 = sqlx::query_scalar("SELECT count(*) FROM vault_sums").fetch_one(&plain.db.pool).await.unwrap();
    assert_eq!(sums, 0, "the other database never had sums");
}
