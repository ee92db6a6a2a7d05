//! Many subscribers in one thread: the client for all stream servers.
//!
//! Each must receive every payload once and in order; a violation ends the benchmark.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;

use super::publish_times::PublishTimes;
use super::sse::Incoming;

/// Number of connections opened before their answers are awaited; fewer than a server's backlog.
const OPEN_BATCH: usize = 25;
/// Maximum time without an answer or payload.
const TIMEOUT: Duration = Duration::from_secs(30);
const EVENTS: usize = 1_024;

/// The subscribers of one server.
pub struct Subscribers {
    epoll: OwnedFd,
    all: Vec<Subscriber>,
    buffer: Vec<u8>,
    events: Vec<epoll::Event>,
}

struct Subscriber {
    stream: TcpStream,
    incoming: Incoming,
    /// The expected payload number.
    next: u32,
}

impl Subscribers {
    /// Opens `count` streams; `request` returns the nth request. Payloads are expected from the number `next`.
    pub fn open(address: SocketAddr, count: usize, next: u32, request: impl Fn(usize) -> Vec<u8>) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (all, buffer) = (Vec::with_capacity(count), vec![0; 256 * 1024]);
        let mut subscribers = Self { epoll, all, buffer, events: Vec::with_capacity(EVENTS) };
        let nothing = PublishTimes::new(next, 0);
        while subscribers.all.len() < count {
            for _ in 0..OPEN_BATCH.min(count - subscribers.all.len()) {
                let at = subscribers.all.len();
                let mut stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
                stream.write_all(&request(at))?;
                stream.set_nonblocking(true)?;
                epoll::add(&subscribers.epoll, &stream, EventData::new_u64(at as u64), EventFlags::IN)?;
                subscribers.all.push(Subscriber { stream, incoming: Incoming::default(), next });
            }
            subscribers.read_until(&nothing, &mut Latencies::default(), |all| {
                all.iter().all(|subscriber| subscriber.incoming.is_open())
            })?;
        }
        Ok(subscribers)
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Reads until every subscriber has received all payloads up to and including `last`, and records their latencies.
    pub fn read_up_to(&mut self, last: u32, sent: &PublishTimes, latencies: &mut Latencies) -> Result<()> {
        self.read_until(sent, latencies, |all| all.iter().all(|subscriber| subscriber.next > last))
    }

    fn read_until(
        &mut self,
        sent: &PublishTimes,
        latencies: &mut Latencies,
        done: impl Fn(&[Subscriber]) -> bool,
    ) -> Result<()> {
        let mut progress = Instant::now();
        while !done(&self.all) {
            xtask::signals::check()?;
            if progress.elapsed() > TIMEOUT {
                let behind = self.all.iter().min_by_key(|subscriber| subscriber.next).map(|behind| behind.next);
                bail!("no payload for {} s; the slowest subscriber waits for {behind:?}", TIMEOUT.as_secs());
            }
            self.events.clear();
            let limit = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&limit))?;
            for event in &self.events {
                let at = usize::try_from(event.data.u64())?;
                let subscriber = self.all.get_mut(at).context("an event of an unknown subscriber")?;
                let read = match subscriber.stream.read(&mut self.buffer) {
                    Ok(0) => bail!("the server closed the stream of subscriber {at}"),
                    Ok(read) => read,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    Err(error) => return Err(error.into()),
                };
                progress = Instant::now();
                let next = &mut subscriber.next;
                subscriber.incoming.feed(self.buffer.get(..read).unwrap_or_default(), |n| {
                    ensure!(n == *next, "subscriber {at} received {n} instead of {next}");
                    *next += 1;
                    latencies.note(sent.since(n, progress));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// Latencies: a histogram with steps of 20 microseconds; the last step contains two seconds and more.
pub struct Latencies(Vec<u64>);

const STEP: u64 = 20;
const STEPS: usize = 100_000;

impl Default for Latencies {
    fn default() -> Self {
        Latencies(vec![0; STEPS])
    }
}

impl Latencies {
    /// Records a latency.
    pub fn note(&mut self, latency: Duration) {
        let step = usize::try_from(latency.as_micros() as u64 / STEP).unwrap_or(STEPS).min(STEPS - 1);
        if let Some(count) = self.0.get_mut(step) {
            *count += 1;
        }
    }

    /// Number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// A percentile in milliseconds, rounded up to a step.
    pub fn percentile(&self, percent: u64) -> f64 {
        let (mut left, all) = (0, self.count());
        for (step, count) in self.0.iter().enumerate() {
            left += count;
            if left * 100 >= all * percent {
                return ((step as u64 + 1) * STEP) as f64 / 1e3;
            }
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_recorded_latencies() {
        let mut latencies = Latencies::default();
        (1..=100).for_each(|millis| latencies.note(Duration::from_millis(millis)));
        assert!((latencies.percentile(50) - 50.02).abs() < 1e-9 && (latencies.percentile(99) - 99.02).abs() < 1e-9);
        assert_eq!(latencies.count(), 100);
    }
}
