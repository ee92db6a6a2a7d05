//! What observations, score runs and events add to each table, from a simulated market of two sizes over two durations.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use rds_engine::clock::Clock;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options as Market};
use rds_store::{self as store, Db};
use xtask::provision::cache::Cache;
use xtask::test::temporary_postgres;

use super::Options;
use super::tables::{Size, sizes};
use crate::report::Report;

/// Vaults and days that the figures are extrapolated to.
const VAULTS: f64 = 10_000.0;
const DAYS: f64 = 365.0;
const SEED: u64 = 1;
/// A table that grows by less than this in a year is not listed, nor one that gets fewer rows: what it grows by is space that updates left free.
const LEAST_BYTES: f64 = 1e6;
const LEAST_ROWS: f64 = 1_000.0;
/// Tables that a running service empties, and this measurement does not.
const EMPTIED: [&str; 2] = ["vault_day_change", "push_operation"];

/// Growth of one table between two durations.
#[derive(Clone, Copy)]
struct Growth {
    rows: f64,
    bytes: f64,
}

/// Measures the growth of every table in a year, and lists it by size.
pub fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let (_folder, _postgres, url) = temporary_postgres(&Cache::open()?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let end = Timestamp::from_seconds(1_795_953_600);
    let mut filled = Vec::new();
    for vaults in [options.vaults, options.vaults * 2] {
        let mut of_durations = Vec::new();
        for days in [options.days, options.days * 2] {
            xtask::signals::check()?;
            let name = format!("growth_{vaults}_{days}");
            of_durations.push(runtime.block_on(fill(
                &url,
                &name,
                end,
                Market { seed: SEED, vaults, hours: days * 24 },
            ))?);
            println!("  {vaults} vaults for {days} days");
        }
        filled.push(grown(&of_durations));
    }
    let [small, large] = [filled.first(), filled.last()].map(|growths| growths.cloned().unwrap_or_default());
    let mut year: Vec<(String, Growth)> = small
        .iter()
        .filter_map(|(table, small)| Some((table.clone(), extrapolated(*small, *large.get(table)?, options))))
        .filter(|(_, growth)| growth.bytes >= LEAST_BYTES && growth.rows >= LEAST_ROWS)
        .filter(|(table, _)| !EMPTIED.contains(&table.as_str()))
        .collect();
    year.sort_by(|one, other| other.1.bytes.total_cmp(&one.1.bytes));
    for (table, Growth { rows, bytes }) in &year {
        let seen = format!("{:.1} million rows, {:.0} bytes a row", rows / 1e6, bytes / rows.max(1.0));
        report.stated(&format!("`{table}`: GB a year at 10,000 vaults read hourly"), bytes / 1e9, &seen);
    }
    let all: f64 = year.iter().map(|(_, growth)| growth.bytes).sum();
    report.stated("all of these: GB a year at 10,000 vaults read hourly", all / 1e9, "");
    Ok(())
}

/// Creates a database with the simulated market and returns the sizes of its tables.
async fn fill(url: &str, name: &str, end: Timestamp, market: Market) -> Result<BTreeMap<String, Size>> {
    let administrator = Db::connect(url, 1).await?;
    sqlx::query(&format!("CREATE DATABASE {name}")).execute(&administrator.pool).await?;
    let db = Db::connect(&with_database(url, name)?, 4).await?;
    store::migrate(&db).await?;
    simulate::run(&db, &Clock::held(end), market, None, &mut |_: &str| ())
        .await
        .map_err(|error| anyhow!("{error:?}"))?;
    let sizes = sizes(&db.pool).await?;
    db.pool.close().await;
    sqlx::query(&format!("DROP DATABASE {name} WITH (FORCE)")).execute(&administrator.pool).await?;
    Ok(sizes)
}

/// The address of another database of the same server.
fn with_database(url: &str, name: &str) -> Result<String> {
    let (address, query) =
        url.split_once('?').map_or((url, String::new()), |(address, query)| (address, format!("?{query}")));
    let (server, _) = address.rsplit_once('/').context("an address without a database")?;
    Ok(format!("{server}/{name}{query}"))
}

/// What the longer duration has more than the shorter one.
fn grown(durations: &[BTreeMap<String, Size>]) -> BTreeMap<String, Growth> {
    let [Some(short), Some(long)] = [durations.first(), durations.last()] else { return BTreeMap::new() };
    let difference = |table: &String, long: &Size| {
        let short = short.get(table).copied().unwrap_or_default();
        Growth { rows: (long.rows - short.rows) as f64, bytes: (long.bytes - short.bytes) as f64 }
    };
    long.iter().map(|(table, long)| (table.clone(), difference(table, long))).collect()
}

/// The growth in a year with 10,000 vaults: what a batch adds once, and what each vault adds.
fn extrapolated(small: Growth, large: Growth, options: &Options) -> Growth {
    let line = |small: f64, large: f64| {
        let each = (large - small) / f64::from(options.vaults);
        let once = (small - each * f64::from(options.vaults)).max(0.0);
        (once + each.max(0.0) * VAULTS) * DAYS / f64::from(options.days)
    };
    Growth { rows: line(small.rows, large.rows), bytes: line(small.bytes, large.bytes) }
}
