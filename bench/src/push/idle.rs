//! Memory per idle subscriber, with five thousand subscribers.

use std::time::Duration;

use anyhow::Result;
use xtask::provision::cache::Cache;

use super::durable::DurableStreams;
use super::nchan::Nchan;
use super::ours::Ours;
use super::publish_times::PublishTimes;
use super::server::Server;
use super::sse;
use super::subscribers::{Latencies, Subscribers};
use crate::report::Report;

const SUBSCRIBERS: usize = 5_000;
/// Maximum KiB per connection.
const TARGET: f64 = 11.0;
/// Time for a server to free the memory it needed for opening the connections.
const SETTLE: Duration = Duration::from_secs(2);

/// Measures each server separately.
pub fn measure(cache: &Cache, report: &mut Report) -> Result<()> {
    let mut ours = Ours::start(|_| {})?;
    ours.allow(SUBSCRIBERS + 1)?;
    let (waiting, active) = connections(&mut ours)?;
    drop(ours);
    let (nchan, nchan_active) = connections(&mut Nchan::start(cache)?)?;
    let (durable, durable_active) = connections(&mut DurableStreams::start(cache)?)?;
    report.at_most(
        &format!("stream: resident KiB per idle connection, of {SUBSCRIBERS}"),
        active,
        TARGET,
        &format!(
            "after a frame to each; before it {waiting:.1}; nchan {nchan_active:.1} and {nchan:.1}; durable-streams {durable_active:.1} and {durable:.1}"
        ),
    );
    Ok(())
}

/// KiB per connection before anything was published, and after one payload to each.
fn connections(server: &mut dyn Server) -> Result<(f64, f64)> {
    // Exclude the one-time cost of the first subscriber and the first payload.
    let mut first = Subscribers::open(server.address(), 1, sse::FIRST, |at| server.request(at))?;
    publish_one(server, &mut first, sse::FIRST)?;
    drop(first);
    std::thread::sleep(SETTLE);
    let before = server.resident()?;
    let mut all = Subscribers::open(server.address(), SUBSCRIBERS, sse::FIRST + 1, |at| server.request(at))?;
    std::thread::sleep(SETTLE);
    let waiting = server.resident()?;
    publish_one(server, &mut all, sse::FIRST + 1)?;
    std::thread::sleep(SETTLE);
    let active = server.resident()?;
    let each = |now: u64| now.saturating_sub(before) as f64 / 1024.0 / all.count() as f64;
    Ok((each(waiting), each(active)))
}

fn publish_one(server: &mut dyn Server, subscribers: &mut Subscribers, n: u32) -> Result<()> {
    let sent = PublishTimes::new(n, 1);
    server.publish(&sse::payload(n), &|| sent.note(n))?;
    subscribers.read_up_to(n, &sent, &mut Latencies::default())
}
