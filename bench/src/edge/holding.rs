//! The parts `memory` and `start`: what the rows cost an isolate in memory and at its start, and how soon a restarted edge answers while the
//! origin is dead.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use xtask::measure::resident_of_family;
use xtask::provision::cache::Cache;
use xtask::up::edge::{DURABLE_OBJECTS, DurableObject};
use xtask::wasm;

use super::{Subject, bare, rows, tail};
use crate::http::{self, Answer};
use crate::report::Report;
use crate::soak::runtime::Runtime;
use crate::{Plan, cores, load};

/// Binding of the Durable Object that an isolate gets the rows from.
const BINDING: &str = "REPLICA";
/// A list that a caller without a key asks for.
const LIST: &str = "/v1/vaults?limit=20&sortBy=total_score";
const NO_ROWS: &str = "the edge does not answer from rows";
/// Time for an edge to answer at all.
const PATIENCE: Duration = Duration::from_secs(30);
/// Requests a second while memory fills up.
const RATE: f64 = 300.0;
const MB: f64 = 1e6;

/// Compares the memory of an edge with the rows and of one without, after the same load.
pub fn measure_memory(cache: &Cache, plan: &Plan, subject: &Subject, report: &mut Report) -> Result<()> {
    let without: Vec<DurableObject> = DURABLE_OBJECTS
        .iter()
        .filter(|object| object.binding != BINDING)
        .map(|object| DurableObject { binding: object.binding, class: object.class })
        .collect();
    ensure!(without.len() < DURABLE_OBJECTS.len(), "the edge has no Durable Object {BINDING}");
    let with = filled(cache, plan, subject, DURABLE_OBJECTS, true)?;
    let without = filled(cache, plan, subject, &without, false)?;
    report.stated(
        "memory of the edge's workerd with the rows, less without them, MB",
        (with.0 as f64 - without.0 as f64) / MB,
        &format!(
            "with {:.0} MB, of it Wasm {:.0} MB; without {:.0} MB, of it Wasm {:.0} MB; each after {:.0} different lists a second for {:.0} s",
            with.0 as f64 / MB,
            with.1 as f64 / MB,
            without.0 as f64 / MB,
            without.1 as f64 / MB,
            RATE,
            plan.duration().as_secs_f64() * plan.rounds as f64,
        ),
    );
    Ok(())
}

/// Resident bytes and bytes of Wasm memory of an edge after the load.
fn filled(
    cache: &Cache,
    plan: &Plan,
    subject: &Subject,
    objects: &[DurableObject],
    has_rows: bool,
) -> Result<(u64, u64)> {
    let edge = Runtime::start_with(cache, &subject.market, objects)?;
    if has_rows {
        ensure!(rows::wait(edge.address, &subject.key)?, NO_ROWS);
    }
    let lines = Subject::lines(&subject.key);
    let duration = plan.duration() * u32::try_from(plan.rounds)?;
    load::paced(&[edge.address], plan.connections, RATE, duration, |out| {
        out.extend_from_slice(&http::get(&tail::target(), &lines));
    })?;
    Ok((resident_of_family(edge.pid())?, edge.wasm()?))
}

/// Measures the bundle, the start of an isolate, and the first answer of a restarted edge. The market's origin is killed.
pub fn measure_start(cache: &Cache, subject: &Subject, report: &mut Report) -> Result<()> {
    let Subject { market, key } = subject;
    let bundle = wasm::build(cache)?;
    let mut kilobytes = 0.0;
    for (_, file) in bundle.files() {
        kilobytes += wasm::gzipped(file)? as f64 / 1e3;
    }
    report.stated("edge: the bundle gzipped, kB", kilobytes, "scripts and module");

    let mut edge = Runtime::start(cache, market)?;
    let started = cores::ran(edge.pid())?;
    let empty = bare::empty(cache)?;
    let least = cores::ran(empty.pid())?;
    drop(empty);
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    report.stated(
        "CPU of a new workerd until the Worker answers, less an empty Worker's, milliseconds",
        millis(started.saturating_sub(least)),
        &format!("{:.0} ms, an empty Worker {:.0} ms", millis(started), millis(least)),
    );
    ensure!(rows::wait(edge.address, key)?, NO_ROWS);
    report.stated(
        "CPU of a new workerd from there until it answers from the rows, milliseconds",
        millis(cores::ran(edge.pid())?.saturating_sub(started)),
        "isolate and Durable Object, which get the rows from the origin",
    );

    market.kill_origin()?;
    let begun = Instant::now();
    edge.restart()?;
    // Any answer: without its origin the edge says that it is not ready.
    let ready = first(edge.address, "/ready", begun, |_| true)?;
    let ran = cores::ran(edge.pid())?;
    let listed = first(edge.address, LIST, begun, |status| status == 200)?;
    let cache_status = rows::cache_status(&listed.1).to_owned();
    report.stated(
        "a restarted workerd whose Durable Objects have the rows, the origin dead: from its start to the first list, milliseconds",
        millis(listed.0),
        &format!(
            "of it {:.0} ms until the Worker answers at all; {:.0} ms of CPU after that; `Cache-Status: {cache_status}`",
            millis(ready.0),
            millis(cores::ran(edge.pid())?.saturating_sub(ran)),
        ),
    );
    Ok(())
}

/// Asks until an answer has such a status; returns the time since `begun`, and the answer.
fn first(
    address: SocketAddr,
    target: &str,
    begun: Instant,
    is_such: impl Fn(u16) -> bool,
) -> Result<(Duration, Answer)> {
    loop {
        xtask::signals::check()?;
        match http::ask(address, &http::get(target, "accept: application/json\r\n")) {
            Ok(answer) if is_such(answer.status) => return Ok((begun.elapsed(), answer)),
            Ok(answer) => ensure!(begun.elapsed() < PATIENCE, "{target} was not answered: {}", answer.head),
            Err(error) => ensure!(begun.elapsed() < PATIENCE, "{target} was not answered: {error:#}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
