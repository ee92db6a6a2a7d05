//! `soak`: memory of the edge's runtime under a long mixed load, compared with a minimal Worker.

pub mod growth;
mod inspector;
pub mod mix;
pub mod runtime;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use xtask::measure::resident_of_family;
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use self::inspector::Heap;
use self::mix::{Answers, Callers};
use self::runtime::Runtime;
use crate::edge::bare;
use crate::market::Market;
use crate::report::Report;
use crate::{cores, http};

const VAULTS: u32 = 1_000;
/// Requests per minute: more than are sent, so that none is refused.
const RPM: u32 = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);
const METHOD: &str = "The edge runs on plain workerd as `up` starts it, in front of one origin with 1000 vaults. It is compared with `bench/bare-js`, which answers every request \
    with the same bytes, on workerd of the same version with the same flags. Both get the same requests. Of twenty, six are keyed hits, three anonymous reads and two use unknown \
    keys (each from another address), four are distinct misses, two conditional requests, two requests over a limit, and one a batch. An unexpected status \
    counts as wrong, and more than one in a hundred fails the run. Growth is the slope of the regression line through the resident memory of the last half, one \
    reading per minute; in the first half the cached responses, the store and V8's heap fill up to their limits. The run fails if the edge grows by more than 3 MB per minute faster than the bare Worker: at the default rate \
    that is half a KB per request, less than any runtime object that could leak. It also fails above the memory limit that `origin/OPERATING.md` recommends. V8's figures come from the inspector and include \
    uncollected garbage. No column shows the runtime's own memory: code (some 50 MB are the program's file), the databases of active Durable Objects (0.1 MB each, one of 256 for the \
    addresses), the native part of V8's garbage, and memory kept by the allocator. Every minute:";

/// Options of `soak`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Duration in minutes. With fewer than ten, caches still fill up in the last half.
    #[arg(long, default_value_t = 30)]
    minutes: u32,
    /// Requests per second to each Worker.
    #[arg(long, default_value_t = 100.0)]
    rate: f64,
}

/// The readings of one minute, in bytes.
struct Reading {
    minute: f64,
    ours: u64,
    bare: u64,
    wasm: u64,
    main: Heap,
    store: Heap,
    disk: u64,
}

/// Runs the load, prints a line per minute, and fails if the memory of the edge's runtime does not level off.
pub fn run(options: &Options) -> Result<()> {
    let Options { minutes, rate } = *options;
    ensure!(minutes >= 2 && rate > 0.0, "`--minutes` must be at least 2 and `--rate` above 0");
    let cache = Cache::open()?;
    let market = Market::start(VAULTS, Edge::None)?;
    let edge = Runtime::start(&cache, &market)?;
    let (key, narrow) = (market.mint(RPM)?, market.mint(1)?);
    let list = http::ask(edge.address, &Callers::list(&key))?;
    ensure!(list.status == 200, "no list: {}", list.head);
    let bare = bare::constant(&cache, &list.body)?;
    let (for_ours, for_bare) = (Callers::new(key.clone(), narrow.clone(), &list)?, Callers::new(key, narrow, &list)?);

    let over = AtomicBool::new(false);
    let (readings, answers, of_bare) = std::thread::scope(|scope| {
        let ours = scope.spawn(|| mix::send(edge.address, &for_ours, rate, &over));
        let theirs = scope.spawn(|| mix::send(bare.address, &for_bare, rate, &over));
        let readings = watch(minutes, &edge, bare.pid(), || ours.is_finished() || theirs.is_finished());
        over.store(true, Ordering::Relaxed);
        let joined = |load: std::thread::ScopedJoinHandle<'_, Result<Answers>>| {
            load.join().map_err(|_| anyhow::anyhow!("a load panicked"))?
        };
        Ok::<_, anyhow::Error>((readings, joined(ours)?, joined(theirs)?))
    })?;
    let readings = readings?;
    answers.check()?;
    drop((edge, bare, market));
    cores::release()?;
    report_results(&readings, &answers, &of_bare, rate)
}

