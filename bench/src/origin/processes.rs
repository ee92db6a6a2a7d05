//! One, two and four origin processes on one database: CPU per request at the same total load, memory, and the load on Postgres, which
//! notifies every process of every change.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::measure::{cpu_time, cpu_time_of_family_ever};
use xtask::up::Edge;

use super::list::checked_list;
use super::replica::Replica;
use crate::filling::Filling;
use crate::market::Market;
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{Side, median};
use crate::{Plan, load};

const VAULTS: u32 = 10_000;
const COUNTS: [usize; 3] = [1, 2, 4];
/// Number of vaults with a new reading per batch; one batch per second.
const BATCH: usize = 100;
const BATCHES: u32 = 4;
/// Time after a batch by which every process has seen it.
const SETTLE: Duration = Duration::from_secs(1);
/// Minimum observation time of idle processes, because CPU time has a resolution of 10 ms.
const MIN_IDLE: Duration = Duration::from_secs(5);

/// Figures measured with one number of processes.
struct Seen {
    side: Side,
    /// Resident memory per process, in MiB.
    mib: f64,
    /// CPU milliseconds per second without requests: of Postgres, and of all origin processes together.
    idle: [f64; 2],
    /// Like `idle`, while one batch per second is ingested.
    ingest: [f64; 2],
}

/// Measures with each number of processes.
pub fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let market = Market::start(VAULTS, Edge::None)?;
    checked_list(&market)?;
    let ids = ids(&market)?;
    let mut replicas = vec![Replica::instead(&market)?];
    let alone = load::run(first(&replicas)?.address, plan.connections, plan.duration(), market.signed_list()?)?;
    let mut seen: Vec<Seen> = Vec::new();
    for count in COUNTS {
        while replicas.len() < count {
            replicas.push(Replica::beside(&market)?);
        }
        let now = measure_processes(&market, &replicas, alone.rate() / 2.0, &ids, plan)?;
        let one = seen.first().unwrap_or(&now);
        let times = |of: fn(&Seen) -> f64| format!("{:.1} ms ({:.2} × that of one)", of(&now), of(&now) / of(one));
        let more = format!(
            "; {:.0} MiB each; CPU a second while nothing happens: Postgres {}, the processes {}; with a batch of {BATCH} readings \
             a second: Postgres {}, the processes {}",
            now.mib,
            times(|seen| seen.idle[0]),
            times(|seen| seen.idle[1]),
            times(|seen| seen.ingest[0]),
            times(|seen| seen.ingest[1]),
        );
        if count == 1 {
            report.stated(
                "scale: one origin process, µs CPU per request",
                now.side.cpu,
                &format!("{}{more}", now.side.text()),
            );
        } else {
            let comparison = Comparison {
                part: &format!("scale: {count} origin processes, the same total load"),
                peer: "one process",
                of: "CPU per request",
                ratio: now.side.cpu / one.side.cpu,
                target: Target::Stated,
                ours: now.side,
                theirs: one.side,
            };
            report.compare(&comparison, &more);
        }
        seen.push(now);
    }
    Ok(())
}

fn measure_processes(market: &Market, replicas: &[Replica], rate: f64, ids: &[String], plan: &Plan) -> Result<Seen> {
    let pids: Vec<u32> = replicas.iter().map(Replica::pid).collect();
    let addresses: Vec<SocketAddr> = replicas.iter().map(|replica| replica.address).collect();
    let processes = || pids.iter().map(|pid| cpu_time(*pid)).sum::<Result<Duration>>();
    let postgres = market.pid("postgres")?;

    let mut loads = Vec::new();
    for _ in 0..plan.rounds {
        xtask::signals::check()?;
        let before = processes()?;
        let load = load::paced(&addresses, plan.connections, rate, plan.duration(), market.signed_list()?)?;
        let cpu = (processes()? - before).as_secs_f64() * 1e6 / load.requests as f64;
        loads.push([cpu, load.rate(), load.p50.as_secs_f64() * 1e3, load.p99.as_secs_f64() * 1e3]);
    }
    let [cpu, rate, p50, p99] = [0, 1, 2, 3]
        .map(|at: usize| median(loads.iter().filter_map(|load: &[f64; 4]| load.get(at).copied()).collect()));

    let taken = || Ok::<_, anyhow::Error>((Instant::now(), cpu_time_of_family_ever(postgres)?, processes()?));
    // CPU milliseconds per second of Postgres and of all processes, since an earlier reading by `taken`.
    let since = |(begun, stored, ours): (Instant, Duration, Duration)| {
        let (now, stored_now, ours_now) = taken()?;
        let each = |spent: Duration| spent.as_secs_f64() * 1e3 / (now - begun).as_secs_f64();
        Ok::<_, anyhow::Error>([each(stored_now.saturating_sub(stored)), each(ours_now.saturating_sub(ours))])
    };
    let calm = taken()?;
    std::thread::sleep(plan.duration().max(MIN_IDLE));
    let idle = since(calm)?;

    let busy = taken()?;
    let begun = Instant::now();
    for batch in 0..BATCHES {
        xtask::signals::check()?;
        std::thread::sleep((Duration::from_secs(1) * batch).saturating_sub(begun.elapsed()));
        let filling = Filling::new()?;
        let reading = |id: &String| filling.reading(0, id, 5e6 + f64::from(batch) * 1e3 + replicas.len() as f64, 1.0);
        market.post_observations(&ids.iter().map(reading).collect::<Vec<_>>())?;
    }
    std::thread::sleep(SETTLE);
    let ingest = since(busy)?;
    check_same_list(market, replicas)?;

    let resident = replicas.iter().map(Replica::resident).sum::<Result<u64>>()?;
    let mib = resident as f64 / f64::from(1 << 20) / replicas.len() as f64;
    Ok(Seen { side: Side { cpu, rate, p50, p99 }, mib, idle, ingest })
}

/// Fails unless every process answers the same list. A process that has not seen the last batch answers an older one.
fn check_same_list(market: &Market, replicas: &[Replica]) -> Result<()> {
    let mut tags = Vec::new();
    for replica in replicas {
        let mut request = Vec::new();
        market.signed_list()?(&mut request);
        let answer = crate::http::ask(replica.address, &request)?;
        let tag = answer.headers().find(|(name, _)| *name == "etag").map(|(_, value)| value.to_owned());
        tags.push(tag.context("a list without an ETag")?);
    }
    ensure!(tags.iter().all(|tag| Some(tag) == tags.first()), "the processes answer different lists: {tags:?}");
    Ok(())
}

fn first(replicas: &[Replica]) -> Result<&Replica> {
    replicas.first().context("no process")
}

/// Ids of the vaults in a batch.
fn ids(market: &Market) -> Result<Vec<String>> {
    let page: Value = serde_json::from_slice(&market.ask(&format!("/v1/vaults?limit={BATCH}"))?)?;
    let rows = page.get("data").and_then(Value::as_array).context("no rows")?;
    let id = |row: &Value| Some(row.get("id")?.as_str()?.to_owned());
    rows.iter().map(id).collect::<Option<Vec<_>>>().context("a row without an id")
}
