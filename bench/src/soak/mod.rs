//! `soak`: the memory of the runtime under a mixed load that goes on for long: the edge's beside that of a Worker that does nothing.

mod growth;
mod inspector;
mod mix;
mod runtime;

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
/// Requests a minute: more than are sent, so that none is refused.
const RPM: u32 = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);
/// MB a minute by which the edge's runtime may grow faster than the other in the last half. At a hundred requests a second that is half
/// a KB a request: a single header map that stayed behind with each of them would be more.
const FASTER: f64 = 3.0;
/// MB that the edge's runtime may hold at most: what `origin/OPERATING.md` says to give it.
const MOST: f64 = 512.0;
const METHOD: &str = "The edge runs on plain workerd as `up` starts it, before one origin with 1000 vaults; beside it `bench/bare-js`, which answers everything \
    with the same bytes, on a workerd of the same version with the same flags. Both get the same requests, of twenty six keyed hits, three anonymous reads and two unknown \
    keys, each from another address, four misses of which no two are alike, two confirmations, two requests over a limit, and one batch; an answer \
    with another status than it should have counts as wrong, and more than one in a hundred end the run. Growth is the slope of the straight line nearest to the resident memory of the last half, one \
    reading a minute: in the first half the copies, the store and V8's heap fill up to their bounds. More than 3 MB a minute over the bare Worker's is a failure of the run, because at the default rate \
    that is half a KB a request, less than any object of the runtime's that could stay behind; so is more memory than the operator's page says to give. V8's figures are the inspector's and hold what is \
    not collected yet. What no column has is the runtime's own: code (some 50 MB of it are the program's file), the databases of the objects that are awake (0.1 MB each, one of 256 for the \
    addresses), the native half of V8's garbage, and memory that the allocator keeps for the next request. Every minute:";

/// What `soak` can be told.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How long to go on. With fewer than ten, what fills up first is still filling in the last half.
    #[arg(long, default_value_t = 30)]
    minutes: u32,
    /// Requests a second to each.
    #[arg(long, default_value_t = 100.0)]
    rate: f64,
}

/// What was read in one minute, in bytes.
struct Reading {
    minute: f64,
    ours: u64,
    bare: u64,
    wasm: u64,
    main: Heap,
    store: Heap,
    disk: u64,
}

/// Goes on for as long as it should, prints a line a minute, and fails where the edge's runtime grows without an end.
pub fn run(options: &Options) -> Result<()> {
    let Options { minutes, rate } = *options;
    ensure!(minutes >= 2 && rate > 0.0, "a soak takes two minutes at least, and some load");
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
    tell(&readings, &answers, &of_bare, rate)
}

/// Reads everything once a minute. A load that ends before its time ends this.
fn watch(minutes: u32, edge: &Runtime, bare: u32, ended: impl Fn() -> bool) -> Result<Vec<Reading>> {
    let begun = Instant::now();
    let mut readings = Vec::new();
    println!("\n{HEAD}");
    for minute in 0..=minutes {
        while begun.elapsed() < MINUTE * minute {
            xtask::signals::check()?;
            if ended() {
                return Ok(readings);
            }
            std::thread::sleep(Duration::from_millis(200));
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

/// MB a minute in the last half.
fn growth(readings: &[Reading], of: impl Fn(&Reading) -> u64) -> Result<f64> {
    let series: Vec<_> = readings.iter().map(|reading| (reading.minute, mb(of(reading)))).collect();
    growth::slope(growth::last_half(&series)).context("the soak ended before there was anything to compare")
}

fn tell(readings: &[Reading], answers: &Answers, of_bare: &Answers, rate: f64) -> Result<()> {
    let (ours, bare) = (growth(readings, |reading| reading.ours)?, growth(readings, |reading| reading.bare)?);
    let most = readings.iter().map(|reading| mb(reading.ours)).fold(0.0, f64::max);
    let minutes = readings.last().map_or(0.0, |last| last.minute);
    let mut report = Report::default();
    let what = format!("{rate:.0} requests/s for {minutes:.0} minutes: resident MB a minute in the last half");
    let sent = format!("{}; the bare Worker {} answers and {} cuts", answers.told(), of_bare.count(), of_bare.cuts);
    report.at_most(
        &format!("{what}, the edge's workerd less the bare Worker's"),
        ours - bare,
        FASTER,
        &format!("{ours:.2} less {bare:.2}, ratio {:.1}", ours / bare),
    );
    report.at_most("the edge's workerd, resident MB at most", most, MOST, &sent);
    println!("\n{}", report.table());
    let rows: String = readings.iter().map(|reading| reading.row() + "\n").collect();
    report.write("soak", &format!("{METHOD}\n\n{HEAD}\n{rows}"))?;
    ensure!(
        ours - bare <= FASTER,
        "the edge's workerd grows by {:.2} MB a minute more than the bare Worker's",
        ours - bare
    );
    ensure!(most <= MOST, "the edge's workerd held {most:.0} MB, and {MOST:.0} are bearable");
    Ok(())
}
