//! Five thousand subscribers who wait: what each costs in memory.

use std::time::Duration;

use anyhow::Result;
use xtask::provision::cache::Cache;

use super::durable::DurableStreams;
use super::moments::Moments;
use super::nchan::Nchan;
use super::ours::Ours;
use super::server::Server;
use super::sse;
use super::subscribers::{Latencies, Subscribers};
use crate::report::Report;

const SUBSCRIBERS: usize = 5_000;
/// KiB a connection.
const TARGET: f64 = 11.0;
/// How long a server has to let go of what it needed for the opening.
const SETTLE: Duration = Duration::from_secs(2);

/// Measures each server by itself.
pub fn measure(cache: &Cache, report: &mut Report) -> Result<()> {
    let mut ours = Ours::start(|_| {})?;
    ours.allow(SUBSCRIBERS + 1)?;
    let (waiting, told) = connections(&mut ours)?;
    drop(ours);
    let (nchan, nchan_told) = connections(&mut Nchan::start(cache)?)?;
    let (durable, durable_told) = connections(&mut DurableStreams::start(cache)?)?;
    report.at_most(
        &format!("stream: resident KiB per idle connection, of {SUBSCRIBERS}"),
        told,
        TARGET,
        &format!(
            "after a frame to each; before it {waiting:.1}; nchan {nchan_told:.1} and {nchan:.1}; durable-streams {durable_told:.1} and {durable:.1}"
        ),
    );
    Ok(())
}

/// KiB of each connection before anything was published, and after each was told of one payload.
fn connections(server: &mut dyn Server) -> Result<(f64, f64)> {
    // What only the first subscriber and the first payload cost is no part of it.
    let mut first = Subscribers::open(server.address(), 1, sse::FIRST, |at| server.request(at))?;
    tell(server, &mut first, sse::FIRST)?;
    drop(first);
    std::thread::sleep(SETTLE);
    let before = server.resident()?;
    let mut all = Subscribers::open(server.address(), SUBSCRIBERS, sse::FIRST + 1, |at| server.request(at))?;
    std::thread::sleep(SETTLE);
    let waiting = server.resident()?;
    tell(server, &mut all, sse::FIRST + 1)?;
    std::thread::sleep(SETTLE);
    let told = server.resident()?;
    let each = |now: u64| now.saturating_sub(before) as f64 / 1024.0 / all.count() as f64;
    Ok((each(waiting), each(told)))
}

fn tell(server: &mut dyn Server, subscribers: &mut Subscribers, n: u32) -> Result<()> {
    let sent = Moments::new(n, 1);
    server.publish(&sse::payload(n), &|| sent.note(n))?;
    subscribers.read_up_to(n, &sent, &mut Latencies::default())
}
