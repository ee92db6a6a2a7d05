//! Reading the same fields with the service's reader and with peers, from one node.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rds_chain::Address;
use xtask::console::Step;
use xtask::measure;
use xtask::provision::cache::Cache;
use xtask::provision::npm;

use super::distance::Proxy;
use super::node::Node;
use super::ours::{self, FIELDS, Ours};
use super::peer::Peer;
use crate::cores;
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{Side, median};

/// Vaults that are read.
const VAULTS: u32 = 2_000;
/// Readings of ours for one of each peer, because ours are short and the node's CPU time is measured in ticks of 10 ms.
const TURN: usize = 3;
/// viem's own number of bytes of calldata in a request, and those of which the best is taken.
const DEFAULT: &str = "default";
const BYTES: [&str; 4] = ["4096", "16384", "32768", "65536"];
/// Calls in a request of alloy of which the best is taken.
const CALLS: [&str; 4] = ["100", "300", "1200", "2400"];
/// Time of a round trip to a distant provider.
const DISTANCE: Duration = Duration::from_millis(80);
const PART: &str = "2000 vaults × 6 fields read from one node";

/// Targets: vaults a second, ours over theirs.
const OVER_DEFAULT: f64 = 10.0;
const OVER_BEST: f64 = 6.0;
const OVER_ALLOY: f64 = 2.0;
const BYTES_A_FIELD: f64 = 80.0;
const MICROS_A_FIELD: f64 = 0.5;
const NODE_SHARE: f64 = 0.8;
const ROUND_TRIPS: f64 = 4.0;

/// What one peer needed, reading by reading.
#[derive(Default)]
pub struct Taken {
    pub walls: Vec<Duration>,
    /// CPU time of the client, of all readings.
    pub cpu: Duration,
}

impl Taken {
    fn side(&self) -> Side {
        let fields = (self.walls.len() * FIELDS * VAULTS as usize).max(1) as f64;
        let seconds = median(self.walls.iter().map(Duration::as_secs_f64).collect());
        let (cpu, rate) = (self.cpu.as_secs_f64() * 1e6 / fields, f64::from(VAULTS) / seconds);
        Side { cpu, rate, p50: f64::NAN, p99: f64::NAN }
    }
}

/// Measures every peer in turns, then the distant reading.
pub fn measure(cache: &Cache, rounds: usize, report: &mut Report) -> Result<()> {
    let mut node = cores::on_server(|| Node::start(cache))?;
    node.deploy_multicall3(&npm::viem(cache)?)?;
    let vaults = node.add_vaults(VAULTS)?;
    let mut ours = Ours::new(node.address)?;
    let (mut viem, mut alloy) = (Peer::viem(cache, node.address, &vaults)?, Peer::alloy(node.address, &vaults)?);
    let expected = ours.read(&vaults)?.sum;
    // Not timed.
    viem.turn(DEFAULT, &expected, &mut Taken::default())?;
    alloy.turn("300", &expected, &mut Taken::default())?;
    let (bytes, calls) = (viem.best(&BYTES)?, alloy.best(&CALLS)?);

    let mut step = Step::start("readings");
    let (mut own, mut node_time) = (Taken::default(), Duration::ZERO);
    let (mut of_default, mut of_best, mut of_alloy) = (Taken::default(), Taken::default(), Taken::default());
    let load = cores::load();
    for round in 1..=rounds {
        xtask::signals::check()?;
        step.tick(&format!("round {round} of {rounds}"));
        let before = measure::cpu_time(node.pid())?;
        let mut walls = Vec::new();
        for _ in 0..TURN {
            let reading = ours.read(&vaults)?;
            walls.push(reading.wall);
            own.cpu += reading.cpu;
        }
        node_time += measure::cpu_time(node.pid())?.saturating_sub(before);
        own.walls.extend(walls);
        viem.turn(DEFAULT, &expected, &mut of_default)?;
        viem.turn(bytes, &expected, &mut of_best)?;
        alloy.turn(calls, &expected, &mut of_alloy)?;
    }
    step.done(&format!("{} of ours, {rounds} of each peer", own.walls.len()));

    let beside = [
        (format!("viem, its own batches ({DEFAULT})"), &of_default, OVER_DEFAULT),
        (format!("viem, its best batches ({bytes} bytes of calldata)"), &of_best, OVER_BEST),
        (format!("alloy with aggregate3, its best batches ({calls} calls)"), &of_alloy, OVER_ALLOY),
    ];
    for (peer, theirs, target) in &beside {
        report.compare(
            &Comparison {
                part: PART,
                peer,
                of: "vaults/s, ours over theirs; the client's CPU a field",
                ratio: ratio(&own.walls, &theirs.walls),
                target: Target::AtLeast(*target),
                ours: own.side(),
                theirs: theirs.side(),
            },
            "",
        );
    }
    let spent: Duration = own.walls.iter().sum();
    let [spent, node_time] = [spent, node_time].map(|time| time.as_secs_f64());
    report.at_most(
        "client: CPU a field, µs",
        own.side().cpu,
        MICROS_A_FIELD,
        "the whole thread: HTTP, decoding, agreement",
    );
    let seen = format!("{node_time:.2} of {spent:.2} s; the machine's load before: {load}");
    report.at_least("node: its own CPU, as a share of our wall time", node_time / spent, NODE_SHARE, &seen);
    drop((viem, alloy));
    distant(&node, &vaults, &expected, report)
}

/// Bytes and round trips of a reading, with the node at a distance.
fn distant(node: &Node, vaults: &[Address], expected: &str, report: &mut Report) -> Result<()> {
    let proxy = Proxy::start(node.address, DISTANCE)?;
    let mut ours = Ours::new(proxy.address)?;
    let block = ours.header()?;
    let header = proxy.crossed();
    let begun = Instant::now();
    let verdicts = ours.fields(&block, vaults);
    let wall = begun.elapsed();
    let crossed = proxy.crossed();
    let found = ours::sum(&verdicts)?;
    ensure!(found == expected, "other values at a distance: {found} instead of {expected}");
    let fields = (vaults.len() * FIELDS) as f64;
    let seen = format!("{} bytes in {} requests, with the heads of HTTP", crossed.bytes, crossed.requests);
    report.at_most("bytes a field, both directions", crossed.bytes as f64 / fields, BYTES_A_FIELD, &seen);
    let seen = format!(
        "{:.0} ms for {} requests; before them {} round trips for the header",
        wall.as_secs_f64() * 1e3,
        crossed.requests,
        header.round_trips
    );
    report.at_most("round trips after the header, 80 ms each", f64::from(crossed.round_trips), ROUND_TRIPS, &seen);
    Ok(())
}

/// The median, over the rounds, of their time over the median of ours in the same round.
fn ratio(ours: &[Duration], theirs: &[Duration]) -> f64 {
    let of_round = |walls: &[Duration]| median(walls.iter().map(Duration::as_secs_f64).collect());
    median(ours.chunks(TURN).zip(theirs).map(|(ours, theirs)| theirs.as_secs_f64() / of_round(ours)).collect())
}
