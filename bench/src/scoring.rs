//! `scoring`: cost of a score run with a long history: nothing changed, one vault changed, and a batch with all vaults.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use rds_engine::clock::Clock;
use rds_engine::ingest;
use rds_engine::scoring_run;
use rds_shared::wire::Timestamp;
use rds_store::ingest::publication;
use rds_store::research::samples;
use rds_store::vaults::days;
use rds_store::{self as store, At, Db, scoring};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::runtime::Runtime;
use xtask::provision::cache::Cache;
use xtask::test::temporary_postgres;

use crate::report::Report;
use crate::versus::median;

const METHOD: &str = "Every vault has one reading per hour, stored in the order of arrival. Of a hundred vaults one falls \
    all the time, one does not change, one is lent out above the limit and one has no price. Runs and ingestion are called in this process, with \
    Postgres over loopback at its own settings; a temporary Postgres does not flush to disk. Figures are medians of the rounds. \
    `--vaults 10000 --hours 8760` is the full size; with `--database` a database is filled once and reused.";
/// Time of the last reading in a database filled by this benchmark.
const END: &str = "2026-11-22T12:00:00Z";
const CHAIN: u32 = 31_337;
/// Number of vaults whose daily sums are computed per transaction.
const SUMMED_AT_ONCE: u32 = 10;
/// Number of vaults whose signals are also computed from all their readings, for comparison with the daily sums.
const READ_WHOLE: usize = 20;
/// Observations per batch when filling the database.
const BATCH: usize = 20_000;
/// Maximum duration of a run over all vaults with nothing changed, in seconds.
const WHOLE_SECONDS: f64 = 5.0;
/// Maximum duration of ingesting and scoring one vault's reading, in milliseconds.
const ONE_MILLIS: f64 = 100.0;

/// Options of `scoring`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of vaults.
    #[arg(long, default_value_t = 500)]
    vaults: u32,
    /// Hourly readings per vault.
    #[arg(long, default_value_t = 2_190)]
    hours: u32,
    /// Number of runs per figure.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Database to use, filled first if empty; a temporary one by default.
    #[arg(long)]
    database: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options { vaults: 500, hours: 2_190, rounds: 7, database: None }
    }
}

