//! The part `half`: latencies of a cached list at half of saturation, beside an empty Worker and nginx, and how long each server waited for
//! its core.

use std::time::Duration;

use anyhow::Result;
use xtask::measure::cpu_time;
use xtask::provision::cache::Cache;

use super::nginx::{self, Nginx};
use super::{LIMIT, Subject, again, bare};
use crate::load::{self, Load};
use crate::market::LIST;
use crate::report::Report;
use crate::versus::{Peer, median};
use crate::{Plan, cores, http};

const PART: &str = "public list at the edge, keyed, exact limit, cached";

/// A load, with what its server and the machine did meanwhile.
struct Observed {
    load: Load,
    /// Part of the time in which the server's threads ran, added up.
    busy: f64,
    /// Time that the server's threads were ready and waited for their core, added up.
    waited: Duration,
    /// Time that the hypervisor took from the servers' core.
    stolen: Duration,
}

/// Measures each server at half of its own saturation and at half of the edge's.
pub fn measure(cache: &Cache, plan: &Plan, subject: &Subject, report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    let request = subject.request(LIST);
    let mut edge = again(market.address("edge")?, market.pid("edge")?, request.clone());
    http::ask(edge.address, &request)?;
    let empty = bare::empty(cache)?;
    let mut worker = again(empty.address, empty.pid(), request.clone());
    let body = http::ask(edge.address, &request)?.body;
    let same = bare::constant(cache, &body)?;
    let mut constant = again(same.address, same.pid(), request);
    let keys = nginx::Keys { wide: key, narrow: "nobody's", limit: LIMIT };
    let nginx = Nginx::start(cache, market.address("origin_edge")?, &keys)?;
    let signed = market.signed_targets(&Subject::lines(key), || LIST.to_owned())?;
    let mut proxy = Peer { address: nginx.address, pid: nginx.worker, write: Box::new(signed) };

    let of_edge = saturation(plan, &mut edge)? / 2.0;
    let of_worker = saturation(plan, &mut worker)? / 2.0;
    let of_constant = saturation(plan, &mut constant)? / 2.0;
    saturation(plan, &mut proxy)?;
    let mut runs = [
        ("the edge", "half of its own saturation", &mut edge, of_edge, Vec::new()),
        ("nginx", "half of the edge's saturation", &mut proxy, of_edge, Vec::new()),
        ("an empty Worker", "half of the edge's saturation", &mut worker, of_edge, Vec::new()),
        ("a bare Worker with the same bytes", "half of its own saturation", &mut constant, of_constant, Vec::new()),
    ];
    for _ in 0..plan.rounds {
        for (_, _, peer, rate, seen) in &mut runs {
            xtask::signals::check()?;
            seen.push(observed(plan, peer, *rate)?);
        }
    }
    for (server, at, _, rate, seen) in &runs {
        add(report, server, at, *rate, seen);
    }
    let (mut seen, before) = (Vec::new(), empty.collections()?.len());
    for _ in 0..plan.rounds {
        xtask::signals::check()?;
        seen.push(observed(plan, &mut worker, of_worker)?);
    }
    add(report, "an empty Worker", "half of its own saturation", of_worker, &seen);
    let pauses = empty.collections()?.split_off(before);
    let loaded: f64 = seen.iter().map(|seen| seen.load.elapsed.as_secs_f64()).sum();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    report.stated(
        "an empty Worker at half of its own saturation: V8 stops it to collect garbage, milliseconds a second",
        millis(pauses.iter().sum()) / loaded,
        &format!(
            "{:.1} collections a second, the longest {:.1} ms",
            pauses.len() as f64 / loaded,
            millis(pauses.iter().max().copied().unwrap_or_default())
        ),
    );
    Ok(())
}

/// Requests per second at saturation, after an uncounted warm-up.
fn saturation(plan: &Plan, peer: &mut Peer) -> Result<f64> {
    load::run(peer.address, plan.connections, plan.duration() / 2, &mut peer.write)?;
    Ok(load::run(peer.address, plan.connections, plan.duration(), &mut peer.write)?.rate())
}

fn observed(plan: &Plan, peer: &mut Peer, rate: f64) -> Result<Observed> {
    let before = (cpu_time(peer.pid)?, cores::waited(peer.pid)?, cores::stolen(cores::SERVER)?);
    let load = load::paced(&[peer.address], plan.connections, rate, plan.duration(), &mut peer.write)?;
    let busy = cpu_time(peer.pid)?.saturating_sub(before.0).as_secs_f64() / load.elapsed.as_secs_f64();
    let waited = cores::waited(peer.pid)?.saturating_sub(before.1);
    let stolen = cores::stolen(cores::SERVER)?.saturating_sub(before.2);
    Ok(Observed { load, busy, waited, stolen })
}

fn add(report: &mut Report, server: &str, at: &str, rate: f64, seen: &[Observed]) {
    let of = |of: &dyn Fn(&Observed) -> f64| median(seen.iter().map(of).collect());
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let a_second = |time: Duration, seen: &Observed| millis(time) / seen.load.elapsed.as_secs_f64();
    report.stated(
        &format!("{PART}: {server} at {at}, milliseconds (p99)"),
        of(&|seen| millis(seen.load.p99)),
        &format!(
            "p50 {:.2} ms, {rate:.0}/s; its threads ran {:.0} % of the time and waited {:.1} ms a second for the core, of which the hypervisor took {:.1} ms a second",
            of(&|seen| millis(seen.load.p50)),
            of(&|seen| seen.busy * 100.0),
            of(&|seen| a_second(seen.waited, seen)),
            of(&|seen| a_second(seen.stolen, seen)),
        ),
    );
}
