//! Memory per idle stream, of fifty thousand.
//!
//! A process may have 20,000 descriptors here, of which the relay listener gives 8,400 to known peers, so seven origins on one database share the
//! streams, and each has a client process of its own (`rds-bench stream-clients`). The connections differ in the origin's port, so the range of local ports suffices.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rds_shared::push::stream_limits::STREAMS_PER_KEY;
use rustix::process::Signal;
use xtask::measure;
use xtask::up::ports::{first_free, local};

use super::ours::Ours;
use super::publish_times::PublishTimes;
use super::server::Server;
use super::sse;
use super::subscribers::{Latencies, Subscribers};
use crate::http;
use crate::report::Report;
use crate::{cores, market::Market};

const ORIGINS: u16 = 7;
/// Streams of each origin; a multiple of the streams of a key.
const STREAMS: usize = 7_200;
/// Streams that are opened and closed at each origin before memory is measured, so that its connections to Postgres and its threads have theirs.
const FIRST: usize = 100;
/// Maximum KiB per stream.
const TARGET: f64 = 1.2;
/// Time for a server to free the memory it needed for opening the connections.
const SETTLE: Duration = Duration::from_secs(3);
const TIMEOUT: Duration = Duration::from_secs(60);

/// Measures the origins with their streams, before anything was published and after a frame to each.
pub fn measure(report: &mut Report) -> Result<()> {
    let mut ours = Ours::start(|_| {})?;
    let streams = STREAMS * usize::from(ORIGINS);
    ours.allow(streams + STREAMS_PER_KEY as usize)?;
    let mut origins = vec![Origin { relay: ours.address(), pid: ours.market.pid("origin")?, child: None }];
    for number in 1..ORIGINS {
        origins.push(Origin::start(&ours.market, number)?);
    }
    let resident = || origins.iter().map(|origin| measure::resident_of_family(origin.pid)).sum::<Result<u64>>();
    // Exclude the one-time cost of the first streams and of the first payload; their key is not used again.
    let mut payload = sse::FIRST;
    for origin in &origins {
        let mut first = Subscribers::open(origin.relay, FIRST, payload, |_| ours.request(streams))?;
        let sent = PublishTimes::new(payload, 1);
        ours.publish(&sse::payload(payload), &|| sent.note(payload))?;
        first.read_up_to(payload, &sent, &mut Latencies::default())?;
        payload += 1;
    }
    std::thread::sleep(SETTLE);
    let before = resident()?;
    let mut clients = Vec::new();
    for (origin, number) in origins.iter().zip(0..) {
        let requests: Vec<_> =
            (0..STREAMS).step_by(STREAMS_PER_KEY as usize).map(|at| ours.request(number * STREAMS + at)).collect();
        clients.push(Clients::start(origin.relay, payload, &requests)?);
    }
    for client in &mut clients {
        client.says("open")?;
    }
    std::thread::sleep(SETTLE);
    let waiting = resident()?;
    ours.publish(&sse::payload(payload), &|| {})?;
    for client in &mut clients {
        client.says("received")?;
    }
    std::thread::sleep(SETTLE);
    let active = resident()?;
    let each = |now: u64| now.saturating_sub(before) as f64 / 1024.0 / streams as f64;
    report.at_most(
        &format!("stream: resident KiB per idle connection, of {streams} at {ORIGINS} origins"),
        each(active),
        TARGET,
        &format!("after a frame to each; before it {:.2}", each(waiting)),
    );
    Ok(())
}

/// An origin on the stack's database.
struct Origin {
    relay: SocketAddr,
    pid: u32,
    /// Its process, unless the stack has started it.
    child: Option<Child>,
}

impl Origin {
    /// Starts the origin `number` on ports of its own, and waits until it is ready.
    fn start(market: &Market, number: u16) -> Result<Self> {
        let from = 31_000 + number * 50;
        let edge = first_free(from, "an origin")?;
        let relay = first_free(edge + 1, "an origin")?;
        let admin = first_free(relay + 1, "an origin")?;
        let mut command = market.program()?;
        command.arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        for (name, port) in [("RDS_EDGE_ADDR", edge), ("RDS_RELAY_ADDR", relay), ("RDS_ADMIN_ADDR", admin)] {
            command.env(name, local(port).to_string());
        }
        xtask::command::end_with_parent(&mut command, Signal::TERM);
        let child = cores::on_server(|| Ok(command.spawn()?))?;
        let origin = Origin { relay: local(relay).into(), pid: child.id(), child: Some(child) };
        let (begun, admin) = (Instant::now(), local(admin).into());
        while !http::ask(admin, &http::get("/ready", "")).is_ok_and(|answer| answer.status == 200) {
            xtask::signals::check()?;
            ensure!(begun.elapsed() < TIMEOUT, "origin {number} is not ready");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(origin)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        end(self.child.as_mut());
    }
}

/// A process with the streams of one origin.
struct Clients {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Clients {
    /// Starts the process; it opens [`STREAMS_PER_KEY`] streams with each of these requests, which expect the payload `next`.
    fn start(address: SocketAddr, next: u32, requests: &[Vec<u8>]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["stream-clients", &address.to_string(), &next.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        xtask::command::end_with_parent(&mut command, Signal::TERM);
        let mut child = command.spawn()?;
        let mut input = child.stdin.take().context("no standard input")?;
        serde_json::to_writer(&mut input, requests)?;
        input.flush()?;
        let says = BufReader::new(child.stdout.take().context("no standard output")?);
        Ok(Clients { child, says })
    }

    /// Waits for the process to say `word`.
    fn says(&mut self, word: &str) -> Result<()> {
        let mut line = String::new();
        self.says.read_line(&mut line)?;
        if line.trim() != word {
            bail!("a client process said {line:?} instead of {word:?}");
        }
        Ok(())
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        end(Some(&mut self.child));
    }
}

fn end(child: Option<&mut Child>) {
    if let Some(child) = child {
        // It may have ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The program of a client process: opens the streams of the requests on standard input, says `open`, says `received` once each stream has the
/// payload `next`, and then holds the streams until it is ended.
pub fn hold(address: SocketAddr, next: u32) -> Result<()> {
    let requests: Vec<Vec<u8>> = serde_json::from_reader(std::io::stdin().lock())?;
    let streams = requests.len() * STREAMS_PER_KEY as usize;
    let of = |at: usize| requests.get(at / STREAMS_PER_KEY as usize).cloned().unwrap_or_default();
    let mut subscribers = Subscribers::open(address, streams, next, of)?;
    println!("open");
    // The publisher keeps the time; here every payload only has to arrive.
    subscribers.read_up_to(next, &PublishTimes::new(next, 1), &mut Latencies::default())?;
    println!("received");
    loop {
        xtask::signals::check()?;
        std::thread::sleep(Duration::from_millis(100));
    }
}