/// Runs the benchmark, prints the table, and writes it to the results.
pub fn run(options: &Options) -> Result<()> {
    // Bindings are dropped in reverse order, so the server stops before its folder is removed.
    let (_folder, _postgres, url) = match &options.database {
        Some(url) => (None, None, url.clone()),
        None => temporary_postgres(&Cache::open()?)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut measurement = runtime.block_on(Measurement::prepare(options, &url))?;
    let mut report = Report::default();
    measurement.measure(&runtime, options, &mut report)?;
    println!("\n{}", report.table());
    report.write("scoring", METHOD)
}

/// A filled database and its current time.
struct Measurement {
    db: Db,
    now: Timestamp,
    ids: Vec<String>,
    /// Duration of computing the daily sums, and the number of vaults.
    summed: (Duration, u64),
    size: String,
}

impl Measurement {
    async fn prepare(options: &Options, url: &str) -> Result<Self> {
        let db = Db::connect(url, 4).await?;
        if store::pending_migrations(&db).await? > 0 {
            store::migrate(&db).await?;
        }
        let end = Timestamp::parse(END).context("an instant")?;
        if sqlx::query_scalar::<_, bool>("SELECT NOT EXISTS (SELECT FROM vault)").fetch_one(&db.pool).await? {
            fill(&db, url, options, end).await?;
        }
        let (begun, mut vaults) = (Instant::now(), 0);
        loop {
            xtask::signals::check()?;
            match days::fill(&db, SUMMED_AT_ONCE, At(end)).await? {
                0 => break,
                more => vaults += more,
            }
        }
        let summed = (begun.elapsed(), vaults);
        let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM vault ORDER BY id").fetch_all(&db.pool).await?;
        ensure!(ids.len() == options.vaults as usize, "the database contains {} vaults", ids.len());
        let last: At = sqlx::query_scalar("SELECT max(observed_at) FROM vault_state").fetch_one(&db.pool).await?;
        let size = "SELECT format('%s of readings, %s of daily sums', pg_size_pretty(pg_total_relation_size('vault_snapshot')), \
                    pg_size_pretty(pg_total_relation_size('vault_day')))";
        let size = sqlx::query_scalar(size).fetch_one(&db.pool).await?;
        Ok(Measurement { db, now: last.0.plus_seconds(60), ids, summed, size })
    }

    fn measure(&mut self, runtime: &Runtime, options: &Options, report: &mut Report) -> Result<()> {
        let Options { vaults, hours, rounds, .. } = options;
        let size = format!("{vaults} vaults, {hours} hours");
        if self.summed.1 > 0 {
            let each = self.summed.0.as_secs_f64() * 1e3 / self.summed.1 as f64;
            report.stated("summing one vault's days for the first time, milliseconds", each, &self.size);
        }
        let before = runtime.block_on(self.read_whole_year())?;
        report.stated(
            "one vault's signals from all its readings, as before, milliseconds",
            before,
            &format!("{size}; the mean of {READ_WHOLE} vaults"),
        );
        let first = runtime.block_on(self.whole_run(60))?;
        report.stated(&format!("{size}: the first whole run, seconds"), first, "");
        let unchanged =
            runtime.block_on(async { self.rounds(*rounds, async |me: &mut Self| me.whole_run(60).await).await })?;
        let what = format!("{size}: a whole run with nothing changed, seconds");
        report.at_most(&what, median(unchanged.clone()), WHOLE_SECONDS, &spread(&unchanged));
        let one =
            runtime.block_on(async { self.rounds(*rounds, async |me: &mut Self| me.one_reading(0).await).await })?;
        let what = format!("{size}: one vault's reading ingested and scored, milliseconds");
        report.at_most(&what, median(one.clone()), ONE_MILLIS, &spread(&one));
        let late = runtime
            .block_on(async { self.rounds(*rounds, async |me: &mut Self| me.one_reading(20 * 24).await).await })?;
        let what = format!("{size}: the same of a reading that comes 20 days late, milliseconds");
        report.at_most(&what, median(late.clone()), ONE_MILLIS, &spread(&late));
        let (all, seconds) = runtime.block_on(self.every_vault())?;
        report.stated(&format!("{size}: a reading of every vault ingested and scored, seconds"), seconds, &all);
        let day = runtime.block_on(self.whole_run(86_400))?;
        report.stated(&format!("{size}: the first whole run of another day, seconds"), day, "");
        let broken = runtime.block_on(self.broken_series())?;
        report.stated(&format!("{size}: research looks for broken series, milliseconds"), broken, "");
        Ok(())
    }

    async fn rounds(&mut self, rounds: usize, run: impl AsyncFn(&mut Self) -> Result<f64>) -> Result<Vec<f64>> {
        let mut taken = Vec::new();
        for _ in 0..rounds {
            xtask::signals::check()?;
            taken.push(run(self).await?);
        }
        Ok(taken)
    }

    /// Milliseconds per vault to compute the signals from all readings of a year.
    async fn read_whole_year(&self) -> Result<f64> {
        let mut tx = self.db.begin("BEGIN").await?;
        let ids: Vec<String> = self.ids.iter().step_by(self.ids.len().div_ceil(READ_WHOLE)).cloned().collect();
        let begun = Instant::now();
        scoring::signals_from_readings(&mut tx, &ids, At(self.now)).await?;
        Ok(begun.elapsed().as_secs_f64() * 1e3 / ids.len() as f64)
    }

    /// Duration in seconds of a run over all vaults, `later` seconds after the previous run.
    async fn whole_run(&mut self, later: i64) -> Result<f64> {
        self.now = self.now.plus_seconds(later);
        let begun = Instant::now();
        let run = scoring_run::run_all(&self.db, &Clock::held(self.now)).await?;
        let seconds = begun.elapsed().as_secs_f64();
        ensure!(run.vaults == self.ids.len() as u64 && run.withheld.is_none(), "incomplete run: {:?}", run.withheld);
        Ok(seconds)
    }

    /// Duration in milliseconds of ingesting and scoring one reading that was observed `hours_late` hours before now.
    async fn one_reading(&mut self, hours_late: i64) -> Result<f64> {
        self.now = self.now.plus_seconds(60);
        let id = self.ids.get(self.now.as_seconds().unsigned_abs() as usize / 60 % self.ids.len());
        let at = self.now.plus_seconds(-hours_late * 3_600);
        let line = format!("{}\n", reading(id.context("a vault")?, at));
        let begun = Instant::now();
        let report = ingest::from_reader(&self.db, &Clock::held(self.now), line.as_bytes()).await;
        let millis = begun.elapsed().as_secs_f64() * 1e3;
        let report = report.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        ensure!(report.vaults_scored == 1 && report.scores_withheld.is_none(), "{report:?}");
        Ok(millis)
    }

    /// Ingests a reading of every vault in one batch; returns a summary and the duration in seconds.
    async fn every_vault(&mut self) -> Result<(String, f64)> {
        self.now = self.now.plus_seconds(60);
        let lines: String = self.ids.iter().map(|id| format!("{}\n", reading(id, self.now))).collect();
        let begun = Instant::now();
        let report = ingest::from_reader(&self.db, &Clock::held(self.now), lines.as_bytes()).await;
        let seconds = begun.elapsed().as_secs_f64();
        let report = report.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        ensure!(report.vaults_scored == self.ids.len() as u64 && report.scores_withheld.is_none(), "{report:?}");
        Ok((format!("{} scored", report.vaults_scored), seconds))
    }

    /// Duration in milliseconds of the search for broken series.
    async fn broken_series(&self) -> Result<f64> {
        let mut tx = self.db.begin("BEGIN").await?;
        let begun = Instant::now();
        publication::lock_writers(&mut tx).await?;
        days::refresh_all(&mut tx).await?;
        samples::broken_series(&mut tx, At(self.now)).await?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }
}

fn spread(taken: &[f64]) -> String {
    let [least, most] =
        [taken.iter().copied().fold(f64::INFINITY, f64::min), taken.iter().copied().fold(0.0, f64::max)];
    format!("{least:.3} to {most:.3} in {} rounds", taken.len())
}

fn reading(vault_id: &str, at: Timestamp) -> Value {
    json!({"kind": "vault_state", "observed_at": at.to_string(), "source": "bench", "vault_id": vault_id, "tvl_usd": 1e6, "base_apr": 0.04,
           "borrow_apr": 0.06, "utilization": 0.7, "incentives": "checked", "price_per_share": 1.2})
}

/// Fills an empty database with vaults and readings.
async fn fill(db: &Db, url: &str, options: &Options, end: Timestamp) -> Result<()> {
    let Options { vaults, hours, .. } = options;
    let clock = Clock::held(end);
    let line = |kind: &str, fields: Value| {
        let mut line = json!({"kind": kind, "observed_at": end.to_string(), "source": "bench"});
        if let (Some(line), Some(fields)) = (line.as_object_mut(), fields.as_object()) {
            line.extend(fields.clone());
        }
        format!("{line}\n")
    };
    let mut lines = vec![
        line(
            "chain",
            json!({"chain_id": CHAIN, "slug": "devnet", "name": "Devnet", "namespace": "evm", "is_settlement": true}),
        ),
        line(
            "protocol",
            json!({"id": "bench", "name": "Bench", "version_deployed_at": "2022-06-01T00:00:00Z", "audits": 5, "dependencies": [],
                   "newest_audit_at": "2026-01-01T00:00:00Z", "bounty_usd": 1e6, "tvl_usd": 2e9, "strategy": "lending_pool"}),
        ),
    ];
    lines.extend((0..*vaults).map(|vault| {
        let address = format!("0x05{vault:038x}");
        let fields = json!({"protocol_id": "bench", "chain_id": CHAIN, "address": address, "name": format!("Bench {vault}"),
            "asset_mode": "holdings", "deployed_at": "2024-01-01T00:00:00Z", "timelock_seconds": 604_800, "exit": "instant",
            "signers": {"threshold": 5, "owners": 9}, "source_code": "verified"});
        line("vault", fields)
    }));
    for batch in lines.chunks(BATCH) {
        let taken = ingest::from_reader(db, &clock, batch.concat().as_bytes()).await;
        taken.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    }
    // Without the primary key and triggers, filling takes minutes instead of hours; both are restored afterwards.
    let mut connection = PgConnection::connect(url).await?;
    for sql in [
        "ALTER TABLE vault_snapshot DISABLE TRIGGER ALL",
        "ALTER TABLE vault_snapshot DROP CONSTRAINT vault_snapshot_pkey",
        "SET jit = off",
    ] {
        sqlx::query(sql).execute(&mut connection).await?;
    }
    sqlx::query(READINGS)
        .bind(At(end))
        .bind(i32::try_from(*hours)?)
        .bind(i32::try_from(*vaults)?)
        .execute(&mut connection)
        .await?;
    for sql in [
        "ALTER TABLE vault_snapshot ADD PRIMARY KEY (vault_id, observed_at)",
        "ALTER TABLE vault_snapshot ENABLE TRIGGER ALL",
        STATES,
        // Remove the scores computed before the readings existed; otherwise the first run would change all of them.
        "DELETE FROM score_history",
        "DELETE FROM vault_score",
        "ANALYZE",
    ] {
        sqlx::query(sql).execute(&mut connection).await?;
    }
    Ok(connection.close().await?)
}

/// Inserts `$2` hourly readings up to `$1` for each of `$3` vaults, in order of time.
const READINGS: &str = "INSERT INTO vault_snapshot (vault_id, observed_at, tvl_usd, base_apr, utilization, borrow_apr, incentives, price_per_share, content_hash) \
    SELECT v.id, $1 - make_interval(hours => $2 - h), 1e6 + (h * 37 + v.n) % 1009 * 1e3, 0.04, \
           CASE WHEN v.n % 100 = 2 THEN 0.97 ELSE 0.5 + (h * 13 + v.n) % 400 / 1000.0 END, 0.06, 'checked', \
           CASE v.n % 100 WHEN 0 THEN 2 - h * 1e-5 WHEN 1 THEN 1 WHEN 3 THEN NULL \
                ELSE (1 + h * 1e-5) * CASE WHEN (h + v.n * 37) % 1009 < 3 THEN 0.995 ELSE 1 END END, \
           int8send(h::bigint) || int8send(v.n::bigint) || v.tail \
    FROM generate_series(1, $2) AS h \
    CROSS JOIN (SELECT n, format('bench-31337-0x05%s', lpad(to_hex(n), 38, '0')) AS id, substr(sha256(int8send(n::bigint)), 1, 16) AS tail \
                FROM generate_series(0, $3 - 1) AS n OFFSET 0) AS v";

/// Inserts each vault's newest reading as its state.
const STATES: &str = "INSERT INTO vault_state (vault_id, tvl_usd, base_apr, utilization, borrow_apr, borrow_status, incentives, deposit_status, \
                             withdraw_status, price_per_share, needs_risk_review, source, observed_at, content_hash) \
    SELECT v.id, h.tvl_usd, h.base_apr, h.utilization, h.borrow_apr, 'unknown', h.incentives, 'open', 'unknown', h.price_per_share, false, \
           'bench', h.observed_at, h.content_hash \
    FROM vault v CROSS JOIN LATERAL (SELECT * FROM vault_snapshot WHERE vault_id = v.id ORDER BY observed_at DESC LIMIT 1) AS h";
