//! `access`: a request with an API key that the edge answers from memory, compared with a JavaScript Worker that does the same job.
//!
//! Both hash the key and call one Durable Object, which writes a row before it admits the request. Both answer with the same headers and
//! with a body from the isolate's memory.

mod peer;

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use xtask::console::heading;
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use crate::http::Answer;
use crate::market::{LIST, Market};
use crate::report::Report;
use crate::versus::{self, Peer, cpu_micros, rate};
use crate::{Plan, cores, http};

const VAULTS: u32 = 1_000;
/// Requests per minute: more than either peer can answer, so that none is refused. The JavaScript peer has the same value.
const RPM: u32 = 1_000_000;
const TARGET: f64 = 1.5;
const METHOD: &str = "The edge and its peer run on plain workerd of the same version and compatibility date, with their Durable Objects on the same disk; `bench/js-peer` is the peer's source. \
    Both compute the SHA-256 of the key in their own code (the peer's is JavaScript, which is faster for a key than `crypto.subtle` and `node:crypto`), call the \
    Durable Object of that name, which writes one SQLite row for each admitted request before it answers, and send the same headers with a body from the \
    isolate's memory. Every run first checks that header names and bodies are equal and that both count requests.";

/// Runs the benchmark, prints the table, and writes it to the results.
pub fn run(plan: &Plan) -> Result<()> {
    heading("\naccess");
    let mut report = Report::default();
    measure(&Cache::open()?, plan, &mut report)?;
    cores::release()?;
    println!("\n{}", report.table());
    report.write_pairs("access", plan, METHOD)
}

fn measure(cache: &Cache, plan: &Plan, report: &mut Report) -> Result<()> {
    let market = Market::start(VAULTS, Edge::Workerd)?;
    let key = market.mint(RPM)?;
    let lines = format!("accept: application/json\r\nauthorization: Bearer {key}\r\ncf-connecting-ip: 192.0.2.1\r\n");
    let request = http::get(LIST, &lines);
    let edge = market.address("edge")?;
    http::ask(edge, &request)?;
    let hit = http::ask(edge, &request)?;
    ensure!(hit.status == 200 && hit.head.contains("x-cache: hit"), "no hit: {}", hit.head);

    let javascript = peer::start(cache, &hit)?;
    let same = http::ask(javascript.address, &request)?;
    ensure!(same.status == 200 && same.body == hit.body, "the peer's answer differs: {}", same.head);
    let (ours, theirs) = (header_names(&hit), header_names(&same));
    ensure!(ours == theirs, "the headers differ:\n{ours:?}\n{theirs:?}");
    for address in [edge, javascript.address] {
        counts(address, &request)?;
    }

    let write = |request: Vec<u8>| move |out: &mut Vec<u8>| out.extend_from_slice(&request);
    let ours = Peer { address: edge, pid: market.pid("edge")?, write: Box::new(write(request.clone())) };
    let theirs = Peer { address: javascript.address, pid: javascript.pid(), write: Box::new(write(request)) };
    let versus = versus::measure(plan, ours, theirs)?;
    let (cpu, javascript_cpu) = versus.sides(cpu_micros);
    let (per_second, javascript_per_second) = versus.sides(rate);
    report.at_most(
        &format!(
            "edge: CPU per keyed hit in the isolate, over a JavaScript Worker that does the same ({} bytes)",
            hit.body.len()
        ),
        versus.ratio(cpu_micros),
        TARGET,
        &format!("{cpu:.0} µs, {per_second:.0}/s; JavaScript {javascript_cpu:.0} µs, {javascript_per_second:.0}/s"),
    );
    Ok(())
}

/// The sorted names of an answer's headers.
fn header_names(answer: &Answer) -> Vec<&str> {
    let mut names: Vec<_> = answer.headers().map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

/// Checks that the server counts every request: after the second of two requests one request fewer is left, or a new window has begun.
fn counts(address: SocketAddr, request: &[u8]) -> Result<()> {
    let told = || -> Result<[i64; 3]> {
        let answer = http::ask(address, request)?;
        let number = |name: &str| -> Result<i64> {
            let (_, value) =
                answer.headers().find(|(known, _)| *known == name).with_context(|| format!("no {name}"))?;
            Ok(value.parse()?)
        };
        Ok([number("x-ratelimit-limit")?, number("x-ratelimit-remaining")?, number("x-ratelimit-reset")?])
    };
    let [limit, before, window] = told()?;
    let [_, after, next] = told()?;
    ensure!(limit == i64::from(RPM), "a limit of {limit}");
    ensure!(after == before - 1 || next > window && after == limit - 1, "{before} left, then {after}");
    Ok(())
}
