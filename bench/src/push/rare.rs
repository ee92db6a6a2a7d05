//! Time from commit to client when operations are rare: one frame a second, in durable commits of one row by the same Postgres.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::ours::Ours;
use super::publish_times::PublishTimes;
use super::server::Server;
use super::sse;
use super::subscribers::{Latencies, Subscribers};
use crate::cores;
use crate::report::Report;

/// Number of operations for each number of subscribers.
const OPERATIONS: u32 = 30;
/// Time between two operations. In the middle between them, one row is committed to a table of its own.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time from commit to client, in durable commits.
const TARGET: f64 = 3.0;

/// Measures one subscriber, then a thousand, whose last one is reached only after the writes to all others.
pub fn measure(report: &mut Report) -> Result<()> {
    let mut ours = Ours::start(|_| {})?;
    ours.allow(1_001)?;
    let load = cores::load();
    let mut next = sse::FIRST;
    for (subscribers, target) in [(1, Some(TARGET)), (1_000, None)] {
        let (client, commit) = turn(&mut ours, subscribers, &mut next)?;
        let [p50, p99, commit] = [client.percentile(50), client.percentile(99), commit.percentile(50)];
        let what = format!(
            "stream: commit to client at 1 frame/s, {subscribers} subscribers, p50 in durable commits of one row"
        );
        let seen =
            format!("p50 {p50:.2} ms, p99 {p99:.2} ms; a commit {commit:.2} ms; the machine's load before: {load}");
        match target {
            Some(target) => report.at_most(&what, p50 / commit, target, &seen),
            None => report.stated(&what, p50 / commit, &seen),
        }
    }
    Ok(())
}

/// Publishes at one frame a second. Returns the times from commit to client, and of the commits of one row.
fn turn(ours: &mut Ours, subscribers: usize, next: &mut u32) -> Result<(Latencies, Latencies)> {
    // The first operations are not timed: statements are planned, and connections opened.
    let warm = *next;
    *next += OPERATIONS + 2;
    let mut all = Subscribers::open(ours.address(), subscribers, warm, |at| ours.request(at))?;
    let sent = PublishTimes::new(warm, OPERATIONS as usize + 2);
    let (mut ignored, mut client, mut commit) = (Latencies::default(), Latencies::default(), Latencies::default());
    ours.commit_one_row()?;
    std::thread::scope(|scope| {
        let sent = &sent;
        let commits = &mut commit;
        let publishing = scope.spawn(move || {
            let begun = Instant::now();
            for n in 0..OPERATIONS + 2 {
                xtask::signals::check()?;
                std::thread::sleep((INTERVAL * n).saturating_sub(begun.elapsed()));
                ours.publish(&sse::payload(warm + n), &|| sent.note(warm + n))?;
                std::thread::sleep((INTERVAL * n + INTERVAL / 2).saturating_sub(begun.elapsed()));
                commits.note(ours.commit_one_row()?);
            }
            Ok(())
        });
        let read = all
            .read_up_to(warm + 1, sent, &mut ignored)
            .and_then(|()| all.read_up_to(warm + OPERATIONS + 1, sent, &mut client));
        match publishing.join() {
            Ok(published) => read.and(published),
            Err(_) => bail!("the publisher panicked"),
        }
    })?;
    Ok((client, commit))
}
