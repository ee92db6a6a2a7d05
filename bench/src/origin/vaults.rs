//! 1 000, 10 000 and 100 000 vaults: CPU per list, memory per vault, and start time of a process.

use std::time::Duration;

use anyhow::Result;
use xtask::up::Edge;

use super::list::checked_list;
use super::replica::Replica;
use crate::market::{CHANGES, Market};
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{self, Side, cpu_micros};
use crate::{Plan, load};

const FEW: u32 = 1_000;
const MORE: [u32; 2] = [10_000, 100_000];
/// Maximum CPU per list, relative to the smallest market.
const TARGET_GROWTH: f64 = 3.0;
/// Maximum 99th percentile of the latency of a page of changes, in milliseconds on an otherwise idle machine.
const TARGET_CHANGES: f64 = 5.0;
/// Time for a process to free the memory it needed for starting.
const SETTLE: Duration = Duration::from_secs(2);

/// A market, and an origin process started after it was filled.
struct Size {
    vaults: u32,
    resident: u64,
    replica: Replica,
    market: Market,
}

impl Size {
    fn start(vaults: u32) -> Result<Self> {
        let market = Market::start(vaults, Edge::None)?;
        checked_list(&market)?;
        let replica = Replica::instead(&market)?;
        load::run(replica.address, 1, SETTLE, market.signed_list()?)?;
        Ok(Self { vaults, resident: replica.resident()?, replica, market })
    }

    /// Memory per additional vault compared with a smaller market, in KiB.
    fn kib_per_vault(&self, smaller: &Size) -> f64 {
        (self.resident as f64 - smaller.resident as f64) / 1024.0 / f64::from(self.vaults - smaller.vaults)
    }

    fn mib(&self) -> f64 {
        self.resident as f64 / f64::from(1 << 20)
    }
}

/// Compares each size with the smallest.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let mut sizes = vec![Size::start(FEW)?];
    for vaults in MORE {
        let size = Size::start(vaults)?;
        if let Some(few) = sizes.first() {
            let growth =
                versus::measure_with_halves(plan, size.replica.peer(&size.market)?, few.replica.peer(&few.market)?)?;
            let (ours, theirs) = growth.medians();
            let comparison = Comparison {
                part: &format!("scale: a list out of {vaults} vaults"),
                peer: &format!("out of {FEW}"),
                of: "CPU per request, of many over of few",
                ratio: growth.ratio(cpu_micros),
                target: Target::AtMost(TARGET_GROWTH),
                ours,
                theirs,
            };
            report.compare(&comparison, "");
        }
        sizes.push(size);
    }
    let [few, some, many] = sizes.as_slice() else { return Ok(()) };
    memory(few, some, many, report);
    for size in &sizes {
        report.stated(
            &format!("origin: s from a process's start to its first list, {} vaults", size.vaults),
            size.replica.opened.as_secs_f64(),
            "",
        );
    }
    changes(&many.market, plan, report)
}

fn memory(few: &Size, some: &Size, many: &Size, report: &mut Report) {
    let (next, last) = (some.kib_per_vault(few), many.kib_per_vault(some));
    let unknown = Side { cpu: f64::NAN, rate: f64::NAN, p50: f64::NAN, p99: f64::NAN };
    let comparison = Comparison {
        part: &format!("scale: memory of a vault, from {} to {}", some.vaults, many.vaults),
        peer: &format!("from {} to {}", few.vaults, some.vaults),
        of: &format!("resident KiB a vault, {last:.1} over {next:.1}"),
        ratio: last / next,
        target: Target::Stated,
        ours: unknown,
        theirs: unknown,
    };
    let whole = [few, some, many].map(|size| format!("{:.0} MiB at {}", size.mib(), size.vaults)).join(", ");
    report.compare(&comparison, &whole);
}

/// Latency of a large page of the change feed on one connection.
fn changes(many: &Market, plan: &Plan, report: &mut Report) -> Result<()> {
    let changes = load::run(many.address("origin_edge")?, 1, plan.duration(), many.signed_keyed(CHANGES)?)?;
    let [p50, p99] = [changes.p50, changes.p99].map(|time| time.as_secs_f64() * 1e3);
    let [_, many] = MORE;
    report.at_most(
        &format!("origin: a page of 500 changes out of {many}, milliseconds (p99)"),
        p99,
        TARGET_CHANGES,
        &format!("p50 {p50:.2} ms, {:.0}/s on one connection", changes.rate()),
    );
    Ok(())
}
