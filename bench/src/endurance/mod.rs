//! `endurance`: a whole stack under mixed work for an hour or a night: memory, descriptors, table sizes and latency, as a table and a picture.

mod growth;
mod load;
mod picture;
mod reading;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use xtask::workspace;

use self::load::Load;
use self::reading::{Probe, Reading};
use crate::cores;
use crate::push::ours::Ours;
use crate::report::Report;
use crate::soak::{growth as memory, sleep_until};

const MINUTE: Duration = Duration::from_secs(60);
/// Maximum slope of a process' resident memory in the last half, in MB per hour.
const MAX_MB_PER_HOUR: f64 = 24.0;
/// Maximum difference between the most and the fewest descriptors of a process in the last half, as a fraction of the fewest.
const MAX_DESCRIPTORS: f64 = 0.1;
/// Maximum relative difference between the predicted and the measured growth of a table.
const MAX_DEVIATION: f64 = 0.2;
const METHOD: &str = "Postgres, origin and edge as `up` starts them, with 500 vaults. Every ten seconds a batch with a new reading of each vault is ingested; every second an event is published to \
    100 streams and 20 webhook endpoints, and a check of 20 positions is signed; the edge gets the mixed load of `soak`. Memory that the processes of one part share counts once. Slopes are of the last half. A table's growth is predicted from the number of its \
    new rows and the bytes a row that `growth` measured, and compared with what its files grew by between the end of the first tenth and the end. `bench/endurance.svg` draws the run.";

/// Options of `endurance`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Duration in minutes.
    #[arg(long, default_value_t = 60)]
    minutes: u32,
    /// Requests per second to the edge.
    #[arg(long, default_value_t = 40.0)]
    rate: f64,
}

/// Runs the load, writes the table and the picture, and fails if a bound is exceeded.
pub fn run(options: &Options) -> Result<()> {
    let Options { minutes, rate } = *options;
    ensure!(minutes >= 10 && rate > 0.0, "`--minutes` must be at least 10 and `--rate` above 0");
    let folder = std::env::temp_dir().join(format!("rds-bench-endurance-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let readings = run_in(&folder, minutes, rate);
    std::fs::remove_dir_all(&folder)?;
    let readings = readings?;
    cores::release()?;
    std::fs::write(workspace::root().join("bench/endurance.svg"), picture::draw(&readings))?;
    report_results(&readings, minutes, rate)
}

fn run_in(folder: &std::path::Path, minutes: u32, rate: f64) -> Result<Vec<Reading>> {
    let load = Load::prepare(folder)?;
    // The processes of the stack share all cores with the load.
    cores::release()?;
    load.ours.market.release()?;
    cores::release_family(load.ours.market.pid("edge")?)?;
    let (over, probe) = (AtomicBool::new(false), Probe::default());
    std::thread::scope(|scope| {
        let requests = scope.spawn(|| load.request(rate, &over));
        let writes = scope.spawn(|| load.write(&over));
        let asked = scope.spawn(|| load.probe(&probe, &over));
        let readings = watch(minutes, &load.ours, &probe, || {
            requests.is_finished() || writes.is_finished() || asked.is_finished()
        });
        over.store(true, Ordering::Relaxed);
        for part in [requests, writes, asked] {
            part.join().map_err(|_| anyhow!("a part of the load panicked"))??;
        }
        load.check()?;
        readings
    })
}

/// Takes a reading once a minute; stops early if a part of the load ends early.
fn watch(minutes: u32, ours: &Ours, probe: &Probe, ended: impl Fn() -> bool) -> Result<Vec<Reading>> {
    let begun = Instant::now();
    let mut readings = Vec::new();
    println!("\n{}", reading::HEAD);
    for minute in 0..=minutes {
        if !sleep_until(begun + MINUTE * minute, &ended)? {
            return Ok(readings);
        }
        let reading = Reading::take(begun.elapsed(), ours, probe)?;
        println!("{}", reading.row());
        readings.push(reading);
    }
    Ok(readings)
}

fn report_results(readings: &[Reading], minutes: u32, rate: f64) -> Result<()> {
    let mut report = Report::default();
    let half = readings.get(readings.len() / 2..).unwrap_or_default();
    let mut exceeded = Vec::new();
    for (at, process) in reading::PROCESSES.into_iter().enumerate() {
        let series: Vec<_> = half.iter().map(|reading| (reading.minute, reading.resident_mb(at))).collect();
        let slope = memory::slope(&series).context("the run ended before there were two readings")? * 60.0;
        let most = series.iter().map(|(_, mb)| *mb).fold(0.0, f64::max);
        report.at_most(
            &format!("{process}: resident MB an hour in the last half"),
            slope,
            MAX_MB_PER_HOUR,
            &format!("at most {most:.0} MB"),
        );
        let open: Vec<f64> = half.iter().map(|reading| reading.descriptors(at)).collect();
        let [least, most] =
            [open.iter().copied().fold(f64::INFINITY, f64::min), open.iter().copied().fold(0.0, f64::max)];
        let spread = most / least.max(1.0) - 1.0;
        report.at_most(
            &format!("{process}: descriptors in the last half, most over fewest, less one"),
            spread,
            MAX_DESCRIPTORS,
            &format!("{least:.0} to {most:.0}"),
        );
        if slope > MAX_MB_PER_HOUR || spread > MAX_DESCRIPTORS {
            exceeded.push(process.to_owned());
        }
    }
    for (table, deviation, seen) in growth::deviations(readings)? {
        report.at_most(
            &format!("`{table}`: measured growth over predicted, less one (either sign)"),
            deviation.abs(),
            MAX_DEVIATION,
            &seen,
        );
        if deviation.abs() > MAX_DEVIATION {
            exceeded.push(table);
        }
    }
    println!("\n{}", report.table());
    let rows: String = readings.iter().map(|reading| reading.row() + "\n").collect();
    report.write(
        "endurance",
        &format!("{METHOD} {minutes} minutes, {rate:.0} requests/s. Every minute:\n\n{}\n{rows}", reading::HEAD),
    )?;
    ensure!(exceeded.is_empty(), "bounds exceeded: {}", exceeded.join(", "));
    Ok(())
}