/// Sleeps until `then`. Returns false as soon as `ended` is true.
pub fn sleep_until(then: Instant, ended: &impl Fn() -> bool) -> Result<bool> {
    while Instant::now() < then {
        xtask::signals::check()?;
        if ended() {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(true)
}

/// Takes a reading once a minute; stops early if a load ends early.
fn watch(minutes: u32, edge: &Runtime, bare: u32, ended: impl Fn() -> bool) -> Result<Vec<Reading>> {
    let begun = Instant::now();
    let mut readings = Vec::new();
    println!("\n{HEAD}");
    for minute in 0..=minutes {
        if !sleep_until(begun + MINUTE * minute, &ended)? {
            return Ok(readings);
        }
        let reading = Reading {
            minute: begun.elapsed().as_secs_f64() / 60.0,
            ours: resident_of_family(edge.pid())?,
            bare: resident_of_family(bare)?,
            wasm: edge.wasm()?,
            main: edge.heap("main")?,
            store: edge.heap("cache-store")?,
            disk: edge.disk()?,
        };
        println!("{}", reading.row());
        readings.push(reading);
    }
    Ok(readings)
}

const HEAD: &str = "| minute | the edge's workerd, MB | of it V8 objects | V8 pages | array buffers | Wasm memory | the store behind the Cache API | the bare Worker's workerd, MB | objects on disk, MB |\n\
                    |---:|---:|---:|---:|---:|---:|---:|---:|---:|";

impl Reading {
    fn row(&self) -> String {
        let Reading { minute, ours, bare, wasm, main, store, disk } = self;
        let [ours, used, pages, buffers, wasm, store, bare] =
            [*ours, main.used, main.total, main.buffers, *wasm, store.total + store.buffers, *bare].map(mb);
        format!(
            "| {minute:.0} | {ours:.0} | {used:.0} | {pages:.0} | {buffers:.0} | {wasm:.0} | {store:.0} | {bare:.0} | {:.1} |",
            mb(*disk)
        )
    }
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Memory growth in the last half of the run, in MB per minute.
fn growth(readings: &[Reading], of: impl Fn(&Reading) -> u64) -> Result<f64> {
    let series: Vec<_> = readings.iter().map(|reading| (reading.minute, mb(of(reading)))).collect();
    growth::slope(growth::last_half(&series)).context("the soak ended before there were two readings")
}

fn report_results(readings: &[Reading], answers: &Answers, of_bare: &Answers, rate: f64) -> Result<()> {
    let (ours, bare) = (growth(readings, |reading| reading.ours)?, growth(readings, |reading| reading.bare)?);
    let most = readings.iter().map(|reading| mb(reading.ours)).fold(0.0, f64::max);
    let minutes = readings.last().map_or(0.0, |last| last.minute);
    let mut report = Report::default();
    let what = format!("{rate:.0} requests/s for {minutes:.0} minutes: resident MB a minute in the last half");
    let sent = format!("{}; the bare Worker {} answers and {} cuts", answers.text(), of_bare.count(), of_bare.cuts);
    report.at_most(
        &format!("{what}, the edge's workerd less the bare Worker's"),
        ours - bare,
        growth::MAX_EXCESS_GROWTH,
        &format!("{ours:.2} less {bare:.2}, ratio {:.1}", ours / bare),
    );
    report.at_most("the edge's workerd, resident MB at most", most, growth::MAX_MB, &sent);
    println!("\n{}", report.table());
    let rows: String = readings.iter().map(|reading| reading.row() + "\n").collect();
    report.write("soak", &format!("{METHOD}\n\n{HEAD}\n{rows}"))?;
    ensure!(
        ours - bare <= growth::MAX_EXCESS_GROWTH,
        "the edge's workerd grows by {:.2} MB a minute more than the bare Worker's",
        ours - bare
    );
    ensure!(most <= growth::MAX_MB, "the edge's workerd used {most:.0} MB; the limit is {:.0} MB", growth::MAX_MB);
    Ok(())
}
